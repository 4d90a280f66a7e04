"""Which sensitive values should share a bucket (the loop of `mechanisms.planning.knowledge`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["alike"]


@njit(cache=True)
def alike(shown: Any, counts: Any, home: Any, gaps: Any, numeric: Any, buckets: int, steps: int) -> Any:
    """The best of three annealings over the bucket of every value, all from the given ones.

    shown[v] are expected people with v, by code, summed up for numbers.
    """
    least, best = np.inf, home
    for course in range(3):
        at = home.copy()
        loss = _anneal(shown, counts, at, gaps, numeric, buckets, steps, 88172645463325252 + course * 7046029254386353)
        if loss < least:
            least, best = loss, at
    return best


@njit(cache=True)
def _anneal(shown: Any, counts: Any, at: Any, gaps: Any, numeric: Any, buckets: int, steps: int, state: int) -> float:
    """Move one value or exchange two, step by step; the loss foreseen in the end, and in `at` the best buckets seen.

    A step is taken when the loss foreseen sinks, or rises by little while it is still warm. Unequal buckets cost more
    and more.
    """
    m, width = shown.shape
    inside, load, size = np.zeros((buckets, width)), np.zeros(buckets), np.zeros(buckets, np.int64)
    work = np.empty((3, width))
    for v in range(m):
        load[at[v]] += counts[v]
        size[at[v]] += 1
        for x in range(width):
            inside[at[v], x] += shown[v, x]
    loss = _foreseen(inside, load, gaps, numeric, 12.0, work)
    best, least, warm = at.copy(), loss, 0.02 * loss
    for step in range(steps):
        over = 2.0 + 10.0 * step / steps
        loss = _foreseen(inside, load, gaps, numeric, over, work) if step % 256 == 0 else loss
        state = _next(state)
        v = (state >> 20) % m
        state = _next(state)
        w = (state >> 20) % m
        state = _next(state)
        a, b, swap = at[v], at[w], (state >> 30) % 4 > 0
        if not swap:
            b = (state >> 20) % buckets
        if a == b or (not swap and size[a] == 1):
            continue
        _shift(inside, load, size, shown[v], counts[v], a, b)
        if swap:
            _shift(inside, load, size, shown[w], counts[w], b, a)
        now = _foreseen(inside, load, gaps, numeric, over, work)
        heat = warm * (1.0 - step / steps) ** 2 + 1e-12
        state = _next(state)
        if now <= loss or np.exp((loss - now) / heat) * 2.0**40 > (state >> 20) % 2**40:
            loss, at[v] = now, b
            if swap:
                at[w] = a
            if 2 * step > steps:
                now = _foreseen(inside, load, gaps, numeric, 12.0, work)
                if now < least:
                    least = now
                    for x in range(m):
                        best[x] = at[x]
        else:
            _shift(inside, load, size, shown[v], counts[v], b, a)
            if swap:
                _shift(inside, load, size, shown[w], counts[w], a, b)
    now = _foreseen(inside, load, gaps, numeric, 12.0, work)
    if now <= least:
        return now
    for x in range(m):
        at[x] = best[x]
    return least


@njit(cache=True)
def _next(state: int) -> int:
    """A step of a fixed pseudo-random course (xorshift); nothing here is secret."""
    state ^= (state << 13) & 0x7FFFFFFFFFFFFFFF
    state ^= state >> 7
    state ^= (state << 17) & 0x7FFFFFFFFFFFFFFF
    return state & 0x7FFFFFFFFFFFFFFF


@njit(cache=True)
def _shift(inside: Any, load: Any, size: Any, shown: Any, count: int, a: int, b: int) -> None:
    for x in range(len(shown)):
        inside[a, x] -= shown[x]
        inside[b, x] += shown[x]
    load[a] -= count
    load[b] += count
    size[a] -= 1
    size[b] += 1


@njit(cache=True)
def _foreseen(inside: Any, load: Any, gaps: Any, numeric: Any, over: float, work: Any) -> float:
    """The loss per group that no matching avoids, times the groups, and a price for everybody in an overfull bucket."""
    buckets, width = inside.shape
    least, total = load.min(), 0.0
    low, high, mean = work[0], work[1], work[2]
    for x in range(width):
        low[x], high[x], mean[x] = 1e300, 0.0, 0.0
    for b in range(buckets):
        total += over * (load[b] - least) / buckets
        share = 1.0 / load[b]
        for x in range(width):
            y = inside[b, x] * share
            low[x], high[x] = min(low[x], y), max(high[x], y)
            mean[x] += y
    for x in range(width):
        total += gaps[x] * least * (high[x] - low[x] if numeric[x] else high[x] - mean[x] / buckets)
    return total
