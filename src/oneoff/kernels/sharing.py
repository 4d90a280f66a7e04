"""Beliefs about people, fitted to what they have together: rows and columns are scaled in turn (Sinkhorn).

Both functions change what was believed before in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["share_in_groups", "share_in_records"]


@njit(cache=True)
def share_in_groups(belief: Any, start: Any, member: Any, due: Any, rounds: int) -> None:
    """belief [person, value]: the members member[start[g] : start[g + 1]] of group g have due[g, v] of value v."""
    for g in range(len(start) - 1):
        for _ in range(rounds):
            for v in range(belief.shape[1]):
                _scale_value(belief, member[start[g] : start[g + 1]], v, due[g, v])
            for i in member[start[g] : start[g + 1]]:
                _scale_person(belief, i)


@njit(cache=True)
def _scale_value(belief: Any, members: Any, v: int, due: float) -> None:
    total = 0.0
    for i in members:
        total += belief[i, v]
    if total > 0:
        for i in members:
            belief[i, v] *= due / total


@njit(cache=True)
def _scale_person(belief: Any, i: int) -> None:
    total = 0.0
    for v in range(belief.shape[1]):
        total += belief[i, v]
    if total > 0:
        for v in range(belief.shape[1]):
            belief[i, v] /= total


@njit(cache=True)
def share_in_records(odds: Any, start: Any, record: Any, records: int, rounds: int) -> None:
    """Person i has one of the records record[start[i] : start[i + 1]], with odds[start[i] : start[i + 1]], and a record
    belongs to one person; odds end as probabilities."""
    total = np.zeros(records)
    for _ in range(rounds):
        total[:] = 0.0
        for e in range(len(record)):
            total[record[e]] += odds[e]
        for i in range(len(start) - 1):
            mine = 0.0
            for e in range(start[i], start[i + 1]):
                if total[record[e]] > 0:
                    odds[e] /= total[record[e]]
                mine += odds[e]
            for e in range(start[i], start[i + 1]):
                if mine > 0:
                    odds[e] /= mine
