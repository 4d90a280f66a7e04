"""Which columns depend on which, over public domains, and how much of epsilon everything costs that looks at people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats, Ints

__all__ = ["Axis", "Network", "Spent"]


@dataclass(frozen=True, eq=False)
class Axis:
    """What a column may show, taken to be public: values, or bins between two ends, of which the upper one is included.

    labels   the values; of bins their edges, one more than there are bins. Whole numbers and dates are whole: the last
             edge is then one above the upper end
    """

    labels: npt.NDArray[Any]
    bins: bool

    @property
    def size(self) -> int:
        return len(self.labels) - self.bins

    @staticmethod
    def of_values(attribute: Attribute) -> Axis:
        return Axis(attribute.labels, False)

    @staticmethod
    def between(low: Any, high: Any, most: int) -> Axis:
        """Equal bins, at most so many; whole numbers get no more bins than there are numbers."""
        if isinstance(low, float):
            return Axis(np.linspace(low, high, most + 1) if high > low else np.array([low, low]), True)
        first, last = (int(np.asarray(end).astype(np.int64)) for end in (low, high))
        width = last - first + 1
        many = min(most, width)
        edges = np.array([first + place * width // many for place in range(many + 1)], dtype=np.int64)
        return Axis(edges.view(np.asarray(low).dtype) if isinstance(low, np.datetime64) else edges, True)

    @property
    def ends(self) -> tuple[Any, Any]:
        """The least and the greatest number that may occur."""
        return self.labels[0], self.labels[-1] if self.labels.dtype.kind == "f" else self.labels[-1] - 1

    def codes_of(self, labels: npt.NDArray[Any]) -> Codes:
        """The code of each label; -1 for what may not occur."""
        if not self.bins:
            return Attribute("", "categorical", self.labels).codes_of(labels)
        low, high = self.ends
        place = np.searchsorted(self.labels, labels, side="right") - 1
        return np.where((labels < low) | (labels > high), -1, np.minimum(place, self.size - 1)).astype(np.int32)

    def drawn(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        """A label for each code: numbers anywhere in their bin, all of them alike."""
        if not self.bins:
            found: npt.NDArray[Any] = self.labels[codes]
            return found
        low, high = self.labels[codes], self.labels[codes + 1]
        if self.labels.dtype.kind == "f":
            inside: Floats = low + (high - low) * rng.random(len(codes))
            return np.clip(np.round(inside, self._decimals), *self.ends)
        whole: npt.NDArray[Any] = rng.integers(low.astype(np.int64), high.astype(np.int64)).view(low.dtype)
        return whole

    @property
    def _decimals(self) -> int:
        """A thousandth of a bin is fine enough: more digits would look like measurements."""
        width = float(self.labels[-1] - self.labels[0]) / self.size
        return min(12, 3 - math.floor(math.log10(width))) if width > 0 else 12


@dataclass(frozen=True)
class Spent:
    """What looked at people, how often, and the epsilon of each time."""

    choices: int
    choice: float
    counts: float

    @property
    def total(self) -> Fraction:
        return self.choices * Fraction(self.choice) + Fraction(self.counts)


@dataclass(frozen=True, eq=False)
class Network:
    """Column order[i] is drawn given those of parents[i], all of which come before; the sensitive column is the last of
    the axes.

    epsilon   by which factor e^epsilon one person may change the probability of anything that is published
    """

    axes: tuple[Axis, ...]
    order: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    epsilon: float
    spent: Spent
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = [set(self.order[:i]) for i in range(len(self.order))]
        complete = sorted(self.order) == list(range(len(self.axes))) and len(self.parents) == len(self.order)
        if not complete or any(not set(own) <= before for own, before in zip(self.parents, known, strict=True)):
            raise Defect("not every column is drawn once, given columns that were drawn before")
        if not 0 < self.epsilon < math.inf or min(self.spent.choice, self.spent.counts) < 0 or not self.spent.counts:
            raise Defect("counts without noise, or with nothing but noise, are not for publication")
        if self.spent.total > Fraction(self.epsilon):
            raise Defect("more was spent than epsilon", got=f"{float(self.spent.total)} of {self.epsilon}")

    def codes(self, table: Table) -> Codes:
        """[column, person] over the axes; -1 where somebody has what may not occur."""
        labels = [(attribute, codes) for attribute, codes in zip(table.quasi, table.codes.T, strict=True)]
        assert table.sensitive is not None
        labels.append((table.sensitive, table.values))
        columns = [axis.codes_of(each.labels)[own] for axis, (each, own) in zip(self.axes, labels, strict=True)]
        return np.ascontiguousarray(columns, dtype=np.int32)

    def sizes(self, columns: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.axes[j].size for j in columns)

    @cached_property
    def counted(self) -> tuple[tuple[int, ...], ...]:
        """The sets of columns whose people are counted: a set inside another one follows from that."""
        wanted = [frozenset((column, *own)) for column, own in zip(self.order, self.parents, strict=True)]
        largest = [each for each in dict.fromkeys(wanted) if not any(each < other for other in wanted)]
        return tuple(tuple(sorted(each)) for each in largest)

    @property
    def sensitivity(self) -> int:
        """By how much all counts of neighbours differ in sum: somebody else in one place lowers one count of each set
        by 1 and raises another."""
        return 2 * len(self.counted)

    def steps(self) -> Iterator[tuple[int, tuple[int, ...], int]]:
        """Each column with its parents and the first of the counted sets that has all of them."""
        for column, own in zip(self.order, self.parents, strict=True):
            where = (i for i, each in enumerate(self.counted) if {column, *own} <= set(each))
            yield column, own, next(where)

    def cells(self, columns: Sequence[int]) -> Ints:
        """How far apart codes of each column are when all combinations are numbered."""
        sizes = self.sizes(columns)
        return np.array([math.prod(sizes[i + 1 :]) for i in range(len(sizes))], dtype=np.int64)
