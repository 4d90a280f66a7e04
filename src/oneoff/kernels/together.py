"""What tallies of columns get wrong when neighbouring cells are taken together (the loop of `releases.together`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

__all__ = ["add_seen", "taken_together"]


@njit(cache=True)
def taken_together(size: Any, one: Any, other: Any, begin: Any, joined: Any, joined_one: Any, joined_other: Any) -> Any:
    """[., block, property]: by how much each block is wrong, what chance would make of that, and the room for it that
    its cells do not have.

    Block k has the cells begin[k] to begin[k + 1], with size[c] people, of whom one[c, p] have property p of one column
    and other[c, p] property p of the other; taken together joined[k] people, of whom joined_one[k, p] have it.
    """
    found = np.zeros((3, len(begin), one.shape[1]), np.float64)
    for k in range(len(begin)):
        add_seen(joined[k], joined_one[k], joined_other[k], 1.0, found[:, k])
        for c in range(begin[k], begin[k + 1] if k + 1 < len(begin) else len(size)):
            add_seen(size[c], one[c], other[c], -1.0, found[:, k])
    return found


@njit(cache=True)
def add_seen(people: float, one: Any, other: Any, sign: float, found: Any) -> None:
    """Add how many of so many people should have both properties, the variance of that when columns are shuffled, and
    the room."""
    shuffled = people * people / max(people - 1.0, 1.0)
    for p in range(len(one)):
        varied = (one[p] * (1.0 - one[p])) * (other[p] * (1.0 - other[p]))
        found[0, p] += sign * (people * one[p] * other[p])
        found[1, p] += sign * (shuffled * varied)
        found[2, p] += sign * (people * math.sqrt(max(varied, 0.0)))
