"""Who costs the others of a cell most: cells are peeled while what the rest saves is worth those who go.

The loss of a cell is the mean over attributes of what its box loses (`space.span_loss`), for each of its people; of
somebody left out it is 1. A step takes everybody of the cell with one code of one attribute: any code of a set, the
lowest or the highest of a range or a hierarchy. Codes are tried in ascending order and nothing depends on the order of
rows, so people with equal codes are always in one step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.sort import sort_ints
from oneoff.kernels.space import KIND, SET, span_loss

__all__ = ["cell_losses", "peel", "working_space"]

_TINY = 1e-9  # what is not more than this is rounding
COUNT, HOLDER, ORDER = range(3)  # lines of the working space, by code: people, the last of them; and codes in order


def working_space(widest: int, largest: int) -> Any:
    """Room for the codes of the widest attribute, and for the people of the largest cell."""
    return np.zeros((3, widest), np.int64), np.zeros(largest)


@njit(cache=True)
def cell_losses(codes: Any, space: Any, start: Any, rows: Any, work: Any) -> Any:
    """The loss of each of the people of every cell; cell g has rows[start[g] : start[g + 1]]."""
    loss = np.empty(len(start) - 1)
    for g in range(len(loss)):
        loss[g] = _loss(codes, space, rows, start[g], start[g + 1], work)
    return loss


@njit(cache=True)
def peel(codes: Any, space: Any, start: Any, rows: Any, least: float, work: Any, alone: Any) -> Any:
    """[row]: what leaving out everybody of the row's step saves for each of them, beyond what they cost. Who is in no
    step would save no more than the own loss, which is at most 1.

    No cell is peeled down to less than the part `least` of its people. `rows` is put in another order inside cells.
    """
    gain = np.empty(len(codes))
    for g in range(len(start) - 1):
        first, last = start[g], start[g + 1]
        loss, fewest = _loss(codes, space, rows, first, last, work), least * (last - first)
        while True:
            j, code, many = _best_step(codes, space, rows, first, last, fewest, loss, work, alone)
            if many == 0:
                break
            middle = _set_aside(codes, rows, first, last, j, code)
            rest = _loss(codes, space, rows, middle, last, work)
            saved = ((last - first) * loss - (last - middle) * rest - many) / many
            for i in range(first, middle):
                gain[rows[i]] = saved
            first, loss = middle, rest
        for i in range(first, last):
            gain[rows[i]] = loss - 1.0
    return gain


@njit(cache=True)
def _loss(codes: Any, space: Any, rows: Any, first: int, last: int, work: Any) -> float:
    d, total = codes.shape[1], 0.0
    for j in range(d):
        many = _tally(codes, rows, first, last, j, work)
        total += span_loss(space, j, work[ORDER, 0], work[ORDER, many - 1], many)
        _forget(many, work)
    return total / d


@njit(cache=True)
def _tally(codes: Any, rows: Any, first: int, last: int, j: int, work: Any) -> int:
    """Count the codes of an attribute, and put them in order; how many there are."""
    many = 0
    for i in range(first, last):
        c = codes[rows[i], j]
        if work[COUNT, c] == 0:
            work[ORDER, many] = c
            many += 1
        work[COUNT, c] += 1
        work[HOLDER, c] = i
    sort_ints(work[ORDER], many)
    return many


@njit(cache=True)
def _forget(many: int, work: Any) -> None:
    for i in range(many):
        work[COUNT, work[ORDER, i]] = 0


@njit(cache=True)
def _best_step(
    codes: Any, space: Any, rows: Any, first: int, last: int, fewest: float, loss: float, work: Any, alone: Any
) -> Any:
    """Attribute, code and people of the step that saves most for each of them; no people where none pays.

    What the others save is foreseen in the attribute alone or, of somebody whose code is nobody else's, in all
    attributes in which that is so: never too much, so no step is taken that does not pay.
    """
    d, size = codes.shape[1], last - first
    _saved_alone(codes, space, rows, first, last, work, alone)
    best, which, what, people = _TINY, np.int64(-1), np.int64(-1), np.int64(0)
    for j in range(d):
        many = _tally(codes, rows, first, last, j, work)
        for i in range(many):
            c = work[ORDER, i]
            r = work[COUNT, c]
            if many > 1 and size - r >= fewest and (i in (0, many - 1) or space.attribute[j, KIND] == SET):
                each = alone[work[HOLDER, c] - first] if r == 1 else _saved(space, j, i, many, work) / d
                paid = (r * loss + (size - r) * each - r) / r
                if paid > best + _TINY:
                    best, which, what, people = paid, np.int64(j), np.int64(c), np.int64(r)
        _forget(many, work)
    return which, what, people


@njit(cache=True)
def _saved_alone(codes: Any, space: Any, rows: Any, first: int, last: int, work: Any, alone: Any) -> None:
    """What each of the others would save without somebody, in attributes whose code is nobody else's."""
    d = codes.shape[1]
    alone[: last - first] = 0.0
    for j in range(d):
        many = _tally(codes, rows, first, last, j, work)
        for i in range(many):
            c = work[ORDER, i]
            if many > 1 and work[COUNT, c] == 1 and (i in (0, many - 1) or space.attribute[j, KIND] == SET):
                alone[work[HOLDER, c] - first] += _saved(space, j, i, many, work) / d
        _forget(many, work)


@njit(cache=True)
def _saved(space: Any, j: int, i: int, many: int, work: Any) -> float:
    """How much narrower attribute j gets without the i-th of its codes."""
    low, high = work[ORDER, 0], work[ORDER, many - 1]
    before = span_loss(space, j, low, high, many)
    low, high = work[ORDER, 1] if i == 0 else low, work[ORDER, many - 2] if i == many - 1 else high
    return before - span_loss(space, j, low, high, many - 1)


@njit(cache=True)
def _set_aside(codes: Any, rows: Any, first: int, last: int, j: int, code: int) -> int:
    """Those with the code before the others; where the others begin."""
    middle = first
    for i in range(first, last):
        if codes[rows[i], j] == code:
            rows[i], rows[middle] = rows[middle], rows[i]
            middle += 1
    return middle
