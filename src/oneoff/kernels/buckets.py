"""Bucket settings tried one after the other (the loops of `mechanisms.bucketization.two_size`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["try_candidates"]


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
