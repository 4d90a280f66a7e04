"""What a recipient asks and what the release answers, by hand and by law."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, UnknownColumn
from oneoff.releases.estimate import reconstruct
from oneoff.releases.predicate import Condition, conditions
from oneoff.table import Table
from tests.tables import tables


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("age between 30 and 39", [Condition("age", low=30, high=39)]),
        ("age<30 and sex='F'", [Condition("age", high=30, open_high=True), Condition("sex", among=("F",))]),
        ("age >= -3.5", [Condition("age", low=-3.5)]),
        ("age > 1e3", [Condition("age", low=1000.0, open_low=True)]),
        ("disease in ('flu', 'it''s bad')", [Condition("disease", among=("flu", "it's bad"))]),
        ("disease not in ('flu')", [Condition("disease", among=("flu",), without=True)]),
        ("age not between 1 and 2", [Condition("age", low=1, high=2, without=True)]),
        ('"marital status" != 3', [Condition("marital status", among=(3,), without=True)]),
        ("hours-per-week <= 40", [Condition("hours-per-week", high=40)]),
        ("AGE BETWEEN 1 AND 2", [Condition("AGE", low=1, high=2)]),
    ],
)
def test_questions_are_read(text: str, found: list[Condition]) -> None:
    assert conditions(text) == found


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("age between 3", "between needs two values"),
        ("age", "after 'age' comes between"),
        ("age = flu", "texts stand in single quotes: 'flu'"),
        ("age = 3 xor sex = 'F'", "joined with 'and'"),
        ("age = 3 and", "ends in the middle"),
        ("disease in 'flu'", "in needs a list"),
        ("disease in ('flu'", "a list ends with"),
        ("age = ;", "cannot read ';'"),
        ("3 = age", "there should be a column"),
        ("", "names no property"),
        (" ", "names no property"),
    ],
)
def test_questions_that_cannot_be_read_say_why(text: str, complaint: str) -> None:
    with pytest.raises(BadValue, match=complaint):
        conditions(text)


def test_a_mapping_that_names_nothing_is_no_question() -> None:
    with pytest.raises(BadValue, match="names no property"):
        conditions({})


def test_a_mapping_is_a_question_too() -> None:
    assert conditions({"age": (30, 39), "sex": "F", "disease": ["flu", "cold"]}) == [
        Condition("age", low=30, high=39),
        Condition("sex", among=("F",)),
        Condition("disease", among=("flu", "cold")),
    ]


@pytest.mark.parametrize(
    ("text", "low", "high", "part"),
    [
        ("x between 3 and 4", 1, 4, 0.5),
        ("x < 3", 1, 4, 0.5),
        ("x <= 3", 1, 4, 0.75),
        ("x > 1.5", 1, 4, 0.75),
        ("x = 2", 1, 4, 0.25),
        ("x in (2, 3, 9)", 1, 4, 0.5),
        ("x != 2", 1, 4, 0.75),
        ("x = 2", 2, 2, 1.0),
        ("x between 2.0 and 3.0", 1.0, 5.0, 0.25),
        ("x < 2", 1.0, 1.0, 1.0),
        ("x > 9", 1.0, 5.0, 0.0),
    ],
)
def test_the_part_of_a_range_that_is_meant(text: str, low: float, high: float, part: float) -> None:
    assert conditions(text)[0].covered(np.array([low]), np.array([high]))[0] == pytest.approx(part)


def test_values_are_found_as_the_column_holds_them() -> None:
    numbers, texts = np.array([1, 2, 3]), np.array(["1", "b", "c"], dtype=object)
    assert conditions("x = '1'")[0].holds(numbers).tolist() == [True, False, False]
    assert conditions("x in (2, 3.0)")[0].holds(numbers).tolist() == [False, True, True]
    assert conditions("x = 1")[0].holds(texts).tolist() == [True, False, False]
    assert conditions("x = 'true'")[0].holds(np.array([True, False])).tolist() == [True, False]
    with pytest.raises(BadValue, match="'x' holds numbers"):
        conditions("x = 'one'")[0].holds(numbers)


@pytest.fixture(scope="module")
def people() -> Table:
    from oneoff.table.sample import SAMPLE_ROLES, sample

    return oneoff.read_table(sample(2000, seed=4), **SAMPLE_ROLES)


@pytest.mark.parametrize("method", ["mondrian", "perturbation", "baseline", "freeform"])
def test_whole_columns_are_counted_exactly(method: str, people: Table) -> None:
    guarantee = "k-anonymity:5" if method == "freeform" else "beta-likeness:3"
    release = oneoff.anonymize(people, guarantee, method=method, seed=1)
    assert release.count("age > -1").count == people.rows
    assert people.sensitive is not None
    if method != "perturbation":
        label = str(people.sensitive.labels[0])
        assert release.count({people.sensitive.name: label}).count == pytest.approx(int(people.counts[0]))
    with pytest.raises(UnknownColumn, match="no column 'agee'"):
        release.count("agee = 3")


def test_the_interval_of_generalized_records_is_certain(people: Table) -> None:
    release = oneoff.anonymize(people, "k-anonymity:8", method="mondrian", seed=1)
    ages = people.quasi[0]
    assert ages.name == "age"
    for low, high in ((20, 30), (31, 31), (40, 90)):
        truth = int(((ages.labels >= low) & (ages.labels <= high))[people.codes[:, 0]].sum())
        found = release.count(f"age between {low} and {high}")
        assert found.low <= truth <= found.high
        assert found.low <= found.count <= found.high


@given(tables(), st.data())
def test_certain_intervals_hold_the_truth(table: Table, data: st.DataObject) -> None:
    release = oneoff.anonymize(table, "k-anonymity:2" if table.rows > 1 else "k-anonymity:1", method="mondrian", seed=1)
    j = data.draw(st.integers(0, len(table.quasi) - 1))
    attribute = table.quasi[j]
    wanted = data.draw(st.lists(st.sampled_from(attribute.labels.tolist()), min_size=1, unique=True))
    truth = int(np.isin(attribute.labels, wanted)[table.codes[:, j]].sum())
    found = release.count({attribute.name: wanted})
    assert found.low <= truth <= found.high


def test_counts_are_led_back_through_the_channel() -> None:
    matrix = np.array([[0.8, 0.4], [0.2, 0.6]])
    found = reconstruct(np.array([60, 40]), matrix, np.array([True, False]))
    assert found.raw == pytest.approx(50.0)  # .8 n + .4 (100 - n) = 60
    weights = np.linalg.inv(matrix)[0]
    assert found.error == pytest.approx(np.sqrt((weights**2) @ [60, 40] - 50.0))


def test_estimates_are_clipped_but_the_raw_number_stays() -> None:
    found = reconstruct(np.array([0, 10]), np.array([[0.8, 0.4], [0.2, 0.6]]), np.array([True, False]))
    assert found.raw == pytest.approx(-10.0)
    assert found.count == 0.0
    assert found.low == 0.0


def test_dates_are_counted_in_boxes_too() -> None:
    """Of a range of four days two are asked for: half of its people."""
    from datetime import date

    days = [date(2020, 1, day) for day in range(1, 9)]
    import pyarrow as pa

    frame = pa.table({"day": days, "s": list("abababab")})
    table = oneoff.read_table(frame, quasi="day", sensitive="s")
    release = oneoff.anonymize(table, "k-anonymity:4", method="mondrian", columns="box")
    found = release.count("day between '2020-01-03' and '2020-01-08'")
    assert (found.count, found.low, found.high) == (6, 4, 8)
    assert release.count({"day": (date(2020, 1, 5), None)}).count == 4


def test_what_an_interval_takes_for_granted_is_said() -> None:
    """In buckets chance is not all there is: values may go with quasi-identifiers inside a bucket."""
    people = {"age": [*range(20, 32)], "sex": ["F", "M"] * 6, "disease": [*"abcdabcdabcd"]}
    table = oneoff.read_table(pa.table(people), quasi=["age", "sex"], sensitive="disease")
    release = oneoff.anonymize(table, "l-diversity:4", method="anatomy", seed=1)
    taken = "if who of a bucket has which of its values has nothing to do with quasi-identifiers"
    asked = "age < 26 and disease = 'a'"
    for found in (
        release.count(asked), release.mean("age", "disease = 'a'"), release.share("disease = 'a'", "age < 26"),
        release.count("disease = 'a' and (age < 26 or sex = 'F')"),
    ):  # fmt: skip
        assert found.sentence().endswith(taken)
        assert found.as_dict()["provided"] in taken
    assert repr(release.count(asked)).startswith("<about 1.")
    exact = release.count("age < 26")
    assert "provided" not in exact.as_dict()
    assert repr(exact) == "<about 6.0 people; with 95 % confidence between 6.0 and 6.0>"
