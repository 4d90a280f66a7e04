"""Growing boxes by assignments inside blocks of people (the loops of `mechanisms.heterogeneous.freeform`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.matching import FORBIDDEN, exchange, match
from oneoff.kernels.space import KIND, OFFSET, SET, span_loss

__all__ = ["grow_blocks", "mend"]

_LOW, _HIGH = range(2)  # lines of `ends`: the codes of a box
_FINEST = 2**24  # the cost of a growth by a whole attribute: coarser only in very large blocks


@njit(cache=True)
def grow_blocks(
    codes: Any, space: Any, order: Any, start: Any, first: int, last: int, matcher: int, cover: Any
) -> None:  # fmt: skip
    """Let the records of the blocks first .. last-1 cover k people of their block each, everybody k times.

    order[start[b] : start[b + 1]] are the people of block b; cover[i] receives the people that record i covers,
    itself in front. matcher: one of those of `kernels.matching`.
    """
    largest = 0
    for b in range(first, last):
        largest = max(largest, start[b + 1] - start[b])
    cost = np.empty((largest, largest), np.int64)
    shown = np.zeros((largest, len(space.position)), np.uint8)
    ends = np.empty((2, largest, codes.shape[1]), np.int64)
    for b in range(first, last):
        m = start[b + 1] - start[b]
        _grow(codes, space, order[start[b] : start[b + 1]], matcher, cost[:m, :m], shown, ends, cover)


@njit(cache=True)
def _grow(codes: Any, space: Any, people: Any, matcher: int, cost: Any, shown: Any, ends: Any, cover: Any) -> None:
    """One block: k-1 assignments, each on the growth of the boxes so far; `shown` is zero before and after."""
    m, d, k = len(people), codes.shape[1], cover.shape[1]
    local = np.empty((m, codes.shape[1]), codes.dtype)
    for i in range(m):
        cover[people[i], 0] = i
        for j in range(d):
            c = codes[people[i], j]
            local[i, j] = c
            shown[i, space.attribute[j, OFFSET] + c] = 1
            ends[_LOW, i, j], ends[_HIGH, i, j] = c, c
    scale = min(_FINEST, 4 * FORBIDDEN // (m * d))  # a forbidden pair outweighs a quarter of the largest sum, or more
    for t in range(1, k):
        _growths(local, space, people, cost, shown, ends, cover, t, scale)
        chosen = match(cost, matcher)
        mend(cost, chosen)
        for i in range(m):
            p = chosen[i]
            cover[people[i], t] = p
            for j in range(d):
                c = np.int64(local[p, j])
                shown[i, space.attribute[j, OFFSET] + c] = 1
                ends[_LOW, i, j], ends[_HIGH, i, j] = min(ends[_LOW, i, j], c), max(ends[_HIGH, i, j], c)
    for i in range(m):
        for t in range(k):
            p = cover[people[i], t]
            cover[people[i], t] = people[p]
            for j in range(d):
                shown[i, space.attribute[j, OFFSET] + local[p, j]] = 0


@njit(cache=True)
def _growths(
    local: Any, space: Any, people: Any, cost: Any, shown: Any, ends: Any, cover: Any, t: int, scale: int
) -> None:  # fmt: skip
    """cost[i, p]: by how much the box of record i grows when it covers person p too; its t people are forbidden."""
    m, d = local.shape
    growth = np.empty(m)
    for i in range(m):
        for p in range(m):
            growth[p] = 0.0
        for j in range(d):
            kind, offset = space.attribute[j, KIND], space.attribute[j, OFFSET]
            low, high = ends[_LOW, i, j], ends[_HIGH, i, j]
            if kind == SET:
                line, unit = shown[i], space.unit[j]
                for p in range(m):
                    if line[offset + local[p, j]] == 0:
                        growth[p] += unit
            else:
                now = span_loss(space, j, low, high, 0)
                for p in range(m):
                    c = np.int64(local[p, j])
                    if c < low:
                        growth[p] += span_loss(space, j, c, high, 0) - now
                    elif c > high:
                        growth[p] += span_loss(space, j, low, c, 0) - now
        for p in range(m):
            cost[i, p] = np.int64(growth[p] * scale)
        for s in range(t):
            cost[i, cover[people[i], s]] = FORBIDDEN


@njit(cache=True)
def mend(cost: Any, chosen: Any) -> None:
    """Replace forbidden pairs of an assignment by allowed ones along augmenting paths (breadth first).

    In a complete graph without a few perfect matchings the allowed pairs are regular, so there always is a path.
    """
    m = len(cost)
    work = np.empty((3, m), np.int64)
    row_of, back, queue = work[0], work[1], work[2]
    for i in range(m):
        row_of[i] = -1
    for i in range(m):
        if cost[i, chosen[i]] < FORBIDDEN:
            row_of[chosen[i]] = i
    for i in range(m):
        if cost[i, chosen[i]] >= FORBIDDEN:
            _augment(cost, chosen, row_of, back, queue, i)


@njit(cache=True)
def _augment(cost: Any, chosen: Any, row_of: Any, back: Any, queue: Any, first: int) -> None:
    """Give row `first` a column by moving others along a path of allowed pairs; row_of is -1 for a free column."""
    m = len(cost)
    for c in range(m):
        back[c] = -1
    queue[0] = first
    head, tail, end = 0, 1, -1
    while end < 0:
        i = queue[head]
        head += 1
        for c in range(m):
            if back[c] < 0 and cost[i, c] < FORBIDDEN:
                back[c] = i
                if row_of[c] < 0:
                    end = c
                    break
                queue[tail] = row_of[c]
                tail += 1
    exchange(row_of, chosen, back, first, end)
