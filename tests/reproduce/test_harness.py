"""The harness: what a part measures becomes numbers, pictures, a page and a row in the index."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from oneoff import reproduce
from oneoff.errors import BadValue, UnreadableFile
from oneoff.reproduce import PAPERS, experiment
from oneoff.reproduce.harness import Experiment, Point, Run, read_record, timed
from oneoff.reproduce.pages import write_index, write_results
from oneoff.reproduce.tables import Tables, resampled
from tests.command_line import oneoff


def _measured(run: Run) -> None:
    points = [Point.of("ours", x, [x, 3 * x], panel) for x in (1, 2) for panel in ("loss", "time")]
    run.lines("figure-1", "A figure", [*points, Point("theirs", 1, None, "loss")], x="k", y="GCP", text="Said.")
    run.numbers("table-1", "A table", ["a", "b"], [["x|y", 0.123456789], [run.pick("small", "full"), None]])
    run.claim("Figure 1", paper="less.", found=f"{points[0].y:g}.", same="same")
    run.claim("Table 1", paper="more.", found="less.", same="not the same", why="Because.")


def _drawn(run: Run) -> None:
    run.heat("figure-2", "A matrix", [("1", "a", 0.5), ("2", "a", 1.0)], x="shown", y="person")
    run.claim("Figure 2", paper="a half.", found="0.5.", same="in part")


TOY = Experiment("004-ring", "A toy", {"figure-1": _measured, "figure-2": _drawn}, {"Figure 3": "an idea"})


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneoff.reproduce.pages.experiment", lambda name: TOY)


def _run(out: Path, *parts: str, full: bool = False) -> list[reproduce.harness.Claim]:
    return TOY.run(parts, out, tables=Tables(), full=full, seed=1, verbose=False)


def test_numbers_and_pictures(tmp_path: Path) -> None:
    claims = _run(tmp_path, "figure-1")
    assert [(claim.figure, claim.found, claim.same) for claim in claims] == [
        ("Figure 1", "2.", "same"),
        ("Table 1", "less.", "not the same"),
    ]
    with (tmp_path / "figure-1.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[:2] == [["series", "x", "y", "panel", "low", "high"], ["ours", "1", "2", "loss", "1", "3"]]
    assert rows[-1] == ["theirs", "1", "", "loss", "", ""]
    assert (tmp_path / "figure-1.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "figure-1.svg").read_text()
    assert (tmp_path / "table-1.csv").read_text() == "a,b\nx|y,0.123457\nsmall,\n"


def test_parts_are_run_one_by_one_and_a_page_holds_all_of_them(tmp_path: Path) -> None:
    _run(tmp_path, "figure-2")
    _run(tmp_path, "figure-1", full=True)
    page = write_results(TOY, tmp_path).read_text()
    assert page.index("## Figure 1") < page.index("## Figure 2")
    assert "Of 3 claims: 1 same, 1 in part, 1 not the same." in page
    assert "- **Table 1: not the same.** The paper: more. Here: less. Because." in page
    assert "| 1 | 2 (1 to 3) |" in page
    assert "x\\|y" in page
    assert "small settings" in page  # one part was measured in small
    assert read_record(tmp_path / "figure-1.json")["full"]


def test_the_index_has_a_row_for_every_claim(tmp_path: Path, catalog: None) -> None:
    _run(tmp_path / "004-ring", "figure-1", "figure-2")
    index = write_index(tmp_path).read_text()
    assert "| Figure 1 | less. | 2. | same | [1](004-ring/figure-1.png) |" in index
    assert "| Table 1 | more. | less. Because. | **not the same** |" in index
    assert "| Figure 3 | explains, measures nothing | an idea |" in index


def test_people_are_generated_where_no_tables_are() -> None:
    tables = Tables()
    assert not tables.real
    assert tables.census_sal(4, 30).rows == 30
    assert [each.name for each in tables.census_edu(30).quasi][-1] == "occupation"
    assert len(tables.coil(30).quasi) == 4
    assert resampled(tables.adult(30), 50).rows == 50


def test_real_tables_have_the_columns_of_the_papers(data_dir: Path) -> None:
    tables = Tables(data_dir)
    assert [each.name for each in tables.census_sal(5, 100).quasi][-1] == "workclass"
    assert (tables.census_occ().rows, tables.adult().rows, tables.coil().rows) == (100_000, 30_162, 9_822)


def test_a_folder_without_the_tables(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="has no tables of the experiments"):
        Tables(tmp_path)


def test_experiments_are_found_by_number_and_name() -> None:
    assert experiment("004") is experiment("ring") is experiment("004-ring")
    with pytest.raises(BadValue, match=r"'rings'.*did you mean 'ring'"):
        experiment("rings")


def test_every_part_has_a_name_that_says_what_it_measures() -> None:
    for name in PAPERS:
        parts = experiment(name).parts
        assert parts, name
        assert all(part == part.lower() and " " not in part for part in parts)


def test_time_is_what_the_processor_spent() -> None:
    found, seconds = timed(lambda: sum(range(1000)))
    assert found == 499500
    assert 0 <= seconds < 10


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: None) -> None:
    monkeypatch.setattr("oneoff.reproduce.experiment", lambda name: TOY)
    monkeypatch.delenv("ONEOFF_DATA", raising=False)
    answer = oneoff("reproduce", "004", "--out", tmp_path, "--only", "figure-1")
    assert answer.status == 0, answer.err
    said = " ".join(answer.out.split())
    assert "Table 1: not the same. The paper: more. Here: less. Because." in said
    assert (tmp_path / "004-ring" / "results.md").is_file()
    assert (tmp_path / "README.md").is_file()
    answer = oneoff("reproduce", "004", "--out", tmp_path, "--full", "--json")
    assert "generated people" in answer.err
    assert [claim["same"] for claim in answer.json["claims"]["004-ring"]] == ["same", "not the same", "in part"]
    answer = oneoff("reproduce", "004", "--out", tmp_path, "--only", "figure-9")
    assert answer.status == 2
    assert "allowed: figure-1, figure-2" in " ".join(answer.err.split())


def test_the_command_lists_what_there_is() -> None:
    listed = oneoff("reproduce").out
    assert all(name in listed for name in PAPERS)
    found = oneoff("reproduce", "--json").json["experiments"]
    assert list(found) == list(PAPERS)
    answer = oneoff("reproduce", "nothing")
    assert answer.status == 2
    assert "004-ring" in answer.err


def test_records_are_for_programs_as_well(tmp_path: Path) -> None:
    _run(tmp_path, "figure-2")
    record = json.loads((tmp_path / "figure-2.json").read_text())
    assert record["people"] == "generated people"
    assert record["claims"][0]["same"] == "in part"
