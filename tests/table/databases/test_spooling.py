"""Tables larger than memory go through memory a row group at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oneoff.errors import FolderNotWritable, UnknownColumn, UnreadableDatabase
from oneoff.table.databases import spooling
from oneoff.table.databases.spooling import spooled
from oneoff.table.read import read_frame
from tests.databases import Database
from tests.table.databases.test_reading import TYPES, some_people


def test_files_have_the_rows_of_the_table(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooling, "_GROUP", 30)
    database.fill("people", some_people(250))
    files = spooled(database.table("people"), tmp_path / "out", ["sex", "age"], most_rows=100)
    assert [path.name for path in files] == ["rows-00000.parquet", "rows-00001.parquet", "rows-00002.parquet"]
    assert [pq.read_metadata(path).num_rows for path in files] == [90, 90, 70]
    assert [pq.read_metadata(path).num_row_groups for path in files] == [3, 3, 3]
    together = pa.concat_tables([pq.read_table(path) for path in files])
    assert together.to_pydict() == some_people(250).select(["sex", "age"]).to_pydict()


def test_types_are_those_of_a_table_in_memory(database: Database, tmp_path: Path) -> None:
    database.run(*TYPES[database.kind])
    (file,) = spooled(database.table("t"), tmp_path / "out")
    read = read_frame(database.table("t"))
    assert pq.read_table(file).to_pydict() == read.to_pydict()
    assert pq.read_schema(file).types == read.schema.types


def test_files_are_their_owners_alone(database: Database, tmp_path: Path) -> None:
    database.fill("people", some_people(10))
    (file,) = spooled(database.table("people"), tmp_path / "out")
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "out", file)] == [0o700, 0o600]


def test_a_table_without_rows_is_a_file_without_rows(database: Database, tmp_path: Path) -> None:
    database.fill("people", some_people(0))
    (file,) = spooled(database.table("people"), tmp_path / "out", ["age"])
    assert pq.read_table(file).to_pydict() == {"age": []}


def test_nothing_is_left_after_an_error(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database.fill("people", some_people(250))
    with pytest.raises(UnknownColumn):
        spooled(database.table("people"), tmp_path / "out", ["aeg"])
    with pytest.raises(UnreadableDatabase):
        spooled(database.table("peple"), tmp_path / "out")
    monkeypatch.setattr(spooling, "_GROUP", 30)
    write, calls = spooling._write, []

    def full(path: Path, *rest: object) -> None:
        write(path, *rest)  # type: ignore[arg-type]
        calls.append(path)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(spooling, "_write", full)
    with pytest.raises(UnreadableDatabase, match="No space left"):
        spooled(database.table("people"), tmp_path / "out", most_rows=100)
    assert len(calls) == 2
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_there_is_not_touched(database: Database, tmp_path: Path) -> None:
    database.fill("people", some_people(10))
    (tmp_path / "out").mkdir()
    with pytest.raises(FolderNotWritable):
        spooled(database.table("people"), tmp_path / "out")
    assert (tmp_path / "out").exists()


_SERIES = {
    "duckdb": "SELECT i AS a, md5(i::VARCHAR) AS b, i / 7.0 AS c FROM range({rows}) AS r(i)",
    "sqlite": "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r LIMIT {rows}) "
    "SELECT i AS a, hex(i * 123456789012345) || hex(i) AS b, i / 7.0 AS c FROM r",
    "postgresql": "SELECT i AS a, md5(i::text) AS b, (i / 7.0)::float8 AS c FROM generate_series(1, {rows}) AS r(i)",
}
_GROWTH = """
import resource, sys
from pathlib import Path
from oneoff.table.databases.spooling import spooled
small, large, folder = sys.argv[1:]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
spooled(small, folder + "/small")
before = peak()
files = spooled(large, folder + "/large")
print(peak() - before, len(files))
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table(database: Database, tmp_path: Path) -> None:
    """Of a process by itself: seven times the rows take some megabytes more, not seven times as many."""
    if database.kind != "postgresql":
        database.run("CREATE TABLE t (a INTEGER)")
    small, large = (database.query(_SERIES[database.kind].format(rows=rows)) for rows in (200_000, 1_500_000))
    told = [sys.executable, "-c", _GROWTH, small, large, str(tmp_path)]
    grown, files = subprocess.run(told, capture_output=True, text=True, check=True).stdout.split()
    assert int(files) == 2
    assert int(grown) < 40, "megabytes; the large table has more than 80"
    assert sum(pq.read_metadata(path).num_rows for path in (tmp_path / "large").iterdir()) == 1_500_000
