"""Buckets and shares, against slow twins and as laws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.nodes import BUCKET, COUNT, GROUP_SIZE, HEAD, LEFT, OF, ORDER, SIZE, TAKES, room_for
from oneoff.kernels.shares import (
    DEAL,
    EITHER,
    RIGHT,
    STRICT,
    are_allowed,
    bi_split,
    bucketize,
    buckets_of,
    deal_out,
    halve,
    shares_of,
)
from oneoff.models import Limits
from tests.kernels.tree_twins import allowed, halves, hands, slow_buckets

COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(lambda counts: sum(counts) > 0)


def caps_of(counts: list[int], factors: list[Fraction]) -> Limits:
    """Ceilings some times as high as the shares, so that everybody together keeps them."""
    total = sum(counts)
    return Limits(tuple(min(Fraction(1), f * Fraction(c, total)) for c, f in zip(counts, factors, strict=True)))


@st.composite
def promised(draw: st.DrawFn) -> tuple[list[int], Limits]:
    counts = draw(COUNTS)
    factors = draw(st.lists(st.fractions(1, 5, max_denominator=6), min_size=len(counts), max_size=len(counts)))
    caps = caps_of(counts, factors)
    if draw(st.booleans()):
        return counts, caps
    middle = draw(st.integers(0, len(counts)))
    sets = [(low, high) for low, high in ((0, middle), (0, middle // 2), (middle, len(counts))) if high > low]
    share = {ends: Fraction(sum(counts[slice(*ends)]), sum(counts)) for ends in sets}
    more = draw(st.fractions(1, 3, max_denominator=4))
    return counts, Limits(caps.ceiling, None, tuple((*ends, min(Fraction(1), more * p)) for ends, p in share.items()))


def fewest(counts: list[int], caps: Limits, strict: bool) -> int:
    """The dynamic programming of the paper, equation 6 with its pseudo-code's treatment of single values."""
    order = sorted((v for v in range(len(counts)) if counts[v]), key=lambda v: caps.ceiling[v])
    total, best = sum(counts), [0]
    for end in range(1, len(order) + 1):
        best.append(best[end - 1] + 1)
        for begin in range(end - 1):
            share = Fraction(sum(counts[v] for v in order[begin:end]), total)
            cap = min(Fraction(1), caps.ceiling[order[begin]])
            if share < cap or (share == cap and not strict):
                best[end] = min(best[end], best[begin] + 1)
    return best[-1]


@given(given_=promised(), strict=st.booleans())
def test_filling_from_the_left_makes_as_few_buckets_as_dynamic_programming(
    given_: tuple[list[int], Limits], strict: bool
) -> None:
    counts, caps = given_
    caps = Limits(caps.ceiling)
    promise = caps.ordered(sum(counts))
    found = buckets_of(promise, np.array(counts), STRICT if strict else 0.0)
    assert len(found) == fewest(counts, caps, strict)
    assert sorted(v for bucket in found for v in bucket) == [v for v in range(len(counts)) if counts[v]]


@given(given_=promised())
def test_more_slack_never_makes_fewer_buckets(given_: tuple[list[int], Limits]) -> None:
    counts, caps = given_
    promise = caps.ordered(sum(counts))
    many = [len(buckets_of(promise, np.array(counts), slack)) for slack in (0.0, 0.2, 0.8, 3.0, np.inf)]
    assert many == sorted(many)
    assert many[-1] == np.count_nonzero(counts)


def is_kept(shares: np.ndarray, buckets: list[np.ndarray], caps: Limits) -> bool:
    """Theorem 1, and the same for sets, as fractions."""
    for group in shares:
        size = int(group.sum())
        for x, bucket in zip(group.tolist(), buckets, strict=True):
            if Fraction(x, size) > min(caps.ceiling[v] for v in bucket):
                return False
        for low, high, cap in caps.sets:
            inside = [x for x, bucket in zip(group.tolist(), buckets, strict=True) if low <= bucket[0] < high]
            if Fraction(sum(inside), size) > cap:
                return False
    return True


@given(
    given_=promised(),
    slack=st.sampled_from([STRICT, 0.0, 0.3, np.inf]),
    way=st.sampled_from([RIGHT, EITHER, DEAL]),
    least=st.integers(1, 4),
)
def test_shares_add_up_and_are_eligible(given_: tuple[list[int], Limits], slack: float, way: int, least: int) -> None:
    counts, caps = given_
    least = min(least, sum(counts))
    promise = caps.with_least_size(least).ordered(sum(counts))
    buckets = buckets_of(promise, np.array(counts), slack)
    sizes = np.array([sum(counts[v] for v in bucket) for bucket in buckets])
    shares = shares_of(promise, np.array([bucket[0] for bucket in buckets]), sizes, way)
    assert shares.sum(axis=0).tolist() == sizes.tolist()
    assert (shares.sum(axis=1) >= least).all()
    assert is_kept(shares, buckets, caps)
    if way == DEAL:
        assert (np.ptp(shares, axis=0) <= 1).all()
        assert np.ptp(shares.sum(axis=1)) <= 1


@given(given_=promised())
def test_buckets_stay_inside_one_set(given_: tuple[list[int], Limits]) -> None:
    counts, caps = given_
    for bucket in buckets_of(caps.ordered(sum(counts)), np.array(counts), 0.0):
        for low, high, _ in caps.sets:
            assert len({low <= v < high for v in bucket}) == 1


