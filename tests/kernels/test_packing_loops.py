"""The first groups of packing against a slow twin, the repair and the moves as laws."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.kernels.completion import complete
from oneoff.kernels.crowd import columns
from oneoff.kernels.deals import offers
from oneoff.kernels.groups import total_loss
from oneoff.kernels.moves import move
from oneoff.kernels.packing import anchored
from oneoff.kernels.space import RANGE, SET, Space, place, span_loss
from oneoff.mechanisms.space import space_of
from oneoff.models import Counts, Model
from oneoff.models.limits import ANYBODY
from oneoff.table import Attribute, Table
from tests.tables import promises, tables

Ints = npt.NDArray[np.integer]

EDGES = [0, 1, 7, 2**40]


def line(ages: list[int], values: list[int] | None = None) -> Table:
    """People on a number line."""
    labels, codes = np.unique(np.array(ages), return_inverse=True)
    marks = np.array(values or [0] * len(ages), dtype=np.int32)
    column = codes.reshape(-1, 1).astype(np.int32)
    return Table((Attribute("x", "numeric", labels),), column, Attribute("s", "numeric", np.unique(marks)), marks)


# The first groups


@dataclass
class Slow:
    """`anchored` in the most obvious way, for so few people that all are near."""

    table: Table
    space: Space
    limits: Ints
    plan: Ints
    places: list[int] = field(default_factory=list)

    def groups(self, anchors: Ints) -> list[int]:
        group, made, failed = [-1] * self.table.rows, 0, [0] * self.limits.shape[1]
        self.places = list(range(self.table.rows))
        for anchor in anchors.tolist():
            v = int(self.table.values[anchor])
            size = int(self.plan[0, v])
            if group[anchor] >= 0 or size > len(self.places) or failed[v] >= 8:
                continue
            members = self.grown(anchor, size)
            failed[v] = 0 if members else failed[v] + 1
            for person in members:
                group[person] = made
                at = self.places.index(person)
                self.places[at] = self.places[-1]  # the last one moves up
                self.places.pop()
            made += bool(members)
        return group

    def grown(self, anchor: int, size: int) -> list[int]:
        needed, most = self.bounds(size)
        members = [anchor]
        while len(members) < size:
            counts = self.counts(members)
            free = [p for p in self.places if p not in members and counts[self.value(p)] < most[self.value(p)]]
            short = sum(max(n - c, 0) for n, c in zip(needed, counts, strict=True))
            wanted = [p for p in free if counts[self.value(p)] < needed[self.value(p)]]
            candidates = wanted if short >= size - len(members) and wanted else free
            if not candidates:
                return []
            members.append(min(candidates, key=lambda p: self.cost(members, p, size)))
        floors = zip(self.counts(members), self.limits[2].tolist(), self.limits[3].tolist(), strict=True)
        return members if all(count * b >= a * size for count, a, b in floors) else []

    def bounds(self, size: int) -> tuple[list[int], list[int]]:
        """How many of each value there must be, and may be."""
        rest, free = len(self.places) - size, self.counts(self.places)
        needed, most = [], []
        for v, (a, b, c, d) in enumerate(self.limits[:4].T.tolist()):
            own = int(self.plan[0, v])
            room = (a * rest // b + a * own // b * rest // own) // 2
            needed.append(max(min(free[v] - room, a * size // b, free[v]), 0))
            most.append(a * size // b)
            if c > 0:
                needed[v] = max(needed[v], -(-c * size // d))
                most[v] = min(most[v], max(needed[v], free[v] + -c * rest // d))
        return needed, most

    def value(self, person: int) -> int:
        return int(self.table.values[person])

    def counts(self, people: list[int]) -> list[int]:
        counted: list[int] = np.bincount(self.table.values[people], minlength=self.limits.shape[1]).tolist()
        return counted

    def cost(self, members: list[int], person: int, size: int) -> int:
        """What the person adds to the loss of the box, less the reward."""
        stretch = -int(self.plan[1, self.value(person)] // size)
        for a, kind in enumerate(self.space.attribute[:, 0].tolist()):
            codes, code = self.table.codes[members, a].tolist(), int(self.table.codes[person, a])
            low, high = min(codes), max(codes)
            if kind == SET:
                stretch += 0 if code in codes else int(self.space.unit[a] * 2**19 + 0.5)
            elif kind == RANGE:
                at, first, last = (place(self.space, a, x) for x in (code, low, high))
                stretch += max(first - at, 0) + max(at - last, 0)
            else:
                wide = span_loss(self.space, a, min(low, code), max(high, code), 0)
                stretch += int((wide - span_loss(self.space, a, low, high, 0)) * 2**19 + 0.5)
        return stretch


def limits_of(model: Model, table: Table) -> Ints:
    return model.rule(table.counts, table.rows).limits


@given(data=st.data(), numeric_as=st.sampled_from(["range", "set"]))
def test_anchored_is_the_greedy_search_it_claims_to_be(data: st.DataObject, numeric_as: str) -> None:
    table = data.draw(tables(most=30))
    model = data.draw(promises(table))
    space, limits = space_of(table, numeric_as), limits_of(model, table)
    sizes = data.draw(st.lists(st.integers(1, 8), min_size=limits.shape[1], max_size=limits.shape[1]))
    rewards = data.draw(st.lists(st.integers(0, 2**22), min_size=limits.shape[1], max_size=limits.shape[1]))
    plan, people = np.array([sizes, rewards]), np.arange(table.rows)
    anchors = np.array(data.draw(st.permutations(people.tolist())))
    found = anchored(columns(table.codes, space, people), table.values, space, limits, plan, anchors, table.rows)
    assert found.tolist() == Slow(table, space, limits, plan).groups(anchors)


def test_anchored_along_many_blocks() -> None:
    """Everybody of a long line finds a group of neighbours, though at most three blocks are looked at."""
    table, people = line(list(range(5000))), np.arange(5000)
    space, limits = space_of(table), np.array([[1], [1], [0], [1], [0]])
    mixed = np.random.default_rng(1).permutation(5000)
    group = anchored(
        columns(table.codes, space, people), table.values, space, limits, np.array([[10], [0]]), mixed, 1024
    )
    assert (np.bincount(group) == 10).all()
    assert max(np.ptp(np.flatnonzero(group == g)) for g in range(400)) < 2048


def test_anchored_looks_farther_where_nobody_near_may_join() -> None:
    """A thousand people with one value, then a thousand with another: pairs need both."""
    table, people = line(list(range(2000)), [0] * 1000 + [1] * 1000), np.arange(2000)
    space, limits = space_of(table), np.array([[1, 1], [2, 2], [0, 0], [1, 1], [0, 0]])
    group = anchored(
        columns(table.codes, space, people), table.values, space, limits, np.array([[2, 2], [0, 0]]), people, 512
    )
    assert (np.bincount(group) == 2).all()
    assert (table.values[np.argsort(group, kind="stable")].reshape(-1, 2) == [0, 1]).all()


# Everybody who is left over


def _ceilings_only(part: Model, table: Table) -> bool:
    """On single values: packing refuses promises about branches."""
    limits = part.caps(table.counts)
    return limits is not None and not limits.sets


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


# Moves


def tightest(table: Table, groups: list[Ints]) -> Ints:
    """The tightest ceilings and floors that all groups keep."""
    counts = [np.bincount(table.values[g], minlength=len(table.counts)).tolist() for g in groups]
    shares = [[Fraction(c[v], len(g)) for c, g in zip(counts, groups, strict=True)] for v in range(len(table.counts))]
    top, bottom = [max(s) for s in shares], [min(s) for s in shares]
    parts = [[f.numerator for f in top], [f.denominator for f in top]]
    parts += [[f.numerator for f in bottom], [f.denominator for f in bottom], [0] * len(top)]
    return np.array(parts, dtype=np.int64)


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


# Offers


@given(table=tables(most=40), deals=st.integers(1, 12), data=st.data())
def test_groups_offer_different_members_and_all_if_they_can(table: Table, deals: int, data: st.DataObject) -> None:
    many = data.draw(st.integers(1, min(6, table.rows)))
    edges = sorted(data.draw(st.permutations(range(1, table.rows)))[: many - 1])
    start, luck = np.array([0, *edges, table.rows]), np.random.default_rng(1).random(table.rows)
    offered = offers(table.codes, space_of(table), start, np.arange(table.rows), luck, deals)
    for g, size in enumerate(np.diff(start).tolist()):
        places = [at for at in offered[g].tolist() if at >= 0]
        assert len(places) == len(set(places)) == min(size, deals)
        assert all(at < size for at in places)


def test_large_groups_often_offer_who_stretches_them() -> None:
    table, start = line([*range(40), 90]), np.array([0, 41])
    rng = np.random.default_rng(2)
    found = [40 in offers(table.codes, space_of(table), start, np.arange(41), rng.random(41), 4) for _ in range(200)]
    assert np.mean(found) > 0.8


@pytest.mark.parametrize("deals", [1, 3])
def test_luck_decides_between_equals(deals: int) -> None:
    table, start, rng = line([7] * 30), np.array([0, 30]), np.random.default_rng(3)
    space: Any = space_of(table)
    offered = [offers(table.codes, space, start, np.arange(30), rng.random(30), deals)[0, 0] for _ in range(200)]
    assert len(set(offered)) > 25
