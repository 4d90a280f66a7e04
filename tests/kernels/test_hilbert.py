"""The curve and the groupings along it, against slow obvious twins."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.hilbert import curve_keys, greedy_groups, optimal_groups
from oneoff.mechanisms.partitioning.hilbert import hilbert, hilbert_order
from oneoff.mechanisms.space import space_of
from oneoff.models import BetaLikeness, Counts, KAnonymity, LDiversity, Model
from oneoff.table import Table
from tests.tables import models, tables
from tests.twins import box_loss


@pytest.mark.parametrize(("dimensions", "bits"), [(1, 4), (2, 1), (2, 4), (3, 3), (4, 2), (7, 1)])
def test_the_curve_visits_every_cell_once_and_moves_one_step_at_a_time(dimensions: int, bits: int) -> None:
    points = np.array(list(product(range(2**bits), repeat=dimensions)), dtype=np.int64)
    keys = curve_keys(points, bits)
    assert sorted(keys.tolist()) == list(range(len(points)))
    walk = points[np.argsort(keys)]
    assert (np.abs(np.diff(walk, axis=0)).sum(axis=1) == 1).all()


def cheapest_division(table: Table, order: np.ndarray, k: int) -> float:
    """All ways to cut the sequence into runs of k to 2k-1, by recursion."""
    n = len(order)
    best = {0: 0.0}
    for end in range(1, n + 1):
        costs = [
            best[begin] + (end - begin) * box_loss(table, order[begin:end])
            for begin in range(max(0, end - 2 * k + 1), end - k + 1)
            if begin in best
        ]
        if costs:
            best[end] = min(costs)
    return best[n]


@given(data=st.data())
def test_dynamic_programming_finds_the_cheapest_runs(data: st.DataObject) -> None:
    table = data.draw(tables(most=24))
    k = data.draw(st.integers(1, table.rows))
    order = hilbert_order(table, np.random.default_rng(0))
    group = optimal_groups(table.codes, order, space_of(table), k)
    sizes = np.bincount(group)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    runs = group[order]
    assert len(set(runs)) == 1 + int((np.diff(runs) != 0).sum()), "groups are runs along the curve"
    loss = sum(len(rows) * box_loss(table, rows) for rows in (np.flatnonzero(group == g) for g in range(len(sizes))))
    assert loss == pytest.approx(cheapest_division(table, order, k))


@given(data=st.data())
def test_greedy_closes_a_group_at_the_first_moment_it_may(data: st.DataObject) -> None:
    table = data.draw(tables(most=24))
    model = data.draw(models(table))
    rule = model.rule(table.counts, table.rows)
    order = np.arange(table.rows)
    group = greedy_groups(table.values, order, rule, len(table.counts))
    if not model.holds(Counts.of(table.counts), table.counts):
        return
    sizes = np.bincount(group[order])
    ends = np.flatnonzero(np.diff(group)) + 1
    for begin, end in zip([0, *ends], [*ends, table.rows], strict=True):
        counts = [np.bincount(table.values[begin:stop], minlength=len(table.counts)) for stop in range(begin + 1, end)]
        early = [model.holds(Counts.of(count), table.counts) for count in counts]
        if end < table.rows:
            assert not any(early), "it could have been closed earlier"
    assert sizes.sum() == table.rows


def test_set_and_range_variants_differ_in_what_they_minimise(people: Table) -> None:
    ranged, sets = (hilbert(people, KAnonymity(6), numeric_as=form) for form in ("range", "set"))
    assert ranged.size.min() >= 6
    assert sets.size.min() >= 6
    assert ranged.size.max() <= 11


def test_values_make_it_greedy(people: Table) -> None:
    partition = hilbert(people, LDiversity(3))
    assert LDiversity(3).holds(Counts.of_groups(partition.group, people.values))


def closed(table: Table, model: Model, order: list[int]) -> list[list[int]]:
    """Runs along the order, each as short as it may be; what is left over takes runs back until it may be one."""

    def keeps(rows: list[int]) -> bool:
        counts = np.bincount(table.values[rows], minlength=len(table.counts))
        return model.holds(Counts.of(counts), table.counts)

    runs, run = list[list[int]](), list[int]()
    for row in order:
        run.append(row)
        if keeps(run):
            runs.append(run)
            run = []
    while run and runs and not keeps(run):
        run = runs.pop() + run
    return [*runs, run] if run else runs


@given(
    table=tables(most=24),
    model=st.sampled_from([KAnonymity(3), LDiversity(2), LDiversity("3/2"), BetaLikeness(1)]),
    data=st.data(),
)
def test_greedy_runs_are_those_of_the_twin(table: Table, model: Model, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(table.rows))))
    group = greedy_groups(table.values, order, model.rule(table.counts, table.rows), len(table.counts))
    runs = closed(table, model, order.tolist())
    assert [group[run].tolist() for run in runs] == [[len(runs) - 1 - i] * len(run) for i, run in enumerate(runs)]
