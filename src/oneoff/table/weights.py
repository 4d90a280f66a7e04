"""Weights of a survey: how many people of the population every row stands for.

They go out as means of groups or cells, never one by one. That says nothing about values as long as weights do not:
where people with some value weigh more than others of their cell, its mean says how many of them have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue
from oneoff.table.arrays import Codes, Floats, Ints

if TYPE_CHECKING:
    from oneoff.table.table import Table

__all__ = ["MOST_APART", "Telling", "Weight", "telling", "weight_of"]

MOST_APART = 0.5  # standard deviations: what a weight may say about a value where values are hidden by noise

_BINS = 20  # of a number, whose values may each be too rare to show anything
_SURE = 5.0  # standard errors: many values are looked at, and weights have long tails


@dataclass(frozen=True, eq=False)
class Weight:
    """each[i] is the weight of row i, finite and not below 0."""

    name: str
    each: Floats

    def __post_init__(self) -> None:
        self.each.flags.writeable = False

    def take(self, rows: npt.NDArray[Any]) -> Weight:
        return Weight(self.name, self.each[rows])


def weight_of(name: str, labels: npt.NDArray[Any], codes: Codes) -> Weight:
    """From the distinct values of a column and the code of every row."""
    if labels.dtype.kind not in "iuf":
        raise _unusable(name, "dates or texts")
    each = labels.astype(np.float64)[codes]
    wrong = int(np.count_nonzero(~(np.isfinite(each) & (each >= 0))))
    if wrong:
        raise _unusable(name, f"{wrong:,} rows with a weight below 0 or none that is finite")
    if not each.any():
        raise _unusable(name, "0 in every row")
    return Weight(name, each)


def _unusable(name: str, got: str) -> BadValue:
    return BadValue(
        f"the values of {name!r} cannot be weights",
        allowed="finite numbers from 0 on, at least one of them above",
        got=got,
        hint="a weight says how many people of the population a row stands for",
    )


class Telling(NamedTuple):
    """People with this value, or one near it, weigh so many standard deviations more than others of their cell."""

    label: Any
    apart: float

    def sentence(self, name: str) -> str:
        more = "more" if self.apart > 0 else "less"
        return f"people with {str(self.label)!r} weigh {abs(self.apart):.2f} standard deviations {more} in {name!r}"


def telling(table: Table, cell: Ints | Codes) -> Telling | None:
    """The value that weights say most about, inside cells; None where that is nothing beyond chance.

    Weights are taken relative to the mean of their cell, and numbers joined into ranges of about equal counts.
    """
    if table.weight is None or table.sensitive is None:
        return None
    weight, size, values = table.weight.each, np.bincount(cell), table.values
    mean = np.bincount(cell, weight) / size
    off = np.divide(weight, mean[cell], out=np.ones(len(weight)), where=mean[cell] > 0) - 1
    spread = float(off @ off) / max(len(cell) - len(size), 1)
    if spread <= 0:
        return None
    part = _ranges(values) if table.sensitive.kind == "numeric" else values.astype(np.int64)
    sums = np.bincount(part, off)
    free = _free(cell.astype(np.int64), part, size, len(sums))
    apart = np.divide(sums, free * np.sqrt(spread), out=np.zeros(len(sums)), where=free > 0)
    sure = np.abs(apart) * np.sqrt(np.maximum(free, 0)) > _SURE
    if not sure.any():
        return None
    worst = int(np.argmax(np.where(sure, np.abs(apart), 0)))
    return Telling(table.sensitive.labels[values[np.argmax(part == worst)]], float(apart[worst]))


def _ranges(values: Codes) -> Ints:
    counts = np.bincount(values)
    middle = np.cumsum(counts) - counts / 2
    found: Ints = (middle * _BINS / len(values)).astype(np.int64)[values]
    return found


def _free(cell: Ints, part: Ints, size: Ints, width: int) -> Floats:
    """How many people have each value, without those that the mean of their own cell accounts for."""
    pairs, many = np.unique(cell * width + part, return_counts=True)
    place, value = np.divmod(pairs, width)
    return np.asarray(np.bincount(value, many - many**2 / size[place], width), dtype=np.float64)
