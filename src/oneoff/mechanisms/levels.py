"""Levels: groups planned from counts of sensitive values alone, before anybody's quasi-identifiers are looked at.

A level is a matrix of values, one row for each of its B buckets, all of size C: it will become C groups (or records)
with one member of each bucket. So a value is believed with at most |B_v| / B, where |B_v| counts the buckets that hold
v at all. A plan is made from counts; people are then drawn for it uniformly.

n_v   people with value v          C   members of a bucket          B   buckets
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import OneoffError
from oneoff.models import Caps

__all__ = ["Bounds", "Level", "aside", "between", "by_support", "draw", "evenly", "one_group"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bounds:
    """How many members of a group of any size may, and must, have each value; no group is smaller than `least_size`."""

    ceiling: tuple[Ints, Ints]
    floor: tuple[Ints, Ints]
    least_size: int

    @staticmethod
    def of(caps: Caps, people: int, least_size: int = 1) -> Bounds:
        """Exact for groups of at most so many people."""
        if caps.sets:
            raise OneoffError("levels are planned for ceilings on single values, not on sets of them")
        return Bounds(caps.ratios(people), caps.floor_ratios(people), least_size)

    def most(self, size: int) -> Ints:
        return self.ceiling[0] * size // self.ceiling[1]

    def least(self, size: int) -> Ints:
        return -(-self.floor[0] * size // self.floor[1])

    def allow(self, counts: Ints) -> bool:
        """May these people be published as one group?"""
        size = int(counts.sum())
        return size >= self.least_size and bool(((counts <= self.most(size)) & (counts >= self.least(size))).all())

    def one_size(self) -> int:
        """The size of groups that suits all values alike, when all have the same ceiling and no floor; otherwise 1."""
        top, bottom = self.ceiling
        if self.floor[0].any() or not (top * bottom[0] == top[0] * bottom).all():
            return 1
        return max(self.least_size, -(-int(bottom[0]) // int(top[0])))

    def fewest_buckets(self, counts: Ints) -> int:
        """Every value that occurs must be allowed in one bucket at least."""
        top, bottom = (column[counts > 0] for column in self.ceiling)
        return max(self.least_size, int((-(-bottom // top)).max()))


@dataclass(frozen=True, eq=False)
class Level:
    """slots[b, i] is the sensitive value of the i-th member of bucket b.

    apart   a value may be in more buckets than its ceiling allows, and is saved by never covering it twice: only for
            buckets of Algorithm 1, where Theorem 2 promises that this always works
    """

    slots: Ints
    apart: bool = False


def one_group(counts: Ints) -> Level:
    """Everybody a bucket of their own: one group."""
    return Level(np.repeat(np.arange(len(counts)), counts).reshape(-1, 1))


def by_support(counts: Ints) -> Ints:
    """Values that occur, the most frequent first, equal ones by their code."""
    order = np.argsort(-counts, kind="stable")
    return order[: int((counts > 0).sum())]


def between(low: Ints, high: Ints, total: int, counts: Ints) -> Ints | None:
    """Numbers between low and high with that sum, high ones for frequent values; None when there are none."""
    if (low > high).any() or not int(low.sum()) <= total <= int(high.sum()):
        return None
    order = np.argsort(-counts, kind="stable")
    room = np.cumsum((high - low)[order])
    more = np.diff(np.minimum(room, total - int(low.sum())), prepend=0)
    chosen = low.copy()
    chosen[order] += more
    return chosen


def evenly(sizes: Ints, total: int) -> Ints:
    """Take that many in all, as evenly as the sizes allow."""
    taken = np.zeros_like(sizes)
    order = np.argsort(sizes, kind="stable")
    for rank, place in enumerate(order):
        taken[place] = min(int(sizes[place]), total // (len(sizes) - rank))
        total -= int(taken[place])
    return taken


def aside(counts: Ints, bounds: Bounds, total: int) -> Ints | None:
    """An eligible group of that many people, preferably with frequent values; None when there is none."""
    if total == 0:
        return np.zeros_like(counts)
    if total < bounds.least_size:
        return None
    return between(bounds.least(total), np.minimum(bounds.most(total), counts), total, counts)


def draw(
    levels: list[Level], people: Ints, values: npt.NDArray[np.integer[Any]], rng: np.random.Generator
) -> list[Ints]:
    """People for the slots of every level, uniformly among those with the value; everything in random order."""
    mixed = rng.permutation(people)
    by_value = mixed[np.argsort(values[mixed], kind="stable")]
    wanted = np.concatenate([level.slots.ravel() for level in levels])
    chosen = np.empty_like(by_value)
    chosen[np.argsort(wanted, kind="stable")] = by_value
    ends = np.cumsum([level.slots.size for level in levels])[:-1]
    filled = [rows.reshape(level.slots.shape) for rows, level in zip(np.split(chosen, ends), levels, strict=True)]
    return [rng.permutation(rng.permuted(buckets, axis=1), axis=0) for buckets in filled]
