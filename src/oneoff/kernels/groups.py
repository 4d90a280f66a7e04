"""First groups from buckets, and what groups lose.

Groups lie one after the other: the members of group g are member[start[g] : start[g + 1]], rows of the table. Loss is
counted in whole numbers of 1 / UNIT, so that ties are exact and the order of summation does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.chunks import unit
from oneoff.kernels.matching import hungarian
from oneoff.kernels.space import ABOVE_ALL, KIND, OFFSET, RANGE, SET, SIZE, in_units, place, span_loss
from oneoff.kernels.threads import spread

__all__ = ["assemble", "total_loss"]


@njit(cache=True)
def _tolls(space: Any) -> Any:
    """What each code costs a group that nobody with it is in."""
    toll = np.zeros(len(space.position), np.int64)
    for a in range(len(space.unit)):
        for code in range(space.attribute[a, SIZE]):
            toll[space.attribute[a, OFFSET] + code] = unit(space, a)
    return toll


def assemble(codes: Any, space: Any, buckets: Any, strides: int, deepest: int) -> Any:
    """Groups of one member of every bucket, bucket by bucket, each time by the assignment at the least loss.

    Row g of the result is a group, column b its member of buckets[b]. Only every `strides`-th members of the buckets
    meet, and from bucket number `deepest` on members stay where they are: both for speed.
    """
    groups = np.ascontiguousarray(buckets.T)

    def run(first: int, last: int) -> None:
        for stride in range(first, last):
            part = np.ascontiguousarray(groups[stride::strides])
            _assemble(codes, space, part, min(deepest, len(buckets)))
            groups[stride::strides] = part

    spread(run, strides)
    return groups


@njit(cache=True, nogil=True)
def _assemble(codes: Any, space: Any, groups: Any, deepest: int) -> None:
    m, d = len(groups), codes.shape[1]
    cost, people = np.empty((m, m), np.int64), np.empty(m, np.int64)
    table, toll = np.empty((d, m), np.int64), _tolls(space)
    for b in range(1, deepest):
        for i in range(m):
            people[i] = groups[i, b]
            for a in range(d):
                table[a, i] = place(space, a, codes[people[i], a])
        for i in range(m):
            _prices(codes, space, groups[i], b, table, toll, cost[i])
        chosen = hungarian(cost)
        for i in range(m):
            groups[i, b] = people[chosen[i]]


@njit(cache=True)
def _prices(codes: Any, space: Any, group: Any, many: int, table: Any, toll: Any, price: Any) -> None:
    """price[j]: what group[:many] loses more, for each of its members, with the person of column j in it."""
    for j in range(table.shape[1]):
        price[j] = 0
    for a in range(codes.shape[1]):
        if space.attribute[a, KIND] == SET:
            _set_prices(codes, space, group, many, a, table[a], toll, price)
        else:
            _range_prices(codes, space, group, many, a, table[a], price)


@njit(cache=True)
def _set_prices(codes: Any, space: Any, group: Any, many: int, a: int, code: Any, toll: Any, price: Any) -> None:
    """A category that nobody has yet costs a unit."""
    offset, more = space.attribute[a, OFFSET], unit(space, a)
    for m in range(many):
        toll[offset + codes[group[m], a]] = 0
    for j in range(len(code)):
        price[j] += toll[offset + code[j]]
    for m in range(many):
        toll[offset + codes[group[m], a]] = more


@njit(cache=True)
def _range_prices(codes: Any, space: Any, group: Any, many: int, a: int, code: Any, price: Any) -> None:
    """How far a range, or a node of a hierarchy, must stretch."""
    low, high = ABOVE_ALL, -1
    for m in range(many):
        x = place(space, a, codes[group[m], a])
        low, high = min(low, x), max(high, x)
    if space.attribute[a, KIND] == RANGE:
        for j in range(len(code)):
            price[j] += max(low - code[j], 0) + max(code[j] - high, 0)
        return
    for j in range(len(code)):
        price[j] += in_units(span_loss(space, a, min(low, code[j]), max(high, code[j]), 0))


@njit(cache=True, nogil=True)
def total_loss(codes: Any, space: Any, start: Any, member: Any) -> Any:
    """People times box loss of every group, in whole numbers of 1 / UNIT."""
    groups, d = len(start) - 1, codes.shape[1]
    loss, seen = np.zeros(groups, np.int64), np.full(len(space.position), -1, np.int64)
    for g in range(groups):
        found = 0
        for a in range(d):
            low, high, distinct = ABOVE_ALL, -1, 0
            offset = space.attribute[a, OFFSET]
            for m in range(start[g], start[g + 1]):
                code = codes[member[m], a]
                low, high = min(low, code), max(high, code)
                if seen[offset + code] != g:
                    seen[offset + code] = g
                    distinct += 1
            found += in_units(span_loss(space, a, low, high, distinct))
        loss[g] = found * (start[g + 1] - start[g])
    return loss
