"""What recipients are told: only what the public half says, and lines that can be run."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oneoff
from oneoff import Table, load_release, read_table, verify
from oneoff.errors import DamagedRelease
from oneoff.folder import public_pages
from oneoff.publish import publish
from oneoff.table.hierarchy import Hierarchy
from tests.command_line import oneoff as command
from tests.pages import PageReader, addresses
from tests.utility.test_shape import KINDS

SEED = 918273645


@pytest.fixture(scope="module", params=list(KINDS))
def public(request: pytest.FixtureRequest, people: Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    method, promise, options = KINDS[request.param]
    made = publish(people, promise, method=method, seed=SEED, options=options)
    folder = tmp_path_factory.mktemp("secret-place") / "out"
    made.release.write(folder, even_if_broken=True)
    return folder / "public"


def columns_of(public: Path) -> dict[str, list[str]]:
    return {path.name: pq.read_schema(path).names for path in sorted(public.glob("*.parquet"))}


def test_pages_are_made_of_the_other_files_and_nothing_else(public: Path) -> None:
    again = public_pages(load_release(public), columns_of(public))
    assert again == {name: (public / name).read_bytes() for name in ("README.md", "report.html")}


def test_nothing_secret_is_in_them(public: Path) -> None:
    for name in ("README.md", "report.html"):
        text = (public / name).read_text()
        assert str(SEED) not in text
        assert "secret-place" not in text
        assert not re.search(r"\b20\d\d-\d\d-\d\d\b|private/|links", text)
    page = (public / "report.html").read_text()
    assert addresses(page) == []
    assert PageReader(page).open == []


def test_pages_are_protected_by_hashes(public: Path, tmp_path: Path) -> None:
    copy = tmp_path / "public"
    copy.mkdir()
    for path in public.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    load_release(copy)
    with (copy / "README.md").open("a") as file:
        file.write("Trust me.\n")
    with pytest.raises(DamagedRelease, match=r"README\.md was changed"):
        verify(copy)


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def test_every_line_of_the_guide_runs(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (public / "README.md").read_text()
    python, shell = blocks(text, "python"), blocks(text, "sh")
    assert len(python) == 5
    assert len(shell) == 2
    monkeypatch.chdir(public)
    for block in python:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(block, "README.md", "exec"), {})
        assert said.getvalue().strip()
    for line in shell:
        _, *arguments = shlex.split(line)
        answer = command(*arguments)
        unjudged = load_release(".").needs_table and arguments[0] == "verify"
        assert answer.status == (1 if unjudged else 0), answer.err
    assert ("ends with status 1" in text) == load_release(".").needs_table


def test_the_count_on_the_command_line_is_the_one_in_python(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (public / "README.md").read_text()
    monkeypatch.chdir(public)
    asked = re.search(r"release\.count\((.*)\)", blocks(text, "python")[0])
    assert asked is not None
    _, *arguments = shlex.split(blocks(text, "sh")[0])
    found = load_release(".").count(eval(asked[1]))
    assert command(*arguments, "--json").json["count"] == pytest.approx(found.count)


def test_the_dictionary_has_every_column(public: Path, people: Table) -> None:
    text = (public / "README.md").read_text()
    rows = re.findall(r"^\| (\w+) \| (quasi-identifier|sensitive) \| (\w+) \| (.*?) \| (.*?) \| (.*?) \|$", text, re.M)
    assert [row[0] for row in rows] == [attribute.name for attribute, _ in people.columns()]
    assert [row[1] for row in rows].count("sensitive") == 1
    for *_, files in rows:
        assert files
        assert all((public / name).exists() for name in files.split(", "))


def test_a_release_written_again_keeps_its_pages(public: Path, tmp_path: Path) -> None:
    load_release(public).write(tmp_path / "again", even_if_broken=True)
    for path in public.iterdir():
        assert (tmp_path / "again" / "public" / path.name).read_bytes() == path.read_bytes()


# --- names and values from strangers

SCRIPT = "<script>alert(1)</script>"


def odd_frame(rows: int = 120) -> pa.Table:
    rng = np.random.default_rng(0)
    labels = ["a`b", "it's", 'say "x"', "$(ls)", "pipe | pipe", SCRIPT, "\x1b[31m", "日本", "[link](there)"]
    return pa.table(
        {
            "a|b `c`": [labels[i] for i in rng.integers(0, 9, rows)],
            "two words": rng.integers(0, 50, rows),
            SCRIPT: [labels[i] for i in rng.integers(0, 9, rows)],
        }
    )


@pytest.mark.parametrize(("promise", "method"), [("k-anonymity:4", "mondrian"), ("l-diversity:2", "anatomy")])
def test_names_that_would_not_survive_are_not_put_into_lines(promise: str, method: str, tmp_path: Path) -> None:
    frame = odd_frame()
    table = read_table(frame, quasi=frame.column_names[:2], sensitive=SCRIPT)
    publish(table, promise, method=method, seed=1).release.write(tmp_path / "out")
    text = (tmp_path / "out" / "public" / "README.md").read_text()
    page = (tmp_path / "out" / "public" / "report.html").read_text()
    assert not re.search(r"(?<!\\)<script", text)
    assert "<script" not in page
    assert "\x1b" not in text + page
    assert PageReader(page).open == []
    assert text.count("```") % 2 == 0
    (line,) = [block for block in blocks(text, "sh") if "query" in block]
    assert "two words" in line
    with contextlib.chdir(tmp_path / "out" / "public"):
        assert command(*shlex.split(line)[1:]).status == 0
        for block in blocks(text, "python"):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize(
    ("frame", "given", "promise", "method"),
    [
        ({"age": [1, 1, 2, 2] * 5}, {}, "k-anonymity:2", "mondrian"),
        ({"age": [1, 1, 2, 2] * 5, "pay": list(range(20))}, {"sensitive": "pay"}, "l-diversity:2", "mondrian"),
        ({"sex": list("FMFM") * 9, "d": list("aabb") * 9, "y": [1, 2] * 18}, {"sensitive": "d", "keep": ["y"]},
         "l-diversity:2", "mondrian"),
        ({"pay": [1.5, 2.5, 3.5, 4.5] * 40, "d": list("abab") * 40}, {"sensitive": "d"}, "basic-beta-likeness:0.5",
         "perturbation"),
        ({"town": list("abcd") * 40, "n": [1, 2, 3, 4] * 40}, {"sensitive": "n"}, "basic-beta-likeness:0.5",
         "perturbation"),
    ],
)  # fmt: skip
def test_small_and_odd_tables(
    frame: dict[str, Any], given: dict[str, Any], promise: str, method: str, tmp_path: Path
) -> None:
    hidden = [given.get("sensitive"), *given.get("keep", [])]
    table = read_table(pa.table(frame), quasi=[name for name in frame if name not in hidden], **given)
    publish(table, promise, method=method, seed=1).release.write(tmp_path / "out")
    with contextlib.chdir(tmp_path / "out" / "public"):
        for block in blocks(Path("README.md").read_text(), "python"):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, "README.md", "exec"), {})
        assert ("kept as it is" in Path("README.md").read_text()) == ("keep" in given)


def test_dates_and_hierarchies(tmp_path: Path) -> None:
    from datetime import date

    days = [date(2020, 1, 1 + i % 28) for i in range(60)]
    town = Hierarchy.from_rows([["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"]], "town")
    frame = pa.table({"day": days, "town": ["a1", "a2", "b1"] * 20, "s": list("abcdef") * 10})
    for columns in ("tally", "box"):
        table = read_table(frame, quasi=["day", "town"], sensitive="s", hierarchies={"town": town})
        made = publish(table, "k-anonymity:4", method="mondrian", seed=1, options={"columns": columns})
        made.release.write(tmp_path / columns)
        with contextlib.chdir(tmp_path / columns / "public"):
            for block in blocks(Path("README.md").read_text(), "python"):
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(block, "README.md", "exec"), {})


def test_weights_outliers_and_persons_are_told(tmp_path: Path) -> None:
    survey = read_table(oneoff.sample(400, seed=1, weights=True), quasi=["age", "race"], sensitive="occupation",
                        identifiers=["person"], weight="weight")  # fmt: skip
    publish(survey, "k-anonymity:5", method="mondrian", seed=1).release.write(tmp_path / "a")
    text = (tmp_path / "a" / "public" / "README.md").read_text()
    assert "| weight | weight | number |" in text
    assert "“weight” is the mean weight of a group or cell" in text
    whose = pa.table({"who": [i // 2 for i in range(80)], "age": [i % 9 for i in range(80)], "d": list("abcd") * 20})
    several = read_table(whose, quasi=["age"], sensitive="d", person="who")
    publish(several, "k-anonymity:3", method="mondrian", seed=1).release.write(tmp_path / "b")
    assert "80 rows are of 40 people" in (tmp_path / "b" / "public" / "README.md").read_text()
    people = read_table(pa.table({"age": [*[1, 2, 3] * 40, 900, 901, 902, 903]}), quasi=["age"])
    made = publish(people, "k-anonymity:4", method="mondrian", seed=1, max_suppressed=0.1)
    made.release.write(tmp_path / "c")
    left = made.release.suppressed
    assert (f"{left} people of the table were left out" in (tmp_path / "c" / "public" / "README.md").read_text()) == (
        left > 0
    )


def test_a_broken_release_says_so_first(people: Table, tmp_path: Path) -> None:
    made = publish(people, "l-diversity:3", method="heterogeneous", seed=1)
    assert not made.verdict.holds
    made.release.write(tmp_path / "out", even_if_broken=True)
    for name in ("README.md", "report.html"):
        assert "is BROKEN. It is for research" in (tmp_path / "out" / "public" / name).read_text()


def test_a_page_longer_than_any_is_refused(people: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = publish(people, "k-anonymity:4", method="mondrian", seed=1)
    made.release.write(tmp_path / "out")
    monkeypatch.setattr("oneoff.releases.folder._JSON_PART", 1_000_000)
    monkeypatch.setattr("oneoff.releases.folder._description", lambda public: (public / "release.json").read_text())
    with pytest.raises(DamagedRelease, match="longer than any page"):
        oneoff.load_release(tmp_path / "out")


def test_nobody_is_asked_to_count_what_is_missing(tmp_path: Path) -> None:
    frame = pa.table({"town": ["", *"abab"] * 12, "age": [*range(60)], "ill": ["", "flu", "cold"] * 20})
    table = read_table(frame, quasi=["town", "age"], sensitive="ill", missing="category", na=[""])
    publish(table, "k-anonymity:5", seed=1).release.write(tmp_path / "out")
    guide = (tmp_path / "out" / "public" / "README.md").read_text()
    assert "town = 'a' and ill = 'cold'" in guide
