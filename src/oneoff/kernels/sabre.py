"""How far a group can be from the whole table at worst, and groups that stay near (loops of `partitioning.sabre`).

Values have places in an order; a bucket is a range of places. A group is described by how many people it takes from
each bucket. Whoever they are, its distance is at most `_worst`: a distance is convex, so it is largest when everybody
of a bucket has the same value, and which value that is matters for each bucket by itself.

Trees of groups with their working space are in `kernels.nodes`, who goes where in `kernels.retrieval`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.losses import loss_of_node
from oneoff.kernels.nodes import (
    ASSIGNED,
    BEST,
    GOES_LEFT,
    GROUP_SIZE,
    HIGHEST_LEFT,
    HIGHEST_RIGHT,
    KEPT,
    LEFT,
    LOWEST_LEFT,
    LOWEST_RIGHT,
    OF,
    QUOTA,
    SIDE,
    SIZE,
    TAKES,
    WHICH,
    axes_of,
    branch,
    enter,
    find_boundary,
    halve_buckets,
    is_blurred,
    plant,
    pop_node,
    room_for,
    settle,
    try_cut,
)
from oneoff.kernels.retrieval import retrieve
from oneoff.kernels.space import KIND, OFFSET, SET, span_loss

__all__ = ["ACROSS", "HALVES", "Closeness", "divide", "worst_of"]

HALVES = 0  # of every bucket x // 2 people go left; members are the nearest on the curve to a random person
ACROSS = 1  # all buckets at once are cut across an attribute, as unevenly as the promise allows
BUCKETS, WAY, PARTS = range(3)  # columns of the plans

# Rows of the frame: of each bucket the first place and the one behind the last, levels inside it, how many are taken.
LOW, HIGH, DEPTH, TAKEN = 0, 1, 2, 3

_STEPS = 4  # between the shares people have on their side of a cut and those of the whole node


class Closeness(NamedTuple):
    """What every group must keep: t-closeness, with the values in places and the buckets that are tried.

    tiers  [2 levels + 1, places]  the node of each place on every level of a hierarchy, from the values upwards; the
                                   people of that node in the whole table; last, people at lower places
    bucket [bucketizations, places]
    levels                         0 when places are numbers and their order is the distance
    total                          people in the whole table
    top, bottom                    bound on the sum of all imbalances, relative to total * people of a group
    least                          people a group must have
    """

    tiers: Any
    bucket: Any
    levels: int
    total: int
    top: int
    bottom: int
    least: int


@njit(cache=True)
def _worst(close: Any, buckets: int, people: int, frame: Any) -> int:
    """The largest sum of imbalances of a group that takes TAKEN people from each bucket, times total * people."""
    if close.levels == 0:
        return _worst_ordered(close, buckets, people, frame)
    moved = np.int64(0)
    for b in range(buckets):
        moved += _worst_inside(close, b, people, frame)
    for level in range(close.levels):
        moved += _between(close, level, buckets, people, frame)
    return moved


@njit(cache=True)
def _worst_ordered(close: Any, buckets: int, people: int, frame: Any) -> int:
    below, before, moved = close.tiers[0], np.int64(0), np.int64(0)
    for b in range(buckets):
        low, high = frame[LOW, b], frame[HIGH, b]
        after = before + frame[TAKEN, b] * close.total
        here = np.int64(0)
        for i in range(low + 1, high):  # everybody at the lowest place
            here += abs(after - below[i] * people)
        most = here
        for i in range(low + 1, high):  # everybody one place further
            here += abs(before - below[i] * people) - abs(after - below[i] * people)
            most = max(most, here)
        moved += most
        if high < len(below):
            moved += abs(after - below[high] * people)
        before = after
    return moved


@njit(cache=True)
def _worst_inside(close: Any, b: int, people: int, frame: Any) -> int:
    """The nodes inside a bucket: on each of its levels they share what is taken, and at worst one has it all."""
    low, high, depth = frame[LOW, b], frame[HIGH, b], frame[DEPTH, b]
    if depth == 0:
        return np.int64(0)
    taken, usual, most = frame[TAKEN, b] * close.total, np.int64(0), np.int64(-(2**62))
    for v in range(low, high):
        usual += close.tiers[close.levels, v]
        here = np.int64(0)
        for level in range(depth):
            expected = close.tiers[close.levels + level, v] * people
            here += abs(taken - expected) - expected
        most = max(most, here)
    return depth * usual * people + most


@njit(cache=True)
def _between(close: Any, level: int, buckets: int, people: int, frame: Any) -> int:
    """The nodes of a level that are made up of whole buckets."""
    moved, node, found, expected = np.int64(0), np.int64(-1), np.int64(0), np.int64(0)
    for b in range(buckets):
        if frame[DEPTH, b] > level:
            continue
        place = frame[LOW, b]
        if close.tiers[level, place] != node:
            moved += abs(found * close.total - expected)
            node, found = close.tiers[level, place], np.int64(0)
            expected = close.tiers[close.levels + level, place] * people
        found += frame[TAKEN, b]
    return moved + abs(found * close.total - expected)


@njit(cache=True)
def _set_up(close: Any, which: int, frame: Any) -> int:
    """Where the buckets of a bucketization begin and end; returns how many there are."""
    bucket, buckets = close.bucket[which], 0
    for v in range(len(bucket)):
        if v == 0 or bucket[v] != bucket[v - 1]:
            frame[LOW, buckets] = v
            buckets += 1
        frame[HIGH, buckets - 1] = v + 1
    for b in range(buckets):
        level = 0
        while level < close.levels and close.tiers[level, frame[LOW, b]] != close.tiers[level, frame[HIGH, b] - 1]:
            level += 1
        frame[DEPTH, b] = level
    return buckets


@njit(cache=True)
def worst_of(close: Any, which: int, taken: Any) -> int:
    """The bound for one group. For looking at: the loops keep their frame."""
    frame = np.zeros((4, len(close.bucket[which])), np.int64)
    buckets = _set_up(close, which, frame)
    frame[TAKEN, :buckets] = taken
    return _worst(close, buckets, taken.sum(), frame)


# Trees of groups


@njit(cache=True)
def _allowed(
    close: Any, region: int, many: int, right: bool, people: int, buckets: int, frame: Any, work: Any
) -> bool:  # fmt: skip
    """May one side of the split in LEFT be a group?"""
    if people < close.least or people == 0:
        return False
    for b in range(buckets):
        frame[TAKEN, b] = 0
    for i in range(many):
        x = work[LEFT, i]
        frame[TAKEN, work[OF, region + i]] = work[TAKES, region + i] - x if right else x
    return _worst(close, buckets, people, frame) * close.bottom <= close.top * close.total * people


@njit(cache=True)
def _both(close: Any, region: int, many: int, left: int, size: int, buckets: int, frame: Any, work: Any) -> bool:
    return _allowed(close, region, many, False, left, buckets, frame, work) and _allowed(
        close, region, many, True, size - left, buckets, frame, work
    )


@njit(cache=True)
def _halve(close: Any, region: int, size: int, many: int, buckets: int, frame: Any, work: Any) -> int:
    """Put halves of every bucket into LEFT; returns how many people that are, 0 when it is not allowed.

    Odd ones go right; where that is refused, left and right in turn.
    """
    for in_turn in range(2):
        left = halve_buckets(region, many, in_turn, work)
        if _both(close, region, many, left, size, buckets, frame, work):
            return left
    return np.int64(0)


@njit(cache=True)
def _halves(close: Any, buckets: int, people: int, frame: Any, work: Any) -> int:
    """Halves of halves, as long as both may be groups whoever is in them; returns how many groups."""
    plant(buckets, people, work)
    top, groups = np.int64(1), np.int64(0)
    while top > 0:
        top -= 1
        region, size, many = pop_node(top, work)
        left = _halve(close, region, size, many, buckets, frame, work)
        top, groups = branch(region, size, many, left, top, groups, work)
    return groups


@njit(cache=True)
def _across(
    close: Any, space: Any, local: Any, axes: Any, buckets: int, people: int, parts: int, frame: Any, work: Any
) -> None:  # fmt: skip
    """Cut all buckets at once across the attribute that loses least, again and again while something is gained.

    Cuts are tried through the middle of every bucket and near each of the `parts` - 1 places that divide a node evenly.
    """
    d = local.shape[1]
    edge, seen = np.empty((4, d), np.int64), np.zeros(len(space.position), np.int8)
    plant(buckets, people, work)
    top = np.int64(1)
    while top > 0:
        top -= 1
        region, size, many = pop_node(top, work)
        best, gone = np.int64(-1), np.int64(0)
        if size >= 2 * close.least and is_blurred(local, axes, region, size):
            best, gone = _best_cut(
                close, space, local, axes, region, size, many, buckets, parts, edge, seen, frame, work
            )
        top = settle(space, local, axes, best, region, size, many, gone, top, edge, work)


@njit(cache=True)
def _best_cut(
    close: Any, space: Any, local: Any, axes: Any, region: int, size: int, many: int, buckets: int, parts: int,
    edge: Any, seen: Any, frame: Any, work: Any,
) -> tuple[int, int]:  # fmt: skip
    """The best turn (see `nodes.try_cut`) and how many go left in it; KEPT says how many of each bucket."""
    best, gone, least = np.int64(-1), np.int64(0), np.inf
    for a in range(local.shape[1]):
        if local[axes[a, region], a] == local[axes[a, region + size - 1], a]:
            continue
        before = np.int64(0)
        for candidate in range(parts):
            if candidate == 0:
                left = _halve(close, region, size, many, buckets, frame, work)
            else:
                at = find_boundary(local, axes, a, region, size, size * candidate // parts)
                if at == before:
                    continue
                before = at
                left = _blend(close, axes, a, region, size, many, at, buckets, frame, work)
            if left == 0:
                continue
            for turn in range(2 * a, 2 * a + (1 if candidate > 0 else 2)):
                try_cut(space, local, axes, turn, region, size, many, left, edge, work)
                loss = _weigh(space, local, axes, region, size, left, edge, seen, work)
                if loss < least:
                    least, best, gone = loss, np.int64(turn), left
                    for i in range(many):
                        work[KEPT, i] = work[LEFT, i]
    return best, gone


@njit(cache=True)
def _weigh(
    space: Any, local: Any, axes: Any, region: int, size: int, left: int, edge: Any, seen: Any, work: Any
) -> float:  # fmt: skip
    """People times normalized certainty penalty on both sides of the cut that SIDE and edge describe."""
    loss = 0.0
    for c in range(local.shape[1]):
        here, there, offset = 0, 0, space.attribute[c, OFFSET]
        if space.attribute[c, KIND] == SET:
            for k in range(region, region + size):
                code, bit = offset + local[axes[c, k], c], 1 if work[SIDE, axes[c, k]] == GOES_LEFT else 2
                if seen[code] & bit == 0:
                    seen[code] |= bit
                    here, there = here + (bit == 1), there + (bit == 2)
            for k in range(region, region + size):
                seen[offset + local[axes[c, k], c]] = 0
        loss += left * span_loss(space, c, edge[LOWEST_LEFT, c], edge[HIGHEST_LEFT, c], here)
        loss += (size - left) * span_loss(space, c, edge[LOWEST_RIGHT, c], edge[HIGHEST_RIGHT, c], there)
    return loss


@njit(cache=True)
def _blend(
    close: Any, axes: Any, a: int, region: int, size: int, many: int, at: int, buckets: int, frame: Any, work: Any
) -> int:  # fmt: skip
    """Put into LEFT the people before a boundary or, as far as needed, something between them and a fair share.

    Returns how many go left, 0 when not even nearly fair shares are allowed. Nearer to fair is never further from the
    whole node's mix, but for rounding.
    """
    for i in range(many):
        work[QUOTA, work[OF, region + i]] = 0
    for k in range(region, region + at):
        work[QUOTA, work[WHICH, axes[a, k]]] += 1
    for step in range(_STEPS, 0, -1):
        left = np.int64(0)
        for i in range(many):
            fair, own = work[TAKES, region + i] * at, work[QUOTA, work[OF, region + i]] * size
            parts = (_STEPS - step) * fair + step * own
            work[LEFT, i] = (2 * parts + _STEPS * size) // (2 * _STEPS * size)
            left += work[LEFT, i]
        if _both(close, region, many, left, size, buckets, frame, work):
            return left
    return np.int64(0)


# All of it


@njit(cache=True, nogil=True)
def divide(
    first: int, last: int, codes: Any, place: Any, space: Any, close: Any, people: Any, start: Any, plans: Any,
    chance: Any, label: Any,
) -> None:  # fmt: skip
    """Divide leaves first..last-1 into groups by the plan that loses least; a leaf stays whole when none gains.

    place[r] is that of the value of row r; plans[t] = which bucketization (BUCKETS), HALVES or ACROSS (WAY), and
    for the latter how many PARTS; the others as in `burel.divide`.
    """
    curve, sorted_by = people[0], people[1:]
    d, largest, places = codes.shape[1], np.int64(0), close.bucket.shape[1]
    for leaf in range(first, last):
        largest = max(largest, start[leaf + 1] - start[leaf])
    work, frame = room_for(largest, places, 0), np.zeros((4, places), np.int64)
    local, axes = np.empty((largest, d), np.int32), np.empty((len(sorted_by), largest), np.int32)
    box = np.empty((2 * d, largest), np.int32)
    for leaf in range(first, last):
        base, size = start[leaf], start[leaf + 1] - start[leaf]
        rows = curve[base : base + size]
        enter(codes, rows, local, work)
        least = loss_of_node(space, local, work[BEST], size, box, work[GROUP_SIZE])
        for t in range(len(plans)):
            if least <= 0.0:
                break
            buckets = _set_up(close, plans[t, BUCKETS], frame)
            _mark(close.bucket[plans[t, BUCKETS]], place, rows, buckets, work)
            if plans[t, WAY] == ACROSS:
                axes_of(sorted_by, base, size, axes)
                _across(close, space, local, axes, buckets, size, plans[t, PARTS], frame, work)
            else:
                groups = _halves(close, buckets, size, frame, work)
                if groups == 1:
                    continue
                retrieve(buckets, size, groups, chance[base:], work)
            loss = loss_of_node(space, local, work[ASSIGNED], size, box, work[GROUP_SIZE])
            if loss <= least:  # also when equal: smaller sets lose less by other measures
                least = loss
                for p in range(size):
                    work[BEST, p] = work[ASSIGNED, p]
        for p in range(size):
            label[rows[p]] = base + work[BEST, p]


@njit(cache=True)
def _mark(bucket: Any, place: Any, rows: Any, buckets: int, work: Any) -> None:
    """The bucket of every person of a leaf, and how many people each bucket has there."""
    for b in range(buckets):
        work[SIZE, b] = 0
    for p in range(len(rows)):
        b = bucket[place[rows[p]]]
        work[WHICH, p] = b
        work[SIZE, b] += 1
