"""Values dealt out row by row, against the obvious loop, and how near sums come."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.dealing import deal_values

UNIT = 1000


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 5))
def test_who_is_owed_most_is_served_first(seed: int, rows: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    codes, begin = rng.integers(0, 3, (rows, 2)), np.array([0, 3, 6])
    effect, level = rng.integers(-200, 200, (6, values)), rng.integers(-300, 900, (4, values))
    field, due = rng.integers(0, 4, rows), rng.integers(-500, 500, values)
    owed, dealt = due.tolist(), []
    for i in range(rows):
        for v in range(values):
            owed[v] += int(level[field[i], v] + effect[codes[i, 0], v] + effect[3 + codes[i, 1], v])
        dealt.append(owed.index(max(owed)))
        owed[dealt[-1]] -= UNIT
    before = due.copy()
    assert deal_values(codes, begin, effect, level, field, due, UNIT).tolist() == dealt
    assert np.array_equal(due, before)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_no_value_is_ever_far_from_its_due(seed: int, values: int) -> None:
    """Where shares are shares, after every row: fewer people short than there are values."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(values), 5)
    level = np.rint(shares * UNIT).astype(np.int64)
    level[:, 0] += UNIT - level.sum(axis=1)
    field, none = rng.integers(0, 5, 400), np.zeros((1, values), dtype=np.int64)
    dealt = deal_values(np.zeros((400, 1), np.int64), np.array([0, 1]), none, level, field, none[0], UNIT)
    due = np.cumsum(level[field], axis=0) / UNIT
    given_out = np.cumsum(dealt[:, None] == np.arange(values), axis=0)
    assert np.abs(due - given_out).max() < values
