"""Cuts of `kernels.mondrian`, found from counts of the people of a node instead of from the people themselves.

The same boundaries are tried in the same order and judged by the same rule, so that the top of a tree that is cut from
counts is the top of the tree that a table in memory would get. Only boundaries between codes, of nodes with too many
people for every boundary to be tried.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.rules import allows
from oneoff.kernels.sort import sort_ints
from oneoff.kernels.space import ABOVE_ALL, KIND, SET, span_loss

__all__ = ["boundaries", "extents_at", "loss_of_sides"]


@njit(cache=True)
def _in_order(people: Any, kind: int) -> Any:
    """The codes that occur, in cutting order: plain categories the most common first."""
    order = np.flatnonzero(people)
    if kind == SET:
        many = len(people)
        key = order - people[order] * many
        sort_ints(key, len(key))
        order = key % many
    return order


@njit(cache=True)
def boundaries(count: Any, space: Any, rule: Any, j: int) -> Any:
    """count[code, value] people of a node by attribute j: the codes in order, and up to two boundaries worth trying.

    A boundary is a number of codes that go left: nearest the median, and with the least loss of this attribute.
    """
    people = count.sum(axis=1)
    order = _in_order(people, space.attribute[j, KIND])
    right = count.sum(axis=0)
    touched = np.flatnonzero(right)
    left = np.zeros_like(right)
    size, at, pieces = right.sum(), np.int64(0), len(order)
    nearest, nearest_gap, lightest, lightest_loss = 0, size, 0, np.inf
    for i in range(1, pieces):
        own = count[order[i - 1]]
        left += own
        right -= own
        at += people[order[i - 1]]
        if at < rule.least_size or size - at < rule.least_size:
            continue
        if rule.by_value and not (
            allows(rule, left, touched, len(touched), at) and allows(rule, right, touched, len(touched), size - at)
        ):
            continue
        if abs(2 * at - size) < nearest_gap:
            nearest, nearest_gap = i, abs(2 * at - size)
        loss = at * span_loss(space, j, order[0], order[i - 1], i)
        loss += (size - at) * span_loss(space, j, order[i], order[pieces - 1], pieces - i)
        if loss < lightest_loss:
            lightest, lightest_loss = i, loss
    found = np.array([nearest, lightest])
    if nearest == lightest:
        found = found[:1]
    return order, found[found > 0]


@njit(cache=True)
def extents_at(codes: Any, node: Any, first: Any, column: Any, left: Any, set_begin: Any) -> Any:
    """What the two sides of every proposed cut reach: the lowest and highest code of every attribute, and which codes
    of plain categories occur.

    Cuts first[n] .. first[n + 1] are those of node n; cut c sends who has left[c, code] of column[c] to the first side.
    set_begin[j] .. set_begin[j + 1] is where the codes of attribute j are in `seen`; empty where they have an order.
    """
    cuts, many = len(column), codes.shape[1]
    low, high = np.full((cuts, 2, many), ABOVE_ALL, np.int64), np.full((cuts, 2, many), -1, np.int64)
    seen = np.zeros((cuts, 2, set_begin[-1]), np.bool_)
    for i in range(len(codes)):
        for c in range(first[node[i]], first[node[i] + 1]):
            side = 0 if left[c, codes[i, column[c]]] else 1
            for j in range(many):
                code = codes[i, j]
                if set_begin[j + 1] > set_begin[j]:
                    seen[c, side, set_begin[j] + code] = True
                else:
                    low[c, side, j] = min(low[c, side, j], code)
                    high[c, side, j] = max(high[c, side, j], code)
    return low, high, seen


@njit(cache=True)
def loss_of_sides(space: Any, low: Any, high: Any, distinct: Any, at: int, size: int) -> float:
    """People times loss of both sides of a cut that sends `at` people left; [side, attribute]."""
    total = 0.0
    for j in range(low.shape[1]):
        total += at * span_loss(space, j, low[0, j], high[0, j], distinct[0, j])
        total += (size - at) * span_loss(space, j, low[1, j], high[1, j], distinct[1, j])
    return total
