"""The first groups of packing against a slow twin."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.crowd import columns
from oneoff.kernels.packing import anchored
from oneoff.kernels.space import KIND, RANGE, SET, Space, place, span_loss
from oneoff.mechanisms.space import space_of
from oneoff.models import Model
from oneoff.table import Table
from tests.kernels.grouped import Ints, line
from tests.tables import promises, tables


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
        for a, kind in enumerate(self.space.attribute[:, KIND].tolist()):
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
