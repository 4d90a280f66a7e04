"""Workloads by name and from a file: the same answers as a recipient's, one question at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import oneoff
from oneoff.errors import BadValue, OneoffError, UnknownColumn
from oneoff.releases import Published
from oneoff.table import Table
from oneoff.utility import AggregateErrors, CountErrors, counting, workloads
from oneoff.utility.counting import people_meant
from oneoff.utility.workload import Workload, estimated_counts, random_queries
from oneoff.utility.workloads import Asking, asked_in_file, workload_errors

LINES = [
    "age between 30 and 39",
    "gender = 'Female' and age < 40 and occupation in ('Office clerk', 'Truck driver')",
    "# a remark",
    "",
    "education != '12 Grade 12' and age >= 25",
    "occupation = 'nobody has this'",
    "age > 20 and age <= 50 and gender in ('Male', 'Female')",
    "age < 30 or (gender = 'Female' and not occupation in ('Manager', 'Office clerk'))",
    "not (age > 30 or education = '12 Grade 12')",
    "age < 30 and age > 40",
]


@pytest.fixture(scope="module")
def table() -> Table:
    frame = oneoff.sample(800, seed=3)
    return oneoff.read_table(
        frame, quasi=["age", "gender", "education"], sensitive="occupation", numeric=["age"], rows_are_people=True
    )


@pytest.fixture(scope="module", params=["tallies", "mondrian", "perturbation"])
def release(request: pytest.FixtureRequest, table: Table) -> Published:
    return oneoff.anonymize(table, "beta-likeness:3", method=request.param, seed=1)


def asked(path: Path, table: Table, lines: list[str]) -> list[Workload]:
    path.write_text("\n".join(lines), "utf-8")
    return list(asked_in_file(path, table))


def test_a_file_asks_what_its_lines_ask(release: Published, table: Table, tmp_path: Path) -> None:
    questions = [line for line in LINES if line and not line.startswith("#")]
    parts = asked(tmp_path / "own.txt", table, LINES)
    truth = np.concatenate([_by_question(part, people_meant(table.codes, table.values, part)[:, 1]) for part in parts])
    exact = oneoff.anonymize(table, "k-anonymity:1", method="mondrian", seed=1)
    assert truth.tolist() == [exact.count(question).count for question in questions]
    answers = np.concatenate([_by_question(part, estimated_counts(release, table, part)) for part in parts])
    if release.form != "perturbed":  # whose own estimate leads values back
        raw = [release.count(question).raw for question in questions]
        assert answers == pytest.approx(raw, rel=1e-5, abs=1e-5)


def _by_question(part: Workload, answers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return answers if part.question is None else np.bincount(part.question, answers)


def test_a_question_with_or_is_as_far_off_as_its_answer(release: Published, table: Table, tmp_path: Path) -> None:
    question = "age < 30 or gender = 'Female'"
    (tmp_path / "own.txt").write_text(f"{question}\n")
    found = workload_errors(release, table, Asking(workload=str(tmp_path / "own.txt")))
    exact = oneoff.anonymize(table, "k-anonymity:1", method="mondrian", seed=1).count(question).count
    assert isinstance(found, CountErrors)
    assert found.queries == 1
    assert found.median == pytest.approx(abs(release.count(question).raw - exact) / exact, abs=1e-5)


def test_intervals_and_sets_are_answered_alike(release: Published, table: Table, tmp_path: Path) -> None:
    """A set among the lines makes sets of all of them."""
    alone = asked(tmp_path / "own.txt", table, LINES[:1])[0]
    beside = asked(tmp_path / "own.txt", table, [LINES[0], "age in (25, 30, 60)"])[0]
    assert alone.inside is None
    assert beside.inside is not None
    one, other = (estimated_counts(release, table, each)[0] for each in (alone, beside))
    assert one == pytest.approx(other, rel=1e-5)


def test_files_that_do_not_fit_at_once_are_asked_in_parts(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"age in ({a}, {a + 2}) and gender = 'Male'" for a in range(20, 60)]
    monkeypatch.setattr(workloads, "_MOST_MARKS", 1000)
    release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    assert len(asked(tmp_path / "own.txt", table, lines)) > 1
    few = workload_errors(release, table, Asking(workload=str(tmp_path / "own.txt")))
    monkeypatch.undo()
    assert workload_errors(release, table, Asking(workload=str(tmp_path / "own.txt"))) == few


def test_a_csv_file_has_a_column_where(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("name,where\nthirties,age between 30 and 39\nmen,\"gender = 'Male' and age > 20\"\n", "utf-8")
    release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    found = workload_errors(release, table, Asking(workload=str(path)))
    (tmp_path / "own.txt").write_text("age between 30 and 39\ngender = 'Male' and age > 20\n", "utf-8")
    assert found == workload_errors(release, table, Asking(workload=str(tmp_path / "own.txt")))
    path.write_text("who\nage < 30\n", "utf-8")
    with pytest.raises(UnknownColumn, match=r"no column 'where'.*who"):
        workload_errors(release, table, Asking(workload=str(path)))


@pytest.mark.parametrize(
    ("line", "said"),
    [("aeg < 30", "line 2 of .*'aeg'.*did you mean 'age'"), ("age <", "line 2 of .*cannot be read")],
)
def test_the_line_that_is_wrong_is_named(line: str, said: str, table: Table, tmp_path: Path) -> None:
    with pytest.raises(OneoffError, match=said):
        asked(tmp_path / "own.txt", table, ["age < 30", line])


def test_empty_files_and_unknown_workloads_are_refused(table: Table, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="asks for nothing"):
        asked(tmp_path / "own.txt", table, ["# nothing"])
    with pytest.raises(BadValue, match=r"no such workload.*did you mean 'prefixes'"):
        Asking(workload="prefix")


def test_a_question_that_nobody_can_fulfil_is_no_question(table: Table, tmp_path: Path) -> None:
    either, own = "(age < 30 or gender = 'Male')", tmp_path / "own.txt"
    own.write_text(f"{either} and not {either}\n")
    release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    with pytest.raises(BadValue, match=r"that anybody could fulfil|none of the test counts means anybody"):
        workload_errors(release, table, Asking(workload=str(own)))
    own.write_text(f"{either} and not {either}\nage < 30\n")
    found = workload_errors(release, table, Asking(workload=str(own)))
    assert isinstance(found, CountErrors)
    assert found.queries == 1


@pytest.mark.parametrize("name", ["intervals", "sets", "prefixes"])
def test_workloads_by_name_have_both_ends(name: str, table: Table) -> None:
    """The table itself is never off, one group is as good as the overall distribution."""
    exact = oneoff.anonymize(table, "k-anonymity:1", method="mondrian", seed=1)
    found = workload_errors(exact, table, Asking(200, seed=1, workload=name))
    assert isinstance(found, CountErrors)
    assert (found.median, found.mean) == (0, 0)
    assert found.overall_mean > 0 or name == "prefixes"
    assert found == workload_errors(exact, table, Asking(200, seed=1, workload=name))
    assert found.queries <= 200


def test_sums_are_counts_and_sums() -> None:
    rng = np.random.default_rng(1)
    frame = pa.table({"age": rng.integers(20, 30, 300), "sex": rng.integers(0, 2, 300), "pay": rng.integers(1, 9, 300)})
    table = oneoff.read_table(frame, quasi=["age", "sex"], sensitive="pay", rows_are_people=True)
    release = oneoff.anonymize(table, "beta-likeness:4", method="tallies", seed=1)
    found = workload_errors(release, table, Asking(100, seed=1, workload="sums"))
    assert isinstance(found, AggregateErrors)
    assert found.sum is not None
    assert found == workload_errors(release, table, Asking(100, seed=1))


@pytest.mark.parametrize("kind", ["intervals", "sets"])
def test_records_that_look_the_same_are_counted_once_and_in_full(
    kind: str, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = random_queries(table, 60, attributes=2, predicates=kind, rng=np.random.default_rng(2))  # type: ignore[arg-type]
    one_by_one = people_meant(table.codes, table.values, queries)
    monkeypatch.setattr(counting, "_FEW_LOOKS", 0)
    assert np.array_equal(people_meant(table.codes, table.values, queries), one_by_one)
