"""Random output tables against the linear program they solve, their limits in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from oneoff.kernels.cover import cover_shapes
from tests.tables import examples

TOTAL = 2**40
CODES, KINDS = 6, 3
ANCESTOR = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 1, 2], [0, 0, 0, 0, 0, 0]], dtype=np.int32)


class Shape(NamedTuple):
    """One table: rows (code, people, sensitive value) and the codes of the columns."""

    rows: np.ndarray
    columns: np.ndarray


class Case(NamedTuple):
    shapes: list[Shape]
    position: np.ndarray
    ancestor: np.ndarray
    limits: list[Fraction]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A few tables, and limits that all of them can keep, often only just."""
    shapes, worst = [], [Fraction(0)] * (1 + KINDS)
    for _ in range(draw(st.integers(1, 3))):
        keys = st.tuples(st.integers(0, CODES - 1), st.integers(0, KINDS - 1))
        which = sorted(draw(st.sets(keys, min_size=1, max_size=6)))
        rows = np.array([(code, draw(st.integers(1, 4)), kind) for code, kind in which])
        everybody = int(rows[:, 1].sum())
        with_value = np.bincount(rows[:, 2], rows[:, 1], KINDS).astype(int).tolist()
        least = [Fraction(many, everybody) for many in (1, *with_value)]
        worst = [max(pair) for pair in zip(worst, least, strict=True)]
        shapes.append(Shape(rows, np.unique(rows[:, 0])))
    limits = [
        draw(st.one_of(st.just(low), st.fractions(low, 1, max_denominator=30), st.just(Fraction(1)))) for low in worst
    ]
    ground = draw(st.sampled_from(["line", "flat", "tree"]))
    position = np.array([0.0, 0.1, 0.35, 0.5, 0.9, 1.0]) if ground == "line" else np.zeros(0)
    return Case(shapes, position, ANCESTOR if ground == "tree" else np.zeros((0, 0), np.int32), limits)


def distance(case: Case, a: int, b: int) -> float:
    if len(case.position):
        return float(abs(case.position[a] - case.position[b]))
    if len(case.ancestor):
        return next(level for level in range(3) if case.ancestor[level, a] == case.ancestor[level, b]) / 2
    return float(a != b)


def least_cost(cost: np.ndarray, people: np.ndarray, kind: np.ndarray, limits: list[float]) -> float:
    """Weights of people times columns: everybody's add up to one, and every column keeps its limits."""
    m, n = cost.shape
    each = np.eye(m * n).reshape(m, n, m * n)  # each[i, j] @ x is the weight of row i in column j
    within = [each[i, j] / people[i] - limits[0] * each[:, j].sum(axis=0) for i in range(m) for j in range(n)]
    within += [
        each[kind == s, j].sum(axis=0) - limits[1 + s] * each[:, j].sum(axis=0) for s in range(KINDS) for j in range(n)
    ]
    answer = linprog(cost.ravel(), np.array(within), np.zeros(len(within)), each.sum(axis=1), people)
    assert answer.status == 0
    return float(answer.fun)


def starts(lengths: list[int]) -> np.ndarray:
    return np.cumsum([0, *lengths])


@examples(60)
@given(cases(), st.sampled_from([1, 4]))
def test_tables_cost_least_and_keep_every_limit(case: Case, average: int) -> None:
    shapes, limits = case.shapes, case.limits
    out = starts([len(shape.rows) * len(shape.columns) for shape in shapes])
    found, weight = np.zeros((len(shapes), 2)), np.zeros(out[-1], np.int64)
    cover_shapes(
        np.concatenate([shape.rows for shape in shapes]), starts([len(shape.rows) for shape in shapes]),
        np.concatenate([shape.columns for shape in shapes]), starts([len(shape.columns) for shape in shapes]),
        out, case.position, case.ancestor, np.array([(x.numerator, x.denominator) for x in limits]), average, TOTAL,
        found, weight, 0, len(shapes),
    )  # fmt: skip
    for t, (rows, columns) in enumerate(shapes):
        code, people, kind = rows.T
        table = weight[out[t] : out[t + 1]].reshape(len(rows), len(columns))
        cost = np.array([[distance(case, a, b) for b in columns] for a in code])
        assert (table >= 0).all()
        assert table.sum(axis=1).tolist() == (TOTAL * people).tolist()
        for column in table.T.tolist():
            likeliest = max(-(-w // p) for w, p in zip(column, people.tolist(), strict=True))
            with_value = [sum(w for w, s in zip(column, kind, strict=True) if s == value) for value in range(KINDS)]
            assert all(part <= x * sum(column) for part, x in zip((likeliest, *with_value), limits, strict=True))
        assert found[t, 0] == pytest.approx((cost * table).sum() / TOTAL)
        assert found[t, 0] == pytest.approx(least_cost(cost, people, kind, [float(x) for x in limits]), abs=2e-4)
        assert 0 <= found[t, 1] < 1
