"""Noisy counts from the command line: options, what is refused and why, what is said of the release."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from oneoff.table.sample import sample
from tests.command_line import Answer, oneoff

ROLES = ("--quasi", "age,gender,education,race", "--sensitive", "occupation", "--method", "tallies")


@pytest.fixture(scope="module")
def people_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    pl.DataFrame(sample(1500, seed=1, values=6)).write_csv(path)
    return path


@pytest.fixture(scope="module")
def occupations(people_csv: Path) -> list[str]:
    return sorted(set(pl.read_csv(people_csv)["occupation"].to_list()))


def publish(source: Path, out: Path, *more: object, guarantee: str = "beta-likeness:3") -> Answer:
    return oneoff("anonymize", source, *ROLES, "--guarantee", guarantee, "--out", out, *more)


def domain(*values: str) -> tuple[str, str]:
    return "--option", f"domain={';'.join(values)}"


def test_a_domain_from_a_list_a_file_and_a_hierarchy(
    people_csv: Path, occupations: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = sorted([*occupations, "Wizard"])
    (tmp_path / "domain.csv").write_text("value\n" + "\n".join(every) + "\n")
    (tmp_path / "tree.csv").write_text("".join(f"{name};work;*\n" for name in every))
    monkeypatch.chdir(tmp_path)
    ways = {
        "list": domain(*every),
        "file": ("--option", "domain=domain.csv"),
        "hierarchy": ("--option", "domain=hierarchy", "--hierarchy", "occupation=tree.csv"),
    }
    for name, way in ways.items():
        answer = publish(people_csv, tmp_path / name, *way)
        assert answer.status == 0, answer.err
        described = json.loads((tmp_path / name / "public" / "release.json").read_text())
        assert sorted(described["sensitive"]["values"]) == every
        assert len(described["prior"]) == len(every)
        for command, status in (("audit", 0), ("verify", 0), ("utility", 0)):
            assert oneoff(command, tmp_path / name).status == status
        assert oneoff("query", tmp_path / name, "occupation = 'Wizard'").status == 0
    monkeypatch.chdir(tmp_path.parent)
    again = oneoff("anonymize", tmp_path / "file" / "private" / "job.toml", "--out", tmp_path / "again")
    assert again.status == 0, again.err


def test_a_domain_that_misses_values_names_them(people_csv: Path, occupations: list[str], tmp_path: Path) -> None:
    answer = publish(people_csv, tmp_path / "out", *domain(*occupations[2:], "Wizard"))
    assert answer.status == 2
    assert "misses values of 'occupation' that occur" in answer.err
    assert f"none of {occupations[0]}, {occupations[1]}" in answer.err
    assert not (tmp_path / "out").exists()


REFUSED: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "no epsilon": ("beta-likeness:3", ("--option", "epsilon=0"), ("from 0.05 to 1.38629", "what the promise allows")),
    "less than none": ("beta-likeness:3", ("--option", "epsilon=-1"), ("from 0.05 to 1.38629", "got: -1")),
    "too much": ("beta-likeness:3", ("--option", "epsilon=2"), ("from 0.05 to 1.38629", "what the promise allows")),
    "no number": ("beta-likeness:3", ("--option", "epsilon=much"), ("from 0.05 to 1.38629", "'much'")),
    "too little room": ("beta-likeness:0.04", (), ("noise would drown", "epsilon 0.0392", "transversal, burel")),
    "half too little": (
        "beta-likeness:0.08", ("--option", "totals=known"), ("noise would drown", "hint: totals=unknown"),
    ),
    "at its ceiling": ("l-diversity:1.91", (), ("noise would drown", "epsilon 0)")),
    "a field of all": ("beta-likeness:3", ("--option", "field_size=1501"), ("smaller than one field", "1,500 people")),
    "kept": ("beta-likeness:3", ("--keep", "country"), ("values, too", "country", "naming them as quasi-identifiers")),
    "not about values": ("k-anonymity:5", (), ("tallies needs one of",)),
    "not ceilings": ("t-closeness:0.3", (), ("tallies does not keep t-closeness:0.3",)),
    "no such domain": ("beta-likeness:3", ("--option", "domain=none.csv"), ("the domain 'none.csv' cannot be read",)),
    "no hierarchy": ("beta-likeness:3", ("--option", "domain=hierarchy"), ("no hierarchy", "--hierarchy occupation=")),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_what_would_do(case: str, people_csv: Path, tmp_path: Path) -> None:
    guarantee, more, said = REFUSED[case]
    answer = publish(people_csv, tmp_path / "out", *more, guarantee=guarantee)
    assert answer.status == 2, answer.err or answer.out
    assert answer.out == ""
    assert not (tmp_path / "out").exists()
    shown = " ".join(answer.err.split())
    for words in said:
        assert words in shown, shown


def test_thousands_of_values_are_to_be_put_together_first(tmp_path: Path) -> None:
    many = pl.DataFrame({"age": [i % 70 for i in range(4000)], "income": list(range(4000))})
    many.write_csv(tmp_path / "many.csv")
    roles = ("--quasi", "age", "--sensitive", "income", "--method", "tallies", "--guarantee", "beta-likeness:3")
    answer = oneoff("anonymize", tmp_path / "many.csv", *roles, "--out", tmp_path / "out")
    assert answer.status == 2
    for words in ("too many sensitive values", "at most 2,000", " 4,000\n", "--bins 50", "hierarchy"):
        assert words in answer.err
    few = oneoff("anonymize", tmp_path / "many.csv", *roles, "--bins", "8", "--out", tmp_path / "out")
    assert few.status == 0, few.err
    many.head(200).write_csv(tmp_path / "some.csv")
    answer = oneoff("anonymize", tmp_path / "some.csv", *roles, "--out", tmp_path / "other")
    assert answer.status == 2
    assert "smaller than one field" in answer.err
    assert "200 people and 200 values" in answer.err
    assert "--bins 50" in answer.err


def test_the_three_sentences_are_said_everywhere(people_csv: Path, tmp_path: Path) -> None:
    """Own value, with epsilon and what it means for the rarest and the most common; people like you; exact totals."""
    out = tmp_path / "out"
    made = oneoff(
        "anonymize", people_csv, *ROLES, "--guarantee", "beta-likeness:3", "--out", out, "--json", report=True
    )  # fmt: skip
    assert made.status == 0, made.err
    assert made.json["epsilon"] == pytest.approx(1.386294, abs=1e-6)
    shares = pl.read_csv(people_csv)["occupation"].value_counts(sort=True)
    most, fewest = shares.row(0), shares.row(-1)
    own, others, totals, trust = made.json["remarks"]
    for share, name in ((most[1] / 1500, most[0]), (fewest[1] / 1500, fewest[0])):
        assert f"{100 * share:.3g}% in '{name}'" in own
        assert f"at most {100 * 4 * share / (1 + 3 * share):.3g}%" in own
    assert "at most 4-fold (epsilon 1.39)" in own
    assert "with or without them" in others
    assert "exactly how many people have each value" in totals
    assert "up to 16-fold" in totals
    assert "taken on trust" in trust
    assert "estimates" not in trust
    page = " ".join((out / "private" / "report.html").read_text().split())
    full = " ".join(oneoff("audit", out, "--verbose").out.split())
    for words in ("at most 4-fold (epsilon 1.39)", "with or without them", "exactly how many people", "taken on trust"):
        assert words in page
        assert words in full
    for name, shown in (("verdict.json", out / "private"), ("summary.json", out / "private")):
        assert json.loads((shown / name).read_text())["remarks"] == [own, others, totals, trust]
    assert "at most 4-fold (epsilon 1.39)" in oneoff("audit", out).out
    assert "A cell is a set of people" in page
    assert " cells of 1,500 people" in full


def test_a_recipient_is_told_what_was_checked_and_what_is_on_trust(people_csv: Path, tmp_path: Path) -> None:
    assert publish(people_csv, tmp_path / "out").status == 0
    for more in ((), ("--verbose",)):
        answer = " ".join(oneoff("verify", tmp_path / "out" / "public", *more).out.split())
        assert answer.count("What was checked: epsilon against the promise") == 1
        assert "taken on trust. Shares of values are estimates here" in answer
    found = oneoff("verify", tmp_path / "out" / "public", "--json").json
    assert (found["holds"], found["checkable"]) == (True, True)
    assert found["epsilon"] == pytest.approx(1.386294, abs=1e-6)
    assert "taken on trust" in found["remarks"][-1]
    assert "a belief of 1% becomes at most 3.88%, and one of 10% at most 30.8%." in found["remarks"][0]


def test_totals_known_says_that_it_holds_them_too(people_csv: Path, tmp_path: Path) -> None:
    made = publish(people_csv, tmp_path / "out", "--option", "totals=known", "--json").json
    assert made["epsilon"] == pytest.approx(1.386294 / 2, abs=1e-6)
    assert "gains at most 4-fold, which the promise allows, too" in made["remarks"][2]


def test_methods_say_who_anyone_is() -> None:
    shown = oneoff("methods", "tallies").out
    assert "stands against: anyone" in " ".join(shown.split())
    assert "anyone:    anyone, whatever they know" in shown
    assert "prior:     somebody who knows" in shown


# --- several sensitive columns

TWO = ("--quasi", "age,gender,education,race", "--sensitive", "occupation,income")


@pytest.fixture(scope="module")
def two_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two") / "people.csv"
    pl.DataFrame(sample(3000, seed=1, values=6, income=True)).write_csv(path)
    return path


def said(answer: Answer) -> str:
    """Without line breaks."""
    return " ".join(answer.out.split())


def test_two_sensitive_columns_end_to_end(two_csv: Path, tmp_path: Path) -> None:
    """Published, repeated from its job, audited, verified, measured, counted in and attacked."""
    promise = ("--guarantee", "beta-likeness:3+k-anonymity:10")
    shares = ("--option", "shares=occupation:2,income:1")
    answer = oneoff("anonymize", two_csv, *TWO, *promise, *shares, "--csv", "--out", tmp_path / "out", "--seed", 3)
    assert answer.status == 0, answer.err
    assert "epsilon 1.39: 0.924 for the counts of 'occupation' + 0.462 for the counts of 'income'" in said(answer)
    assert "worst of several sensitive columns" in said(answer)
    public = tmp_path / "out" / "public"
    assert {path.name for path in public.glob("*.csv")} == {
        "cells.csv", "columns.csv", "counts.csv", "counts-2.csv", "microdata.csv",
    }  # fmt: skip
    again = oneoff("anonymize", tmp_path / "out" / "private" / "job.toml", "--out", tmp_path / "again", "--seed", 3)
    assert again.status == 0, again.err
    for path in public.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / "public" / path.name).read_bytes()
    for command in ("audit", "utility"):
        assert oneoff(command, tmp_path / "out").status == 0
    verified = oneoff("verify", public)
    assert verified.status == 0
    assert "that the epsilons of columns add up to no more than epsilon" in said(verified)
    single = oneoff("query", public, "income = '30-40K' and age >= 40", "--json")
    assert "independent" not in json.loads(single.out)
    both = oneoff("query", public, "income = '30-40K' and occupation != 'Nurse'", "--json")
    assert json.loads(both.out)["independent"] == ["occupation", "income"]
    attacked = oneoff("attack", tmp_path / "out", "--original", two_csv, "--attack", "learned")
    assert attacked.status == 0, attacked.err


def test_columns_promised_together_are_counted_together(two_csv: Path, tmp_path: Path) -> None:
    promise = ("--guarantee", "k-anonymity:5+occupation*income=beta-likeness:3")
    answer = oneoff("anonymize", two_csv, *TWO, *promise, "--method", "tallies", "--out", tmp_path / "out", "--seed", 3)
    assert answer.status == 0, answer.err
    described = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert [each["columns"] for each in described["counted"]] == [["occupation", "income"]]
    assert oneoff("verify", tmp_path / "out" / "public").status == 0
    both = oneoff("query", tmp_path / "out", "income = '30-40K' and occupation != 'Nurse'", "--json")
    assert "independent" not in json.loads(both.out)
