"""Who of a group has which of its values: soft assignments, improved in turn with what they teach (deFinetti attack).

The members of group g are member[start[g] : start[g + 1]], its values value[held[g] : held[g + 1]] with due[e] people
each. belief holds a block for each group from block[g] on: members times values, row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["assign", "count_assigned", "evenly"]


@njit(cache=True)
def evenly(start: Any, held: Any, due: Any, block: Any, belief: Any) -> None:
    """Everybody in a group has its values with their shares."""
    for g in range(len(start) - 1):
        many, size = held[g + 1] - held[g], start[g + 1] - start[g]
        for a in range(size):
            for e in range(many):
                belief[block[g] + a * many + e] = due[held[g] + e] / size


@njit(cache=True)
def count_assigned(
    codes: Any, first: Any, start: Any, member: Any, held: Any, value: Any, block: Any, belief: Any, counts: Any
) -> None:
    """counts[first[j] + code, value]: people with both, as assigned."""
    counts[:] = 0.0
    for g in range(len(start) - 1):
        many = held[g + 1] - held[g]
        for a in range(start[g + 1] - start[g]):
            i = member[start[g] + a]
            for j in range(codes.shape[1]):
                row = first[j] + codes[i, j]
                for e in range(many):
                    counts[row, value[held[g] + e]] += belief[block[g] + a * many + e]


@njit(cache=True)
def assign(
    codes: Any, first: Any, logs: Any, start: Any, member: Any, held: Any, value: Any, due: Any, block: Any,
    belief: Any, told: Any, rounds: int,
) -> float:  # fmt: skip
    """Assign anew by log-likelihoods; told[i] is a value known already, -1 for most. How much beliefs moved in all.

    Members and values are scaled in turn until everybody has one value and every value its people (Sinkhorn).
    """
    moved = 0.0
    for g in range(len(start) - 1):
        many, size = held[g + 1] - held[g], start[g + 1] - start[g]
        if many == 0:
            continue
        odds = np.empty((size, many))
        for a in range(size):
            _likelihoods(codes, first, logs, member[start[g] + a], value[held[g] : held[g + 1]], told, odds[a])
        for _ in range(rounds):
            for e in range(many):
                _scale(odds[:, e], due[held[g] + e])
            for a in range(size):
                _scale(odds[a], 1.0)
        for a in range(size):
            for e in range(many):
                place = block[g] + a * many + e
                moved += abs(belief[place] - odds[a, e])
                belief[place] = odds[a, e]
    return moved / 2


@njit(cache=True)
def _likelihoods(codes: Any, first: Any, logs: Any, i: int, values: Any, told: Any, odds: Any) -> None:
    """Likelihoods of a person's codes given each of the values, the largest 1."""
    top = -np.inf
    known = False
    for e in range(len(values)):
        odds[e] = 0.0
        known = known or values[e] == told[i]
        for j in range(codes.shape[1]):
            odds[e] += logs[first[j] + codes[i, j], values[e]]
        top = max(top, odds[e])
    for e in range(len(values)):
        odds[e] = np.exp(odds[e] - top)
        if known:
            odds[e] = 1.0 if values[e] == told[i] else 0.0


@njit(cache=True)
def _scale(some: Any, total: float) -> None:
    found = some.sum()
    if found > 0:
        for a in range(len(some)):
            some[a] *= total / found
