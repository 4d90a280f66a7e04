"""Buckets: which sensitive values go where, before anybody's quasi-identifiers are looked at (paper 000).

The papers fill up with invented people when the numbers do not divide. We never do: what is left over becomes a level
of its own that keeps the ceilings too, at worst one group.

n_v   people with value v          C, c   members of a bucket       B, l   buckets
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from oneoff.mechanisms.planning.levels import Level, between, by_support, evenly, leftover_group, one_group, refuse_sets
from oneoff.models import Limits
from oneoff.table.arrays import Ints

__all__ = ["consecutive", "diversity_slots", "pack", "plan", "pure", "touched", "whole_values"]


_SHARED, _SUMS = 200, 2_000_000  # values of two buckets that are shared out anew, and people


def plan(counts: Ints, limits: Limits, distinct: bool) -> list[Level]:
    """Levels that use up the counts exactly; as few buckets as we can find, because fewer buckets lose less.

    Where l buckets suffice with each value in one of them (l-diversity, and beta-likeness by Theorem 4), `distinct`
    asks for Algorithm 1, and otherwise values stay whole; all other promises get the consecutive buckets of
    Algorithm 3. The counts must be allowed as one group, which is then the last resort.
    """
    refuse_sets(limits)
    n, buckets = int(counts.sum()), limits.fewest_buckets(counts)
    whole = int(counts.max()) <= n // buckets and not limits.has_floors
    if whole and distinct:
        return _diverse(counts, buckets)
    if whole:
        return whole_values(counts, limits, buckets)
    return consecutive(counts, limits)


# Algorithm 1


def _diverse(counts: Ints, l: int) -> list[Level]:  # noqa: E741
    """Algorithm 1, after setting aside the smallest eligible group that makes the rest divisible by l."""
    size, rest = divmod(int(counts.sum()), l)
    if rest == 0:
        return [Level(diversity_slots(counts, l), distinct=True)]
    for times in range(1, size):
        few = between(np.maximum(counts - (size - times), 0), np.minimum(counts, times), rest + times * l, counts)
        if few is not None:
            return [Level(diversity_slots(counts - few, l), distinct=True), one_group(few)]
    return [one_group(counts)]


def diversity_slots(counts: Ints, l: int) -> Ints:  # noqa: E741
    """Algorithm 1: the l most frequent values open a bucket each, the others go where most room is left.

    l divides the number of people, and no value has more than an l-th of them. A value that does not fit is split.
    """
    size = int(counts.sum()) // l
    slots, load = np.empty((l, size), dtype=np.int64), np.zeros(l, dtype=np.int64)
    for rank, value in enumerate(by_support(counts)):
        left = int(counts[value])
        while left > 0:
            b = rank if rank < l else int(load.argmin())
            some = min(left, size - int(load[b]))
            slots[b, load[b] : load[b] + some] = value
            load[b] += some
            left -= some
    return slots


# Every value whole in one bucket


def whole_values(
    counts: Ints, limits: Limits, buckets: int, pack_values: Callable[[Ints, int], list[Ints]] | None = None
) -> list[Level]:
    """Pack whole values into nearly equal buckets, cut them to one size, and plan for what was cut off.

    What is cut off a bucket comes evenly from its values. The cut goes deeper until the cuttings are eligible.
    `pack_values` says which values go together; by default the sizes alone decide.
    """
    if int(counts.sum()) < 2 * buckets:
        return [one_group(counts)]
    packed = (pack_values or pack)(counts, buckets)
    load = np.array([int(counts[values].sum()) for values in packed])
    for size in range(int(load.min()), 0, -1):
        cut = np.zeros_like(counts)
        for values, excess in zip(packed, load - size, strict=True):
            cut[values] = evenly(counts[values], int(excess))
        total = int(cut.sum())
        if total == 0 or (total >= buckets and int(cut.max()) <= total // buckets):
            kept = counts - cut
            level = Level(np.stack([np.repeat(values, kept[values]) for values in packed]))
            return [level, *(whole_values(cut, limits, buckets, pack_values) if total else [])]
    return consecutive(counts, limits)


def pack(counts: Ints, buckets: int) -> list[Ints]:
    """The values of each bucket, so that the buckets are as equal in size as we can make them.

    Largest first into the emptiest, so that frequent values are spread and every bucket mixes as many as it can. Then
    the fullest and another bucket share out their lesser values anew, as evenly as any choice among them can be
    (subset sums), for as long as that helps.
    """
    packed: list[list[int]] = [[] for _ in range(buckets)]
    load = [0] * buckets
    for value in by_support(counts).tolist():
        b = min(range(buckets), key=load.__getitem__)
        packed[b].append(value)
        load[b] += int(counts[value])
    for keep in (2, 1, 0):  # the most frequent values of a bucket, which stay
        for _ in range(4 * buckets):
            if not any(_even_out(counts, packed, load, other, keep) for other in np.argsort(load).tolist()):
                break
    return [np.array(values, dtype=np.int64) for values in packed]


def _even_out(counts: Ints, packed: list[list[int]], load: list[int], other: int, keep: int) -> bool:
    """Make the fullest bucket and another one more equal; False when that does not lower the fullest."""
    full = max(range(len(load)), key=load.__getitem__)
    both = load[full] + load[other]
    if load[other] >= load[full] - 1 or both > _SUMS:
        return False
    fixed, lesser = packed[full][:keep], packed[full][keep:] + packed[other][keep:]
    if len(lesser) > _SHARED:
        return False
    sizes = [int(counts[value]) for value in lesser]
    base = sum(int(counts[value]) for value in fixed)
    first = _share(sizes, max(0, -(-both // 2) - base))
    total = base + sum(sizes[i] for i in first)
    if max(total, both - total) >= load[full] or min(total, both - total) == 0:
        return False
    for bucket, chosen in ((full, first), (other, set(range(len(lesser))) - first)):
        packed[bucket] = packed[bucket][:keep] + sorted((lesser[i] for i in chosen), key=lambda v: -int(counts[v]))
    load[full], load[other] = total, both - total
    return True


def _share(sizes: list[int], wanted: int) -> set[int]:
    """Which of the sizes to take for a sum as near as possible to the wanted one (bit s of a number: s is a sum)."""
    reached = [1]
    for size in sizes:
        reached.append(reached[-1] | reached[-1] << size)
    below, above = reached[-1] & ((2 << wanted) - 1), reached[-1] >> wanted
    low, high = below.bit_length() - 1, wanted + (above & -above).bit_length() - 1 if above else 2 * sum(sizes)
    target = low if wanted - low <= high - wanted else high
    taken = set()
    for i in range(len(sizes) - 1, -1, -1):
        if not reached[i] >> target & 1:
            taken.add(i)
            target -= sizes[i]
    return taken


# Algorithm 3


def consecutive(counts: Ints, limits: Limits) -> list[Level]:
    """Values one after the other through the fewest buckets that keep |B_v| within its ceiling (Algorithm 3).

    Values that fill buckets exactly come first, then the most frequent. When the buckets do not divide the people, an
    eligible group is set aside. All people as buckets of one always satisfy an eligible table, so the search ends.
    """
    n = int(counts.sum())
    for buckets in range(limits.fewest_buckets(counts), n + 1):
        size, rest = divmod(n, buckets)
        few = leftover_group(counts, limits, rest)
        if few is None:
            continue
        kept = counts - few
        order = by_support(kept)
        order = order[np.argsort(kept[order] % size != 0, kind="stable")]
        most, least = limits.most(buckets), limits.least(buckets)
        enough = np.zeros_like(counts)
        enough[order] = pure(kept[order], size)
        if (touched(kept[order], size) <= most[order]).all() and (enough >= least).all():
            level = Level(np.repeat(order, kept[order]).reshape(buckets, size))
            return [level, *([one_group(few)] if rest else [])]
    return [one_group(counts)]


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
