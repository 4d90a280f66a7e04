"""How often codes of several columns occur together, and how far that is from what their own counts would say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["dependence", "joint_counts"]


@njit(cache=True)
def joint_counts(codes: Any, columns: Any, step: Any, cells: int) -> Any:
    """[cell]: people whose codes[column, person] * step, summed up over the columns, is that cell."""
    counts = np.zeros(cells, np.int64)
    for i in range(codes.shape[1]):
        cell = 0
        for c in range(len(columns)):
            cell += codes[columns[c], i] * step[c]
        counts[cell] += 1
    return counts


@njit(cache=True)
def dependence(codes: Any, column: int, size: int, parents: Any, step: Any, cells: int) -> int:
    """n^2 R, a whole number: half of the sum of |n c(x, p) - c(x) c(p)| over all values x and all that parents show.

    R is how far Pr[x, p] is from Pr[x] Pr[p], in total variation (Zhang et al. 2017, section 4.3).
    """
    people = codes.shape[1]
    counts = np.zeros((cells, size), np.int64)
    for i in range(people):
        cell = 0
        for c in range(len(parents)):
            cell += codes[parents[c], i] * step[c]
        counts[cell, codes[column, i]] += 1
    alone = np.zeros(size, np.int64)
    for cell in range(cells):
        for x in range(size):
            alone[x] += counts[cell, x]
    total = 0
    for cell in range(cells):
        together = 0
        for x in range(size):
            together += counts[cell, x]
        for x in range(size):
            total += abs(people * counts[cell, x] - alone[x] * together)
    return total // 2
