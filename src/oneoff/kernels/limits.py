"""Rows of the limits that a promise puts on groups (`models.Limits.rows`), by name; the same in every loop.

A group of z people with c of value v keeps the ceiling if c * limits[CEILING_OF, v] <= limits[CEILING, v] * z, and the
floor if c * limits[FLOOR_OF, v] >= limits[FLOOR, v] * z: whole numbers, exact for groups of any size that can occur.
Where values play no part everybody has value 0, whose ceiling is 1 (`models.limits.ANYBODY`).
"""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = [
    "AROUND",
    "BELOW",
    "BY_RANK",
    "CEILING",
    "CEILING_OF",
    "FLOOR",
    "FLOOR_OF",
    "HOME",
    "RANK",
    "ROUNDED",
    "keeps_floors",
]

CEILING, CEILING_OF = 0, 1  # numerator and denominator
FLOOR, FLOOR_OF = 2, 3

# What `models.Rule` adds: people with a lower value, in the whole table.
BELOW = 4

# What `models.limits.OrderedLimits` adds: the place of a value in the order of ceilings, the value at each place, the
# innermost set it belongs to, and whether its ceiling lies above the fraction.
RANK, BY_RANK, HOME, ROUNDED = 4, 5, 6, 7

# Columns of its sets are CEILING, CEILING_OF and the set around a set.
AROUND = 2


@njit(cache=True)
def keeps_floors(limits: Any, count: Any, size: int) -> bool:
    """Has a group of that many people, count[v] with value v, enough of every value?"""
    missing = 0
    for v in range(limits.shape[1]):
        missing += count[v] * limits[FLOOR_OF, v] < limits[FLOOR, v] * size
    return missing == 0
