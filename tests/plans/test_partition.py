"""Groups of rows: who is in which, and what is no partition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import Defect
from oneoff.plans import Channel, Cover, Partition, RandomTable, Redraw
from oneoff.plans.cover import TOTAL


@given(st.lists(st.integers(0, 5), min_size=1))
def test_members_are_the_rows_of_a_group(drawn: list[int]) -> None:
    group = np.unique(drawn, return_inverse=True)[1].astype(np.int32)
    partition = Partition(group)
    assert len(partition.members) == partition.groups
    for g in range(partition.groups):
        assert partition.members[g].tolist() == [i for i, each in enumerate(group) if each == g]
    start, rows = partition.members
    assert start.tolist() == [0, *np.cumsum(partition.size).tolist()]
    assert sorted(rows.tolist()) == list(range(len(drawn)))


@pytest.mark.parametrize("group", [[], [0, 2], [-1, 0], [[0, 1]]])
def test_groups_have_numbers_without_gaps(group: list[int]) -> None:
    with pytest.raises(Defect, match="numbered from 0"):
        Partition(np.array(group, dtype=np.int32))


def one_row(**changed: list[int]) -> RandomTable:
    """Two people who share a row and show one of two codes."""
    given = {"row": [0, 0], "start": [0, 2], "code": [0, 1], "weight": [TOTAL // 4, TOTAL - TOTAL // 4]} | changed
    row, code = (np.array(given[name], dtype=np.int32) for name in ("row", "code"))
    return RandomTable(row, np.array(given["start"]), code, np.array(given["weight"]))


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"weight": [TOTAL, 0]}, "not positive"),
        ({"weight": [TOTAL, 1]}, "do not sum up"),
        ({"start": [0, 0, 2]}, "is empty"),
        ({"start": [0, 1]}, "do not fit together"),
        ({"code": [0, 1, 1], "start": [0, 3]}, "is empty or has"),
        ({"row": [0, 1]}, "nobody's, or somebody has none"),
    ],
)
def test_impossible_output_tables_are_our_own_fault(changed: dict[str, list[int]], what: str) -> None:
    assert one_row().owner.tolist() == [0, 0]
    with pytest.raises(Defect, match=what):
        one_row(**changed)


def test_people_of_different_groups_share_no_row() -> None:
    with pytest.raises(Defect, match="different groups"):
        Cover(Partition(np.array([0, 1], dtype=np.int32)), (one_row(),))
    with pytest.raises(Defect, match="not one for these people"):
        Cover(Partition(np.zeros(3, dtype=np.int32)), (one_row(),))
    with pytest.raises(Defect, match="drawing again"):
        Cover(Partition(np.zeros(2, dtype=np.int32)), (one_row(),), Redraw(np.zeros((2, 1), dtype=np.int64)))


@pytest.mark.parametrize("weight", [[[1, 2]], [[1, -1], [0, 2]], [[1, 0], [1, 1]]])
def test_impossible_channels_are_our_own_fault(weight: list[list[int]]) -> None:
    with pytest.raises(Defect, match=r"square matrix|same sum"):
        Channel(np.array(weight))
