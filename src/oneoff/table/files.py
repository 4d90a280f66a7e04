"""A table in many files: which they are, what columns they have, and their rows a batch at a time.

Parquet is read by row groups, text a stretch at a time; no file is ever in memory whole. Files are numbered in the
order of their names. All have the same columns: whole numbers of different widths, and texts with and without a
dictionary, are the same to us, any other difference is refused by the name of the file and of the column.
"""

from __future__ import annotations

import glob
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from oneoff.errors import BadValue, OneoffError, UnreadableFile, listing, nearest
from oneoff.table.columns import nulls_for
from oneoff.table.paths import exists, is_folder
from oneoff.table.textfile import header_of, refuse_marks

__all__ = [
    "PLACE",
    "Files",
    "Head",
    "Stretch",
    "TextFormat",
    "common",
    "footer",
    "is_hidden",
    "is_known",
    "is_parquet",
    "joint_header",
    "joint_schema",
    "named_files",
    "open_files",
    "read_column",
    "refuse_kinds",
    "rows_in",
    "table_of",
]

PLACE = ("(file)", "(row)")  # columns that say where a row came from

_PARQUET, _TEXT = (".parquet", ".pq"), (".csv", ".tsv", ".txt")
_BATCH = 1 << 17  # rows at a time
_STRETCH = 1 << 20  # rows of row groups that are read by one call
_BLOCK_BYTES = 1 << 24  # of text at a time
_BYTES_OF_A_LINE = 60  # about, for a guess


@dataclass(frozen=True)
class TextFormat:
    """How text files are to be read; in other sources only `na` matters."""

    encoding: str = "utf-8"
    delimiter: str | None = None
    na: tuple[str, ...] = ("",)
    decimal: str = "."


@dataclass(frozen=True)
class Stretch:
    """A part of a file that one call reads: some row groups, or all of a text file; its first row has this number."""

    file: int
    groups: tuple[int, ...]
    first: int
    rows: int | None


