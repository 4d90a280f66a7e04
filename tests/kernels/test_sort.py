"""The small sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.sort import sort_codes, sort_ints


@given(st.lists(st.integers(-(2**62), 2**62), max_size=200), st.integers(0, 200))
def test_sorts_the_beginning_and_leaves_the_rest(items: list[int], length: int) -> None:
    length = min(length, len(items))
    array = np.array(items, dtype=np.int64)
    sort_ints(array, length)
    assert array.tolist() == sorted(items[:length]) + items[length:]


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=200, unique=True))
def test_codes_that_occur_are_put_in_order_however_far_apart_they_are(codes: list[int]) -> None:
    array, count = np.array(codes, dtype=np.int64), np.bincount(codes)
    sort_codes(array, len(codes), count)
    assert array.tolist() == sorted(codes)
