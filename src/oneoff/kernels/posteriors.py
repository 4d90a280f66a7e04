"""Who a masked record is, for somebody who knows groups and random output tables (the loop of `audit.masked`)."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["record_posteriors"]


@njit(cache=True, nogil=True)
def record_posteriors(
    members: Any, start: Any, row: Any, row_start: Any, entries: Any, shown: Any, own: Any, odds: Any, others: Any,
    total: float, found: Any, first: int, last: int,
) -> None:  # fmt: skip
    """found[i] = (probability that the record of person i is theirs, probability of the likeliest person behind it).

    members     the people of each group, one group after the other, from start[g] on
    row[j, i]   of person i in the tables of quasi-identifier j, numbered through all of them; row_start, entries
                (code, weight): what it shows
    shown, own  [i, j]: the code of i's record, and i's own
    odds        [g, j]: of being changed afterwards when nothing was; others: the other values of the group
    """
    for g in range(first, last):
        people = members[start[g] : start[g + 1]]
        again = odds[g].sum()
        for r in people:
            everybody, best, mine = 0.0, 0.0, 0.0
            for i in people:
                chance, unchanged, differs, where = 1.0, 1.0, 0, 0
                for j in range(shown.shape[1]):
                    here, same = 0.0, 0.0
                    for e in range(row_start[row[j, i]], row_start[row[j, i] + 1]):
                        if entries[e, 0] == shown[r, j]:
                            here = entries[e, 1] / total
                        if entries[e, 0] == own[i, j]:
                            same = entries[e, 1] / total
                    if shown[r, j] != own[i, j]:
                        differs += 1
                        where = j
                    chance *= here
                    unchanged *= same
                if again > 0 and differs == 0:
                    chance = 0.0
                elif again > 0 and differs == 1 and odds[g, where] > 0:
                    chance += unchanged * odds[g, where] / again / others[g, where]
                everybody += chance
                best = max(best, chance)
                if i == r:
                    mine = chance
            if everybody > 0.0:
                found[r, 0] = mine / everybody
                found[r, 1] = best / everybody
