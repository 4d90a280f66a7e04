"""Who a masked record is, for somebody who knows groups and random output tables (the loops of `audit.exposure`)."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["own_chances", "record_totals"]


@njit(cache=True, nogil=True)
def _chance(
    i: int, r: int, own: Any, shown: Any, row: Any, row_start: Any, entries: Any, odds: Any, total: float
) -> float:
    """The chance that person i shows what the record of person r does.

    row[i, j]   of person i in the tables of quasi-identifier j, numbered through all of them; row_start, entries (code,
                weight): what it shows
    odds        [j]: of being changed afterwards when nothing was, and then the other values of the group
    """
    chance, unchanged, differs, where, again = 1.0, 1.0, 0, 0, 0.0
    quasi = shown.shape[1]
    for j in range(quasi):
        again += odds[j]
    for j in range(quasi):
        here, same = 0.0, 0.0
        for e in range(row_start[row[i, j]], row_start[row[i, j] + 1]):
            if entries[e, 0] == shown[r, j]:
                here = entries[e, 1] / total
            if entries[e, 0] == own[i, j]:
                same = entries[e, 1] / total
        if shown[r, j] != own[i, j]:
            differs += 1
            where = j
        chance *= here
        unchanged *= same
        if chance == 0.0 and (again == 0.0 or unchanged == 0.0):  # most are ruled out by one or two columns
            return 0.0
    if again > 0.0 and differs == 0:
        return 0.0
    if again > 0.0 and differs == 1:
        chance += unchanged * odds[where] / again / odds[quasi + where]
    return chance


@njit(cache=True, nogil=True)
def record_totals(
    people: Any, start: Any, records: Any, record_start: Any, own: Any, shown: Any, row: Any, row_start: Any,
    entries: Any, odds: Any, total: float, found: Any, first: int, last: int,
) -> None:  # fmt: skip
    """found[k] = (sum of the chances of everybody in the group, the highest one) for the record records[k].

    people    [k]: somebody, and how many have the same rows; from start[g] on those of group g, as are the records
    """
    for g in range(first, last):
        for k in range(record_start[g], record_start[g + 1]):
            for p in range(start[g], start[g + 1]):
                chance = _chance(people[p, 0], records[k], own, shown, row, row_start, entries, odds[g], total)
                found[k, 0] += people[p, 1] * chance
                found[k, 1] = max(found[k, 1], chance)


@njit(cache=True, nogil=True)
def own_chances(
    group: Any, own: Any, shown: Any, row: Any, row_start: Any, entries: Any, odds: Any, total: float, found: Any,
    first: int, last: int,
) -> None:  # fmt: skip
    """found[i] = the chance that person i shows what their record does."""
    for i in range(first, last):
        found[i] = _chance(i, i, own, shown, row, row_start, entries, odds[group[i]], total)
