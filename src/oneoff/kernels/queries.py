"""Many count queries over boxes at once (the loop of `utility.workload`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["expected_counts"]

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
