"""Who is changed where after having come out unchanged (paper 003, Algorithm 3): sets by the product of their odds."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from oneoff.errors import Defect
from oneoff.plans import Redraw
from oneoff.plans.redraw import drawn_from
from oneoff.table import Attribute

ODDS = st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=3)


def sets(odds: list[int], columns: int) -> dict[tuple[int, ...], int]:
    """The sets that may be changed, with the products of their odds."""
    some = [j for j, each in enumerate(odds) if each]
    return {chosen: prod(odds[j] for j in chosen) for chosen in combinations(some, min(columns, len(some)))}


@given(ODDS, st.integers(1, 4))
def test_sums_are_those_over_all_sets(odds: list[list[int]], columns: int) -> None:
    redraw = Redraw(np.array(odds, dtype=np.int64), columns)
    for g, own in enumerate(odds):
        expected = sets(own, columns)
        assert redraw.whole(g) == sum(expected.values())
        for j in range(4):
            assert redraw.of_column(g, j) == sum(weight for chosen, weight in expected.items() if j in chosen)


@given(ODDS, st.integers(1, 4), st.integers(0, 99))
def test_what_is_chosen_may_be(odds: list[list[int]], columns: int, seed: int) -> None:
    redraw, group = Redraw(np.array(odds, dtype=np.int64), columns), np.arange(20, dtype=np.int32) % len(odds)
    for g, chosen in zip(group, redraw.choose(group, np.random.default_rng(seed)), strict=True):
        assert tuple(np.flatnonzero(chosen).tolist()) in sets(odds[g], columns)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_sets_come_in_proportion_to_the_product_of_their_odds(columns: int) -> None:
    odds = [1, 2, 0, 5, 3]
    chosen = Redraw(np.array([odds], dtype=np.int64), columns).choose(
        np.zeros(20_000, dtype=np.int32), np.random.default_rng(3)
    )
    expected = sets(odds, columns)
    found = [int((chosen == np.isin(np.arange(5), each)).all(axis=1).sum()) for each in expected]
    assert sum(found) == 20_000
    share = np.array(list(expected.values())) / sum(expected.values())
    assert chisquare(found, share * 20_000).pvalue > 1e-4


def test_numbers_are_drawn_from_the_range_and_categories_from_what_occurs() -> None:
    group = np.array([0, 0, 1, 1, 1], dtype=np.int32)
    codes = np.array([3, 1, 0, 4, 4], dtype=np.int32)
    ages, towns = Attribute("age", "numeric", np.arange(5)), Attribute("town", "categorical", np.array([*"abcde"]))
    assert [drawn_from(ages, codes, group)[g].tolist() for g in (0, 1)] == [[1, 2, 3], [0, 1, 2, 3, 4]]
    assert [drawn_from(towns, codes, group)[g].tolist() for g in (0, 1)] == [[1, 3], [0, 4]]


def test_odds_that_cannot_be_multiplied_exactly_are_refused() -> None:
    for odds, columns in (([2**40, 2**40], 2), ([-1, 1], 1), ([1, 1], 0), ([1, 1], 9)):
        with pytest.raises(Defect):
            Redraw(np.array([odds], dtype=np.int64), columns)
