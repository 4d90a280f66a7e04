"""People who have several rows: every promise counts persons, or is refused."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, MethodMismatch, MissingValues, RoleConflict, UnknownColumn, UnreachableGuarantee
from oneoff.kernels.persons import join_neighbours
from oneoff.mechanisms.tallies import tallies
from oneoff.models import parse, prior_of
from oneoff.table.owners import look_like_persons
from oneoff.table.persons import at_most, persons_in, persons_with_value
from tests.command_line import oneoff as command
from tests.tables import examples

ROLES: dict[str, Any] = {"quasi": ["age", "gender"], "sensitive": "occupation"}


def _encounters(rows: int, seed: int = 1, mean: float = 1.6, values: int = 12) -> pl.DataFrame:
    frame = pl.from_arrow(oneoff.sample(rows, seed=seed, values=values, rows_per_person=mean))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _table(rows: int = 600, **given: Any) -> oneoff.table.Table:
    return oneoff.read_table(_encounters(rows), **ROLES | {"person": "person"} | given)


# --- what is read


@pytest.mark.parametrize("identifiers", [["person"], []])
def test_an_identifier_that_repeats_stops_the_run_with_the_numbers(identifiers: list[str]) -> None:
    frame = _encounters(300).rename({"person": "patient_nbr"})
    many = frame["patient_nbr"].n_unique()
    with pytest.raises(RoleConflict, match=rf"300 rows, {many} patient_nbr.*--person patient_nbr --per-person one "):
        oneoff.read_table(frame, **ROLES, identifiers=[name.replace("person", "patient_nbr") for name in identifiers])


def test_somebody_may_say_that_rows_are_people() -> None:
    table = oneoff.read_table(_encounters(300), **ROLES, identifiers=["person"], rows_are_people=True)
    assert (table.people, table.person) == (300, None)


def test_identifiers_without_repeats_and_missing_ones_are_no_reason_to_stop() -> None:
    frame = _encounters(300, mean=1.0)
    assert oneoff.read_table(frame, **ROLES, identifiers=["person"]).people == 300
    nobody = frame.with_columns(person=pl.lit(None, dtype=pl.String))
    assert oneoff.read_table(nobody, **ROLES, identifiers=["person"]).people == 300


def test_names_that_say_whose_a_row_is() -> None:
    names = ["patient_nbr", "PatientID", "customer no", "MRN", "patient", "name", "visit_id", "record_id", "zip code"]
    assert look_like_persons(names) == names[:4]


def test_a_row_that_is_nobodys() -> None:
    frame = _encounters(50).with_columns(person=pl.when(pl.int_range(pl.len()) > 2).then("person"))
    with pytest.raises(MissingValues, match="whose 3 rows are"):
        oneoff.read_table(frame, **ROLES, person="person")


def test_one_row_of_each_person_by_a_column() -> None:
    frame = _encounters(400).with_columns(day=pl.int_range(pl.len()).shuffle(seed=1))
    table = oneoff.read_table(frame, **ROLES, person="person", per_person="last:day")
    assert table.person is None
    latest = frame.sort("day").group_by("person", maintain_order=True).last()
    want = sorted(latest.select("age", "gender", "occupation").rows())
    labels = [a.labels[codes] for a, codes in table.columns()]
    assert sorted(zip(*(each.tolist() for each in labels), strict=True)) == want
    assert any("left out" in notice for notice in table.notices)
    with pytest.raises(UnknownColumn, match=r"no column 'dya'.*did you mean 'day'"):
        oneoff.read_table(frame, **ROLES, person="person", per_person="first:dya")
    with pytest.raises(BadValue, match="first:COLUMN"):
        oneoff.read_table(frame, **ROLES, person="person", per_person="any")
    with pytest.raises(RoleConflict, match="no column says whose"):
        oneoff.read_table(frame, **ROLES, per_person="one", rows_are_people=True)


def test_one_row_of_each_person_by_chance_is_drawn_when_it_is_published() -> None:
    table = oneoff.read_table(_encounters(400), **ROLES, person="person", per_person="one")
    release = oneoff.anonymize(table, "k-anonymity:5", seed=1)
    assert (table.rows, release.rows) == (400, table.people)


def test_at_most_so_many_rows_of_anybody_by_chance() -> None:
    table = _table()
    assert table.person is not None
    chosen = np.array([at_most(table, 2, np.random.default_rng(seed)) for seed in range(200)])
    for flags in chosen[:20]:
        assert np.array_equal(np.bincount(table.person[flags]), np.minimum(np.bincount(table.person), 2))
    three = int(np.flatnonzero(np.bincount(table.person) == 3)[0])
    drawn = chosen[:, table.person == three].sum(axis=0)
    assert all(abs(each - 200 * 2 / 3) < 40 for each in drawn)  # six standard deviations


# --- groups


@st.composite
def _grouped(draw: Any) -> tuple[list[int], list[int], int]:
    rows = draw(st.integers(1, 40))
    group = np.sort(np.array(draw(st.lists(st.integers(0, 8), min_size=rows, max_size=rows))))
    person = draw(st.lists(st.integers(0, 12), min_size=rows, max_size=rows))
    least = draw(st.integers(1, len(set(person))))
    return np.unique(group, return_inverse=True)[1].tolist(), person, least


def _counts_for(owners: list[int]) -> int:
    return len(owners) // max(owners.count(each) for each in set(owners))


@given(_grouped())
def test_neighbours_are_joined_until_there_are_enough_persons(given: tuple[list[int], list[int], int]) -> None:
    group, person, least = given
    least = min(least, _counts_for(person))
    begin = np.searchsorted(group, np.arange(group[-1] + 2))
    joined = join_neighbours(np.array(person), begin, np.zeros(group[-1] + 1, np.int64), least, 13)
    found = joined[group]
    assert np.array_equal(found, np.sort(found))  # neighbours only
    assert set(found.tolist()) == set(range(int(found.max()) + 1))
    who = defaultdict(list)
    for block, each in zip(found.tolist(), person, strict=True):
        who[block].append(each)
    assert min(_counts_for(each) for each in who.values()) >= least
    assert persons_in(found, np.array(person)).tolist() == [_counts_for(who[block]) for block in sorted(who)]
    alone = [_counts_for([p for g, p in zip(group, person, strict=True) if g == at]) for at in range(group[-1] + 1)]
    if min(alone) >= least:
        assert joined.tolist() == list(range(len(alone)))  # nothing is joined without need


def _persons_by_hand(release: Any, table: oneoff.table.Table) -> list[int]:
    """Independently of the audit: who has how much of which group, from the private links."""
    assert table.person is not None
    where = release.group[release.links] if release.form == "generalized" else release.links
    who = defaultdict(list)
    for group, person in zip(where.tolist(), table.person.tolist(), strict=True):
        who[group].append(person)
    assert all(_counts_for(each) <= len(set(each)) for each in who.values())
    return [_counts_for(each) for each in who.values()]


@given(st.integers(60, 200), st.integers(0, 10**6), st.floats(1.1, 4), st.sampled_from(["mondrian", "hilbert", "auto"]))
def test_k_counts_persons(rows: int, seed: int, mean: float, method: str) -> None:
    frame = _encounters(rows, seed=seed, mean=mean)
    table = oneoff.read_table(frame, **ROLES, person="person")
    if table.crowd < 5:
        with pytest.raises(UnreachableGuarantee):
            oneoff.anonymize(table, "k-anonymity:5", method=method)
        return
    release = oneoff.anonymize(table, "k-anonymity:5", method=method, seed=seed)
    if table.person is not None:
        assert min(_persons_by_hand(release, table)) >= 5
    assert oneoff.audit(release, table).levels["k-anonymity"] >= 5


def test_the_audit_counts_persons_and_not_rows() -> None:
    frame = pl.DataFrame(
        {"id": [1] * 9 + [2] + list(range(3, 33)), "age": [30] * 10 + [60] * 30, "gender": ["F"] * 40,
         "occupation": ["a", "b"] * 20}
    )  # fmt: skip
    rows = oneoff.read_table(frame, **ROLES, rows_are_people=True)
    release = oneoff.anonymize(rows, "k-anonymity:4", method="mondrian", seed=1)
    assert oneoff.audit(release, rows).holds
    persons = oneoff.read_table(frame, **ROLES, person="id")
    verdict = oneoff.audit(release, persons)
    assert not verdict.holds
    assert verdict.levels["k-anonymity"] == 1  # one patient owns nine tenths of a group
    made = oneoff.anonymize(persons, "k-anonymity:4", method="mondrian", seed=1)
    verdict = oneoff.audit(made, persons)
    assert (verdict.holds, made.persons) == (True, 32)
    assert verdict.remarks[0].startswith("Counted in persons: 40 rows of 32, at most 9 each.")
    with pytest.raises(UnreachableGuarantee, match="it has 40 rows, of which somebody has 9"):
        oneoff.anonymize(persons, "k-anonymity:5")


def test_households_hide_among_households() -> None:
    frame = _encounters(400).with_columns(home=pl.int_range(pl.len()) // 4)
    table = oneoff.read_table(frame, **ROLES, person="person", household="home")
    release = oneoff.anonymize(table, "k-anonymity:6", seed=1)
    assert table.household is not None
    assert release.links is not None
    assert min(persons_in(release.group[release.links], table.household)) >= 6
    assert "counted in households" in oneoff.audit(release, table).remarks[0]
    homes = oneoff.read_table(frame.drop("person"), **ROLES, household="home")
    for method in ("mondrian", "hilbert"):
        both = oneoff.anonymize(homes, "k-anonymity:6+l-diversity:2", method=method, seed=1)
        assert both.links is not None
        assert min(persons_in(both.group[both.links], homes.household)) >= 6
        assert oneoff.audit(both, homes).holds


def test_auto_chooses_a_method_that_counts_households() -> None:
    frame = _encounters(200).with_columns(home=pl.int_range(pl.len()) // 3).drop("person")
    homes = oneoff.read_table(frame, **ROLES, household="home")
    for promise in ("k-anonymity:3+l-diversity:1.5", "k-anonymity:3+beta-likeness:2"):
        release = oneoff.anonymize(homes, promise, seed=1)
        assert oneoff.audit(release, homes).holds
    with pytest.raises(MethodMismatch, match=r"for households with several.*has up to 3.*methods that do: mondrian"):
        oneoff.anonymize(homes, "k-anonymity:3+l-diversity:1.5", method="transversal")


# --- values


def test_methods_that_count_rows_are_refused() -> None:
    table = _table()
    for method in ("transversal", "burel", "mondrian", "anatomy", "perturbation", "ring", "packing", "heterogeneous"):
        promise = "k-anonymity:3" if method == "ring" else "l-diversity:2"
        with pytest.raises(MethodMismatch, match=f"{method} does not keep .* for persons with several rows"):
            oneoff.anonymize(table, promise, method=method)
    release = oneoff.anonymize(table, "l-diversity:2", method="mondrian", most_rows=1, seed=1)
    assert (release.rows, release.persons) == (table.people, None)
    assert oneoff.audit(release, table).holds


def test_a_release_that_counted_rows_does_not_hold_for_persons() -> None:
    frame = _encounters(300)
    rows = oneoff.read_table(frame, **ROLES, rows_are_people=True)
    release = oneoff.anonymize(rows, "l-diversity:2", method="mondrian", seed=1)
    verdict = oneoff.audit(release, oneoff.read_table(frame, **ROLES, person="person"))
    assert not verdict.holds
    assert "several rows" in verdict.problems[0]


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_noise_hides_all_rows_of_a_person(seed: int, most: int) -> None:
    """Whatever values a person has instead, counts differ by so little that e^epsilon is never exceeded."""
    table = _table(rows=120)
    assert table.person is not None
    chosen = table.part(at_most(table, most, np.random.default_rng(seed)))
    plan = tallies(chosen, parse("beta-likeness:3").bind(chosen.sensitive), field_size=40, cells=2)
    assert plan.rows_per_person == chosen.rows_per_person <= most
    values = chosen.values.copy()
    mine = np.flatnonzero((np.arange(chosen.rows) if chosen.person is None else chosen.person) == seed % 20)
    values[mine] = (values[mine] + 1 + seed % 3) % len(chosen.counts)
    field = plan.field_of_person
    apart = sum(
        abs(int((field[chosen.values == v] == f).sum()) - int((field[values == v] == f).sum()))
        for v in range(len(chosen.counts))
        for f in range(plan.fields)
    )
    rate = plan.epsilon / plan.rows_per_person / 2  # of the noise of one count, which has scale 2 / epsilon for a row
    assert apart * rate <= plan.epsilon + 1e-12


def test_tallies_state_the_epsilon_of_persons(tmp_path: Path) -> None:
    table = _table(rows=2_000)
    release = oneoff.anonymize(table, "l-diversity:2+k-anonymity:4", most_rows=3, seed=1)
    assert (release.method, release.rows_per_person) == ("tallies", 3)
    kept = release.people_in(table)
    assert release.epsilon <= parse("l-diversity:2").epsilon(prior_of(kept))
    share = max(persons_with_value(kept)) / kept.people
    assert release.epsilon <= math.log((1 - share) / share)  # the odds of one half are 1
    assert release.of_a_row == release.epsilon / 3
    assert min(_persons_by_hand(release, kept)) >= 4
    release.write(tmp_path / "out")
    described = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert (described["persons"], described["rows_per_person"]) == (kept.people, 3)
    verdict = oneoff.verify(tmp_path / "out" / "public")
    assert verdict.holds
    assert "taken on trust" in verdict.remarks[0]
    assert "provided that" in verdict.sentence()
    assert "no person has a larger part of a group's rows than was promised" in verdict.sentence()
    loaded = oneoff.load_release(tmp_path / "out", private=True)
    assert oneoff.audit(loaded, table).holds
    more = oneoff.read_table(_encounters(2_000), **ROLES, person="person").part(np.arange(kept.rows))
    assert not oneoff.audit(loaded, more).holds


def test_more_noise_for_more_rows() -> None:
    """The spread of the noise is that of its scale, which grows with the rows of a person."""
    table = _table(rows=3_000)
    spread = []
    for most in (1, 4):
        release = oneoff.anonymize(table, "beta-likeness:3", method="tallies", most_rows=most, seed=1, field_size=50)
        kept = release.people_in(table)
        true = np.zeros_like(release.noisy)
        np.add.at(true, (release.field[release.links], kept.values), 1)
        spread.append(float((release.noisy - true).std()))
    assert 3 < spread[1] / spread[0] < 5


def test_people_are_held_out_with_all_their_rows() -> None:
    table = _table(rows=2_000)
    release = oneoff.anonymize(table, "beta-likeness:3", method="tallies", hold_out=0.2, most_rows=2, seed=1)
    outside = release.held_out_of(table)
    assert outside is not None
    assert outside.people == round(0.2 * table.people)
    assert table.person is not None
    assert release.held_out is not None
    inside = np.setdiff1d(np.arange(table.rows), release.held_out)
    assert outside.rows == int((~np.isin(table.person, table.person[inside])).sum())


# --- as a steward does it


def test_from_the_command_line_and_a_job(tmp_path: Path) -> None:
    frame = _encounters(1_500).rename({"person": "patient_id"}).with_columns(day=pl.int_range(pl.len()))
    frame.write_csv(tmp_path / "visits.csv")
    start = ("anonymize", tmp_path / "visits.csv", "--quasi", "age,gender", "--sensitive", "occupation")
    answer = command(*start, "--guarantee", "k-anonymity:5", "--out", tmp_path / "a")
    assert answer.status == 2
    assert "--person patient_id" in answer.err
    answer = command(
        *start, "--guarantee", "k-anonymity:5", "--person", "patient_id", "--out", tmp_path / "a", "--json"
    )
    assert (answer.status, answer.json["persons"]) == (0, frame["patient_id"].n_unique())
    assert command("audit", tmp_path / "a").status == 0
    assert command("anonymize", tmp_path / "a" / "private" / "job.toml", "--out", tmp_path / "b").status == 0
    answer = command(
        *start, "--guarantee", "l-diversity:2", "--person", "patient_id", "--per-person", "one", "--method", "mondrian",
        "--out", tmp_path / "c", "--json",
    )  # fmt: skip
    assert (answer.status, answer.json["rows"]) == (0, frame["patient_id"].n_unique())
    assert any("left out" in notice for notice in answer.json["notices"])
    assert command("audit", tmp_path / "c").status == 0
    answer = command(
        *start, "--guarantee", "beta-likeness:3", "--person", "patient_id", "--most-rows", "2", "--out", tmp_path / "d",
        "--json",
    )  # fmt: skip
    assert (answer.status, answer.json["method"]) == (0, "tallies")
    assert command("verify", tmp_path / "d" / "public").status == 0
    assert command("attack", tmp_path / "d", "--attack", "learned").status == 0


@examples(20)
@given(st.integers(1, 400), st.floats(1, 6), st.integers(0, 1000))
def test_generated_people_have_rows_of_their_own(rows: int, mean: float, seed: int) -> None:
    frame = _encounters(rows, seed=seed, mean=mean)
    assert frame.height == rows
    alike = frame.group_by("person").agg(pl.struct("age", "gender", "education", "country").n_unique().alias("looks"))
    assert alike["looks"].max() == 1


def test_other_commands_know_persons_too(tmp_path: Path) -> None:
    frame = _encounters(900).rename({"person": "patient_id"})
    frame.write_csv(tmp_path / "visits.csv")
    start = (tmp_path / "visits.csv", "--quasi", "age,gender", "--sensitive", "occupation")
    promise = ("--guarantee", "k-anonymity:3")
    answer = command("compare", *start, *promise)
    assert (answer.status, "--person patient_id" in answer.err) == (2, True)
    found = command("compare", *start, *promise, "--person", "patient_id", "--json").json["methods"]
    assert [row["method"] for row in found] == ["mondrian", "hilbert"]
    found = command("compare", *start, *promise, "--person", "patient_id", "--per-person", "one", "--json").json[
        "methods"
    ]
    assert {"mondrian", "ring", "freeform"} <= {row["method"] for row in found}
    alike = pl.DataFrame({"age": ["3*"] * 6, "patient_id": [1, 1, 1, 1, 2, 2], "occupation": list("ababab")})
    alike.write_csv(tmp_path / "alike.csv")
    asked = ("check", tmp_path / "alike.csv", "--quasi", "age", "--sensitive", "occupation", "--guarantee")
    assert command(*asked, "k-anonymity:3").status == 0
    assert command(*asked, "k-anonymity:3", "--person", "patient_id").status == 1
    assert command(*asked, "k-anonymity:2", "--person", "patient_id").status == 1  # four of six rows are one's
    assert command(*asked, "k-anonymity:1", "--person", "patient_id").status == 0
    answer = command(*asked, "l-diversity:2", "--person", "patient_id")
    assert (answer.status, "several rows" in " ".join(answer.out.split())) == (1, True)


def test_a_profile_says_that_an_identifier_repeats() -> None:
    frame = _encounters(300).rename({"person": "patient_nbr"})
    found = {column.name: column for column in oneoff.profile(frame).columns}
    assert found["patient_nbr"].suggested_role == "identifier"
    assert f"It repeats ({frame['patient_nbr'].n_unique():,} in 300 rows)" in found["patient_nbr"].reason
