"""What groups lose, and first groups from buckets, against all assignments."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.groups import assemble, total_loss
from oneoff.kernels.space import UNIT
from oneoff.mechanisms.space import space_of
from oneoff.table import Table
from tests.kernels.grouped import Grouped, grouped
from tests.tables import tables
from tests.twins import box_loss


@given(grouped())
def test_total_loss(people: Grouped) -> None:
    loss = total_loss(people.table.codes, space_of(people.table), people.start, people.member)
    slow = [len(group) * box_loss(people.table, group) * UNIT for group in people.groups]
    assert loss == pytest.approx(slow, abs=len(people.table.quasi) * people.table.rows)


@given(tables(most=24), st.data())
def test_first_groups_grow_by_the_best_assignment(table: Table, data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, min(5, table.rows)))
    many = table.rows // groups
    mixed = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(table.rows)
    buckets, deepest = mixed[: many * groups].reshape(many, groups), data.draw(st.integers(1, many + 1))
    made = assemble(table.codes, space_of(table), buckets, 1, deepest)
    assert np.array_equal(np.sort(made, axis=0), np.sort(buckets.T, axis=0)), "one member of every bucket"
    assert np.array_equal(made[:, deepest:], buckets.T[:, deepest:]), "beyond, members stay where they are"
    for b in range(1, min(many, deepest)):
        start, before = np.arange(groups + 1) * (b + 1), made[:, :b]
        columns = [made[:, b], *(np.array(order) for order in permutations(buckets[b].tolist()))]
        losses = [Grouped(table, start, np.column_stack([before, column]).ravel()).loss for column in columns]
        assert losses[0] <= min(losses) + 3 * table.rows * len(table.quasi)


def test_strides_are_groups_of_their_own(people: Table) -> None:
    buckets = np.random.default_rng(1).permutation(600).reshape(4, 150)
    made = assemble(people.codes, space_of(people), buckets, 3, 9)
    for stride in range(3):
        part = np.ascontiguousarray(buckets[:, stride::3])
        assert np.array_equal(made[stride::3], assemble(people.codes, space_of(people), part, 1, 9))
