"""Values dealt out to rows, one after the other, so that sums come true everywhere as nearly as whole people allow.

The way printers draw grey with black dots (error diffusion): what one row could not be given is due to the next ones,
which are its neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["deal_values"]


@njit(cache=True)
def deal_values(codes: Any, begin: Any, effect: Any, level: Any, field: Any, due: Any, unit: int) -> Any:
    """For every row a value: the one most is due of, once the row has added its own shares to what is due.

    codes[i, j]            of row i in column j; begin[j] + codes[i, j] is its row of `effect`
    level[field[i], v]     its share of value v in units, to which effect[..., v] of all its codes are added
    due[v]                 at the beginning, in units; a row that gets v takes a whole person of it
    """
    rows, columns = codes.shape
    values = level.shape[1]
    owed = due.copy()
    dealt = np.empty(rows, np.int32)
    for i in range(rows):
        for v in range(values):
            owed[v] += level[field[i], v]
        for j in range(columns):
            line = effect[begin[j] + codes[i, j]]
            for v in range(values):
                owed[v] += line[v]
        best = 0
        for v in range(1, values):
            if owed[v] > owed[best]:
                best = v
        owed[best] -= unit
        dealt[i] = best
    return dealt
