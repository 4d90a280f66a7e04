"""Which engine publishes a table, and the ways to ask for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import oneoff
from oneoff.errors import BadValue
from oneoff.larger import doors
from oneoff.larger.doors import bytes_of, engine_for
from tests.command_line import oneoff as command
from tests.larger.tables import ROLES, described, in_files, people, public_digest, rows_of

PEOPLE = 3000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_files(people(PEOPLE), tmp_path_factory.mktemp("people") / "rows", 3)


def flags(roles: dict[str, Any] = ROLES) -> list[str]:
    return ["--quasi", ",".join(roles["quasi"]), "--sensitive", roles["sensitive"]]


# --- which engine


def test_small_tables_are_published_in_memory(source: Path) -> None:
    assert engine_for(source, "auto", "auto", {}).engine == "memory"
    assert engine_for(people(10), "auto", "auto", {}).engine == "memory"


def test_large_ones_by_worker_processes(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "MOST_IN_MEMORY", PEOPLE - 1)
    chosen = engine_for(source, "auto", "auto", {"person": None, "csv": False})
    assert chosen.engine == "local"
    assert "3,000 rows" in chosen.notice
    assert engine_for(source, "memory", "auto", {}).engine == "memory"


@pytest.mark.parametrize("wishes", [{"person": "id"}, {"hold_out": 0.1}, {"csv": True}, {"sensitive": ["a", "b"]}])
def test_what_blocks_do_not_serve_is_done_in_memory_and_told(
    source: Path, monkeypatch: pytest.MonkeyPatch, wishes: dict[str, Any]
) -> None:
    monkeypatch.setattr(doors, "MOST_IN_MEMORY", PEOPLE - 1)
    chosen = engine_for(source, "auto", "auto", wishes)
    assert chosen.engine == "memory"
    assert "cannot be had block by block" in chosen.notice
    assert engine_for(source, "auto", "ring", {}).engine == "memory"


def test_rows_of_text_are_guessed_from_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = in_files(people(PEOPLE), tmp_path / "rows", 2, "csv")
    monkeypatch.setattr(doors, "MOST_IN_MEMORY", 500)
    assert engine_for(folder, "auto", "auto", {}).engine == "local"


def test_an_engine_that_does_not_exist_is_named() -> None:
    with pytest.raises(BadValue) as caught:
        engine_for("x", "sparc", "auto", {})
    assert "spark" in caught.value.hint


@pytest.mark.parametrize(("text", "many"), [("1g", 2**30), ("512m", 2**29), ("1.5GiB", 3 * 2**29), (4096, 4096)])
def test_bytes_may_have_units(text: str | int, many: int) -> None:
    assert bytes_of(text) == many


@pytest.mark.parametrize("text", ["lots", "", "0g", "-1g", "1 x"])
def test_other_texts_are_no_number_of_bytes(text: str) -> None:
    with pytest.raises(BadValue):
        bytes_of(text)


# --- the command line, jobs and Python


def test_the_command_line_a_job_and_python_make_the_same_release(source: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        f'input = "{source}"\nguarantee = "k-anonymity:5"\nquasi = {list(ROLES["quasi"])}\n'
        f'sensitive = "{ROLES["sensitive"]}"\nengine = "local"\nseed = 4\nworkers = 1\n'.replace("'", '"')
    )
    by_job = command("anonymize", job, "--out", tmp_path / "job", "--json")
    assert by_job.status == 0, by_job.err
    assert by_job.json["rows"] == PEOPLE
    assert by_job.json["blocks"] == 1
    by_hand = command("anonymize", source / "*.parquet", *flags(), "--guarantee", "k-anonymity:5", "--engine", "local",
                      "--workers", "1", "--seed", "4", "--out", tmp_path / "hand")  # fmt: skip
    assert by_hand.status == 0, by_hand.err
    assert "k-anonymity 5: kept" in by_hand.out
    release = oneoff.anonymize(
        source, "k-anonymity:5", engine="local", workers=1, seed=4, out=tmp_path / "python", **ROLES
    )
    assert release.rows == PEOPLE
    assert len({public_digest(tmp_path / name) for name in ("job", "hand", "python")}) == 1
    again = command("anonymize", tmp_path / "job" / "private" / "job.toml", "--out", tmp_path / "again",
                    "--seed-file", tmp_path / "job" / "private" / "seed")  # fmt: skip
    assert again.status == 0, again.err
    assert public_digest(tmp_path / "again") == public_digest(tmp_path / "job")


def test_python_takes_what_read_table_takes(source: Path) -> None:
    release = oneoff.anonymize(people(500), "k-anonymity:5", method="mondrian", **ROLES)
    assert release.rows == 500
    whole = oneoff.anonymize(source, "k-anonymity:5", method="mondrian", seed=1, **ROLES)
    known = oneoff.anonymize(oneoff.read_table(people(PEOPLE), **ROLES), "k-anonymity:5", method="mondrian", seed=1)
    assert whole.to_polars().equals(known.to_polars())


def test_a_release_in_blocks_needs_a_folder(source: Path) -> None:
    with pytest.raises(BadValue, match="goes into a folder"):
        oneoff.anonymize(source, "k-anonymity:5", engine="local", **ROLES)


def test_a_frame_is_not_read_by_worker_processes(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="reads files"):
        oneoff.anonymize(people(50), "k-anonymity:5", engine="local", out=tmp_path / "out", **ROLES)
    with pytest.raises(BadValue, match="in memory"):
        oneoff.anonymize(oneoff.read_table(people(50), **ROLES), "k-anonymity:5", engine="local")


@pytest.mark.parametrize("more", [["--hold-out", "0.1"], ["--csv"], ["--max-suppressed", "0.01"]])
def test_options_that_blocks_do_not_serve_are_refused(source: Path, tmp_path: Path, more: list[str]) -> None:
    answer = command("anonymize", source, *flags(), "--guarantee", "k-anonymity:5", "--engine", "local", "--out",
                     tmp_path / "out", *more)  # fmt: skip
    assert answer.status == 2
    assert more[0] in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ["auto", "memory", "local"])
@pytest.mark.parametrize("more", [["--master", "local[2]"], ["--conf", "spark.executor.memory=1g"]])
def test_settings_of_spark_are_not_for_other_engines(
    source: Path, tmp_path: Path, engine: str, more: list[str]
) -> None:
    answer = command("anonymize", source, *flags(), "--guarantee", "k-anonymity:5", "--engine", engine, "--out",
                     tmp_path / "out", *more)  # fmt: skip
    assert answer.status == 2
    assert f"{more[0]} is a setting of Spark" in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [0, -3])
def test_workers_are_one_or_more(source: Path, tmp_path: Path, number: int) -> None:
    with pytest.raises(BadValue, match="number of workers"):
        oneoff.anonymize(source, "k-anonymity:5", engine="local", workers=number, out=tmp_path / "out", **ROLES)


def test_going_on_needs_an_engine_that_keeps_something(source: Path, tmp_path: Path) -> None:
    answer = command("anonymize", source, *flags(), "--guarantee", "k-anonymity:5", "--resume", "--out", tmp_path / "o")
    assert answer.status == 2
    assert "--resume" in answer.err


def test_values_that_may_occur_belong_to_every_block(source: Path, tmp_path: Path) -> None:
    domain = sorted({*people(PEOPLE)[ROLES["sensitive"]].unique(), "Astronaut"})
    (tmp_path / "domain.csv").write_text("\n".join(["value", *domain]) + "\n")
    answer = command("anonymize", source, *flags(), "--guarantee", "beta-likeness:3+k-anonymity:5", "--method",
                     "tallies", "--option", f"domain={tmp_path / 'domain.csv'}", "--engine", "local", "--workers", "1",
                     "--out", tmp_path / "out")  # fmt: skip
    assert answer.status == 0, answer.err
    assert "Astronaut" in str(described(tmp_path / "out"))
    assert "Astronaut" in rows_of(tmp_path / "out", "counts").to_series(1).cast(pl.String).to_list()


def test_a_table_of_a_database_goes_through_files(source: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "people.db")) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM read_parquet('{source}/*.parquet')")
    for name, what in (("files", source), ("database", f"duckdb:{tmp_path / 'people.db'}?table=people")):
        answer = command("anonymize", what, *flags(), "--guarantee", "k-anonymity:5", "--engine", "local", "--workers",
                         "1", "--seed", "4", "--scratch", tmp_path, "--out", tmp_path / name)  # fmt: skip
        assert answer.status == 0, answer.err
    assert public_digest(tmp_path / "files") == public_digest(tmp_path / "database")
    assert not list(tmp_path.glob("oneoff-*"))


# --- a folder as one table in memory


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_is_one_table(tmp_path: Path, kind: str) -> None:
    frame = people(400)
    folder = in_files(frame, tmp_path / "rows", 3, kind)
    whole = tmp_path / f"whole.{kind}"
    (frame.write_parquet if kind == "parquet" else frame.write_csv)(whole)
    table, known = oneoff.read_table(folder, **ROLES), oneoff.read_table(whole, **ROLES)
    assert (table.codes == known.codes).all()
    assert (table.values == known.values).all()
    assert oneoff.read_table(folder / f"*.{kind}", rows=150, **ROLES).rows == 150
