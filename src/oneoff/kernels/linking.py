"""Who fits which box (the loops of `audit.linking`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

__all__ = ["BoxIndex", "contained", "mark_boxes"]

_ROW, _STRETCHES, _POSITIONS = range(3)  # columns of BoxIndex.attribute
_FIRST, _LAST = range(2)  # lines of BoxIndex.spans


class BoxIndex(NamedTuple):
    """Boxes, and for every stretch of an attribute the boxes that show some of it, as bits.

    attribute   (d, 3): the first row of an attribute in `bits`, in how many stretches its positions are divided, and
                how many positions it has; position p is in stretch p * stretches // positions
    bits        (rows, words): bit b % 64 of word b // 64 is set when box b shows part of the stretch
    blocks      (rows, words / 64): bit w % 64 of word w // 64 is set when word w of that row of `bits` is not zero
    start       (d, boxes + 1): box b shows the spans start[j, b] .. start[j, b + 1] - 1 of attribute j
    spans       (2, ...): first and last position of each span, ascending within a box
    record_start, record   the records of box b are record[record_start[b] : record_start[b + 1]]
    """

    attribute: Any
    bits: Any
    blocks: Any
    start: Any
    spans: Any
    record_start: Any
    record: Any


@njit(cache=True)
def mark_boxes(index: Any) -> None:
    """Fill `bits` and `blocks` (all zero before) from the spans."""
    for j in range(len(index.attribute)):
        row = index.attribute[j, _ROW]
        for b in range(index.start.shape[1] - 1):
            bit = np.uint64(1) << np.uint64(b & 63)
            for s in range(index.start[j, b], index.start[j, b + 1]):
                first, last = _stretch(index, j, index.spans[_FIRST, s]), _stretch(index, j, index.spans[_LAST, s])
                for stretch in range(first, last + 1):
                    index.bits[row + stretch, b >> 6] |= bit
    for row in range(index.bits.shape[0]):
        for w in range(index.bits.shape[1]):
            if index.bits[row, w] != 0:
                index.blocks[row, w >> 6] |= np.uint64(1) << np.uint64(w & 63)


@njit(cache=True)
def contained(index: Any, position: Any, person: int, ends: Any, found: Any) -> int:
    """List the records whose box contains each person, from `person` on until all are done or `found` may overflow.

    Those of person p end up in found[ends[p - 1] : ends[p]], the first person's from 0 on. Returns the next person.
    `found` is as long as there are records at least, so that every call makes progress.
    """
    n, d = position.shape
    rows = np.empty(d, np.int64)
    many = np.int64(0)
    while person < n and many + len(index.record) <= len(found):
        for j in range(d):
            rows[j] = index.attribute[j, _ROW] + _stretch(index, j, position[person, j])
        for block in range(index.blocks.shape[1]):
            words = _common(index.blocks, rows, block)
            while words != 0:
                w = (block << 6) + _lowest(words)
                words &= words - np.uint64(1)
                boxes = _common(index.bits, rows, w)
                while boxes != 0:
                    b = (w << 6) + _lowest(boxes)
                    boxes &= boxes - np.uint64(1)
                    if _inside(index, position, person, b):
                        for r in range(index.record_start[b], index.record_start[b + 1]):
                            found[many] = index.record[r]
                            many += 1
        ends[person] = many
        person += 1
    return person


@njit(cache=True)
def _stretch(index: Any, j: int, position: int) -> int:
    """The stretch of attribute j in which a position is."""
    return np.int64(position) * index.attribute[j, _STRETCHES] // index.attribute[j, _POSITIONS]


@njit(cache=True)
def _common(bits: Any, rows: Any, w: int) -> Any:
    """The bits of word w that are set in all of the rows."""
    common = bits[rows[0], w]
    for j in range(1, len(rows)):
        if common == 0:
            break
        common &= bits[rows[j], w]
    return common


@njit(cache=True)
def _lowest(word: Any) -> int:
    """The place of the lowest bit that is set."""
    place = 0
    step = 32
    while step > 0:
        if word & ((np.uint64(1) << np.uint64(step)) - np.uint64(1)) == 0:
            word >>= np.uint64(step)
            place += step
        step >>= 1
    return place


@njit(cache=True)
def _inside(index: Any, position: Any, person: int, b: int) -> bool:
    """Does box b show the person's positions? Only stretches of several positions leave that open."""
    for j in range(position.shape[1]):
        if index.attribute[j, _STRETCHES] == index.attribute[j, _POSITIONS]:
            continue
        p = position[person, j]
        low, high = index.start[j, b], index.start[j, b + 1]
        while low < high:  # the first span that ends at p or later
            middle = (low + high) >> 1
            if index.spans[_LAST, middle] < p:
                low = middle + 1
            else:
                high = middle
        if low == index.start[j, b + 1] or index.spans[_FIRST, low] > p:
            return False
    return True
