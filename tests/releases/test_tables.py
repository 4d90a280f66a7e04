"""Releases as tables of a database: what is in the files, whole or not at all, and nothing private."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oneoff
from oneoff.errors import BadValue, DamagedRelease, DatabaseNotWritable, OutputError, TableExists, UnreadableDatabase
from oneoff.releases import Published, tables
from oneoff.table.databases import duckdb, postgresql, sqlite
from oneoff.table.read import read_frame
from tests.databases import Database
from tests.larger.tables import in_files, people, published

# One release of every shape of table: lists, cells, buckets, plain values with a matrix, masked cells.
SHAPES = {
    "groups": ("mondrian", "k-anonymity:4+l-diversity:2", {}),
    "tallies": ("tallies", "beta-likeness:2", {"field_size": 60}),
    "buckets": ("exact-size", "l-diversity:2", {}),
    "perturbed": ("perturbation", "beta-likeness:2", {}),
    "ranges for each": ("ring", "k-anonymity:3", {}),
}


@cache
def some_release(shape: str = "groups", rows: int = 240) -> Published:
    method, promise, options = SHAPES[shape]
    frame = pa.table(
        {
            "age": [20 + i * 7 % 50 for i in range(rows)],
            "sex": ["FM"[i * 5 % 3 % 2] for i in range(rows)],
            "born": [dt.date(1990, 1, 1) + dt.timedelta(days=i * 37 % 300) for i in range(rows)],
            "smoker": [i * 13 % 5 < 2 for i in range(rows)],
            "disease": [("flu", "cold", 'gout "x"', "o'hara\nü")[i * 11 % 4] for i in range(rows)],
        }
    )
    table = oneoff.read_table(frame, quasi=["age", "sex", "born", "smoker"], sensitive="disease")
    made = oneoff.anonymize(table, promise, method=method, seed=5, **options)
    return replace(made, public_pages=None)  # which take longer than all else, and are no tables


def lines(table: pa.Table) -> list[str]:
    """Rows without an order, as texts: what is written as JSON, moments and truth values alike in every database."""
    rows = zip(*(table[name].to_pylist() for name in sorted(table.column_names)), strict=True)
    return sorted(json.dumps([plain(cell) for cell in row], ensure_ascii=False) for row in rows)


def plain(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith("["):
        return plain(json.loads(cell))
    if isinstance(cell, list):
        return [plain(each) for each in cell]
    return str(cell) if isinstance(cell, dt.date) else int(cell) if isinstance(cell, bool) else cell


def own_tables(database: Database) -> set[str]:
    sql = {
        "duckdb": "SELECT table_name FROM information_schema.tables",
        "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')",
        "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
    }
    return {name for (name,) in database.run(sql[database.kind])}


@pytest.mark.parametrize("shape", SHAPES)
def test_tables_have_what_the_files_have(database: Database, shape: str, tmp_path: Path) -> None:
    public = some_release(shape).write(tmp_path / "out") / "public"
    files = {path.stem: path for path in public.glob("*.parquet")}
    written = tables.write_tables(tmp_path / "out", database.address, "flu_")
    assert set(written) == {f"flu_{name}" for name in (*files, "release")} == own_tables(database)
    for name, path in files.items():
        read = pq.read_table(path)
        back = read_frame(database.table(f"flu_{name}"), na=())
        assert back.column_names == read.column_names
        assert lines(back) == lines(read)
        assert written[f"flu_{name}"] == read.num_rows


def test_databases_that_have_lists_keep_lists(database: Database, tmp_path: Path) -> None:
    some_release().write_to(database.address)
    kind = read_frame(database.table("data"))["sex"].type
    assert pa.types.is_list(kind) == (database.kind != "sqlite")


def test_one_table_says_what_the_release_is(database: Database, tmp_path: Path) -> None:
    public = some_release().write(tmp_path / "out") / "public"
    tables.write_tables(public, database.address, "flu_")
    rows = {each["file"]: each for each in read_frame(database.table("flu_release"), na=()).to_pylist()}
    assert set(rows) == {path.name for path in public.iterdir()}
    for name, row in rows.items():
        assert row["sha256"] == hashlib.sha256((public / name).read_bytes()).hexdigest()
        assert row["in_table"] == (f"flu_{name.removesuffix('.parquet')}" if name.endswith(".parquet") else None)
    assert rows["release.json"]["content"] == (public / "release.json").read_text()


def test_only_the_public_half_goes_there(database: Database) -> None:
    """Neither which record is whose, nor an intermediate file of it on the disk."""
    release = some_release("ranges for each")
    seen: list[str] = []
    write = tables.write_tables

    def spy(folder: Path, *rest: Any, **more: Any) -> dict[str, int]:
        seen.extend(path.name for path in folder.parent.rglob("*"))
        assert folder.parents[1].stat().st_mode & 0o777 == 0o700
        return write(folder, *rest, **more)

    with mock.patch.object(tables, "write_tables", spy):
        written = release.write_to(database.address)
    assert "public" in seen
    assert "links.parquet" not in seen
    assert set(written) == own_tables(database) <= {"data", "columns", "microdata", "release"}


def test_existing_tables_are_refused_and_replaced_when_asked(database: Database) -> None:
    some_release("tallies").write_to(database.address)
    assert "counts" in own_tables(database)
    with pytest.raises(TableExists, match=r"--overwrite .*--prefix"):
        some_release().write_to(database.address)
    assert "counts" in own_tables(database)
    database.run("CREATE TABLE sat (a INTEGER)")
    some_release().write_to(database.address, overwrite=True)
    assert "counts" not in own_tables(database), "a table of the earlier release only"
    assert "sat" in own_tables(database), "nobody's business"
    assert read_frame(database.table("data")).num_rows == 240


def test_a_table_that_is_no_release_is_not_replaced(database: Database) -> None:
    database.run("CREATE TABLE release (version TEXT)")
    with pytest.raises(TableExists):
        some_release().write_to(database.address)
    with pytest.raises(TableExists, match="something else"):
        some_release().write_to(database.address, overwrite=True)
    assert own_tables(database) == {"release"}


def test_all_tables_are_there_or_none(database: Database) -> None:
    """Also those that were to be replaced."""
    some_release("tallies").write_to(database.address)
    before = own_tables(database)
    home = {"duckdb": duckdb._DuckDb, "sqlite": sqlite._Sqlite, "postgresql": postgresql._PostgreSql}[database.kind]
    create = home.create

    def last_fails(self: Any, name: str, batches: pa.RecordBatchReader) -> None:
        if name == "release":
            raise OSError(28, "No space left on device")
        create(self, name, batches)

    with mock.patch.object(home, "create", last_fails), pytest.raises(DatabaseNotWritable, match="No space left"):
        some_release().write_to(database.address, overwrite=True)
    assert own_tables(database) == before
    assert read_frame(database.table("counts")).num_rows


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_file_that_was_not_there_is_not_left_half_written(kind: str, tmp_path: Path) -> None:
    with (
        mock.patch.object(tables, "_listed", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        some_release().write_to(f"{kind}:{tmp_path}/new.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UnreadableDatabase, match="no file"):
        some_release().write_to(f"{kind}:{tmp_path}/nowhere/new.db")


@pytest.fixture(scope="module", params=["mondrian", "tallies"])
def in_parts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    published(in_files(people(3000), folder / "people", 2), folder / "out", "l-diversity:2", request.param, most=1500)
    return folder / "out" / "public"


def test_parts_of_a_release_are_one_table(database: Database, in_parts: Path) -> None:
    parts = sorted(in_parts.glob("columns-*.parquet"))
    assert len(parts) > 1
    written = tables.write_tables(in_parts, database.address)
    assert set(written) == {path.stem.rpartition("-")[0] for path in in_parts.glob("*.parquet")} | {"release"}
    whole = pa.concat_tables([pq.read_table(path) for path in parts])
    assert written["columns"] == whole.num_rows
    assert lines(read_frame(database.table("columns"), na=())) == lines(whole)


def test_what_is_damaged_or_broken_is_refused(database: Database, tmp_path: Path) -> None:
    public = some_release().write(tmp_path / "out") / "public"
    (public / "columns.parquet").write_bytes(b"changed")
    with pytest.raises(DamagedRelease):
        tables.write_tables(public, database.address)
    with pytest.raises(OutputError, match="breaks its promise"):
        tables.refuse_broken("somebody can be told apart")
    if database.kind != "postgresql":
        assert not Path(database.address.partition(":")[2].removeprefix("///")).exists()


@pytest.mark.parametrize("prefix", ["1", 'a"b', "a b", "é", "a" * 41, "x;"])
def test_a_prefix_is_a_plain_word(prefix: str, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="prefix"):
        some_release().write_to(f"duckdb:{tmp_path}/p.db", prefix=prefix)


def test_a_target_has_no_table(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="without a table"):
        some_release().write_to(f"duckdb:{tmp_path}/p.db?table=t")
