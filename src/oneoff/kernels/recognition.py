"""Who is found by looking up some of the quasi-identifiers (the loops of `audit.recognition`).

alike  how many records match a person on all attributes that are used
hits   how many of them show the person's own sensitive value (a sum of chances where records show chances)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.threads import spread

__all__ = ["Boxes", "Files", "all_subsets", "along_orders", "disclosed", "refine"]


_OWN, _VALUE = range(2)  # columns of `person`: the own record or its box, and the sensitive value
_BOX, _MANY = range(2)  # columns of Boxes.entry
_IDENTITY, _ATTRIBUTE = range(2)  # what is disclosed
_ALIKE, _HITS = range(2)


class Files(NamedTuple):
    """Records and people behind one another: row r is record r, row records + i is person i.

    shows   [records]    what a record shows of the sensitive value: line k says value[e] with chance share[e], for e in
    start, value, share  start[k] .. start[k + 1] - 1
    person  [people, 2]  the own record of each person, and the sensitive value
    values               how many values there are; a person may also have number `values`, which no record shows
    """

    shows: Any
    start: Any
    value: Any
    share: Any
    person: Any
    values: int


@njit(cache=True)
def refine(row: Any, number: Any, code: Any, records: int) -> Any:
    """Divide classes of rows by one more attribute: (row, number) of the new classes, ascending.

    row[p] is in class number[p], classes numbered from 0 in the order of p; code[row] is the row's code. Classes
    without records or without people are left out: nobody will be found in them, whatever else is used.
    """
    many = len(row)
    by_code = np.empty(many, np.int32)
    order = np.empty(many, np.int32)
    if many == 0:
        return by_code, order
    _sort_stable(code[row], np.arange(many).astype(np.int32), by_code)
    _sort_stable(number[by_code], by_code, order)
    new_row, new_number = np.empty(many, np.int32), np.empty(many, np.int32)
    kept, classes, first = 0, 0, 0
    while first < many:
        last, found = first, 0
        p = order[first]
        while last < many and number[order[last]] == number[p] and code[row[order[last]]] == code[row[p]]:
            new_row[kept + last - first] = row[order[last]]
            found += row[order[last]] < records
            last += 1
        if 0 < found < last - first:
            new_number[kept : kept + last - first] = classes
            kept += last - first
            classes += 1
        first = last
    return new_row[:kept].copy(), new_number[:kept].copy()


@njit(cache=True)
def _sort_stable(key: Any, item: Any, out: Any) -> None:
    """out: the items by their keys (small whole numbers), equals in the order given."""
    place = np.zeros(key.max() + 2, np.int64)
    for k in key:
        place[k + 1] += 1
    for k in range(1, len(place)):
        place[k] += place[k - 1]
    for i in range(len(key)):
        out[place[key[i]]] = item[i]
        place[key[i]] += 1


@njit(cache=True)
def disclosed(row: Any, number: Any, files: Any) -> Any:
    """Identity and attribute disclosure, added up over the people: classes hold who matches whom."""
    records = len(files.shows)
    where = np.full(records, -1, np.int32)
    chance = np.zeros(files.values + 1)  # of each value in a class, added up
    identity, attribute, first = 0.0, 0.0, 0
    while first < len(row):
        last, alike = first, 0
        while last < len(row) and number[last] == number[first]:
            r = row[last]
            if r < records:
                alike += 1
                where[r] = number[first]
                for e in range(files.start[files.shows[r]], files.start[files.shows[r] + 1]):
                    chance[files.value[e]] += files.share[e]
            last += 1
        for p in range(first, last):
            person = row[p] - records
            if person >= 0:
                identity += (where[files.person[person, _OWN]] == number[first]) / alike
                attribute += chance[files.person[person, _VALUE]] / alike
        for p in range(first, last):
            if row[p] < records:
                for e in range(files.start[files.shows[row[p]]], files.start[files.shows[row[p]] + 1]):
                    chance[files.value[e]] = 0.0
        first = last
    return identity, attribute


class Boxes(NamedTuple):
    """Generalized records, many in each box.

    inside  [lines, boxes]  1 where a box contains the code that the line stands for
    size    [boxes]         records of a box
    start, entry            value v is shown by entry[e, 1] records of box entry[e, 0], for e in start[v] ..
    """

    inside: Any
    size: Any
    start: Any
    entry: Any


def all_subsets(boxes: Boxes, person: Any, lines: Any) -> Any:
    """[people, 2, d + 1]: each person's identity and attribute disclosure, added up over the subsets of each size.

    person  [people, 2]  the box of the own record, and the sensitive value
    lines   [people, d]  the line of `inside` for each code of the person
    """
    found = np.zeros((len(lines), 2, lines.shape[1] + 1))
    spread(lambda first, last: _all_subsets(boxes, person, lines, first, last, found), len(lines))
    return found


@njit(cache=True, nogil=True)
def _all_subsets(boxes: Any, person: Any, lines: Any, first: int, last: int, found: Any) -> None:
    d, many = lines.shape[1], len(boxes.size)
    fits = np.empty(many, np.int32)  # bit j: the box contains the person's code of attribute j
    counts = np.empty((2, 1 << d), np.int64)  # alike and hits of each subset, at first of those that fit just so
    used = np.zeros(1 << d, np.int64)
    for subset in range(1, 1 << d):
        used[subset] = used[subset >> 1] + (subset & 1)
    for i in range(first, last):
        fits[:] = 0
        for j in range(d):
            inside = boxes.inside[lines[i, j]]
            for b in range(many):
                fits[b] |= np.int32(inside[b]) << np.int32(j)
        counts[:] = 0
        for b in range(many):
            counts[_ALIKE, fits[b]] += boxes.size[b]
        for e in range(boxes.start[person[i, _VALUE]], boxes.start[person[i, _VALUE] + 1]):
            counts[_HITS, fits[boxes.entry[e, _BOX]]] += boxes.entry[e, _MANY]
        _add_supersets(counts[_ALIKE], d)
        _add_supersets(counts[_HITS], d)
        for subset in range(1 << d):
            if counts[_ALIKE, subset] > 0:
                own = fits[person[i, _OWN]] & subset == subset
                found[i, _IDENTITY, used[subset]] += own / counts[_ALIKE, subset]
                found[i, _ATTRIBUTE, used[subset]] += counts[_HITS, subset] / counts[_ALIKE, subset]


@njit(cache=True, nogil=True)
def _add_supersets(count: Any, d: int) -> None:
    """Add to every subset of d attributes what its supersets have."""
    for j in range(d):
        step = 1 << j
        for base in range(0, 1 << d, 2 * step):
            for subset in range(base, base + step):
                count[subset] += count[subset + step]


def along_orders(boxes: Boxes, person: Any, lines: Any, order: Any) -> Any:
    """[people, 2, d + 1]: disclosure under the first s attributes of the person's order, for every s."""
    found = np.zeros((len(lines), 2, lines.shape[1] + 1))
    spread(lambda first, last: _along_orders(boxes, person, lines, order, first, last, found), len(lines))
    return found


@njit(cache=True, nogil=True)
def _along_orders(boxes: Any, person: Any, lines: Any, order: Any, first: int, last: int, found: Any) -> None:
    d, many = lines.shape[1], len(boxes.size)
    fits = np.empty(many, np.uint8)
    for i in range(first, last):
        fits[:] = 1
        for s in range(d + 1):
            if s > 0:
                inside = boxes.inside[lines[i, order[i, s - 1]]]
                for b in range(many):
                    fits[b] &= inside[b]
            alike, hits = 0, 0
            for b in range(many):
                alike += fits[b] * boxes.size[b]
            if alike == 0:
                break
            for e in range(boxes.start[person[i, _VALUE]], boxes.start[person[i, _VALUE] + 1]):
                hits += fits[boxes.entry[e, _BOX]] * boxes.entry[e, _MANY]
            found[i, _IDENTITY, s] = fits[person[i, _OWN]] / alike
            found[i, _ATTRIBUTE, s] = hits / alike
