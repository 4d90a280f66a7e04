"""Tallies: cells and fields that no value has a part in, noise as the promise asks, and honest estimates."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, DamagedRelease, MethodMismatch, OneoffError, RoleConflict, UnreachableGuarantee
from oneoff.mechanisms.tallies import field_size_for, tallies
from oneoff.models import BetaLikeness, Joined, KAnonymity, parse
from oneoff.models.adversary import Adversary
from oneoff.publish import publish
from oneoff.releases import Tallied, regression
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


def shuffled(table: Table, seed: int) -> Table:
    """The same people and the same values, but whose is whose."""
    return replace(table, values=np.random.default_rng(seed).permutation(table.values))


def test_values_leave_no_mark_but_noisy_counts(people: Table, tmp_path: Path) -> None:
    """Cells, fields, tallies, sizes of files and every message are those of any other table with these columns."""
    one, other = (publish(table, PROMISE, method="tallies", seed=5) for table in (people, shuffled(people, 1)))
    for name, outcome in (("one", one), ("other", other)):
        outcome.release.write(tmp_path / name)
    for path in sorted((tmp_path / "one" / "public").glob("*.parquet")):
        mine, theirs = pl.read_parquet(path), pl.read_parquet(tmp_path / "other" / "public" / path.name)
        assert mine.schema == theirs.schema
        assert mine.shape == theirs.shape
        if path.stem in ("cells", "columns"):
            assert path.read_bytes() == (tmp_path / "other" / "public" / path.name).read_bytes()
    described = [json.loads((tmp_path / name / "public" / "release.json").read_text()) for name in ("one", "other")]
    by_noise = {"prior", "caps", "files"}
    assert {k: v for k, v in described[0].items() if k not in by_noise} == {
        k: v for k, v in described[1].items() if k not in by_noise
    }
    assert (one.notices, one.reason) == (other.notices, other.reason)
    assert one.verdict.remarks == other.verdict.remarks
    assert one.verdict.sentence() == other.verdict.sentence()


def test_a_refusal_says_nothing_of_whose_value_is_whose(people: Table) -> None:
    said = []
    for table in (people, shuffled(people, 2)):
        for options in ({"field_size": 10**6}, {"epsilon": 9}, {"domain": ["Wizard"]}):
            with pytest.raises(OneoffError) as refused:
                publish(table, PROMISE, method="tallies", options=options)
            said.append(str(refused.value))
    assert said[:3] == said[3:]


def test_all_that_is_public_follows_from_noisy_counts_and_quasi_identifiers(
    people: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the noise and all other draws held fast, other values, and other totals, publish the very same bytes."""
    from oneoff import publish as publishing
    from oneoff.releases import tallied

    fixed = np.random.default_rng(3).integers(-5, 60, (10_000, len(people.counts)))
    true: list[np.ndarray] = []

    def drawn(counts: np.ndarray, epsilon: float, rng: object = None) -> np.ndarray:
        true.append(counts)
        return fixed[: len(counts)]

    monkeypatch.setattr(tallied, "noisy", drawn)
    monkeypatch.setattr(publishing, "_generator", lambda seed, table: np.random.default_rng(seed))
    other = replace(people, values=np.roll(people.values, 7) * 0 + (np.arange(people.rows) % 10).astype(np.int32))
    files = []
    for name, table in (("one", people), ("other", other)):
        publish(table, PROMISE, method="tallies", seed=5).release.write(tmp_path / name, csv=True)
        public = tmp_path / name / "public"
        files.append({path.name: path.read_bytes() for path in sorted(public.iterdir())})
    assert not np.array_equal(true[0], true[1])
    assert files[0] == files[1]


