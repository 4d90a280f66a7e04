"""Members dealt out anew, against all permutations; first groups; and which values should share a bucket."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.deals import redeal
from oneoff.kernels.groups import assemble, total_loss
from oneoff.kernels.matching import rematch
from oneoff.kernels.planning import alike
from oneoff.kernels.space import UNIT
from oneoff.mechanisms.space import curve_order, space_of
from oneoff.models.limits import ANYBODY
from oneoff.table import Attribute, Hierarchy, Table
from oneoff.table.read import read_table
from tests.tables import tables
from tests.twins import box_loss

Ints = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]

NO_LIMITS = ANYBODY.rows


@dataclass(frozen=True, eq=False)
class Grouped:
    """A table whose people lie in groups, as the kernels want them."""

    table: Table
    start: Ints
    member: Ints

    @property
    def groups(self) -> list[Ints]:
        return np.split(self.member, self.start[1:-1])

    @property
    def loss(self) -> int:
        return int(total_loss(self.table.codes, space_of(self.table), self.start, self.member).sum())

    def redealt(self, limits: Ints, order: Ints, begin: Ints, offers: Ints, soft: float = 0.0) -> Grouped:
        member, space = self.member.copy(), space_of(self.table)
        values = self.table.values if limits is not NO_LIMITS else np.zeros_like(self.table.values)
        redeal(self.table.codes, values, space, limits, self.start, member, order, begin, offers, soft)
        return Grouped(self.table, self.start, member)

    def counts(self) -> Ints:
        return np.array([np.bincount(self.table.values[g], minlength=len(self.table.counts)) for g in self.groups])

    def limits(self) -> Ints:
        """The tightest ceilings and floors that all groups keep."""
        size = np.diff(self.start).tolist()
        shares = [[Fraction(c, n) for c, n in zip(column, size, strict=True)] for column in self.counts().T.tolist()]
        bounds = [(max(column), min(column)) for column in shares]
        rows = [[f.numerator for f, _ in bounds], [f.denominator for f, _ in bounds]]
        rows += [[f.numerator for _, f in bounds], [f.denominator for _, f in bounds], [0] * len(bounds)]
        return np.array(rows, dtype=np.int64)

    def keeps(self, limits: Ints) -> bool:
        size = np.diff(self.start)[:, None]
        counts = self.counts()
        below, above = counts * limits[1] <= limits[0] * size, counts * limits[3] >= limits[2] * size
        return bool((below & above).all())


@st.composite
def grouped(draw: st.DrawFn, most_groups: int = 5, most: int = 20) -> Grouped:
    table = draw(tables(most=most))
    many = draw(st.integers(1, min(most_groups, table.rows)))
    edges = draw(st.permutations(range(1, table.rows)))[: many - 1]
    start = np.array([0, *sorted(edges), table.rows], dtype=np.int64)
    return Grouped(table, start, np.array(draw(st.permutations(range(table.rows))), dtype=np.int64))


def offered(draw: st.DataObject, people: Grouped, deals: int) -> Ints:
    """For every group and deal the place of a member, or -1."""
    return np.array(
        [[draw.draw(st.integers(-1, b - a - 1)) for _ in range(deals)] for a, b in pairwise(people.start.tolist())],
        dtype=np.int32,
    )


def exchanges(people: Grouped, offers: Ints) -> list[Grouped]:
    """Everything one deal could lead to."""
    places = [start + at for start, at in zip(people.start[:-1].tolist(), offers.tolist(), strict=True) if at >= 0]
    found = []
    for order in permutations(places):
        member = people.member.copy()
        member[places] = people.member[list(order)]
        found.append(Grouped(people.table, people.start, member))
    return found


def whole(people: Grouped) -> tuple[Ints, Ints]:
    """All groups in one chunk."""
    many = len(people.start) - 1
    return np.arange(many), np.array([0, many])


def rounding(people: Grouped) -> int:
    """Places and losses are rounded to whole units, once for each attribute, group and end of a range."""
    return 3 * len(people.table.quasi) * people.table.rows


@given(grouped())
def test_total_loss(people: Grouped) -> None:
    loss = total_loss(people.table.codes, space_of(people.table), people.start, people.member)
    slow = [len(group) * box_loss(people.table, group) * UNIT for group in people.groups]
    assert loss == pytest.approx(slow, abs=len(people.table.quasi) * people.table.rows)


def test_who_is_alone_costs_nothing_also_with_a_hierarchy() -> None:
    """8 and a, alone, is to be exchanged with -4 and c of a group of three: 1 + 0 there instead of 1/4 + 1."""
    tree = Hierarchy.from_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])
    frame = pl.DataFrame({"x": [8, -4, -4, -4, -1], "c": [*"aacaa"]})
    people = Grouped(read_table(frame, quasi=["x", "c"], hierarchies={"c": tree}), np.array([0, 1, 2, 5]), np.arange(5))
    after = people.redealt(NO_LIMITS, *whole(people), np.array([[0], [-1], [0]], dtype=np.int32))
    assert after.member.tolist() == [2, 1, 0, 3, 4]


@given(grouped(), st.booleans(), st.data())
def test_a_deal_is_the_best_of_all_exchanges(people: Grouped, limited: bool, data: st.DataObject) -> None:
    offers = offered(data, people, 1)
    limits = people.limits() if limited else NO_LIMITS
    after = people.redealt(limits, *whole(people), offers)
    legal = [other for other in exchanges(people, offers[:, 0]) if not limited or other.keeps(limits)]
    assert any(np.array_equal(after.member, other.member) for other in legal)
    assert after.loss <= min(other.loss for other in legal) + rounding(people)


@given(grouped(most_groups=8, most=30), st.booleans(), st.floats(0, 1), st.data())
def test_deals_keep_people_promises_and_chunks(
    people: Grouped, limited: bool, soft: float, data: st.DataObject
) -> None:
    many = len(people.start) - 1
    order = np.array(data.draw(st.permutations(range(many))), dtype=np.int64)
    cut = data.draw(st.integers(0, many))
    offers, limits = offered(data, people, 3), people.limits() if limited else NO_LIMITS
    after = people.redealt(limits, order, np.array([0, cut, many]), offers, soft)
    assert not limited or after.keeps(limits)
    for chunk in (order[:cut], order[cut:]):
        before, now = ([i for g in chunk for i in some.groups[g].tolist()] for some in (people, after))
        assert sorted(before) == sorted(now)
    still = np.ones(len(people.member), dtype=np.bool_)
    for g, places in enumerate(offers.tolist()):
        still[[people.start[g] + at for at in places if at >= 0]] = False
    assert np.array_equal(after.member[still], people.member[still])
    assert soft > 0 or after.loss <= people.loss + 3 * rounding(people)


@pytest.mark.parametrize("values", sorted(set(permutations([0, 0, 1, 1]))))
def test_limits_refuse_the_exchange_that_would_save_most(values: tuple[int, ...]) -> None:
    """Two pairs, each of a young and an old person: the old one of the first and the young one of the second change
    places, unless that takes a value away that a pair must have."""
    age, letters = Attribute("age", "numeric", np.array([0, 1, 90, 91])), np.array(["a", "b"], dtype=object)
    codes = np.array([[0], [2], [1], [3]], dtype=np.int32)
    table = Table((age,), codes, Attribute("s", "categorical", letters), np.array(values, dtype=np.int32))
    pairs = Grouped(table, np.array([0, 2, 4]), np.arange(4))
    after = pairs.redealt(pairs.limits(), *whole(pairs), np.array([[1], [0]], dtype=np.int32))
    alike_pairs = values[0] != values[1]
    assert (after.loss < pairs.loss) == (values[1] == values[2] or not alike_pairs)


@pytest.mark.parametrize("soft", [0.0, 0.5])
def test_deals_do_not_depend_on_threads(people: Table, monkeypatch: pytest.MonkeyPatch, soft: float) -> None:
    rng = np.random.default_rng(0)
    some = Grouped(people, np.arange(0, 601, 4), rng.permutation(600))
    order = curve_order(people, space_of(people), some.member[::4], rng)
    offers = np.tile(np.arange(4, dtype=np.int32), (150, 1))
    found = []
    for threads in ("1", "2", "8"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        found.append(some.redealt(NO_LIMITS, order, np.arange(0, 151, 10), offers, soft))
    assert all(np.array_equal(found[0].member, other.member) for other in found)
    assert found[0].loss < 0.9 * some.loss


@given(tables(most=24), st.data())
def test_first_groups_grow_by_the_best_assignment(table: Table, data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, min(5, table.rows)))
    many = table.rows // groups
    mixed = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(table.rows)
    buckets, deepest = mixed[: many * groups].reshape(many, groups), data.draw(st.integers(1, many + 1))
    made = assemble(table.codes, space_of(table), buckets, 1, deepest)
    assert np.array_equal(np.sort(made, axis=0), np.sort(buckets.T, axis=0)), "one member of every bucket"
    assert np.array_equal(made[:, deepest:], buckets.T[:, deepest:]), "beyond, members stay where they are"
    for b in range(1, min(many, deepest)):
        start, before = np.arange(groups + 1) * (b + 1), made[:, :b]
        columns = [made[:, b], *(np.array(order) for order in permutations(buckets[b].tolist()))]
        losses = [Grouped(table, start, np.column_stack([before, column]).ravel()).loss for column in columns]
        assert losses[0] <= min(losses) + 3 * table.rows * len(table.quasi)


def test_strides_are_groups_of_their_own(people: Table) -> None:
    buckets = np.random.default_rng(1).permutation(600).reshape(4, 150)
    made = assemble(people.codes, space_of(people), buckets, 3, 9)
    for stride in range(3):
        part = np.ascontiguousarray(buckets[:, stride::3])
        assert np.array_equal(made[stride::3], assemble(people.codes, space_of(people), part, 1, 9))


@given(st.integers(1, 6).flatmap(lambda m: st.lists(st.integers(0, 9), min_size=m * m, max_size=m * m)))
def test_rematch_finds_the_least_of_all_permutations(entries: list[int]) -> None:
    m = int(len(entries) ** 0.5)
    cost, places = np.array(entries, dtype=np.int64).reshape(m, m), np.arange(m)
    chosen = rematch(cost, np.empty((7, m + 2), dtype=np.int64)).tolist()[:m]
    assert sorted(chosen) == places.tolist()
    assert cost[places, chosen].sum() == min(cost[places, list(order)].sum() for order in permutations(range(m)))


@given(st.integers(1, 40), st.integers(0, 99))
def test_rematch_keeps_a_guess_that_is_best_for_everybody(m: int, seed: int) -> None:
    cost = np.random.default_rng(seed).integers(1, 5, (m, m))
    np.fill_diagonal(cost, 1)
    assert rematch(cost, np.empty((7, m), dtype=np.int64)).tolist() == list(range(m))


# Which values share a bucket


def foreseen(shown: Floats, counts: Ints, home: Ints, gaps: Floats, numeric: npt.NDArray[np.bool_], many: int) -> float:
    """What buckets that look different cost per group, times the groups, and twelve for everybody too many."""
    load = np.array([counts[home == b].sum() for b in range(many)])
    if load.min() == 0:
        return float("inf")
    inside = np.array([shown[home == b].sum(axis=0) for b in range(many)]) / load[:, None]
    apart = np.where(numeric, inside.max(axis=0) - inside.min(axis=0), inside.max(axis=0) - inside.mean(axis=0))
    return float((gaps * apart).sum() * load.min() + 12 * (load - load.min()).sum() / many)


@st.composite
def pictures(draw: st.DrawFn, values: int) -> tuple[Floats, Ints, Floats, npt.NDArray[np.bool_]]:
    """People expected with each code of a number and of a category; all values occur equally often."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    counts = np.full(values, draw(st.integers(5, 50)))
    number, category = rng.dirichlet(np.ones(6), values), rng.dirichlet(np.ones(4), values)
    shown = np.hstack([np.cumsum(number, axis=1), category]) * counts[:, None]
    gaps = np.concatenate([np.full(5, 0.2), [0.0], np.full(4, 1 / 3)])
    return shown, counts, gaps, np.arange(10) < 6


@given(pictures(12), st.integers(2, 4))
def test_values_are_put_together_no_worse_than_given(
    picture: tuple[Floats, Ints, Floats, npt.NDArray[np.bool_]], buckets: int
) -> None:
    shown, counts, gaps, numeric = picture
    home = np.arange(12) % buckets
    found = alike(shown, counts, home, gaps, numeric, buckets, 500)
    assert set(found.tolist()) == set(range(buckets)), "no bucket is empty"
    before, after = (foreseen(shown, counts, each, gaps, numeric, buckets) for each in (home, found))
    assert after <= before * (1 + 1e-9)


@given(pictures(4))
def test_four_values_are_put_together_as_well_as_they_can_be(
    picture: tuple[Floats, Ints, Floats, npt.NDArray[np.bool_]],
) -> None:
    shown, counts, gaps, numeric = picture
    found = alike(shown, counts, np.array([0, 1, 0, 1]), gaps, numeric, 2, 500)
    every = [np.array(home) for home in product(range(2), repeat=4)]
    best = min(foreseen(shown, counts, home, gaps, numeric, 2) for home in every)
    assert foreseen(shown, counts, found, gaps, numeric, 2) == pytest.approx(best)
