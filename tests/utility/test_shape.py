"""What became of columns and of pairs of them: by hand on small tables, and laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff import Table, read_table
from oneoff.publish import publish
from oneoff.table import Attribute
from oneoff.utility import Shape, expected_errors, released_columns, shape_of
from oneoff.utility.shape import association, binned
from oneoff.utility.standard import power_of_ten

KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tallied": ("tallies", "l-diversity:3", {"field_size": 60}),
    "generalized": ("mondrian", "k-anonymity:5", {}),
    "boxes": ("mondrian", "k-anonymity:5", {"columns": "box"}),
    "no groups": ("ring", "k-anonymity:3", {}),
    "bucketized": ("anatomy", "l-diversity:3", {}),
    "perturbed": ("perturbation", "basic-beta-likeness:2", {}),
    "masked": ("mutual-cover", "delta-probability:0.25", {}),
    "synthetic": ("privbayes", "l-diversity:3", {}),
}


@pytest.fixture(scope="module", params=list(KINDS))
def shape(request: pytest.FixtureRequest, people: Table) -> tuple[str, Shape]:
    method, promise, options = KINDS[request.param]
    return request.param, shape_of(publish(people, promise, method=method, seed=1, options=options).release, people)


def test_every_column_is_there_and_shares_add_up(shape: tuple[str, Shape], people: Table) -> None:
    found = shape[1]
    assert [each.name for each in found.columns] == [attribute.name for attribute, _ in people.columns()]
    assert [each.name for each in found.columns if each.sensitive] == ["occupation"]
    for each in found.columns:
        assert len(each.parts) == len(each.before) == len(each.after) <= 12
        assert sum(each.before) == pytest.approx(1)
        assert sum(each.after) == pytest.approx(1)
        assert 0 <= each.distance <= 1
    columns = len(found.columns)
    assert len(found.pairs) == columns * (columns - 1) // 2
    assert all(0 <= pair.before <= 1 and 0 <= pair.after <= 1 for pair in found.pairs)


def test_columns_that_are_shown_as_they_are_stay_as_they_were(shape: tuple[str, Shape]) -> None:
    kind, found = shape
    same = {
        "generalized": [each.name for each in found.columns],
        "tallied": [each.name for each in found.columns if not each.sensitive],
        "bucketized": [each.name for each in found.columns],
        "perturbed": [each.name for each in found.columns if not each.sensitive],
    }
    for each in found.columns:
        assert (each.distance == pytest.approx(0, abs=1e-12)) or each.name not in same.get(kind, [])
    if kind in ("bucketized", "perturbed"):
        kept = [pair for pair in found.pairs if "occupation" not in (pair.one, pair.other)]
        assert all(pair.change == 0 for pair in kept), "quasi-identifiers are as they were"


def test_by_hand() -> None:
    """Two columns of two values each: chi-square by its textbook formula, corrected by hand."""
    joint = np.array([[30.0, 10.0], [10.0, 50.0]])
    square = (30 * 50 - 10 * 10) ** 2 / (40 * 60 * 40 * 60)
    corrected = square - 1 / 99
    assert association(joint) == pytest.approx((corrected / (2 - 1 / 99 - 1)) ** 0.5)
    assert association(np.array([[40.0, 60.0]])) == 0, "one value says nothing"
    assert association(np.array([[20.0, 20.0], [30.0, 30.0]])) == 0
    assert association(np.array([[50.0, 0.0], [0.0, 50.0]])) == pytest.approx(1)
    assert association(np.array([[50.0, 0.0, 0], [0.0, 0, 0], [0, 0, 50.0]])) == pytest.approx(1), "empty ones are none"


@given(st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=2, max_size=5))
def test_association_does_not_depend_on_the_order_of_values(counts: list[list[int]]) -> None:
    joint = np.array(counts, dtype=np.float64)
    found = association(joint)
    assert 0 <= found <= 1
    assert association(joint[::-1, ::-1]) == pytest.approx(found)
    assert association(joint.T) == pytest.approx(found)


def test_parts_of_columns() -> None:
    numbers = Attribute("age", "numeric", np.arange(0, 101))
    part, names = binned(numbers, np.ones(101))
    assert names[0] == "0 to 8"
    assert names[-1] == "92 to 100"
    assert (np.diff(part) >= 0).all()
    words = Attribute("town", "categorical", np.array([f"t{i:02}" for i in range(20)], dtype=object))
    counts = np.ones(20)
    counts[5] = 9
    part, names = binned(words, counts)
    assert names[-1] == "9 other values"
    assert "t05" in names
    assert (part == 11).sum() == 9
    few = Attribute("sex", "categorical", np.array(["F", "M"], dtype=object))
    assert binned(few, np.ones(2))[1] == ("F", "M")


def test_a_column_of_numbers_with_a_gap_has_no_empty_range() -> None:
    labels = np.array([*range(20), 1000])
    part, names = binned(Attribute("pay", "numeric", labels), np.ones(21))
    assert names == ("0 to 19", "1000")
    assert part.tolist() == [0] * 20 + [1]


def test_perturbed_values_are_led_back() -> None:
    rng = np.random.default_rng(1)
    frame = pa.table({"age": rng.integers(0, 9, 4000), "d": rng.choice(["a", "b", "c"], 4000, p=[0.6, 0.3, 0.1])})
    table = read_table(frame, quasi=["age"], sensitive="d")
    release = publish(table, "basic-beta-likeness:1", method="perturbation", seed=1).release
    found = next(each for each in shape_of(release, table).columns if each.sensitive)
    shown = np.bincount(release.values, minlength=3) / 4000  # type: ignore[attr-defined]
    as_shown = float(np.abs(shown - np.array(found.before)).sum() / 2)
    assert found.distance < as_shown / 2


def test_sizes_are_powers_of_ten_and_none_is_larger_than_the_table() -> None:
    assert power_of_ten(np.array([1, 3, 4, 31, 32, 999, 4000]), 5000).tolist() == [0, 0, 1, 1, 2, 3, 3]


def test_what_can_be_expected_is_known_without_the_table(people: Table) -> None:
    release = publish(people, "l-diversity:3", method="anatomy", seed=1).release
    found = expected_errors(release)
    assert [each.people for each in found] == sorted({each.people for each in found})
    assert found[0].error > found[-1].error > 0, "of small counts it is larger"
    assert not any(each.certain for each in found)
    boxes = publish(people, "k-anonymity:5", method="mondrian", seed=1).release
    assert all(each.certain for each in expected_errors(boxes))
    masked = publish(people, "delta-probability:0.25", method="mutual-cover", seed=1).release
    assert expected_errors(masked) == (), "nobody can know"


def test_columns_as_released(people: Table) -> None:
    release = publish(people, "k-anonymity:5", method="mondrian", seed=1).release
    found = {each.name: each for each in released_columns(release)}
    assert found.keys() == {attribute.name for attribute, _ in people.columns()}
    share = (people.column("gender")[1] == 0).mean()
    assert found["gender"].shares[0] == pytest.approx(share)
