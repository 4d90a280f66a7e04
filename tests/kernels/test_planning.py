"""Which sensitive values should share a bucket, against all ways to put few together."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.planning import alike
from tests.kernels.grouped import Floats, Ints


def foreseen(shown: Floats, counts: Ints, home: Ints, gaps: Floats, numeric: npt.NDArray[np.bool_], many: int) -> float:
    """What buckets that look different cost per group, times the groups, and twelve for everybody too many."""
    load = np.array([counts[home == b].sum() for b in range(many)])
    if load.min() == 0:
        return float("inf")
    inside = np.array([shown[home == b].sum(axis=0) for b in range(many)]) / load[:, None]
    apart = np.where(numeric, inside.max(axis=0) - inside.min(axis=0), inside.max(axis=0) - inside.mean(axis=0))
    return float((gaps * apart).sum() * load.min() + 12 * (load - load.min()).sum() / many)


@st.composite
def pictures(draw: st.DrawFn, values: int) -> tuple[Floats, Ints, Floats, npt.NDArray[np.bool_]]:
    """People expected with each code of a number and of a category; all values occur equally often."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    counts = np.full(values, draw(st.integers(5, 50)))
    number, category = rng.dirichlet(np.ones(6), values), rng.dirichlet(np.ones(4), values)
    shown = np.hstack([np.cumsum(number, axis=1), category]) * counts[:, None]
    gaps = np.concatenate([np.full(5, 0.2), [0.0], np.full(4, 1 / 3)])
    return shown, counts, gaps, np.arange(10) < 6


@given(pictures(12), st.integers(2, 4))
def test_values_are_put_together_no_worse_than_given(
    picture: tuple[Floats, Ints, Floats, npt.NDArray[np.bool_]], buckets: int
) -> None:
    shown, counts, gaps, numeric = picture
    home = np.arange(12) % buckets
    found = alike(shown, counts, home, gaps, numeric, buckets, 500)
    assert set(found.tolist()) == set(range(buckets)), "no bucket is empty"
    before, after = (foreseen(shown, counts, each, gaps, numeric, buckets) for each in (home, found))
    assert after <= before * (1 + 1e-9)


@given(pictures(4))
def test_four_values_are_put_together_as_well_as_they_can_be(
    picture: tuple[Floats, Ints, Floats, npt.NDArray[np.bool_]],
) -> None:
    shown, counts, gaps, numeric = picture
    found = alike(shown, counts, np.array([0, 1, 0, 1]), gaps, numeric, 2, 500)
    every = [np.array(home) for home in product(range(2), repeat=4)]
    best = min(foreseen(shown, counts, home, gaps, numeric, 2) for home in every)
    assert foreseen(shown, counts, found, gaps, numeric, 2) == pytest.approx(best)
