"""People who change groups, against a slow twin and as laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.chunks import unit
from oneoff.kernels.groups import total_loss
from oneoff.kernels.moves import move
from oneoff.kernels.space import KIND, RANGE, SET, Space, in_units, place, span_loss
from oneoff.mechanisms.space import space_of
from oneoff.models.limits import ANYBODY
from oneoff.table import Table
from tests.kernels.grouped import Ints, divided, line, tightest
from tests.tables import examples, tables


def moved(table: Table, groups: list[Ints], limits: Ints, least: int, cut: int = 0) -> list[Ints]:
    start = np.concatenate(([0], np.cumsum([len(g) for g in groups])))
    order, begin = np.arange(len(groups))[::-1].copy(), np.array([0, cut, len(groups)])
    member = np.concatenate(groups)
    values = table.values if limits is not ANYBODY.rows else np.zeros_like(table.values)
    group = move(table.codes, values, space_of(table), limits, start, member, order, begin, least)
    return [np.flatnonzero(group == g) for g in range(len(groups)) if (group == g).any()]


def lost(table: Table, groups: list[Ints]) -> int:
    start = np.concatenate(([0], np.cumsum([len(g) for g in groups])))
    return int(total_loss(table.codes, space_of(table), start, np.concatenate(groups)).sum())


@given(table=tables(most=40), bounded=st.sampled_from(["ceilings", "floors too", "no"]), data=st.data())
def test_moves_lower_the_loss_and_keep_the_promise(table: Table, bounded: str, data: st.DataObject) -> None:
    many = data.draw(st.integers(1, min(6, table.rows)))
    edges = sorted(data.draw(st.permutations(range(1, table.rows)))[: many - 1])
    groups = np.split(np.array(data.draw(st.permutations(range(table.rows)))), edges)
    limits = tightest(table, groups)
    if bounded != "floors too":
        limits[2] = 0
    least = min(len(g) for g in groups)
    cut = data.draw(st.integers(0, many))
    after = moved(table, groups, limits if bounded != "no" else ANYBODY.rows, least, cut)
    assert sorted(np.concatenate(after).tolist()) == list(range(table.rows))
    assert min(len(g) for g in after) >= least
    assert lost(table, after) <= lost(table, groups) + 2 * len(table.quasi) * table.rows
    if bounded != "no":
        for g in after:
            counts = np.bincount(table.values[g], minlength=len(table.counts))
            assert (counts * limits[1] <= limits[0] * len(g)).all()
            assert (counts * limits[3] >= limits[2] * len(g)).all()
    for chunk in (groups[many - cut :], groups[: many - cut]):
        inside = {int(i) for g in chunk for i in g}
        assert all(not inside & set(g.tolist()) or set(g.tolist()) <= inside for g in after)


def test_who_is_far_from_the_others_moves_to_a_group_that_is_near() -> None:
    table = line([0, 1, 2, 50, 51, 52, 53])
    groups = [np.array([0, 1, 2, 3]), np.array([4, 5, 6])]
    assert [g.tolist() for g in moved(table, groups, ANYBODY.rows, 3)] == [[0, 1, 2], [3, 4, 5, 6]]


def test_a_group_between_others_dissolves() -> None:
    table = line([0, 1, 2, 3, 50, 51, 52, 53])
    groups = [np.array([0, 1]), np.array([2, 3, 4]), np.array([5, 6, 7])]
    after = [g.tolist() for g in moved(table, groups, ANYBODY.rows, 2)]
    assert after == [[0, 1, 2, 3], [4, 5, 6, 7]]


@dataclass
class Slow:
    """`move` inside one chunk, with every loss and every promise worked out from scratch."""

    table: Table
    space: Space
    limits: Ints
    least: int
    groups: list[list[int]]

    def loss(self, rows: list[int]) -> int:
        total = 0
        for a in range(len(self.table.quasi) if rows else 0):
            codes = sorted(set(self.table.codes[rows, a].tolist()))
            if self.space.attribute[a, KIND] == SET:
                total += (len(codes) - 1) * unit(self.space, a)
            elif self.space.attribute[a, KIND] == RANGE:
                total += place(self.space, a, codes[-1]) - place(self.space, a, codes[0])
            else:
                total += in_units(span_loss(self.space, a, codes[0], codes[-1], 0))
        return total

    def keeps(self, rows: list[int]) -> bool:
        counts, size = np.bincount(self.table.values[rows], minlength=self.limits.shape[1]), len(rows)
        ceiling, of, floor, below = self.limits[:4]
        return bool(
            size >= self.least and (counts * of <= ceiling * size).all() and (counts * below >= floor * size).all()
        )

    def home(self, row: int) -> int:
        return next(g for g, rows in enumerate(self.groups) if row in rows)

    def without(self, row: int) -> list[int]:
        return [other for other in self.groups[self.home(row)] if other != row]

    def saved(self, row: int) -> int:
        rest = self.without(row)
        return self.loss(self.groups[self.home(row)]) - self.loss(rest) if rest else 0

    def best_home(self, row: int, budget: int) -> tuple[int, int]:
        """Near ones along the curve first, of those at the same distance the one before."""
        own, best = self.home(row), -1
        others = [g for g, rows in enumerate(self.groups) if g != own and rows]
        for g in sorted(others, key=lambda g: (abs(g - own), g)):
            rows = self.groups[g]
            now, wide = self.loss(rows), self.loss([*rows, row])
            cost = now + (len(rows) + 1) * (wide - now)
            if cost < budget and self.keeps([*rows, row]):
                best, budget = g, cost
        return best, budget

    def change(self, row: int, g: int) -> None:
        self.groups[self.home(row)].remove(row)
        self.groups[g].append(row)

    def run(self) -> None:
        everybody = [row for rows in self.groups for row in rows]
        for row in everybody:
            rest = self.without(row)
            if rest and self.keeps(rest):
                home, _ = self.best_home(row, self.loss(self.groups[self.home(row)]) + len(rest) * self.saved(row))
                if home >= 0:
                    self.change(row, home)
        for g in range(len(self.groups)):
            before = [list(rows) for rows in self.groups]
            self.send_away(g, everybody)
            if self.groups[g]:
                self.groups = before

    def send_away(self, g: int, everybody: list[int]) -> None:
        budget = len(self.groups[g]) * self.loss(self.groups[g])
        for edge in (True, False) if budget > 0 else ():
            for row in everybody:
                if row not in self.groups[g] or (edge and self.saved(row) == 0):
                    continue
                home, cost = self.best_home(row, budget)
                if home < 0:
                    return
                budget -= cost
                self.change(row, home)


@examples(150)
@given(table=tables(most=24), floors=st.booleans(), looser=st.integers(0, 3), data=st.data())
def test_moves_are_those_of_the_twin(table: Table, floors: bool, looser: int, data: st.DataObject) -> None:
    start = data.draw(divided(table.rows, 5))
    groups = np.split(np.array(data.draw(st.permutations(range(table.rows)))), start[1:-1])
    limits = tightest(table, groups)
    limits[0], limits[1] = limits[0] * (6 + looser), limits[1] * 6
    if not floors:
        limits[2] = 0
    least = data.draw(st.integers(1, min(len(g) for g in groups)))
    slow = Slow(table, space_of(table), limits, least, [g.tolist() for g in groups])
    slow.run()
    order, member = np.arange(len(groups)), np.concatenate(groups)
    group = move(table.codes, table.values, slow.space, limits, start, member, order, np.array([0, len(groups)]), least)
    assert [sorted(rows) for rows in slow.groups] == [np.flatnonzero(group == g).tolist() for g in order]
