"""The one idea: a ceiling on what anyone may believe about anyone, for each sensitive value.

A promise is a ceiling c_v for every value v (delta-disclosure adds a floor): after seeing the release, nobody may
believe "this person has v" with a probability above c_v. In a group of equals the belief is the share of v. Sets of
neighbouring values may have ceilings too: on the belief "this person has one of these". And a group may have to have
a least number of people, whoever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from oneoff.errors import Defect
from oneoff.models.counts import Counts
from oneoff.models.numbers import fraction_above, fraction_below
from oneoff.table.arrays import Flags, Ints

__all__ = ["ANYBODY", "Limits", "OrderedLimits"]


@dataclass(frozen=True)
class Limits:
    """What a group of equals may look like: exact ceilings on the share of each value, and floors, where there are any.

    sets         (low, high, c): the value codes low <= v < high together have at most the share c of a group
    least_size   people a group must have

    Where values play no part, as for k-anonymity alone, everybody counts as having one and the same value, which
    everybody may have: `ANYBODY`, with a least size. There is no other way to write that.
    """

    ceiling: tuple[Fraction, ...]
    floor: tuple[Fraction, ...] | None = None
    sets: tuple[tuple[int, int, Fraction], ...] = ()
    least_size: int = 1

    def __post_init__(self) -> None:
        if self.floor is not None and len(self.floor) != len(self.ceiling):
            raise Defect("ceilings and floors are not for the same values")

    @property
    def values(self) -> int:
        return len(self.ceiling)

    @cached_property
    def by_value(self) -> bool:
        """Does it matter which values people of a group have, or only how many people there are?"""
        return bool(self.sets) or self.has_floors or min(self.ceiling) < 1

    @cached_property
    def has_floors(self) -> bool:
        return self.floor is not None and max(self.floor) > 0

    # For groups up to a size, in integers

    def up_to(self, people: int) -> Limits:
        """The same for groups of at most so many people, in terms so small that 64-bit integers decide exactly."""
        ceiling = _each(self.ceiling, lambda bound: fraction_below(min(bound, Fraction(1)), people))
        floor = None if self.floor is None else _each(self.floor, lambda bound: fraction_above(bound, people))
        sets = tuple((low, high, fraction_below(min(ceiling, Fraction(1)), people)) for low, high, ceiling in self.sets)
        return Limits(ceiling, floor, sets, min(self.least_size, people + 1))  # as good as any larger one

    @cached_property
    def rows(self) -> Ints:
        """[4, values] ceiling and floor, each as numerator and denominator: the first rows of `kernels.limits`."""
        floor = self.floor or (Fraction(0),) * self.values
        return np.array([*_terms(self.ceiling), *_terms(floor)], dtype=np.int64)

    @cached_property
    def set_rows(self) -> tuple[tuple[int, int, int, int], ...]:
        """The sets with their ceilings likewise: low, high, numerator, denominator."""
        return tuple((low, high, *ceiling.as_integer_ratio()) for low, high, ceiling in self.sets)

    def most(self, size: int) -> Ints:
        """How many people of a group of that size may have each value."""
        top, bottom = self.rows[:2]
        most: Ints = top * size // bottom
        return most

    def least(self, size: int) -> Ints:
        """How many must have it."""
        top, bottom = self.rows[2:]
        least: Ints = -(-top * size // bottom)
        return least

    def allows(self, counts: Ints) -> bool:
        """May people with these counts of values be published as one group?"""
        size = int(counts.sum())
        single = size >= self.least_size and ((counts <= self.most(size)) & (counts >= self.least(size))).all()
        return bool(single) and all(counts[low:high].sum() * b <= a * size for low, high, a, b in self.set_rows)

    def one_size(self) -> int:
        """The size of groups that suits all values alike, when all have the same ceiling and no floor; otherwise 1."""
        if self.has_floors or len(set(self.ceiling)) > 1:
            return 1
        return max(self.least_size, int(-(-1 // self.ceiling[0])))

    def fewest_buckets(self, counts: Ints) -> int:
        """The size from which on every value that occurs is allowed at least once."""
        top, bottom = self.rows[:2, counts > 0]
        return max(self.least_size, int((-(-bottom // top)).max()))

    def one_ceiling(self, counts: Ints) -> bool:
        """Have all values that occur the same ceiling, as for l-diversity?"""
        top, bottom = self.rows[:2, counts > 0]
        return bool((top * bottom[0] == top[0] * bottom).all())

    # For groups of any size

    def failing(self, counts: Counts) -> Flags:
        """Which groups break a ceiling or a floor, or are too small."""
        small = self.up_to(counts.largest)
        top, bottom = small.rows[:2]
        over = counts.count * bottom[counts.value] > top[counts.value] * counts.size[counts.owner]
        failing = counts.any_by_group(over)
        if self.floor is not None:
            failing |= small._below_floor(counts)
        if self.least_size > 1:
            failing |= counts.size < self.least_size
        for node, limits in self.layers():
            failing |= limits.failing(counts.merged(node))
        return failing

    def layers(self) -> Iterator[tuple[Ints, Limits]]:
        """The ceilings on sets as ceilings on coarser values: for each layer, which value becomes which, and those.

        Sets that do not overlap share a layer, so a hierarchy needs no more layers than it has levels. The values
        before, between and behind the sets of a layer are not bounded by it: their ceiling is 1.
        """
        waiting = sorted(self.sets)
        while waiting:
            layer, later, end = [], [], 0
            for low, high, ceiling in waiting:
                if low < end:
                    later.append((low, high, ceiling))
                    continue
                layer += [(end, low, Fraction(1)), (low, high, ceiling)]
                end = high
            layer = [part for part in [*layer, (end, self.values, Fraction(1))] if part[0] < part[1]]
            node = np.repeat(np.arange(len(layer)), [high - low for low, high, _ in layer])
            yield node, Limits(tuple(ceiling for _, _, ceiling in layer))
            waiting = later

    def minimum(self, other: Limits) -> Limits:
        """Both promises at once: the lower ceiling, the higher floor, the larger size."""
        ceiling = tuple(min(a, b) for a, b in zip(self.ceiling, other.ceiling, strict=True))
        floors = [floor for floor in (self.floor, other.floor) if floor is not None]
        floor = tuple(max(bounds) for bounds in zip(*floors, strict=True)) if floors else None
        lowest: dict[tuple[int, int], Fraction] = {}
        for low, high, bound in (*self.sets, *other.sets):
            lowest[low, high] = min(bound, lowest.get((low, high), bound))
        sets = tuple((*ends, bound) for ends, bound in lowest.items())
        return Limits(ceiling, floor, sets, max(self.least_size, other.least_size))

    def with_least_size(self, people: int) -> Limits:
        return replace(self, least_size=people)

    def ordered(self, people: int) -> OrderedLimits:
        """For groups of at most so many people, and with the values in the order of their ceilings."""
        small = self.up_to(people)
        sets = sorted(small.set_rows, key=lambda one: (one[0], -one[1]))
        parent, home = _nested(sets, self.values)
        by_rank = _by_ceiling(self.ceiling, parent, home)
        rank = np.empty(self.values, dtype=np.int64)
        rank[by_rank] = np.arange(self.values)
        rounded = [int(ceiling > near) for ceiling, near in zip(self.ceiling, small.ceiling, strict=True)]
        rows = [(over, under, above) for (_, _, over, under), above in zip(sets, parent, strict=True)]
        return OrderedLimits(
            np.concatenate([small.rows, np.array([rank, by_rank, home, rounded], dtype=np.int64)]),
            np.array(rows, dtype=np.int64).reshape(-1, 3),
            small.least_size,
        )

    def _below_floor(self, counts: Counts) -> Flags:
        """Which groups have too few people with some value, or none."""
        top, bottom = self.rows[2:]
        under = counts.count * bottom[counts.value] < top[counts.value] * counts.size[counts.owner]
        needed = top > 0
        present = np.bincount(counts.owner[needed[counts.value]], minlength=counts.groups)
        absent: Flags = present < needed.sum()
        return counts.any_by_group(under) | absent


ANYBODY = Limits((Fraction(1),))


class OrderedLimits(NamedTuple):
    """Limits as plain arrays for loops that go through values in the order of their ceilings (`kernels.shares`).

    limits [8, values]  ceiling and floor (numerator, denominator), place in the order of ceilings, the value at each
                        place, the innermost set of values it belongs to (-1 for none), 1 if the ceiling itself lies
                        above those numbers (so that to equal them is to be below it)
    sets   [sets, 3]    ceiling of all values of a set together (numerator, denominator), the set around it (or -1);
                        in the order of places the values of a set are neighbours
    least               people a group must have
    """

    limits: Ints
    sets: Ints
    least: int


def _by_ceiling(ceiling: tuple[Fraction, ...], parent: list[int], home: list[int]) -> list[int]:
    """Values by ceiling; those of one set are neighbours, so that a set is never torn apart by the order."""
    path: list[tuple[int, ...]] = []
    for number, above in enumerate(parent):
        path.append((*(path[above] if above >= 0 else ()), number))
    place = {bound: number for number, bound in enumerate(sorted(set(ceiling)))}
    return sorted(range(len(home)), key=lambda v: (path[home[v]] if home[v] >= 0 else (), place[ceiling[v]]))


def _nested(sets: list[tuple[int, int, int, int]], values: int) -> tuple[list[int], list[int]]:
    """The set around each set, and the innermost set around each value; -1 for none. Outer sets come first."""
    home, parent = [-1] * values, []
    for number, (low, high, _, _) in enumerate(sets):
        parent.append(home[low])
        home[low:high] = [number] * (high - low)
    return parent, home


def _each(fractions: tuple[Fraction, ...], small: Callable[[Fraction], Fraction]) -> tuple[Fraction, ...]:
    """Each in small terms; equal ones are worked out once, since there are far fewer than values."""
    found = {fraction: small(fraction) for fraction in set(fractions)}
    return tuple(found[fraction] for fraction in fractions)


def _terms(fractions: Iterable[Fraction]) -> tuple[list[int], list[int]]:
    pairs = [fraction.as_integer_ratio() for fraction in fractions]
    return [top for top, _ in pairs], [bottom for _, bottom in pairs]
