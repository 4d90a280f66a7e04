"""The head of a file: how it is written, and its first rows, read by the page itself.

Only the beginning of a file is looked at, so a large one is shown as fast as a small one. What a look at all of it
finds out is a child's work (`work/look.py`).
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oneoff.errors import BadValue, UnreadableFile
from oneoff.table.files import is_parquet, refuse_kinds
from oneoff.table.textfile import decimal_commas, header_in, refuse_marks

__all__ = ["READING", "Head", "found_reading", "head_of"]

READING = ("rows", "encoding", "delimiter", "decimal", "na")  # keys of a job that say how a file is read
_SHOWN = 50  # rows
_BYTES = 1 << 20  # of a text, looked at
_NO_VALUE = ("?", "NA", "N/A", "n/a", "na", "NULL", "null", "None", "NaN", "nan", "-", "--", ".", "missing", "unknown")


@dataclass(frozen=True)
class Head:
    """What is shown of a file.

    rows       the first rows, None where nothing is
    numbers    columns of numbers, by place
    total      rows in all, where the file says so
    encoding, delimiter, decimal    how a text is read; empty for Parquet
    doubtful   texts that may stand for a missing value, and are read as values
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    numbers: frozenset[int]
    total: int | None = None
    encoding: str = ""
    delimiter: str = ""
    decimal: str = ""
    doubtful: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        return bool(self.delimiter)


def found_reading(path: Path) -> dict[str, Any]:
    """How a text seems to be written, where that is not as the library takes it to be by itself: keys of a job."""
    refuse_kinds(path.name, [path.name])
    if is_parquet(path.name):
        return {}
    data = _beginning(path)
    encoding = _encoding(data)
    found = {} if encoding == "utf-8" else {"encoding": encoding}
    try:
        head = head_of(path, found)
    except (UnreadableFile, BadValue):
        return found  # the page shows why
    return found | ({"decimal": ","} if _has_commas(head) else {})


def head_of(path: Path, reading: Mapping[str, Any]) -> Head:
    """The head of a file, read as these keys of a job say."""
    refuse_kinds(path.name, [path.name])
    return _parquet(path) if is_parquet(path.name) else _text(path, reading)


def _parquet(path: Path) -> Head:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            schema, total = file.schema_arrow, file.metadata.num_rows
            batch = next(file.iter_batches(_SHOWN), None)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(
            f"{path.name!r} cannot be read",
            allowed="a whole Parquet file",
            got=str(error).partition("\n")[0][:200],
            hint="check that it was copied completely",
        ) from None
    columns = [] if batch is None else [_texts(column) for column in batch.columns]
    kinds = [pa.types.is_integer(each.type) or pa.types.is_floating(each.type) for each in schema]
    numbers = frozenset(place for place, is_number in enumerate(kinds) if is_number)
    return Head(tuple(schema.names), tuple(zip(*columns, strict=True)), numbers, total)


def _texts(column: Any) -> list[str | None]:
    return [None if value is None else str(value) for value in column.to_pylist()]


def _text(path: Path, reading: Mapping[str, Any]) -> Head:
    encoding, decimal = reading.get("encoding", "utf-8"), reading.get("decimal", ".")
    refuse_marks(reading.get("delimiter"), decimal)
    text = _decoded(path, _beginning(path), encoding)
    delimiter, names, _ = header_in(path.name, text.encode(), reading.get("delimiter"))
    refuse_marks(delimiter, decimal)
    lines = csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=delimiter)
    try:
        rows = [row for row in _first(lines, reading.get("rows")) if row][1:]
    except csv.Error as error:
        raise UnreadableFile(
            f"{path.name!r} cannot be divided into columns", got=str(error), hint="check its quotes and the delimiter"
        ) from None
    missing = set(reading.get("na", [""]))
    cells = tuple(
        tuple(None if cell in missing else cell for cell in (*row, *[""] * (len(names) - len(row)))[: len(names)])
        for row in rows
    )
    doubtful = tuple(dict.fromkeys(cell for row in cells for cell in row if cell in _NO_VALUE))
    return Head(names, cells, _numbers(cells, decimal), None, encoding, delimiter, decimal, doubtful)


def _first(lines: Iterable[list[str]], most: int | None) -> Iterable[list[str]]:
    left = 1 + min(_SHOWN, most or _SHOWN)
    for row in lines:
        yield row
        left -= bool(row)
        if not left:
            return


def _beginning(path: Path) -> bytes:
    """The first bytes, up to the end of a line."""
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES)
    except OSError as error:
        raise UnreadableFile(
            f"{path.name!r} cannot be read", got=error.strerror or str(error), hint="check its permissions"
        ) from None
    if not data.strip():
        raise UnreadableFile(
            f"{path.name!r} is empty", allowed="a header line and one line for each person", got=f"{len(data)} bytes"
        )
    return data


def _encoding(data: bytes) -> str:
    """UTF-8 where that fits; otherwise what Windows writes in Europe."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding in ("utf-8", "cp1252"):
        if _fits(data, encoding):
            return encoding
    return "latin-1"


def _fits(data: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data)  # a letter that is cut at the end is none of its faults
    except UnicodeError:
        return False
    return True


def _decoded(path: Path, data: bytes, encoding: str) -> str:
    """Whole lines of text."""
    try:
        b"".decode(encoding)  # which is no use for codecs that are not of texts
        text = codecs.getincrementaldecoder(encoding)().decode(data)
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        line = data.count(b"\n", 0, at) + 1
        raise UnreadableFile(
            f"{path.name!r} is not written in {encoding}",
            allowed=f"text in {encoding}",
            got=f"byte {data[at]:#04x} in line {line}",
            hint="choose another encoding",
        ) from None
    except (LookupError, ValueError):
        raise BadValue("unknown encoding", allowed="utf-8, latin-1, cp1252, ...", got=repr(encoding)) from None
    text = text.removeprefix("\ufeff")
    end = text.rfind("\n")
    return text if len(data) < _BYTES or end < 0 else text[: end + 1]


def _numbers(rows: Sequence[Sequence[str | None]], decimal: str) -> frozenset[int]:
    """Columns in whose first rows there is nothing but numbers."""
    columns = list(zip(*rows, strict=True))
    return frozenset(
        place
        for place, column in enumerate(columns)
        if any(column) and all(cell is None or _is_number(cell, decimal) for cell in column)
    )


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return True


def _has_commas(head: Head) -> bool:
    """Is there a column whose numbers have decimal commas?"""
    import pyarrow as pa

    columns = list(zip(*head.rows, strict=True))
    return head.delimiter != "," and any(
        decimal_commas(name, pa.array([cell for cell in column if cell], pa.string()))
        for name, column in zip(head.names, columns, strict=True)
        if any(column)
    )
