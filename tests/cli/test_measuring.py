"""Other questions, models, and several promises at once, as they are asked for on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from oneoff import sample
from tests.command_line import oneoff

pytestmark = pytest.mark.usefixtures("without_pictures")

ROLES = ("--quasi", "age,gender,education", "--sensitive", "occupation", "--numeric", "age", "--rows-are-people")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(sample(500, seed=6), path)
    return path


def published(people: Path, out: Path, *more: object) -> Path:
    given = (*ROLES, "--guarantee", "beta-likeness:3", "--method", "tallies", "--seed", 1, *more)
    assert oneoff("anonymize", people, *given, "--out", out).status == 0
    return out


@pytest.fixture(scope="module")
def held(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(people, tmp_path_factory.mktemp("held") / "out", "--hold-out", 0.2)


def test_models_are_asked_about_people_who_were_held_out(held: Path) -> None:
    found = oneoff("utility", held, "--target", "gender", "--model", "logistic", "--json").json["model"]
    assert (found["tested"], found["trained"], found["target"]) == (100, 400, "gender")
    assert list(found["models"]) == ["logistic"]
    assert set(found["models"]["logistic"]["release"]) == {"accuracy", "auc", "log_loss"}
    answer = oneoff("utility", held, "--target", "gender", "--model", "logistic")
    words = " ".join(answer.out.split())
    assert "Of 100 people who are not in the release, 'gender' is told right for" in words
    assert f"{found['models']['logistic']['release']['accuracy']:.1%} by logistic regression" in words


def test_people_in_the_release_are_no_test(people: Path, tmp_path: Path) -> None:
    out = published(people, tmp_path / "out")
    answer = oneoff("utility", out, "--target", "occupation")
    assert answer.status == 2
    assert "too easy a test" in answer.err
    assert "--hold-out 0.1, or --test FILE" in answer.err
    pq.write_table(sample(300, seed=7), tmp_path / "others.parquet")
    others = ("--test", tmp_path / "others.parquet", "--target", "gender", "--model", "logistic", "--json")
    assert oneoff("utility", out, *others).json["model"]["tested"] == 300
    assert "about a column to tell" in oneoff("utility", out, "--test", tmp_path / "others.parquet").err


def test_other_questions(held: Path, tmp_path: Path) -> None:
    standard = oneoff("utility", held, "--json").json
    assert "queries" not in standard
    for name in ("intervals", "sets", "prefixes"):
        found = oneoff("utility", held, "--workload", name, "--queries", 60, "--seed", 1, "--json").json
        assert set(found["queries"]) == {"queries", "median", "mean", "overall_median", "overall_mean"}
        assert found["queries"]["queries"] <= 60
        assert found["count_error"] == standard["count_error"]
    sums = oneoff("utility", held, "--workload", "sums", "--queries", 60, "--seed", 1, "--json").json["queries"]
    assert sums == oneoff("utility", held, "--queries", 60, "--seed", 1, "--json").json["queries"]
    own = tmp_path / "own.txt"
    own.write_text("age < 40\nage >= 40 and gender = 'Male'\n", "utf-8")
    assert oneoff("utility", held, "--workload", own, "--json").json["queries"]["queries"] == 2
    assert f"Asked for {own}: A typical count" in oneoff("utility", held, "--workload", own).out.replace("\n", " ")
    assert "says itself what to ask" in oneoff("utility", held, "--workload", own, "--seed", 1).err
    assert "did you mean 'sets'" in oneoff("utility", held, "--workload", "set").err


def test_promises_and_methods_side_by_side(people: Path, tmp_path: Path) -> None:
    given = ("--guarantee", "l-diversity:2", "--guarantee", "l-diversity:3", "--method", "mondrian",
             "--method", "hilbert", "--run", "tallies beta-likeness:3", "--seed", 1)  # fmt: skip
    found = oneoff("compare", people, *ROLES, *given, "--json").json
    assert found["guarantee"] is None
    assert found["guarantees"] == ["l-diversity:2", "l-diversity:3", "beta-likeness:3"]
    assert [(row["method"], row["guarantee"]) for row in found["methods"]] == [
        ("mondrian", "l-diversity:2"), ("hilbert", "l-diversity:2"), ("mondrian", "l-diversity:3"),
        ("hilbert", "l-diversity:3"), ("tallies", "beta-likeness:3"),
    ]  # fmt: skip
    said = oneoff("compare", people, *ROLES, *given, "--target", "gender", "--model", "logistic", "--workload", "sets")
    words = " ".join(said.out.split())
    assert "Against anyone, whatever they know, everybody else's values included, for beta-likeness:3: only" in words
    assert "Not all keep the same promise" in words
    assert "told right" in said.out.splitlines()[1]
    assert "Told right: the share of 100 people held out" in words
    assert "Trained on the original it tells" in words


def test_a_run_without_a_promise_is_refused(people: Path) -> None:
    answer = oneoff("compare", people, *ROLES, "--run", "mondrian")
    assert answer.status == 2
    assert "a run is a method and a promise" in answer.err
    assert "guarantee is missing" in oneoff("compare", people, *ROLES).err


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("talies", "there is no method called 'talies'.*did you mean 'tallies'"),
        ("mondrian:cutz=strict", "mondrian has no option 'cutz'.*did you mean 'cuts'"),
    ],
)
@pytest.mark.parametrize(
    "given",
    [
        ("compare", "--guarantee", "beta-likeness:2", "--method"),
        ("sweep", "--guarantee", "beta-likeness:2,3", "--methods"),
    ],
)
def test_a_slip_of_the_pen_is_no_row(given: tuple[str, ...], method: str, said: str, people: Path) -> None:
    answer = oneoff(given[0], people, *ROLES, *given[1:], method)
    assert answer.status == 2
    assert re.search(said, answer.err, re.DOTALL)


def test_methods_are_compared_on_a_table_read_in_any_way(people: Path, tmp_path: Path) -> None:
    """Of ages in ranges, with weights, and as an earlier release was made."""
    rows = pq.read_table(people)
    weighted = tmp_path / "weighted.parquet"
    pq.write_table(rows.append_column("wt", [[1.0 + i % 3 for i in range(rows.num_rows)]]), weighted)
    roles = ("--quasi", "gender,education", "--sensitive", "age", "--bins", 4, "--weight", "wt", "--keep", "occupation")
    run = ("--guarantee", "l-diversity:2", "--rows-are-people", "--seed", 1)
    asked = ("compare", weighted, *roles, *run, "--method", "mondrian", "--json")
    (found,) = oneoff(*asked).json["methods"]
    assert (found["refused"], found["holds"]) == ("", True)
    made = oneoff("anonymize", weighted, *roles, *run, "--method", "mondrian", "--out", tmp_path / "out")
    assert made.status == 0
    job = tmp_path / "out" / "private" / "job.toml"
    (again,) = oneoff("compare", job, "--seed", 1, "--method", "mondrian", "--json").json["methods"]
    assert again["count_error"] == found["count_error"]