@dataclass(frozen=True)
class Files:
    """A table in files, of which some columns are wanted. A `Frame`.

    stamps    size and time of every file when it was opened
    """

    files: tuple[str, ...]
    schema: pa.Schema
    is_text: bool
    reading: TextFormat
    stretches: tuple[Stretch, ...]
    stamps: tuple[tuple[int, int], ...]
    notices: tuple[str, ...] = ()

    def select(self, columns: Sequence[str]) -> Files:
        return replace(self, schema=pa.schema([self.schema.field(name) for name in columns]))

    def batches(self, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        """The rows of a stretch, with their place; an error names the file."""
        path = Path(self.files[stretch.file])
        self._refuse_changed(stretch.file)
        row = stretch.first
        try:
            for batch in (_text_batches if self.is_text else _parquet_batches)(path, self, stretch):
                yield _placed(batch, stretch.file, row)
                row += batch.num_rows
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise _unreadable(path, stretch, error) from None

    def _refuse_changed(self, file: int) -> None:
        if _stamp(Path(self.files[file])) != self.stamps[file]:
            raise UnreadableFile(
                f"{self.files[file]!r} has changed since the run began",
                allowed="files that stay as they are while they are read",
                got="another size or time of change",
                hint="begin again once nobody writes to it",
            )


def named_files(source: Any) -> tuple[str, ...]:
    """The files of a folder, at any depth, of a pattern, or the one that is named: all Parquet or all text."""
    path = Path(source)
    if is_folder(path):
        found = [each for each in path.rglob("*") if each.is_file() and not is_hidden(each.relative_to(path))]
        found = [each for each in found if is_known(each.name)]
    elif exists(path):
        found = [path]
    else:
        any_folder = glob.glob(str(source), recursive=True)  # noqa: PTH207 - Path.glob wants to know where
        found = [Path(each) for each in any_folder if Path(each).is_file()]
    names = tuple(sorted(str(each) for each in found))
    _refuse_none(source, path, names)
    refuse_kinds(source, names)
    return names


def refuse_kinds(source: Any, names: Sequence[str]) -> None:
    """Files are all Parquet, or all text."""
    kinds = {"Parquet" if is_parquet(name) else "text" for name in names}
    strange = [name for name in names if not is_known(name)]
    if len(kinds) > 1 or strange:
        raise UnreadableFile(
            f"{str(source)!r} stands for files of different kinds"
            if not strange
            else "the kind of a file is not known",
            allowed="Parquet files only, or text files only (.parquet, .csv, .tsv, .txt)",
            got=listing(strange or [next(n for n in names if n.lower().endswith(kind)) for kind in (_PARQUET, _TEXT)]),
            hint="name one kind with a pattern, such as 'folder/*.parquet'",
        )


def is_parquet(name: str) -> bool:
    return name.lower().endswith(_PARQUET)


def is_known(name: str) -> bool:
    """Is it of a kind that can be read?"""
    return name.lower().endswith((*_PARQUET, *_TEXT))


def is_hidden(path: PurePath) -> bool:
    """Spark leaves _SUCCESS and others beside what it writes."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _refuse_none(source: Any, path: Path, names: Sequence[str]) -> None:
    if names:
        return
    what = f"the folder {str(source)!r} has no files that can be read" if is_folder(path) else f"no file is {source!r}"
    beside = [other.name for other in path.parent.glob("*")] if is_folder(path.parent) else []
    raise UnreadableFile(
        what,
        allowed="a folder with .parquet, .csv, .tsv or .txt files, a pattern such as 'folder/*.parquet', or a file",
        got="none",
        hint="" if is_folder(path) else nearest(path.name, beside),
    )


def open_files(source: Any, reading: TextFormat) -> Files:
    """Names and types of all files, and how many rows those have that say so; nothing else is read."""
    names = named_files(source)
    stamps = tuple(_stamp(Path(name)) for name in names)
    if not is_parquet(names[0]):
        return _open_texts(names, reading, stamps)
    found = [footer(name, name) for name in names]
    stretches = [part for i, (_, groups) in enumerate(found) for part in _stretches(i, groups)]
    return Files(names, joint_schema(names, found), False, reading, tuple(stretches), stamps)


def joint_schema(names: Sequence[str], found: Sequence[tuple[pa.Schema, list[int]]]) -> pa.Schema:
    """That of all files; those without rows have no say."""
    filled = [(name, schema) for name, (schema, groups) in zip(names, found, strict=True) if sum(groups)]
    filled = filled or [(names[0], found[0][0])]
    return pa.schema([common(field) for field in reduce(_reconciled, filled[1:], filled[0])[1]])


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read", got=error.strerror or str(error)) from None
    return status.st_size, status.st_mtime_ns


def footer(name: str, source: Any) -> tuple[pa.Schema, list[int]]:
    """Columns of a Parquet file, and rows of its groups; `source` is its path or what reads it."""
    try:
        with pq.ParquetFile(source) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            return file.schema_arrow.remove_metadata(), sizes
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(Path(name), None, error) from None


def _stretches(file: int, sizes: Sequence[int]) -> Iterator[Stretch]:
    """Row groups one after the other, so many that a call is worth its while."""
    groups: list[int] = []
    first = rows = 0
    for i, size in enumerate(sizes):
        if groups and rows + size > _STRETCH:
            yield Stretch(file, tuple(groups), first, rows)
            groups, first, rows = [], first + rows, 0
        groups.append(i)
        rows += size
    if rows:
        yield Stretch(file, tuple(groups), first, rows)


def _reconciled(one: tuple[str, pa.Schema], other: tuple[str, pa.Schema]) -> tuple[str, pa.Schema]:
    """The columns of both, in the order of the first, with types that hold the values of both."""
    (first, known), (name, schema) = one, other
    odd = sorted(set(known.names) ^ set(schema.names))
    if odd:
        raise UnreadableFile(
            f"files have different columns: {odd[0]!r} is not in {(name if odd[0] in known.names else first)!r}",
            allowed="the same columns in all files",
            got=listing(odd),
            hint="name files of one kind with a pattern, or add the column",
        )
    return first, pa.schema([_joint(known.field(each), schema.field(each), first, name) for each in known.names])


def _joint(one: pa.Field, other: pa.Field, first: str, name: str) -> pa.Field:
    known, found = common(one).type, common(other).type
    numbers = {pa.int64(), pa.float64()}
    if known == found or pa.types.is_null(found):
        return pa.field(one.name, known)
    if pa.types.is_null(known):
        return pa.field(one.name, found)
    if {known, found} == numbers:
        return pa.field(one.name, pa.float64())
    raise UnreadableFile(
        f"column {one.name!r} has values of different types in different files",
        allowed="one type in all files",
        got=f"{known} in {first!r}, {found} in {name!r}",
        hint="write the column anew in one of them",
    )


def common(field: pa.Field) -> pa.Field:
    """The type that all of its kind have here."""
    kind, types = field.type, pa.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_integer(kind) and kind != pa.uint64():
        kind = pa.int64()
    elif types.is_floating(kind):
        kind = pa.float64()
    elif types.is_string(kind) or types.is_string_view(kind):
        kind = pa.large_string()
    return pa.field(field.name, kind)


def _parquet_batches(path: Path, files: Files, stretch: Stretch) -> Iterator[pa.RecordBatch]:
    names = files.schema.names
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH, row_groups=list(stretch.groups), columns=names):
            yield pa.record_batch(
                [read_column(batch[name], files.schema.field(name), files.reading) for name in names], names
            )


def read_column(column: pa.Array, field: pa.Field, reading: TextFormat) -> pa.Array:
    """With the type that the column has in all files, and nulls where it reads like a missing value."""
    column = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
    found = nulls_for(column.cast(field.type), reading.na)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _placed(batch: pa.RecordBatch, file: int, first: int) -> pa.RecordBatch:
    rows = np.arange(first, first + batch.num_rows)
    place = [pa.array(np.full(batch.num_rows, file, dtype=np.int32)), pa.array(rows)]
    return pa.record_batch([*batch.columns, *place], names=[*batch.schema.names, *PLACE])


def _unreadable(path: Path, stretch: Stretch | None, error: Exception) -> OneoffError:
    groups = () if stretch is None else stretch.groups
    several = (
        f"row groups {groups[0]} to {groups[-1]}" if len(groups) > 1 else f"row group {groups[0]}" if groups else ""
    )
    where = f" ({several})" if several else ""
    return UnreadableFile(
        f"{str(path)!r} cannot be read{where}",
        allowed="whole Parquet or text files",
        got=str(error).partition("\n")[0][:200],
        hint="check that it was copied completely, or leave it out; nothing was published",
    )


def rows_in(source: Any) -> int:
    """How many rows a table in files has: those of Parquet files say so; lines of text are guessed from bytes."""
    names = named_files(source)
    if not is_parquet(names[0]):
        return sum(_stamp(Path(name))[0] for name in names) // _BYTES_OF_A_LINE
    return sum(sum(footer(name, name)[1]) for name in names)


def table_of(files: Files, rows: int | None = None) -> pa.Table:
    """All rows of the columns that are wanted, or the first so many, in memory."""
    found: list[pa.RecordBatch] = []
    left = sys.maxsize if rows is None else rows
    for stretch in files.stretches:
        for batch in files.batches(stretch):
            found.append(batch.slice(0, left).select(files.schema.names))
            left -= found[-1].num_rows
            if left <= 0:
                return pa.Table.from_batches(found)
    return pa.Table.from_batches(found, files.schema)


# --- text


def _open_texts(names: tuple[str, ...], reading: TextFormat, stamps: tuple[tuple[int, int], ...]) -> Files:
    filled = [i for i, (size, _) in enumerate(stamps) if size] or [0]
    head = joint_header([names[i] for i in filled], reading, lambda name, mark: header_of(Path(name), mark))
    stretches = tuple(Stretch(i, (), 0, None) for i in filled)
    return Files(names, head.schema, True, head.reading, stretches, stamps, head.notices)


@dataclass(frozen=True)
class Head:
    """What the headers of text files say."""

    schema: pa.Schema
    reading: TextFormat
    notices: tuple[str, ...]
    in_order: bool


Header = Callable[[str, str | None], tuple[str, tuple[str, ...], tuple[str, ...]]]


def joint_header(names: Sequence[str], reading: TextFormat, header: Header) -> Head:
    """The header of every file; the delimiter that is found in the first one is that of all."""
    refuse_marks(reading.delimiter, reading.decimal)
    if reading.encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "ascii"):
        raise BadValue(
            "text in many files is read a stretch at a time, which other encodings do not allow",
            allowed="UTF-8",
            got=reading.encoding,
            hint="convert the files",
        )
    delimiter, columns, notices = header(names[0], reading.delimiter)
    in_order = True
    for name in names[1:]:
        _, others, _ = header(name, delimiter)
        if others != columns:
            _reconciled((names[0], _texts(columns)), (name, _texts(others)))
            in_order = False
    return Head(_texts(columns), replace(reading, delimiter=delimiter), notices, in_order)


def _texts(columns: Sequence[str]) -> pa.Schema:
    return pa.schema([pa.field(name, pa.large_string()) for name in columns])


def _text_batches(path: Path, files: Files, stretch: Stretch) -> Iterator[pa.RecordBatch]:
    names = files.schema.names
    reading = files.reading
    parse = pa.csv.ParseOptions(delimiter=reading.delimiter, newlines_in_values=True)
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.large_string()), include_columns=names, null_values=list(reading.na),
        strings_can_be_null=True,
    )  # fmt: skip
    read = pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
    with pa.csv.open_csv(path, read, parse, convert) as file:
        yield from file
