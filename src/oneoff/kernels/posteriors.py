"""Who a masked record is, for somebody who knows groups and random output tables (the loops of `audit.exposure`).

People with the same rows are looked at once, as are records that show the same. Both come in lexicographic order, so
neighbours share the columns they begin with, and for each of these only those are kept who are not ruled out by it.
That makes it possible to look at groups of many thousands, where hardly any pair of a person and a record is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

__all__ = ["Known", "belief_in_values", "pair_chances", "record_totals"]

_CHANCE, _AGAIN, _DIFFERS = range(3)  # what `_one_more` returns, kept for everybody who is left
_WHOLE, _CHANGED = -2, -1  # columns of `again`, behind those of the quasi-identifiers
_SUM, _HIGHEST = range(2)  # columns of what is found
_PEOPLE, _RECORDS = range(2)  # columns of `pairs`: classes
_VALUE, _MANY = range(2)  # columns of `shows` and `has`


class Known(NamedTuple):
    """What somebody knows: classes of people and of records, and the chances in every row of every table.

    own, row        [people class, j]: what they have in column j, and their row in its tables, numbered through all
    people          [people class]: how many they are; people_start[g] is the first class of group g
    shown, records  likewise for the classes of records
    start, code, chance   row r shows code[e] with chance[e], for e in start[r] .. start[r + 1] - 1
    again           [group]: when nothing was changed, so many columns are (last), each set of them with the product of
                    their numbers here, over the one before the last, for each choice of other values
    """

    own: Any
    row: Any
    people: Any
    people_start: Any
    shown: Any
    records: Any
    record_start: Any
    start: Any
    code: Any
    chance: Any
    again: Any


@njit(cache=True, nogil=True)
def _one_more(known: Any, g: int, i: int, r: int, j: int, chance: float, again: float, differs: float) -> Any:
    """The chance that people of class i show the first columns of the records of class r, with one more column.

    again     the chance that they show their own values in all of them, times what `known.again` has for those columns
              in which the record differs from them
    differs   how many these are
    """
    shown, own = known.shown[r, j], known.own[i, j]
    here, same = 0.0, 0.0
    for e in range(known.start[known.row[i, j]], known.start[known.row[i, j] + 1]):
        if known.code[e] == shown:
            here = known.chance[e]
        if known.code[e] == own:
            same = known.chance[e]
    if shown != own:
        return chance * here, again * same * known.again[g, j], differs + 1.0
    return chance * here, again * same, differs


@njit(cache=True, nogil=True)
def _in_the_end(known: Any, g: int, chance: float, again: float, differs: float) -> float:
    """The chance to show a record, after those who came out unchanged were changed."""
    if known.again[g, _WHOLE] == 0.0:
        return chance
    if differs == 0.0:
        return 0.0
    return chance + (again / known.again[g, _WHOLE] if differs == known.again[g, _CHANGED] else 0.0)


@njit(cache=True, nogil=True)
def _narrow(known: Any, g: int, fixed: int, of_record: bool, j: int, who: Any, so_far: Any, many: int) -> int:
    """Who is left after column j, of those whom the columns before it left: how many, after these in the lists."""
    left = 0
    for c in range(many):
        other = who[j, c]
        i, r = (other, fixed) if of_record else (fixed, other)
        before = so_far[j, c]
        chance, again, differs = _one_more(known, g, i, r, j, before[_CHANCE], before[_AGAIN], before[_DIFFERS])
        if chance > 0.0 or (again > 0.0 and differs <= known.again[g, _CHANGED]):
            who[j + 1, left] = other
            so_far[j + 1, left, _CHANCE], so_far[j + 1, left, _AGAIN] = chance, again
            so_far[j + 1, left, _DIFFERS] = differs
            left += 1
    return left


@njit(cache=True, nogil=True)
def _lists(columns: int, first: int, last: int, many: Any) -> Any:
    """Room for those who are left after each column; before the first, all are. `many` says how many they are."""
    many[0] = last - first
    who, so_far = np.empty((columns + 1, many[0]), np.int32), np.empty((columns + 1, many[0], 3))
    for c in range(many[0]):
        who[0, c] = first + c
        so_far[0, c, _CHANCE], so_far[0, c, _AGAIN], so_far[0, c, _DIFFERS] = 1.0, 1.0, 0.0
    return who, so_far


@njit(cache=True, nogil=True)
def _fitting(known: Any, g: int, x: int, first: int, of_record: bool, who: Any, so_far: Any, many: Any) -> int:
    """How many fit class x of records or of people: the lists are those of the class before it, unless x is the first.

    Only the columns from the first one on in which the two classes differ are looked at again.
    """
    columns, j = known.shown.shape[1], 0
    if x > first and of_record:
        while j < columns and known.shown[x, j] == known.shown[x - 1, j]:
            j += 1
    elif x > first:
        while j < columns and known.row[x, j] == known.row[x - 1, j] and known.own[x, j] == known.own[x - 1, j]:
            j += 1
    for column in range(j, columns):
        many[column + 1] = _narrow(known, g, x, of_record, column, who, so_far, many[column])
    return many[columns]


@njit(cache=True, nogil=True)
def record_totals(known: Any, found: Any, first: int, last: int) -> None:
    """found[k] = (sum of the chances of everybody in the group to show it, the highest one) for records of class k."""
    columns = known.shown.shape[1]
    many = np.empty(columns + 1, np.int64)
    for g in range(first, last):
        who, so_far = _lists(columns, known.people_start[g], known.people_start[g + 1], many)
        for k in range(known.record_start[g], known.record_start[g + 1]):
            for c in range(_fitting(known, g, k, known.record_start[g], True, who, so_far, many)):
                end = so_far[columns, c]
                chance = _in_the_end(known, g, end[_CHANCE], end[_AGAIN], end[_DIFFERS])
                found[k, _SUM] += known.people[who[columns, c]] * chance
                found[k, _HIGHEST] = max(found[k, _HIGHEST], chance)


@njit(cache=True, nogil=True)
def belief_in_values(
    known: Any, shows: Any, shows_start: Any, has: Any, has_start: Any, ceiling: Any, found: Any, first: int, last: int
) -> None:
    """found[p] = (sum of the beliefs in their own values, highest belief over its ceiling) for people of class p.

    shows, has   (value, how many) for each class of records, and for each class of people
    """
    columns = known.shown.shape[1]
    many, belief = np.empty(columns + 1, np.int64), np.zeros(len(ceiling))
    for g in range(first, last):
        who, so_far = _lists(columns, known.record_start[g], known.record_start[g + 1], many)
        for p in range(known.people_start[g], known.people_start[g + 1]):
            whole = 0.0
            for c in range(_fitting(known, g, p, known.people_start[g], False, who, so_far, many)):
                end, k = so_far[columns, c], who[columns, c]
                chance = _in_the_end(known, g, end[_CHANCE], end[_AGAIN], end[_DIFFERS])
                whole += chance * known.records[k]
                for e in range(shows_start[k], shows_start[k + 1]):
                    belief[shows[e, _VALUE]] += chance * shows[e, _MANY]
            for e in range(has_start[p], has_start[p + 1]):
                found[p, _SUM] += has[e, _MANY] * belief[has[e, _VALUE]] / whole
            for c in range(many[columns]):
                k = who[columns, c]
                for e in range(shows_start[k], shows_start[k + 1]):
                    v = shows[e, _VALUE]
                    found[p, _HIGHEST] = max(found[p, _HIGHEST], belief[v] / whole / ceiling[v])
                    belief[v] = 0.0


@njit(cache=True, nogil=True)
def pair_chances(known: Any, pairs: Any, group: Any, found: Any, first: int, last: int) -> None:
    """found[x] = the chance that people of class pairs[x, _PEOPLE] show the records of pairs[x, _RECORDS]."""
    columns = known.shown.shape[1]
    for x in range(first, last):
        g, i, r = group[x], pairs[x, _PEOPLE], pairs[x, _RECORDS]
        chance, again, differs = 1.0, 1.0, 0.0
        for j in range(columns):
            chance, again, differs = _one_more(known, g, i, r, j, chance, again, differs)
        found[x] = _in_the_end(known, g, chance, again, differs)
