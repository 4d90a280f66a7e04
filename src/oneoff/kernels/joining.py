"""Groups joined with their neighbours until a rule allows every one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.rules import allows, counted

__all__ = ["join_groups"]


@njit(cache=True)
def join_groups(values: Any, begin: Any, rule: Any) -> Any:
    """The joined group of every group, when groups follow one another: their rows are values[begin[g] : begin[g + 1]].

    A group that the rule does not allow is joined with the next one, and what is left at the end with those before it.
    All of them together must be allowed.
    """
    groups, width = len(begin) - 1, rule.limits.shape[1]
    joined, start = np.empty(groups, np.int64), np.empty(groups, np.int64)
    count, touched = np.zeros(width, np.int64), np.empty(width, np.int64)
    blocks, first, many = 0, 0, 0
    for g in range(groups):
        many = counted(rule.parts, values, begin[g], begin[g + 1], count, touched, many)
        good = allows(rule, count, touched, many, begin[g + 1] - begin[first])
        if not good and g + 1 < groups:
            continue
        while not good and blocks > 0:
            blocks -= 1
            many = counted(rule.parts, values, begin[start[blocks]], begin[first], count, touched, many)
            first = start[blocks]
            good = allows(rule, count, touched, many, begin[g + 1] - begin[first])
        for t in range(many):
            count[touched[t]] = 0
        start[blocks] = first
        joined[first : g + 1] = blocks
        blocks, first, many = blocks + 1, g + 1, 0
    return joined
