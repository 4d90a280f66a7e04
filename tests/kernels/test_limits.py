"""Floors in whole numbers, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.limits import keeps_floors
from oneoff.models import Limits

SHARES = st.lists(st.fractions(0, 1, max_denominator=9), min_size=3, max_size=3)


@given(SHARES, st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any))
def test_a_group_keeps_its_floors_when_every_share_does(floor: list[Fraction], counts: list[int]) -> None:
    rows = Limits((Fraction(1),) * 3, tuple(floor)).rows
    kept = all(Fraction(c, sum(counts)) >= f for c, f in zip(counts, floor, strict=True))
    assert keeps_floors(rows, np.array(counts), sum(counts)) == kept
