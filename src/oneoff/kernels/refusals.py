"""Worlds in which every cut of a group stays refused: values change places inside it, as long as none becomes possible.

The people of a group are places 0 .. size - 1. cuts[j, p] is the person at place p in the order of quasi-identifier j,
and ends[j, p] says whether the order may be cut behind place p.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.rules import allows
from oneoff.kernels.sort import sort_ints
from oneoff.kernels.space import KIND, SET

__all__ = ["refused_worlds"]

UPHILL = 0.3


@njit(cache=True)
def refused_worlds(
    codes: Any, space: Any, start: Any, member: Any, first: Any, value: Any, count: Any, rule: Any, enough: int,
    deals: int, state: Any, belief: Any,
) -> Any:  # fmt: skip
    """belief[m, v] of member m: how often it has v in worlds in which no cut is possible. From how many worlds, for
    each group; without any, beliefs are the shares.

    Group g has members member[start[g] : start[g + 1]], and count[e] people with value[e] for e in first[g] ..
    first[g + 1] - 1. Values are dealt by chance `deals` times. Where fewer than `enough` of these worlds count, they
    change places instead: see `_walk`; ten worlds found so count as one, since each is much like the one before.
    """
    worlds = np.zeros(len(start) - 1, np.int64)
    for g in range(len(start) - 1):
        size = start[g + 1] - start[g]
        dealt, filled = np.empty(size, np.int64), 0
        for e in range(first[g], first[g + 1]):
            dealt[filled : filled + count[e]] = value[e]
            filled += count[e]
        cuts, ends = _orders(codes, space, member[start[g] : start[g + 1]])
        found, values = belief[start[g] : start[g + 1]], value[first[g] : first[g + 1]]
        many = _deal(dealt, cuts, ends, values, rule, deals, state, found)
        worlds[g] = many
        if many < enough:
            found[:] = 0.0
            many = _walk(dealt, cuts, ends, values, rule, deals, state, found)
            worlds[g] = many // 10
        if many > 0:
            found /= many
        else:
            for e in range(first[g], first[g + 1]):
                found[:, value[e]] = count[e] / size
    return worlds


@njit(cache=True)
def _deal(
    dealt: Any, cuts: Any, ends: Any, values: Any, rule: Any, deals: int, state: Any, found: Any
) -> int:  # fmt: skip
    """Deal values by chance, and count worlds in which no cut is possible; all of these are equally likely to come."""
    worlds = 0
    left, right = np.zeros(rule.limits.shape[1], np.int64), np.zeros(rule.limits.shape[1], np.int64)
    for deal in range(deals):
        if deal == 200 and worlds == 0:
            return 0
        for i in range(len(dealt) - 1, 0, -1):
            other = _random_below(state, i + 1)
            dealt[i], dealt[other] = dealt[other], dealt[i]
        if _possible(dealt, cuts, ends, values, rule, left, right, 0) == 0:
            worlds += 1
            for i in range(len(dealt)):
                found[i, dealt[i]] += 1
    return worlds


@njit(cache=True)
def _walk(
    dealt: Any, cuts: Any, ends: Any, values: Any, rule: Any, deals: int, state: Any, found: Any
) -> int:  # fmt: skip
    """Exchange two values at a time, seldom for a world with more possible cuts, and count worlds without any.

    An exchange that makes d more cuts possible is made with probability UPHILL^d, so that in the long run a world comes
    with a probability in proportion to UPHILL^possible (Metropolis): those without any equally often.
    """
    size, worlds, steps = len(dealt), 0, 4 * deals
    left, right = np.zeros(rule.limits.shape[1], np.int64), np.zeros(rule.limits.shape[1], np.int64)
    possible = _possible(dealt, cuts, ends, values, rule, left, right, 1 << 60)
    for step in range(steps):
        a, b = _random_below(state, size), _random_below(state, size)
        if dealt[a] != dealt[b]:
            dealt[a], dealt[b] = dealt[b], dealt[a]
            now = _possible(dealt, cuts, ends, values, rule, left, right, 1 << 60)
            if now > possible and _random_below(state, 1 << 30) >= UPHILL ** (now - possible) * (1 << 30):
                dealt[a], dealt[b] = dealt[b], dealt[a]
            else:
                possible = now
        if possible == 0 and step >= deals:
            worlds += 1
            for i in range(size):
                found[i, dealt[i]] += 1
    return worlds


@njit(cache=True)
def _possible(dealt: Any, cuts: Any, ends: Any, values: Any, rule: Any, left: Any, right: Any, most: int) -> int:
    """How many cuts leave two groups that may be published; counts no further than one more than `most`."""
    size, many, found = len(dealt), len(values), 0
    for j in range(len(cuts)):
        for v in values:
            left[v], right[v] = 0, 0
        for i in range(size):
            right[dealt[i]] += 1
        for p in range(size - 1):
            v = dealt[cuts[j, p]]
            left[v] += 1
            right[v] -= 1
            if not ends[j, p] or p + 1 < rule.least_size or size - p - 1 < rule.least_size:
                continue
            if allows(rule, left, values, many, p + 1) and allows(rule, right, values, many, size - p - 1):
                found += 1
                if found > most:
                    return found
    return found


@njit(cache=True)
def _orders(codes: Any, space: Any, members: Any) -> Any:
    """The people by each quasi-identifier: numbers and hierarchies by code, plain categories the most common first."""
    size = len(members)
    cuts, ends = np.empty((codes.shape[1], size), np.int64), np.zeros((codes.shape[1], size), np.bool_)
    key, common = np.empty(size, np.int64), np.zeros(size, np.int64)
    for j in range(codes.shape[1]):
        for i in range(size):
            common[i] = 0
            if space.attribute[j, KIND] == SET:
                for k in range(size):
                    common[i] += codes[members[k], j] == codes[members[i], j]
        for i in range(size):
            key[i] = ((size - common[i]) * 2**31 + codes[members[i], j]) * size + i
        sort_ints(key, size)
        for p in range(size):
            cuts[j, p] = key[p] % size
            ends[j, p] = p + 1 < size and key[p] // size != key[p + 1] // size
    return cuts, ends


@njit(cache=True)
def _random_below(state: Any, bound: int) -> int:
    """One of 0 .. bound-1, by splitmix64 (Steele, Lea and Flood 2014): what is drawn here is no secret."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((((z ^ (z >> np.uint64(31))) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))
