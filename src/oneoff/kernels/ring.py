"""Parts of a sorted table, and swaps between parts (the loops of `mechanisms.heterogeneous.ring`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.rules import allows
from oneoff.kernels.space import ABOVE_ALL, OFFSET, span_loss

__all__ = ["lexicographic_parts", "pieces_most_left", "swap_between"]

_FIRST, _LAST, _COLUMN = range(3)  # columns of the stack: rows still to divide, and by what
_PART, _PLACE = range(2)  # where somebody is: the part, and the place in the list of all members


@njit(cache=True)
def lexicographic_parts(rows: Any, values: Any, rule: Any, least: int) -> Any:
    """Where parts begin in a table sorted by its columns from left to right (004, Figure 8): a flag for every row.

    Runs of equal entries in a column become parts once they keep the rule, with the help of their neighbours. Pure
    parts are divided by the next column; mixed ones are final. No part is smaller than `least`.
    """
    n, d = rows.shape
    begins = np.zeros(n, np.bool_)
    stack = np.empty((n // least + 2, 3), np.int64)
    edges = np.empty(n // least + 2, np.int64)
    work = np.zeros((2, rule.limits.shape[1]), np.int64)
    stack[0, _FIRST], stack[0, _LAST], stack[0, _COLUMN] = 0, n, 0
    depth = 1
    while depth > 0:
        depth -= 1
        first, last, j = stack[depth, _FIRST], stack[depth, _LAST], stack[depth, _COLUMN]
        many = _repaired(rows, values, rule, first, last, j, edges, work)
        for p in range(many):
            begins[edges[p]] = True
            if j + 1 < d and rows[edges[p], j] == rows[edges[p + 1] - 1, j]:
                stack[depth, _FIRST], stack[depth, _LAST], stack[depth, _COLUMN] = edges[p], edges[p + 1], j + 1
                depth += 1
    return begins


@njit(cache=True)
def _repaired(rows: Any, values: Any, rule: Any, first: int, last: int, j: int, edges: Any, work: Any) -> int:
    """Runs of column j from left to right, each with as much of a neighbour as it needs: edges of the parts.

    A run that breaks the rule joins the part before it or the run behind it, whichever is smaller. Where only size
    matters and both together hold twice the least size, just the missing rows are moved and the neighbour stays pure.
    """
    many, k = 0, rule.least_size
    edges[0] = first
    start, end = first, first
    while end < last:
        end = _run_end(rows, end, last, j)
        if _keeps(values, rule, start, end, work):
            many += 1
            edges[many] = end
            start = end
            continue
        behind = _run_end(rows, end, last, j) - end if end < last else 0
        before = start - edges[many - 1] if many > 0 else 0
        size = end - start
        if 0 < behind < k and not rule.by_value:
            continue  # two that need help first help each other
        if not rule.by_value and before + size >= 2 * k:
            edges[many] = end - k
            many += 1
            edges[many] = end
            start = end
        elif not rule.by_value and behind > 0 and behind + size >= 2 * k:
            many += 1
            edges[many] = start + k
            start, end = start + k, start + k
        elif many > 0 and (behind == 0 or before <= behind) and _keeps(values, rule, edges[many - 1], end, work):
            edges[many] = end
            start = end
    while start < last:  # the last run found no partner: parts join it from behind until the rule is kept
        many -= 1
        if many <= 0 or _keeps(values, rule, edges[many], last, work):
            many = max(many, 0) + 1
            edges[many] = last
            start = last
    return many


@njit(cache=True)
def _run_end(rows: Any, first: int, last: int, j: int) -> int:
    i = first + 1
    while i < last and rows[i, j] == rows[first, j]:
        i += 1
    return i


@njit(cache=True)
def _keeps(values: Any, rule: Any, first: int, last: int, work: Any) -> bool:
    """Do these rows keep the rule? `work` is zero before and after."""
    if not rule.by_value:
        return last - first >= rule.least_size
    count, touched = work[0], work[1]
    many = 0
    for i in range(first, last):
        v = values[i]
        if count[v] == 0:
            touched[many] = v
            many += 1
        count[v] += 1
    verdict = allows(rule, count, touched, many, last - first)
    for t in range(many):
        count[touched[t]] = 0
    return verdict


@njit(cache=True)
def pieces_most_left(value: Any, start: Any, l: int, values: int) -> Any:  # noqa: E741
    """The piece of every person: at least l people with different values, taken from the values with most people left.

    People of part p stand at start[p] : start[p + 1] and leave their value in that order. A piece takes all values with
    most people left, and where these are fewer than l the next ones. A part of N people has no value more than N / l
    times; that stays true of what is left, so that there are always l values, and the commonest one is in every piece.
    """
    piece = np.empty(len(value), np.int64)
    queue = np.empty(len(value), np.int64)  # places by value
    left, head = np.zeros(values, np.int64), np.zeros(values, np.int64)
    for p in range(len(start) - 1):
        first, last = start[p], start[p + 1]
        held = _queued(value, first, last, queue, left, head)
        number = 0
        while left[held[0]] > 0:
            size = max(l, _not_below(held, left, left[held[0]]))
            above = _not_below(held, left, left[held[size - 1]] + 1)
            end = _not_below(held, left, left[held[size - 1]])
            for t in range(size):  # the last of those that have equally many, so that `held` stays sorted
                v = held[t] if t < above else held[end - size + t]
                piece[queue[head[v]]] = number
                head[v] += 1
            for t in range(size):
                left[held[t] if t < above else held[end - size + t]] -= 1
            number += 1
    return piece


@njit(cache=True)
def _queued(value: Any, first: int, last: int, queue: Any, left: Any, head: Any) -> Any:
    """The values of a part, those with most people first; left[v] and head[v]: how many, and where in `queue`."""
    held = np.unique(value[first:last])
    for v in held:
        left[v] = 0
    for i in range(first, last):
        left[value[i]] += 1
    held = held[np.argsort(-left[held], kind="mergesort")]
    at = first
    for v in held:
        head[v] = at
        at += left[v]
    for i in range(first, last):
        queue[head[value[i]]] = i
        head[value[i]] += 1
    for v in held:
        head[v] -= left[v]
    return held


@njit(cache=True)
def _not_below(held: Any, left: Any, least: int) -> int:
    """How many of the values, sorted by descending `left`, have at least so many people left."""
    low, high = 0, len(held)
    while low < high:
        middle = (low + high) // 2
        if left[held[middle]] >= least:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def swap_between(
    codes: Any, values: Any, space: Any, member: Any, start: Any, near: Any, reach: int, l: int, most: int,  # noqa: E741
    largest: int,
) -> float:  # fmt: skip
    """Let people change places with near ones in other parts while that lowers the loss; returns what was gained.

    member[start[p] : start[p + 1]] are the people of part p. Every pair at most `reach` places apart in `near` is
    tried once, in parts of at most `largest` people. With l > 0 no value comes to fill more than 1/l of a part, nor to
    be there more than `most` times.
    """
    n = len(member)
    where = np.empty((2, n), np.int64)  # _PART and _PLACE of each person
    shown = np.empty((codes.shape[1] + 1, n), np.int64)  # the codes, and last the value, at each of these places
    seen = np.zeros(len(space.position) + 1, np.int64)  # the last entry is the stamp
    parts = len(start) - 1
    # what every part loses by each attribute, and last by all; then the same for the two parts that are tried
    loss = np.zeros((parts + 2, codes.shape[1] + 1))
    for p in range(parts):
        for m in range(start[p], start[p + 1]):
            where[_PART, member[m]], where[_PLACE, member[m]] = p, m
            _show(codes, values, member[m], shown, m)
    for p in range(parts):
        loss[p, -1] = _loss(codes, space, shown, start, p, -1, np.int64(0), seen, np.inf, loss, p)
    gained = 0.0
    for at in range(n):
        for other in range(at + 1, min(n, at + 1 + reach)):
            i, j = np.int64(near[at]), np.int64(near[other])
            a, b = where[_PART, i], where[_PART, j]
            old = loss[a, -1] + loss[b, -1]
            if a == b or old <= 0.0 or max(start[a + 1] - start[a], start[b + 1] - start[b]) > largest:
                continue
            if l > 0 and not (
                _fits(shown, start, a, i, j, values, l, most) and _fits(shown, start, b, j, i, values, l, most)
            ):
                continue
            limit = old - 1e-9
            in_a = _loss(codes, space, shown, start, a, where[_PLACE, i], j, seen, limit, loss, parts)
            if in_a >= limit:
                continue
            in_b = _loss(codes, space, shown, start, b, where[_PLACE, j], i, seen, limit - in_a, loss, parts + 1)
            if in_a + in_b >= limit:
                continue
            gained += old - in_a - in_b
            for column in range(codes.shape[1]):
                loss[a, column], loss[b, column] = loss[parts, column], loss[parts + 1, column]
            loss[a, -1], loss[b, -1] = in_a, in_b
            where[_PART, i], where[_PART, j] = b, a
            where[_PLACE, i], where[_PLACE, j] = where[_PLACE, j], where[_PLACE, i]
            member[where[_PLACE, i]], member[where[_PLACE, j]] = i, j
            _show(codes, values, i, shown, where[_PLACE, i])
            _show(codes, values, j, shown, where[_PLACE, j])
    return gained


@njit(cache=True)
def _show(codes: Any, values: Any, person: int, shown: Any, place: int) -> None:
    """Write down who stands at a place."""
    for j in range(codes.shape[1]):
        shown[j, place] = codes[person, j]
    shown[-1, place] = values[person]


@njit(cache=True)
def _fits(shown: Any, start: Any, part: int, out: int, into: int, values: Any, l: int, most: int) -> bool:  # noqa: E741
    """May `into` take the place of `out` without its value becoming too common in the part?"""
    if values[out] == values[into]:
        return True
    room = min((start[part + 1] - start[part]) // l, most)
    for m in range(start[part], start[part + 1]):
        room -= shown[-1, m] == values[into]
    return room > 0


@njit(cache=True)
def _loss(
    codes: Any, space: Any, shown: Any, start: Any, part: int, place: int, other: int, seen: Any, limit: float,
    loss: Any, into: int,
) -> float:  # fmt: skip
    """People times loss of a part in which `other` stands at `place` (-1: nobody does); stops once above the limit.

    loss[into] gets it by attribute. Where `other` has the same as whoever stands there now, it is loss[part] as before.
    """
    total, first, last = 0.0, start[part], start[part + 1]
    stamp = len(seen) - 1
    for j in range(codes.shape[1]):
        if place >= 0 and shown[j, place] == codes[other, j]:
            loss[into, j] = loss[part, j]
            total += loss[into, j]
            if total >= limit:
                break
            continue
        seen[stamp] += 1
        offset, distinct = space.attribute[j, OFFSET], 0
        low, high = np.int64(ABOVE_ALL), np.int64(-1)
        for m in range(first, last):
            c = np.int64(codes[other, j]) if m == place else shown[j, m]
            low, high = min(low, c), max(high, c)
            if seen[offset + c] != seen[stamp]:
                seen[offset + c] = seen[stamp]
                distinct += 1
        loss[into, j] = (last - first) * span_loss(space, j, low, high, distinct)
        total += loss[into, j]
        if total >= limit:
            break
    return total
