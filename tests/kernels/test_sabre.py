"""Leaves divided so that all groups stay near the whole table, against a slow twin."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.losses import loss_of_node
from oneoff.kernels.sabre import HALVES, Closeness, divide, worst_of
from oneoff.mechanisms.partitioning.sabre import _leaves
from oneoff.mechanisms.task import task_of
from oneoff.models import TCloseness
from oneoff.table import Table
from tests.kernels.tree_twins import halves, nearest, shuffled
from tests.tables import tables


def near(close: Closeness, which: int, taken: list[int]) -> bool:
    """May a group take so many from each bucket, whoever they are? `worst_of` has a twin among the mechanisms."""
    size = sum(taken)
    if size == 0 or size < close.least:
        return False
    worst = Fraction(int(worst_of(close, which, np.array(taken))), close.total * size)
    return worst <= Fraction(int(close.top), int(close.bottom))


def divided_slowly(table: Table, close: Closeness, which: int, place: np.ndarray, chance: np.ndarray) -> list[int]:
    """The group of everybody along a line, by halves of one bucketization."""
    bucket = close.bucket[which][place].tolist()
    sizes = np.bincount(bucket, minlength=int(close.bucket[which][-1]) + 1).tolist()
    shares = halves(sizes, lambda part: near(close, which, part), True)
    return nearest(bucket, np.array(shares), shuffled(len(bucket), chance)) if len(shares) > 1 else [0] * len(bucket)


def repeated(table: Table, times: int) -> Table:
    """Everybody so often: halves that are as near as can be, and lose as much as the whole."""
    return replace(table, codes=np.tile(table.codes, (times, 1)), values=np.tile(table.values, times))


@given(
    st.builds(repeated, tables(most=14), st.sampled_from([1, 2, 4])),
    st.one_of(st.just(Fraction(0)), st.fractions(0, 1, max_denominator=6)),
    st.integers(0, 99),
    st.data(),
)
def test_halves_of_one_leaf_are_those_of_the_twin(table: Table, t: Fraction, seed: int, data: st.DataObject) -> None:
    rng, n, d = np.random.default_rng(seed), *table.codes.shape
    task = task_of("sabre", table, TCloseness(t), rng=rng)
    made = _leaves(task, TCloseness(t))
    which = data.draw(st.integers(0, len(made.promise.bucket) - 1))
    line, chance, label = rng.permutation(n), rng.random(n), np.empty(n, np.int64)
    plans, start = np.array([[which, HALVES, 0]]), np.array([0, n])
    divide(0, 1, table.codes, made.values, task.space, made.promise, line[None, :], start, plans, chance, label)
    expected = divided_slowly(table, made.promise, which, made.values[line], chance)

    def loss(group: list[int]) -> float:
        box, size = np.empty((2 * d, n), np.int32), np.empty(n, np.int32)
        local = np.ascontiguousarray(table.codes[line])
        return float(loss_of_node(task.space, local, np.array(group, np.int32), n, box, size))

    whole = [0] * n
    keeps = loss(whole) > 0 and loss(expected) <= loss(whole)
    assert label[line].tolist() == (expected if keeps else whole)
