"""Sums, means, shares, tables and questions with or and not, by hand and by law."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, UnknownColumn
from oneoff.releases.logic import MOST_TERMS, asked_in, disjoint
from tests.command_line import oneoff as command

pytestmark = pytest.mark.usefixtures("without_pictures")

# Two groups of four under 4-anonymity: everybody of a group has the same sex and zip, and ages are tallied.
PEOPLE = polars.DataFrame(
    {
        "age": [20, 21, 22, 23, 60, 61, 62, 63],
        "sex": ["F"] * 4 + ["M"] * 4,
        "stay": [1, 2, 2, 5, 10, 10, 20, 40],
    }
)


def made(columns: str = "tally", **more: Any) -> Any:
    table = oneoff.read_table(PEOPLE, quasi=["age", "sex"], sensitive="stay")
    return oneoff.anonymize(table, "k-anonymity:4", method="mondrian", columns=columns, seed=1, **more)


@pytest.fixture(scope="module", params=["tally", "box"])
def release(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


def exactly(found: Any, value: float) -> bool:
    return bool(
        found.certain
        and all(each == pytest.approx(value, abs=1e-9) for each in (found.value, found.raw, found.low, found.high))
    )


def test_what_is_said_of_whole_groups_is_exact(release: Any) -> None:
    assert exactly(release.count("sex = 'F' or stay = 40"), 5)
    assert exactly(release.count("not (sex = 'F' or stay = 40)"), 3)
    assert exactly(release.count("not sex = 'F' and not (stay > 10 and stay < 30)"), 3)
    assert exactly(release.sum("stay"), 90)
    assert exactly(release.sum("stay", "sex = 'F'"), 10)
    assert exactly(release.sum("stay", "sex = 'M' and stay > 10 or sex = 'F' and stay = 5"), 65)
    assert exactly(release.mean("stay", "sex = 'F'"), 2.5)
    assert exactly(release.mean("stay", "sex = 'M'"), 20)
    assert exactly(release.share("stay >= 10"), 0.5)
    assert exactly(release.share("stay = 2", "sex = 'F'"), 0.5)
    assert exactly(release.share("stay = 10 or stay = 20", "not sex = 'F'"), 0.75)


def test_tallies_know_the_sum_of_a_column() -> None:
    release = made()
    assert exactly(release.sum("age"), 332)
    assert exactly(release.mean("age", "sex = 'F'"), 21.5)
    assert exactly(release.count("age < 21 or age > 62"), 2)
    assert exactly(release.mean("age", "age <= 21 or age = 63"), (20 + 21 + 63) / 3)


def test_a_sum_over_some_of_a_group_has_certain_ends() -> None:
    """Two of the four women stayed two days: the youngest two, or the oldest, or any."""
    found = made().sum("age", "stay = 2")
    assert (found.raw, found.low, found.high) == (43.0, 41.0, 45.0)
    mean = made().mean("age", "stay = 2")
    assert (mean.value, mean.low, mean.high) == pytest.approx((21.5, 20.5, 22.5))
    some = made().sum("stay", "age in (60, 61)")
    assert (some.raw, some.low, some.high) == (40.0, 20.0, 60.0)


def test_boxes_only_know_ends() -> None:
    """Four people are somewhere between 20 and 23."""
    found = made("box").sum("age", "sex = 'F'")
    assert (found.raw, found.low, found.high) == (pytest.approx(86), 80, 92)
    mean = made("box").mean("age", "sex = 'F'")
    assert (mean.value, mean.low, mean.high) == pytest.approx((21.5, 20, 23))
    young = made("box").sum("age", "age < 22")
    assert (young.raw, young.low, young.high) == (pytest.approx(2 * 20.5), 0, 92)


def test_one_condition_is_made_of_what_is_said_about_one_column() -> None:
    """Of the four numbers between 20 and 23 two are meant, not half of a half."""
    found = made("box").count("age > 20 and age < 23")
    assert found.raw == pytest.approx(2)
    assert made("box").count("age <= 20 or age >= 23 and age < 60").raw == pytest.approx(2)
    assert made("box").count("not (age <= 20 or age >= 23)").raw == pytest.approx(2)


def test_a_table_of_counts_adds_up(release: Any) -> None:
    table = release.group_by("sex", "stay").count()
    assert len(table) == 2 * 6
    assert table["F", 2].count == 2
    assert table["M", 2].count == 0
    assert math.fsum(found.raw for _, found in table) == pytest.approx(8)
    assert [found.value for _, found in release.group_by("sex").mean("stay")] == pytest.approx([2.5, 20])
    assert release.group_by("sex", where="stay > 4").sum("stay")["F"].value == pytest.approx(5)
    assert release.group_by("age").count().to_polars()["count"].sum() == pytest.approx(8)


def test_nobody_has_no_mean(release: Any) -> None:
    found = release.mean("stay", "sex = 'F' and stay > 100")
    assert math.isnan(found.value)
    assert found.sentence().startswith("about nothing")
    assert math.isnan(release.share("stay = 1", "stay > 100").value)


def test_what_cannot_be_asked_is_refused(release: Any) -> None:
    with pytest.raises(BadValue, match="no numbers"):
        release.mean("sex")
    with pytest.raises(UnknownColumn, match="no column 'agee'"):
        release.sum("agee")
    with pytest.raises(UnknownColumn, match="no column 'agee'"):
        release.count("sex = 'F' or agee = 3")
    with pytest.raises(BadValue, match="no property"):
        release.count("")
    with pytest.raises(BadValue, match="at least one column"):
        release.group_by().count()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("(age = 3", "not closed"),
        ("age = 3)", "neither"),
        ("age = 3 or", "ends in the middle"),
        ("not", "ends in the middle"),
        ("age = 3 sex = 'F'", "joined with 'and' or 'or'"),
        ("(" * 200 + "age = 3" + ")" * 200, "inside one another"),
    ],
)
def test_texts_that_cannot_be_read(text: str, complaint: str) -> None:
    with pytest.raises(BadValue, match=complaint):
        disjoint(text)


def test_too_many_cases_are_refused_and_long_questions_are_not() -> None:
    pairs = " or ".join(f"(a{i} = 1 and b{i} = 1)" for i in range(8))
    with pytest.raises(BadValue, match=f"at most {MOST_TERMS} disjoint cases"):
        disjoint(pairs)
    assert len(disjoint(" and ".join(f"a{i} = 1" for i in range(500)))) == 1
    assert len(disjoint(" or ".join(f"a = {i}" for i in range(500)))) == 1
    assert len(asked_in("a = 1 and (b = 2 or not (c = 3 and a = 4))")) == 4


# --- a question means for everybody what it says


def questions() -> st.SearchStrategy[str]:
    signs = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    leaf = st.builds("{} {} {}".format, st.sampled_from(["age", "stay"]), signs, st.integers(0, 4))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({} or {})".format, inner, inner),
            st.builds("({} and {})".format, inner, inner),
            st.builds("not ({})".format, inner),
        ),
        max_leaves=6,
    )


@settings(max_examples=100, deadline=None)
@given(questions())
def test_disjoint_questions_mean_the_people_of_the_question_once(text: str) -> None:
    age, stay = (each.ravel() for each in np.meshgrid(np.arange(5), np.arange(5)))
    found = np.zeros(25, dtype=np.int64)
    for term in disjoint(text):
        columns = {"age": age, "stay": stay}
        assert len({each.column for each in term}) == len(term)
        found += np.logical_and.reduce([each.holds(columns[each.column]) for each in term])
    spoken = text.replace(" = ", " == ")
    true = [bool(eval(spoken, {"age": a, "stay": s})) for a, s in zip(age.tolist(), stay.tolist(), strict=True)]
    assert found.tolist() == [int(each) for each in true]


@settings(max_examples=30, deadline=None)
@given(questions(), st.lists(st.tuples(st.integers(-2, 6), st.integers(0, 5)), min_size=1, max_size=5))
def test_the_part_of_a_range_is_the_share_of_its_numbers(text: str, ranges: list[tuple[int, int]]) -> None:
    text = text.replace("stay", "age")
    low = np.array([first for first, _ in ranges])
    high = low + np.array([more for _, more in ranges])
    part = np.sum([term[0].covered(low, high) for term in disjoint(text)] or [np.zeros(len(low))], axis=0)
    for found, first, last in zip(part, low.tolist(), high.tolist(), strict=True):
        meant = [bool(eval(text.replace(" = ", " == "), {"age": a})) for a in range(first, last + 1)]
        assert found == pytest.approx(sum(meant) / len(meant))


# --- laws, for every kind of release

KINDS = {
    "tallies": "beta-likeness:3",
    "mondrian": "k-anonymity:5",
    "perturbation": "beta-likeness:3",
    "baseline": "beta-likeness:3",
}


def several(rows: int = 600) -> polars.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(18, 80, rows)
    sex = np.where(rng.random(rows) < 0.5, "F", "M")
    return polars.DataFrame({"age": age, "sex": sex, "stay": np.minimum(rng.poisson(1 + age / 25), 7)})


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Any:
    table = oneoff.read_table(several(), quasi=["age", "sex"], sensitive="stay")
    return oneoff.anonymize(table, KINDS[request.param], method=request.param, seed=3)


def test_either_and_both_are_one_and_the_other(kind: Any) -> None:
    for one, other in (("age < 40", "sex = 'F'"), ("stay > 2", "age > 60"), ("stay = 1", "stay <= 3")):
        both, either = kind.count(f"{one} and {other}").raw, kind.count(f"{one} or {other}").raw
        assert both + either == pytest.approx(kind.count(one).raw + kind.count(other).raw, abs=1e-6)
        assert kind.count(f"not ({one} or {other})").raw == pytest.approx(kind.rows - either, abs=1e-6)


def test_a_sum_is_that_of_values_times_people(kind: Any) -> None:
    for where in ("sex = 'F'", "age < 40 and sex = 'M'", "stay > 1 and age > 30", "age < 30 or sex = 'F'"):
        for column, values in (("stay", range(8)), ("age", range(18, 80))):
            by_hand = sum(value * kind.count(f"({where}) and {column} = {value}").raw for value in values)
            assert kind.sum(column, where).raw == pytest.approx(by_hand, rel=1e-6, abs=1e-6)


def test_a_flag_is_a_number(kind: Any) -> None:
    """Where a column says 0 or 1, its sum is a count and its mean a share, errors and all."""
    frame = several().with_columns(ill=polars.Series(np.arange(600) % 3 == 0).cast(polars.Int64)).drop("stay")
    table = oneoff.read_table(frame, quasi=["age", "sex"], sensitive="ill")
    promise = "beta-likeness:3" if kind.method != "mondrian" else "k-anonymity:5"
    release = oneoff.anonymize(table, promise, method=kind.method, seed=3)
    total, people = release.sum("ill", "age < 40"), release.count("age < 40 and ill = 1")
    assert (total.raw, total.low, total.high) == pytest.approx((people.raw, people.low, people.high))
    assert total.error == (None if people.error is None else pytest.approx(people.error))
    mean, share = release.mean("ill", "age < 40"), release.share("ill = 1", "age < 40")
    assert (mean.raw, mean.low, mean.high) == pytest.approx((share.raw, share.low, share.high), abs=1e-6)


def test_tables_add_up_to_everybody(kind: Any) -> None:
    table = kind.group_by("sex", "stay").count()
    assert math.fsum(found.raw for _, found in table) == pytest.approx(kind.rows)


# --- on the command line


def test_the_command_line_says_the_same(tmp_path: Path) -> None:
    release = made()
    release.write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    found = command("query", public, "sex = 'F' or stay = 40", "--json").json
    assert found["count"] == 5.0
    assert command("query", public, "--mean", "stay", "sex = 'F'").out == (
        "About 2.5, the mean of stay; certainly between 2.5 and 2.5.\n"
    )
    assert command("query", public, "--sum", "age", "--json").json["value"] == 332.0
    assert command("query", public, "sex = 'F'", "--share", "stay = 2").out.startswith("About 50.0 %, the share;")
    lines = command("query", public, "--table", "sex,stay", "--csv", tmp_path / "table.csv").out.splitlines()
    assert lines[0].split() == ["sex", "stay", "about", "from", "to"]
    assert lines[2].split() == ["F", "2", "2.0", "2.0", "2.0"]
    with (tmp_path / "table.csv").open() as file:
        assert [row["count"] for row in csv.DictReader(file)][:3] == ["1.0", "2.0", "1.0"]
    means = command("query", public, "--table", "sex", "--mean", "stay", "--json").json["table"]
    assert [(row["sex"], row["value"]) for row in means] == [("F", 2.5), ("M", 20.0)]
    assert command("query", public, "--sum", "age", "--mean", "age").status != 0
    assert command("query", public, "--csv", "x.csv", "sex = 'F'").status != 0
    assert "no property" in command("query", public).err
