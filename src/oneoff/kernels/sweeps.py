"""Better groups without changing their sizes: every group offers a member, and an assignment deals them out anew.

Groups lie one after the other: the members of group g are member[start[g] : start[g + 1]], rows of the table. What a
sweep lowers is the sum over groups of people times box loss, in whole numbers of 1 / UNIT, so that ties are exact and
the order of summation does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.matching import hungarian, rematch
from oneoff.kernels.space import place, span_loss
from oneoff.kernels.threads import spread

__all__ = ["CHUNK", "NEVER", "assemble", "redeal", "total_loss"]

CHUNK = 128  # a good number of groups to exchange members with each other: assignments are cubic in it
NEVER = 2**52  # the price of a member that a group must not get: more than any sum of allowed ones


def redeal(
    codes: Any,
    values: Any,
    space: Any,
    limits: Any,
    start: Any,
    member: Any,
    order: Any,
    begin: Any,
    offers: Any,
    soft: float,
) -> None:
    """Deal after deal, let the groups of each chunk exchange the members they offer at the least loss.

    order      groups along a curve; those of chunk c are order[begin[c] : begin[c + 1]], best about CHUNK of them. No
               group may be in two chunks; chunks never exchange members
    offers     [groups, deals] the place of the member that a group offers in a deal, or -1
    limits     ceilings and floors of the promise (`models.Rule.limits`), or no columns when values play no part
    soft       between 0 and 1: how much the cost also counts what is rare within a group, though it is covered
               already; at 0 the loss never rises
    """

    def run(first: int, last: int) -> None:
        _redeal(codes, values, space, limits, start, member, order, begin[first : last + 1], offers, soft)

    spread(run, len(begin) - 1)


@njit(cache=True, nogil=True)
def _redeal(
    codes: Any,
    values: Any,
    space: Any,
    limits: Any,
    start: Any,
    member: Any,
    order: Any,
    begin: Any,
    offers: Any,
    soft: float,
) -> None:
    widest = 0
    for c in range(len(begin) - 1):
        widest = max(widest, begin[c + 1] - begin[c])
    d = codes.shape[1]
    cost, work = np.empty((widest, widest), np.int64), np.empty((10, widest), np.int64)
    table, toll = np.empty((d + 1, widest), np.int64), _tolls(space, limits.shape[1])
    for c in range(len(begin) - 1):
        for deal in range(offers.shape[1]):
            many = 0
            for i in range(begin[c], begin[c + 1]):
                at = offers[order[i], deal]
                if at >= 0:
                    work[7, many], work[8, many] = order[i], start[order[i]] + at
                    work[9, many] = member[work[8, many]]
                    many += 1
            if many < 2:
                continue
            _describe(codes, values, space, work[9, :many], table)
            for i in range(many):
                first, last = start[work[7, i]], start[work[7, i] + 1]
                _prices(
                    codes, values, space, limits, member, first, last, work[8, i], table[:, :many], soft, toll, cost[i]
                )
            chosen = rematch(cost[:many, :many], work)
            for i in range(many):
                member[work[8, i]] = work[9, chosen[i]]


@njit(cache=True)
def _describe(codes: Any, values: Any, space: Any, people: Any, table: Any) -> None:
    """A column for everybody: places in all attributes, then the sensitive value."""
    d = codes.shape[1]
    for j in range(len(people)):
        for a in range(d):
            table[a, j] = place(space, a, codes[people[j], a])
        table[d, j] = values[people[j]]


@njit(cache=True)
def _tolls(space: Any, values: int) -> Any:
    """What each code costs a group that nobody with it is in; then room to count values."""
    toll = np.zeros(len(space.position) + values, np.int64)
    for a in range(len(space.unit)):
        for code in range(space.attribute[a, 2]):
            toll[space.attribute[a, 1] + code] = int(space.unit[a] * 2**19 + 0.5)
    return toll


def assemble(codes: Any, values: Any, space: Any, buckets: Any, strides: int, deepest: int) -> Any:
    """Groups of one member of every bucket, bucket by bucket, each time by the assignment at the least loss.

    Row g of the result is a group, column b its member of buckets[b]. Only every `strides`-th members of the buckets
    meet, and from bucket number `deepest` on members stay where they are: both for speed.
    """
    groups = np.ascontiguousarray(buckets.T)

    def run(first: int, last: int) -> None:
        for stride in range(first, last):
            part = np.ascontiguousarray(groups[stride::strides])
            _assemble(codes, values, space, part, min(deepest, len(buckets)))
            groups[stride::strides] = part

    spread(run, strides)
    return groups


@njit(cache=True, nogil=True)
def _assemble(codes: Any, values: Any, space: Any, groups: Any, deepest: int) -> None:
    m, size = groups.shape
    cost, people = np.empty((m, m), np.int64), np.empty(m, np.int64)
    table = np.empty((codes.shape[1] + 1, m), np.int64)
    toll, no_limits = _tolls(space, 0), np.empty((5, 0), np.int64)
    member = groups.reshape(m * size)
    for b in range(1, deepest):
        for i in range(m):
            people[i] = groups[i, b]
        _describe(codes, values, space, people, table)
        for i in range(m):
            first, own = i * size, i * size + b
            _prices(codes, values, space, no_limits, member, first, own + 1, own, table, 0.0, toll, cost[i])
        chosen = hungarian(cost)
        for i in range(m):
            groups[i, b] = people[chosen[i]]


@njit(cache=True)
def _prices(
    codes: Any,
    values: Any,
    space: Any,
    limits: Any,
    member: Any,
    first: int,
    last: int,
    own: int,
    table: Any,
    soft: float,
    toll: Any,
    price: Any,
) -> None:
    """price[j]: what the group member[first:last] loses with the person of column j in the place `own`."""
    many, d, size = table.shape[1], codes.shape[1], last - first
    for j in range(many):
        price[j] = 0
    for a in range(d):
        if space.attribute[a, 0] == 1:
            _set_prices(codes, space, member, first, last, own, a, table[a], soft, toll, price)
        else:
            _range_prices(codes, space, member, first, last, own, a, table[a], soft, price)
    for j in range(many):
        price[j] *= size
    if limits.shape[1] > 0:
        _forbid(values, limits, member, first, last, own, table[d], toll[len(space.position) :], price)


@njit(cache=True)
def _set_prices(
    codes: Any,
    space: Any,
    member: Any,
    first: int,
    last: int,
    own: int,
    a: int,
    code: Any,
    soft: float,
    toll: Any,
    price: Any,
) -> None:
    """A category nobody else has costs a unit; a soft price is what is left of it when few others have it."""
    offset = space.attribute[a, 1]
    unit = int(space.unit[a] * 2**19 + 0.5)
    rare = int(soft * unit) >> 2
    for m in range(first, last):
        if m != own:
            at = offset + codes[member[m], a]
            toll[at] = rare if toll[at] == unit else toll[at] >> 1
    for j in range(len(code)):
        price[j] += toll[offset + code[j]]
    for m in range(first, last):
        toll[offset + codes[member[m], a]] = unit


@njit(cache=True)
def _range_prices(
    codes: Any, space: Any, member: Any, first: int, last: int, own: int, a: int, code: Any, soft: float, price: Any
) -> None:
    """How far a range, or a node of a hierarchy, must stretch; softly also how far beyond the second outermost."""
    if last - first < 2:
        return
    low, high, low2, high2 = 2**62, -(2**62), 2**62, -(2**62)
    for m in range(first, last):
        if m != own:
            x = place(space, a, codes[member[m], a])
            if x < low:
                low, low2 = x, low
            elif x < low2:
                low2 = x
            if x > high:
                high, high2 = x, high
            elif x > high2:
                high2 = x
    if space.attribute[a, 0] != 0:
        for j in range(len(code)):
            x = code[j]
            price[j] += int(span_loss(space, a, min(low, x), max(high, x), 0) * 2**19 + 0.5)
        return
    for j in range(len(code)):
        price[j] += max(low - code[j], 0) + max(code[j] - high, 0)
    half = int(soft * 128)
    if half > 0 and last - first > 2:
        for j in range(len(code)):
            price[j] += (max(low2 - max(code[j], low), 0) + max(min(code[j], high) - high2, 0)) * half >> 8


@njit(cache=True)
def _forbid(
    values: Any, limits: Any, member: Any, first: int, last: int, own: int, value: Any, count: Any, price: Any
) -> None:
    """Price out of reach whoever would break a ceiling, or cannot make up for the loss of the value given away."""
    size = last - first
    given = values[member[own]]
    for m in range(first, last):
        count[values[member[m]]] += 1
    count[given] -= 1
    needed = count[given] * limits[3, given] < limits[2, given] * size
    for j in range(len(value)):
        v = value[j]
        if v != given and (needed or (count[v] + 1) * limits[1, v] > limits[0, v] * size):
            price[j] = NEVER
    for m in range(first, last):
        count[values[member[m]]] = 0


@njit(cache=True, nogil=True)
def total_loss(codes: Any, space: Any, start: Any, member: Any) -> Any:
    """People times box loss of every group, in whole numbers of 1 / UNIT."""
    groups, d = len(start) - 1, codes.shape[1]
    loss, seen = np.zeros(groups, np.int64), np.full(len(space.position), -1, np.int64)
    for g in range(groups):
        found = 0
        for a in range(d):
            low, high, distinct = 2**62, -1, 0
            offset = space.attribute[a, 1]
            for m in range(start[g], start[g + 1]):
                code = codes[member[m], a]
                low, high = min(low, code), max(high, code)
                if seen[offset + code] != g:
                    seen[offset + code] = g
                    distinct += 1
            found += int(span_loss(space, a, low, high, distinct) * 2**19 + 0.5)
        loss[g] = found * (start[g + 1] - start[g])
    return loss
