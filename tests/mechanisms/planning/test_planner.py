"""Plans from counts alone: everybody once, no value in more buckets than its ceiling allows, always an end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.mechanisms.planning.buckets import pack
from oneoff.mechanisms.planning.levels import Level, one_group
from oneoff.mechanisms.planning.planner import expected_loss, plan_levels
from oneoff.models import (
    BasicBetaLikeness,
    BetaLikeness,
    DeltaDisclosure,
    FPrivacy,
    Joined,
    KAnonymity,
    LDiversity,
    Limits,
    Model,
)
from tests.tables import examples

Ints = npt.NDArray[np.int64]


def bounds_of(model: Model, counts: Ints) -> Limits:
    limits, total = model.caps(counts), int(counts.sum())
    assert limits is not None
    return limits.with_least_size(model.rule(counts, total).least_size).up_to(total)


def assert_kept(levels: list[Level], counts: Ints, bounds: Limits) -> None:
    """Everybody is used once. |B_v| counts the buckets that hold v at all; floors, those that hold nothing else."""
    used = np.concatenate([level.slots.ravel() for level in levels])
    assert np.array_equal(np.bincount(used, minlength=len(counts)), counts)
    for level in levels:
        buckets = len(level.slots)
        assert not level.distinct, "matching would have to look at values"
        assert buckets >= bounds.least_size
        ordered = np.sort(level.slots, axis=1)
        fresh = np.diff(ordered, axis=1, prepend=-1) != 0
        touched = np.bincount(ordered[fresh], minlength=len(counts))
        assert (touched <= bounds.most(buckets)).all()
        pure = np.bincount(ordered[ordered[:, 0] == ordered[:, -1], 0], minlength=len(counts))
        assert (pure >= bounds.least(buckets)).all()


SHARES = st.fractions(0, 4, max_denominator=8)
MODELS = st.one_of(
    st.builds(LDiversity, st.fractions(1, 6, max_denominator=3)),
    st.builds(BasicBetaLikeness, SHARES),
    st.builds(BetaLikeness, SHARES),
    st.builds(FPrivacy, SHARES, st.fractions(0, 1, max_denominator=10)),
    st.builds(DeltaDisclosure, st.fractions(Fraction(1, 4), 3, max_denominator=8)),
)
WITH_SIZE = st.one_of(MODELS, st.builds(lambda m, k: Joined((m, KAnonymity(k))), MODELS, st.integers(1, 12)))
COUNTS = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 3)), min_size=1, max_size=12).filter(any)


@given(COUNTS, WITH_SIZE)
def test_plans_use_everybody_once_and_keep_the_ceilings(counts: list[int], model: Model) -> None:
    array = np.array(counts, dtype=np.int64)
    bounds = bounds_of(model, array)
    assume(bounds.allows(array))
    assert_kept(plan_levels(array, bounds), array, bounds)


@given(COUNTS, st.data())
def test_any_ceiling_for_each_value(counts: list[int], data: st.DataObject) -> None:
    """Also one that is tight, one that says nothing, and all that there are in between."""
    array = np.array(counts, dtype=np.int64)
    share = [Fraction(int(count), int(array.sum())) for count in counts]
    room = [Fraction(data.draw(st.sampled_from([0, 1, 3, 10, 20])), 20) for _ in share]
    ceilings = tuple(own + (1 - own) * more if own else Fraction(1) for own, more in zip(share, room, strict=True))
    bounds = Limits(ceilings).up_to(int(array.sum()))
    assert bounds.allows(array)
    assert_kept(plan_levels(array, bounds), array, bounds)


@examples(60)
@given(st.lists(st.integers(1, 30), min_size=4, max_size=12), st.integers(2, 4), st.integers(0, 99))
def test_whatever_shares_a_bucket_the_ceilings_hold(counts: list[int], l: int, seed: int) -> None:  # noqa: E741
    """`pack` may come from public information, and need not suit the counts at all."""
    array = np.array(counts, dtype=np.int64)
    bounds = bounds_of(LDiversity(l), array)
    assume(bounds.allows(array))
    rng = np.random.default_rng(seed)

    def anyhow(left: Ints, buckets: int) -> list[Ints]:
        mixed = rng.permutation(np.flatnonzero(left))
        return pack(left, buckets) if len(mixed) < buckets else [mixed[b::buckets] for b in range(buckets)]

    assert_kept(plan_levels(array, bounds, anyhow), array, bounds)


def zipf(values: int, people: int, power: float) -> Ints:
    share = np.arange(1, values + 1) ** -power
    counts: Ints = np.maximum(1, people * share / share.sum()).astype(np.int64)
    return counts


@pytest.mark.parametrize("beta", ["1/2", "1", "3", "8"])
def test_a_value_that_straddles_two_buckets_is_counted_in_both(beta: str) -> None:
    """The trap: n_v / C buckets are enough for v when it begins with a bucket, and otherwise one more.

    In the simple plan, values one after the other through buckets of equal size, a run that straddles puts v into one
    bucket more than its ceiling allows, and matching then puts both into one group.
    """
    counts = zipf(50, 3000, 0.8)
    bounds = bounds_of(BasicBetaLikeness(beta), counts)
    levels = plan_levels(counts, bounds)
    assert_kept(levels, counts, bounds)
    assert sum(len(level.slots[0]) for level in levels) > 1, "there is more than one group"
    fewest = bounds.fewest_buckets(counts)
    in_a_row = np.repeat(np.arange(50), counts)[: counts.sum() // fewest * fewest]
    simple = [Level(in_a_row.reshape(fewest, -1))]
    with pytest.raises(AssertionError):
        assert_kept(simple, np.bincount(simple[0].slots.ravel(), minlength=50), bounds)


def test_a_straddling_value_by_hand() -> None:
    """Four of ten have b, 6/10 is its ceiling: with buckets of 4 (a a a b | b b b c | ...) it would be in 2 of 2."""
    counts = np.array([3, 4, 3])
    bounds = Limits((Fraction(1, 2), Fraction(6, 10), Fraction(1, 2))).up_to(10)
    levels = plan_levels(counts, bounds)
    assert_kept(levels, counts, bounds)
    with pytest.raises(AssertionError):
        assert_kept([Level(np.array([[0, 0, 0, 1, 1], [1, 1, 2, 2, 2]]))], counts, bounds)


def tight(values: int) -> Limits:
    """The first value has as low a ceiling as it can, the others a generous one."""
    return Limits((Fraction(1, 100), *[Fraction(1, 2)] * (values - 1)))


EDGES: dict[str, tuple[Ints, Model | Limits]] = {
    "1,200 values twice": (np.full(1200, 2), LDiversity(4)),
    "1,200 values, basic beta": (zipf(1200, 6_000, 0.7), BasicBetaLikeness(2)),
    "1,500 values, enhanced beta": (zipf(1500, 30_000, 1.0), BetaLikeness(1)),
    "1,100 values once": (np.ones(1100, dtype=np.int64), LDiversity(10)),
    "one tight value": (np.array([10, 300, 300, 390]), tight(4)),
    "one tight value, and rare": (np.array([1, 40, 30, 29]), tight(4)),
    "beta is zero and 3 divides": (np.array([6, 9, 3]), BasicBetaLikeness(0)),
    "beta is zero and nothing divides": (np.array([6, 7, 12]), BasicBetaLikeness(0)),
    "beta is zero for many": (zipf(40, 5000, 0.5), BasicBetaLikeness(0)),
    "beta is huge": (np.array([90, 8, 2]), BasicBetaLikeness(10**6)),
    "floors": (np.array([60, 30, 10]), DeltaDisclosure(1)),
    "floors and many people": (zipf(12, 4000, 0.5), DeltaDisclosure("1/2")),
    "l is the number of values": (np.array([7, 7, 7]), LDiversity(3)),
    "a value with exactly its ceiling": (np.array([50, 20, 15, 15]), LDiversity(2)),
    "values that do not occur": (np.array([0, 5, 0, 5, 0]), LDiversity(2)),
    "three people": (np.array([1, 1, 1]), LDiversity(3)),
    "one person": (np.array([1]), LDiversity(1)),
    "with k": (np.array([30, 25, 20, 5]), Joined((LDiversity(2), KAnonymity(7)))),
    "fractions of l": (np.array([41, 30, 20, 8]), LDiversity("12/5")),
}


@pytest.mark.parametrize("case", EDGES)
def test_edges(case: str) -> None:
    counts, promise = EDGES[case]
    bounds = promise.up_to(int(counts.sum())) if isinstance(promise, Limits) else bounds_of(promise, counts)
    assert bounds.allows(counts)
    assert_kept(plan_levels(counts, bounds), counts, bounds)


def shapes(levels: list[Level]) -> list[tuple[int, ...]]:
    return [level.slots.shape for level in levels]


def test_strict_equality_takes_groups_of_the_common_divisor() -> None:
    for counts, expected in (([6, 9, 3], [(6, 3)]), ([6, 7, 12], [(25, 1)])):
        array = np.array(counts)
        assert shapes(plan_levels(array, bounds_of(BasicBetaLikeness(0), array))) == expected


def test_few_large_groups_for_a_rare_value_and_small_ones_for_the_rest() -> None:
    counts = np.array([2, 300, 300, 398])
    bounds = Limits((Fraction(1, 100), *[Fraction(1, 2)] * 3)).up_to(1000)
    levels = plan_levels(counts, bounds)
    assert_kept(levels, counts, bounds)
    rare = [level for level in levels if (level.slots == 0).any()]
    assert all(len(level.slots) >= 100 for level in rare)
    assert sum(level.slots.size for level in rare) <= 500
    assert min(len(level.slots) for level in levels) <= 4
    assert expected_loss(levels) < expected_loss([one_group(counts)]) / 3


@given(COUNTS, MODELS)
def test_plans_are_a_function_of_the_counts(counts: list[int], model: Model) -> None:
    """No chance in it: two blocks with the same counts, or two worlds, are planned alike."""
    array = np.array(counts, dtype=np.int64)
    bounds = bounds_of(model, array)
    assume(bounds.allows(array))
    one, two = plan_levels(array, bounds), plan_levels(array.copy(), bounds_of(model, array))
    assert [level.slots.tolist() for level in one] == [level.slots.tolist() for level in two]
