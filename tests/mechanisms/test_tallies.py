"""Tallies: cells and fields that no value has a part in, noise as the promise asks, and honest estimates."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, DamagedRelease, MethodMismatch, RoleConflict, UnreachableGuarantee
from oneoff.mechanisms.tallies import field_size_for, tallies
from oneoff.models import BetaLikeness, Joined, KAnonymity, parse
from oneoff.models.adversary import Adversary
from oneoff.publish import publish
from oneoff.releases import Tallied
from oneoff.table import Table
from oneoff.utility import aggregate_errors, query_errors, random_aggregates, random_queries
from oneoff.utility.tallied import estimate
from tests.tables import tables

pytestmark = pytest.mark.usefixtures("without_pictures")

BOXES = {"columns": "box"}
PROMISE = "beta-likeness:3+k-anonymity:5"


@pytest.fixture(scope="module")
def people() -> Table:
    """2,000 generated people with ten occupations."""
    from oneoff.table.sample import SAMPLE_ROLES, sample

    return oneoff.read_table(sample(2000, seed=3, values=10), **SAMPLE_ROLES)


def released(table: Table, guarantee: str = PROMISE, **options: object) -> Tallied:
    release = publish(table, guarantee, method="tallies", seed=5, options=options).release
    assert isinstance(release, Tallied)
    return release


@given(tables(most=60), st.integers(1, 5), st.integers(1, 20), st.randoms(use_true_random=False))
def test_values_have_no_part_in_cells_and_fields(table: Table, k: int, size: int, random: object) -> None:
    model = Joined((BetaLikeness(2), KAnonymity(k))).bind(table.sensitive)
    if max(k, size) > table.rows:
        with pytest.raises(UnreachableGuarantee):
            tallies(table, model, field_size=size)
        return
    plan = tallies(table, model, field_size=size)
    order = list(range(table.rows))
    random.shuffle(order)  # type: ignore[attr-defined]
    other = tallies(replace(table, values=table.values[order]), model, field_size=size)
    assert np.array_equal(plan.cells.group, other.cells.group)
    assert np.array_equal(plan.field, other.field)
    assert plan.epsilon == other.epsilon
    assert plan.cells.size.min() >= k
    assert plan.people.min() >= max(size, k)


def test_cells_are_as_large_as_promised_and_five_where_nothing_is(people: Table) -> None:
    assert tallies(people, parse("beta-likeness:2").bind(people.sensitive)).cells.size.min() >= 5
    assert tallies(people, parse("beta-likeness:2+k-anonymity:12").bind(people.sensitive)).cells.size.min() >= 12
    assert tallies(people, parse("beta-likeness:2+delta-probability:0.1").bind(people.sensitive)).cells.size.min() >= 10
    exact = tallies(people, parse("beta-likeness:2").bind(people.sensitive), cells="exact")
    assert exact.cells.groups == len(np.unique(people.codes, axis=0))


@pytest.mark.parametrize(
    ("guarantee", "epsilon"),
    [("basic-beta-likeness:3", math.log(4)), ("beta-likeness:3", math.log(4)), ("beta-likeness:20", 1.470387)],
)
def test_epsilon_follows_from_the_promise(people: Table, guarantee: str, epsilon: float) -> None:
    model = parse(guarantee).bind(people.sensitive)
    assert tallies(people, model).epsilon == pytest.approx(epsilon, abs=1e-6)
    assert tallies(people, model, totals="known").epsilon == pytest.approx(epsilon / 2, abs=1e-6)
    assert tallies(people, model, epsilon=0.5).epsilon == 0.5


def test_fields_grow_with_values_and_with_noise() -> None:
    assert field_size_for(30_000, 14, 1.4) < field_size_for(30_000, 50, 1.4) < field_size_for(30_000, 50, 0.7)
    assert field_size_for(10**6, 14, 1.4) < field_size_for(10**4, 14, 1.4)


def test_nothing_but_noisy_counts_is_said_about_values(people: Table, tmp_path: Path) -> None:
    release = released(people)
    release.write(tmp_path / "out", csv=True)
    described = (tmp_path / "out" / "public" / "release.json").read_text()
    assert str(people.counts.tolist()) not in described.replace("\n", "").replace("  ", "")
    names = sorted(path.name for path in (tmp_path / "out" / "public").iterdir())
    tables_out = ["cells", "columns", "counts", "microdata"]
    assert names == sorted([f"{name}.{kind}" for name in tables_out for kind in ("csv", "parquet")] + ["release.json"])
    true = np.zeros_like(release.noisy)
    assert release.links is not None
    np.add.at(true, (release.field[release.links], people.values), 1)
    assert (release.noisy != true).mean() > 0.5


def test_two_draws_of_noise_differ_and_a_seed_repeats_them(people: Table) -> None:
    assert np.array_equal(released(people).noisy, released(people).noisy)
    fresh = [publish(people, PROMISE, method="tallies").release for _ in range(2)]
    assert all(isinstance(each, Tallied) for each in fresh)
    assert not np.array_equal(fresh[0].noisy, fresh[1].noisy)  # type: ignore[attr-defined]
    assert any("seed" in notice for notice in publish(people, PROMISE, method="tallies", seed=1).notices)
    assert not any("seed" in notice for notice in publish(people, PROMISE, method="tallies").notices)


def test_plain_rows_have_the_columns_of_the_table(people: Table) -> None:
    release = released(people)
    for frame in (release.to_arrow(), release.microdata(seed=3)):
        assert frame.num_rows == people.rows
        for j, attribute in enumerate(people.quasi):
            shown = sorted(map(str, frame[attribute.name].to_pylist()))
            assert shown == sorted(map(str, attribute.decode(people.codes[:, j]).tolist()))
        assert set(frame["occupation"].to_pylist()) <= set(people.sensitive.labels.tolist())  # type: ignore[union-attr]
    assert release.microdata(seed=3).equals(release.microdata(seed=3))
    assert not release.microdata(seed=3).equals(release.microdata(seed=4))


def test_a_release_comes_back_from_its_folder(people: Table, tmp_path: Path) -> None:
    release = released(people)
    release.write(tmp_path / "out")
    back = oneoff.load_release(tmp_path / "out", private=True)
    assert isinstance(back, Tallied)
    assert np.array_equal(back.noisy, release.noisy)
    assert back.epsilon == release.epsilon
    assert oneoff.audit(back, people).holds
    assert oneoff.verify(tmp_path / "out" / "public").holds
    question = "age < 40 and occupation in ('Teacher', 'Nurse')"
    assert back.count(question) == release.count(question)


@pytest.mark.parametrize("name", ["cells", "columns", "counts", "microdata"])
def test_files_that_disagree_are_refused(people: Table, tmp_path: Path, name: str) -> None:
    import hashlib
    import json

    released(people).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    path = public / f"{name}.parquet"
    frame = pl.read_parquet(path)
    other = {"cells": "people", "columns": "count", "counts": "field", "microdata": "age"}[name]
    frame = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(pl.col(other) + 1).otherwise(pl.col(other)).alias(other)
    )
    frame.write_parquet(path)
    described = json.loads((public / "release.json").read_text())
    described["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (public / "release.json").write_text(json.dumps(described))
    with pytest.raises(DamagedRelease):
        oneoff.load_release(public)


def test_a_larger_epsilon_in_the_file_breaks_the_promise(people: Table) -> None:
    release = replace(released(people), epsilon=1.5)
    verdict = oneoff.audit(release, people)
    assert not verdict.holds
    assert verdict.people_above == people.rows
    assert not oneoff.audit(replace(release, epsilon=0.5), people, "beta-likeness:0.1").holds
    assert not oneoff.audit(release, people, "t-closeness:0.5").holds


def test_wrong_tallies_are_noticed(people: Table) -> None:
    release = released(people)
    assert release.links is not None
    other = int(np.flatnonzero((release.links != release.links[0]) & (people.codes[:, 0] != people.codes[0, 0]))[0])
    moved = release.links.copy()
    moved[[0, other]] = moved[[other, 0]]
    assert not oneoff.audit(replace(release, links=moved), people).holds


def test_the_verdict_says_what_it_means(people: Table) -> None:
    verdict = oneoff.audit(released(people), people)
    assert verdict.holds
    assert verdict.against == "anyone"
    said = " ".join(verdict.remarks)
    for words in ("own value changes anybody's odds", "people like them", "totals=known", "taken on trust"):
        assert words in said
    assert "remarks" in verdict.as_dict()


@pytest.mark.slow
def test_estimates_are_right_on_average_and_intervals_hold_what_they_say(people: Table) -> None:
    """Of whole fields, where there is nothing but noise; and of any question, with the spread inside fields."""
    model = parse("beta-likeness:1").bind(people.sensitive)
    plan = tallies(people, model, field_size=100)
    from oneoff.releases import tally

    true = np.zeros((plan.fields, len(people.counts)))
    np.add.at(true, (plan.field_of_person, people.values), 1)
    drawn, inside = [], 0
    for seed in range(1000):
        release = tally(
            people,
            plan,
            model,
            method="tallies",
            against=Adversary.ANYONE,
            rng=np.random.default_rng(seed),
            seeded=True,
        )
        drawn.append(release.estimates)
        answer = release.count({"occupation": people.sensitive.labels[:3].tolist()})  # type: ignore[union-attr]
        inside += answer.low <= people.counts[:3].sum() <= answer.high
    error = np.abs(np.mean(drawn, axis=0) - true) / (np.std(drawn, axis=0) / math.sqrt(len(drawn)))
    assert error.max() < 5.5
    assert 0.92 <= inside / 1000 <= 0.98


def test_questions_are_answered_better_than_by_boxes(people: Table) -> None:
    queries = random_queries(people, 300, attributes=2, rng=np.random.default_rng(1))
    ours = query_errors(released(people), people, queries).median
    groups = query_errors(
        publish(people, PROMISE, method="burel", seed=1, options=BOXES).release, people, queries
    ).median
    assert ours < groups
    asked = random_aggregates(people, 50, attributes=2, rng=np.random.default_rng(2))
    assert aggregate_errors(released(people), people, asked).count.median < 0.5


def test_counts_agree_with_the_workload(people: Table) -> None:
    """One question asked both ways."""
    release = released(people)
    queries = random_queries(people, 20, attributes=2, rng=np.random.default_rng(4))
    found = estimate(release, people, queries)
    for q in range(20):
        columns = queries.columns[queries.subset[q]]
        where = {
            people.quasi[j].name: people.quasi[j].labels[queries.low[q, i] : queries.high[q, i] + 1].tolist()
            for i, j in enumerate(columns)
        }
        where["occupation"] = people.sensitive.labels[queries.low[q, -1] : queries.high[q, -1] + 1].tolist()  # type: ignore[union-attr]
        assert release.count(where).raw == pytest.approx(found[q], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"epsilon": 0}, BadValue, "what the promise allows"),
        ({"epsilon": 2.0}, BadValue, "what the promise allows"),
        ({"epsilon": "much"}, BadValue, "epsilon"),
        ({"cells": 0}, BadValue, "cells"),
        ({"cells": "exact"}, BadValue, "who is who"),
        ({"field_size": 0}, BadValue, "field_size"),
        ({"field_size": 10**6}, UnreachableGuarantee, "smaller than one field"),
        ({"totals": "perhaps"}, BadValue, "unknown, known"),
    ],
)
def test_bad_options(people: Table, options: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        publish(people, PROMISE, method="tallies", options=options)


def test_promises_that_leave_no_room(people: Table) -> None:
    with pytest.raises(MethodMismatch, match="noise would drown"):
        publish(people, "beta-likeness:0.01", method="tallies")
    with pytest.raises(MethodMismatch):
        publish(people, "k-anonymity:5", method="tallies")
    with pytest.raises(MethodMismatch):
        publish(people, "t-closeness:0.3", method="tallies")


def test_columns_to_keep_are_values_too() -> None:
    from oneoff.table.sample import SAMPLE_ROLES, sample

    roles = {**SAMPLE_ROLES, "quasi": ("age", "gender"), "keep": ("race",)}
    with pytest.raises(RoleConflict, match="values, too"):
        publish(oneoff.read_table(sample(300, seed=1), **roles), "beta-likeness:3", method="tallies")
