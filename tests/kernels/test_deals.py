"""Members dealt out anew, against all permutations, and which ones groups offer."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.deals import offers
from oneoff.mechanisms.space import curve_order, space_of
from oneoff.table import Attribute, Hierarchy, Table
from oneoff.table.read import read_table
from tests.kernels.grouped import NO_LIMITS, Grouped, Ints, divided, grouped, line
from tests.tables import tables
from tests.twins import attribute_loss


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


# Offers


def oddness(table: Table, rows: Ints, place: int) -> float:
    """How much the box would shrink without everybody who is like one member, the less the more they are."""
    odd = 0.0
    for j in range(len(table.quasi)):
        like = table.codes[rows, j] == table.codes[rows[place], j]
        if like.sum() < 8 and not like.all():
            rest = attribute_loss(table, j, rows) - attribute_loss(table, j, rows[~like])
            odd += rest / 2.0 ** int(like.sum())
    return odd


@given(table=tables(most=40), deals=st.integers(1, 12), data=st.data())
def test_who_stretches_the_box_is_offered_sooner(table: Table, deals: int, data: st.DataObject) -> None:
    start, luck = data.draw(divided(table.rows, 3)), np.random.default_rng(5).random(table.rows)
    found = offers(table.codes, space_of(table), start, np.arange(table.rows), luck, deals)
    for g, (first, last) in enumerate(pairwise(start.tolist())):
        turn, rows = luck[first:last], np.arange(first, last)
        if last - first > deals:
            odd = np.array([oddness(table, rows, i) for i in range(last - first)])
            turn = -np.log(1.0 - turn) / (max(odd.mean(), 1e-9) + odd)
        order = np.argsort(turn)[:deals].tolist()
        assert found[g].tolist() == order + [-1] * (deals - len(order))


@given(table=tables(most=40), deals=st.integers(1, 12), data=st.data())
def test_groups_offer_different_members_and_all_if_they_can(table: Table, deals: int, data: st.DataObject) -> None:
    start, luck = data.draw(divided(table.rows, 6)), np.random.default_rng(1).random(table.rows)
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
