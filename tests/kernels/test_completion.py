"""A group for everybody who has none, against a slow twin and as laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.kernels.chunks import unit
from oneoff.kernels.completion import complete
from oneoff.kernels.crowd import beyond, columns
from oneoff.kernels.packing import anchored
from oneoff.kernels.space import KIND, SET, Space
from oneoff.mechanisms.space import space_of
from oneoff.models import Counts, Model
from oneoff.table import Table
from tests.kernels.grouped import Ints, line, tightest
from tests.tables import examples, promises, tables

EDGES = [0, 1, 7, 2**40]


def _ceilings_only(part: Model, table: Table) -> bool:
    """On single values: packing refuses promises about branches."""
    caps = part.caps(table.counts)
    return caps is not None and not caps.sets


@pytest.mark.slow
@given(data=st.data(), budget=st.sampled_from(EDGES))
def test_everybody_finds_a_group_that_keeps_the_promise(data: st.DataObject, budget: int) -> None:
    table = data.draw(tables())
    model = data.draw(promises(table))
    assume(all(part.about == "identity" or _ceilings_only(part, table) for part in model.parts()))
    assume(model.holds(Counts.of(table.counts), table.counts))
    space, rule, people = space_of(table), model.rule(table.counts, table.rows), np.arange(table.rows)
    asked = -(-rule.limits[1] // np.maximum(rule.limits[0], 1))
    sizes = np.maximum(asked, max(data.draw(st.integers(1, 8)), rule.least_size))
    column, plan = columns(table.codes, space, people), np.stack([sizes, sizes * 0])
    group = anchored(column, table.values, space, rule.limits, plan, people, table.rows)
    made = group.copy()
    complete(column, table.values, space, rule.limits, rule.least_size, group, np.flatnonzero(group < 0), budget)
    assert (group >= 0).all()
    assert model.holds(Counts.of_groups(np.unique(group, return_inverse=True)[1], table.values), table.counts)
    for g in range(made.max() + 1):
        assert len(set(group[made == g].tolist())) == 1, "groups are joined or merged, never torn apart"


def test_the_cheapest_group_that_may_takes_in_who_is_left_over() -> None:
    table = line([0, 1, 50, 51, 2, 52], [0, 1, 0, 1, 0, 0])
    space, thirds = space_of(table), np.array([[2, 2], [3, 3], [0, 0], [1, 1], [0, 0]])
    group = np.array([0, 0, 1, 1, -1, -1], dtype=np.int32)
    complete(columns(table.codes, space, np.arange(6)), table.values, space, thirds, 2, group, np.array([4, 5]), 2**40)
    assert group.tolist() == [0, 0, 1, 1, 0, 1]


def test_who_may_join_nobody_makes_neighbours_merge() -> None:
    """At most two in five: the sixth one with the value needs more room than a pair of groups offers, not all."""
    table = line(list(range(21)), [0, 1, 2] * 6 + [0, 1, 0])
    space, limits = space_of(table), np.array([[2, 1, 1], [5, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0]])
    group = np.array([i // 3 for i in range(18)] + [-1, -1, -1], dtype=np.int32)
    column = columns(table.codes, space, np.arange(21))
    complete(column, table.values, space, limits, 3, group, np.array([18, 19, 20]), 2**40)
    counts = Counts.of_groups(np.unique(group, return_inverse=True)[1], table.values)
    assert (5 * counts.count[counts.value == 0] <= 2 * counts.size).all()
    assert counts.groups > 1


@dataclass
class Slow:
    """`complete` with an unlimited budget and sets of people."""

    column: Ints
    value: Ints
    space: Space
    limits: Ints
    least: int
    group: list[int]

    def inside(self, g: int) -> list[int]:
        return [p for p, own in enumerate(self.group) if own == g]

    def run(self, late: list[int]) -> None:
        number, rest = max(self.group) + 1, []
        for p in late:
            self.group[p] = self.nearest(p)
            rest += [p] * (self.group[p] < 0)
        if not rest or self.gathered(rest, number, reach=0):
            return
        for p in rest:
            number += 1
            if self.group[p] < 0 and not self.gathered([p], number, reach=len(self.group)):
                self.group = [0] * len(self.group)
                return

    def around(self, p: int, step: int) -> list[int]:
        near = [self.group[q] for q in (p - step, p + step) if 0 <= q < len(self.group)]
        return [g for g in near if g >= 0]

    def nearest(self, p: int) -> int:
        near = dict.fromkeys(g for step in range(1, len(self.group)) for g in self.around(p, step))
        return min((g for g in near if self.admits(g, p)), key=lambda g: self.growth(g, p), default=-1)

    def admits(self, g: int, p: int) -> bool:
        """Only the own value can become too frequent; any other can become too rare."""
        rows, v = [*self.inside(g), p], self.value[p]
        counts = np.bincount(self.value[rows], minlength=self.limits.shape[1])
        ceiling, of, floor, below = self.limits[:4]
        return bool(counts[v] * of[v] <= ceiling[v] * len(rows) and (counts * below >= floor * len(rows)).all())

    def growth(self, g: int, p: int) -> int:
        rows, loss, stretch = self.inside(g), 0, 0
        for a in range(len(self.column)):
            have, x = set(self.column[a, rows].tolist()), int(self.column[a, p])
            if self.space.attribute[a, KIND] == SET:
                loss += (len(have) - 1) * unit(self.space, a)
                stretch += (x not in have) * unit(self.space, a)
            else:
                loss += beyond(self.space, a, max(have), min(have), min(have))
                stretch += beyond(self.space, a, x, min(have), max(have))
        return int(loss + (len(rows) + 1) * stretch)

    def gathered(self, people: list[int], number: int, reach: int) -> bool:
        """A group of these people and of the groups around the first of them, as many as it takes."""
        ceiling, of, floor, below = self.limits[:4]
        for p in people:
            self.group[p] = number
        for step in range(reach + 1):
            if step > 0:
                taken = self.around(people[0], step)
                self.group = [number if g in taken else g for g in self.group]
            rows = self.inside(number)
            counts = np.bincount(self.value[rows], minlength=self.limits.shape[1])
            kept = (counts * of <= ceiling * len(rows)).all() and (counts * below >= floor * len(rows)).all()
            if kept and len(rows) >= self.least:
                return True
        for p in people:
            self.group[p] = -1
        return False


@examples(150)
@given(
    table=tables(most=24),
    floors=st.booleans(),
    looser=st.integers(0, 3),
    numeric_as=st.sampled_from(["range", "set"]),
    data=st.data(),
)
def test_everybody_goes_where_the_twin_says(
    table: Table, floors: bool, looser: int, numeric_as: str, data: st.DataObject
) -> None:
    """Groups that keep the tightest limits, and some people whom they lost."""
    own = data.draw(st.lists(st.integers(0, 4), min_size=table.rows, max_size=table.rows))
    group = np.unique(own, return_inverse=True)[1].astype(np.int32)
    groups = [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]
    limits, least = tightest(table, groups), min(map(len, groups))
    limits[0], limits[1] = limits[0] * (6 + looser), limits[1] * 6
    limits[3] *= 1 + looser
    if not floors:
        limits[2] = 0
    late = np.array(data.draw(st.permutations(range(table.rows)))[: data.draw(st.integers(0, 5))], dtype=np.int64)
    group[late] = -1
    space = space_of(table, numeric_as)
    column = columns(table.codes, space, np.arange(table.rows))
    slow = Slow(column, table.values, space, limits, least, group.tolist())
    if len(late) == table.rows or len(np.unique(group[group >= 0])) < int(group.max()) + 1:
        return
    slow.run(late.tolist())
    complete(column, table.values, space, limits, least, group, late, 2**40)
    assert group.tolist() == slow.group
