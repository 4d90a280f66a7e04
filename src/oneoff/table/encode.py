"""Columns as small integers that are equal exactly where the values are; a missing value equals only another one.

`encode` keeps what the codes stand for, which takes plain values: numbers, texts, dates, truth values. `read_values`
reads a table that anybody may have published, where a cell can also be a list such as ["F", "M"] or an interval: only
its equality counts, so codes are enough.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, EmptyTable
from oneoff.table.arrays import Codes, Flags, Ints, offsets
from oneoff.table.classes import look_alikes
from oneoff.table.hierarchy import Hierarchy, read_hierarchy
from oneoff.table.schema import Schema
from oneoff.table.table import Attribute

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnKind", "Encoded", "encode", "places", "read_values"]

ColumnKind = Literal["integer", "decimal", "text", "date", "boolean", "other"]


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column as codes: labels[code] for the values that occur, the last code (`distinct`) for missing ones.

    counts[code]  rows with that code; the last one counts the missing values
    """

    name: str
    kind: ColumnKind
    labels: pa.Array
    codes: Codes
    counts: Ints

    @property
    def distinct(self) -> int:
        """Different values, missing ones not counted."""
        return len(self.labels)

    @property
    def missing(self) -> int:
        return int(self.counts[-1])

    @property
    def unique(self) -> int:
        """Rows that share their value with no other row."""
        return int((self.counts == 1).sum())


def encode(name: str, column: pa.ChunkedArray) -> Encoded:
    """Number the values of a column that occur, in no particular order."""
    labels, codes = _labels_and_codes(name, column)
    counts = np.bincount(codes + 1, minlength=len(labels) + 1)[1:]
    if not counts.all():  # a dictionary may list values that no row has
        occurring = np.flatnonzero(counts)
        labels = labels.take(occurring)
        codes = np.append(np.cumsum(counts > 0) - 1, -1).astype(np.int32)[codes]
    codes = np.where(codes < 0, np.int32(len(labels)), codes)
    return Encoded(name, _kind(labels.type), labels, codes, np.bincount(codes, minlength=len(labels) + 1))


