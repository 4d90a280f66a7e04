"""Values drawn for rows by shares of their own, while sums over all rows stay as nearly as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["draw_values", "rake"]


@njit(cache=True)
def rake(shares: Any, codes: Any, begin: Any, wanted: Any, rounds: int) -> None:
    """Multiply shares until their sums over the rows with each code are the wanted ones (iterative proportional
    fitting); those of a row stay 1 in all.

    shares[i, v]   of row i, none below 0; changed in place
    codes[i, j]    of row i in column j; wanted[begin[j] + codes[i, j], v] is what its rows should have of value v
    """
    rows, values = shares.shape
    factor = np.empty(wanted.shape)
    for _ in range(rounds):
        for j in range(codes.shape[1]):
            factor[begin[j] : begin[j + 1]] = 0.0
            for i in range(rows):
                for v in range(values):
                    factor[begin[j] + codes[i, j], v] += shares[i, v]
            for c in range(begin[j], begin[j + 1]):
                for v in range(values):
                    factor[c, v] = wanted[c, v] / factor[c, v] if factor[c, v] > 0 else 0.0
            for i in range(rows):
                total = 0.0
                for v in range(values):
                    shares[i, v] *= factor[begin[j] + codes[i, j], v]
                    total += shares[i, v]
                for v in range(values):
                    shares[i, v] = shares[i, v] / total if total > 0 else 1.0 / values


@njit(cache=True)
def draw_values(shares: Any, chance: Any, pull: float) -> Any:
    """A value for every row with its own shares as probabilities, made larger for values that are due.

    chance[i]   from 0 to 1
    pull        by how many parts of itself a share grows for a person that is due of the value: 0 draws rows
                independently of each other; otherwise counts of values stay near the sums of shares, from row to row
    """
    rows, values = shares.shape
    due, likely, drawn = np.zeros(values), np.empty(values), np.empty(rows, np.int32)
    for i in range(rows):
        total = 0.0
        for v in range(values):
            likely[v] = shares[i, v] * max(1.0 + pull * due[v], 0.0)
            total += likely[v]
        if total <= 0.0:  # every value that the row can have has been given too often
            total = 0.0
            for v in range(values):
                likely[v] = shares[i, v]
                total += likely[v]
        left, best = chance[i] * total, 0
        for v in range(values):
            if likely[v] > 0.0:
                best = v
                left -= likely[v]
                if left < 0.0:
                    break
        for v in range(values):
            due[v] += shares[i, v]
        due[best] -= 1.0
        drawn[i] = best
    return drawn
