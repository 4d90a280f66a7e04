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

from oneoff.errors import Defect
from oneoff.models import Limits
from oneoff.table.arrays import Ints

__all__ = ["Level", "between", "by_support", "draw", "evenly", "leftover_group", "one_group", "refuse_sets"]


@dataclass(frozen=True, eq=False)
class Level:
    """slots[b, i] is the sensitive value of the i-th member of bucket b.

    distinct   a value may be in more buckets than its ceiling allows, and is saved by never covering it twice: only for
               buckets of Algorithm 1, where Theorem 2 promises that this always works
    """

    slots: Ints
    distinct: bool = False


def refuse_sets(limits: Limits) -> None:
    """Counting the buckets of single values says nothing about sets of them."""
    if limits.sets:
        raise Defect("levels are planned for ceilings on single values, not on sets of them")


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


def leftover_group(counts: Ints, limits: Limits, total: int) -> Ints | None:
    """An eligible group of that many people, preferably with frequent values; None when there is none."""
    if total == 0:
        return np.zeros_like(counts)
    if total < limits.least_size:
        return None
    return between(limits.least(total), np.minimum(limits.most(total), counts), total, counts)


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
