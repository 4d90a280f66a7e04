"""Tallies of several sensitive columns: epsilons that add up, noise for each, files that agree, honest estimates."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, DamagedRelease, Defect, MethodMismatch, UnknownColumn, UnreachableGuarantee
from oneoff.mechanisms.budget import LEAST_EPSILON, divided
from oneoff.mechanisms.tallies import field_size_for, tallies
from oneoff.models import bound, parse
from oneoff.plans import Partition, Tallies, Tally
from oneoff.publish import publish
from oneoff.releases import Tallied, TalliedEach
from oneoff.releases.noise import variance, variance_of_sum
from oneoff.releases.tallied import drawn_counts
from oneoff.table import Attribute, Table
from tests.tables import examples, tables

pytestmark = pytest.mark.usefixtures("without_pictures")

PROMISE = "beta-likeness:3+k-anonymity:5"


@pytest.fixture(scope="module")
def people() -> Table:
    """2,000 generated people with ten occupations and eight bands of income."""
    from oneoff.table.sample import SAMPLE_ROLES, sample

    roles = {**SAMPLE_ROLES, "sensitive": ["occupation", "income"]}
    return oneoff.read_table(sample(2000, seed=3, values=10, income=True), **roles)


def released(table: Table, guarantee: str = PROMISE, seed: int = 5, **options: object) -> TalliedEach:
    release = publish(table, guarantee, method="tallies", seed=seed, options=options).release
    assert isinstance(release, TalliedEach)
    return release


def planned(table: Table, guarantee: str = PROMISE, **options: Any) -> Tallies:
    plan = tallies(table, bound(parse(guarantee), table), **options)
    assert isinstance(plan, Tallies)
    return plan


@st.composite
def with_columns(draw: st.DrawFn, most: int = 50) -> Table:
    """A random table with one or two more sensitive columns, of up to four values."""
    table, names = draw(tables(most=most)), ("t", "u")[: draw(st.integers(1, 2))]
    kept = [draw(st.lists(st.integers(0, 3), min_size=table.rows, max_size=table.rows)) for _ in names]
    found = [np.unique(np.array(each), return_inverse=True) for each in kept]
    attributes = tuple(
        Attribute(name, "categorical", np.array([f"{name}{label}" for label in labels], dtype=object))
        for name, (labels, _) in zip(names, found, strict=True)
    )
    codes = np.stack([code.astype(np.int32) for _, code in found], axis=1)
    return replace(table, keep=attributes, kept=codes, besides=names)


# --- epsilon


@given(
    st.floats(0.5, 8),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 2000), min_size=1),
    st.booleans(),
)
def test_parts_are_no_more_than_epsilon_and_nearly_all_of_it(
    epsilon: float, values: dict[str, int], given_shares: bool
) -> None:
    shares = {name: 1 + place for place, name in enumerate(values)} if given_shares else None
    if not given_shares and epsilon / (len(values) * 7) < LEAST_EPSILON:
        return
    try:
        parts = divided(epsilon, values, shares)
    except MethodMismatch:
        assert epsilon / 21 < LEAST_EPSILON + 1e-3
        return
    total = sum(map(Fraction, parts.values()))
    assert total <= Fraction(epsilon)
    assert float(total) > epsilon - 1e-4 * (len(parts) + 1)
    weight = shares or {name: many**0.25 for name, many in values.items()}
    for name, part in parts.items():
        assert part == pytest.approx(epsilon * weight[name] / sum(weight.values()), abs=2e-4)


def test_parts_whose_sum_is_rounded_up_are_lowered() -> None:
    """0.1 + 0.1 + 0.1 is more than 0.3 for floats."""
    parts = divided(0.3, {"a": 2, "b": 2, "c": 2})
    assert sum(map(Fraction, parts.values())) <= Fraction(0.3)
    assert sorted(parts.values()) == [0.0999, 0.0999, 0.0999] or min(parts.values()) >= 0.0999


def test_the_strictest_promise_allows_epsilon_for_all(people: Table) -> None:
    plan = planned(people, "k-anonymity:5+occupation=beta-likeness:3,income=beta-likeness:1")
    assert plan.epsilon == pytest.approx(math.log(2))
    assert sum(Fraction(each.epsilon) for _, each in plan.columns) <= Fraction(plan.epsilon)
    halved = planned(people, "k-anonymity:5+occupation=beta-likeness:3,income=beta-likeness:1", totals="known")
    assert halved.epsilon == pytest.approx(math.log(2) / 2)
    assert planned(people, epsilon=0.9).epsilon == 0.9


def test_by_default_the_fourth_root_of_the_numbers_of_values_divides_epsilon(people: Table) -> None:
    (_, first), (_, second) = planned(people).columns
    assert first.epsilon / second.epsilon == pytest.approx((10 / 8) ** 0.25, rel=1e-3)
    (_, first), (_, second) = planned(people, shares="occupation:3,income:1").columns
    assert first.epsilon / second.epsilon == pytest.approx(3, rel=1e-3)
    same = planned(people, shares={"income": 0.25, "occupation": 0.75})
    assert [each.epsilon for _, each in same.columns] == [first.epsilon, second.epsilon]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"shares": "occupation:1"}, BadValue, "a positive number for each of occupation, income"),
        ({"shares": "occupation:1,income:0"}, BadValue, "not usable"),
        ({"shares": "occupation:1,income:x"}, BadValue, "not usable"),
        ({"shares": "occupation:99,income:1"}, MethodMismatch, "would drown those of 'income'"),
        ({"together": "occupation*wage"}, UnknownColumn, "'wage' is not a sensitive column"),
        ({"together": "occupation"}, UnknownColumn, "occupation"),
        ({"together": "occupation*income,income*occupation"}, BadValue, "twice"),
        ({"field_size": 10**6}, UnreachableGuarantee, "smaller than one field"),
        ({"domain": "A;B"}, BadValue, "whose domain"),
    ],
)
def test_what_cannot_be_counted_is_refused(
    options: dict[str, Any], error: type[Exception], said: str, people: Table
) -> None:
    with pytest.raises(error, match=said):
        publish(people, PROMISE, method="tallies", options=options)


def test_combinations_may_be_too_many(people: Table) -> None:
    many = replace(people, keep=(Attribute("income", "numeric", np.arange(900)),))
    with pytest.raises(BadValue, match=r"too many sensitive values of 'occupation\*income'"):
        publish(many, PROMISE, method="tallies", options={"together": "occupation*income"})


def test_a_plan_that_spends_too_much_is_a_defect(people: Table) -> None:
    cells = Partition(np.zeros(4, dtype=np.int32))
    one = Tally(cells, np.zeros(1, dtype=np.int64), 0.6)
    with pytest.raises(Defect, match="more than epsilon"):
        Tallies((("a", one), ("b", one)), 1.1)
    with pytest.raises(Defect, match="different cells"):
        Tallies((("a", one), ("b", replace(one, cells=Partition(np.zeros(4, dtype=np.int32))))), 1.2)


def test_the_auditor_adds_up_what_was_spent(people: Table) -> None:
    release = released(people)
    first = replace(release.counted[0], epsilon=release.epsilon)
    forged = replace(release, counted=(first, *release.counted[1:]))
    verdict = oneoff.audit(forged, people)
    assert not verdict.holds
    assert "add up to more than epsilon" in verdict.problems[0]


def test_a_column_is_judged_by_the_epsilon_of_all(people: Table) -> None:
    """Its own part would keep the promise, that of all does not."""
    release = released(people, epsilon=1.2)
    stricter = "beta-likeness:1+k-anonymity:5"
    assert max(each.epsilon for each in release.counted) < math.log(2) < release.epsilon
    assert not oneoff.audit(release, people, stricter).holds
    assert oneoff.audit(release, people).holds


# --- who is counted


@given(with_columns(), st.integers(1, 5), st.integers(1, 20), st.randoms(use_true_random=False))
def test_no_column_has_a_part_in_cells_and_fields(table: Table, k: int, size: int, random: Any) -> None:
    if max(k, size) > table.rows:
        return
    order = list(range(table.rows))
    random.shuffle(order)
    assert table.kept is not None
    others = replace(table, values=table.values[order], kept=table.kept[order[::-1]])
    plan, other = (planned(each, f"beta-likeness:2+k-anonymity:{k}", field_size=size) for each in (table, others))
    assert np.array_equal(plan.cells.group, other.cells.group)
    assert plan.cells.size.min() >= k
    for (name, mine), (same, theirs) in zip(plan.columns, other.columns, strict=True):
        assert name == same
        assert np.array_equal(mine.field, theirs.field)
        assert mine.epsilon == theirs.epsilon
        assert mine.people.min() >= max(size, k)


def test_fields_are_as_large_as_each_column_needs_and_nested(people: Table) -> None:
    plan = planned(people, shares="occupation:4,income:1", cells=10)
    tally = dict(plan.columns)
    for name, many in (("occupation", 10), ("income", 8)):
        assert tally[name].people.min() >= field_size_for(people.rows, many, tally[name].epsilon)
    fine, wide = tally["occupation"], tally["income"]
    assert fine.fields > wide.fields
    pairs = set(zip(fine.field_of_person.tolist(), wide.field_of_person.tolist(), strict=True))
    assert len(pairs) == fine.fields, "every smaller field lies in one larger field"


def test_neighbours_differ_in_all_columns(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given to the sampler for two tables that differ in all values of one person, and with which epsilon."""
    from oneoff.releases import noise, tallied

    asked: list[tuple[np.ndarray, float]] = []

    def drawn(counts: np.ndarray, epsilon: float, rng: np.random.Generator | None = None) -> np.ndarray:
        asked.append((counts, epsilon))
        return noise.noisy(counts, epsilon, rng)

    monkeypatch.setattr(tallied, "noisy", drawn)
    assert people.kept is not None
    values, kept = people.values.copy(), people.kept.copy()
    values[17], kept[17] = (values[17] + 1) % 10, (kept[17] + 3) % 8
    for table in (people, replace(people, values=values, kept=kept)):
        publish(table, PROMISE, method="tallies", seed=5)
    one, other = asked[:2], asked[2:]
    spent = Fraction(0)
    for (mine, epsilon), (theirs, same) in zip(one, other, strict=True):
        assert np.abs(mine - theirs).sum() == 2
        assert epsilon == same
        spent += Fraction(epsilon)
    assert Fraction(math.log(4)) - Fraction(1, 1000) < spent <= Fraction(math.log(4))


