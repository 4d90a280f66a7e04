"""Arrow columns on their way into a table, and back: codes over distinct values, and what may become of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from oneoff.errors import BadValue
from oneoff.table.arrays import Codes, Flags
from oneoff.table.encode import encode
from oneoff.table.hierarchy import Hierarchy, label_texts
from oneoff.table.orders import ranks_in
from oneoff.table.table import MISSING_LABEL, Attribute, Kind, Table

__all__ = [
    "MISSING_LABEL",
    "Column",
    "attribute_of",
    "column_of",
    "dictionary_array",
    "first_line",
    "frame_of",
    "is_numeric",
    "is_text",
    "nulls_for",
    "rows_of",
    "to_numpy",
    "unusable",
    "with_category",
]


def is_text(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_numeric(kind: Any) -> bool:
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_date, types.is_timestamp)
    return any(test(kind) for test in tests)


def dictionary_array(column: Any) -> Any:
    """The column as one array of indices over a dictionary; a null has a null index or a null in the dictionary."""
    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if not pa.types.is_dictionary(chunked.type):
        chunked = chunked.dictionary_encode()
    combined = chunked.combine_chunks()
    array = combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined
    if pa.types.is_string_view(array.dictionary.type):  # few Arrow functions know this layout
        texts = array.dictionary.cast(pa.large_string())
        return pa.DictionaryArray.from_arrays(array.indices, texts, ordered=array.type.ordered)
    return array


def nulls_for(column: Any, na: Sequence[str]) -> Any:
    """The column with nulls where a value reads like one of the `na` texts."""
    value_type = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    possible = [text for text in dict.fromkeys(na) if is_text(value_type) or text]
    if not possible or not (is_text(value_type) or is_numeric(value_type)):
        return column
    if is_text(column.type):  # not through the distinct values: a text column may have as many as rows
        return _without_texts(column, possible)
    encoded = dictionary_array(column)
    values = _without_texts(encoded.dictionary, possible)
    if values is encoded.dictionary:
        return column
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(encoded.indices, values, ordered=column.type.ordered)
    return values.take(encoded.indices)


def _without_texts(values: Any, texts: Sequence[str]) -> Any:
    """The values with nulls for those that read like one of the texts; the same object when none does."""
    known = values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values
    if is_text(known.type):
        stands = pc.is_in(known, value_set=pa.array(texts, known.type))
    else:
        stands = pa.array([text in texts for text in label_texts(to_numpy(known))], pa.bool_())
    if not pc.any(stands).as_py():
        return values
    return pc.if_else(stands, pa.scalar(None, known.type), known)


@dataclass(frozen=True, eq=False)
class Column:
    """A column as codes over its distinct values in no particular order; -1 where the value is missing.

    order   of ordered categories: all that may occur, from the least on
    """

    name: str
    kind: Kind
    declared: bool
    codes: Codes
    values: Any
    tree: Hierarchy | None
    order: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        return int(np.count_nonzero(self.codes < 0))


def column_of(
    name: str, values: Any, declared: Kind | None = None, tree: Hierarchy | None = None, order: tuple[str, ...] = ()
) -> Column:
    """The values of a column as codes. It is what it is declared to be, otherwise numeric if its values are numbers and
    ordered if it is a dictionary that says so."""
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    value_type = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (is_text(value_type) or is_numeric(value_type) or pa.types.is_boolean(value_type)):
        raise unusable(name, f"values of type {value_type}")
    found = encode(name, values)
    order = order or (_own_order(values) if declared is None else ())
    inferred: Kind = "ordered" if order else "numeric" if is_numeric(values.type) else "categorical"
    codes = np.where(found.codes == found.distinct, np.int32(-1), found.codes)
    return Column(name, declared or inferred, declared is not None, codes, found.labels, tree, order)


def _own_order(values: Any) -> tuple[str, ...]:
    """The order of an ordered dictionary, such as an Enum of polars or ordered categories of pandas; none where parts
    of a file have different ones."""
    if not pa.types.is_dictionary(values.type) or not values.type.ordered:
        return ()
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    lists = {tuple(label_texts(to_numpy(chunk.dictionary))) for chunk in chunks if len(chunk.dictionary)}
    return lists.pop() if len(lists) == 1 else ()


def rows_of(column: Column, wanted: Flags) -> Column:
    """Some rows of the column, with those values only that occur in them."""
    codes = column.codes[wanted]
    occurs = np.bincount(codes + 1, minlength=len(column.values) + 1)[1:] > 0
    new = np.append(np.where(occurs, np.cumsum(occurs) - 1, -1), -1).astype(np.int32)
    return replace(column, codes=new[codes], values=column.values.filter(pa.array(occurs)))


def with_category(column: Column, notices: list[str]) -> Column:
    """The column with missing values as a category of their own; its other labels become texts beside it.

    Numbers and ordered categories keep their order, and what is missing comes after the last.
    """
    if not column.missing:
        return column
    texts = label_texts(to_numpy(_canonical(column.name, column.values)))
    if MISSING_LABEL in texts:
        raise BadValue(
            f"column {column.name!r} has missing values and also the value {MISSING_LABEL!r}",
            allowed=f"no value called {MISSING_LABEL!r} beside missing ones",
            hint="rename that value, or use --missing drop (missing='drop')",
        )
    if column.kind == "numeric":
        notices.append(
            f"column {column.name!r} has missing values: its numbers are published as texts in their order, and "
            f"{MISSING_LABEL} comes after the last"
        )
    order = _order_beside_missing(column, texts)
    values = pa.array([*texts, MISSING_LABEL], pa.large_string())
    codes = np.where(column.codes < 0, np.int32(len(texts)), column.codes)
    return replace(column, kind="ordered" if order else "categorical", codes=codes, values=values, order=order)


def _order_beside_missing(column: Column, texts: list[str]) -> tuple[str, ...]:
    known = column.order
    if column.kind == "numeric":
        ascending = np.argsort(to_numpy(_canonical(column.name, column.values)), kind="stable")
        known = tuple(texts[place] for place in ascending.tolist())
    return tuple(dict.fromkeys((*known, MISSING_LABEL))) if known else ()


def attribute_of(column: Column) -> tuple[Attribute, Codes]:
    """The domain of the column, ascending or in the order of its hierarchy, and the codes over it."""
    if column.kind == "ordered":
        return _ordered_attribute(column)
    labels, rank = np.unique(to_numpy(_canonical(column.name, column.values)), return_inverse=True)
    if column.tree is not None:
        order = np.argsort(column.tree.leaf_codes(labels, column.name), kind="stable")
        labels, rank = labels[order], np.argsort(order)[rank]
    codes = np.append(rank, -1).astype(np.int32)[column.codes]
    return Attribute(column.name, column.kind, labels, column.tree), codes


def _ordered_attribute(column: Column) -> tuple[Attribute, Codes]:
    """Texts in the given order, those only that occur."""
    truths = pa.types.is_boolean(column.values.type)  # which people write true, True or TRUE
    order = [text.capitalize() for text in column.order] if truths else list(column.order)
    texts = label_texts(to_numpy(_canonical(column.name, column.values)))
    places, rank = np.unique(ranks_in(order, texts, column.name), return_inverse=True)
    labels = np.array([order[place] for place in places.tolist()], dtype=object)
    return Attribute(column.name, "ordered", labels), np.append(rank, -1).astype(np.int32)[column.codes]


def frame_of(table: Table) -> pa.Table:
    """The columns of a table as they were before it was read: missing values are missing, not a category."""
    columns = {attribute.name: _dictionary(attribute, codes) for attribute, codes in table.columns()}
    return pa.table(columns | ({} if table.weight is None else {table.weight.name: pa.array(table.weight.each)}))


def _dictionary(attribute: Attribute, codes: Codes) -> pa.DictionaryArray:
    gone = attribute.labels == MISSING_LABEL if attribute.labels.dtype.kind in "OU" else np.zeros(attribute.size, bool)
    place = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1)[codes]  # Parquet knows no null in a dictionary
    indices = pa.array(np.maximum(place, 0).astype(np.int32), mask=place < 0)
    known = pa.array(attribute.labels[~gone], pa.string() if gone.any() else None)  # there may be none
    return pa.DictionaryArray.from_arrays(indices, known)


def _canonical(name: str, values: Any) -> Any:
    """Distinct values as int64, float64, bool, days, microseconds or text."""
    kind, types = values.type, pa.types
    try:
        if types.is_decimal(kind):
            return _from_decimal(name, values)
        if types.is_integer(kind):
            return values.cast(pa.int64())
        if types.is_floating(kind):
            return values.cast(pa.float64())
        if types.is_date(kind):
            return values.cast(pa.date32())
        if types.is_timestamp(kind):
            return values.cast(pa.timestamp("us", tz=kind.tz))  # Arrow counts in UTC, whatever the zone
        return values if types.is_boolean(kind) else values.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise unusable(name, first_line(error)) from error


def _from_decimal(name: str, values: Any) -> Any:
    if values.type.scale <= 0:
        return values.cast(pa.int64())
    floats = values.cast(pa.float64())
    if len(floats.unique()) < len(values):
        raise unusable(name, "decimal numbers with more digits than a float64 can tell apart")
    return floats


def to_numpy(values: Any) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return array + 0.0 if array.dtype.kind == "f" else array  # -0.0 and 0.0 are one value


def unusable(name: str, got: str) -> BadValue:
    return BadValue(
        f"the values of column {name!r} cannot be used",
        allowed="whole numbers, numbers, dates, texts or truth values, one of these for the whole column",
        got=got,
        hint="convert the column, or leave it out",
    )


def first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
