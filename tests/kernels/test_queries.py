"""Expected counts, one box and one attribute after the other."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.queries import expected_counts, fitted_counts


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


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.integers(1, 4))
def test_people_with_the_codes_asked_for_have_other_values(seed: int, cells: int, columns: int, values: int) -> None:
    """Person by person, in cells that list everybody; of columns not asked about all codes count."""
    rng, width = np.random.default_rng(seed), 4
    codes = [rng.integers(0, width, (rng.integers(1, 6), columns)) for _ in range(cells)]
    level, effect = rng.random((cells, values)), rng.normal(size=(columns * width, values))
    start, code, count = np.zeros((columns, cells + 1), np.int64), [], []
    for j in range(columns):
        for c in range(cells):
            found, many = np.unique(codes[c][:, j], return_counts=True)
            start[j, c] = len(code)
            code += (found + j * width).tolist()
            count += many.tolist()
        start[j, cells] = len(code)
    queries, expected = np.full((6, 2 + 3 * columns), -1), np.zeros(6)
    for q in range(6):
        queries[q, :2] = low, high = np.sort(rng.integers(0, values, 2))
        chosen = rng.permutation(columns)[: rng.integers(0, columns + 1)].tolist()
        ends = {j: np.sort(rng.integers(0, width, 2)) for j in chosen}
        for place, j in enumerate(chosen):
            queries[q, 2 + 3 * place : 5 + 3 * place] = j, *(ends[j] + j * width)
        for c, members in enumerate(codes):
            fits = {j: (a <= members[:, j]) & (members[:, j] <= b) for j, (a, b) in ends.items()}
            if all(each.any() for each in fits.values()):
                share = level[c] + sum(
                    effect[members[fits.get(j, slice(None)), j] + j * width].mean(axis=0) for j in range(columns)
                )
                meant = len(members) * prod(float(each.mean()) for each in fits.values())
                expected[q] += meant * share[low : high + 1].sum()
    together = np.stack(
        [
            len(m) * level[c] + sum(effect[m[:, j] + j * width].sum(axis=0) for j in range(columns))
            for c, m in enumerate(codes)
        ]
    )
    below = [np.concatenate((np.zeros((len(each), 1)), np.cumsum(each, axis=1)), axis=1) for each in (together, effect)]
    assert fitted_counts(start, np.array(code), np.array(count), *below, queries) == pytest.approx(expected, abs=1e-9)
