"""Classes of rows that look the same, and risks from their sizes, against counting one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.table import classes as module
from oneoff.table.classes import Classes, look_alikes, risk_of_classes

rows = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.sampled_from([0, 1, 2, 2**31 - 1])] * width), min_size=1, max_size=30)
)
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=20)


@pytest.mark.parametrize("largest", [2**62, 10])
@pytest.mark.parametrize("cheap", [1_000_000, -(2**40)], ids=["table", "sorting"])
def test_classes_against_comparing_rows(monkeypatch: pytest.MonkeyPatch, largest: int, cheap: int) -> None:
    monkeypatch.setattr(module, "_LARGEST", largest)
    monkeypatch.setattr(module, "_ALL_CLASSES", cheap)

    @given(rows)
    def law(table: list[tuple[int, ...]]) -> None:
        found = look_alikes([np.array(column, dtype=np.int32) for column in zip(*table, strict=True)])
        assert set(found.tolist()) == set(range(len(set(table))))
        assert len(set(zip(table, found.tolist(), strict=True))) == len(set(table))

    law()


@given(sizes, st.integers(2, 9))
def test_risk_against_counting_people(size: list[int], threshold: int) -> None:
    found = risk_of_classes(np.array(size), threshold=threshold)
    assert found == risk_of_classes(np.array(size), np.array(size), threshold)
    _compare(found, [n for n in size for _ in range(n)], threshold)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=20), st.integers(2, 9))
def test_risk_in_a_population_against_counting_people(classes: list[tuple[int, int]], threshold: int) -> None:
    size, others = (np.array(column) for column in zip(*classes, strict=True))
    alike = [n + more for n, more in classes for _ in range(n)]
    _compare(risk_of_classes(size, size + others, threshold), alike, threshold)


def _compare(found: Any, alike: list[int], threshold: int) -> None:
    people = len(alike)
    assert found.highest == pytest.approx(max(1 / n for n in alike))
    assert found.average == pytest.approx(sum(1 / n for n in alike) / people)
    assert found.unique == Counter(alike)[1] / people
    assert found.small == sum(n < 5 for n in alike) / people
    assert found.people_at_risk == sum(n < threshold for n in alike)
    assert found.share_at_risk == found.people_at_risk / people


def test_at_risk_is_small_unless_a_threshold_is_chosen() -> None:
    found = risk_of_classes(np.array([1, 4, 5]))
    assert found.as_dict() == {
        "highest": 1.0,
        "average": 0.3,
        "unique": 0.1,
        "small": 0.5,
        "people_at_risk": 5,
        "share_at_risk": 0.5,
    }


def test_classes_count_who_is_unique_and_what_is_common() -> None:
    """Against a look at every row."""
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, size, 40).astype(np.int32) for size in (2, 4, 3)]
    other = rng.integers(0, 3, 40).astype(np.int32)
    classes = Classes.of(columns)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert classes.unique == sum(rows.count(row) == 1 for row in rows)
    for j in range(3):
        without = [row[:j] + row[j + 1 :] for row in rows]
        assert classes.unique_without(j) == sum(without.count(row) == 1 for row in without)
    for c, most in enumerate(classes.most_common(other).tolist()):
        own = tuple(int(codes[c]) for codes in classes.codes)
        inside = [int(value) for row, value in zip(rows, other, strict=True) if row == own]
        assert len(inside) == classes.counts[c]
        assert most == max(inside.count(value) for value in inside)
    assert Classes.of(columns[:1]).unique_without(0) == 0