def _labels_and_codes(name: str, values: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """Distinct values and the code of each row, -1 where it is missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        # Only the dictionary is searched for equal values: it is short and the rows are many.
        flat = _in_one_piece(name, values)
        labels, codes = _labels_and_codes(name, pa.chunked_array([flat.dictionary]))
        return labels, np.append(codes, np.int32(-1))[_numbers(flat.indices)]
    try:
        encoded = _comparable(values).combine_chunks().dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise _cannot_be_compared(name, values) from error
    return encoded.dictionary, _numbers(encoded.indices)


def _comparable(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values of which equal ones are the same: no -0.0 beside 0.0, a missing number is missing, texts of one type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(values.type):
        numbers = pc.add(values.cast(pa.float64()), 0.0)
        return pc.if_else(pc.is_nan(numbers), None, numbers)
    if _kind(values.type) == "text":
        return values.cast(pa.large_string())
    return values


def _numbers(indices: pa.Array) -> Codes:
    return np.asarray(indices.cast("int32").fill_null(-1).to_numpy())


def _in_one_piece(name: str, values: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    try:
        return values.unify_dictionaries().combine_chunks()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise _cannot_be_compared(name, values) from error


def _cannot_be_compared(name: str, values: pa.ChunkedArray) -> BadValue:
    return BadValue(
        f"the values of column {name!r} cannot be compared",
        allowed="numbers, texts, dates or yes/no values",
        got=str(values.type),
        hint="convert the column, or leave it out",
    )


def _kind(type_: pa.DataType) -> ColumnKind:
    import pyarrow.types as t

    tests: tuple[tuple[ColumnKind, bool], ...] = (
        ("integer", t.is_integer(type_)),
        ("decimal", t.is_floating(type_) or t.is_decimal(type_)),
        ("text", t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_)),
        ("date", t.is_date(type_) or t.is_timestamp(type_)),
        ("boolean", t.is_boolean(type_)),
    )
    return next((kind for kind, holds in tests if holds), "other")


def places(theirs: Encoded, ours: Encoded) -> Codes | None:
    """Where the labels of one column stand among those of another, -1 for none; None if they cannot be compared."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not theirs.distinct or not ours.distinct:
        return np.full(theirs.distinct, -1, dtype=np.int32)
    kinds = {theirs.kind, ours.kind}
    if len(kinds) > 1 and kinds != {"integer", "decimal"}:
        return None  # Arrow would convert some of them, and 01 would be 1
    common = pa.float64() if len(kinds) > 1 else ours.labels.type
    try:
        return _numbers(pc.index_in(theirs.labels.cast(common), value_set=ours.labels.cast(common)))
    except pa.ArrowInvalid:
        return None


# --- the output of any tool ------------------------------------------------------------------------------------------


def read_values(
    frame: Any,
    *,
    quasi: Iterable[str] | str,
    sensitive: str | None = None,
    hierarchies: Mapping[str, str | os.PathLike[str] | Hierarchy] | None = None,
) -> tuple[list[Codes], Attribute | None, Codes]:
    """The codes of every quasi-identifier, the sensitive attribute, and the code of everybody's sensitive value.

    frame        a path or a pandas, polars or Arrow frame; an index does not matter
    hierarchies  column -> ARX file or `Hierarchy`; only that of the sensitive column has a use here, because
                 quasi-identifiers are compared as they were published

    The codes of a quasi-identifier are equal exactly where its values are, 0 where one is missing. The sensitive
    attribute is what `read_table` makes of the column with missing="category"; without one all its codes are 0.
    """
    from oneoff.table.read import read_frame

    trees = dict(hierarchies or {})
    schema = Schema(quasi, sensitive, categorical=tuple(trees))  # type: ignore[arg-type]
    table = read_frame(frame)
    schema.check_against(table.column_names)
    if table.num_rows == 0:
        raise EmptyTable("the table has no rows", allowed="at least one person", got="only column names")
    columns = [_equality(name, table.column(name)) for name in schema.quasi]
    if schema.sensitive is None:
        return columns, None, np.zeros(table.num_rows, dtype=np.int32)
    return columns, *_sensitive(schema.sensitive, table.column(schema.sensitive), trees.get(schema.sensitive))


def _sensitive(name: str, values: pa.ChunkedArray, hierarchy: object) -> tuple[Attribute, Codes]:
    """The domain and the codes of a column, as in a table that was read with missing="category"."""
    from oneoff.table.columns import attribute_of, column_of, with_category

    tree = None if hierarchy is None else _tree(name, hierarchy)
    declared: Literal["categorical"] | None = None if tree is None else "categorical"
    return attribute_of(with_category(column_of(name, values, declared, tree), []))


def _tree(name: str, hierarchy: object) -> Hierarchy:
    if isinstance(hierarchy, str | os.PathLike):
        return read_hierarchy(Path(hierarchy))
    if not isinstance(hierarchy, Hierarchy):
        got = type(hierarchy).__name__
        raise BadValue(f"the hierarchy of {name!r} cannot be used", allowed="a path or a Hierarchy", got=got)
    return hierarchy


def _equality(name: str, values: pa.ChunkedArray) -> Codes:
    """Codes that are equal exactly where the values are, 0 where one is missing; also for lists and structs."""
    import pyarrow as pa

    type_ = values.type
    if isinstance(type_, pa.BaseExtensionType):  # such as the intervals of pandas
        return _equality(name, pa.chunked_array([chunk.storage for chunk in values.chunks], type_.storage_type))
    if pa.types.is_struct(type_):
        return _equality_of_structs(name, _in_one_piece(name, values))
    if pa.types.is_nested(type_) and hasattr(type_, "value_type"):
        return _equality_of_lists(name, _in_one_piece(name, values))
    if pa.types.is_dictionary(type_):
        flat = _in_one_piece(name, values)
        return np.append(_equality(name, pa.chunked_array([flat.dictionary])), np.int32(0))[_numbers(flat.indices)]
    column = encode(name, values)
    return np.where(column.codes == column.distinct, np.int32(0), column.codes + np.int32(1))


def _equality_of_lists(name: str, lists: pa.Array) -> Codes:
    """Each list as the bytes of its items' codes, which Arrow can hash: time and memory go with the items in all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    items = _equality(name, pa.chunked_array([lists.flatten()]))
    length = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
    buffers = [None, pa.py_buffer(offsets(length * items.itemsize)), pa.py_buffer(np.ascontiguousarray(items))]
    packed = pa.Array.from_buffers(pa.large_binary(), len(lists), buffers)
    return _numbered(_numbers(packed.dictionary_encode().indices), lists)


def _equality_of_structs(name: str, structs: pa.StructArray) -> Codes:
    import pyarrow as pa

    fields = [_equality(name, pa.chunked_array([field])) for field in structs.flatten()]
    return _numbered(look_alikes([np.zeros(len(structs), dtype=np.int32), *fields]), structs)


def _numbered(codes: npt.NDArray[np.integer[Any]], values: pa.Array) -> Codes:
    """Codes from 1 on, and 0 where the value is missing."""
    present: Flags = values.is_valid().to_numpy(zero_copy_only=False)
    return np.where(present, codes + 1, 0).astype(np.int32)
