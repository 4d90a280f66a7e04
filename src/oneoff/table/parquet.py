"""Parquet files, read only when they fit: how much memory one takes is known before anything of it is unpacked.

A small file can be a large table: a thousand million equal cells are a few bytes of Parquet. So rows, columns and the
sizes of unpacked pages are taken from its metadata first. Texts that a file stores once and shows in many rows have no
size there: their lengths are added up first, and what might be too much is read a stretch at a time, while it fits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oneoff.errors import BadValue, UnreadableFile
from oneoff.table.footer import Chunk, row_groups

__all__ = [
    "LIMIT",
    "most_bytes",
    "open_parquet",
    "read_columns",
    "read_parquet",
    "unpacked_bytes",
    "while_they_fit",
]

LIMIT = "ONEOFF_MOST_BYTES"  # of the environment

_DEFAULT = 4 << 30
_CELL = 8  # bytes that any cell takes, whatever its type: no less than a place in an array
_MOST_ROWS = 8_192  # of a stretch
_ODD = (pa.types.is_nested, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)  # read in stretches


def most_bytes() -> int:
    """How much memory the columns of a file may take."""
    given = os.environ.get(LIMIT, "").strip()
    if not given:
        return _DEFAULT
    if not given.isdecimal() or len(given) > 18 or int(given) == 0:
        raise BadValue(f"{LIMIT} is not usable", allowed="a whole number of bytes >= 1", got=repr(given[:40]))
    return int(given)


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A file, or some columns of it."""
    with open_parquet(path) as file:
        return read_columns(file, list(file.schema_arrow.names if columns is None else columns), path)


def open_parquet(path: Path) -> pq.ParquetFile:
    """A file of which nothing but its metadata is read yet."""
    return pq.ParquetFile(path, memory_map=False)


def unpacked_bytes(path: Path) -> int:
    """The least that a file takes in memory, by its own metadata."""
    return sum(_least(chunk, rows) for rows, chunks in row_groups(path) for chunk in chunks)


def _least(chunk: Chunk, rows: int) -> int:
    return max(chunk.unpacked, _CELL * max(chunk.values, rows))


def read_columns(file: pq.ParquetFile, names: list[str], path: Path, rows: int | None = None) -> pa.Table:
    """Columns of an open file, in the order in which they are named, or an error before they fill the memory."""
    most, what, people = most_bytes(), path.name, file.metadata.num_rows
    texts = _refuse_large(row_groups(path), people, names, what, most, rows)
    if rows is None and (people * texts <= most or _texts_fit(path, file, names, most)):
        return file.read(columns=names).select(names)
    step = max(1, min(_MOST_ROWS, rows or _MOST_ROWS, most // (4 * max(texts, 1))))
    batches = while_they_fit(file.iter_batches(step, columns=names), what, most, rows)
    described = file.schema_arrow
    schema = pa.schema([described.field(name) for name in names], metadata=described.metadata)
    taken = pa.Table.from_batches([batch.select(names) for batch in batches], schema=schema)
    return taken if rows is None else taken.slice(0, rows)


def _refuse_large(
    groups: list[tuple[int, list[Chunk]]], people: int, names: list[str], what: str, most: int, rows: int | None
) -> int:
    """The most bytes that a single text can have; files that cannot fit are refused."""
    wanted, total, texts = set(names), 0, 0
    for rows_of_group, chunks in groups:
        meant = [each for each in chunks if each.name in wanted]
        texts = max([texts, *(each.unpacked for each in meant if each.texts)])
        if rows is None:
            total += sum(_least(each, rows_of_group) for each in meant)
    if rows is None:
        total = max(total, _CELL * people * len(wanted))
    if total > most:
        raise _too_large(what, total, most)
    return texts


def _texts_fit(path: Path, file: pq.ParquetFile, names: list[str], most: int) -> bool:
    """Whether all texts fit, going by their lengths: they are read as the file stores them, each but once."""
    types = {name: file.schema_arrow.field(name).type for name in names}
    if any(odd(kind) for kind in types.values() for odd in _ODD):
        return False
    texts = [name for name, kind in types.items() if pa.types.is_string(kind)]
    with pq.ParquetFile(path, read_dictionary=texts) as again:
        return sum(_unpacked(again.read(columns=[name]).column(0)) for name in texts) <= most // 2


def _unpacked(column: Any) -> int:
    """The bytes of a column of texts, once each is written out."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    return sum(
        pc.sum(pc.binary_length(chunk.dictionary).cast(pa.int64()).take(chunk.indices)).as_py() or 0
        for chunk in column.chunks
    )


def while_they_fit(batches: Iterable[Any], what: str, most: int, rows: int | None) -> Iterator[Any]:
    """Batches as they come, as many as have the rows that are wanted, or an error before they fill the memory."""
    bytes_taken, count = 0, 0
    for batch in batches:
        bytes_taken, count = bytes_taken + batch.nbytes, count + batch.num_rows
        if bytes_taken > most:
            raise _too_large(what, bytes_taken, most)
        yield batch
        if rows is not None and count >= rows:
            return


def _too_large(what: str, takes: int, most: int) -> UnreadableFile:
    return UnreadableFile(
        f"{what} takes {takes:,} bytes of memory or more, and {most:,} are allowed",
        allowed=f"tables of at most {most:,} bytes",
        got=f"{takes:,} bytes, by its own metadata or by what was unpacked so far",
        hint=f"if it is meant to be so large, set {LIMIT} in the environment to a larger number of bytes",
    )
