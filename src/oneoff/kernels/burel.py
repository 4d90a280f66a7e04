"""Buckets cut across attributes, and leaves divided by the best of several plans (loops of `partitioning.burel`).

Buckets and shares are in `kernels.shares`, trees of groups in `kernels.nodes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.limits import BY_RANK, CEILING, CEILING_OF, FLOOR, FLOOR_OF, RANK
from oneoff.kernels.losses import loss_of_node
from oneoff.kernels.nodes import (
    ASSIGNED,
    BEFORE,
    BEST,
    BUCKET,
    COUNT,
    GROUP_SIZE,
    HEAD,
    KEPT,
    LEFT,
    OF,
    ORDER,
    QUOTA,
    SIDE,
    SPARE_OF,
    SPARE_TAKES,
    TAKES,
    WHICH,
    axes_of,
    enter,
    find_boundary,
    is_blurred,
    plant,
    pop_node,
    room_for,
    settle,
    try_cut,
)
from oneoff.kernels.retrieval import retrieve
from oneoff.kernels.shares import CUT, DEAL, EITHER, are_allowed, bi_split, bucketize, deal_out, halve
from oneoff.kernels.sort import sort_ints

__all__ = ["divide"]

SLACK, WAY, PARTS = range(3)  # columns of the plans


# Cuts across all buckets


@njit(cache=True)
def _cut(
    promise: Any, space: Any, local: Any, axes: Any, buckets: int, people: int, parts: int, work: Any
) -> None:  # fmt: skip
    """Divide all buckets at once, across the attribute that loses least, for as long as there is something to gain.

    axes[a] lists people by attribute a, node by node; local[p] are the codes of person p. Cuts are tried through the
    middle of every bucket, and near each of the `parts` - 1 places that divide a node evenly.
    """
    d = local.shape[1]
    edge = np.empty((4, d), np.int64)
    plant(buckets, people, work)
    top = np.int64(1)
    while top > 0:
        top -= 1
        region, size, many = pop_node(top, work)
        best, gone = np.int64(-1), np.int64(0)
        if size >= 2 * promise.least and is_blurred(local, axes, region, size):
            best, gone = _best_cut(promise, space, local, axes, region, size, many, parts, edge, work)
        top = settle(space, local, axes, best, region, size, many, gone, top, edge, work)


@njit(cache=True)
def _best_cut(
    promise: Any, space: Any, local: Any, axes: Any, region: int, size: int, many: int, parts: int, edge: Any,
    work: Any,
) -> tuple[int, int]:  # fmt: skip
    """The best turn (see `try_cut`) and how many go left in it; KEPT says how many of each bucket. -1 for none."""
    best, gone, least, d = np.int64(-1), np.int64(0), np.inf, local.shape[1]
    for a in range(d):
        if local[axes[a, region], a] == local[axes[a, region + size - 1], a]:
            continue
        before = np.int64(0)
        for candidate in range(parts):
            at = np.int64(0)
            if candidate > 0:
                at = find_boundary(local, axes, a, region, size, size * candidate // parts)
                if at == before:
                    continue
                before = at
                left = _repaired(promise, axes, a, region, size, many, at, work)
            else:
                left = halve(promise, region, size, many, True, work)
            if left == 0:
                continue
            for turn in range(2 * a, 2 * a + (1 if candidate > 0 else 2)):
                loss = try_cut(space, local, axes, turn, region, size, many, left, edge, work)
                if loss < least:
                    least, best, gone = loss, np.int64(turn), left
                    for i in range(many):
                        work[KEPT, i] = work[LEFT, i]
    return best, gone


@njit(cache=True)
def _repaired(promise: Any, axes: Any, a: int, region: int, size: int, many: int, at: int, work: Any) -> int:
    """Put into LEFT the numbers of the people before a boundary, changed as little as the promise asks for.

    Returns how many people go left (`at`), 0 when there is no such split.
    """
    if at < promise.least or size - at < promise.least:
        return np.int64(0)
    limits, rest = promise.limits, size - at
    for i in range(many):
        work[QUOTA, work[OF, region + i]] = 0
    for k in range(region, region + at):
        work[QUOTA, work[WHICH, axes[a, k]]] += 1
    missing, room = np.int64(at), np.int64(0)
    for i in range(many):
        b, x = work[OF, region + i], work[TAKES, region + i]
        v = work[HEAD, b]
        top, bottom, floor, below = limits[CEILING, v], limits[CEILING_OF, v], limits[FLOOR, v], limits[FLOOR_OF, v]
        low = max(x - top * rest // bottom, -(-floor * at // below))
        high = min(top * at // bottom, x + (-floor * rest // below))
        if low > high:
            return np.int64(0)
        work[LEFT, i] = min(max(work[QUOTA, b], low), high)
        missing -= work[LEFT, i]
        work[SPARE_OF, i], work[SPARE_TAKES, i] = low, high
    for i in range(many):
        room += work[SPARE_TAKES, i] - work[LEFT, i] if missing > 0 else work[LEFT, i] - work[SPARE_OF, i]
    if room < abs(missing):
        return np.int64(0)
    _spread_missing(missing, room, many, work)
    if are_allowed(promise, region, many, at, size, work):
        return np.int64(at)
    return np.int64(0)


@njit(cache=True)
def _spread_missing(missing: int, room: int, many: int, work: Any) -> None:
    """Change LEFT by so many in all, every bucket in proportion to the room it has."""
    sign = 1 if missing > 0 else -1
    seen, given = np.int64(0), np.int64(0)
    for i in range(many):
        seen += work[SPARE_TAKES, i] - work[LEFT, i] if missing > 0 else work[LEFT, i] - work[SPARE_OF, i]
        due = abs(missing) * seen // max(room, 1)
        work[LEFT, i] += sign * (due - given)
        given = due


# Leaf by leaf


@njit(cache=True, nogil=True)
def divide(
    first: int, last: int, codes: Any, values: Any, space: Any, promise: Any, people: Any, start: Any, plans: Any,
    chance: Any, label: Any,
) -> None:  # fmt: skip
    """Divide leaves first..last-1 into groups by the plan that loses least; a leaf stays whole when none gains.

    A STRICT plan is the paper's, and carried out whatever it gains.

    people[0, start[i] : start[i + 1]] are the rows of leaf i along the curve, people[1 + a] the same by attribute a,
    as places in people[0] (needed for CUT only); plans[t] = SLACK, WAY, and for CUT how many PARTS; a repeated
    plan is another draw of chance. Rows with the same label are a group.
    """
    curve, sorted_by = people[0], people[1:]
    d, largest = codes.shape[1], np.int64(0)
    for leaf in range(first, last):
        largest = max(largest, start[leaf + 1] - start[leaf])
    work = room_for(largest, promise.limits.shape[1], len(promise.sets))
    local, axes = np.empty((largest, d), np.int32), np.empty((len(sorted_by), largest), np.int32)
    box = np.empty((2 * d, largest), np.int32)
    for leaf in range(first, last):
        base, size = start[leaf], start[leaf + 1] - start[leaf]
        rows = curve[base : base + size]
        enter(codes, rows, local, work)
        least = loss_of_node(space, local, work[BEST], size, box, work[GROUP_SIZE])
        many = _tally(values, promise.limits, rows, work)
        for t in range(len(plans)):
            if least <= 0.0 and plans[t, SLACK] >= 0:
                break
            buckets = bucketize(promise.limits, plans[t, SLACK], many, size, work)
            if _is_old(many, work) and _differ_by_slack(plans, t):
                continue
            _mark_buckets(values, rows, many, work)
            if plans[t, WAY] == CUT:
                axes_of(sorted_by, base, size, axes)
                _cut(promise, space, local, axes, buckets, size, int(plans[t, PARTS]), work)
            elif not _draw(promise, buckets, size, plans[t, WAY], chance[base:], work):
                continue
            loss = loss_of_node(space, local, work[ASSIGNED], size, box, work[GROUP_SIZE])
            if loss < least * (1 - 1e-12) or plans[t, SLACK] < 0:
                least = loss
                for p in range(size):
                    work[BEST, p] = work[ASSIGNED, p]
        for p in range(size):
            label[rows[p]] = base + work[BEST, p]
        for i in range(many):
            work[COUNT, work[ORDER, i]] = 0


@njit(cache=True)
def _differ_by_slack(plans: Any, t: int) -> bool:
    """Would equal buckets make this plan a repetition of the one before that nobody asked for?"""
    if t == 0 or plans[t, SLACK] == plans[t - 1, SLACK]:
        return False
    return plans[t, WAY] == plans[t - 1, WAY] and plans[t, PARTS] == plans[t - 1, PARTS]


@njit(cache=True)
def _draw(promise: Any, buckets: int, people: int, way: float, chance: Any, work: Any) -> bool:
    """Plan the shares of groups and retrieve their members; False when there would be one group only."""
    if way == DEAL:
        groups = deal_out(promise, buckets, people, work)
    else:
        groups = bi_split(promise, buckets, people, way == EITHER, work)
    if groups > 1:
        retrieve(buckets, people, groups, chance, work)
    return groups > 1


@njit(cache=True)
def _tally(values: Any, limits: Any, rows: Any, work: Any) -> int:
    """Count the values of a leaf and list those present in the order of their ceilings; returns how many."""
    many = np.int64(0)  # typed: a literal would compile `sort_ints` a second time
    for p in range(len(rows)):
        v = values[rows[p]]
        if work[COUNT, v] == 0:
            work[ORDER, many] = limits[RANK, v]
            many += 1
        work[COUNT, v] += 1
    sort_ints(work[ORDER], many)
    for i in range(many):
        work[ORDER, i] = limits[BY_RANK, work[ORDER, i]]
        work[BEFORE, i] = -1
    return many


@njit(cache=True)
def _is_old(many: int, work: Any) -> bool:
    """Are the buckets those of the plan before?"""
    old = True
    for i in range(many):
        old = old and work[BEFORE, i] == work[BUCKET, i]
        work[BEFORE, i] = work[BUCKET, i]
    return old


@njit(cache=True)
def _mark_buckets(values: Any, rows: Any, many: int, work: Any) -> None:
    """The bucket of every person."""
    for i in range(many):
        work[SIDE, work[ORDER, i]] = work[BUCKET, i]
    for p in range(len(rows)):
        work[WHICH, p] = work[SIDE, values[rows[p]]]
