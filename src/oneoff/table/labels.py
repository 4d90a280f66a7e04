"""Values as somebody names them, in a mapping, a list or a file, as labels of a column."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, HierarchyError, listing
from oneoff.table.hierarchy import label_texts
from oneoff.table.table import MISSING_LABEL, Attribute

__all__ = ["is_missing", "label_of", "labels_in", "plain_labels"]


def label_of(name: Any, attribute: Attribute, source: str) -> Any:
    """A name as a label of this attribute, in the form of `plain_labels`; no value is lost and none is made up.

    source   where the name stands, to be told when the column cannot have it
    """
    kind, tree = attribute.labels.dtype.kind, attribute.hierarchy
    try:
        label = _READ[kind](name) if kind in _READ else _text(name)
        if kind == "M" and np.datetime64(label, "us").astype(attribute.labels.dtype) != np.datetime64(label, "us"):
            raise ValueError
        if tree is not None:
            tree.leaf_codes(labels_in([label], attribute))
    except (ValueError, KeyError, TypeError, OverflowError, HierarchyError):
        raise BadValue(
            f"{source} names a value that column {attribute.name!r} cannot have",
            allowed="a leaf of its hierarchy" if tree is not None else f"values like {listing(attribute.labels, 3)}",
            got=listing([repr(name)]),
        ) from None
    return label


def _number(name: Any) -> int | float:
    if isinstance(name, bool | np.bool_):
        raise ValueError
    exact = Fraction(str(name))
    return int(exact) if exact.denominator == 1 else float(exact)


def _moment(name: Any) -> int:
    """Microseconds since 1970."""
    moment = np.datetime64(name.replace(tzinfo=None) if isinstance(name, dt.datetime) else name, "us")
    if np.isnat(moment):
        raise ValueError
    return int(moment.astype(np.int64))


def _text(name: Any) -> str:
    if is_missing(name):
        return MISSING_LABEL
    return label_texts(np.array([name], dtype="datetime64[us]" if isinstance(name, np.datetime64) else object))[0]


def is_missing(name: Any) -> bool:
    """None, NaN, and what pandas puts in their place."""
    if isinstance(name, float | str):
        return name == MISSING_LABEL or name != name
    return name is None or type(name).__name__ in ("NAType", "NaTType")


_READ: dict[str, Callable[[Any], Any]] = {
    "i": _number,
    "f": _number,
    "b": lambda name: {"true": True, "false": False}[str(name).lower()],
    "M": _moment,
}


def plain_labels(labels: npt.NDArray[Any]) -> list[Any]:
    """Labels as plain values that can be compared: numbers, texts, dates as microseconds."""
    if labels.dtype.kind == "M":
        labels = labels.astype("datetime64[us]").astype(np.int64)
    plain: list[Any] = labels.tolist()
    return plain


def labels_in(plain: list[Any], attribute: Attribute) -> npt.NDArray[Any]:
    """The opposite of `plain_labels`; whole numbers beside others become floats, as in a column that holds both."""
    dtype = attribute.labels.dtype
    if dtype.kind == "M":
        return np.array(plain, dtype=np.int64).astype("datetime64[us]").astype(dtype)
    if dtype.kind == "i" and any(isinstance(label, float) for label in plain):
        dtype = np.dtype(np.float64)
    return np.array(plain, dtype=dtype)
