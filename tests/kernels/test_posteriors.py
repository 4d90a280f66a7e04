"""Who is behind a record, and which values are believed, pair by pair of people and records."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.kernels.posteriors import Known, belief_in_values, pair_chances, record_totals

VALUES = 3


class Case(NamedTuple):
    """What the loops are told, and the same as a dictionary of probabilities for each row."""

    known: Known
    rows: list[dict[int, float]]
    people_group: np.ndarray
    record_group: np.ndarray
    rng: np.random.Generator


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """One to three groups; few different codes, so that classes share columns; now and then changes afterwards."""
    groups, columns, codes = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = []
    for _ in range(2 * columns):  # two rows in the tables of every column
        weight = rng.random(codes) * (rng.random(codes) < 0.8)
        weight[rng.integers(codes)] += 0.5
        shown = rng.permutation(np.flatnonzero(weight))
        rows.append(dict(zip(shown.tolist(), (weight / weight.sum())[shown].tolist(), strict=True)))
    people_group, record_group = (np.sort(np.tile(np.arange(groups), draw(st.integers(1, 5)))) for _ in range(2))
    own = rng.integers(0, codes, (len(people_group), columns)).astype(np.int32)
    row = rng.integers(0, 2, own.shape) + 2 * np.arange(columns)
    shown = rng.integers(0, codes, (len(record_group), columns)).astype(np.int32)
    by_row, by_shown = np.lexsort([*own.T, *row.T, people_group]), np.lexsort([*shown.T[::-1], record_group])
    again = np.zeros((groups, columns + 2))
    if draw(st.booleans()):
        odds = rng.random((groups, columns)) * (rng.random((groups, columns)) < 0.7)
        again[:, -1] = np.minimum((odds > 0).sum(axis=1), draw(st.integers(1, columns)))
        again[:, :-2] = odds / (codes - 1)
        again[:, -2] = [sum(sets(each, int(many)).values()) for each, many in zip(odds, again[:, -1], strict=True)]
        again[again[:, -1] == 0, -2] = 0
    known = Known(
        own=own[by_row],
        row=row[by_row],
        people=rng.integers(1, 4, len(own)),
        people_start=np.searchsorted(people_group, np.arange(groups + 1)),
        shown=shown[by_shown],
        records=rng.integers(1, 4, len(shown)),
        record_start=np.searchsorted(record_group, np.arange(groups + 1)),
        start=np.cumsum([0, *map(len, rows)]),
        code=np.array([code for each in rows for code in each], dtype=np.int32),
        chance=np.array([p for each in rows for p in each.values()]),
        again=again,
    )
    return Case(known, rows, people_group, record_group, rng)


def sets(odds: np.ndarray, many: int) -> dict[tuple[int, ...], float]:
    """So many columns at once, and the product of their odds."""
    return {chosen: prod(odds[j] for j in chosen) for chosen in combinations(range(len(odds)), many)}


def probability(case: Case, i: int, k: int) -> float:
    """That people of class i show what the records of class k show.

    Column by column they show what their rows say. Whoever would show all of their own values is then changed in so
    many columns, a set of them by the product of their odds, to any of the other values there.
    """
    known, columns = case.known, range(case.known.own.shape[1])
    tables = [case.rows[known.row[i, j]] for j in columns]
    own, shown = known.own[i].tolist(), known.shown[k].tolist()
    drawn = prod(table.get(code, 0.0) for table, code in zip(tables, shown, strict=True))
    unchanged = prod(table.get(code, 0.0) for table, code in zip(tables, own, strict=True))
    *odds, whole, many = known.again[case.people_group[i]].tolist()
    if many == 0:
        return drawn
    differs = tuple(j for j in columns if own[j] != shown[j])
    if not differs:
        return 0.0
    return drawn + unchanged * sets(np.array(odds), int(many)).get(differs, 0.0) / whole


def matrix(case: Case) -> np.ndarray:
    """[people, records]: 0 for those of other groups."""
    people, records = range(len(case.known.people)), range(len(case.known.records))
    return np.array(
        [
            [probability(case, i, k) if case.people_group[i] == case.record_group[k] else 0.0 for k in records]
            for i in people
        ]
    )


@given(cases())
def test_totals_of_records(case: Case) -> None:
    found, expected = np.zeros((len(case.known.records), 2)), matrix(case)
    for g in range(len(case.known.again)):
        record_totals(case.known, found, g, g + 1)
    assert found[:, 0] == pytest.approx(case.known.people @ expected)
    assert found[:, 1] == pytest.approx(expected.max(axis=0))


@given(cases())
def test_pairs(case: Case) -> None:
    pairs = np.argwhere(case.people_group[:, None] == case.record_group)
    found = np.zeros(len(pairs))
    pair_chances(case.known, pairs, case.people_group[pairs[:, 0]].astype(np.int32), found, 0, len(pairs))
    assert found == pytest.approx(matrix(case)[tuple(pairs.T)])


def split(totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How many of each class have each value."""
    return np.array([rng.multinomial(total, np.ones(VALUES) / VALUES) for total in totals])


def listed(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(value, how many) for each class, and where those of each class begin."""
    owner, value = np.nonzero(counts)
    return np.stack([value, counts[owner, value]], axis=1), np.searchsorted(owner, np.arange(len(counts) + 1))


@given(cases())
def test_beliefs_in_values(case: Case) -> None:
    known, ceiling = case.known, case.rng.random(VALUES) + 0.1
    shows, has = split(known.records, case.rng), split(known.people, case.rng)
    chances = matrix(case)
    whole = chances @ known.records
    assume((whole > 0).all())  # everybody's own record is in the group
    belief = chances @ shows / whole[:, None]
    found = np.zeros((len(known.people), 2))
    belief_in_values(known, *listed(shows), *listed(has), ceiling, found, 0, len(known.again))
    assert found[:, 0] == pytest.approx((has * belief).sum(axis=1))
    assert found[:, 1] == pytest.approx((belief / ceiling).max(axis=1))
