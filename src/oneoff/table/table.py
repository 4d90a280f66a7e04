"""The frozen table every mechanism works on: small integers, with the labels they stand for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import EmptyTable, OneoffError, UnknownColumn, listing, nearest
from oneoff.table.hierarchy import Hierarchy

__all__ = ["MISSING_LABEL", "Attribute", "Codes", "Kind", "Table"]

Kind = Literal["numeric", "categorical"]
Codes = npt.NDArray[np.int32]

MISSING_LABEL = "(missing)"  # what missing values are called where they count as a value of their own


@dataclass(frozen=True, eq=False, repr=False)
class Attribute:
    """The domain of one column: what its codes 0..m-1 stand for.

    `labels` holds the distinct values that occur. They ascend; with a hierarchy they follow its leaves from left to
    right, so that the values under any node are neighbours. `kind` says how the column is generalized: a numeric one
    to ranges, a categorical one to sets or, with a hierarchy, to its nodes.
    """

    name: str
    kind: Kind
    labels: npt.NDArray[Any]
    hierarchy: Hierarchy | None = None

    def __repr__(self) -> str:
        return f"<Attribute {self.name}: {self.kind}, {self.size} values>"

    @property
    def size(self) -> int:
        """How many distinct values occur."""
        return len(self.labels)

    @cached_property
    def scaled(self) -> npt.NDArray[np.float64]:
        """Where each label lies between the least (0) and the greatest (1): numbers by value, categories by code."""
        steps, _ = self._steps
        greatest = steps.max()
        return steps / greatest if greatest > 0 else steps

    @cached_property
    def span(self) -> float:
        """How far apart the least and the greatest label of a numeric attribute are (dates in their own unit)."""
        steps, unit = self._steps
        return min(float(steps.max()) * unit, sys.float_info.max)

    @property
    def _steps(self) -> tuple[npt.NDArray[np.float64], float]:
        """The distance of each label from the least one, and the unit it is counted in.

        Whole numbers are subtracted as such: from 2**53 on, different ones may be the same float.
        """
        if self.kind != "numeric":
            return np.arange(self.size, dtype=np.float64), 1.0
        if self.labels.dtype.kind != "f":
            whole = self.labels.astype(np.int64)
            return (whole.view(np.uint64) - whole.min().view(np.uint64)).astype(np.float64), 1.0
        unit = 1.0 if np.isfinite(float(self.labels.max()) - float(self.labels.min())) else 2.0
        numbers = self.labels.astype(np.float64) / unit
        return numbers - numbers.min(), unit

    @cached_property
    def leaves(self) -> npt.NDArray[np.int32]:
        """The hierarchy leaf of every code (ascending, by construction)."""
        if self.hierarchy is None:
            return np.arange(self.size, dtype=np.int32)
        return self.hierarchy.leaf_codes(self.labels)

    def decode(self, codes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """The values that codes stand for."""
        labels: npt.NDArray[Any] = self.labels[codes]
        return labels

    def codes_in(self, other: Attribute) -> Codes:
        """The code that each label has in another domain, such as that of the table a release was made from; -1 where
        it has none."""
        place = {label: code for code, label in enumerate(other.labels.tolist())}
        return np.array([place.get(label, -1) for label in self.labels.tolist()], dtype=np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """People as rows of integer codes. Built by `oneoff.read_table`, never changed afterwards.

    codes[i, j]  code of person i in quasi-identifier j
    values[i]    code of the sensitive value of person i (all 0 when there is no sensitive column)
    kept[i, j]   code of person i in kept column j; -1 where it is missing
    """

    quasi: tuple[Attribute, ...]
    codes: Codes
    sensitive: Attribute | None
    values: Codes
    keep: tuple[Attribute, ...] = ()
    kept: Codes | None = None
    notices: tuple[str, ...] = ()
    origin: str = "polars"
    dropped_rows: int = 0

    def __post_init__(self) -> None:
        rows = self.codes.shape[0]
        if rows == 0:
            raise EmptyTable("the table has no rows", allowed="at least one person", got="0 rows")
        if self.codes.shape != (rows, len(self.quasi)) or self.values.shape != (rows,):
            raise OneoffError("codes, values and attributes of the table do not fit together")
        for array in (self.codes, self.values, self.kept):
            if array is not None:
                array.flags.writeable = False

    def __repr__(self) -> str:
        """Without a single value: tables end up in notebooks and logs."""
        quasi = ", ".join(attribute.name for attribute in self.quasi)
        sensitive = "nothing sensitive" if self.sensitive is None else f"sensitive {self.sensitive.name}"
        return f"<Table of {self.rows} people; quasi {quasi}; {sensitive}>"

    @property
    def rows(self) -> int:
        return int(self.codes.shape[0])

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How often each sensitive value occurs in the whole table: the prior, in integers."""
        size = 1 if self.sensitive is None else self.sensitive.size
        return np.bincount(self.values, minlength=size).astype(np.int64)

    @cached_property
    def prior(self) -> tuple[Fraction, ...]:
        """The share of each sensitive value in the whole table, exactly."""
        return tuple(Fraction(int(count), self.rows) for count in self.counts)

    def attribute(self, name: str) -> Attribute:
        """The quasi-identifier of that name."""
        names = [attribute.name for attribute in self.quasi]
        if name not in names:
            raise UnknownColumn(
                f"{name!r} is not a quasi-identifier of the table",
                allowed=listing(names),
                hint=nearest(str(name), names),
            )
        return self.quasi[names.index(name)]
