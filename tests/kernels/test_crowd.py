"""People along a curve in blocks, against a list of lists."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.crowd import (
    AFTER,
    BEFORE,
    BLOCK,
    PEOPLE,
    PLACE,
    POSITION,
    VALUE,
    Crowd,
    beyond,
    close_up,
    columns,
    crowd_of,
    remove,
    round_up,
)
from oneoff.kernels.space import KIND, NODE, RANGE, UNIT, place
from oneoff.mechanisms.space import space_of
from oneoff.table import Table
from tests.tables import tables
from tests.twins import attribute_loss


def blocks(crowd: Crowd) -> dict[int, list[int]]:
    """The positions in every block that is not empty, by walking from block to block; all else must agree."""
    first = next((b for b in range(crowd.block.shape[1]) if crowd.block[PEOPLE, b] > 0), -1)
    found, before, b = {}, -1, first
    while b >= 0:
        places = range(b * BLOCK, b * BLOCK + crowd.block[PEOPLE, b])
        found[b] = [int(crowd.person[POSITION, at]) for at in places]
        assert [int(crowd.person[PLACE, p]) for p in found[b]] == list(places)
        assert crowd.block[BEFORE, b] == before
        before, b = b, int(crowd.block[AFTER, b])
    return found


def check(crowd: Crowd, expected: dict[int, list[int]], column: np.ndarray, value: np.ndarray) -> None:
    assert blocks(crowd) == expected
    left = [p for people in expected.values() for p in people]
    assert crowd.free.tolist() == np.bincount(value[left], minlength=len(crowd.free)).tolist()
    for p in left:
        at = crowd.person[PLACE, p]
        assert crowd.person[VALUE, at] == value[p]
        assert crowd.column[:, at].tolist() == column[:, p].tolist()


def in_blocks(people: list[int]) -> dict[int, list[int]]:
    return {b: people[b * BLOCK : (b + 1) * BLOCK] for b in range(-(-len(people) // BLOCK))}


@pytest.mark.parametrize("people", [1, BLOCK, BLOCK + 1, 3 * BLOCK + 9])
def test_whoever_leaves_is_replaced_by_the_last_of_the_block(people: int) -> None:
    rng = np.random.default_rng(people)
    column, value = rng.integers(0, 99, (2, people)).astype(np.int32), rng.integers(0, 3, people).astype(np.int32)
    crowd, expected = crowd_of(column, value, 3), in_blocks(list(range(people)))
    check(crowd, expected, column, value)
    leaving = [*range(BLOCK, 2 * BLOCK), *range(40)] if people > 2 * BLOCK else list(range(min(people - 1, 30)))
    for p in rng.permutation(leaving).tolist():
        remove(crowd, crowd.person[PLACE, p])
        b = next(b for b, inside in expected.items() if p in inside)
        expected[b][expected[b].index(p)] = expected[b][-1]
        expected[b].pop()
        expected = {b: inside for b, inside in expected.items() if inside}
    check(crowd, expected, column, value)
    close_up(crowd)
    check(crowd, in_blocks([p for inside in expected.values() for p in inside]), column, value)


@given(tables(most=12), st.sampled_from(["range", "set"]), st.data())
def test_columns_are_what_boxes_remember_of_each_person(table: Table, numeric_as: str, data: st.DataObject) -> None:
    space, order = space_of(table, numeric_as), np.array(data.draw(st.permutations(range(table.rows))))
    expected = [[place(space, a, table.codes[row, a]) for row in order] for a in range(len(table.quasi))]
    assert columns(table.codes, space, order).tolist() == expected


@given(tables(most=12), st.data())
def test_beyond_is_what_a_box_loses_more(table: Table, data: st.DataObject) -> None:
    space = space_of(table)
    inside = np.array(data.draw(st.lists(st.integers(0, table.rows - 1), min_size=1, max_size=4)))
    other = data.draw(st.integers(0, table.rows - 1))
    for a in range(len(table.quasi)):
        if space.attribute[a, KIND] in (RANGE, NODE):
            places = [place(space, a, code) for code in table.codes[inside, a]]
            more = attribute_loss(table, a, np.append(inside, other)) - attribute_loss(table, a, inside)
            found = beyond(space, a, place(space, a, table.codes[other, a]), min(places), max(places))
            assert found == pytest.approx(more * UNIT, abs=1.01)


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_rounding_up(a: int, b: int) -> None:
    assert round_up(a, b) == ceil(Fraction(a, b))
