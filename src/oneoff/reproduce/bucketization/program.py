"""The integer program of section 6.1 applied to two bucket sizes: "Optimal" of figures 6 and 7.

For sizes S1 < S2: numbers of buckets b_j and of people v_ij with value i in buckets of size S_j, all of them whole,

    min sum_j b_j (S_j - 1)^2   with   sum_j v_ij = o_i,   sum_i v_ij = b_j S_j,   v_ij <= floor(f'_i S_j) b_j

once for every pair of sizes that the paper's loops go through. It is here to be timed: TwoSize finds the same loss.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from oneoff.models import Limits
from oneoff.table.arrays import Ints

__all__ = ["TooLong", "two_sizes_by_program"]


class TooLong(Exception):
    """The pairs that were solved, and how many there are."""


def two_sizes_by_program(counts: Ints, limits: Limits, sizes: Ints, seconds: float = np.inf) -> float | None:
    """The least loss of any two sizes; None if there are none. Gives up after so many CPU seconds."""
    began, best = time.process_time(), None
    pairs = list(combinations(sizes.tolist(), 2))
    for done, pair in enumerate(pairs):
        if time.process_time() - began > seconds:
            raise TooLong(f"{done:,} of {len(pairs):,} pairs of sizes")
        found = _pair(counts, limits, pair)
        if found is not None and (best is None or found < best):
            best = found
    return best


def _pair(counts: Ints, limits: Limits, pair: Iterable[int]) -> float | None:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import block_array, eye_array

    m, sizes = len(counts), np.array(list(pair))
    one, room = eye_array(m), [limits.most(int(size)).reshape(-1, 1) for size in sizes]
    row = np.ones((1, m))
    equal = block_array([[one, one, None], [row, None, [[-sizes[0], 0]]], [None, row, [[0, -sizes[1]]]]])
    nothing = np.zeros((m, 1))
    within = block_array([[one, None, np.hstack((-room[0], nothing))], [None, one, np.hstack((nothing, -room[1]))]])
    people = np.concatenate((counts, [0, 0])).astype(np.float64)
    answer = milp(
        np.concatenate((np.zeros(2 * m), (sizes - 1.0) ** 2)),
        constraints=[LinearConstraint(equal, people, people), LinearConstraint(within, -np.inf, 0.0)],
        integrality=np.ones(2 * m + 2),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0.0},
    )
    return None if answer.x is None else float(answer.fun)