def test_values_leave_no_mark_but_noisy_counts(people: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the noise and all other draws held fast, other values of both columns publish the very same bytes."""
    from oneoff import publish as publishing
    from oneoff.releases import tallied

    fixed = np.random.default_rng(3).integers(-5, 60, (10_000, 10))
    monkeypatch.setattr(tallied, "noisy", lambda counts, *_: fixed[: len(counts), : counts.shape[1]])
    monkeypatch.setattr(publishing, "_generator", lambda seed, table: np.random.default_rng(seed))
    assert people.kept is not None
    values, kept = (np.arange(people.rows) % 10).astype(np.int32), np.roll(people.kept, 1, axis=0)
    files = []
    for name, table in (("one", people), ("other", replace(people, values=values, kept=kept))):
        publish(table, PROMISE, method="tallies", seed=5).release.write(tmp_path / name, csv=True)
        public = tmp_path / name / "public"
        files.append({path.name: path.read_bytes() for path in sorted(public.iterdir())})
    assert files[0] == files[1]


# --- noise


def drawn_noise(table: Table, plan: Tallies, *, seeded: bool) -> dict[str, np.ndarray]:
    """What was added to the true counts of each column, over a few draws."""
    found: dict[str, list[np.ndarray]] = {}
    for name, tally in plan.columns:
        column, true = (
            table.of_column(name),
            np.zeros((tally.fields, len(table.of_column(name).counts)), dtype=np.int64),
        )
        np.add.at(true, (tally.field_of_person, column.values), 1)
        rngs = [np.random.default_rng([seed, len(found)]) for seed in range(30)] if seeded else [None] * 4
        found[name] = [(drawn_counts(column, tally, rng) - true).ravel() for rng in rngs]
    return {name: np.concatenate(each) for name, each in found.items()}


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("options", [{"shares": "occupation:1,income:4"}, {"together": "occupation*income"}])
def test_noise_of_each_column_is_as_wide_as_its_epsilon_asks(
    people: Table, seeded: bool, options: dict[str, str]
) -> None:
    plan = planned(people, field_size=60, **options)
    for name, noise in drawn_noise(people, plan, seeded=seeded).items():
        epsilon = dict(plan.columns)[name].epsilon
        wide = variance(epsilon, len(people.of_column(name).counts))
        spread = math.sqrt(wide / len(noise))
        assert abs(noise.mean()) < 5 * spread
        assert noise.var() == pytest.approx(wide, rel=5 * math.sqrt(5 / len(noise)))


def test_columns_have_noise_of_their_own(people: Table) -> None:
    """The same column twice, with the same epsilon and fields: noise that was drawn once would be the same."""
    income = people.keep[0]
    twice = replace(
        people.of_column("income"), keep=(replace(income, name="again"),), kept=people.kept, besides=("again",)
    )
    one, other = released(twice).counted
    assert (one.epsilon, one.field.tolist()) == (other.epsilon, other.field.tolist())
    true = np.zeros_like(one.noisy)
    np.add.at(true, (one.field[planned(twice).cells.group], twice.values), 1)
    noise = [(each.noisy - true).ravel() for each in (one, other)]
    assert abs(np.corrcoef(*noise)[0, 1]) < 5 / math.sqrt(true.size)


def test_with_persons_noise_of_every_column_hides_all_their_rows() -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "who": rng.integers(0, 900, 2000), "age": rng.integers(18, 80, 2000),
            "s": rng.integers(0, 4, 2000), "t": rng.integers(0, 3, 2000),
        }
    )  # fmt: skip
    table = oneoff.read_table(frame, quasi=["age"], sensitive=["s", "t"], person="who", categorical=["s", "t"])
    outcome = publish(table, PROMISE, method="tallies", seed=1, most_rows=3)
    release = outcome.release
    assert isinstance(release, TalliedEach)
    assert outcome.verdict.holds
    assert release.rows_per_person == 3
    for each in release.counted:
        single = release.of_column(each.name)
        assert isinstance(single, Tallied)
        assert single.of_a_row == each.epsilon / 3


# --- estimates


@pytest.mark.slow
def test_counts_of_each_column_are_right_on_average_and_intervals_hold(people: Table) -> None:
    """Whole fields and parts of them, over forty draws."""
    asked = {
        "occupation = 'School teacher'": None, "income in ('20-30K', '30-40K')": None,
        "age >= 40 and income = '30-40K'": None, "age between 30 and 49 and occupation != 'Office clerk'": None,
    }  # fmt: skip
    frame = frame_of(people)
    off: dict[str, list[float]] = {question: [] for question in asked}
    held = []
    for seed in range(40):
        release = released(people, seed=seed)
        for question in asked:
            truth = true_count(frame, question)
            found = release.count(question)
            assert not found.independent
            off[question].append(found.raw - truth)
            held.append(found.low <= truth <= found.high)
    for question, errors in off.items():
        bias = 0.04 * true_count(frame, question) if "age" in question else 0.0  # what the fit of a field may lean
        assert abs(np.mean(errors)) < 4 * np.std(errors) / math.sqrt(len(errors)) + bias, question
    assert np.mean(held) > 0.9


def frame_of(table: Table) -> pl.DataFrame:
    assert table.sensitive is not None
    assert table.kept is not None
    columns = {a.name: a.labels[table.codes[:, j]] for j, a in enumerate(table.quasi)}
    beside = {a.name: a.labels[table.kept[:, j]] for j, a in enumerate(table.keep)}
    return pl.DataFrame(columns | {table.sensitive.name: table.sensitive.labels[table.values]} | beside)


def true_count(frame: pl.DataFrame, question: str) -> int:
    return len(pl.SQLContext(people=frame).execute(f"SELECT * FROM people WHERE {question}", eager=True))


GOING_TOGETHER: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "the same": lambda s, noise: s,
    "the other": lambda s, noise: 1 - s,
    "nothing": lambda s, noise: noise,
}


@pytest.mark.parametrize("how", GOING_TOGETHER)
def test_what_was_not_counted_together_is_between_honest_bounds(how: str) -> None:
    """Columns that are the same, opposite, or unrelated: the estimate is for unrelated ones, the interval for all."""
    rng = np.random.default_rng(4)
    s, noise = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    frame = pl.DataFrame({"age": rng.integers(18, 80, 4000), "s": s, "t": GOING_TOGETHER[how](s, noise)})
    table = oneoff.read_table(frame, quasi=["age"], sensitive=["s", "t"], categorical=["s", "t"])
    release, question = released(table), "age between 30 and 59 and s = 1 and t = 1"
    truth, found = true_count(frame, question), release.count(question)
    assert found.independent == ("s", "t")
    assert "which were not counted together" in found.sentence()
    assert found.as_dict()["independent"] == ["s", "t"]
    assert found.low <= truth <= found.high
    if how == "nothing":
        assert found.count == pytest.approx(truth, rel=0.1)
    together = released(table, together="s*t").count(question)
    assert not together.independent
    assert together.low <= truth <= together.high
    assert together.high - together.low < 0.3 * (found.high - found.low)


def test_a_condition_that_all_values_meet_asks_nothing(people: Table) -> None:
    release = released(people)
    assert people.sensitive is not None
    every = ", ".join(f"'{label}'" for label in people.sensitive.labels)
    asked = release.count(f"income = '30-40K' and occupation in ({every})")
    assert asked == release.count("income = '30-40K'")


def test_columns_counted_together_have_marginals_for_each(people: Table) -> None:
    release = released(people, together="income*occupation")
    joint, *none = release.counted
    assert not none
    assert joint.names == ("income", "occupation")
    for name, axis in (("income", 2), ("occupation", 1)):
        single = release.of_column(name)
        assert isinstance(single, Tallied)
        table = joint.noisy.reshape(-1, 8, 10).sum(axis=axis)
        assert np.array_equal(single.noisy, table)
        assert single.noise(2) == variance_of_sum(release.epsilon, 80, 2 * 80 // table.shape[1])
        label = str(single.sensitive.labels[1]) if single.sensitive else ""
        assert release.count({name: label}).raw == pytest.approx(single.estimates[:, 1].sum())
    turned = release.of_column("occupation*income")
    assert isinstance(turned, Tallied)
    assert np.array_equal(turned.noisy.reshape(-1, 10, 8).transpose(0, 2, 1).reshape(-1, 80), joint.noisy)
    assert np.array_equal(turned.counts.reshape(10, 8).sum(axis=1) > 0, np.ones(10, dtype=bool))
    with pytest.raises(BadValue, match=r"'occupation\*income' was not counted together"):
        released(people).of_column("occupation*income")


def test_noise_of_marginals_is_as_wide_as_they_say(people: Table) -> None:
    plan = planned(people, together="occupation*income", field_size=60)
    noise = drawn_noise(people, plan, seeded=True)["occupation*income"].reshape(-1, 10, 8)
    people_of = noise.sum(axis=(1, 2), keepdims=True) / 80
    marginal = (noise - people_of).sum(axis=2)  # once counts of a field add up to its people
    assert marginal.var() == pytest.approx(variance_of_sum(plan.epsilon, 80, 8), rel=0.1)


# --- plain rows


def test_dealing_makes_up_no_link_between_columns() -> None:
    """Values are dealt in turn, so that two columns dealt in the same order would be one."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"age": rng.integers(18, 80, 4000), "s": rng.integers(0, 2, 4000), "t": rng.integers(0, 2, 4000)}
    )
    table = oneoff.read_table(frame, quasi=["age"], sensitive=["s", "t"], categorical=["s", "t"])
    release = released(table, cells=50)
    for rows in (release.to_polars(), pl.DataFrame(release.microdata(seed=3))):
        assert rows.columns == ["age", "s", "t"]
        assert abs(np.corrcoef(rows["s"], rows["t"])[0, 1]) < 0.08
        for name in ("s", "t"):
            assert abs(rows[name].mean() - frame[name].mean()) < 0.03
    together = oneoff.read_table(
        frame.with_columns(t=pl.col("s")), quasi=["age"], sensitive=["s", "t"], categorical=["s", "t"]
    )
    rows = released(together, together="s*t", cells=50).to_polars()
    assert np.corrcoef(rows["s"], rows["t"])[0, 1] > 0.9


