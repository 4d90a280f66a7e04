"""Who is behind the records of a group when all of them are looked at together: every way to hand them out counts.

The audit looks at each record, and each person, by itself; that is what can be worked out for groups of any size. In
small groups the rest can be had, too: the probability that record r is person i's is the share of the ways in which it
is, weighted by their probabilities. There are m! of them, but 2^m sets of records are enough to add them up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from oneoff.plans import Cover
from oneoff.plans.cover import TOTAL

__all__ = ["MOST", "small_groups"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST = 15  # people in a group


def small_groups(cover: Cover, shown: npt.NDArray[np.int32], values: npt.NDArray[np.int32]) -> dict[str, float]:
    """Over the people in groups of at most MOST: beliefs in the true person and value, by itself and together."""
    start, rows = cover.partition.members
    probability = _probabilities(cover, shown, start, rows)
    found: dict[str, list[Floats]] = {"record": [], "record, together": [], "value": [], "value, together": []}
    for g in np.flatnonzero(np.diff(start) <= MOST).tolist():
        people = rows[start[g] : start[g + 1]]
        pairs = probability[people, : len(people)]
        same = values[people][:, None] == values[people]
        together = _together(pairs)
        found["record"].append(np.diag(pairs) / pairs.sum(axis=0))
        found["record, together"].append(np.diag(together))
        found["value"].append((pairs * same).sum(axis=1) / pairs.sum(axis=1))
        found["value, together"].append((together * same).sum(axis=1))
    joined = {name: np.concatenate(parts) for name, parts in found.items()}
    return {"people": float(len(joined["record"]))} | {name: float(part.mean()) for name, part in joined.items()}


def _probabilities(cover: Cover, shown: npt.NDArray[np.int32], start: Ints, rows: Ints) -> Floats:
    """[i, r]: the probability that person i shows what the r-th person of the group does on their record."""
    group = cover.partition.group
    probability = np.zeros((len(group), MOST))
    for r in range(MOST):
        there = r < np.diff(start)[group]
        other = rows[np.where(there, start[group] + r, 0)]
        each = [table.weight_of(shown[other, j]) / TOTAL for j, table in enumerate(cover.tables)]
        probability[:, r] = np.where(there, np.prod(each, axis=0), 0.0)
    return probability


@njit(cache=True)
def _together(pairs: Any) -> Any:
    """[i, r]: the share of the ways to hand out all records in which person i has record r."""
    people = len(pairs)
    sets = 1 << people
    taken = np.zeros(sets, np.int64)
    for some in range(1, sets):
        taken[some] = taken[some >> 1] + (some & 1)
    before, after = np.zeros(sets), np.zeros(sets)
    before[0] = after[sets - 1] = 1.0
    for some in range(sets - 1):  # the first people have these records
        for r in range(people):
            if not some >> r & 1:
                before[some | 1 << r] += before[some] * pairs[taken[some], r]
    for some in range(sets - 2, -1, -1):  # and the others the rest
        for r in range(people):
            if not some >> r & 1:
                after[some] += pairs[taken[some], r] * after[some | 1 << r]
    found = np.zeros((people, people))
    for some in range(sets - 1):
        for r in range(people):
            if not some >> r & 1:
                i = taken[some]
                found[i, r] += before[some] * pairs[i, r] * after[some | 1 << r]
    return found / before[sets - 1]
