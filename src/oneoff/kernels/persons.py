"""Groups joined with their neighbours until each has enough different persons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["join_neighbours"]


@njit(cache=True, nogil=True)
def join_neighbours(person: Any, begin: Any, wall: Any, least: int, persons: int) -> Any:
    """The joined group of every group, when groups follow one another: their people are person[begin[g] : begin[g+1]].

    A group with too few persons is joined with the next one, the last before a change of `wall` with the one before it.
    Every stretch between walls must have enough persons as a whole.
    """
    groups = len(begin) - 1
    joined, seen = np.empty(groups, np.int64), np.full(persons, -1, np.int64)
    block, first, many = 0, 0, 0
    for g in range(groups):
        for i in range(begin[g], begin[g + 1]):
            if seen[person[i]] < first:
                many += 1
            seen[person[i]] = g
        joined[g] = block
        ends = g + 1 == groups or wall[g + 1] != wall[g]
        if many >= least or ends:
            if many < least:  # back to the block before, which has enough
                for h in range(first, g + 1):
                    joined[h] = block - 1
            else:
                block += 1
            first, many = g + 1, 0
    return joined
