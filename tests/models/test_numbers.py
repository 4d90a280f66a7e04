"""Exact numbers: nothing is lost or gained at a boundary."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadGuarantee
from oneoff.models import BetaLikeness, Counts, FPrivacy, Limits
from oneoff.models.numbers import exp_below, fraction_above, fraction_below, log_below, number, number_text
from tests.models.model_twins import exp_enclosure

bounds = st.one_of(
    st.fractions(0, 3),
    st.fractions(-2, 2, max_denominator=50),
    st.builds(lambda x, e: x + Fraction(e, 10**45), st.fractions(0, 1, max_denominator=40), st.integers(-3, 3)),
)


def searched(bound: Fraction, largest: int) -> Fraction:
    return max(Fraction(math.floor(bound * size), size) for size in range(1, largest + 1))


@given(bounds, st.integers(1, 60))
def test_fraction_below_is_what_a_search_finds(bound: Fraction, largest: int) -> None:
    assert fraction_below(bound, largest) == searched(bound, largest)


@given(bounds, st.integers(1, 60))
def test_fraction_above_is_what_a_search_finds(bound: Fraction, largest: int) -> None:
    assert fraction_above(bound, largest) == -searched(-bound, largest)


@given(st.fractions(0, 1), st.integers(1, 10**7))
def test_large_groups_are_compared_exactly_too(bound: Fraction, largest: int) -> None:
    below, above = fraction_below(bound, largest), fraction_above(bound, largest)
    assert below <= bound <= above
    assert max(below.denominator, above.denominator) <= largest
    for size in (largest, max(1, largest - 1), below.denominator, above.denominator):
        assert math.floor(below * size) == math.floor(bound * size)
        assert math.ceil(above * size) == math.ceil(bound * size)


@given(st.fractions(Fraction(1, 1000), 1000))
def test_logarithms_err_downwards_and_hardly(value: Fraction) -> None:
    log = log_below(value)
    if value == 1:
        assert log == 0
    else:  # e^log < value < e^(log + 1e-40)
        assert exp_enclosure(log, 40)[1] < value < exp_enclosure(log + Fraction(1, 10**40), 40)[0]


@given(st.fractions(-8, 8, max_denominator=1000))
def test_exponentials_err_downwards_and_hardly(power: Fraction) -> None:
    low, high = exp_enclosure(power, 40)
    found = exp_below(power)
    if power == 0:
        assert found == 1
    else:
        assert found < low
        assert found > high * (1 - Fraction(1, 10**40))


@pytest.mark.parametrize(
    ("given_as", "means"),
    [
        (0.2, Fraction(1, 5)),
        ("0.2", Fraction(1, 5)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.29"), Fraction(29, 100)),
        (np.float64(0.2), Fraction(1, 5)),
        (np.float32(0.2), Fraction(1, 5)),
        (np.int64(7), Fraction(7)),
        (Fraction(2, 7), Fraction(2, 7)),
        (" 1e-3 ", Fraction(1, 1000)),
    ],
)
def test_a_number_means_what_it_prints(given_as: Any, means: Fraction) -> None:
    found = number(given_as)
    assert found == means
    assert type(found.numerator) is int  # a numpy integer would overflow in later products
    assert type(found.denominator) is int


@pytest.mark.parametrize(
    "bad", ["", "five", "nan", "inf", "-inf", "1/0", "3,", float("nan"), float("inf"), Decimal("NaN"), Decimal("Inf")]
)
def test_what_is_no_number_is_refused(bad: Any) -> None:
    with pytest.raises(BadGuarantee, match="tolerance is not a number") as caught:
        number(bad, "tolerance")
    assert caught.value.allowed
    assert caught.value.got == repr(bad)


@pytest.mark.parametrize("bad", [None, [], 1 + 2j, "0x10", b"3"])
def test_other_objects_are_no_numbers(bad: Any) -> None:
    with pytest.raises(BadGuarantee, match="is not a number"):
        number(bad)


floats = st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) >= 1e-30)


@given(st.one_of(st.fractions(-(10**30), 10**30, max_denominator=10**29), floats.map(lambda x: Fraction(str(x)))))
def test_number_text_parses_back(value: Fraction) -> None:
    assert number(number_text(value)) == value


def test_number_text_of_what_no_float_can_hold() -> None:
    for value in (Fraction(10**400), Fraction(2 * 10**400 + 1, 2), Fraction(1, 10**400)):
        assert Fraction(number_text(value)) == value


@pytest.mark.parametrize(
    "bad",
    [10**5000, -(10**31), Fraction(1, 10**31), Fraction(10**61 + 1, 10**61), Decimal("1e99999999"), 1e31, 1e-31,
     "1e99999999", "1E-1_000_000", "0." + "3" * 200],
    ids=lambda bad: type(bad).__name__,
)  # fmt: skip
def test_numbers_beyond_all_tables_are_refused(bad: Any) -> None:
    with pytest.raises(BadGuarantee, match="tolerance is too large, too small or too long") as caught:
        number(bad, "tolerance")
    assert caught.value.allowed
    assert caught.value.hint
    assert 0 < len(caught.value.got) <= 60


def test_logarithms_are_worked_out_once() -> None:
    log_below.cache_clear()
    BetaLikeness(3).caps([1, 2, 1, 2, 1])
    BetaLikeness(2).caps([1, 2, 1, 2, 1])
    assert log_below.cache_info().misses == 2


# --- where floats lose a person


@pytest.mark.parametrize(
    ("ceiling", "size", "most"), [("0.29", 100, 29), ("0.58", 50, 29), ("1/49", 49, 1), ("0.07", 100, 7), ("1/3", 3, 1)]
)
def test_no_person_is_lost_or_gained_at_a_ceiling(ceiling: str, size: int, most: int) -> None:
    limits = Limits((Fraction(ceiling), Fraction(1)))
    assert limits.up_to(size).most(size)[0] == most
    assert not limits.failing(Counts.of([most, size - most])).any()
    assert limits.failing(Counts.of([most + 1, size - most - 1])).all()


@pytest.mark.parametrize(
    ("theta", "n", "o", "size"), [(2, 100, 9, 5), (8, 100, 1, 10), (32, 49, 1, 49), (2, 300, 7, 150)]
)
def test_f_privacy_counts_as_its_integer_formula(theta: int, n: int, o: int, size: int) -> None:
    most = min(size, (50 * theta * o + n) * size // (50 * n))  # f' = (50 theta o + n) / (50 n)
    model, prior = FPrivacy(theta, "0.02"), [o, n - o]
    assert model.caps(prior).up_to(size).most(size)[0] == most
    for count in range(size + 1):
        rest_fits = (size - count) * 50 * n <= (50 * theta * (n - o) + n) * size
        assert model.holds([count, size - count], prior) is (count <= most and rest_fits)


@given(st.fractions(0, 1), st.integers(1, 200), st.integers(0, 200))
def test_ratios_decide_as_the_ceiling_itself(ceiling: Fraction, size: int, count: int) -> None:
    count = min(count, size)
    limits = Limits((ceiling, Fraction(1)))
    numerator, denominator = limits.up_to(size).rows[:2]
    fits = Fraction(count, size) <= ceiling
    assert (count * int(denominator[0]) <= int(numerator[0]) * size) is fits
    assert (count <= int(limits.up_to(size).most(size)[0])) is fits
