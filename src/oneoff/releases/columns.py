"""Attributes and codes as Arrow columns and as JSON, and back: what all kinds of releases write in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from oneoff.table import Attribute, Hierarchy
from oneoff.table.arrays import Codes, Floats, Ints

__all__ = [
    "OF_ALL",
    "array",
    "codes",
    "codes_of_all",
    "describe_exact",
    "describe_values",
    "in_order",
    "labels_of",
    "lists_of",
    "numbers",
    "order_of",
    "plain",
    "read_exact",
    "read_kept",
    "read_sensitive",
    "read_values",
    "shown",
    "type_name",
    "value_columns",
    "whole_numbers",
]

OF_ALL = "(of all)"  # what the reader of a part of a release knows of a column: the values of all parts, or None so far

_TYPES = {"i": "integer", "f": "number", "b": "boolean", "M": "date"}
_DTYPES = {"integer": "int64", "number": "float64", "boolean": "bool", "date": "datetime64"}


def shown(attribute: Attribute, codes: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """The labels of these codes; nothing where a code is negative."""
    index = pa.array(codes, mask=codes < 0) if (codes < 0).any() else pa.array(codes)
    return pa.array(attribute.labels).take(index)


def value_columns(
    sensitive: Attribute | None, values: Codes, keep: tuple[Attribute, ...], kept: Codes | None
) -> dict[str, pa.Array]:
    """The sensitive value, and the columns that travel with it."""
    own = {} if sensitive is None else {sensitive.name: shown(sensitive, values)}
    return own | ({} if kept is None else {a.name: shown(a, kept[:, j]) for j, a in enumerate(keep)})


def plain(labels: npt.NDArray[Any]) -> list[Any]:
    """Labels as JSON knows them; dates in ISO form."""
    if labels.dtype.kind == "M":
        return [str(label) for label in labels]
    items: list[Any] = labels.tolist()
    return items


def type_name(attribute: Attribute) -> str:
    return _TYPES.get(attribute.labels.dtype.kind, "text")


def describe_exact(attribute: Attribute) -> dict[str, Any]:
    """A quasi-identifier that is shown as it is."""
    described = {"name": attribute.name, "kind": attribute.kind, "shown_as": "value", "type": type_name(attribute)}
    return described | order_of(attribute)


def order_of(attribute: Attribute) -> dict[str, Any]:
    """What release.json says of the order of categories, which no file of values shows."""
    return {"order": plain(attribute.labels)} if attribute.kind == "ordered" else {}


def describe_values(attribute: Attribute) -> dict[str, Any]:
    """The sensitive attribute: all its values are public, and so is how they belong together."""
    tree = None if attribute.hierarchy is None else attribute.hierarchy.rows()
    described = {"name": attribute.name, "kind": attribute.kind, "type": type_name(attribute)}
    return described | {"values": plain(attribute.labels), "hierarchy": tree}


def read_exact(described: list[dict[str, Any]], frame: pa.Table) -> tuple[tuple[Attribute, ...], Codes]:
    """Quasi-identifiers that are shown as they are, and the codes of the records."""
    attributes, columns = [], []
    for quasi in described:
        labels, code = in_order(array(frame[quasi["name"]].combine_chunks()), quasi)
        attributes.append(Attribute(quasi["name"], quasi["kind"], labels))
        columns.append(code.astype(np.int32))
    return tuple(attributes), np.stack(columns, axis=1)


def in_order(values: npt.NDArray[Any], described: dict[str, Any]) -> tuple[npt.NDArray[Any], Ints]:
    """The distinct values, ascending or in the order that release.json gives, and the code of each value."""
    known = codes_of_all(described)
    if known is not None:
        return known, codes(pa.array(values), known).astype(np.int64)
    labels, code = np.unique(values, return_inverse=True)
    if described["kind"] != "ordered":
        return labels, code
    rank = {label: place for place, label in enumerate(described["order"])}
    if len(rank) != len(described["order"]) or not set(labels.tolist()) <= rank.keys():
        raise ValueError(f"the order of {described['name']!r} lacks values, or names one twice")
    order = np.argsort([rank[label] for label in labels.tolist()])
    return labels[order], np.argsort(order)[code]


def codes_of_all(described: dict[str, Any]) -> npt.NDArray[Any] | None:
    """The values that all parts of a release have in a column, where this is one of them and that is known."""
    known = described.get(OF_ALL)
    if OF_ALL in described and described["kind"] == "ordered":
        return labels_of(described["order"], described["type"])
    return known if isinstance(known, np.ndarray) else None


def read_sensitive(described: dict[str, Any] | None) -> Attribute | None:
    if described is None:
        return None
    tree = described["hierarchy"]
    labels = labels_of(described["values"], described["type"])
    hierarchy = None if tree is None else Hierarchy.from_rows(tree, described["name"])
    return Attribute(described["name"], described["kind"], labels, hierarchy)


def read_values(sensitive: Attribute | None, frame: pa.Table) -> Codes:
    if sensitive is None:
        return np.zeros(frame.num_rows, dtype=np.int32)
    return codes(frame[sensitive.name].combine_chunks(), sensitive.labels)


def read_kept(
    names: list[str], frame: pa.Table, besides: Sequence[dict[str, Any]] = ()
) -> tuple[tuple[Attribute, ...], Codes | None]:
    """Columns that travel with the sensitive value: first those that are sensitive, too, and described as such."""
    attributes = [each for each in map(read_sensitive, besides) if each is not None]
    columns = [read_values(attribute, frame) for attribute in attributes]
    for name in names:
        encoded = frame[name].combine_chunks().dictionary_encode()
        attributes.append(Attribute(name, "categorical", array(encoded.dictionary)))
        columns.append(pc.fill_null(encoded.indices, -1).to_numpy().astype(np.int32))
    return tuple(attributes), np.stack(columns, axis=1) if columns else None


def labels_of(items: list[Any], kind: str) -> npt.NDArray[Any]:
    """The opposite of `plain`."""
    return np.array(items, dtype=object if kind == "text" else np.dtype(_DTYPES[kind]))


def lists_of(column: pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    """How long each list is, and the items of all of them."""
    lists = column.combine_chunks()
    return pc.list_value_length(lists).to_numpy(), lists.flatten()


def whole_numbers(frame: pa.Table, name: str, below: int | None = None) -> Ints:
    """A column of numbers that count or number something: there is one in every row, and none is a fraction.

    below   numbers of groups are from 0 to one less, so that a huge one makes nobody reserve room for all before it
    """
    column = frame[name]
    if column.null_count or not pa.types.is_integer(column.type):
        raise ValueError(f"{name!r} has {column.null_count} empty cells or numbers that are not whole")
    found: Ints = np.array(column.cast(pa.int64()).to_numpy())
    if below is not None and len(found) and not 0 <= found.min() <= found.max() < below:
        raise ValueError(f"{name!r} has numbers that are not between 0 and {below - 1}")
    return found


def numbers(frame: pa.Table, name: str) -> Floats:
    """A column of numbers that measure something: there is one in every row."""
    column = frame[name]
    if column.null_count or not pa.types.is_float64(column.type):
        raise ValueError(f"{name!r} has {column.null_count} empty cells or values that are no numbers")
    return np.array(column.to_numpy(), dtype=np.float64)


def array(column: pa.Array) -> npt.NDArray[Any]:
    """Values as numpy holds labels: text as objects, everything else as it is."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def codes(column: pa.Array, labels: npt.NDArray[Any]) -> Codes:
    """The code of every value; a value outside the stated domain is damage."""
    known = pa.array(labels)
    index = pc.index_in(column.cast(known.type), value_set=known)
    if index.null_count:
        stray = column.filter(pc.is_null(index)).unique().to_pylist()
        raise ValueError(f"values outside the stated domain: {stray[:5]}")
    return np.asarray(index.to_numpy(), dtype=np.int32)
