"""Where tables come from: text files, Parquet files and the dataframes of any library, opened by their column names."""

from __future__ import annotations

import datetime as dt
import numbers
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from oneoff.errors import BadValue, UnreadableFile, listing, whole_number
from oneoff.table.columns import first_line, nulls_for, unusable
from oneoff.table.databases import is_url
from oneoff.table.files import TextFormat, open_files, table_of
from oneoff.table.parquet import open_parquet, read_columns
from oneoff.table.paths import exists, is_many, nearest_beside
from oneoff.table.textfile import open_text, typed_column

__all__ = ["Source", "open_source"]

_ALL_ROWS = 2**53  # whoever asks for more means all there are


def _nothing_open() -> None:
    pass


@dataclass(frozen=True)
class Source:
    """A table whose column names are known and whose columns are read on demand; notices say what was guessed.

    A database is open as long as the `with` statement, in which all that is read is of one moment.
    """

    names: tuple[str, ...]
    origin: str
    load: Callable[[list[str]], pa.Table]
    notices: tuple[str, ...] = ()
    close: Callable[[], None] = _nothing_open

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_source(
    source: Any, rows: int | None, encoding: str, delimiter: str | None, na: Sequence[str], decimal: str = "."
) -> Source:
    """A file, a table of a database or a dataframe, of which only the first so many rows are read; texts in `na` stand
    for missing values."""
    if rows is not None:
        rows = min(whole_number(rows, "rows", least=1, hint="it is how many to read"), _ALL_ROWS)
    if isinstance(na, str):
        na = (na,)
    if is_url(source):
        return _open_database(source, rows, na)
    opened = (
        _open_path(Path(source), rows, encoding, delimiter, na, decimal)
        if _is_path(source)
        else _open_frame(source, rows, na)
    )
    _refuse_twin_names(opened.names)
    return opened


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _open_path(
    path: Path, rows: int | None, encoding: str, delimiter: str | None, na: Sequence[str], decimal: str
) -> Source:
    if is_many(path):
        return _open_files(path, rows, TextFormat(encoding, delimiter, tuple(na), decimal))
    _refuse_no_file(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        return _open_parquet(path, rows, na)
    names, load, notices = open_text(path, rows, encoding, delimiter, na, decimal)
    return Source(names, "polars", load, notices)


def _open_files(path: Path, rows: int | None, text: TextFormat) -> Source:
    """A folder, or a pattern, of files that are one table together."""
    files = open_files(path, text)

    def load(names: list[str]) -> pa.Table:
        frame = table_of(files.select(names), rows)
        if not files.is_text:
            return frame
        return pa.table({name: typed_column(frame[name], text.decimal) for name in names})

    return Source(tuple(files.schema.names), "polars", load, files.notices)


def _refuse_no_file(path: Path) -> None:
    kinds = ".csv, .tsv, .txt or .parquet"
    if "\0" in str(path):
        raise UnreadableFile(
            "the name of the file has a NUL in it", allowed=f"a {kinds} file", got=repr(str(path))[:80]
        )
    if not exists(path):
        raise UnreadableFile(
            f"there is no file {str(path)!r}",
            allowed=f"an existing {kinds} file",
            got="no such file",
            hint=nearest_beside(path) or "check the path",
        )
    if path.suffix.lower() not in (".csv", ".tsv", ".txt", ".parquet", ".pq"):
        raise UnreadableFile(
            f"the kind of file {path.name!r} is not known",
            allowed=kinds,
            got=f"the suffix {path.suffix!r}",
            hint="convert it, or pass a pandas or polars frame",
        )


def _refuse_twin_names(names: Sequence[str]) -> None:
    twins = [name for name, times in Counter(names).items() if times > 1]
    if twins:
        raise BadValue(
            "several columns have the same name",
            allowed="a name of its own for each column",
            got=listing(repr(name) for name in twins),
            hint="rename the columns",
        )


def _open_parquet(path: Path, rows: int | None, na: Sequence[str]) -> Source:
    try:
        file = open_parquet(path)
    except (pa.ArrowException, OSError) as error:
        raise _broken_parquet(path, error) from error

    def load(names: list[str]) -> pa.Table:
        try:
            return _without_na(read_columns(file, names, path, rows), na)
        except (pa.ArrowException, OSError) as error:
            raise _broken_parquet(path, error) from error

    return Source(tuple(file.schema_arrow.names), "polars", load)


def _broken_parquet(path: Path, error: Exception) -> UnreadableFile:
    return UnreadableFile(
        f"{path.name!r} cannot be read as Parquet",
        allowed="a whole Parquet file",
        got=first_line(error),
        hint="check that it was copied completely, and that its suffix is right",
    )


def _open_database(source: str, rows: int | None, na: Sequence[str]) -> Source:
    from oneoff.table.databases.reading import open_database

    opened = open_database(source)
    try:
        _refuse_twin_names(opened.names)
    except BadValue:
        opened.close()
        raise

    def load(names: list[str]) -> pa.Table:
        return _without_na(opened.read(names, rows), na)

    return Source(opened.names, "polars", load, opened.notices, opened.close)


def _open_frame(source: Any, rows: int | None, na: Sequence[str]) -> Source:
    frame = _narwhals(source)
    names = tuple(frame.collect_schema().names())
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise BadValue(
            "column names must be texts",
            allowed="names such as 'age'",
            got=listing(repr(name) for name in strange),
            hint="rename them, for example frame.columns = frame.columns.astype(str)",
        )

    def load(wanted: list[str]) -> pa.Table:
        part = frame.select(wanted)
        part = part if rows is None else part.head(rows)
        eager = part.collect() if isinstance(part, nw.LazyFrame) else part
        return _without_na(pa.table({name: _arrow_column(eager[name]) for name in wanted}), na)

    backend = frame.implementation
    origin = "pandas" if backend.is_pandas_like() else "polars" if backend.is_polars() else "pyarrow"
    return Source(names, origin, load)


def _narwhals(source: Any) -> Any:
    if isinstance(source, pa.RecordBatch | pa.RecordBatchReader):
        source = pa.table(source)
    try:
        return nw.from_native(source)
    except nw.exceptions.DuplicateError as error:
        raise BadValue(
            "several columns have the same name",
            allowed="a name of its own for each column",
            got=" ".join(str(error).split()),
            hint="rename the columns",
        ) from error
    except TypeError as error:
        raise BadValue(
            "this is not a table",
            allowed="a path, or a pandas, polars or Arrow frame",
            got=type(source).__name__,
            hint="wrap it, for example polars.DataFrame(...)",
        ) from error


def _arrow_column(series: Any) -> Any:
    name, native = series.name, series.to_native()
    if series.implementation.is_pandas_like() and str(native.dtype) == "object":
        _refuse_mixed(name, native.dropna())
    if series.implementation.is_pyarrow() and pa.types.is_dictionary(native.type) and native.type.ordered:
        return native  # as it is: joined, its parts would seem to share an order
    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise unusable(name, first_line(error)) from error


_FAMILIES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("bool", (bool, np.bool_)),
    ("text", (str,)),
    ("decimal", (Decimal,)),
    ("number", (numbers.Real, np.integer, np.floating)),
    ("datetime", (dt.datetime,)),
    ("date", (dt.date,)),
)


def _refuse_mixed(name: str, values: Iterable[object]) -> None:
    """Object columns may hold anything: Arrow would turn some mixtures into one type without a word."""
    types = set(map(type, values))
    families = {next((word for word, kinds in _FAMILIES if issubclass(kind, kinds)), kind.__name__) for kind in types}
    if len(families) > 1:
        raise BadValue(
            f"column {name!r} mixes values of different types",
            allowed="one type for the whole column",
            got=listing(sorted(kind.__name__ for kind in types)),
            hint=f"convert it, for example frame[{name!r}] = frame[{name!r}].astype(str)",
        )


def _without_na(frame: pa.Table, na: Sequence[str]) -> pa.Table:
    for position, name in enumerate(frame.column_names):
        frame = frame.set_column(position, name, nulls_for(frame[name], na))
    return frame
