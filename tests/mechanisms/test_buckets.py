"""Buckets: the worked examples of paper 000, its errata, and what every plan must be."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.mechanisms.planning.buckets import diversity_slots, plan, pure, touched
from oneoff.mechanisms.planning.levels import Level, draw
from oneoff.models import (
    BasicBetaLikeness,
    BetaLikeness,
    DeltaDisclosure,
    FPrivacy,
    KAnonymity,
    LDiversity,
    Limits,
    Model,
)
from oneoff.models.joined import Joined

Ints = npt.NDArray[np.int64]


def bounds_of(model: Model, counts: Ints) -> Limits:
    limits = model.caps(counts)
    assert limits is not None
    total = int(counts.sum())
    return limits.with_least_size(model.rule(counts, total).least_size).up_to(total)


def planned(model: Model, counts: list[int], *, distinct: bool = False) -> list[Level]:
    array = np.array(counts, dtype=np.int64)
    return plan(array, bounds_of(model, array), distinct)


def shapes(levels: list[Level]) -> list[tuple[int, ...]]:
    return [level.slots.shape for level in levels]


def holds(levels: list[Level], bounds: Limits, width: int) -> bool:
    """|B_v| is within the ceiling on every level, and the buckets that hold nothing but v within the floor."""
    for level in levels:
        found = np.array([(level.slots == v).any(axis=1).sum() for v in range(width)])
        alone = np.array([(level.slots == v).all(axis=1).sum() for v in range(width)])
        many = len(level.slots)
        if many < bounds.least_size or (found > bounds.most(many)).any() or (alone < bounds.least(many)).any():
            return False
    return True


def test_table_4_of_the_paper() -> None:
    slots = diversity_slots(np.array([3, 3, 3, 2, 2, 2]), 5)
    assert ["".join("abcdef"[v] for v in bucket) for bucket in slots] == ["aaa", "bbb", "ccc", "ddf", "eef"]


def test_algorithm_1_ends_when_a_value_fits_exactly() -> None:
    """The paper's loop never empties its list when the rest fits, and runs forever."""
    slots = diversity_slots(np.array([4, 3, 1]), 2)
    assert slots.tolist() == [[0, 0, 0, 0], [1, 1, 1, 2]]


def test_seven_people_with_three_alike_are_not_3_diverse() -> None:
    """The paper adds two invented people and accepts; three of seven real ones are more than a third."""
    counts = np.array([3, 2, 2])
    assert not bounds_of(LDiversity(3), counts).allows(counts)
    assert bounds_of(LDiversity(Fraction(7, 3)), counts).allows(counts)


@pytest.mark.parametrize(
    ("sizes", "c", "buckets"), [([12, 6, 7], 6, [2, 1, 2]), ([12, 7, 6], 5, [3, 2, 2]), ([12, 7, 6], 4, [3, 2, 3])]
)
def test_buckets_touched_in_section_4_4(sizes: list[int], c: int, buckets: list[int]) -> None:
    """Tables 9 and 8; for table 7 (c=4) the paper's own order d, b, a needs three buckets for a, not two."""
    assert touched(sizes, c).tolist() == buckets


def test_the_betas_of_section_4_4() -> None:
    def beta(sizes: list[int], c: int) -> Fraction:
        return c / min(Fraction(n, int(b)) for n, b in zip(sizes, touched(sizes, c), strict=True)) - 1

    assert beta([12, 6, 7], 6) == Fraction(5, 7)
    assert beta([12, 7, 6], 5) == Fraction(2, 3)
    assert beta([12, 7, 6], 4) == 1


def test_table_8_is_planned_when_its_beta_is_promised() -> None:
    (level,) = planned(BasicBetaLikeness(Fraction(2, 3)), [6, 7, 12])
    assert level.slots.tolist() == [[2] * 5, [2] * 5, [2, 2, 1, 1, 1], [1, 1, 1, 1, 0], [0] * 5]


def test_two_buckets_are_refused_for_five_and_three() -> None:
    """The paper rounds 5/2 up and accepts c=4 with a real beta of 0.6."""
    model = BasicBetaLikeness(Fraction(1, 2))
    levels = planned(model, [5, 3])
    assert shapes(levels) == [(3, 2), (2, 1)]
    assert holds(levels, bounds_of(model, np.array([5, 3])), 2)


def test_theorem_4_needs_a_whole_l() -> None:
    """{3, 3, 4} and beta=1/3: l must be at least 2.5 and at most 2.5. With beta=2/3 two buckets do."""
    assert shapes(planned(BasicBetaLikeness(Fraction(1, 3)), [3, 3, 4])) == [(5, 2)]
    assert all(len(level.slots) == 2 for level in planned(BasicBetaLikeness(Fraction(2, 3)), [3, 3, 4]))


def test_strict_0_likeness_takes_pure_buckets_of_the_common_divisor() -> None:
    assert shapes(planned(BasicBetaLikeness(0), [6, 9, 3])) == [(6, 3)]
    assert shapes(planned(BasicBetaLikeness(0), [6, 7, 12])) == [(25, 1)]


def test_nobody_is_invented_when_l_does_not_divide() -> None:
    counts = [7, 7, 6, 5, 5, 4, 3, 2, 2]  # 41 people
    levels = planned(LDiversity(5), counts, distinct=True)
    assert shapes(levels) == [(5, 7), (6, 1)]
    assert Counter(np.concatenate([level.slots.ravel() for level in levels]).tolist()) == dict(enumerate(counts))