def test_neighbours_differ_in_two_counts_by_one(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given to the sampler for two tables that differ in one person's value, and with which epsilon."""
    from oneoff.releases import noise, tallied

    asked: list[tuple[np.ndarray, float]] = []

    def drawn(counts: np.ndarray, epsilon: float, rng: np.random.Generator | None = None) -> np.ndarray:
        asked.append((counts, epsilon))
        return noise.noisy(counts, epsilon, rng)

    monkeypatch.setattr(tallied, "noisy", drawn)
    changed = people.values.copy()
    changed[17] = (changed[17] + 1) % 10
    for table in (people, replace(people, values=changed)):
        publish(table, PROMISE, method="tallies", seed=5)
    (one, epsilon), (other, same) = asked
    assert np.abs(one - other).sum() == noise.sensitivity(10) == 2
    assert epsilon == same == pytest.approx(math.log(4), abs=1e-9)


@given(st.data())
def test_laws_of_every_release(data: st.DataObject) -> None:
    """Rows, cells, tallies, columns, values, the same seed and the folder: on random tables."""
    table: Table = data.draw(tables(most=60))
    k, size = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 25))
    guarantee = f"{data.draw(st.sampled_from(['beta-likeness:2', 'basic-beta-likeness:1']))}+k-anonymity:{k}"
    assert table.sensitive is not None
    tree, wider = table.sensitive.hierarchy, data.draw(st.booleans())
    every = [*table.sensitive.labels.tolist(), "zzz"] if tree is None else list(tree.leaves)
    names = every if wider and table.sensitive.labels.dtype.kind == "O" else table.sensitive.labels.tolist()
    options = {"field_size": size, "totals": data.draw(st.sampled_from(["known", "unknown"])), "domain": names}
    if max(k, size) > table.rows:
        with pytest.raises(UnreachableGuarantee):
            publish(table, guarantee, method="tallies", seed=1, options=options)
        return
    release, again = (publish(table, guarantee, method="tallies", seed=1, options=options).release for _ in range(2))
    assert isinstance(release, Tallied)
    assert isinstance(again, Tallied)
    assert release.rows == table.rows == int(release.tallies.size.sum())
    assert release.tallies.size.min() >= k
    assert release.people.min() >= size
    assert release.noisy.shape == (release.fields, len(names))
    assert release.links is not None
    assert np.array_equal(np.bincount(release.links), release.tallies.size)
    rows = release.to_arrow()
    for j, attribute in enumerate(table.quasi):
        everybody = Counter(attribute.decode(table.codes[:, j]).tolist())
        assert Counter(rows[attribute.name].to_pylist()) == everybody
        entries = release.tallies.columns[j]
        assert np.array_equal(np.bincount(entries.owner, weights=entries.count), release.tallies.size)
        counted: Counter[object] = Counter()
        for value, many in zip(entries.value.tolist(), entries.count.tolist(), strict=True):
            counted[attribute.labels[value]] += many
        assert counted == everybody
    assert set(rows[table.sensitive.name].to_pylist()) <= set(names)
    assert again.to_arrow().equals(rows)
    assert np.array_equal(again.noisy, release.noisy)
    assert release.estimates.sum(axis=1) == pytest.approx(release.people)
    assert oneoff.audit(release, table).holds
    with tempfile.TemporaryDirectory() as folder:
        replace(release, private_half=dict).write(Path(folder) / "out")
        back = oneoff.load_release(Path(folder) / "out")
        assert oneoff.verify(Path(folder) / "out" / "public").holds
    assert isinstance(back, Tallied)
    assert np.array_equal(back.noisy, release.noisy)
    assert np.array_equal(back.counts, release.counts)


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
    assert field_size_for(10**4, 14, 1.4) < field_size_for(10**6, 14, 1.4) < 2 * field_size_for(10**4, 14, 1.4)


def test_nothing_but_noisy_counts_is_said_about_values(people: Table, tmp_path: Path) -> None:
    release = released(people)
    release.write(tmp_path / "out", csv=True)
    described = (tmp_path / "out" / "public" / "release.json").read_text()
    assert str(people.counts.tolist()) not in described.replace("\n", "").replace("  ", "")
    names = sorted(path.name for path in (tmp_path / "out" / "public").iterdir())
    tables_out = ["cells", "columns", "counts", "microdata"]
    pages = ["release.json", "README.md", "report.html"]
    assert names == sorted([f"{name}.{kind}" for name in tables_out for kind in ("csv", "parquet")] + pages)
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