def most_hands(sizes: list[int], caps: list[Fraction]) -> int:
    n = sum(sizes)
    pairs = list(zip(sizes, caps, strict=True))
    return max(k for k in range(1, n + 1) if k == 1 or all(-(-x // k) <= f * (n // k) for x, f in pairs))


@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=5), more=st.fractions(1, 4, max_denominator=5))
def test_deals_as_many_hands_as_possible(sizes: list[int], more: Fraction) -> None:
    caps = caps_of(sizes, [more] * len(sizes))
    shares = shares_of(caps.ordered(sum(sizes)), np.arange(len(sizes)), np.array(sizes), DEAL)
    assert len(shares) == most_hands(sizes, list(caps.ceiling))


@pytest.mark.parametrize("way", [RIGHT, EITHER])
def test_no_child_is_empty(way: int) -> None:
    """Halving six buckets of one person each would put nobody left."""
    promise = Limits((Fraction(1, 2),) * 6).ordered(6)
    shares = shares_of(promise, np.arange(6), np.ones(6, dtype=np.int64), way)
    assert (shares.sum(axis=1) > 0).all()
    if way == RIGHT:
        assert shares.tolist() == [[1] * 6]


@given(given_=promised(), slack=st.sampled_from([STRICT, 0.0, 0.5, np.inf]))
def test_buckets_are_those_of_the_twin(given_: tuple[list[int], Limits], slack: float) -> None:
    counts, caps = given_
    found = [bucket.tolist() for bucket in buckets_of(caps.ordered(sum(counts)), np.array(counts), slack)]
    expected = slow_buckets(counts, caps, slack)
    assert found == expected
    order = [v for bucket in expected for v in bucket]
    work = room_for(sum(counts), len(counts), len(caps.sets))
    work[COUNT, : len(counts)], work[ORDER, : len(order)] = counts, order
    promise = caps.ordered(sum(counts))
    assert bucketize(promise.limits, slack, len(order), sum(counts), work) == len(expected)
    assert work[HEAD, : len(expected)].tolist() == [bucket[0] for bucket in expected]
    assert work[SIZE, : len(expected)].tolist() == [sum(counts[v] for v in bucket) for bucket in expected]
    assert work[BUCKET, : len(order)].tolist() == [b for b, bucket in enumerate(expected) for _ in bucket]


def bucketed(counts: list[int], caps: Limits) -> tuple[list[int], list[int]]:
    buckets = slow_buckets(counts, caps, 0.0)
    return [bucket[0] for bucket in buckets], [sum(counts[v] for v in bucket) for bucket in buckets]


@given(given_=promised(), way=st.sampled_from([RIGHT, EITHER, DEAL]), least=st.integers(1, 4))
def test_shares_are_those_of_the_twin(given_: tuple[list[int], Limits], way: int, least: int) -> None:
    counts, people = given_[0], sum(given_[0])
    caps = given_[1].with_least_size(min(least, people))
    heads, sizes = bucketed(counts, caps)
    expected = (
        hands(heads, sizes, caps) if way == DEAL else halves(sizes, lambda x: allowed(heads, x, caps), way == EITHER)
    )
    promise = caps.ordered(people)
    assert shares_of(promise, np.array(heads), np.array(sizes), way).tolist() == expected
    work = room_for(people, len(counts), len(caps.sets))
    work[HEAD, : len(heads)], work[SIZE, : len(sizes)] = heads, sizes
    many = (
        deal_out(promise, len(sizes), people, work)
        if way == DEAL
        else bi_split(promise, len(sizes), people, way == EITHER, work)
    )
    assert work[GROUP_SIZE, :many].tolist() == [sum(group) for group in expected]


@given(given_=promised(), either=st.booleans(), data=st.data())
def test_a_split_is_allowed_when_both_sides_are(
    given_: tuple[list[int], Limits], either: bool, data: st.DataObject
) -> None:
    counts, caps = given_
    heads, sizes = bucketed(counts, caps)
    promise, work = caps.ordered(sum(counts)), room_for(sum(counts) + 2, len(counts), len(caps.sets))
    region, many = data.draw(st.integers(0, 2)), len(sizes)
    work[HEAD, :many], work[OF, region : region + many], work[TAKES, region : region + many] = heads, range(many), sizes
    left = [data.draw(st.integers(0, x)) for x in sizes]
    work[LEFT, :many] = left
    right = [x - y for x, y in zip(sizes, left, strict=True)]
    expected = allowed(heads, left, caps) and allowed(heads, right, caps)
    assert are_allowed(promise, region, many, sum(left), sum(sizes), work) == expected

    def keeps_once(part: list[int]) -> bool:
        return sum(part) < sum(sizes) and allowed(heads, part, caps)

    gone = halve(promise, region, sum(sizes), many, either, work)
    parts = halves(sizes, lambda part: keeps_once(part), either)
    assert (gone > 0) == (len(parts) > 1)
    if gone > 0:
        assert work[LEFT, :many].sum() == gone
        rest = [x - int(y) for x, y in zip(sizes, work[LEFT, :many], strict=True)]
        assert allowed(heads, work[LEFT, :many].tolist(), caps)
        assert allowed(heads, rest, caps)