def test_more_people_in_a_group_than_l_when_k_asks_for_it() -> None:
    both = Joined((LDiversity(2), KAnonymity(6)))
    levels = planned(both, [10, 10, 5, 5])
    assert all(len(level.slots) >= 6 for level in levels)
    assert holds(levels, bounds_of(both, np.array([10, 10, 5, 5])), 4)


def test_pure_counts_the_buckets_a_value_fills() -> None:
    sizes, c = [5, 1, 7, 3], 3
    slots = np.repeat(np.arange(4), sizes)
    cut = [slots[a:b] for a, b in pairwise(range(0, 17, 3))]
    assert pure(sizes, c).tolist() == [sum(len(b) == c and (b == v).all() for b in cut) for v in range(4)]
    assert touched(sizes, c).tolist() == [sum((slots[a : a + 3] == v).any() for a in range(0, 16, 3)) for v in range(4)]


SHARES = st.fractions(0, 4, max_denominator=8)
MODELS = st.one_of(
    st.builds(LDiversity, st.fractions(1, 6, max_denominator=3)),
    st.builds(BasicBetaLikeness, SHARES),
    st.builds(BetaLikeness, SHARES),
    st.builds(FPrivacy, SHARES, st.fractions(0, 1, max_denominator=10)),
    st.builds(DeltaDisclosure, st.fractions(Fraction(1, 4), 3, max_denominator=8)),
)
WITH_SIZE = st.one_of(MODELS, st.builds(lambda m, k: Joined((m, KAnonymity(k))), MODELS, st.integers(1, 12)))
COUNTS = st.lists(st.integers(0, 40), min_size=1, max_size=9).filter(any)


@given(COUNTS, WITH_SIZE)
def test_plans_use_everybody_once_and_keep_the_ceilings(counts: list[int], model: Model) -> None:
    array = np.array(counts, dtype=np.int64)
    bounds = bounds_of(model, array)
    assume(bounds.allows(array))
    levels = plan(array, bounds, distinct=False)
    used = np.bincount(np.concatenate([level.slots.ravel() for level in levels]), minlength=len(array))
    assert used.tolist() == counts
    assert holds(levels, bounds, len(array))


@given(COUNTS, WITH_SIZE)
def test_values_in_too_many_buckets_can_be_kept_apart(counts: list[int], model: Model) -> None:
    """Theorem 2 rests on this: a bucket holds one value at least as often as any shared value occurs in all."""
    array = np.array(counts, dtype=np.int64)
    bounds = bounds_of(model, array)
    assume(bounds.allows(array))
    levels = plan(array, bounds, distinct=True)
    used = np.bincount(np.concatenate([level.slots.ravel() for level in levels]), minlength=len(array))
    assert used.tolist() == counts
    assert holds([level for level in levels if not level.distinct], bounds, len(array))
    for level in (level for level in levels if level.distinct):
        assert (bounds.most(len(level.slots))[np.unique(level.slots)] >= 1).all()
        occurs = np.bincount(level.slots.ravel(), minlength=len(array))
        found = np.array([(level.slots == v).any(axis=1).sum() for v in range(len(array))])
        most = min(int(np.bincount(bucket).max()) for bucket in level.slots)
        assert (occurs[found > 1] <= most).all()


def test_members_are_drawn_uniformly_and_buckets_in_any_order() -> None:
    """Three people have value 0, one place for it is in the level that is checked: each of them gets it a third."""
    levels = [Level(np.array([[0, 1], [1, 1]])), Level(np.array([[0], [0]]))]
    values, rng = np.array([1, 0, 0, 1, 0, 1]), np.random.default_rng(5)
    chosen, first = Counter[int](), 0
    for _ in range(3000):
        main, group = draw(levels, np.arange(6), values, rng)
        assert sorted([*main.ravel(), *group.ravel()]) == list(range(6))
        assert sorted(values[main].tolist(), key=sum) in ([[0, 1], [1, 1]], [[1, 0], [1, 1]])
        chosen[int(main[values[main] == 0][0])] += 1
        first += int(values[main][0].sum() == 1)
    assert set(chosen) == {1, 2, 4}
    assert all(abs(count - 1000) < 5 * 26 for count in chosen.values())
    assert abs(first - 1500) < 5 * 28


def dead_ends(buckets: list[list[int]]) -> int:
    """Ways to match every anchor bucket to a second one without repeats that leave no such match to the third."""
    stuck = 0
    for anchor in range(3):
        second, third = (buckets[b] for b in range(3) if b != anchor)
        rows = buckets[anchor]
        for first in permutations(second):
            if any(a == b for a, b in zip(rows, first, strict=True)):
                continue
            stuck += not any(
                all(c not in (a, b) for a, b, c in zip(rows, first, last, strict=True)) for last in permutations(third)
            )
    return stuck


def test_the_rule_against_repeats_dead_ends_on_other_buckets_but_not_on_those_of_algorithm_1() -> None:
    """Nine people with the values 0 0 0 1 1 1 2 3 4 and l = 3: equal buckets alone are not enough for Theorem 2."""
    values, bucket = [0, 0, 0, 1, 1, 1, 2, 3, 4], [2, 2, 0, 2, 1, 1, 0, 1, 0]
    assert dead_ends([[v for v, b in zip(values, bucket, strict=True) if b == each] for each in range(3)]) > 0
    counts = np.bincount(values)
    levels = plan(counts, LDiversity(3).caps(counts).up_to(9), distinct=True)
    assert [level.distinct for level in levels] == [True]
    assert dead_ends([list(each) for each in levels[0].slots.tolist()]) == 0
