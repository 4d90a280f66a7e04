"""Swaps between parts, one after the other on labels; parts that keep their rule."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.ring import lexicographic_parts, pieces_most_left, swap_between
from oneoff.mechanisms.space import space_of
from oneoff.models import Counts, KAnonymity, LDiversity
from oneoff.table import Table
from tests.tables import examples, promises, tables
from tests.twins import box_loss

REACH, LARGEST = 3, 6


def swapped(table: Table, order: list[int], start: list[int], near: list[int], l: int, most: int) -> list[int]:  # noqa: E741
    """Everybody in turn, with the next few in `near`: they change places if both parts together then lose less."""
    order = list(order)
    part_of_place = np.repeat(np.arange(len(start) - 1), np.diff(start))

    def members(p: int) -> list[int]:
        return order[start[p] : start[p + 1]]

    def lost(*parts: int) -> float:
        return sum(len(members(p)) * box_loss(table, np.array(members(p))) for p in parts)

    def fits(p: int, v: int) -> bool:
        after = sum(table.values[members(p)] == v) + 1
        return l == 0 or (after * l <= len(members(p)) and after <= most)

    for at in range(len(near)):
        for i, j in [(near[at], other) for other in near[at + 1 : at + 1 + REACH]]:
            here, there = order.index(i), order.index(j)
            a, b = part_of_place[here], part_of_place[there]
            if a == b or max(len(members(a)), len(members(b))) > LARGEST:
                continue
            x, y = table.values[[i, j]].tolist()
            if x != y and not (fits(a, y) and fits(b, x)):
                continue
            before = lost(a, b)
            order[here], order[there] = j, i
            if lost(a, b) >= before - 1e-9:
                order[here], order[there] = i, j
    return order


@examples(60)
@given(tables(most=10), st.integers(0, 3), st.integers(1, 4), st.data())
def test_swaps_are_those_that_lower_the_loss(table: Table, l: int, most: int, data: st.DataObject) -> None:  # noqa: E741
    cuts = data.draw(st.sets(st.integers(1, max(1, table.rows - 1)), max_size=4)) - {table.rows}
    start = [0, *sorted(cuts), table.rows]
    before, near = (data.draw(st.permutations(range(table.rows))) for _ in range(2))
    member = np.array(before)
    cut, along = np.array(start), np.array(near)
    swap_between(table.codes, table.values, space_of(table), member, cut, along, REACH, l, most, LARGEST)
    assert member.tolist() == swapped(table, before, start, near, l, most)


def parts_of(rows: list[list[int]], values: list[int], keeps: Callable[[list[int]], bool], j: int = 0) -> list[int]:
    """Sizes of the parts (004, Figure 8), where sensitive values matter: whole runs join, smaller ones first."""
    parts: list[list[int]] = []
    runs = [list(run) for _, run in groupby(range(len(rows)), key=lambda i: rows[i][j])]
    part: list[int] = []
    while runs:
        part += runs.pop(0)
        if keeps([values[i] for i in part]):
            parts.append(part)
            part = []
        elif parts and (not runs or len(parts[-1]) <= len(runs[0])) and keeps([values[i] for i in parts[-1] + part]):
            parts[-1] += part
            part = []
    while part:
        part = parts.pop() + part if parts else part
        if not parts or keeps([values[i] for i in part]):
            parts.append(part)
            part = []
    sizes = []
    for part in parts:
        inside, shown = [rows[i] for i in part], [values[i] for i in part]
        pure = len({row[j] for row in inside}) == 1 and j + 1 < len(rows[0])
        sizes += parts_of(inside, shown, keeps, j + 1) if pure else [len(part)]
    return sizes


def test_runs_join_until_their_values_are_diverse() -> None:
    tried = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, l = int(rng.integers(4, 40)), int(rng.integers(2, 4))  # noqa: E741
        rows = rng.integers(0, rng.integers(1, 6), (n, 3)).astype(np.int32)
        rows = np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])])
        values = rng.choice(5, n, p=[0.4, 0.2, 0.2, 0.1, 0.1]).astype(np.int32)
        counts = np.bincount(values, minlength=5)
        if counts.max() * l > n:
            continue
        begins = lexicographic_parts(rows, values, LDiversity(l).rule(counts, n), l)
        expected = parts_of(rows.tolist(), values.tolist(), lambda held: max(map(held.count, held)) * l <= len(held))  # noqa: B023
        assert np.diff([*np.flatnonzero(begins), n]).tolist() == expected
        tried += 1
    assert tried > 80


@given(tables(most=20), st.data())
def test_parts_keep_the_rule_that_the_whole_table_keeps(table: Table, data: st.DataObject) -> None:
    model = data.draw(promises(table))
    order = np.lexsort(table.codes.T[::-1])
    rows, values = np.ascontiguousarray(table.codes[order]), table.values[order]
    rule = model.rule(table.counts, table.rows)
    begins = lexicographic_parts(rows, values, rule, 1)
    edges = [*np.flatnonzero(begins).tolist(), table.rows]
    assert edges[0] == 0
    if not model.holds(Counts.of_groups(np.zeros(table.rows, np.int64), table.values), table.counts):
        return
    for first, last in pairwise(edges):
        assert model.holds(Counts.of_groups(np.zeros(last - first, np.int64), values[first:last]), table.counts)


@pytest.mark.parametrize("seed", range(20))
def test_runs_that_need_no_help_are_divided_as_if_alone(seed: int) -> None:
    rng, rule = np.random.default_rng(seed), KAnonymity(2).rule([40], 40)
    rows = np.concatenate((np.repeat(np.arange(4), 10)[:, None], rng.integers(0, 3, (40, 2))), axis=1).astype(np.int32)
    rows, values = np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])]), np.zeros(40, np.int32)
    runs = [np.ascontiguousarray(rows[first : first + 10, 1:]) for first in range(0, 40, 10)]
    alone = [lexicographic_parts(run, values[:10], rule, 2) for run in runs]
    assert lexicographic_parts(rows, values, rule, 2).tolist() == np.concatenate(alone).tolist()


def pieces_of(values: list[int], l: int) -> list[int]:  # noqa: E741
    """Piece by piece: all values with most people left, and the next ones up to l; of equal ones the larger codes."""
    queue = {v: [i for i, x in enumerate(values) if x == v] for v in sorted(set(values))}
    piece = [-1] * len(values)
    held = sorted(queue, key=lambda v: -len(queue[v]))  # stable
    for number in range(len(values)):
        left = {v: len(queue[v]) for v in held}
        most = max(left.values())
        if most == 0:
            break
        size = max(l, sum(count == most for count in left.values()))
        edge = sorted(left.values(), reverse=True)[size - 1]
        above = [v for v in held if left[v] > edge]
        chosen = above + [v for v in held if left[v] == edge][-(size - len(above)) :]
        for v in chosen:
            piece[queue[v].pop(0)] = number
        held.sort(key=lambda v: -len(queue[v]))
    return piece


@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=25), min_size=1, max_size=4), st.integers(1, 5))
def test_pieces_take_the_values_with_most_people_left(shown: list[list[int]], l: int) -> None:  # noqa: E741
    parts = [values for values in shown if max(map(values.count, values)) * l <= len(values)]
    if not parts:
        return
    start = np.concatenate(([0], np.cumsum([len(values) for values in parts])))
    found = pieces_most_left(np.concatenate(parts), start, l, 7)
    for values, first in zip(parts, start[:-1].tolist(), strict=True):
        piece = found[first : first + len(values)].tolist()
        assert piece == pieces_of(values, l)
        assert sorted(set(piece)) == list(range(max(map(values.count, values))))
        for number in set(piece):
            held = [v for v, p in zip(values, piece, strict=True) if p == number]
            assert len(set(held)) == len(held) >= l
