"""The loops of BUREL against slow obvious twins, and as laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels import nodes as loops
from oneoff.kernels.burel import _repaired, divide
from oneoff.kernels.losses import average_loss
from oneoff.kernels.retrieval import retrieve
from oneoff.kernels.shares import CUT, DEAL, EITHER, RIGHT, STRICT, buckets_of, shares_of
from oneoff.models import Limits
from oneoff.models.limits import OrderedLimits
from oneoff.table.space import space_of
from tests.tables import tables

COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(lambda counts: sum(counts) > 0)


def limits_of(counts: list[int], factors: list[Fraction]) -> Limits:
    """Ceilings some times as high as the shares, so that everybody together keeps them."""
    total = sum(counts)
    return Limits(tuple(min(Fraction(1), f * Fraction(c, total)) for c, f in zip(counts, factors, strict=True)))


@st.composite
def promised(draw: st.DrawFn) -> tuple[list[int], Limits]:
    counts = draw(COUNTS)
    factors = draw(st.lists(st.fractions(1, 5, max_denominator=6), min_size=len(counts), max_size=len(counts)))
    limits = limits_of(counts, factors)
    if draw(st.booleans()):
        return counts, limits
    middle = draw(st.integers(0, len(counts)))
    sets = [(low, high) for low, high in ((0, middle), (0, middle // 2), (middle, len(counts))) if high > low]
    share = {ends: Fraction(sum(counts[slice(*ends)]), sum(counts)) for ends in sets}
    more = draw(st.fractions(1, 3, max_denominator=4))
    return counts, Limits(limits.ceiling, None, tuple((*ends, min(Fraction(1), more * p)) for ends, p in share.items()))


def fewest(counts: list[int], limits: Limits, strict: bool) -> int:
    """The dynamic programming of the paper, equation 6 with its pseudo-code's treatment of single values."""
    order = sorted((v for v in range(len(counts)) if counts[v]), key=lambda v: limits.ceiling[v])
    total, best = sum(counts), [0]
    for end in range(1, len(order) + 1):
        best.append(best[end - 1] + 1)
        for begin in range(end - 1):
            share = Fraction(sum(counts[v] for v in order[begin:end]), total)
            ceiling = min(Fraction(1), limits.ceiling[order[begin]])
            if share < ceiling or (share == ceiling and not strict):
                best[end] = min(best[end], best[begin] + 1)
    return best[-1]


@given(given_=promised(), strict=st.booleans())
def test_filling_from_the_left_makes_as_few_buckets_as_dynamic_programming(
    given_: tuple[list[int], Limits], strict: bool
) -> None:
    counts, limits = given_
    limits = Limits(limits.ceiling)
    promise = limits.ordered(sum(counts))
    found = buckets_of(promise, np.array(counts), STRICT if strict else 0.0)
    assert len(found) == fewest(counts, limits, strict)
    assert sorted(v for bucket in found for v in bucket) == [v for v in range(len(counts)) if counts[v]]


@given(given_=promised())
def test_more_slack_never_makes_fewer_buckets(given_: tuple[list[int], Limits]) -> None:
    counts, limits = given_
    promise = limits.ordered(sum(counts))
    many = [len(buckets_of(promise, np.array(counts), slack)) for slack in (0.0, 0.2, 0.8, 3.0, np.inf)]
    assert many == sorted(many)
    assert many[-1] == np.count_nonzero(counts)


def is_kept(shares: np.ndarray, buckets: list[np.ndarray], limits: Limits) -> bool:
    """Theorem 1, and the same for sets, as fractions."""
    for group in shares:
        size = int(group.sum())
        for x, bucket in zip(group.tolist(), buckets, strict=True):
            if Fraction(x, size) > min(limits.ceiling[v] for v in bucket):
                return False
        for low, high, ceiling in limits.sets:
            inside = [x for x, bucket in zip(group.tolist(), buckets, strict=True) if low <= bucket[0] < high]
            if Fraction(sum(inside), size) > ceiling:
                return False
    return True


@given(
    given_=promised(),
    slack=st.sampled_from([STRICT, 0.0, 0.3, np.inf]),
    way=st.sampled_from([RIGHT, EITHER, DEAL]),
    least=st.integers(1, 4),
)
def test_shares_add_up_and_are_eligible(given_: tuple[list[int], Limits], slack: float, way: int, least: int) -> None:
    counts, limits = given_
    least = min(least, sum(counts))
    promise = limits.with_least_size(least).ordered(sum(counts))
    buckets = buckets_of(promise, np.array(counts), slack)
    sizes = np.array([sum(counts[v] for v in bucket) for bucket in buckets])
    shares = shares_of(promise, np.array([bucket[0] for bucket in buckets]), sizes, way)
    assert shares.sum(axis=0).tolist() == sizes.tolist()
    assert (shares.sum(axis=1) >= least).all()
    assert is_kept(shares, buckets, limits)
    if way == DEAL:
        assert (np.ptp(shares, axis=0) <= 1).all()
        assert np.ptp(shares.sum(axis=1)) <= 1


@given(given_=promised())
def test_buckets_stay_inside_one_set(given_: tuple[list[int], Limits]) -> None:
    counts, limits = given_
    for bucket in buckets_of(limits.ordered(sum(counts)), np.array(counts), 0.0):
        for low, high, _ in limits.sets:
            assert len({low <= v < high for v in bucket}) == 1


