"""How often each sensitive value occurs in each group, and in the whole table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue
from oneoff.table import Table
from oneoff.table.arrays import Flags, Ints, Ragged, offsets
from oneoff.table.persons import persons_with_value

__all__ = ["Counts", "CountsLike", "Prior", "PriorLike", "prior_of"]


@dataclass(frozen=True, eq=False)
class Counts:
    """Group g holds `count[e]` people with value `value[e]`, for e in start[g] .. start[g+1]-1; only e with count > 0.

    Kept sparse, because a table may have as many sensitive values as people.
    """

    start: Ints
    value: Ints
    count: Ints

    @staticmethod
    def of(given: CountsLike) -> Counts:
        """From a vector (one group) or a matrix (a row for each group, a column for each value)."""
        if isinstance(given, Counts):
            return given
        matrix = np.atleast_2d(np.asarray(given))
        if matrix.ndim != 2 or matrix.dtype.kind not in "iu" or (matrix < 0).any():
            raise BadValue("counts are not whole numbers", allowed="a vector or matrix of integers >= 0")
        if matrix.size == 0 or (matrix.sum(axis=1) == 0).any():
            raise BadValue("a group is empty", allowed="at least one person in each group")
        group, value = np.nonzero(matrix)
        start = offsets(np.bincount(group, minlength=len(matrix)))
        return Counts(start, value.astype(np.int64), matrix[group, value].astype(np.int64))

    @staticmethod
    def of_groups(group: npt.NDArray[Any], values: npt.NDArray[Any]) -> Counts:
        """From the group (0..g-1, none empty) and the value code of every person."""
        width = int(values.max()) + 1
        key = group.astype(np.int64) * width + values
        cells = (int(group.max()) + 1) * width
        if cells <= 8 * len(key) + 1_000_000:
            dense = np.bincount(key, minlength=cells)
            key = np.flatnonzero(dense)
            count = dense[key]
        else:
            key, count = np.unique(key, return_counts=True)
        owner = key // width
        start = offsets(np.bincount(owner))
        return Counts(start, key % width, count.astype(np.int64))

    @property
    def groups(self) -> int:
        return len(self.start) - 1

    @cached_property
    def size(self) -> Ints:
        """People in each group."""
        return np.add.reduceat(self.count, self.start[:-1])

    @cached_property
    def distinct(self) -> Ints:
        """Distinct values in each group."""
        return np.diff(self.start)

    @cached_property
    def largest(self) -> int:
        return int(self.size.max())

    @cached_property
    def owner(self) -> Ints:
        """The group of every entry."""
        return np.repeat(np.arange(self.groups), self.distinct)

    def take(self, groups: Ints) -> Counts:
        """Some of the groups, in this order."""
        values, counts = Ragged(self.start, self.value).take(groups), Ragged(self.start, self.count).take(groups)
        return Counts(values.start, values.items, counts.items)

    def any_by_group(self, flags: Flags) -> Flags:
        """Which groups have a flagged entry."""
        found = np.zeros(self.groups, dtype=np.bool_)
        found[self.owner[flags]] = True
        return found

    def merged(self, node: Ints) -> Counts:
        """The same people by coarser values: node[v], which ascends with v, takes the place of v."""
        width = int(node[-1]) + 1
        key = self.owner * width + node[self.value]
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        start = offsets(np.bincount(key[first] // width, minlength=self.groups))
        return Counts(start, key[first] % width, np.add.reduceat(self.count[order], first))

    def group_counts(self, group: int, width: int) -> list[int]:
        """One group as a dense list, for the exact and slow questions."""
        dense = [0] * width
        for entry in range(int(self.start[group]), int(self.start[group + 1])):
            dense[int(self.value[entry])] = int(self.count[entry])
        return dense


@dataclass(frozen=True, eq=False)
class Prior:
    """The sensitive values of the whole table: people with each value, and people in all.

    people   how many there are where that is not the sum, because somebody with several rows may have several values
    """

    count: tuple[int, ...]
    people: int | None = None

    @staticmethod
    def of(given: PriorLike) -> Prior:
        """From counts of the whole table, or from shares (decimals mean what they print)."""
        if isinstance(given, Prior):
            return given
        plain = _plain(given)
        shares = plain if all(type(item) is int for item in plain) else _fractions(plain)  # whole counts, mostly
        if not shares or min(shares) < 0 or sum(shares) <= 0:
            raise BadValue("a prior needs shares or counts that are not negative and not all zero")
        scale = math.lcm(*(share.denominator for share in shares))
        return Prior(tuple(int(share * scale) for share in shares))

    @cached_property
    def total(self) -> int:
        return sum(self.count) if self.people is None else self.people

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(count, self.total) for count in self.count)

    @cached_property
    def array(self) -> npt.NDArray[Any]:
        """Counts for vector arithmetic: 64-bit where products with group sizes fit, Python integers otherwise."""
        return np.array(self.count, dtype=np.int64 if self.total < 2**31 else object)

    def merged(self, node: Ints) -> Prior:
        """The same people by coarser values: node[v], which ascends with v, takes the place of v."""
        first = np.flatnonzero(np.diff(node, prepend=-1))
        return Prior(tuple(np.add.reduceat(np.array(self.count, dtype=object), first).tolist()))

    @property
    def values(self) -> int:
        return len(self.count)


def prior_of(table: Table) -> Prior:
    """How many people have each value; somebody with several rows may have several of them."""
    if table.person is None:
        return Prior(tuple(table.counts.tolist()))
    return Prior(tuple(persons_with_value(table).tolist()), table.people)


def _fractions(plain: list[Any]) -> list[Fraction]:
    try:
        return [Fraction(str(x)) if isinstance(x, float) else Fraction(x) for x in plain]
    except (TypeError, ValueError, ZeroDivisionError):
        raise BadValue("a prior needs numbers", allowed="shares or counts, one for each value") from None


def _plain(given: Any) -> list[Any]:
    items = given.tolist() if isinstance(given, np.ndarray) else list(given)
    return [item.item() if isinstance(item, np.generic) else item for item in items]


CountsLike = Counts | npt.NDArray[Any] | Sequence[int] | Sequence[Sequence[int]]
PriorLike = Prior | npt.NDArray[Any] | Sequence[int] | Sequence[float] | Sequence[Fraction]
