"""Rubin's rules, by hand and on draws whose truth is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import oneoff
from oneoff.errors import BadValue


def test_three_estimates_by_hand() -> None:
    """W = 2, B = 4, T = 2 + 4/3 x 4 = 22/3; degrees 2 (1 + 2 / (16/3))^2 = 3.78, so t lies between those of 3 and 4."""
    found = oneoff.pool([8, 10, 12], [1, 2, 3])
    assert (found.estimate, found.within, found.between, found.imputations) == (10, 2, 4, 3)
    assert found.error == pytest.approx(math.sqrt(22 / 3))
    assert found.degrees == pytest.approx(2 * (11 / 8) ** 2)
    assert found.missing == pytest.approx(16 / 22)
    assert 2.776 < (found.high - 10) / found.error < 3.182
    assert found.low == pytest.approx(20 - found.high)


def test_without_variances_only_what_imputations_differ_by_counts() -> None:
    found = oneoff.pool([8, 10, 12])
    assert (found.within, found.degrees, found.missing) == (0, 2, 1)
    assert found.error == pytest.approx(math.sqrt(16 / 3))
    assert (found.high - 10) / found.error == pytest.approx(4.303, abs=0.001), "t with 2 degrees of freedom"


def test_imputations_that_agree_leave_the_variance_of_the_analysis() -> None:
    found = oneoff.pool([5, 5], [4, 4])
    assert (found.error, found.degrees) == (2, math.inf)
    assert found.high == pytest.approx(5 + 1.959964 * 2)
    assert oneoff.pool([5, 5]).as_dict()["high"] == 5


def test_arrays_are_pooled_place_by_place() -> None:
    both = oneoff.pool([[1, 8], [3, 10], [5, 12]], [[1, 1], [1, 2], [1, 3]])
    single = oneoff.pool([8, 10, 12], [1, 2, 3])
    assert np.asarray(both.estimate).tolist() == [3, 10]
    assert np.asarray(both.high)[1] == pytest.approx(single.high)
    assert oneoff.pool([8, 10, 12], [1, 2, 3], confidence=0.5).high < single.high
    assert "10 with standard error 2.708" in repr(single)
    assert both.as_dict()["estimate"] == [3, 10]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([1],), "nothing to pool"),
        (([1, 2], [1]), "do not belong together"),
        (([1, 2], [1, -1]), "below 0"),
        (([1, math.nan],), "not finite"),
        ((["a", "b"],), "no numbers"),
        (([[1, 2], [1]],), "no numbers"),
    ],
)
def test_what_cannot_be_pooled_is_refused(given: Any, said: str) -> None:
    with pytest.raises(BadValue, match=said):
        oneoff.pool(*given)
    with pytest.raises(BadValue, match="confidence"):
        oneoff.pool([1, 2], confidence=95)


def test_intervals_hold_the_truth_when_imputations_are_proper() -> None:
    """A number known with noise 1: the truth is as far off as a second draw of the noise."""
    rng = np.random.default_rng(3)
    known = rng.normal(0, 1, 1000)
    held = [oneoff.pool(each + rng.normal(0, 1, 10)) for each in known]
    assert 0.93 < np.mean([each.low <= 0 <= each.high for each in held]) < 0.97
