"""Many count queries over boxes at once (the loop of `utility.workload`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["expected_counts", "fitted_counts"]

_FIRST, _LAST, _COLUMNS = range(3)  # of a query: the values, and where the pairs of columns begin


@njit(cache=True)
def expected_counts(share: Any, people: Any, queries: Any) -> Any:
    """For every query, the people it can be expected to mean when they are spread as `share` says.

    share[b, c]      part of box b below column c; an attribute has a column for each code and one more
    people[b, v]     people of box b with a value below v
    queries[q]       first and last value, then pairs of columns of `share`, from and below; -1 ends the list
    """
    found = np.zeros(len(queries), np.float64)
    for q in range(len(queries)):
        total = 0.0
        for b in range(len(share)):
            part = float(people[b, queries[q, _LAST] + 1] - people[b, queries[q, _FIRST]])
            j = _COLUMNS
            while part != 0 and j < queries.shape[1] and queries[q, j] >= 0:
                part *= share[b, queries[q, j + 1]] - share[b, queries[q, j]]
                j += 2
            total += part
        found[q] = total
    return found


@njit(cache=True)
def fitted_counts(start: Any, code: Any, count: Any, people: Any, effect: Any, queries: Any) -> Any:
    """The same over cells whose people differ: who has code c has a value by effect[c] more often than others.

    start[j, b]      where the codes of cell b in column j begin, numbered through over columns, with how many have them
    people[b, v]     people of cell b with a value below v, as far as is known of all of them together
    effect[c, v]     by how much the share of people with a value below v is larger among those with code c
    queries[q]       first and last value, then of each column asked about its number, first and last code; -1 ends it
    """
    found, size = np.zeros(len(queries), np.float64), np.zeros(start.shape[1] - 1, np.float64)
    for b in range(len(size)):
        for k in range(start[0, b], start[0, b + 1]):
            size[b] += count[k]
    more = np.empty(len(effect), np.float64)
    for q in range(len(queries)):
        low, high = queries[q, _FIRST], queries[q, _LAST] + 1
        for c in range(len(effect)):
            more[c] = effect[c, high] - effect[c, low]
        total = 0.0
        for b in range(len(size)):
            part, shift = 1.0, 0.0
            for at in range(_COLUMNS, queries.shape[1], 3):
                j, inside, here, all_of = queries[q, at], 0.0, 0.0, 0.0
                if j < 0:
                    break
                for k in range(start[j, b], start[j, b + 1]):
                    all_of += count[k] * more[code[k]]
                    if queries[q, at + 1] <= code[k] <= queries[q, at + 2]:
                        inside += count[k]
                        here += count[k] * more[code[k]]
                if inside == 0.0:
                    part = 0.0
                    break
                part *= inside / size[b]
                shift += here / inside - all_of / size[b]
            if part > 0.0:
                total += part * (people[b, high] - people[b, low] + size[b] * shift)
        found[q] = total
    return found
