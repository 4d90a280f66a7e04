"""Intervals by the numbers of their papers."""

from __future__ import annotations

import pytest

from oneoff.audit.attacks import Rate, difference


def test_wilson_interval_by_hand():
    low, high = Rate(81, 263).interval
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)  # Newcombe 1998a, table I, method 3


def test_newcombe_interval_by_hand():
    found = difference(Rate(56, 70), Rate(48, 80))
    assert found.amount == pytest.approx(0.2)
    assert found.interval == pytest.approx((0.0524, 0.3339), abs=1e-4)  # Newcombe 1998b, table II, method 10


def test_rates_of_few_people_have_no_interval():
    assert Rate(3, 29).interval is None
    assert difference(Rate(3, 29), Rate(10, 100)).interval is None
    assert Rate(0, 0).share == 0


def test_intervals_stay_inside_and_hold_the_rate():
    for hits in (0, 0.5, 15, 30):
        low, high = Rate(hits, 30).interval
        assert 0 <= low <= hits / 30 <= high <= 1
