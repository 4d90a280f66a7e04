"""Groups joined with their neighbours until nobody has too large a part of any."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["join_neighbours"]


@njit(cache=True, nogil=True)
def join_neighbours(person: Any, begin: Any, wall: Any, least: int, persons: int) -> Any:
    """The joined group of every group, when groups follow one another: their rows are person[begin[g] : begin[g+1]].

    A group of which somebody has more than 1 / least is joined with the next one, the last before a change of `wall`
    with those before it. Every stretch between walls must be good enough as a whole.
    """
    groups = len(begin) - 1
    joined, start = np.empty(groups, np.int64), np.empty(groups, np.int64)
    count = np.zeros(persons, np.int64)
    blocks, first = 0, 0
    for g in range(groups):
        ends = g + 1 == groups or wall[g + 1] != wall[g]
        good = _good(person, begin[first], begin[g + 1], count, least)
        if not good and not ends:
            continue
        while not good and blocks > 0 and wall[start[blocks - 1]] == wall[g]:
            blocks -= 1
            first = start[blocks]
            good = _good(person, begin[first], begin[g + 1], count, least)
        start[blocks] = first
        joined[first : g + 1] = blocks
        blocks += 1
        first = g + 1
    return joined


@njit(cache=True, nogil=True)
def _good(person: Any, first: int, last: int, count: Any, least: int) -> bool:
    """Has nobody more than 1 / least of these rows?"""
    most = 0
    for i in range(first, last):
        count[person[i]] += 1
        most = max(most, count[person[i]])
    for i in range(first, last):
        count[person[i]] = 0
    return last - first >= least * most
