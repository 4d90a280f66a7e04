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

_NOWHERE, _SEVERAL = -1, -2
_CHANCE, _UNCHANGED, _WHERE = range(3)  # what `_one_more` returns, kept for everybody who is left
_SUM, _HIGHEST = range(2)  # columns of what is found
_PEOPLE, _RECORDS = range(2)  # columns of `pairs`: classes
_VALUE, _MANY = range(2)  # columns of `shows` and `has`


class Known(NamedTuple):
    """What somebody knows: classes of people and of records, and the chances in every row of every table.

    own, row        [people class, j]: what they have in column j, and their row in its tables, numbered through all
    people          [people class]: how many they are; people_start[g] is the first class of group g
    shown, records  likewise for the classes of records
    start, code, chance   row r shows code[e] with chance[e], for e in start[r] .. start[r + 1] - 1
    odds            [group]: of being changed in each column when nothing was, and then the other values there
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
    odds: Any


@njit(cache=True, nogil=True)
def _one_more(known: Any, i: int, r: int, j: int, chance: float, unchanged: float, where: int) -> Any:
    """The chance that people of class i show the first columns of the records of class r, with one more column.

    unchanged   the chance that they show their own values in all of them
    where       the column in which the record differs from them, or that it is none or several
    """
    shown, own = known.shown[r, j], known.own[i, j]
    here, same = 0.0, 0.0
    for e in range(known.start[known.row[i, j]], known.start[known.row[i, j] + 1]):
        if known.code[e] == shown:
            here = known.chance[e]
        if known.code[e] == own:
            same = known.chance[e]
    if shown != own:
        where = j if where == _NOWHERE else _SEVERAL
    return chance * here, unchanged * same, where


@njit(cache=True, nogil=True)
def _in_the_end(odds: Any, again: float, chance: float, unchanged: float, where: int) -> float:
    """The chance to show a record, after those who came out unchanged were changed in one column."""
    if again == 0.0 or where == _SEVERAL:
        return chance
    if where == _NOWHERE:
        return 0.0
    return chance + unchanged * odds[where] / again / odds[len(odds) // 2 + where]


@njit(cache=True, nogil=True)
def _narrow(known: Any, fixed: int, of_record: bool, j: int, again: float, who: Any, so_far: Any, many: int) -> int:
    """Who is left after column j, of those whom the columns before it left: how many, after these in the lists."""
    left = 0
    for c in range(many):
        other = who[j, c]
        i, r = (other, fixed) if of_record else (fixed, other)
        chance, unchanged, where = _one_more(
            known, i, r, j, so_far[j, c, _CHANCE], so_far[j, c, _UNCHANGED], np.int64(so_far[j, c, _WHERE])
        )
        if chance > 0.0 or (again > 0.0 and unchanged > 0.0 and where != _SEVERAL):
            who[j + 1, left] = other
            so_far[j + 1, left, _CHANCE], so_far[j + 1, left, _UNCHANGED] = chance, unchanged
            so_far[j + 1, left, _WHERE] = where
            left += 1
    return left


@njit(cache=True, nogil=True)
def _lists(columns: int, first: int, last: int, many: Any) -> Any:
    """Room for those who are left after each column; before the first, all are. `many` says how many they are."""
    many[0] = last - first
    who, so_far = np.empty((columns + 1, many[0]), np.int32), np.empty((columns + 1, many[0], 3))
    for c in range(many[0]):
        who[0, c] = first + c
        so_far[0, c, _CHANCE], so_far[0, c, _UNCHANGED], so_far[0, c, _WHERE] = 1.0, 1.0, _NOWHERE
    return who, so_far


@njit(cache=True, nogil=True)
def _fitting(known: Any, x: int, first: int, of_record: bool, again: float, who: Any, so_far: Any, many: Any) -> int:
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
        many[column + 1] = _narrow(known, x, of_record, column, again, who, so_far, many[column])
    return many[columns]


@njit(cache=True, nogil=True)
def record_totals(known: Any, found: Any, first: int, last: int) -> None:
    """found[k] = (sum of the chances of everybody in the group to show it, the highest one) for records of class k."""
    columns = known.shown.shape[1]
    many = np.empty(columns + 1, np.int64)
    for g in range(first, last):
        who, so_far = _lists(columns, known.people_start[g], known.people_start[g + 1], many)
        again = known.odds[g, :columns].sum()
        for k in range(known.record_start[g], known.record_start[g + 1]):
            for c in range(_fitting(known, k, known.record_start[g], True, again, who, so_far, many)):
                end = so_far[columns, c]
                chance = _in_the_end(known.odds[g], again, end[_CHANCE], end[_UNCHANGED], np.int64(end[_WHERE]))
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
        again = known.odds[g, :columns].sum()
        for p in range(known.people_start[g], known.people_start[g + 1]):
            whole = 0.0
            for c in range(_fitting(known, p, known.people_start[g], False, again, who, so_far, many)):
                end, k = so_far[columns, c], who[columns, c]
                chance = _in_the_end(known.odds[g], again, end[_CHANCE], end[_UNCHANGED], np.int64(end[_WHERE]))
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
        odds, i, r = known.odds[group[x]], pairs[x, _PEOPLE], pairs[x, _RECORDS]
        chance, unchanged, where = 1.0, 1.0, _NOWHERE
        for j in range(columns):
            chance, unchanged, where = _one_more(known, i, r, j, chance, unchanged, where)
        found[x] = _in_the_end(odds, odds[:columns].sum(), chance, unchanged, where)
