"""Limits: what all promises made of ceilings look like as numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import Defect
from oneoff.kernels import limits as named
from oneoff.models import Counts, Joined, KAnonymity, LDiversity, Limits, TCloseness, TwoSidedBetaLikeness
from oneoff.models.limits import ANYBODY

SHARES = st.fractions(0, Fraction(3, 2), max_denominator=50)


@st.composite
def limits(draw: st.DrawFn, values: int = 4) -> Limits:
    """Ceilings, maybe floors, maybe sets, maybe a size."""
    ceiling = draw(st.lists(SHARES, min_size=values, max_size=values))
    floor = draw(st.none() | st.lists(st.fractions(0, Fraction(1, 3), max_denominator=50), min_size=4, max_size=4))
    ends = st.tuples(st.integers(0, values - 2), st.integers(2, values)).filter(lambda pair: pair[1] - pair[0] > 1)
    sets = draw(st.dictionaries(ends, SHARES, max_size=2))
    found = tuple((low, high, ceiling) for (low, high), ceiling in sets.items())
    return Limits(tuple(ceiling), None if floor is None else tuple(floor), found, draw(st.integers(1, 6)))


def keeps(promise: Limits, group: list[int]) -> bool:
    """By the definition, in fractions."""
    size = sum(group)
    shares = [Fraction(count, size) for count in group]
    floors = promise.floor or (Fraction(0),) * len(group)
    return (
        size >= promise.least_size
        and all(low <= share <= high for low, share, high in zip(floors, shares, promise.ceiling, strict=True))
        and all(sum(shares[low:high]) <= ceiling for low, high, ceiling in promise.sets)
    )


GROUPS = st.lists(st.integers(0, 7), min_size=4, max_size=4).filter(any)


@given(limits(), st.lists(GROUPS, min_size=1, max_size=4))
def test_groups_are_judged_as_defined(promise: Limits, groups: list[list[int]]) -> None:
    expected = [keeps(promise, group) for group in groups]
    assert (~promise.failing(Counts.of(np.array(groups)))).tolist() == expected
    assert [promise.up_to(28).allows(np.array(group)) for group in groups] == expected


@given(limits(), limits(), GROUPS)
def test_the_minimum_is_both_at_once(one: Limits, other: Limits, group: list[int]) -> None:
    assert keeps(one.minimum(other), group) == (keeps(one, group) and keeps(other, group))


@given(limits(), st.integers(1, 40))
def test_most_and_least_are_whole_people(promise: Limits, size: int) -> None:
    small = promise.up_to(40)
    assert small.most(size).tolist() == [int(min(ceiling, 1) * size) for ceiling in promise.ceiling]
    assert small.least(size).tolist() == [-int(-low * size // 1) for low in promise.floor or [Fraction(0)] * 4]


def test_rows_have_the_names_the_loops_use() -> None:
    promise = Limits((Fraction(1, 2), Fraction(3, 4)), (Fraction(1, 5), Fraction(0)))
    rows = promise.rows
    assert rows[named.CEILING].tolist() == [1, 3]
    assert rows[named.CEILING_OF].tolist() == [2, 4]
    assert rows[named.FLOOR].tolist() == [1, 0]
    assert rows[named.FLOOR_OF].tolist() == [5, 1]
    rule = TwoSidedBetaLikeness(1).rule([3, 5, 8], 16)
    assert rule.limits[named.BELOW].tolist() == [0, 3, 8]


def test_values_are_put_in_the_order_of_their_ceilings_set_by_set() -> None:
    third = Fraction(1, 3)
    promise = Limits((Fraction(1), third, Fraction(1, 2), third), None, ((0, 2, Fraction(2, 3)),), 9)
    made = promise.ordered(2)
    assert made.limits[named.BY_RANK].tolist() == [3, 2, 1, 0]
    assert made.limits[named.RANK].tolist() == [3, 2, 1, 0]
    assert made.limits[named.HOME].tolist() == [0, 0, -1, -1]
    assert made.limits[named.ROUNDED].tolist() == [0, 1, 0, 1]  # 1/3 of two people is nobody
    assert made.sets[:, named.AROUND].tolist() == [-1]
    assert made.least == 3  # as good as any larger one


@pytest.mark.parametrize("model", [KAnonymity(3), Joined((KAnonymity(3), TCloseness("0.1")))])
def test_without_ceilings_values_play_no_part(model: KAnonymity | Joined) -> None:
    assert model.limits([4, 5], 9) == ANYBODY.with_least_size(3)
    assert not ANYBODY.by_value
    assert ANYBODY.with_least_size(3).allows(np.array([3]))
    assert not ANYBODY.with_least_size(3).allows(np.array([2]))


def test_a_join_has_the_ceilings_and_the_size() -> None:
    found = Joined((KAnonymity(4), LDiversity(2))).limits([4, 5], 9)
    assert found == Limits((Fraction(1, 2),) * 2, None, (), 4)
    assert found.by_value


def test_floors_for_other_values_are_a_defect() -> None:
    with pytest.raises(Defect, match="not for the same values"):
        Limits((Fraction(1),) * 2, (Fraction(0),))
