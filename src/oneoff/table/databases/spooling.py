"""A table larger than memory, from a database into Parquet files that an engine can read in parts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from oneoff.errors import FolderNotWritable, whole_number
from oneoff.table.databases.reading import open_database

__all__ = ["spooled"]

_GROUP = 1 << 17  # rows that are in memory at a time, beside what a driver brings at once


def spooled(
    source: str, folder: str | os.PathLike[str], columns: Sequence[str] | None = None, *, most_rows: int = 1 << 20
) -> list[Path]:
    """Write columns of a table of a database, or of what a query makes, into files of at most so many rows.

    source   a URL, as `read_table` takes it
    folder   is made for it and is its owner's alone, as private as the table; whoever calls removes it
    columns  all by default

    The table is read once, in one transaction, with memory for some row groups, whatever its size. A table without rows
    is one file without rows. After an error nothing is left.
    """
    whole_number(most_rows, "rows of a file", least=1)
    place, written = Path(folder), list[Path]()
    table = open_database(source, sparing=True)
    try:
        _make(place)
        with _nothing_left(place, written):
            names = list(table.names if columns is None else dict.fromkeys(columns))
            with table.batches(names) as batches:
                for rows in _files(batches, most_rows):
                    written.append(place / f"rows-{len(written):05}.parquet")
                    _write(written[-1], batches.schema, rows)
    finally:
        table.close()
    return written


@contextmanager
def _nothing_left(folder: Path, written: list[Path]) -> Iterator[None]:
    """After an error, of what was written; the folder is ours."""
    try:
        yield
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        folder.rmdir()
        raise


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise FolderNotWritable(
            f"{str(folder)!r} cannot be made", allowed="a new folder", got=error.strerror or str(error)
        ) from None


def _files(batches: pa.RecordBatchReader, most: int) -> Iterator[Iterator[pa.Table]]:
    """Row groups, file by file; each file is to be taken before the next."""
    groups = _groups(batches, min(_GROUP, most))
    last = next(groups)  # there is one, if only of no rows

    def of_a_file() -> Iterator[pa.Table]:
        nonlocal last
        rows = 0
        while last is not None and (rows == 0 or rows + last.num_rows <= most):
            rows += last.num_rows
            yield last
            last = next(groups, None)

    while last is not None:
        yield of_a_file()


def _groups(batches: pa.RecordBatchReader, most: int) -> Iterator[Any]:
    """The rows again, in tables of so many; the last one has the rest."""
    waiting, schema, any_yet = pa.Table.from_batches([], batches.schema), batches.schema, False
    for batch in batches:
        waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch], schema)])
        while waiting.num_rows >= most:
            any_yet = True
            yield waiting.slice(0, most)
            waiting = waiting.slice(most)
    if waiting.num_rows or not any_yet:
        yield waiting


def _write(path: Path, schema: pa.Schema, groups: Iterator[pa.Table]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, pq.ParquetWriter(file, schema, compression="zstd") as parquet:
        for group in groups:
            parquet.write_table(group)
