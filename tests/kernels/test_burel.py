"""Leaves divided by the best of several plans, against slow twins and as laws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels import nodes as loops
from oneoff.kernels.burel import _repaired, divide
from oneoff.kernels.losses import average_loss
from oneoff.kernels.shares import CUT, DEAL, EITHER, RIGHT, STRICT
from oneoff.models import Limits
from oneoff.models.limits import OrderedLimits
from oneoff.table import Table
from oneoff.table.space import space_of
from tests.kernels.tree_twins import allowed, halves, hands, nearest, paper_loss, shuffled, slow_buckets
from tests.tables import tables


def plain(values: int, people: int) -> OrderedLimits:
    return Limits((Fraction(1),) * values).ordered(people)


@given(
    data=st.data(),
    way=st.sampled_from([RIGHT, EITHER, DEAL, CUT]),
    parts=st.integers(1, 6),
    least=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_dividing_keeps_the_ceilings_inside_every_leaf(
    data: st.DataObject, way: int, parts: int, least: int, seed: int
) -> None:
    """Two leaves; groups never mix them, keep ceilings and floors, and lose no more than the leaves."""
    people = data.draw(tables())
    counts, n, d = people.counts, people.rows, len(people.quasi)
    leaf = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    leaf = np.unique(leaf, return_inverse=True)[1]
    inside = [np.bincount(people.values[leaf == i], minlength=len(counts)) for i in range(int(leaf.max()) + 1)]
    highest = [max(Fraction(int(c[v]), int(c.sum())) for c in inside) for v in range(len(counts))]
    caps = Limits(tuple(highest), None if data.draw(st.booleans()) else _floors(inside))
    least = min(least, *(int(c.sum()) for c in inside))
    line = np.argsort(leaf, kind="stable")
    lists = [line, *(np.lexsort((people.codes[line, j], leaf[line])) for j in range(d))]
    start = np.concatenate(([0], np.cumsum(np.bincount(leaf)))).astype(np.int64)
    label, plans = np.empty(n, np.int64), np.array([[slack, way, parts] for slack in (0.0, 0.4, np.inf)])
    space, promise = space_of(people), caps.with_least_size(least).ordered(n)
    chance = np.random.default_rng(seed).random(n)
    divide(0, len(inside), people.codes, people.values, space, promise, np.stack(lists), start, plans, chance, label)
    for g in np.unique(label):
        rows = np.flatnonzero(label == g)
        assert len(set(leaf[rows].tolist())) == 1
        assert len(rows) >= least
        for v, found in enumerate(np.bincount(people.values[rows], minlength=len(counts)).tolist()):
            assert Fraction(found, len(rows)) <= caps.ceiling[v]
            assert caps.floor is None or Fraction(found, len(rows)) >= caps.floor[v]
    group = np.unique(label, return_inverse=True)[1].astype(np.int32)
    whole = average_loss(people.codes, space, leaf.astype(np.int32))
    assert average_loss(people.codes, space, group) <= whole + 1e-12


def _floors(inside: list[np.ndarray]) -> tuple[Fraction, ...]:
    """Half of what the leaves have."""
    return tuple(min(Fraction(int(c[v]), 2 * int(c.sum())) for c in inside) for v in range(len(inside[0])))


def test_a_boundary_is_repaired_only_as_far_as_the_promise_asks() -> None:
    """Ten people by age, a holds the younger five; a and b may be two thirds of a group: nobody can be apart."""
    promise = Limits((Fraction(2, 3),) * 2).ordered(10)
    work = loops.room_for(10, 2, 0)
    work[loops.WHICH, :10] = [0] * 5 + [1] * 5
    work[loops.OF, :2], work[loops.TAKES, :2], work[loops.HEAD, :2] = [0, 1], [5, 5], [0, 1]
    axes = np.arange(10, dtype=np.int32).reshape(1, 10)
    assert _repaired(promise, axes, 0, 0, 10, 2, 5, work) == 5
    assert work[loops.LEFT, :2].tolist() == [3, 2]
    assert _repaired(plain(2, 10), axes, 0, 0, 10, 2, 5, work) == 5
    assert work[loops.LEFT, :2].tolist() == [5, 0]
    assert _repaired(Limits((Fraction(1, 2),) * 2).ordered(10), axes, 0, 0, 10, 2, 5, work) == 0


def divided_slowly(
    table: Table, caps: Limits, plan: tuple[float, int], rows: list[int], chance: np.ndarray
) -> list[int]:
    """The group of everybody in a leaf, by one plan that does not cut."""
    slack, way = plan
    counts = np.bincount(table.values[rows], minlength=len(table.counts)).tolist()
    buckets = slow_buckets(counts, caps, slack)
    heads, sizes = [bucket[0] for bucket in buckets], [sum(counts[v] for v in bucket) for bucket in buckets]
    if way == DEAL:
        shares = hands(heads, sizes, caps)
    else:
        shares = halves(sizes, lambda part: allowed(heads, part, caps), way == EITHER)
    which = [next(b for b, bucket in enumerate(buckets) if table.values[row] in bucket) for row in rows]
    group = nearest(which, np.array(shares), shuffled(len(rows), chance))
    parts = [[row for row, g in zip(rows, group, strict=True) if g == number] for number in range(len(shares))]
    loss, whole = (sum(len(p) * paper_loss(table, np.array(p)) for p in each) for each in (parts, [rows]))
    gains = slack == STRICT or loss < whole * (1 - 1e-12)
    return group if len(shares) > 1 and gains else [0] * len(rows)


@given(
    table=tables(),
    factors=st.lists(st.fractions(1, 5, max_denominator=6), min_size=6, max_size=6),
    plan=st.tuples(st.sampled_from([STRICT, 0.0, 0.5, np.inf]), st.sampled_from([RIGHT, EITHER, DEAL])),
    seed=st.integers(0, 99),
)
def test_one_plan_for_one_leaf_is_that_of_the_twin(
    table: Table, factors: list[Fraction], plan: tuple[float, int], seed: int
) -> None:
    shares = [Fraction(c, table.rows) for c in table.counts.tolist()]
    caps = Limits(tuple(min(Fraction(1), f * p) for f, p in zip(factors, shares, strict=False)))
    rng = np.random.default_rng(seed)
    line, chance, label = rng.permutation(table.rows), rng.random(table.rows), np.empty(table.rows, np.int64)
    promise, start = caps.ordered(table.rows), np.array([0, table.rows])
    codes, space, plans = table.codes, space_of(table), np.array([[*plan, 0.0]])
    divide(0, 1, codes, table.values, space, promise, line[None, :], start, plans, chance, label)
    assert label[line].tolist() == divided_slowly(table, caps, plan, line.tolist(), chance)
