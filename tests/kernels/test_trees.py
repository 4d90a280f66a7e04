"""Cuts that make attributes uniform, against trying every boundary of every attribute."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.trees import MANY, _among_categories, cut_tree
from oneoff.mechanisms.uniform import _axes
from oneoff.table import Table
from oneoff.table.arrays import offsets
from tests.tables import tables


def impurity(place: np.ndarray, codes: np.ndarray) -> float:
    """People times the variance of places, or times the Gini index where there are none."""
    if place[0] >= 0:
        return float(((place[codes] - place[codes].mean()) ** 2).sum())
    return float(len(codes) - (np.bincount(codes) ** 2).sum() / len(codes))


def best_gain(table: Table, places: list[np.ndarray], weight: np.ndarray, rows: np.ndarray, least: int) -> float:
    """The most that any allowed boundary gains: numbers by code, categories the most common first."""
    gains = [0.0]
    for j, place in enumerate(places):
        codes = table.codes[rows, j]
        count = np.bincount(codes)
        order = sorted(set(codes.tolist()), key=lambda c, p=place, n=count: c if p[0] >= 0 else (-n[c], c))
        for many in range(1, len(order)):
            left = np.isin(codes, order[:many])
            if min(left.sum(), (~left).sum()) >= least:
                halves = impurity(place, codes[left]) + impurity(place, codes[~left])
                gains.append(weight[j] * (impurity(place, codes) - halves))
    return max(gains)


def cut(table: Table, least: int, nodes: np.ndarray | None = None, row: np.ndarray | None = None) -> tuple:
    place, weight = _axes(table)
    begin = offsets([attribute.size for attribute in table.quasi])
    row = np.arange(table.rows, dtype=np.int32) if row is None else row.copy()
    ends = cut_tree(
        table.codes, place, begin, weight, row, np.array([0, table.rows]) if nodes is None else nodes, least
    )
    return [row[a:b] for a, b in pairwise(ends.tolist())], row, ends


@given(tables(), st.integers(1, 6))
def test_every_piece_is_large_enough_and_cannot_be_cut(table: Table, least: int) -> None:
    pieces, row, _ = cut(table, least)
    place, weight = _axes(table)
    places = np.split(place, offsets([attribute.size for attribute in table.quasi])[1:-1])
    assert sorted(row.tolist()) == list(range(table.rows))
    for rows in pieces:
        assert len(rows) >= min(least, table.rows)
        assert best_gain(table, places, weight, rows, least) < 1e-9


@given(tables())
def test_the_first_cut_gains_most(table: Table) -> None:
    least = max(1, table.rows // 2 - 1)  # so that there is one cut at the most
    pieces, _, _ = cut(table, least)
    place, weight = _axes(table)
    places = np.split(place, offsets([attribute.size for attribute in table.quasi])[1:-1])
    most = best_gain(table, places, weight, np.arange(table.rows), least)
    if len(pieces) == 1:
        assert most < 1e-9
        return
    if len(pieces) == 2:
        gains = [
            weight[j]
            * (impurity(place, table.codes[:, j]) - sum(impurity(place, table.codes[rows, j]) for rows in pieces))
            for j, place in enumerate(places)
        ]
        assert max(gains) >= most - 1e-6


@given(tables(), st.integers(1, 3), st.integers(1, 4))
def test_smaller_pieces_lie_inside_larger_ones(table: Table, least: int, times: int) -> None:
    large, row, ends = cut(table, least * times)
    small, _, _ = cut(table, least, ends, row)
    for rows in small:
        assert any(set(rows.tolist()) <= set(each.tolist()) for each in large)


@given(tables())
def test_people_with_equal_quasi_identifiers_stay_together_and_order_does_not_matter(table: Table) -> None:
    pieces, _, _ = cut(table, 1)
    for rows in pieces:
        assert len(np.unique(table.codes[rows], axis=0)) == 1
    backwards, _, _ = cut(table, 2, row=np.arange(table.rows, dtype=np.int32)[::-1])
    forwards, _, _ = cut(table, 2)
    assert {frozenset(each.tolist()) for each in forwards} == {frozenset(each.tolist()) for each in backwards}


def test_very_many_categories_are_halved_and_not_taken_away_one_by_one() -> None:
    """Otherwise all people are looked at once for every category; of a few, the best cut is taken as it is."""
    for many in (MANY, MANY + 1):
        count = np.arange(2 * many, many, -1)
        _, at = _among_categories(count, np.arange(many), many, int(count.sum()), 2)
        left = count[:at].sum() / count.sum()
        assert (at == 1) if many == MANY else (1 / 8 <= left <= 7 / 8)


def test_a_category_that_most_people_have_is_taken_away_from_very_many_others() -> None:
    count = np.concatenate([[9_000], np.full(MANY, 2)])
    _, at = _among_categories(count, np.arange(len(count)), len(count), int(count.sum()), 2)
    assert at == 1


def test_each_of_very_many_categories_has_a_piece_of_its_own_in_the_end() -> None:
    many = 3 * MANY
    codes = np.repeat(np.arange(many), 3 + np.arange(many) % 5).astype(np.int32)
    codes = np.random.default_rng(1).permutation(codes)[:, None]
    row = np.arange(len(codes), dtype=np.int32)
    ends = cut_tree(codes, np.full(many, -1.0), np.array([0, many]), np.ones(1), row, np.array([0, len(codes)]), 3)
    assert len(ends) == many + 1
    assert all(len(set(codes[row[a:b], 0].tolist())) == 1 for a, b in pairwise(ends.tolist()))
