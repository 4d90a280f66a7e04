"""Attacks on tables in which people have several rows: persons are found out, not rows."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.audit.attacks import Guesses, Rate, Scene, seen
from oneoff.audit.attacks.attacker import some_people
from oneoff.audit.attacks.finding import BY_PERSON
from oneoff.publish import publish
from oneoff.table import Table
from tests.command_line import oneoff as command
from tests.tables import examples

_PERSONS = (((0, 1, 2), 30, "flu"), ((3, 4, 5), 60, "cold"))
ROLES = {"quasi": ["age"], "sensitive": "illness", "person": "who"}


def table(*rows: tuple[int, int, str]) -> Table:
    who, age, illness = zip(*rows, strict=True)
    return oneoff.read_table(pl.DataFrame({"who": who, "age": age, "illness": illness}), **ROLES)


def visits(people: int, seed: int) -> Table:
    frame = oneoff.sample(people, seed=seed, rows_per_person=1.6)
    return oneoff.read_table(frame, quasi=["age", "gender"], sensitive="occupation", person="person")


def slow_rate(guesses: Guesses) -> tuple[float, int]:
    """Person by person, the slow obvious way: one minus the probability that all guesses are wrong."""
    if guesses.person is None:
        return sum(guesses.right.tolist()), len(guesses.row)
    by: dict[int, list[float]] = {}
    for whose, right in zip(guesses.person.tolist(), guesses.right.tolist(), strict=True):
        by.setdefault(whose, []).append(1 - right)
    return sum(1 - prod(wrong) for wrong in by.values()), len(by)


def test_by_hand_any_row_of_a_person_is_enough() -> None:
    """Two rows of 0 (one right), one of 1 (wrong), two of 2 (each right with a half)."""
    person, right = np.array([0, 0, 1, 2, 2]), np.array([1.0, 0, 0, 0.5, 0.5])
    guess = np.zeros(5, dtype=np.int32)
    true = np.array([0, 1, 1, 0, 2], dtype=np.int32)
    found = Guesses(np.arange(5), guess, right, true, right, person)
    assert found.rate == Rate(1.75, 3)
    assert found.of_value(0) == Rate(1.5, 2)  # of persons 0 and 2, who have it
    assert found.of_value(1) == Rate(0.0, 2)
    assert found.people_where(np.array([True, True, False, True, False])) == 2
    assert Guesses(np.arange(5), guess, right, true, right).rate == Rate(2.0, 5)


def test_by_hand_skewness_linking_and_their_baselines() -> None:
    """One group of six rows of four persons: 0 has flu and flu, 1 flu and cold, 2 cold, 3 gout."""
    people = table((0, 30, "flu"), (0, 30, "flu"), (1, 31, "flu"), (1, 31, "cold"), (2, 30, "cold"), (3, 31, "gout"))
    release = oneoff.anonymize(people, "k-anonymity:3", method="mondrian", seed=1)
    found = oneoff.attack(release, people, ["skewness", "linking", "homogeneity"])
    assert release.persons == 4
    assert len(np.unique(release.group)) == 1
    named = found["skewness"]
    assert named.rate == Rate(2.0, 4)  # flu is named of everybody, and right about 0 and 1
    assert named.baseline == 0.5
    assert {each.value: each.inside for each in named.values} == {
        "flu": Rate(2.0, 2),
        "cold": Rate(0.0, 2),
        "gout": Rate(0.0, 1),
    }
    assert "50.0% of 4 people" in named.sentence()
    assert BY_PERSON in named.warnings
    linked = found["linking"]
    twice, once = 1 - (1 - 2 / 6) ** 2, 1 / 6  # of six records two are hers, and two are picked
    assert linked.rate.share == pytest.approx((2 * twice + 2 * once) / 4)
    assert linked.rate.tried == 4
    assert linked.baseline == pytest.approx(linked.rate.share)  # one group is as good as none
    assert set(named.per_person()["person"]) == {0, 1, 2, 3}
    assert found["homogeneity"].figures == {"certain": 0, "wrong": 0}


def test_by_hand_certain_people_are_counted_once() -> None:
    people = table(
        *((who, 30, "flu") for who in (0, 0, 1, 1, 2, 2)), *((who, 60, "cold") for who in (3, 3, 4, 4, 5, 5))
    )
    release = oneoff.anonymize(people, "k-anonymity:3", method="mondrian", seed=1)
    found = oneoff.attack(release, people, "homogeneity")["homogeneity"]
    assert found.figures == {"certain": 6, "wrong": 0}
    assert found.rate == Rate(6.0, 6)
    said = oneoff.attack(release).lines()
    assert any("12 of 12 rows (of 6 people) are in 2 of 2 groups" in line for line in said)


@examples(20)
@given(st.integers(80, 200), st.integers(0, 99), st.booleans())
def test_every_rate_is_one_of_persons_inside_and_outside(people: int, seed: int, values: bool) -> None:
    whole = visits(people, seed)
    promise, method = ("beta-likeness:4", "tallies") if values else ("k-anonymity:4", "mondrian")
    given = {"field_size": 20} if values else {}
    release = oneoff.anonymize(whole, promise, method=method, seed=seed, hold_out=0.3, most_rows=3, **given)
    inside, outside = release.people_in(whole), release.held_out_of(whole)
    assert outside is not None
    for found in oneoff.attack(release, whole):
        hits, tried = slow_rate(found.inside)
        assert found.rate.hits == pytest.approx(hits)
        assert found.rate.tried == tried
        assert found.rate.tried <= found.people == inside.people
        if found.attack in ("skewness", "learned", "bayes"):
            assert found.rate.tried == inside.people
            assert found.control is not None
            assert found.control.tried == outside.people
        if found.outside is not None:
            assert found.outside.rate.hits == pytest.approx(slow_rate(found.outside)[0])
            assert found.difference is not None
            assert found.difference.amount == pytest.approx(found.rate.share - found.outside.rate.share)


@given(st.integers(1, 60), st.integers(0, 99))
def test_samples_have_persons_with_all_their_rows(most: int, seed: int) -> None:
    whole = visits(60, seed)
    rows = some_people(whole, most, np.random.default_rng(seed))
    person = np.arange(whole.rows) if whole.person is None else whole.person
    chosen = set(person[rows])
    assert rows.tolist() == [i for i in range(whole.rows) if person[i] in chosen]
    assert len(rows) <= most or len(chosen) == 1


def test_of_many_people_a_sample_of_persons_is_asked_in_whole_groups() -> None:
    whole = visits(600, 1)
    outcome = publish(whole, "k-anonymity:4", method="mondrian", seed=1)
    scene = Scene(seen(outcome.release, whole), whole, release=outcome.release, most=200)
    assert scene.table.person is not None
    assert scene.view.group is not None
    asked, person, group = scene.targets, scene.table.person, scene.view.group
    assert 0 < len(asked) < len(scene.sample) < whole.rows
    assert set(np.flatnonzero(np.isin(person, person[asked]))) == set(asked)
    assert set(np.flatnonzero(np.isin(group, group[asked]))) == set(scene.sample)
    found = oneoff.attack(outcome.release, whole, ["learned", "definetti"], most=200)
    assert all(each.rate.tried == len(set(person[asked])) for each in found)


def test_whoever_is_known_is_known_with_all_rows() -> None:
    whole = visits(300, 2)
    release = oneoff.anonymize(whole, "k-anonymity:4", method="mondrian", seed=1)
    scene = Scene(seen(release, whole), whole, oneoff.Attacker(knows_values=0.4), release=release)
    assert whole.person is not None
    for whose in range(whole.people):
        assert len(set(scene.known[whole.person == whose])) == 1
    assert 0.3 < np.mean([scene.known[whole.person == whose][0] for whose in range(whole.people)]) < 0.5


def test_the_verdict_says_people_and_means_them() -> None:
    whole = visits(400, 3)
    outcome = publish(whole, "k-anonymity:5", seed=1, hold_out=0.2)
    learned = outcome.verdict.learned
    assert learned is not None
    assert learned.control is not None
    assert learned.rate.tried == learned.people == outcome.table.people
    assert outcome.held_out is not None
    assert learned.control.tried == outcome.held_out.people
    assert learned.people < outcome.table.rows


def test_rows_are_people_where_nobody_says_otherwise() -> None:
    whole = oneoff.read_table(oneoff.sample(200, seed=1), quasi=["age", "gender"], sensitive="occupation")
    release = oneoff.anonymize(whole, "k-anonymity:5", seed=1)
    found = oneoff.attack(release, whole, "skewness")["skewness"]
    assert found.rate.tried == 200
    assert BY_PERSON not in found.warnings
    assert "person" not in found.per_person()


def test_plain_rows_and_files_from_the_command_line(tmp_path: Path, without_pictures) -> None:
    frame = pl.DataFrame(oneoff.sample(400, seed=4, rows_per_person=1.6).to_pydict())
    frame[:300].write_csv(tmp_path / "visits.csv")
    frame[300:].write_csv(tmp_path / "others.csv")
    columns = ["--quasi", "age,gender", "--sensitive", "occupation", "--person", "person"]
    made = command(
        "anonymize",
        tmp_path / "visits.csv",
        *columns,
        "--guarantee",
        "k-anonymity:4",
        "--seed",
        1,
        "--out",
        tmp_path / "o",
    )
    assert made.status == 0
    persons = frame[:300]["person"].n_unique()
    folder = command("attack", tmp_path / "o", "--attack", "skewness", "--json").json["attacks"][0]
    assert (folder["people"], folder["tried"]) == (persons, persons)
    plain = tmp_path / "o" / "public" / "microdata.parquet"
    rows = command("attack", plain, "--original", tmp_path / "visits.csv", *columns, "--attack", "bayes", "--json")
    assert rows.json["attacks"][0]["tried"] == persons
    control = ["--control", tmp_path / "others.csv"]
    both = command("attack", tmp_path / "o", *control, "--person", "person", "--attack", "bayes", "--json").json
    assert both["attacks"][0]["outside"]["tried"] == frame[300:]["person"].n_unique()
    alone = command("attack", tmp_path / "o", *control, "--attack", "bayes", "--json").json
    assert alone["attacks"][0]["outside"]["tried"] == len(frame[300:])
    assert "nobody in the control has several rows" in json.dumps(alone["warnings"])
