"""The small sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.sort import sort_ints


@given(st.lists(st.integers(-(2**62), 2**62), max_size=200), st.integers(0, 200))
def test_sorts_the_beginning_and_leaves_the_rest(items: list[int], length: int) -> None:
    length = min(length, len(items))
    array = np.array(items, dtype=np.int64)
    sort_ints(array, length)
    assert array.tolist() == sorted(items[:length]) + items[length:]