def test_a_table_is_fitted_once(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """For its plain rows, and then audited and measured by the same."""
    solve, often = regression.solved, list[int]()

    def counted(*given: Any) -> Any:
        often.append(1)
        return solve(*given)

    monkeypatch.setattr(regression, "solved", counted)
    publish(people, PROMISE, method="tallies", seed=1)
    assert len(often) == 1


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
    for much in (50.0, 1e6):
        assert not oneoff.audit(replace(release, epsilon=much), people).holds
        assert not oneoff.audit(replace(release, epsilon=much), None, "l-diversity:2").holds


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


@pytest.mark.slow
def test_intervals_hold_what_they_say_where_values_are_dealt_by_chance(people: Table) -> None:
    """Values anew and noise anew, a thousand times: who of a field is meant has nothing to do with values then.

    Of so few fields a release cannot know that, so that its intervals are wider than they would need to be.
    """
    from oneoff.releases import tally

    model = parse("beta-likeness:1").bind(people.sensitive)
    plan = tallies(people, model, field_size=100)
    labels = people.sensitive.labels[:3].tolist()  # type: ignore[union-attr]
    ages, codes = people.column("age")
    inside, off = 0, []
    for seed in range(1000):
        table = shuffled(people, seed)
        rng = np.random.default_rng(seed)
        release = tally(table, plan, model, method="tallies", against=Adversary.ANYONE, rng=rng, seeded=True)
        answer = release.count({"age": (30, 49), "occupation": labels})
        old = ages.labels[codes]
        truth = int(((old >= 30) & (old <= 49) & (table.values < 3)).sum())
        inside += answer.low <= truth <= answer.high
        off.append((answer.raw - truth) / answer.error)  # type: ignore[operator]
    assert inside / 1000 >= 0.95
    assert abs(np.mean(off)) < 4 / math.sqrt(1000)
    assert 0.4 < np.std(off) < 1.0


@pytest.mark.slow
def test_intervals_hold_the_truth_of_any_question() -> None:
    """Not of whole fields only: of ranges of columns and values, where most of the error is not noise."""
    from oneoff.table.sample import SAMPLE_ROLES, sample
    from oneoff.utility.counting import people_meant

    table = oneoff.read_table(sample(6000, seed=3, values=12), **SAMPLE_ROLES)
    assert table.sensitive is not None
    inside = []
    for seed in range(3):
        release = publish(table, "beta-likeness:3+k-anonymity:10", method="tallies", seed=seed).release
        queries = random_queries(table, 100, attributes=2, rng=np.random.default_rng(seed))
        truth = people_meant(table.codes, table.values, queries)[:, 1]
        for q, true in enumerate(truth.tolist()):
            where = {
                table.quasi[j].name: table.quasi[j].labels[queries.low[q, i] : queries.high[q, i] + 1].tolist()
                for i, j in enumerate(queries.columns[queries.subset[q]])
            }
            where["occupation"] = table.sensitive.labels[queries.low[q, -1] : queries.high[q, -1] + 1].tolist()
            found = release.count(where)
            inside.append(found.low <= true <= found.high)
    assert 0.9 <= np.mean(inside) <= 0.995


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
        publish(oneoff.read_table(sample(900, seed=1), **roles), "beta-likeness:3", method="tallies")


def test_a_column_to_keep_is_declared_public_by_naming_it_a_quasi_identifier() -> None:
    """Cells then show it, and it says nothing about values: it is counted before any noise is drawn."""
    from oneoff.table.sample import SAMPLE_ROLES, sample

    roles = {**SAMPLE_ROLES, "quasi": ("age", "gender", "race")}
    table = oneoff.read_table(sample(600, seed=1, values=4), **roles)
    release = released(table, "beta-likeness:3")
    rows = release.to_arrow()
    assert Counter(rows["race"].to_pylist()) == Counter(table.quasi[2].decode(table.codes[:, 2]).tolist())


# Values that may occur


def wide(people: Table) -> list[str]:
    """The domain of the fixture, and three values that nobody has."""
    assert people.sensitive is not None
    return [*people.sensitive.labels.tolist(), "Astronaut", "Wizard", "Zookeeper"]


@pytest.mark.parametrize("guarantee", [PROMISE, "l-diversity:2", "delta-disclosure:1"])
def test_values_that_nobody_has_are_counted_too(people: Table, tmp_path: Path, guarantee: str) -> None:
    release = released(people, guarantee, domain=wide(people))
    assert release.noisy.shape[1] == len(people.counts) + 3
    assert release.sensitive is not None
    absent = np.flatnonzero(~np.isin(release.sensitive.labels, people.sensitive.labels))  # type: ignore[union-attr]
    assert len(absent) == 3
    assert (release.noisy[:, absent] != 0).mean() > 0.3, "their counts are noise, like those of the others"
    release.write(tmp_path / "out", csv=True)
    back = oneoff.load_release(tmp_path / "out", private=True)
    assert isinstance(back, Tallied)
    assert np.array_equal(back.noisy, release.noisy)
    for verdict in (oneoff.audit(back, people), oneoff.verify(tmp_path / "out" / "public"), oneoff.audit(back)):
        assert verdict.holds, verdict.sentence()
    for question in ("occupation = 'Wizard'", "age < 40 and occupation in ('Wizard', 'Office clerk')"):
        assert back.count(question) == release.count(question)
    found = release.count("occupation = 'Wizard'")
    assert found.low == 0 <= found.count < 100
    assert set(back.to_arrow()["occupation"].to_pylist()) <= set(wide(people))
    queries = random_queries(people, 50, attributes=2, rng=np.random.default_rng(1))
    assert query_errors(back, people, queries).median < 1
    asked = random_aggregates(people, 20, attributes=2, rng=np.random.default_rng(2))
    assert aggregate_errors(back, people, asked).count.median < 1


def test_the_domain_decides_about_fields_not_the_values_that_occur(people: Table) -> None:
    """Who has the domain named learns from the shape of a release not even which values occur."""
    model = parse("beta-likeness:3").bind(people.sensitive)
    plan = tallies(people, model, domain=wide(people))
    assert plan.people.min() >= field_size_for(people.rows, len(people.counts) + 3, plan.epsilon) > plan.fields
    fewer = replace(people, values=np.where(people.values == 0, 1, people.values))
    other = released(fewer, "beta-likeness:3", domain=wide(people))
    one = released(people, "beta-likeness:3", domain=wide(people))
    assert other.noisy.shape == one.noisy.shape
    assert np.array_equal(other.field, one.field)
    assert other.sensitive is not None
    assert other.sensitive.labels.tolist() == one.sensitive.labels.tolist()  # type: ignore[union-attr]


def test_a_hierarchy_names_the_domain(tmp_path: Path) -> None:
    from oneoff.table.hierarchy import Hierarchy
    from oneoff.table.sample import SAMPLE_ROLES, sample

    frame = pl.DataFrame(sample(1000, seed=2, values=5))
    labels = sorted({*frame["occupation"].to_list(), "Astronaut", "Wizard"})
    tree = Hierarchy.from_rows([[x, f"n{i // 3}", "*"] for i, x in enumerate(labels)])
    table = oneoff.read_table(frame, hierarchies={"occupation": tree}, **SAMPLE_ROLES)
    release = released(table, "hierarchy-beta-likeness:3", domain="hierarchy")
    assert release.sensitive is not None
    assert release.sensitive.labels.tolist() == labels
    release.write(tmp_path / "out")
    assert oneoff.verify(tmp_path / "out").holds
    assert oneoff.audit(oneoff.load_release(tmp_path / "out", private=True), table).holds


def test_a_table_with_a_value_outside_the_domain_is_another_one(people: Table) -> None:
    release = released(people)
    assert people.sensitive is not None
    other = replace(people, sensitive=replace(people.sensitive, labels=np.array([*"abcdefghij"], dtype=object)))
    assert "does not list" in oneoff.audit(release, other).problems[0]
