"""Many queries at once, against one query, one box and one record after the other."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels import queries as kernels

Queries = tuple[Any, Any, Any, Any]
NO_SETS = np.zeros((0, 0, 0), dtype=np.bool_)


def some_queries(
    rng: np.random.Generator, sizes: list[int], values: int, number: int = 6, *, sets: bool = False
) -> Queries:
    """(named, low, high, inside) of queries on none to all columns; what means nothing is out of any domain."""
    named = np.full((number, len(sizes)), -1)
    low, high = np.full((2, number, len(sizes) + 1), 10**6)
    for q in range(number):
        for i, j in enumerate(rng.permutation(len(sizes))[: rng.integers(0, len(sizes) + 1)]):
            named[q, i] = j
            low[q, i], high[q, i] = np.sort(rng.integers(0, sizes[j], 2))
        low[q, -1], high[q, -1] = np.sort(rng.integers(0, values, 2))
    if not sets:
        return named, low, high, NO_SETS
    inside = rng.random((number, len(sizes) + 1, max([values, *sizes]) + 1)) < 0.5
    inside[:, :, -1] = False
    return named, low, high, inside


def wanted(queries: Queries, q: int, i: int) -> list[int]:
    _, low, high, inside = queries
    return np.flatnonzero(inside[q, i]).tolist() if len(inside) else list(range(low[q, i], high[q, i] + 1))


def conditions(queries: Queries, q: int) -> list[tuple[int, list[int]]]:
    return [(int(j), wanted(queries, q, i)) for i, j in enumerate(queries[0][q]) if j >= 0]


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 3), st.integers(1, 5))
def test_people_times_the_parts_that_are_asked_for(seed: int, boxes: int, attributes: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, attributes)
    parts = [rng.dirichlet(np.ones(codes), boxes) * rng.integers(0, 2, (boxes, codes)) for codes in size]
    counts = rng.integers(0, 4, (boxes, values))
    queries, expected = np.full((6, 2 + 2 * attributes), -1), np.ones(6)
    first = np.concatenate(([0], np.cumsum(size + 1)))
    for q in range(6):
        low, high = np.sort(rng.integers(0, values, 2))
        queries[q, :2] = low, high + 1
        asked = []
        for place, j in enumerate(rng.permutation(attributes)[: rng.integers(0, attributes + 1)]):
            a, b = np.sort(rng.integers(0, size[j], 2))
            queries[q, 2 + 2 * place : 4 + 2 * place] = first[j] + a, first[j] + b + 1
            asked.append(parts[j][:, a : b + 1].sum(axis=1))
        expected[q] += sum(
            counts[box, low : high + 1].sum() * prod(float(part[box]) for part in asked) for box in range(boxes)
        )
    below = np.concatenate((np.zeros((boxes, 1)), np.cumsum(counts, axis=1)), axis=1)
    share = [np.concatenate((np.zeros((boxes, 1)), np.cumsum(part, axis=1)), axis=1) for part in parts]
    rows = np.ascontiguousarray(np.concatenate([np.zeros((boxes, 0)), *share], axis=1).T, dtype=np.float32)
    found = np.ones(6)  # it adds
    kernels.add_expected(rows, np.ascontiguousarray(below.T), queries, found)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)  # shares are single precision


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 4))
def test_weights_below_an_edge(seed: int, boxes: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    start = np.concatenate(([0], np.cumsum(rng.integers(0, 4, boxes))))
    place, weight = rng.integers(0, rows + 2, start[-1]), rng.integers(1, 5, start[-1])
    found = np.zeros((rows, boxes))
    kernels.sums_below(start, place, weight, found)
    for r in range(rows):
        for b in range(boxes):
            entries = range(start[b], start[b + 1])
            assert found[r, b] == sum(weight[e] for e in entries if place[e] <= r)


@given(
    st.integers(0, 2**32),
    st.integers(1, 12),
    st.lists(st.integers(1, 4), max_size=3),
    st.integers(1, 3),
    st.booleans(),
)
def test_records_one_by_one(seed: int, records: int, sizes: list[int], values: int, sets: bool) -> None:
    rng = np.random.default_rng(seed)
    columns = np.array([rng.integers(-1, size, records) for size in sizes], dtype=np.int32).reshape(-1, records)
    value, queries = rng.integers(0, values, records).astype(np.int32), some_queries(rng, sizes, values, sets=sets)
    lists = rng.integers(1, 4)
    row = np.sort(rng.integers(0, lists, records))
    begin, share = np.searchsorted(row, np.arange(lists + 1)), rng.random(lists * values)
    shown = (np.arange(lists + 1) * values, np.tile(np.arange(values), lists), share)
    found, weighed = np.zeros((6, 2), dtype=np.int64), np.zeros((6, 2))
    kernels.records_meant(columns, value, np.ones(len(value), dtype=np.int64), *queries, found)
    kernels.weights_meant(columns, begin, shown, *queries, weighed)
    for q in range(6):
        fit = [v for v in wanted(queries, q, -1) if v < values]
        meant = [i for i in range(records) if all(columns[j, i] in codes for j, codes in conditions(queries, q))]
        assert found[q].tolist() == [len(meant), sum(value[i] in fit for i in meant)]
        weights = sum(share.reshape(lists, values)[row[i], fit].sum() for i in meant)
        assert weighed[q] == pytest.approx([len(meant), weights])


@pytest.mark.parametrize("sets", [False, True])
def test_more_records_than_a_block(sets: bool) -> None:
    """Whole blocks and what is left over."""
    rng = np.random.default_rng(1)
    columns, value = rng.integers(0, 9, (2, 10_001)).astype(np.int32), rng.integers(0, 5, 10_001).astype(np.int32)
    queries = some_queries(rng, [9, 9], 5, 20, sets=sets)
    found = np.zeros((20, 2), dtype=np.int64)
    kernels.records_meant(columns, value, np.ones(len(value), dtype=np.int64), *queries, found)
    for q in range(20):
        meant = np.ones(len(value), dtype=bool)
        for j, codes in conditions(queries, q):
            meant &= np.isin(columns[j], codes)
        both = meant & np.isin(value, wanted(queries, q, -1))
        assert found[q].tolist() == [meant.sum(), both.sum()]


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_people_with_the_codes_asked_for_have_other_values(
    seed: int, cells: int, columns: int, values: int, sets: bool
) -> None:
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
    inside = rng.random((6, columns, width)) < 0.5 if sets else NO_SETS
    for q in range(6):
        low, high = np.sort(rng.integers(0, values, 2))
        queries[q, :2] = low, high + 1
        chosen = rng.permutation(columns)[: rng.integers(0, columns + 1)].tolist()
        allowed = dict[int, Any]()
        for place, j in enumerate(chosen):
            a, b = (0, width - 1) if sets else np.sort(rng.integers(0, width, 2))
            queries[q, 2 + 3 * place : 5 + 3 * place] = j, a + j * width, b + j * width + 1
            allowed[j] = np.flatnonzero(inside[q, place]) if sets else np.arange(a, b + 1)
        for c, members in enumerate(codes):
            fits = {j: np.isin(members[:, j], codes_of) for j, codes_of in allowed.items()}
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
    found = np.zeros(6)
    people, more = below[0], np.ascontiguousarray(below[1].T)
    kernels.add_fitted(start, np.array(code), np.array(count), people, more, queries, inside, found)
    assert found == pytest.approx(expected, abs=1e-9)