# --- files


@examples(25)
@given(st.data())
def test_laws_of_every_release(data: st.DataObject) -> None:
    """Rows, cells, counts, the same seed, the folder and what a recipient checks: on random tables."""
    table: Table = data.draw(with_columns())
    k, size = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 20))
    names = table.sensitive_names
    joint = data.draw(st.sampled_from([None, "*".join(names[:2]), "*".join(names[::-1])]))
    options = {"field_size": size, "totals": data.draw(st.sampled_from(["known", "unknown"])), "together": joint}
    guarantee = f"{data.draw(st.sampled_from(['beta-likeness:2', 'basic-beta-likeness:1']))}+k-anonymity:{k}"
    if max(k, size) > table.rows:
        with pytest.raises(UnreachableGuarantee):
            publish(table, guarantee, method="tallies", seed=1, options=options)
        return
    outcome, again = (publish(table, guarantee, method="tallies", seed=1, options=options) for _ in range(2))
    release = outcome.release
    assert isinstance(release, TalliedEach)
    assert outcome.verdict.holds
    assert set(outcome.verdict.columns) == set(names)
    assert release.to_arrow().equals(again.release.to_arrow())
    assert release.tallies.size.min() >= k
    for each in release.counted:
        assert each.noisy.shape[1] == math.prod(each.sizes)
    rows = release.to_polars()
    assert rows.columns == [*(a.name for a in table.quasi), *names]
    for j, attribute in enumerate(table.quasi):
        assert sorted(rows[attribute.name]) == sorted(attribute.labels[table.codes[:, j]].tolist())
    with tempfile.TemporaryDirectory() as folder:
        replace(release, private_half=dict).write(Path(folder) / "out", csv=True)
        back = oneoff.load_release(Path(folder) / "out")
        verdict = oneoff.verify(Path(folder) / "out" / "public")
    assert verdict.holds
    assert verdict.epsilon == release.epsilon
    assert isinstance(back, TalliedEach)
    assert back.to_arrow().equals(release.to_arrow())
    for mine, theirs in zip(release.counted, back.counted, strict=True):
        assert (mine.names, mine.epsilon) == (theirs.names, theirs.epsilon)
        assert np.array_equal(mine.noisy, theirs.noisy)
        assert np.array_equal(mine.field, theirs.field)
    for name in names:
        assert np.array_equal(release.of_column(name).counts, back.of_column(name).counts)


