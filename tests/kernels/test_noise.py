"""The fixed course of numbers, in Python's own integers."""

from __future__ import annotations

import numpy as np

from oneoff.kernels.noise import FIRST, onward

MASK = 2**64 - 1


def test_the_course_is_that_of_its_paper() -> None:
    state, expected, seen = FIRST, int(FIRST), set()
    for _ in range(1000):
        for shift in (13, -7, 17):
            expected ^= (expected << shift & MASK) if shift > 0 else expected >> -shift
        state = np.uint64(onward(state))
        assert int(state) == expected
        seen.add(expected)
    assert len(seen) == 1000
