"""The loops that look people up, against slow obvious twins."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.recognition import Boxes, Files, all_subsets, along_orders, disclosed, refine


def classes(row: np.ndarray, number: np.ndarray) -> list[list[int]]:
    """The rows of each class; numbers ascend without gaps."""
    assert np.unique(number).tolist() == list(range(len(set(number.tolist()))))
    assert (np.diff(number) >= 0).all()
    return [sorted(row[number == c].tolist()) for c in range(len(set(number.tolist())))]


@st.composite
def columns(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """[attributes, rows] of codes, and how many of the rows are records."""
    d, records, people = draw(st.integers(1, 4)), draw(st.integers(1, 9)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.integers(0, draw(st.integers(1, 6)), (d, records + people)).astype(np.int32), records


@given(columns())
def test_refining_divides_by_codes_and_drops_who_is_alone(case: tuple[np.ndarray, int]) -> None:
    codes, records = case
    rows = codes.shape[1]
    row, number = np.arange(rows, dtype=np.int32), np.zeros(rows, dtype=np.int32)
    for used in range(1, len(codes) + 1):
        row, number = refine(row, number, codes[used - 1], records)
        by_codes: dict[tuple[int, ...], list[int]] = {}
        for r in range(rows):
            by_codes.setdefault(tuple(codes[:used, r].tolist()), []).append(r)
        both = [part for _, part in sorted(by_codes.items()) if part[0] < records <= part[-1]]
        assert classes(row, number) == both


@given(columns(), st.integers(0, 2**32))
def test_disclosure_in_classes(case: tuple[np.ndarray, int], seed: int) -> None:
    codes, records = case
    rng = np.random.default_rng(seed)
    rows, values, kinds = codes.shape[1], 3, 4
    people = rows - records
    probabilities = rng.random((kinds, values)) * rng.integers(0, 2, (kinds, values))
    kind, value = np.nonzero(probabilities)
    files = Files(
        shows=rng.integers(0, kinds, records).astype(np.int32),
        start=np.searchsorted(kind, np.arange(kinds + 1)),
        value=value,
        share=probabilities[kind, value],
        person=np.stack((rng.integers(0, records, people), rng.integers(0, values + 1, people)), axis=1),
        values=values,
    )
    row, number = refine(np.arange(rows, dtype=np.int32), np.zeros(rows, dtype=np.int32), codes[0], records)
    identity = attribute = 0.0
    for i in range(people):
        found = [r for r in range(records) if codes[0, r] == codes[0, records + i]]
        own, v = files.person[i].tolist()
        if found:
            identity += (own in found) / len(found)
            attribute += sum(probabilities[files.shows[r], v] for r in found) / len(found) if v < values else 0.0
    assert disclosed(row, number, files) == pytest.approx((identity, attribute))


def random_boxes(rng: np.random.Generator, d: int, codes: int, many: int) -> tuple[Boxes, np.ndarray]:
    """Boxes, and records[b, v]: how many records of box b show value v, the last value shown by none."""
    records = rng.integers(0, 3, (many, 4))
    records[:, 0] += 1
    records[:, 3] = 0
    value, box = np.nonzero(records.T)
    entry = np.stack((box, records[box, value]), axis=1)
    inside = rng.integers(0, 2, (d * codes, many)).astype(np.uint8)
    return Boxes(inside, records.sum(axis=1), np.searchsorted(value, np.arange(5)), entry), records


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 12))
def test_boxes_under_all_subsets_and_along_orders(seed: int, d: int, many: int) -> None:
    rng = np.random.default_rng(seed)
    boxes, records = random_boxes(rng, d, 3, many)
    people = 5
    lines = rng.integers(0, 3, (people, d)) + 3 * np.arange(d)
    person = np.stack((rng.integers(0, many, people), rng.integers(0, 4, people)), axis=1)
    expected = np.zeros((people, 2, d + 1))
    for i in range(people):
        for size in range(d + 1):
            for used in combinations(range(d), size):
                found = [b for b in range(many) if all(boxes.inside[lines[i, j], b] for j in used)]
                alike = records[found].sum()
                if alike:
                    expected[i, :, size] += (person[i, 0] in found) / alike, records[found, person[i, 1]].sum() / alike
    assert all_subsets(boxes, person, lines) == pytest.approx(expected)
    orders = [along_orders(boxes, person, lines, np.tile(order, (people, 1))) for order in permutations(range(d))]
    assert np.mean(orders, axis=0) * [comb(d, size) for size in range(d + 1)] == pytest.approx(expected)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    boxes, _ = random_boxes(rng, 5, 9, 200)
    lines = rng.integers(0, 9, (300, 5)) + 9 * np.arange(5)
    person = np.stack((rng.integers(0, 200, 300), rng.integers(0, 3, 300)), axis=1)
    order = rng.permuted(np.tile(np.arange(5), (300, 1)), axis=1)
    many = all_subsets(boxes, person, lines), along_orders(boxes, person, lines, order)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert np.array_equal(all_subsets(boxes, person, lines), many[0])
    assert np.array_equal(along_orders(boxes, person, lines, order), many[1])
