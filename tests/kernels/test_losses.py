"""The loss of paper 001, against labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.losses import average_loss, information_loss, loss_of_node
from oneoff.mechanisms.space import space_of
from oneoff.table import Table
from tests.kernels.tree_twins import paper_loss
from tests.tables import tables


@given(tables(most=12), st.data())
def test_a_box_loses_what_its_labels_say(table: Table, data: st.DataObject) -> None:
    rows = np.array(data.draw(st.lists(st.integers(0, table.rows - 1), min_size=1, max_size=5)))
    space, codes = space_of(table), table.codes[rows]
    found = [information_loss(space, a, codes[:, a].min(), codes[:, a].max()) for a in range(codes.shape[1])]
    assert sum(found) == pytest.approx(paper_loss(table, rows))


@given(tables(most=20), st.data())
def test_groups_lose_people_times_the_loss_of_their_boxes(table: Table, data: st.DataObject) -> None:
    n, d = table.codes.shape
    group = np.array(data.draw(st.lists(st.integers(0, min(4, n - 1)), min_size=n, max_size=n)), dtype=np.int32)
    rows = [np.flatnonzero(group == g) for g in set(group.tolist())]
    expected = sum(len(members) * paper_loss(table, members) for members in rows)
    box, size = np.full((2 * d, n), 77, np.int32), np.full(n, 77, np.int32)
    found = loss_of_node(space_of(table), table.codes, group, n, box, size)
    assert found == pytest.approx(expected)
    assert size.tolist() == np.bincount(group, minlength=n).tolist()
    assert average_loss(table.codes, space_of(table), group) == pytest.approx(expected / (n * d))
