"""Bucket settings tried one after the other (the loops of `mechanisms.bucketization.two_size`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.noise import FIRST, onward

__all__ = ["gather", "try_candidates"]


@njit(cache=True)
def _valid(counts: Any, room1: Any, room2: Any, s1: int, s2: int, b1: int, b2: int) -> bool:
    """Theorem 1: there is room for every value, and both kinds of buckets can be filled."""
    first = 0
    second = 0
    for i in range(len(counts)):
        a = min(room1[i] * b1, counts[i])
        b = min(room2[i] * b2, counts[i])
        if a + b < counts[i]:
            return False
        first += a
        second += b
    return first >= s1 * b1 and second >= s2 * b2


@njit(cache=True)
def try_candidates(counts: Any, rooms: Any, pairs: Any, place: Any, candidates: Any, prune: bool) -> Any:
    """For every pair of sizes the first valid candidate, or -1; with `prune` only while it is better than any before.

    place        the rows of `rooms` that belong to the sizes of each pair
    candidates   [2, pairs, 2]: the first candidate of each pair, and the steps to the next
    """
    start, step = candidates[0], candidates[1]
    found = np.full(pairs.shape, -1, np.int64)
    best = np.int64(2**62)
    for p in range(len(pairs)):
        s1, s2 = pairs[p]
        b1, b2 = start[p]
        while b1 >= 0:
            loss = b1 * (s1 - 1) * (s1 - 1) + b2 * (s2 - 1) * (s2 - 1)
            if prune and loss >= best:
                break
            if _valid(counts, rooms[place[p, 0]], rooms[place[p, 1]], s1, s2, b1, b2):
                found[p] = b1, b2
                best = min(best, loss)
                break
            if s1 == s2:
                break
            b1 -= step[p, 0]
            b2 += step[p, 1]
    return found


@njit(cache=True)
def _count(values: Any, listed: Any, bucket: int, size: int, value: int) -> int:
    """People of a bucket with a value: from a list of them, or by a look at its places where there is none."""
    if len(listed):
        return listed[bucket, value]
    many = 0
    for p in range(bucket * size, (bucket + 1) * size):
        if values[p] == value:
            many += 1
    return many


@njit(cache=True)
def _listed(values: Any, size: int, width: int) -> Any:
    """[bucket, value] how many places have it; nothing where buckets are so small that counting them takes less."""
    buckets = len(values) // size
    if width > 16 * size:
        return np.zeros((0, width), np.int32)
    listed = np.zeros((buckets, width), np.int32)
    for p in range(len(values)):
        listed[p // size, values[p]] += 1
    return listed


@njit(cache=True)
def gather(values: Any, size: int, room: Any, rounds: int) -> None:
    """Exchange values between buckets so that equal ones come together, no more in a bucket than there is room for,
    and different ones are well mixed: in the order of values, far ones would always meet.

    values   of all places, bucket by bucket, `size` places each; changed
    room     how many people of a bucket may have each value
    rounds   exchanges tried for each place. The sum of squared counts never falls. No chance is involved: the course of
             tries is fixed, so what comes of it is a function of the counts.
    """
    places = len(values)
    buckets = places // size
    start = np.zeros(len(room) + 1, np.int64)
    for p in range(places):
        start[values[p] + 1] += 1
    for v in range(len(room)):
        start[v + 1] += start[v]
    filled = start[:-1].copy()
    member = np.empty(places, np.int64)  # the places of each value
    back = np.empty(places, np.int64)
    for p in range(places):
        v = values[p]
        member[filled[v]], back[p] = p, filled[v]
        filled[v] += 1
    state, listed = FIRST, _listed(values, size, len(room))
    for turn in range(rounds * places):
        state = onward(state)
        dice = np.int64(state >> np.uint64(2))
        here = dice % buckets
        dice //= buckets
        r = here * size + dice % size
        dice //= size
        if turn % 2 == 0:  # any other place: values get mixed
            q = dice % places
        else:  # a place with a value that is here already
            v = values[here * size + dice % size]
            dice //= size
            q = member[start[v] + dice % (start[v + 1] - start[v])]
        x, y, there = values[r], values[q], q // size
        if x == y:
            continue
        y_here = _count(values, listed, here, size, y)
        if there == here or y_here >= room[y]:
            continue
        x_there = _count(values, listed, there, size, x)
        if x_there >= room[x]:
            continue
        x_here, y_there = _count(values, listed, here, size, x), _count(values, listed, there, size, y)
        if y_here - y_there + x_there - x_here + 2 < 0:
            continue
        values[r], values[q] = y, x
        if len(listed):
            listed[here, x] -= 1
            listed[here, y] += 1
            listed[there, x] += 1
            listed[there, y] -= 1
        i, j = back[r], back[q]
        member[i], member[j] = q, r
        back[q], back[r] = i, j
