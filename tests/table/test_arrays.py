"""Lists of different lengths, against lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import Defect
from oneoff.table.arrays import Ragged, offsets

LISTS = st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=6)


def ragged(lists: list[list[int]]) -> Ragged:
    flat = [item for each in lists for item in each]
    return Ragged.of_lengths([len(each) for each in lists], np.array(flat, dtype=np.int64))


@given(LISTS)
def test_lists_come_back_as_they_were(lists: list[list[int]]) -> None:
    made = ragged(lists)
    assert [made[i].tolist() for i in range(len(made))] == lists
    assert made.lengths.tolist() == [len(each) for each in lists]
    assert made.owner.tolist() == [i for i, each in enumerate(lists) for _ in each]


@given(LISTS, st.data())
def test_some_lists_are_taken_in_any_order(lists: list[list[int]], data: st.DataObject) -> None:
    places = st.lists(st.integers(0, len(lists) - 1)) if lists else st.just([])
    order = data.draw(places)
    made = ragged(lists).take(np.array(order, dtype=np.int64))
    assert [made[i].tolist() for i in range(len(made))] == [lists[i] for i in order]


@given(st.lists(st.integers(0, 5)))
def test_places_are_listed_by_their_number(owner: list[int]) -> None:
    made = Ragged.of_owners(np.array(owner, dtype=np.int64), 6)
    assert [made[g].tolist() for g in range(6)] == [[i for i, g in enumerate(owner) if g == each] for each in range(6)]


def test_offsets_begin_with_nothing() -> None:
    assert offsets([]).tolist() == [0]
    assert offsets([2, 0, 3]).tolist() == [0, 2, 2, 5]


def test_lists_that_do_not_fit_are_a_defect() -> None:
    with pytest.raises(Defect, match="do not fit") as caught:
        Ragged(np.array([0, 2]), np.arange(3))
    assert "report" in caught.value.hint
