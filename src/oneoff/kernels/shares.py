"""Buckets of values, and how many people each group takes from each bucket (paper 001, sections 4.2 to 4.4).

`promise` is what every group must keep: `models.limits.OrderedLimits`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.limits import AROUND, CEILING, CEILING_OF, FLOOR, FLOOR_OF, HOME, RANK, ROUNDED
from oneoff.kernels.nodes import (
    BUCKET,
    COUNT,
    GROUP,
    GROUP_MANY,
    GROUP_SIZE,
    HEAD,
    LEFT,
    OF,
    ORDER,
    SIZE,
    TAKES,
    TOTAL,
    branch,
    halve_buckets,
    plant,
    pop_node,
    room_for,
)

__all__ = [
    "CUT",
    "DEAL",
    "EITHER",
    "RIGHT",
    "STRICT",
    "are_allowed",
    "bi_split",
    "bucketize",
    "buckets_of",
    "deal_out",
    "halve",
    "shares_of",
]

# How the people of the buckets are dealt out to groups.
RIGHT = 0  # biSplit of paper 001: halves, an odd one goes right
EITHER = 1  # the same, and where the promise refuses that, odd ones go left and right in turn
DEAL = 2  # as many groups at once as possible, dealt like cards
CUT = 3  # as EITHER, and who goes left is decided at every split, by a cut across all buckets
STRICT = -1.0  # the slack that stands for the `<` of the paper


@njit(cache=True)
def bucketize(limits: Any, slack: float, many: int, people: int, work: Any) -> int:
    """Cut the values present into buckets from the left, each as long as possible; returns how many.

    A bucket of several values must have room under the lowest of their ceilings: people * (1 + slack) at most that.
    Values with a floor stay alone, and so do values of different sets.
    """
    buckets, head, total = np.int64(0), np.int64(-1), 0
    for i in range(many):
        v = work[ORDER, i]
        more = total + work[COUNT, v]
        joins = head >= 0 and limits[HOME, v] == limits[HOME, head] and limits[FLOOR, v] == 0 == limits[FLOOR, head]
        if not (joins and _has_room(limits, head, more, people, slack)):
            head, more = v, work[COUNT, v]
            work[HEAD, buckets] = v
            buckets += 1
        total = more
        work[BUCKET, i] = buckets - 1
        work[SIZE, buckets - 1] = total
    return buckets


@njit(cache=True)
def _has_room(limits: Any, head: int, inside: int, people: int, slack: float) -> bool:
    needed, allowed = inside * limits[CEILING_OF, head], limits[CEILING, head] * people
    if slack < 0:
        return needed < allowed + limits[ROUNDED, head]
    return needed <= allowed and needed * (1.0 + slack) <= allowed


@njit(cache=True)
def _is_allowed(promise: Any, region: int, many: int, right: bool, people: int, work: Any) -> bool:
    """May one side of the split in LEFT be a group?"""
    if people < promise.least or people == 0:
        return False
    limits, sets = promise.limits, promise.sets
    for i in range(many):
        x = work[TAKES, region + i] - work[LEFT, i] if right else work[LEFT, i]
        v = work[HEAD, work[OF, region + i]]
        if (
            x * limits[CEILING_OF, v] > limits[CEILING, v] * people
            or x * limits[FLOOR_OF, v] < limits[FLOOR, v] * people
        ):
            return False
    if len(sets) == 0:
        return True
    for s in range(len(sets)):
        work[TOTAL, s] = 0
    for i in range(many):
        x = work[TAKES, region + i] - work[LEFT, i] if right else work[LEFT, i]
        _add_to_sets(promise, work[HEAD, work[OF, region + i]], x, work)
    fine = True
    for s in range(len(sets)):
        fine = fine and work[TOTAL, s] * sets[s, CEILING_OF] <= sets[s, CEILING] * people
    return fine


@njit(cache=True)
def are_allowed(promise: Any, region: int, many: int, left: int, people: int, work: Any) -> bool:
    """May both sides of the split in LEFT, which sends so many of the people left, be groups?"""
    if not _is_allowed(promise, region, many, False, left, work):
        return False
    return _is_allowed(promise, region, many, True, people - left, work)


@njit(cache=True)
def _add_to_sets(promise: Any, value: int, people: int, work: Any) -> None:
    s = promise.limits[HOME, value]
    while s >= 0:
        work[TOTAL, s] += people
        s = promise.sets[s, AROUND]


@njit(cache=True)
def halve(promise: Any, region: int, people: int, many: int, either: bool, work: Any) -> int:
    """Put an allowed split of a node into LEFT; returns how many people go left, 0 when there is none."""
    for in_turn in range(2 if either else 1):
        left = halve_buckets(region, many, in_turn, work)
        if are_allowed(promise, region, many, left, people, work):
            return left
    return np.int64(0)


@njit(cache=True)
def bi_split(promise: Any, buckets: int, people: int, either: bool, work: Any) -> int:
    """The leaves of the tree of halves, from left to right; returns how many."""
    plant(buckets, people, work)
    top, groups = np.int64(1), np.int64(0)
    while top > 0:
        top -= 1
        region, size, many = pop_node(top, work)
        left = halve(promise, region, size, many, either, work)
        top, groups = branch(region, size, many, left, top, groups, work)
    return groups


@njit(cache=True)
def deal_out(promise: Any, buckets: int, people: int, work: Any) -> int:
    """The largest number of groups that dealing like cards allows; shares differ by one at most."""
    groups = _most_hands(promise, buckets, people, work)
    region = np.int64(0)
    for g in range(groups):
        size = people // groups + (g < people % groups)
        work[GROUP, g], work[GROUP_SIZE, g], work[GROUP_MANY, g] = region, size, 0
        region += size
    offset = np.int64(0)
    for b in range(buckets):
        each, more = work[SIZE, b] // groups, work[SIZE, b] % groups
        for i in range(groups if each > 0 else more):  # from the offset on: those who get one more come first
            g = (offset + i) % groups
            place = work[GROUP, g] + work[GROUP_MANY, g]
            work[OF, place], work[TAKES, place] = b, each + (i < more)
            work[GROUP_MANY, g] += 1
        offset = (offset + more) % groups
    return groups


@njit(cache=True)
def _most_hands(promise: Any, buckets: int, people: int, work: Any) -> int:
    """The largest k for which ceil(x / k) fits into floor(people / k), for every bucket and every set."""
    limits, sets = promise.limits, promise.sets
    most = people // max(promise.least, 1)
    for b in range(buckets):
        v = work[HEAD, b]
        most = min(most, people * limits[CEILING, v] // limits[CEILING_OF, v])
    for s in range(len(sets)):
        work[TOTAL, s] = 0
    for b in range(buckets):
        _add_to_sets(promise, work[HEAD, b], work[SIZE, b], work)
    for k in range(most, 1, -1):
        fewest, largest, fine = people // k, (people + k - 1) // k, True
        for b in range(buckets):
            v, x = work[HEAD, b], work[SIZE, b]
            if (x + k - 1) // k * limits[CEILING_OF, v] > limits[CEILING, v] * fewest or (
                x // k * limits[FLOOR_OF, v] < limits[FLOOR, v] * largest
            ):
                fine = False
                break
        for s in range(len(sets)):
            if fine and (work[TOTAL, s] + k - 1) // k * sets[s, CEILING_OF] > sets[s, CEILING] * fewest:
                fine = False
        if fine:
            return np.int64(k)
    return np.int64(1)


def _ready(promise: Any, counts: Any) -> tuple[Any, int, int]:
    """Working space that knows how often each value occurs; how many values occur, and how many people there are."""
    people, present = int(counts.sum()), np.flatnonzero(counts)
    work = room_for(people, len(counts), len(promise.sets))
    work[COUNT, : len(counts)] = counts
    work[ORDER, : len(present)] = present[np.argsort(promise.limits[RANK, present])]
    return work, len(present), people


def buckets_of(promise: Any, counts: Any, slack: float) -> list[Any]:
    """The values of every bucket, for one leaf with these counts of values."""
    work, many, people = _ready(promise, counts)
    buckets = bucketize(promise.limits, slack, many, people, work)
    return [work[ORDER, :many][work[BUCKET, :many] == b] for b in range(buckets)]


def shares_of(promise: Any, heads: Any, sizes: Any, way: int) -> Any:
    """How many people each group takes from each bucket: a row for each group. For looking at; it is dense."""
    people = int(sizes.sum())
    work = room_for(people, max(promise.limits.shape[1], len(sizes)), len(promise.sets))
    work[HEAD, : len(heads)], work[SIZE, : len(sizes)] = heads, sizes
    if way == DEAL:
        groups = deal_out(promise, len(sizes), people, work)
    else:
        groups = bi_split(promise, len(sizes), people, way != RIGHT, work)
    shares = np.zeros((groups, len(sizes)), np.int64)
    for g in range(groups):
        region = slice(work[GROUP, g], work[GROUP, g] + work[GROUP_MANY, g])
        shares[g, work[OF, region]] = work[TAKES, region]
    return shares
