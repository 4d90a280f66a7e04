"""May a group be published? The compiled form of every promise (see `models.rule.Rule` for the fields)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.limits import BELOW, CEILING, CEILING_OF, FLOOR, FLOOR_OF
from oneoff.kernels.sort import sort_ints

__all__ = ["allows", "allows_groups", "counted", "moved_left"]

# Columns of what `models.Rule` has besides limits.
_FROM, _BELOW = 0, 1  # of ranges: the values; of distances: the ranges
_TOP, _BOTTOM = 2, 3  # of distances: the bound; of ranges: the ceiling
_C, _C_OF, _L, _LOWEST, _BEHIND = range(5)  # of recursive diversity; the values it is about
_DISTINCT, _ENTROPY = 2, 3  # of columns, beside _FROM and _BELOW


@njit(cache=True)
def allows(rule: Any, count: Any, touched: Any, many: int, size: int) -> bool:
    """count[v] people with value v; touched[:many] lists every v with count[v] > 0 (and maybe some with 0).

    `count` may be longer than there are values.
    """
    if size < rule.least_size or size == 0:
        return False
    limits = rule.limits
    distinct = 0
    for i in range(many):
        v = touched[i]
        c = count[v]
        if c > 0:
            distinct += 1
            if c * limits[CEILING_OF, v] > limits[CEILING, v] * size:
                return False
    if distinct < rule.least_distinct:
        return False
    if rule.floors > 0:
        for v in range(limits.shape[1]):
            if count[v] * limits[FLOOR_OF, v] < limits[FLOOR, v] * size:
                return False
    if rule.least_entropy > 0 and not _varied(rule.least_entropy, count, touched, many, size, distinct):
        return False
    for p in range(len(rule.columns)):
        if not _varied_column(rule.columns[p], count, touched, many, size):
            return False
    for p in range(len(rule.recursive)):
        if not _recursive(rule.recursive[p], count, touched, many, size):
            return False
    for p in range(len(rule.distances)):
        if not _close(rule.distances[p], rule.ranges, limits[BELOW], rule.total, count, size):
            return False
    return rule.sets == 0 or _below_ceilings(rule.ranges, rule.sets, count, size)


@njit(cache=True)
def counted(parts: Any, values: Any, first: int, last: int, count: Any, touched: Any, many: int) -> int:
    """Count values[first:last], or the parts of each combination; returns how many different ones were touched."""
    if parts.shape[1] == 0:
        for i in range(first, last):
            v = values[i]
            if count[v] == 0:
                touched[many] = v
                many += 1
            count[v] += 1
        return many
    for i in range(first, last):
        for part in range(parts.shape[1]):
            v = parts[values[i], part]
            if count[v] == 0:
                touched[many] = v
                many += 1
            count[v] += 1
    return many


@njit(cache=True)
def moved_left(parts: Any, values: Any, first: int, last: int, left: Any, right: Any) -> None:
    """values[first:last], or the parts of each combination, are counted left instead of right."""
    if parts.shape[1] == 0:
        for i in range(first, last):
            left[values[i]] += 1
            right[values[i]] -= 1
        return
    for i in range(first, last):
        for part in range(parts.shape[1]):
            left[parts[values[i], part]] += 1
            right[parts[values[i], part]] -= 1


@njit(cache=True)
def _varied_column(column: Any, count: Any, touched: Any, many: int, size: int) -> bool:
    """Does one of several columns have as many distinct values, and as varied ones, as was promised about it?"""
    own, found = np.empty(many, np.int64), 0
    for i in range(many):
        if column[_FROM] <= touched[i] < column[_BELOW] and count[touched[i]] > 0:
            own[found] = touched[i]
            found += 1
    if found < column[_DISTINCT]:
        return False
    return column[_ENTROPY] <= 0 or _varied(column[_ENTROPY], count, own, found, size, found)


@njit(cache=True)
def _below_ceilings(ranges: Any, sets: int, count: Any, size: int) -> bool:
    """The last ranges are sets of values with a ceiling on all of them together."""
    for r in range(len(ranges) - sets, len(ranges)):
        found = 0
        for v in range(ranges[r, _FROM], ranges[r, _BELOW]):
            found += count[v]
        if found * ranges[r, _BOTTOM] > ranges[r, _TOP] * size:
            return False
    return True


@njit(cache=True)
def _varied(bound: float, count: Any, touched: Any, many: int, size: int, distinct: int) -> bool:
    """Entropy >= bound; a near tie passes only in its natural form, all values equally frequent and enough of them."""
    total = 0.0
    equal = True
    for i in range(many):
        c = count[touched[i]]
        if c > 0:
            total += c * np.log(c)
            equal = equal and c * distinct == size
    entropy = np.log(size) - total / size
    if entropy > bound + 1e-9:
        return True
    return entropy > bound - 1e-9 and equal and np.log(distinct) >= bound


@njit(cache=True)
def _recursive(promise: Any, count: Any, touched: Any, many: int, size: int) -> bool:
    counts, own = np.empty(many, np.int64), 0
    for i in range(many):
        if promise[_LOWEST] <= touched[i] < promise[_BEHIND]:
            counts[own] = count[touched[i]]
            own += 1
    sort_ints(counts, own)
    tail = size
    for i in range(min(promise[_L] - 1, own)):
        tail -= counts[own - 1 - i]
    return counts[own - 1] * promise[_C_OF] < promise[_C] * tail


@njit(cache=True)
def _close(promise: Any, ranges: Any, prior_below: Any, total: int, count: Any, size: int) -> bool:
    """Earth mover's distance as a sum of imbalances over ranges of values."""
    values = len(prior_below)  # `count` may be longer: a row of wider working space
    imbalance = np.empty(values + 1, np.int64)  # of all values below v, times total * size
    found = 0
    for v in range(values):
        imbalance[v] = found * total - prior_below[v] * size
        found += count[v]
    imbalance[values] = 0
    moved = 0
    for r in range(promise[_FROM], promise[_BELOW]):
        moved += abs(imbalance[ranges[r, _BELOW]] - imbalance[ranges[r, _FROM]])
    return moved * promise[_BOTTOM] <= promise[_TOP] * total * size


@njit(cache=True)
def allows_groups(rule: Any, start: Any, value: Any, count: Any) -> Any:
    """The verdict of `allows` on every group of a sparse histogram."""
    groups = len(start) - 1
    verdict = np.zeros(groups, np.bool_)
    dense = np.zeros(rule.limits.shape[1], np.int64)
    touched = np.empty(rule.limits.shape[1], np.int64)
    for g in range(groups):
        size, many = 0, 0
        for e in range(start[g], start[g + 1]):
            dense[value[e]] = count[e]
            touched[many] = value[e]
            size += count[e]
            many += 1
        verdict[g] = allows(rule, dense, touched, many, size)
        for i in range(many):
            dense[touched[i]] = 0
    return verdict