def forged(public: Path, name: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Change a file, and the hashes as a cheat would."""
    old = pq.read_table(public / name)
    pq.write_table(pa.Table.from_pylist(change(old.to_pylist()), old.schema), public / name)
    described = json.loads((public / "release.json").read_text())
    described["files"][name] = hashlib.sha256((public / name).read_bytes()).hexdigest()
    (public / "release.json").write_text(json.dumps(described))


def first(rows: list[dict[str, Any]], **change: Any) -> list[dict[str, Any]]:
    return [rows[0] | change, *rows[1:]]


WRONG_FILES: dict[str, tuple[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]]] = {
    "another count": ("counts-2.parquet", lambda rows: first(rows, count=rows[0]["count"] + 900)),
    "a count left out": ("counts-2.parquet", lambda rows: rows[1:]),
    "a value nobody may have": ("counts-2.parquet", lambda rows: first(rows, value="a fortune")),
    "a field there is not": ("cells.parquet", lambda rows: first(rows, field_2=10**6)),
    "a row with another value": ("microdata.parquet", lambda rows: first(rows, income="a fortune")),
    "a row left out": ("microdata.parquet", lambda rows: rows[1:]),
}


@pytest.mark.parametrize("wrong", WRONG_FILES)
def test_files_that_do_not_agree_are_damage(wrong: str, people: Table, tmp_path: Path) -> None:
    public = replace(released(people), private_half=dict).write(tmp_path / "out") / "public"
    assert oneoff.verify(public).holds
    forged(public, *WRONG_FILES[wrong])
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)


def _spent(described: dict[str, Any]) -> None:
    described["counted"][0]["epsilon"] = described["epsilon"]


def _nothing_spent(described: dict[str, Any]) -> None:
    described["counted"][0]["epsilon"] = 0


def _uncounted(described: dict[str, Any]) -> None:
    described["counted"].pop()


def _counted_twice(described: dict[str, Any]) -> None:
    described["counted"][1]["columns"] = described["counted"][0]["columns"]


def _another_prior(described: dict[str, Any]) -> None:
    described["besides"][0]["prior"][0] += 1


def _many_fields(described: dict[str, Any]) -> None:
    described["counted"][1]["fields"] = 10**12


@pytest.mark.parametrize(
    "change",
    [_spent, _nothing_spent, _uncounted, _counted_twice, _another_prior, _many_fields],
    ids=lambda f: f.__name__,
)
def test_descriptions_that_cannot_be_true_are_damage(
    change: Callable[[dict[str, Any]], None], people: Table, tmp_path: Path
) -> None:
    public = replace(released(people), private_half=dict).write(tmp_path / "out") / "public"
    described = json.loads((public / "release.json").read_text())
    change(described)
    (public / "release.json").write_text(json.dumps(described))
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)


def test_an_epsilon_that_the_promise_does_not_allow_is_found_by_a_recipient(people: Table, tmp_path: Path) -> None:
    """Parts add up and files agree; only that no promise here allows so much."""
    public = replace(released(people), private_half=dict).write(tmp_path / "out") / "public"
    described = json.loads((public / "release.json").read_text())
    described["epsilon"] = 2.5
    (public / "release.json").write_text(json.dumps(described))
    assert not oneoff.verify(public).holds


def test_what_release_json_says(people: Table, tmp_path: Path) -> None:
    public = replace(released(people), private_half=dict).write(tmp_path / "out") / "public"
    described = json.loads((public / "release.json").read_text())
    assert [(each["columns"], each["file"], each["field"]) for each in described["counted"]] == [
        (["occupation"], "counts.parquet", "field"), (["income"], "counts-2.parquet", "field_2"),
    ]  # fmt: skip
    assert sum(each["epsilon"] for each in described["counted"]) <= described["epsilon"]
    assert "all columns together" in described["epsilon_is"]
    cells = pl.read_parquet(public / "cells.parquet")
    assert cells.columns == ["cell", "field", "field_2", "people"]
    counts = pl.read_parquet(public / "counts-2.parquet")
    assert counts.columns == ["field", "value", "count"]
    assert counts["field"].max() == cells["field_2"].max()
    together = replace(released(people, together="occupation*income"), private_half=dict).write(tmp_path / "both")
    pairs = pl.read_parquet(together / "public" / "counts.parquet")
    assert pairs.columns == ["field", "value_1", "value_2", "count"]
    assert pairs.select("value_1", "value_2").unique().height == 80


# --- options


def test_domains_of_single_columns(people: Table) -> None:
    wider = [*people.keep[0].labels.tolist(), "more"]
    for domain in ({"income": wider}, "income:" + ";".join(wider)):
        release = released(people, domain=domain)
        assert [each.noisy.shape[1] for each in release.counted] == [10, 9]
    with pytest.raises(BadValue, match="misses values of 'income'"):
        publish(people, PROMISE, method="tallies", options={"domain": {"income": ["more"]}})


def test_public_information_about_all_columns(people: Table) -> None:
    """Another table, or an earlier release of it."""
    earlier = released(people)
    for public in (people, earlier):
        release = released(people, public=public)
        assert oneoff.audit(release, people).holds
    with pytest.raises(UnknownColumn, match="another sensitive column"):
        publish(people, PROMISE, method="tallies", options={"public": people.of_column("income")})


@pytest.mark.parametrize(("first", "second"), list(product(("beta-likeness:3", "l-diversity:1.2"), repeat=2)))
def test_every_column_may_have_its_own_promise(first: str, second: str, people: Table) -> None:
    outcome = publish(people, f"k-anonymity:5+occupation={first},income={second}", method="tallies", seed=1)
    assert outcome.verdict.holds
    assert outcome.verdict.epsilon is not None
    for name, own in (("occupation", first), ("income", second)):
        single = people.of_column(name)
        allowed = parse(own).bind(single.sensitive).public_epsilon(oneoff.models.Prior.of(single.counts))
        assert outcome.verdict.epsilon <= allowed


def test_auto_takes_tallies_and_foretells_every_column() -> None:
    from oneoff.table.sample import SAMPLE_ROLES, sample

    roles = {**SAMPLE_ROLES, "sensitive": ["occupation", "income"]}
    table = oneoff.read_table(sample(5000, seed=3, values=10, income=True), **roles)
    outcome = publish(table, PROMISE, seed=1)
    assert outcome.release.method == "tallies"
    assert "for 'occupation' and" in outcome.reason
    assert "for 'income'" in outcome.reason
    assert outcome.utility.columns["income"].count_error is not None


def test_remarks_name_the_sum_and_its_parts(people: Table) -> None:
    remarks = publish(people, PROMISE, method="tallies", seed=1).verdict.remarks
    assert (
        "4-fold (epsilon 1.39: 0.712 for the counts of 'occupation' + 0.674 for the counts of 'income')" in remarks[0]
    )
    assert sum("in all sensitive columns together" in text for text in remarks) == 1
    assert any(text.startswith("Of 'income': a belief of") for text in remarks)
    assert any("held to the epsilon of all counts together" in text for text in remarks)


# --- who knows one of the columns


@pytest.mark.parametrize("joint", [None, "s*t", "t*s"])
def test_who_knows_a_column_sees_how_columns_go_together_only_where_they_were_counted_so(joint: str | None) -> None:
    """The same value in both columns: she knows t, and looks at what is shown of s for those who have it."""
    from oneoff.audit.attacks.beside import known_too, seen_knowing

    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"age": rng.integers(18, 80, 4000), "s": rng.choice(list("aab"), 4000)})
    table = oneoff.read_table(frame.with_columns(t=pl.col("s")), quasi=["age"], sensitive=["s", "t"])
    release = released(table, together=joint)
    people = known_too(table, ["t"], "s")
    view = seen_knowing(release, people, ["t"], "s")
    assert view.quasi[-1].name == "t"
    assert view.units == 2 * release.tallies.groups
    counts = view.together(1).toarray()  # [t, s]
    assert counts.sum() == pytest.approx(table.rows, rel=0.05)
    same = np.trace(counts) / counts.sum()
    assert same > 0.9 if joint else same == pytest.approx(5 / 9, abs=0.05)
    found = oneoff.attack(release, table, attacker=oneoff.Attacker(knows=("t",)), attacks=["bayes"])
    assert (found["bayes"].rate.share > 0.9) is (joint is not None)


# --- weights


def weighed(telling: bool) -> tuple[pl.DataFrame, Table]:
    """4,000 people whose weights go with age or, where they tell too much, with the second column."""
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(
        {"age": rng.integers(18, 80, 4000), "s": rng.integers(0, 3, 4000), "t": rng.integers(0, 2, 4000)}
    )
    by = pl.col("t") * 3 + 1 if telling else pl.col("age") / 20
    frame = frame.with_columns(w=by * pl.Series(rng.uniform(0.5, 1.5, 4000)))
    return frame, oneoff.read_table(frame, quasi=["age"], sensitive=["s", "t"], categorical=["s", "t"], weight="w")


def test_weights_go_with_cells_whatever_is_counted(tmp_path: Path) -> None:
    frame, table = weighed(telling=False)
    release = released(table)
    release.write(tmp_path / "out")
    back = oneoff.load_release(tmp_path / "out" / "public")
    assert back.to_arrow().equals(release.to_arrow())
    assert oneoff.verify(tmp_path / "out" / "public").holds
    assert pl.read_parquet(tmp_path / "out" / "public" / "microdata.parquet").columns == ["age", "s", "t", "w"]
    for question in ("t = 1 and age >= 40", "s = 2 and t = 1 and age >= 40"):
        truth = float(pl.SQLContext(p=frame).execute(f"SELECT SUM(w) AS w FROM p WHERE {question}", eager=True)["w"][0])
        found = back.count(question, weighted=True)
        assert found.weighted
        assert found.low <= truth <= found.high
        assert found.count == pytest.approx(truth, rel=0.15)
        assert bool(found.independent) == ("s = " in question)


def test_weights_that_tell_one_of_the_columns_are_refused() -> None:
    with pytest.raises(BadValue, match="weights go with the sensitive column"):
        released(weighed(telling=True)[1])
