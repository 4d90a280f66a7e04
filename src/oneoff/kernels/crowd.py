"""People along a curve who have no group yet (what the loops of `packing` look through).

Everybody has a position along a curve through the quasi-identifiers: column[a, p] is what a box remembers of attribute
a of the person at position p (`kernels.space.place`), value[p] the sensitive value. Losses are whole numbers of
1 / UNIT, so that ties are exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.space import KIND, RANGE, in_units, place, span_loss

__all__ = [
    "AFTER",
    "BEFORE",
    "BLOCK",
    "PEOPLE",
    "PLACE",
    "POSITION",
    "VALUE",
    "Crowd",
    "beyond",
    "close_up",
    "columns",
    "crowd_of",
    "remove",
    "round_up",
]

BLOCK = 512  # people next to each other on the curve who are kept together

VALUE, POSITION, PLACE = 0, 1, 2  # rows of `person`
PEOPLE, BEFORE, AFTER = 0, 1, 2  # rows of `block`


@njit(cache=True)
def columns(codes: Any, space: Any, order: Any) -> Any:
    """What boxes remember of the people in this order: [attributes, people]."""
    n, d = len(order), codes.shape[1]
    column = np.empty((d, n), np.int32)
    for a in range(d):
        for p in range(n):
            column[a, p] = place(space, a, codes[order[p], a])
    return column


class Crowd(NamedTuple):
    """Who has no group yet, in blocks along the curve; a block begins at a multiple of BLOCK and has no gaps.

    column  [attributes, people]  what boxes remember of the person in each place
    person  [3, people]           value and position of the person in each place, and the place of each position
    block   [3, blocks]           people in it, and the blocks before and after it that are not empty, or -1
    free    [values]              how many have each value
    hot     [values + 1]          values that may soon be too frequent among them, and at the end how many these are
    """

    column: Any
    person: Any
    block: Any
    free: Any
    hot: Any


@njit(cache=True)
def crowd_of(column: Any, value: Any, values: int) -> Any:
    n = len(value)
    person, free = np.empty((3, n), np.int32), np.zeros(values, np.int64)
    for p in range(n):
        person[VALUE, p], person[POSITION, p], person[PLACE, p] = value[p], p, p
        free[value[p]] += 1
    block = np.empty((3, (n + BLOCK - 1) // BLOCK), np.int64)
    _chain(block, n)
    return Crowd(column.copy(), person, block, free, np.zeros(values + 1, np.int64))


@njit(cache=True)
def _chain(block: Any, people: int) -> None:
    """So many people in blocks that are all full, but for the last."""
    many = (people + BLOCK - 1) // BLOCK
    for b in range(many):
        block[PEOPLE, b], block[BEFORE, b], block[AFTER, b] = min(BLOCK, people - b * BLOCK), b - 1, b + 1
    block[AFTER, many - 1] = -1


@njit(cache=True)
def close_up(crowd: Any) -> None:
    """Full blocks again: everybody moves up."""
    left, b = 0, 0
    while crowd.block[PEOPLE, b] == 0:
        b += 1
    while b >= 0:
        for at in range(b * BLOCK, b * BLOCK + crowd.block[PEOPLE, b]):
            _put(crowd, at, left)
            left += 1
        b = crowd.block[AFTER, b]
    crowd.block[PEOPLE] = 0
    _chain(crowd.block, left)


@njit(cache=True)
def _put(crowd: Any, place: int, other: int) -> None:
    """The person in one place goes to another."""
    for a in range(len(crowd.column)):
        crowd.column[a, other] = crowd.column[a, place]
    for row in (VALUE, POSITION):
        crowd.person[row, other] = crowd.person[row, place]
    crowd.person[PLACE, crowd.person[POSITION, other]] = other


@njit(cache=True)
def remove(crowd: Any, place: int) -> None:
    """Somebody leaves; the last of the block takes the place."""
    b = place // BLOCK
    crowd.free[crowd.person[VALUE, place]] -= 1
    crowd.block[PEOPLE, b] -= 1
    _put(crowd, b * BLOCK + crowd.block[PEOPLE, b], place)
    if crowd.block[PEOPLE, b] == 0:
        before, after = crowd.block[BEFORE, b], crowd.block[AFTER, b]
        if before >= 0:
            crowd.block[AFTER, before] = after
        if after >= 0:
            crowd.block[BEFORE, after] = before


@njit(cache=True)
def beyond(space: Any, a: int, y: int, low: int, high: int) -> int:
    """What a range or a node of a hierarchy from low to high loses when it must reach y too."""
    if space.attribute[a, KIND] == RANGE:
        return max(low - y, 0) + max(y - high, 0)
    wide, now = span_loss(space, a, min(low, y), max(high, y), 0), span_loss(space, a, low, high, 0)
    return in_units(wide - now)


@njit(cache=True)
def round_up(a: int, b: int) -> int:
    return -(-a // b)
