"""What a release shows as a matrix of numbers, for tools that take nothing else.

A number is a column of its own: what a record shows of it on average, the middle of a range. Beside it stands how wide
that is. A category is a column for each of its values: the share of it in what the record shows, 1 for a single value.
Rare values of a category with too many of them share one column.

Nothing but what is public goes in. A column to be predicted must have single values; where a record shows several, one
of them is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, UnknownColumn, listing, nearest, whole_number
from oneoff.models import Counts
from oneoff.releases.cells import Cells, Shares
from oneoff.table import Attribute
from oneoff.table.arrays import Codes, Floats, Ints, offsets

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Axis", "Between", "Columns", "Exactly", "Features", "Matrix", "Shown", "Spread", "axis_of", "features", "numbers",
    "of_cells", "of_counts",
]  # fmt: skip

Matrix = npt.NDArray[np.float32]
_MOST_NUMBERS = 2_000_000_000  # in one matrix
_AT_ONCE = 20_000_000  # boxes times values looked at together
OTHER = "(other)"


class Features(NamedTuple):
    """matrix[row, feature] with the names of its columns, and what is to be predicted, row by row, if anything is."""

    matrix: Matrix
    names: tuple[str, ...]
    target: npt.NDArray[Any] | None


class Shown(Protocol):
    """What every record shows of a column, whose codes stand for something."""

    def average(self, of_code: Matrix) -> Matrix:
        """[row, ...]: of what the codes that a record shows stand for."""

    def width(self, number: Floats) -> Floats:
        """How far apart the least and the greatest number are that a record shows."""

    def people(self, size: int) -> Floats:
        """How many records show each code, in shares of them."""

    def drawn(self, rng: np.random.Generator) -> Codes:
        """One of the codes that each record shows."""

    @property
    def single(self) -> Codes | None:
        """The code of every record, where all show just one."""


Columns = Mapping[str, tuple[Attribute, Shown]]


@dataclass(frozen=True, eq=False)
class Exactly:
    """Record r shows codes[r]; -1 is nothing."""

    codes: Codes

    def average(self, of_code: Matrix) -> Matrix:
        return of_code[self.codes]

    def width(self, number: Floats) -> Floats:
        return np.zeros(len(self.codes))

    def people(self, size: int) -> Floats:
        return np.bincount(self.codes[self.codes >= 0], minlength=size).astype(np.float64)

    def drawn(self, rng: np.random.Generator) -> Codes:
        return self.codes

    @property
    def single(self) -> Codes:
        return self.codes


@dataclass(frozen=True, eq=False)
class Between:
    """Record r shows every number from code low[unit[r]] to high[unit[r]]."""

    unit: Codes
    low: Codes
    high: Codes

    def average(self, of_code: Matrix) -> Matrix:
        middle: Matrix = ((of_code[self.low] + of_code[self.high]) / np.float32(2))[self.unit]
        return middle

    def width(self, number: Floats) -> Floats:
        wide: Floats = (number[self.high] - number[self.low])[self.unit]
        return wide

    def people(self, size: int) -> Floats:
        ends = (np.bincount(each[self.unit], minlength=size) for each in (self.low, self.high))
        return np.asarray(sum(ends) / 2, dtype=np.float64)

    def drawn(self, rng: np.random.Generator) -> Codes:
        return rng.integers(self.low[self.unit], self.high[self.unit] + 1).astype(np.int32)

    @property
    def single(self) -> Codes | None:
        return self.low[self.unit] if np.array_equal(self.low, self.high) else None


@dataclass(frozen=True, eq=False)
class Spread:
    """Record r shows shares[unit[r], code] of each code: 1 in all, and of no code less than nothing."""

    unit: Codes
    shares: csr_array

    def average(self, of_code: Matrix) -> Matrix:
        mean: Matrix = (self.shares @ of_code[: self.shares.shape[1]]).astype(np.float32)[self.unit]
        return mean

    def width(self, number: Floats) -> Floats:
        shown, first = number[self.shares.indices], self.shares.indptr[:-1]
        wide: Floats = (np.maximum.reduceat(shown, first) - np.minimum.reduceat(shown, first))[self.unit]
        return wide

    def people(self, size: int) -> Floats:
        records = np.bincount(self.unit, minlength=self.shares.shape[0])
        return np.asarray(records @ self.shares, dtype=np.float64)

    def drawn(self, rng: np.random.Generator) -> Codes:
        ends = np.cumsum(self.shares.data)
        start = self.shares.indptr
        before = np.concatenate(([0.0], ends))[start]
        at = before[self.unit] + rng.random(len(self.unit)) * (before[self.unit + 1] - before[self.unit])
        place = np.clip(np.searchsorted(ends, at, side="right"), start[self.unit], start[self.unit + 1] - 1)
        return np.asarray(self.shares.indices[place], dtype=np.int32)

    @cached_property
    def single(self) -> Codes | None:
        one = bool((np.diff(self.shares.indptr) == 1).all())
        return self.shares.indices[self.unit].astype(np.int32) if one else None


def of_counts(unit: Codes, counts: Counts, size: int) -> Spread:
    """How often values occur in each unit."""
    from scipy.sparse import csr_array

    share = counts.count / counts.size[counts.owner]
    return Spread(unit, csr_array((share, counts.value, counts.start), shape=(counts.groups, size)))


def of_cells(unit: Codes, attribute: Attribute, cells: Cells) -> Shown:
    """What boxes show, each value of it as likely as any other; of a range nothing but its ends is looked at."""
    ends = cells.ends()
    if cells.shown_as == "range" and ends is not None:
        return Between(unit, *ends)
    from scipy.sparse import csr_array, vstack

    boxes, step = int(unit.max()) + 1, max(1, _AT_ONCE // max(attribute.size, 1))
    blocks = [
        csr_array(_shares(cells.take(np.arange(first, min(first + step, boxes))), attribute))
        for first in range(0, boxes, step)
    ]
    return Spread(unit, csr_array(vstack(blocks)))


def _shares(cells: Cells, attribute: Attribute) -> Shares:
    """[box, code] of the values that occur; a node may have others under it, which nobody has."""
    found = np.diff(cells.share_below(attribute, attribute))
    shares: Shares = found / np.maximum(found.sum(axis=1, keepdims=True), np.float32(1e-9))
    return shares


# --- from codes to numbers


@dataclass(frozen=True, eq=False)
class Axis:
    """The features of one column.

    place   of a category: the feature of each of its codes; None for numbers, which are a feature themselves
    """

    attribute: Attribute
    names: tuple[str, ...]
    place: Codes | None

    def places(self, attribute: Attribute) -> Codes:
        """The feature that each code of a domain, maybe that of another table, has here; -1 where it is unknown."""
        assert self.place is not None
        return np.append(self.place, np.int32(-1))[attribute.codes_in(self.attribute)]

    def of_code(self, attribute: Attribute) -> Matrix:
        """[code, feature] of such a domain; last, nothing at all for what is missing."""
        if self.place is None:
            return np.append(numbers(attribute), 0.0).astype(np.float32)[:, None]
        marks = np.zeros((attribute.size + 1, len(self.names)), dtype=np.float32)
        place = self.places(attribute)
        known = np.flatnonzero(place >= 0)
        marks[known, place[known]] = 1
        return marks


def numbers(attribute: Attribute) -> Floats:
    """What the codes of a numeric column stand for; dates as days since 1970."""
    labels = attribute.labels
    return (labels.astype("datetime64[D]").astype(np.int64) if labels.dtype.kind == "M" else labels).astype(np.float64)


def axis_of(attribute: Attribute, shown: Shown, most: int) -> Axis:
    """Values of a category that are shown are features, the commonest `most` - 1 where there are more than `most`."""
    name = attribute.name
    if attribute.kind == "numeric":
        return Axis(attribute, (name,), None)
    people = shown.people(attribute.size)
    there = np.flatnonzero(people > 0)
    many = len(there) > most
    kept = np.sort(there[np.argsort(-people[there], kind="stable")][: most - 1]) if many else there
    place = np.where(people > 0, len(kept) if many else 0, -1).astype(np.int32)
    place[kept] = np.arange(len(kept))
    names = [f"{name}={label}" for label in attribute.labels[kept]]
    return Axis(attribute, (*names, *([f"{name}={OTHER}"] if many else [])), place)


def features(columns: Columns, target: str | None, *, widths: bool, most: int, seed: int) -> Features:
    """All columns but the target as numbers, and the values of the target."""
    most = whole_number(most, "most_values", least=2)
    if target is not None and target not in columns:
        raise UnknownColumn(
            f"the release has no column {target!r}", allowed=listing(columns), hint=nearest(str(target), columns)
        )
    chosen = [each for name, each in columns.items() if name != target]
    if not chosen:
        raise BadValue(
            "nothing would be left to predict from", allowed="a release with another column", got=target or ""
        )
    axes = [axis_of(*each, most) for each in chosen]
    wide = [widths and axis.place is None for axis in axes]
    names = [name for axis, has in zip(axes, wide, strict=True) for name in _named(axis, has)]
    matrix = _matrix(chosen, axes, wide)
    if target is None:
        return Features(matrix, tuple(names), None)
    attribute, shown = columns[target]
    rng = np.random.default_rng(whole_number(seed, "the seed"))  # noqa: TID251 - anybody may draw from what is public
    return Features(matrix, tuple(names), attribute.decode(shown.drawn(rng)))


def _named(axis: Axis, wide: bool) -> tuple[str, ...]:
    return (*axis.names, f"{axis.attribute.name} (width)") if wide else axis.names


def _matrix(chosen: list[tuple[Attribute, Shown]], axes: list[Axis], wide: list[bool]) -> Matrix:
    """One block of columns after the other, each written once."""
    first: Ints = offsets([len(axis.names) + has for axis, has in zip(axes, wide, strict=True)])
    found: Matrix | None = None
    for (attribute, shown), axis, has, at in zip(chosen, axes, wide, first, strict=False):
        block = shown.average(axis.of_code(attribute))
        if found is None:
            _refuse_flood(len(block), int(first[-1]))
            found = np.empty((len(block), int(first[-1])), dtype=np.float32)
        found[:, at : at + block.shape[1]] = block
        if has:
            found[:, at + block.shape[1]] = shown.width(numbers(attribute))
    assert found is not None
    return found


def _refuse_flood(rows: int, columns: int) -> None:
    if rows * columns > _MOST_NUMBERS:
        raise BadValue(
            "the matrix would be too large",
            allowed=f"{_MOST_NUMBERS:,} numbers",
            got=f"{rows:,} rows of {columns:,} features",
            hint="most_values=20 makes fewer columns of each category",
        )
