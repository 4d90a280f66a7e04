"""`oneoff attack` as a steward runs it, and what it says where something is amiss."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import oneoff as library
from tests.command_line import oneoff

ROLES = ("--quasi", "age,gender,education", "--sensitive", "occupation")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, others, and a release with a tenth of the people held out."""
    folder = tmp_path_factory.mktemp("attacks")
    people = library.sample(600, seed=1, values=6)
    people = people if isinstance(people, pl.DataFrame) else pl.from_arrow(people)
    assert isinstance(people, pl.DataFrame)
    people.head(500).write_csv(folder / "people.csv")
    people.tail(100).write_csv(folder / "others.csv")
    made = oneoff(
        "anonymize", folder / "people.csv", *ROLES, "--guarantee", "k-anonymity:5", "--hold-out", "0.1", "--out",
        folder / "release",
    )  # fmt: skip
    assert made.status == 0, made.err
    return folder


def test_attacks_side_by_side_and_the_strongest_in_a_sentence(place: Path) -> None:
    answer = oneoff("attack", place / "release", "--original", place / "people.csv")
    assert answer.status == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0].split("  ")[0] == "attack"
    named = [line.split()[0] for line in lines[1 : lines.index("")]]
    assert {"learned", "linking", "skewness", "bayes"} <= set(named)
    assert "being in it adds" in " ".join(lines[lines.index("") :])
    verbose = oneoff("attack", place / "release", "--original", place / "people.csv", "--verbose")
    assert all(f"{name}: " in verbose.out for name in named)


def test_json_has_the_rate_both_baselines_and_the_difference(place: Path) -> None:
    answer = oneoff("attack", place / "release", "--attack", "learned", "--json")
    (found,) = json.loads(answer.out)["attacks"]
    assert (found["people"], found["tried"], found["outside"]["tried"]) == (450, 450, 50)
    assert found["difference"] == pytest.approx(found["rate"] - found["outside"]["rate"])
    assert found["interval"][0] < found["rate"] < found["interval"][1]
    assert 0 < found["baseline"] < 1
    assert found["sentence"]


def test_another_control_and_one_that_shares_people(place: Path) -> None:
    answer = oneoff("attack", place / "release", "--attack", "learned", "--control", place / "others.csv", "--json")
    assert json.loads(answer.out)["attacks"][0]["outside"]["tried"] == 100
    answer = oneoff("attack", place / "release", "--attack", "learned", "--control", place / "people.csv")
    assert "shares people with the release" in " ".join(answer.out.split())


def test_a_control_with_other_columns_or_values(place: Path, tmp_path: Path) -> None:
    others = pl.read_csv(place / "others.csv")
    others.drop("gender").write_csv(tmp_path / "lacking.csv")
    answer = oneoff("attack", place / "release", "--control", tmp_path / "lacking.csv")
    assert answer.status == 2
    assert "gender" in answer.err
    others.with_columns(gender=pl.lit("unheard of")).write_csv(tmp_path / "strange.csv")
    answer = oneoff("attack", place / "release", "--attack", "learned", "--control", tmp_path / "strange.csv")
    said = " ".join(answer.out.split())
    assert "values that nobody in the release has" in said
    assert "'gender' (100% of the control)" in said  # some age of so few people may be new, too


def test_without_the_original_there_are_no_rates(place: Path) -> None:
    answer = oneoff("attack", place / "release" / "public" / "microdata.parquet")
    assert "Without the original table" in answer.out
    assert "right about" not in answer.out


def test_files_of_other_tools(place: Path) -> None:
    """Published as it is: everybody who is alone is found."""
    answer = oneoff(
        "attack", place / "people.csv", "--original", place / "people.csv", *ROLES, "--attack", "homogeneity"
    )
    assert answer.status == 0, answer.err
    assert "homogeneity  " in answer.out
    assert "--control TABLE" in " ".join(answer.out.split())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("nowhere",), ("nothing to attack", "nowhere")),
        (("release", "--attack", "lerned"), ("no attack called 'lerned'", "learned")),
        (("release", "--knows-values", "2"), ("not a share", "0 to below 1")),
        (("release", "--columns", "agee"), ("agee", "age")),
        (("release", "--model", "oracle"), ("oracle", "bayes")),
        (("people.csv", "--original", "people.csv"), ("--quasi", "--sensitive")),
    ],
)
def test_what_cannot_be_done_is_said(given: tuple[str, ...], words: tuple[str, ...], place: Path) -> None:
    paths = [str(place / each) if each in ("nowhere", "release", "people.csv") else each for each in given]
    answer = oneoff("attack", *paths)
    assert answer.status == 2
    for word in words:
        assert word in answer.err


def test_too_few_people_for_an_interval(tmp_path: Path) -> None:
    pl.DataFrame({"age": [20, 30] * 6, "illness": ["a", "b", "c"] * 4}).write_csv(tmp_path / "few.csv")
    roles = ("--quasi", "age", "--sensitive", "illness")
    oneoff("anonymize", tmp_path / "few.csv", *roles, "--guarantee", "k-anonymity:2", "--out", tmp_path / "few")
    answer = oneoff("attack", tmp_path / "few", "--attack", "learned")
    assert "too few for an interval" in " ".join(answer.out.split())
