"""Expected counts, one box and one attribute after the other."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.queries import expected_counts


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 3), st.integers(1, 5))
def test_people_times_the_parts_that_are_asked_for(seed: int, boxes: int, attributes: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, attributes)
    parts = [rng.dirichlet(np.ones(codes), boxes) * rng.integers(0, 2, (boxes, codes)) for codes in size]
    counts = rng.integers(0, 4, (boxes, values))
    queries, expected = np.full((6, 2 + 2 * attributes), -1), np.zeros(6)
    first = np.concatenate(([0], np.cumsum(size + 1)))
    for q in range(6):
        low, high = np.sort(rng.integers(0, values, 2))
        queries[q, :2] = low, high
        asked = []
        for place, j in enumerate(rng.permutation(attributes)[: rng.integers(0, attributes + 1)]):
            a, b = np.sort(rng.integers(0, size[j], 2))
            queries[q, 2 + 2 * place : 4 + 2 * place] = first[j] + a, first[j] + b + 1
            asked.append(parts[j][:, a : b + 1].sum(axis=1))
        expected[q] = sum(
            counts[box, low : high + 1].sum() * prod(float(part[box]) for part in asked) for box in range(boxes)
        )
    below = np.concatenate((np.zeros((boxes, 1), np.int64), np.cumsum(counts, axis=1)), axis=1)
    share = [np.concatenate((np.zeros((boxes, 1)), np.cumsum(part, axis=1)), axis=1) for part in parts]
    found = expected_counts(np.concatenate([np.zeros((boxes, 0)), *share], axis=1).astype(np.float32), below, queries)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)  # shares are single precision
