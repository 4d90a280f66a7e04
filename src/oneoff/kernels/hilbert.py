"""Hilbert order of points, and grouping along an order (the loops of `mechanisms.partitioning.hilbert`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.rules import allows, counted
from oneoff.kernels.space import ABOVE_ALL, OFFSET, span_loss

__all__ = ["curve_keys", "greedy_groups", "optimal_groups"]


@njit(cache=True)
def curve_keys(points: Any, bits: int) -> Any:
    """The place of every point on the Hilbert curve through a cube of 2**bits cells a side.

    Skilling's transform (2004): undo the excess rotations from the top bit down, Gray decode, interleave.
    points[i, j] < 2**bits, and bits * dimensions <= 63.
    """
    n, d = points.shape
    keys = np.empty(n, np.int64)
    x = np.empty(d, np.int64)
    for r in range(n):
        for j in range(d):
            x[j] = points[r, j]
        q = 1 << (bits - 1)
        while q > 1:
            low = q - 1
            for j in range(d):
                if x[j] & q:
                    x[0] ^= low
                else:
                    swap = (x[0] ^ x[j]) & low
                    x[0] ^= swap
                    x[j] ^= swap
            q >>= 1
        for j in range(1, d):
            x[j] ^= x[j - 1]
        flip = 0
        q = 1 << (bits - 1)
        while q > 1:
            if x[d - 1] & q:
                flip ^= q - 1
            q >>= 1
        key = 0
        for b in range(bits - 1, -1, -1):
            for j in range(d):
                key = (key << 1) | (((x[j] ^ flip) >> b) & 1)
        keys[r] = key
    return keys


@njit(cache=True)
def optimal_groups(codes: Any, order: Any, space: Any, k: int) -> Any:
    """The cheapest division of the ordered rows into runs of k to 2k-1 (dynamic programming, O(n k d)).

    best[i] is the least loss of the first i rows; the run that ends there starts at back[i].
    """
    n, d = codes.shape
    best = np.full(n + 1, np.inf)
    back = np.zeros(n + 1, np.int64)
    best[0] = 0.0
    seen = np.full(len(space.position), -1, np.int64)
    low, high, distinct = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
    offset = space.attribute[:, OFFSET]
    for i in range(k, n + 1):
        for a in range(d):
            low[a], high[a], distinct[a] = ABOVE_ALL, -1, 0
        for j in range(i - 1, max(0, i - 2 * k + 1) - 1, -1):
            for a in range(d):
                c = codes[order[j], a]
                low[a], high[a] = min(low[a], c), max(high[a], c)
                if seen[offset[a] + c] != i:
                    seen[offset[a] + c] = i
                    distinct[a] += 1
            size = i - j
            if size < k or best[j] >= best[i]:
                continue
            loss = 0.0
            for a in range(d):
                loss += span_loss(space, a, low[a], high[a], distinct[a])
            if best[j] + size * loss < best[i]:
                best[i], back[i] = best[j] + size * loss, j
    return _number_runs(order, back)


@njit(cache=True)
def _number_runs(order: Any, back: Any) -> Any:
    """Group numbers of all rows from the starts of the runs."""
    group = np.empty(len(order), np.int32)
    end, number = len(order), 0
    while end > 0:
        for i in range(back[end], end):
            group[order[i]] = number
        number += 1
        end = back[end]
    return group


@njit(cache=True)
def greedy_groups(values: Any, order: Any, rule: Any, many_values: int) -> Any:
    """Walk along the order and close a group as soon as it keeps the promise.

    What is left at the end joins the groups before it, one after the other, until together they keep it.
    """
    n = len(order)
    along = values[order]
    back = np.zeros(n + 1, np.int64)
    count = np.zeros(many_values, np.int64)
    touched = np.empty(many_values, np.int64)
    many, start, last = 0, 0, 0
    for i in range(n):
        many = counted(rule.parts, along, i, i + 1, count, touched, many)
        if allows(rule, count, touched, many, i + 1 - start):
            back[i + 1] = start
            for t in range(many):
                count[touched[t]] = 0
            many, start, last = 0, i + 1, i + 1
    while start > 0 and last < n:
        previous = back[start]
        many = counted(rule.parts, along, previous, start, count, touched, many)
        start = previous
        if allows(rule, count, touched, many, n - start):
            break
    if last < n:
        back[n] = start
    return _number_runs(order, back)