def most_hands(sizes: list[int], limits: list[Fraction]) -> int:
    n = sum(sizes)
    pairs = list(zip(sizes, limits, strict=True))
    return max(k for k in range(1, n + 1) if k == 1 or all(-(-x // k) <= f * (n // k) for x, f in pairs))


@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=5), more=st.fractions(1, 4, max_denominator=5))
def test_deals_as_many_hands_as_possible(sizes: list[int], more: Fraction) -> None:
    limits = limits_of(sizes, [more] * len(sizes))
    shares = shares_of(limits.ordered(sum(sizes)), np.arange(len(sizes)), np.array(sizes), DEAL)
    assert len(shares) == most_hands(sizes, list(limits.ceiling))


def retrieved(which: list[int], shares: np.ndarray, chance: np.ndarray) -> list[int]:
    """The group of everybody along the line, by the compiled loop."""
    people, (groups, buckets) = len(which), shares.shape
    work = loops.room_for(people, buckets, 0)
    work[loops.WHICH, :people], work[loops.SEED, :people] = which, np.arange(people)
    work[loops.SIZE, :buckets] = shares.sum(axis=0)
    region = 0
    for g in range(groups):
        takes = np.flatnonzero(shares[g])
        work[loops.GROUP, g], work[loops.GROUP_MANY, g] = region, len(takes)
        work[loops.OF, region : region + len(takes)] = takes
        work[loops.TAKES, region : region + len(takes)] = shares[g, takes]
        region += int(shares[g].sum())
    retrieve(buckets, people, groups, chance, work)
    return work[loops.ASSIGNED, :people].tolist()


def nearest(which: list[int], shares: np.ndarray, seeds: list[int]) -> list[int]:
    """The same by looking at everybody who is still free."""
    group = [-1] * len(which)
    for g, row in enumerate(shares.tolist()):
        seed = next(p for p in seeds if group[p] < 0)
        for bucket, many in enumerate(row):
            free = [p for p in range(len(which)) if group[p] < 0 and which[p] == bucket]
            for p in sorted(free, key=lambda p: (abs(p - seed), p))[:many]:
                group[p] = g
    return group


def shuffled(people: int, chance: np.ndarray) -> list[int]:
    order = list(range(people))
    for p in range(people - 1):
        other = p + int(chance[p] * (people - p))
        order[p], order[other] = order[other], order[p]
    return order


@given(data=st.data(), seed=st.integers(0, 2**32))
def test_retrieval_takes_the_nearest_free_people_of_every_bucket(data: st.DataObject, seed: int) -> None:
    shares = np.array(
        data.draw(
            st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any), min_size=1, max_size=6),
        )
    )
    rng = np.random.default_rng(seed)
    which = rng.permutation(np.repeat(np.arange(3), shares.sum(axis=0))).tolist()
    chance = rng.random(len(which))
    assert retrieved(which, shares, chance) == nearest(which, shares, shuffled(len(which), chance))


def test_the_choice_of_members_tells_an_insider_a_value() -> None:
    """Six people on a line, four with a and two with b, groups of two a and one b: a reader believes b with 1/3.

    Somebody who knows the method and sees {0, 1, 4} | {2, 3, 5} believes that 4 has b with 3/4, and with certainty if
    {0, 1, 4} was retrieved first: no other world leads there. So the claim of the paper (section 7) that the method is
    immune to such attacks is wrong; it stands against a reader only.
    """
    shares, first, either = np.array([[2, 1], [2, 1]]), [], []
    for holders in combinations(range(6), 2):
        which = [int(p in holders) for p in range(6)]
        for seed in range(6):
            group = retrieved(which, shares, np.array([(seed + 0.5) / 6, 0, 0, 0, 0, 0]))
            if [p for p in range(6) if group[p] == group[0]] == [0, 1, 4]:
                either.append(holders)
                first += [holders] * (group[0] == 0)
    assert first == [(4, 5), (4, 5)]  # of 90 equally likely pairs of world and seed
    assert Fraction(sum(4 in holders for holders in either), len(either)) == Fraction(3, 4)


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
    limits = Limits(tuple(highest), None if data.draw(st.booleans()) else _floors(inside))
    least = min(least, *(int(c.sum()) for c in inside))
    line = np.argsort(leaf, kind="stable")
    lists = [line, *(np.lexsort((people.codes[line, j], leaf[line])) for j in range(d))]
    start = np.concatenate(([0], np.cumsum(np.bincount(leaf)))).astype(np.int64)
    label, plans = np.empty(n, np.int64), np.array([[slack, way, parts] for slack in (0.0, 0.4, np.inf)])
    space, promise = space_of(people), limits.with_least_size(least).ordered(n)
    chance = np.random.default_rng(seed).random(n)
    divide(0, len(inside), people.codes, people.values, space, promise, np.stack(lists), start, plans, chance, label)
    for g in np.unique(label):
        rows = np.flatnonzero(label == g)
        assert len(set(leaf[rows].tolist())) == 1
        assert len(rows) >= least
        for v, found in enumerate(np.bincount(people.values[rows], minlength=len(counts)).tolist()):
            assert Fraction(found, len(rows)) <= limits.ceiling[v]
            assert limits.floor is None or Fraction(found, len(rows)) >= limits.floor[v]
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


@pytest.mark.parametrize("way", [RIGHT, EITHER])
def test_no_child_is_empty(way: int) -> None:
    """Halving six buckets of one person each would put nobody left."""
    promise = Limits((Fraction(1, 2),) * 6).ordered(6)
    shares = shares_of(promise, np.arange(6), np.ones(6, dtype=np.int64), way)
    assert (shares.sum(axis=1) > 0).all()
    if way == RIGHT:
        assert shares.tolist() == [[1] * 6]
