"""Pairing the rows of a square cost matrix with its columns, and boxes that grow by such pairings.

Costs are whole numbers of at most FORBIDDEN, which stands for a pair that must not be made: it outweighs any sum of
other costs, so such a pair is chosen only when nothing else is left, and the caller has to look.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.sort import sort_ints
from oneoff.kernels.space import KIND, OFFSET, RANGE, SET, SIZE, in_units, place, span_loss

__all__ = [
    "FORBIDDEN",
    "GREEDY",
    "HUNGARIAN",
    "SORT_GREEDY",
    "exchange",
    "greedy",
    "grow",
    "hungarian",
    "match",
    "rematch",
    "scatter",
    "sort_greedy",
]

FORBIDDEN = 2**40
HUNGARIAN, GREEDY, SORT_GREEDY = range(3)  # matchers
_NEVER = 2**61  # above any cost, whatever the prices


@njit(cache=True)
def match(cost: Any, matcher: int) -> Any:
    """The column of every row by one of the matchers below."""
    if matcher == HUNGARIAN:
        return hungarian(cost)
    return greedy(cost) if matcher == GREEDY else sort_greedy(cost)


@njit(cache=True)
def hungarian(cost: Any) -> Any:
    """The column of every row with the least sum of costs, exactly, O(m^3).

    Prices v of the columns turn the cheapest pairs into the right ones. An auction with ever smaller steps
    (Bertsekas 1988) finds prices that are nearly right; the rows whose column is then not the cheapest give it back
    and take one each along a shortest augmenting path (Jonker and Volgenant 1987), which makes the result exact.
    On costs with many ties that is several times as fast as augmenting from the start.
    """
    m = len(cost)
    work = np.empty((7, m), np.int64)
    v, row_of, column_of, free = work[0], work[1], work[2], work[3]
    step = _open_prices(cost, v, row_of, column_of) >> 6
    many = 0
    for _ in range(3):
        _bid(cost, v, row_of, column_of, free, max(step, 1))
        many = _give_back(cost, v, row_of, column_of, free)
        step >>= 3
    for f in range(many):
        _augment(cost, v, row_of, column_of, free[f], work[4], work[5], work[6])
    return column_of


@njit(cache=True)
def _open_prices(cost: Any, v: Any, row_of: Any, column_of: Any) -> int:
    """Price every column at its cheapest row, pair nothing; the highest cost that is allowed is returned."""
    m, top = len(cost), 0
    for j in range(m):
        v[j], row_of[j], column_of[j] = cost[0, j], -1, -1
    for i in range(m):
        for j in range(m):
            c = cost[i, j]
            if c < v[j]:
                v[j] = c
            if top < c < FORBIDDEN:
                top = c
    return top


@njit(cache=True)
def _bid(cost: Any, v: Any, row_of: Any, column_of: Any, free: Any, step: int) -> None:
    """Every free row takes its cheapest column from whoever has it and pays up to its second choice, and a step more.

    Ends when nobody is free, or after so many turns that paths are the faster way.
    """
    m, many = len(cost), 0
    for i in range(m):
        if column_of[i] < 0:
            free[many] = i
            many += 1
    for _ in range(50 * m):
        if many == 0:
            break
        i = free[many - 1]
        first, second, best = _NEVER, _NEVER, 0
        for j in range(m):
            c = cost[i, j] - v[j]
            if c < second:
                if c < first:
                    first, second, best = c, first, j
                else:
                    second = c
        if m > 1:
            v[best] -= second - first + step
        out = row_of[best]
        row_of[best], column_of[i] = i, best
        if out >= 0:
            column_of[out] = -1
            free[many - 1] = out
        else:
            many -= 1


@njit(cache=True)
def _give_back(cost: Any, v: Any, row_of: Any, column_of: Any, free: Any) -> int:
    """A row whose column is not its cheapest changes to a free one that is, or gets none; how many have none."""
    m, many = len(cost), 0
    for i in range(m):
        least = _NEVER
        for j in range(m):
            least = min(least, cost[i, j] - v[j])
        own = column_of[i]
        if own >= 0 and cost[i, own] - v[own] == least:
            continue
        if own >= 0:
            row_of[own] = column_of[i] = -1
        for j in range(m):
            if row_of[j] < 0 and cost[i, j] - v[j] == least:
                row_of[j], column_of[i] = i, j
                break
        if column_of[i] < 0:
            free[many] = i
            many += 1
    return many


@njit(cache=True)
def _augment(cost: Any, v: Any, row_of: Any, column_of: Any, start: int, distance: Any, back: Any, queue: Any) -> None:
    """Give row `start` a column along the shortest alternating path to a free one (Dijkstra on reduced costs).

    queue[:done] columns reached for good, queue[done:level] those at the present distance, the others after them.
    """
    m = len(cost)
    line = cost[start]
    for j in range(m):
        distance[j] = line[j] - v[j]
        back[j] = start
        queue[j] = j
    done, scanned, level, end = 0, 0, 0, -1
    near = 0
    while end < 0:
        if scanned == level:
            done = scanned
            near, level = _next_level(distance, queue, done, m)
            for q in range(done, level):
                if row_of[queue[q]] < 0:
                    end = queue[q]
                    break
        if end < 0:
            j = queue[scanned]
            scanned += 1
            i = row_of[j]
            line = cost[i]
            h = line[j] - v[j] - near
            for q in range(level, m):
                j = queue[q]
                d = line[j] - v[j] - h
                if d < distance[j]:
                    distance[j] = d
                    back[j] = i
                    if d == near:
                        if row_of[j] < 0:
                            end = j
                            break
                        queue[q] = queue[level]
                        queue[level] = j
                        level += 1
    for q in range(done):
        v[queue[q]] += distance[queue[q]] - near
    exchange(row_of, column_of, back, start, end)


@njit(cache=True)
def _next_level(distance: Any, queue: Any, done: int, m: int) -> Any:
    """(least distance, level): the columns of queue[done:m] that are nearest come first, up to queue[level - 1]."""
    near, level = 2 * _NEVER, done
    for q in range(done, m):
        j = queue[q]
        d = distance[j]
        if d <= near:
            if d < near:
                near, level = d, done
            queue[q] = queue[level]
            queue[level] = j
            level += 1
    return near, level


@njit(cache=True)
def exchange(row_of: Any, column_of: Any, back: Any, start: int, end: int) -> None:
    """Pair along the path from row `start` to the free column `end`; column j was reached from row back[j]."""
    while True:
        i = back[end]
        row_of[end] = i
        end, column_of[i] = column_of[i], end
        if i == start:
            break


@njit(cache=True)
def rematch(cost: Any, work: Any) -> Any:
    """The column of every row with the least sum of costs, exactly, when column i is a good guess for row i.

    Rows for which the guess is a cheapest column keep it unless others need it; the rest find one each along a
    shortest augmenting path. `work` is working space, seven rows of at least m numbers.
    """
    m = len(cost)
    v, row_of, column_of, free = work[0], work[1], work[2], work[3]
    many = 0
    for i in range(m):
        v[i] = 0
        row_of[i] = column_of[i] = -1
    for i in range(m):
        least = cost[i, 0]
        for j in range(1, m):
            least = min(least, cost[i, j])
        if cost[i, i] == least:
            row_of[i] = column_of[i] = i
        else:
            free[many] = i
            many += 1
    for f in range(many):
        _augment(cost, v, row_of, column_of, free[f], work[4], work[5], work[6])
    return column_of


@njit(cache=True)
def greedy(cost: Any) -> Any:
    """Row by row, the cheapest column that is still free; rows in the order of their cheapest cost. O(m^2).

    Among equally cheap columns the one that costs the others most is taken, which they would want least.
    """
    m = len(cost)
    work = np.zeros((4, m), np.int64)
    column_of, free, turn, total = work[0], work[1], work[2], work[3]
    for j in range(m):
        free[j] = j
    for i in range(m):
        for j in range(m):
            total[j] += min(cost[i, j], FORBIDDEN >> 12)
    for i in range(m):
        turn[i] = cost[i, _cheapest(cost, i, free, m)] * m + i  # cost and row in one number
    sort_ints(turn, m)
    for t in range(m):
        i = turn[t] % m
        best = _cheapest(cost, i, free, m - t)
        least = cost[i, free[best]]
        for q in range(m - t):
            if cost[i, free[q]] == least and total[free[q]] > total[free[best]]:
                best = q
        column_of[i] = free[best]
        free[best] = free[m - t - 1]
    return column_of


@njit(cache=True)
def _cheapest(cost: Any, i: int, free: Any, many: int) -> int:
    """The place in free[:many] of the cheapest column for row i."""
    best, least = 0, cost[i, free[0]]
    for q in range(1, many):
        if cost[i, free[q]] < least:
            best, least = q, cost[i, free[q]]
    return best


@njit(cache=True)
def sort_greedy(cost: Any) -> Any:
    """All pairs by ascending cost, each made if both are still free.

    Without a list of all pairs: every free row keeps its cheapest column, the cheapest of these is made, and a row
    looks again only when its column is gone. O(m^2) and O(m) for each second look, O(m^3) at the very worst.
    """
    m = len(cost)
    work = np.empty((6, m), np.int64)
    column_of, rows, wish, price, free, place = work[0], work[1], work[2], work[3], work[4], work[5]
    for j in range(m):
        free[j], place[j], rows[j] = j, j, j
    for i in range(m):
        wish[i] = _cheapest(cost, i, free, m)
        price[i] = cost[i, wish[i]]
    left = m
    while left > 0:
        q = 0
        for r in range(1, left):
            if price[r] < price[q]:
                q = r
        i, j = rows[q], wish[q]
        if place[j] < 0:
            wish[q] = free[_cheapest(cost, i, free, left)]
            price[q] = cost[i, wish[q]]
        else:
            left -= 1
            column_of[i] = j
            rows[q], wish[q], price[q] = rows[left], wish[left], price[left]
            free[place[j]], place[free[left]] = free[left], place[j]
            place[j] = -1
    return column_of


@njit(cache=True)
def grow(codes: Any, values: Any, space: Any, buckets: Any, anchor: int, matcher: int, avoid: bool) -> Any:
    """Boxes around one member of every bucket: row i of the result starts from buckets[anchor, i] (000, Algorithm 2).

    buckets[b, i] is a row of the table. Bucket after bucket is paired with the boxes so that they grow least; entry
    [i, b] of the result is the member of bucket b that box i got. With `avoid` no box gets a sensitive value twice,
    where that is possible at all; a heuristic that ends with such a pair gives way to the exact matching.
    """
    many, m = buckets.shape
    cover = np.empty((m, many), np.int64)
    cost = np.empty((m, m), np.int64)
    column = np.empty((codes.shape[1] + 1, m), np.int64)
    box = np.empty((m, 2 * codes.shape[1]), np.int64)
    seen = np.zeros((m, len(space.position) + values.max() + 1), np.bool_)
    loss = np.zeros(m, np.int64)
    for i in range(m):
        cover[i, anchor] = buckets[anchor, i]
        _admit(codes, values, space, cover[i, anchor], box[i], seen[i], True)
    for step in range(1, many):
        b = (anchor + step) % many
        _losses(codes, values, space, buckets[b], column, box, seen, loss, avoid, cost)
        chosen = match(cost, matcher)
        if avoid and matcher != HUNGARIAN and _forbidden(cost, chosen):
            chosen = hungarian(cost)
        for i in range(m):
            cover[i, b], loss[i] = buckets[b, chosen[i]], cost[i, chosen[i]]
            _admit(codes, values, space, cover[i, b], box[i], seen[i], False)
    return cover


@njit(cache=True)
def _forbidden(cost: Any, chosen: Any) -> bool:
    worst = cost[0, chosen[0]]
    for i in range(len(chosen)):
        worst = max(worst, cost[i, chosen[i]])
    return worst >= FORBIDDEN


@njit(cache=True)
def _admit(codes: Any, values: Any, space: Any, person: int, box: Any, seen: Any, first: bool) -> None:
    """Stretch a box (low and high of every attribute, then flags of what it has seen) to hold one more person."""
    d = codes.shape[1]
    for a in range(d):
        code = codes[person, a]
        at = place(space, a, code)
        if first or at < box[a]:
            box[a] = at
        if first or at > box[d + a]:
            box[d + a] = at
        seen[space.attribute[a, OFFSET] + code] = True
    seen[len(space.position) + values[person]] = True


@njit(cache=True)
def _losses(
    codes: Any,
    values: Any,
    space: Any,
    bucket: Any,
    column: Any,
    box: Any,
    seen: Any,
    loss: Any,
    avoid: bool,
    cost: Any,
) -> None:
    """cost[i, j]: the loss of box i if it held member j of the bucket too."""
    m, d = len(bucket), codes.shape[1]
    for j in range(m):
        for a in range(d):
            column[a, j] = place(space, a, codes[bucket[j], a])
        column[d, j] = len(space.position) + values[bucket[j]]
    for i in range(m):
        for j in range(m):
            cost[i, j] = loss[i]
        for a in range(d):
            kind, low, high = space.attribute[a, KIND], box[i, a], box[i, d + a]
            if kind == RANGE:
                for j in range(m):
                    cost[i, j] += max(low - column[a, j], 0) + max(column[a, j] - high, 0)
            elif kind == SET:
                unit, offset = in_units(space.unit[a]), space.attribute[a, OFFSET]
                for j in range(m):
                    if not seen[i, offset + column[a, j]]:
                        cost[i, j] += unit
            else:
                now = span_loss(space, a, low, high, 0)
                for j in range(m):
                    wide = span_loss(space, a, min(low, column[a, j]), max(high, column[a, j]), 0)
                    cost[i, j] += in_units(wide - now)
        if avoid:
            for j in range(m):
                if seen[i, column[d, j]]:
                    cost[i, j] = FORBIDDEN


@njit(cache=True)
def scatter(codes: Any, space: Any, buckets: Any, filled: Any, people: Any) -> None:
    """Put one person after the other into the bucket with room whose members are the farthest on average.

    buckets[b, : filled[b]] are there already. The distance of two people is the loss of a box around both.
    """
    many, size = buckets.shape
    here = np.zeros((many, len(space.position)), np.int64)  # members of each bucket with each code
    for b in range(many):
        for i in range(filled[b]):
            for a in range(codes.shape[1]):
                here[b, space.attribute[a, OFFSET] + codes[buckets[b, i], a]] += 1
    for person in people:
        best, farthest = -1, -1.0
        for b in range(many):
            if filled[b] < size:
                distance = 0.0
                for a in range(codes.shape[1]):
                    offset, code = space.attribute[a, OFFSET], codes[person, a]
                    for c in range(space.attribute[a, SIZE]):
                        if c != code and here[b, offset + c] > 0:
                            distance += here[b, offset + c] * span_loss(space, a, min(c, code), max(c, code), 2)
                if distance > farthest * filled[b]:
                    best, farthest = b, distance / filled[b]
        buckets[best, filled[best]] = person
        filled[best] += 1
        for a in range(codes.shape[1]):
            here[best, space.attribute[a, OFFSET] + codes[person, a]] += 1
