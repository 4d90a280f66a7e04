"""Trees of groups, against lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.kernels import nodes
from oneoff.kernels.nodes import (
    ASSIGNED,
    BEST,
    GOES_LEFT,
    GOES_RIGHT,
    GROUP,
    GROUP_MANY,
    GROUP_SIZE,
    KEPT,
    LEFT,
    OF,
    SEED,
    SIDE,
    SIZE,
    TAKES,
    WHICH,
)
from oneoff.mechanisms.space import space_of
from oneoff.table import Table
from tests.kernels.tree_twins import paper_loss
from tests.tables import tables

TAKEN = st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(any)


def described(work: np.ndarray, region: int, many: int) -> dict[int, int]:
    return {int(work[OF, e]): int(work[TAKES, e]) for e in range(region, region + many)}


def node(work: np.ndarray, region: int, taken: list[int]) -> int:
    """Describe a node that takes so many from each bucket; how many entries that needs."""
    present = [b for b, x in enumerate(taken) if x]
    work[OF, region : region + len(present)] = present
    work[TAKES, region : region + len(present)] = [taken[b] for b in present]
    return len(present)


@given(TAKEN)
def test_the_root_takes_everybody(sizes: list[int]) -> None:
    work = nodes.room_for(sum(sizes), len(sizes), 0)
    work[SIZE, : len(sizes)] = sizes
    nodes.plant(len(sizes), sum(sizes), work)
    assert nodes.pop_node(0, work) == (0, sum(sizes), len(sizes))
    assert described(work, 0, len(sizes)) == dict(enumerate(sizes))


@given(TAKEN, st.integers(0, 3), st.integers(0, 1))
def test_halves_of_buckets(taken: list[int], region: int, in_turn: int) -> None:
    work = nodes.room_for(sum(taken) + region, len(taken), 0)
    many = node(work, region, taken)
    left = nodes.halve_buckets(region, many, in_turn, work)
    present = [x for x in taken if x]
    odd = [i for i, x in enumerate(present) if x % 2]
    up = set(odd[::2]) if in_turn else set()
    assert work[LEFT, :many].tolist() == [x // 2 + (i in up) for i, x in enumerate(present)]
    assert left == work[LEFT, :many].sum()


@given(TAKEN, st.integers(0, 3), st.integers(0, 2), st.data())
def test_a_node_branches_or_becomes_a_group(taken: list[int], region: int, top: int, data: st.DataObject) -> None:
    size = sum(taken)
    work = nodes.room_for(size + region + top, len(taken), 0)
    many = node(work, region, taken)
    goes = [data.draw(st.integers(0, x)) for x in taken]
    work[LEFT, :many] = [y for x, y in zip(taken, goes, strict=True) if x]
    left = sum(goes)
    after = nodes.branch(region, size, many, left, top, 1, work)
    if left == 0:
        assert after == (top, 2)
        assert (work[GROUP, 1], work[GROUP_SIZE, 1], work[GROUP_MANY, 1]) == (region, size, many)
        return
    assert after == (top + 2, 1)
    sides = [goes, [x - y for x, y in zip(taken, goes, strict=True)]]
    for at, part in zip((top + 1, top), sides, strict=True):
        begin, people, entries = nodes.pop_node(at, work)
        assert (begin, people) == ((region, left) if part is goes else (region + left, size - left))
        assert described(work, begin, entries) == {b: x for b, x in enumerate(part) if x}


def test_children_lie_in_the_place_of_their_parent() -> None:
    work = nodes.room_for(7, 3, 0)
    many = node(work, 0, [3, 0, 4])
    work[LEFT, :many] = [1, 4]
    nodes.make_children(0, many, 5, 0, 7, work)
    assert nodes.pop_node(1, work) == (0, 5, 2)
    assert nodes.pop_node(0, work) == (5, 2, 1)
    assert described(work, 0, 2) == {0: 1, 2: 4}
    assert described(work, 5, 1) == {0: 2}


@dataclass(frozen=True, eq=False)
class Leaf:
    """People of a table, some of whom are in a node: the lists of all attributes have them at `region`."""

    table: Table
    axes: np.ndarray
    region: int
    size: int
    bucket: list[int]
    work: np.ndarray

    @property
    def inside(self) -> list[list[int]]:
        return self.axes[:, self.region : self.region + self.size].tolist()

    @property
    def taken(self) -> list[int]:
        return [sum(self.bucket[p] == b for p in self.inside[0]) for b in range(3)]


@st.composite
def leaves(draw: st.DrawFn) -> Leaf:
    table = draw(tables(most=16))
    n, d = table.codes.shape
    people, region = np.array(draw(st.permutations(range(n)))), draw(st.integers(0, n - 1))
    size = draw(st.integers(1, n - region))
    axes = np.tile(people, (d, 1)).astype(np.int32)
    for a in range(d):
        part = axes[a, region : region + size]
        axes[a, region : region + size] = part[np.argsort(table.codes[part, a], kind="stable")]
    bucket = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    work = nodes.room_for(n, 3, 0)
    work[WHICH, :n] = bucket
    return Leaf(table, axes, region, size, bucket, work)


@given(leaves(), st.data())
def test_boundaries_lie_between_codes(leaf: Leaf, data: st.DataObject) -> None:
    near, codes = data.draw(st.integers(0, leaf.size - 1)), leaf.table.codes
    blurred = [len({int(codes[p, a]) for p in who}) > 1 for a, who in enumerate(leaf.inside)]
    assert nodes.is_blurred(codes, leaf.axes, leaf.region, leaf.size) == any(blurred)
    for a, who in enumerate(leaf.inside):
        if blurred[a]:
            code = codes[who[near], a]
            before, behind = sum(codes[p, a] < code for p in who), sum(codes[p, a] <= code for p in who)
            found = nodes.find_boundary(codes, leaf.axes, a, leaf.region, leaf.size, near)
            assert found == (before or behind)


def tried(leaf: Leaf, turn: int, goes: list[int]) -> list[int]:
    """Who goes left: of each bucket the first ones by an attribute."""
    line, left = leaf.inside[turn // 2], []
    for p in reversed(line) if turn % 2 else line:
        if goes[leaf.bucket[p]] > sum(leaf.bucket[q] == leaf.bucket[p] for q in left):
            left.append(p)
    return left


@given(leaves(), st.data())
def test_a_cut_sends_the_first_of_each_bucket_left_and_is_carried_out(leaf: Leaf, data: st.DataObject) -> None:
    table, work, region, size = leaf.table, leaf.work, leaf.region, leaf.size
    turn = data.draw(st.integers(0, 2 * len(table.quasi) - 1))
    goes = [data.draw(st.integers(0, x)) for x in leaf.taken]
    assume(0 < sum(goes) < size)
    many, left = node(work, region, leaf.taken), tried(leaf, turn, goes)
    work[LEFT, :many] = [y for x, y in zip(leaf.taken, goes, strict=True) if x]
    work[KEPT, :many] = work[LEFT, :many]
    space, edge = space_of(table), np.empty((4, len(table.quasi)), np.int64)
    loss = nodes.try_cut(space, table.codes, leaf.axes, turn, region, size, many, sum(goes), edge, work)
    right = [p for p in leaf.inside[0] if p not in left]
    parts = [np.array(part) for part in (left, right)]
    assert loss == pytest.approx(sum(len(part) * paper_loss(table, part) for part in parts))
    assert {p: int(work[SIDE, p]) for p in leaf.inside[0]} == dict.fromkeys(left, GOES_LEFT) | dict.fromkeys(
        right, GOES_RIGHT
    )
    by_hand = leaf.axes.copy()
    nodes.part_of(by_hand, len(table.quasi), region, size, sum(goes), work)
    work[LEFT, :many] = 0
    expected = [[*(p for p in line if p in left), *(p for p in line if p not in left)] for line in leaf.inside]
    assert by_hand[:, region : region + size].tolist() == expected
    top = nodes.settle(space, table.codes, leaf.axes, turn, region, size, many, sum(goes), 0, edge, work)
    assert top == 2
    assert leaf.inside == expected
    for at, part in ((1, left), (0, right)):
        begin, people, entries = nodes.pop_node(at, work)
        assert people == len(part)
        counted = {b: sum(leaf.bucket[p] == b for p in part) for b in range(3)}
        assert described(work, begin, entries) == {b: x for b, x in counted.items() if x}


@given(leaves())
def test_without_a_cut_a_node_is_a_group(leaf: Leaf) -> None:
    leaf.work[ASSIGNED] = -1
    edge = np.empty((4, len(leaf.table.quasi)), np.int64)
    top = nodes.settle(
        space_of(leaf.table), leaf.table.codes, leaf.axes, -1, leaf.region, leaf.size, 0, 0, 5, edge, leaf.work
    )
    assert top == 5
    assigned = leaf.work[ASSIGNED, : leaf.table.rows].tolist()
    assert assigned == [leaf.region if p in leaf.inside[0] else -1 for p in range(leaf.table.rows)]


@given(tables(most=16), st.data())
def test_the_people_of_a_leaf_are_numbered_anew(table: Table, data: st.DataObject) -> None:
    n, d = table.codes.shape
    base = data.draw(st.integers(0, n - 1))
    rows = np.array(data.draw(st.permutations(range(n))))[base:]
    work, local = nodes.room_for(n, 1, 0), np.empty((n, d), np.int32)
    work[BEST], work[SEED] = 7, 7
    nodes.enter(table.codes, rows, local, work)
    assert np.array_equal(local[: len(rows)], table.codes[rows])
    assert work[SEED, : len(rows)].tolist() == list(range(len(rows)))
    assert not work[BEST, : len(rows)].any()
    sorted_by = np.stack([np.arange(n), np.roll(np.arange(n), -base)])
    axes = np.empty((2, n), np.int32)
    nodes.axes_of(sorted_by, base, n - base, axes)
    assert axes[:, : n - base].tolist() == (sorted_by[:, base:] - base).tolist()
