"""Buckets: which sensitive values go where, before anybody's quasi-identifiers are looked at (paper 000).

A level is a matrix of values, one row for each of its B buckets, all of size C. Every record will cover one member of
each bucket, so a value is believed with at most |B_v| / B, where |B_v| counts the buckets that hold v at all. A plan
is made from the counts of the values alone; people are then drawn for it uniformly.

The papers fill up with invented people when the numbers do not divide. We never do: what is left over becomes a level
of its own that keeps the ceilings too, at worst one group.

n_v   people with value v          C, c   members of a bucket       B, l   buckets
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.models import Caps

__all__ = ["Bounds", "Level", "diversity_slots", "draw", "plan", "pure", "touched"]

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
        return Bounds(caps.ratios(people), caps.floor_ratios(people), least_size)

    def most(self, size: int) -> Ints:
        return self.ceiling[0] * size // self.ceiling[1]

    def least(self, size: int) -> Ints:
        return -(-self.floor[0] * size // self.floor[1])

    def allow(self, counts: Ints) -> bool:
        """May these people be published as one group?"""
        size = int(counts.sum())
        return size >= self.least_size and bool(((counts <= self.most(size)) & (counts >= self.least(size))).all())

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


def plan(counts: Ints, bounds: Bounds, apart: bool) -> list[Level]:
    """Levels that use up the counts exactly; as few buckets as we can find, because fewer buckets lose less.

    Where l buckets suffice with each value in one of them (l-diversity, and beta-likeness by Theorem 4), `apart` asks
    for Algorithm 1 and otherwise values stay whole; all other promises get the consecutive buckets of Algorithm 3.
    The counts must be allowed as one group, which is then the last resort.
    """
    n, buckets = int(counts.sum()), bounds.fewest_buckets(counts)
    whole = int(counts.max()) <= n // buckets and not bounds.floor[0].any()
    if whole and apart:
        return _diverse(counts, buckets)
    if whole:
        return _unsplit(counts, bounds, buckets)
    return _consecutive(counts, bounds)


def _group(counts: Ints) -> Level:
    """Everybody a bucket of their own: one group."""
    return Level(np.repeat(np.arange(len(counts)), counts).reshape(-1, 1))


def _by_support(counts: Ints) -> Ints:
    """Values that occur, the most frequent first, equal ones by their code."""
    order = np.argsort(-counts, kind="stable")
    return order[: int((counts > 0).sum())]


# Algorithm 1


def _diverse(counts: Ints, l: int) -> list[Level]:  # noqa: E741
    """Algorithm 1, after setting aside the smallest eligible group that makes the rest divisible by l."""
    size, rest = divmod(int(counts.sum()), l)
    if rest == 0:
        return [Level(diversity_slots(counts, l), apart=True)]
    for times in range(1, size):
        aside = _between(np.maximum(counts - (size - times), 0), np.minimum(counts, times), rest + times * l, counts)
        if aside is not None:
            return [Level(diversity_slots(counts - aside, l), apart=True), _group(aside)]
    return [_group(counts)]


def diversity_slots(counts: Ints, l: int) -> Ints:  # noqa: E741
    """Algorithm 1: the l most frequent values open a bucket each, the others go where most room is left.

    l divides the number of people, and no value has more than an l-th of them. A value that does not fit is split.
    """
    size = int(counts.sum()) // l
    slots, load = np.empty((l, size), dtype=np.int64), np.zeros(l, dtype=np.int64)
    for rank, value in enumerate(_by_support(counts)):
        left = int(counts[value])
        while left > 0:
            b = rank if rank < l else int(load.argmin())
            some = min(left, size - int(load[b]))
            slots[b, load[b] : load[b] + some] = value
            load[b] += some
            left -= some
    return slots


def _between(low: Ints, high: Ints, total: int, counts: Ints) -> Ints | None:
    """Numbers between low and high with that sum, high ones for frequent values; None when there are none."""
    if (low > high).any() or not int(low.sum()) <= total <= int(high.sum()):
        return None
    order = np.argsort(-counts, kind="stable")
    room = np.cumsum((high - low)[order])
    more = np.diff(np.minimum(room, total - int(low.sum())), prepend=0)
    chosen = low.copy()
    chosen[order] += more
    return chosen


# Every value whole in one bucket


def _unsplit(counts: Ints, bounds: Bounds, buckets: int) -> list[Level]:
    """Pack whole values into nearly equal buckets, cut them to one size, and plan for what was cut off.

    What is cut off a bucket comes evenly from its values. The cut goes deeper until the cuttings are eligible.
    """
    if int(counts.sum()) < 2 * buckets:
        return [_group(counts)]
    packed = _pack(counts, buckets)
    load = np.array([int(counts[values].sum()) for values in packed])
    for size in range(int(load.min()), 0, -1):
        cut = np.zeros_like(counts)
        for values, excess in zip(packed, load - size, strict=True):
            cut[values] = _evenly(counts[values], int(excess))
        total = int(cut.sum())
        if total == 0 or (total >= buckets and int(cut.max()) <= total // buckets):
            kept = counts - cut
            level = Level(np.stack([np.repeat(values, kept[values]) for values in packed]))
            return [level, *(_unsplit(cut, bounds, buckets) if total else [])]
    return _consecutive(counts, bounds)


def _pack(counts: Ints, buckets: int) -> list[Ints]:
    """The values of each bucket: largest first into the emptiest, then exchanges between the fullest and emptiest."""
    packed: list[list[int]] = [[] for _ in range(buckets)]
    load = [0] * buckets
    for value in _by_support(counts).tolist():
        b = min(range(buckets), key=load.__getitem__)
        packed[b].append(value)
        load[b] += int(counts[value])
    for _ in range(4 * len(counts)):
        full, empty = max(range(buckets), key=load.__getitem__), min(range(buckets), key=load.__getitem__)
        gap = load[full] - load[empty]
        give, take = max(_exchanges(packed[full], packed[empty]), key=lambda pair: _gain(counts, pair, gap))
        if _gain(counts, (give, take), gap) <= 0:
            break
        moved = int(counts[give].sum()) - int(counts[take].sum())
        packed[full] = [value for value in packed[full] if value not in give] + take
        packed[empty] = [value for value in packed[empty] if value not in take] + give
        load[full], load[empty] = load[full] - moved, load[empty] + moved
    return [np.array(values, dtype=np.int64) for values in packed]


def _exchanges(full: list[int], empty: list[int]) -> Iterator[tuple[list[int], list[int]]]:
    """One value moves over, or two change places."""
    for give in full:
        if len(full) > 1:
            yield [give], []
        for take in empty:
            yield [give], [take]


def _gain(counts: Ints, exchange: tuple[list[int], list[int]], gap: int) -> int:
    """By how much the difference of two loads shrinks."""
    moved = int(counts[exchange[0]].sum()) - int(counts[exchange[1]].sum())
    return gap - abs(gap - 2 * moved)


def _evenly(sizes: Ints, total: int) -> Ints:
    """Take that many in all, as evenly as the sizes allow."""
    taken = np.zeros_like(sizes)
    order = np.argsort(sizes, kind="stable")
    for rank, place in enumerate(order):
        taken[place] = min(int(sizes[place]), total // (len(sizes) - rank))
        total -= int(taken[place])
    return taken


# Algorithm 3


def _consecutive(counts: Ints, bounds: Bounds) -> list[Level]:
    """Values one after the other through the fewest buckets that keep |B_v| within its ceiling (Algorithm 3).

    Values that fill buckets exactly come first, then the most frequent. When the buckets do not divide the people, an
    eligible group is set aside. All people as buckets of one always satisfy an eligible table, so the search ends.
    """
    n = int(counts.sum())
    for buckets in range(bounds.fewest_buckets(counts), n + 1):
        size, rest = divmod(n, buckets)
        aside = _aside(counts, bounds, rest)
        if aside is None:
            continue
        kept = counts - aside
        order = _by_support(kept)
        order = order[np.argsort(kept[order] % size != 0, kind="stable")]
        most, least = bounds.most(buckets), bounds.least(buckets)
        enough = np.zeros_like(counts)
        enough[order] = pure(kept[order], size)
        if (touched(kept[order], size) <= most[order]).all() and (enough >= least).all():
            level = Level(np.repeat(order, kept[order]).reshape(buckets, size))
            return [level, *([_group(aside)] if rest else [])]
    return [_group(counts)]


def _aside(counts: Ints, bounds: Bounds, total: int) -> Ints | None:
    """An eligible group of that many people, preferably with frequent values; None when there is none."""
    if total == 0:
        return np.zeros_like(counts)
    if total < bounds.least_size:
        return None
    return _between(bounds.least(total), np.minimum(bounds.most(total), counts), total, counts)


def touched(sizes: npt.ArrayLike, c: int) -> Ints:
    """|B_v| of values laid one after the other through buckets of c: the buckets each is found in."""
    sizes = np.asarray(sizes, dtype=np.int64)
    before = np.cumsum(sizes) - sizes
    counted: Ints = (before + sizes - 1) // c - before // c + 1
    return counted


def pure(sizes: npt.ArrayLike, c: int) -> Ints:
    """The buckets each value fills alone: every record is certain to cover it that often."""
    sizes = np.asarray(sizes, dtype=np.int64)
    end = np.cumsum(sizes)
    alone: Ints = np.maximum(end // c + (end - sizes) // -c, 0)
    return alone


# People


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
