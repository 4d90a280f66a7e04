"""Drawing values by shares, and raking, against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.drawing import draw_values, rake
from oneoff.table.arrays import offsets


def shares_of(rng: np.random.Generator, rows: int, values: int) -> Any:
    return rng.dirichlet(np.ones(values), rows)


def slow_draw(shares: Any, chance: Any, pull: float) -> list[int]:
    due, drawn = np.zeros(shares.shape[1]), []
    for row, at in zip(shares, chance, strict=True):
        likely = row * np.maximum(1 + pull * due, 0)
        likely = likely if likely.sum() > 0 else row
        drawn.append(int(np.searchsorted(np.cumsum(likely), at * likely.sum(), side="right")))
        due = due + row
        due[drawn[-1]] -= 1
    return drawn


@given(seed=st.integers(0, 1000), rows=st.integers(1, 40), values=st.integers(1, 6), pull=st.sampled_from([0.0, 0.5]))
def test_values_are_drawn_as_the_slow_way_draws_them(seed: int, rows: int, values: int, pull: float) -> None:
    rng = np.random.default_rng(seed)
    shares, chance = shares_of(rng, rows, values), rng.random(rows)
    assert draw_values(shares, chance, pull).tolist() == slow_draw(shares, chance, pull)


def test_nobody_gets_a_value_that_she_cannot_have() -> None:
    rng = np.random.default_rng(1)
    shares = shares_of(rng, 500, 4)
    shares[::2, 1] = 0
    shares /= shares.sum(axis=1, keepdims=True)
    assert 1 not in draw_values(shares, rng.random(500), 0.5)[::2]
    assert draw_values(np.array([[0.0, 1.0, 0.0]]), np.array([1.0]), 0.5).tolist() == [1], "nor by rounding"


def test_what_is_due_keeps_sums_and_leaves_everybody_her_own_shares() -> None:
    rng, found, totals = np.random.default_rng(2), np.zeros((60, 3)), []
    shares = shares_of(rng, 60, 3)
    for _ in range(4000):
        drawn = draw_values(shares, rng.random(60), 0.5)
        found[np.arange(60), drawn] += 1
        totals.append(np.bincount(drawn, minlength=3) - shares.sum(axis=0))
    assert np.abs(found / 4000 - shares).max() < 0.06  # four standard errors are .032; being due moves single rows
    assert np.std(totals) < 1.3, "independent draws are off by three"


@given(seed=st.integers(0, 1000))
def test_raked_shares_have_the_wanted_sums(seed: int) -> None:
    """Of a table that has such sums, as the one that they are taken from."""
    rng = np.random.default_rng(seed)
    widths = (3, 2)
    codes = np.stack([np.append(np.arange(w), rng.integers(0, w, 40 - w)) for w in widths], axis=1).astype(np.int32)
    begin, other, shares = offsets(widths), shares_of(rng, 40, 4), shares_of(rng, 40, 4)
    wanted = np.concatenate([[other[codes[:, j] == c].sum(axis=0) for c in range(w)] for j, w in enumerate(widths)])
    rake(shares, codes, begin, wanted, 500)
    for j, width in enumerate(widths):
        for c in range(width):
            assert shares[codes[:, j] == c].sum(axis=0) == pytest.approx(wanted[begin[j] + c], abs=0.02)
    assert shares.sum(axis=1) == pytest.approx(np.ones(40))


def test_raking_by_hand() -> None:
    shares = np.array([[0.5, 0.5], [0.5, 0.5]])
    rake(shares, np.array([[0], [1]], dtype=np.int32), np.array([0, 2]), np.array([[0.2, 0.8], [1.0, 0.0]]), 1)
    assert shares == pytest.approx(np.array([[0.2, 0.8], [1.0, 0.0]]))
