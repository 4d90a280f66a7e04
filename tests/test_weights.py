"""Survey weights: they travel as means of groups and cells, counts add them up, and nobody's own goes out."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, DamagedRelease, MethodMismatch, MissingValues, RoleConflict
from oneoff.models import parse
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition, Tally
from oneoff.releases import Generalized, Tallied, generalize, tally
from oneoff.table import Table
from oneoff.table.weights import Weight, telling
from oneoff.utility import aggregate_errors, random_aggregates
from tests.command_line import oneoff as command
from tests.tables import tables

ROLES: dict[str, Any] = {"quasi": ["age", "gender", "education"], "sensitive": "occupation", "identifiers": ["person"]}


def _table(rows: int = 2_000, **given: Any) -> Table:
    frame = oneoff.sample(rows, seed=2, weights=True, values=8)
    return oneoff.read_table(frame, **ROLES | {"weight": "weight"} | given)


def _small() -> Table:
    """Two groups by age; weights that can be added up in the head."""
    frame = pl.DataFrame(
        {
            "age": [20, 21, 22, 50, 51, 52],
            "sex": ["F", "M", "M", "F", "F", "M"],
            "illness": ["flu", "flu", "cold", "cold", "flu", "cold"],
            "weight": [1.0, 2.0, 6.0, 10.0, 20.0, 30.0],
        }
    )
    return oneoff.read_table(frame, quasi=["age", "sex"], sensitive="illness", weight="weight")


def _grouped(table: Table, group: list[int], **given: Any) -> Generalized:
    partition = Partition(np.array(group, dtype=np.int32), max(group) + 1)
    rng = np.random.default_rng(1)
    return generalize(
        table, partition, parse("k-anonymity:2"), method="mondrian", against=Adversary.INSIDER, rng=rng, **given
    )


# --- what is read


def test_weights_are_read_beside_the_columns() -> None:
    table = _small()
    assert table.weight is not None
    assert (table.weight.name, table.weight.each.tolist()) == ("weight", [1, 2, 6, 10, 20, 30])
    assert "weight" not in [attribute.name for attribute, _ in table.columns()]
    assert not any("no role" in notice for notice in table.notices)
    part = table.part(np.array([True, False, True, False, False, False]))
    assert part.weight is not None
    assert part.weight.each.tolist() == [1, 6]
    texts = pl.DataFrame({"age": [1, 2], "w": ["3", "4.5"]})
    read = oneoff.read_table(texts, quasi="age", weight="w").weight
    assert read is not None
    assert read.each.tolist() == [3, 4.5]


@pytest.mark.parametrize("weights", [[1.0, -0.5], [1.0, math.inf], [0.0, 0.0], ["a", "b"]])
def test_what_cannot_be_a_weight_is_refused(weights: list[Any]) -> None:
    with pytest.raises(BadValue, match="'w'"):
        oneoff.read_table(pl.DataFrame({"age": [1, 2], "w": weights}), quasi="age", weight="w")


def test_dates_are_no_weights() -> None:
    frame = pl.DataFrame({"age": [1, 2], "w": ["2020-01-01", "2020-01-02"]}).with_columns(pl.col("w").str.to_date())
    with pytest.raises(BadValue, match="cannot be weights"):
        oneoff.read_table(frame, quasi="age", weight="w")


def test_missing_weights_are_refused_or_dropped() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "w": [1.0, None, 2.0]})
    with pytest.raises(MissingValues, match=r"a weight in every row.*w \(1\)"):
        oneoff.read_table(frame, quasi="age", weight="w")
    with pytest.raises(MissingValues, match="no category can be one"):
        oneoff.read_table(frame, quasi="age", weight="w", missing="category")
    left = oneoff.read_table(frame, quasi="age", weight="w", missing="drop")
    assert left.weight is not None
    assert (left.weight.each.tolist(), left.dropped_rows) == ([1, 2], 1)


def test_a_weight_has_one_role_and_a_name_that_is_free() -> None:
    frame = pl.DataFrame({"age": [1, 2], "group": [1.0, 2.0]})
    with pytest.raises(RoleConflict, match="listed as quasi and as weight"):
        oneoff.read_table(frame, quasi="age", weight="age")
    with pytest.raises(RoleConflict, match="'group' has the name"):
        oneoff.read_table(frame, quasi="age", weight="group")
    with pytest.raises(BadValue, match="one column holds the weights"):
        oneoff.read_table(frame, quasi="age", weight=["group"])  # type: ignore[arg-type]


# --- by hand


def test_means_of_groups_by_hand() -> None:
    release = _grouped(_small(), [0, 0, 0, 1, 1, 1])
    frame = release.to_polars()
    shown = {(low, weight) for low, weight in frame.select("age_min", "weight").rows()}
    assert shown == {(20, 3.0), (50, 20.0)}
    plain = pl.from_arrow(release.microdata())
    assert isinstance(plain, pl.DataFrame)
    assert dict(plain.group_by("weight").len().rows()) == {3.0: 3, 20.0: 3}
    assert plain.filter(pl.col("weight") == 3)["age"].sort().to_list() == [20, 21, 22]
    assert release.weights is not None
    # sums of squares inside groups 4 + 1 + 9 and 100 + 0 + 100; two times 9 and 400 are expected of a spread of 1
    assert release.weights.spread == pytest.approx(math.sqrt(214 / 818), rel=1e-2)


@pytest.mark.parametrize("columns", ["tally", "box"])
def test_weighted_counts_of_groups_by_hand(columns: Any) -> None:
    release = _grouped(_small(), [0, 0, 0, 1, 1, 1], columns=columns)
    whole = release.count("age < 30", weighted=True)
    assert whole.count == pytest.approx(9, rel=1e-5)
    assert whole.low <= 9 <= whole.high < 9.001
    flu = release.count("illness = 'flu'", weighted=True)  # two of three at 3, one of three at 20: truth 23
    assert flu.count == pytest.approx(26, rel=1e-6)
    assert flu.low <= 23 <= flu.high
    assert (flu.weighted, flu.certain, flu.error) == (True, False, None)
    assert "people by weight" in flu.sentence()


def test_the_interval_of_a_group_by_hand() -> None:
    """One of three people who weigh 20 on average: give or take the spread of weights, and three tenths of what means
    of groups differ by beyond chance (3 and 20 are off 11.5 by 8.5), which two of three people have in common."""
    release = _grouped(_small(), [0, 0, 0, 1, 1, 1])
    assert release.weights is not None
    found = release.count("age > 30 and illness = 'flu'", weighted=True)
    deviation = math.sqrt(1 * 2 / 2) * 20 * release.weights.spread
    beyond = math.sqrt((8.5 / 11.5) ** 2 - 2 * release.weights.spread**2 / 6)
    error = math.hypot(deviation, 0.3 * beyond * 20 * math.sqrt(2 / 3))
    assert (found.count, found.low) == (pytest.approx(20), 0)
    assert found.high == pytest.approx(20 + 1.959964 * error, rel=1e-6)
    most = release.count("age > 30 and illness != 'flu'", weighted=True)
    assert most.high == pytest.approx(60, rel=1e-5)  # nobody else is there, whoever it is


def test_weights_that_go_with_a_column_are_fitted_to_means() -> None:
    """Women weigh 3, men 1, and groups mix both: means of groups tell, and questions about women know it."""
    rng = np.random.default_rng(4)
    rows, size = 6_000, 10
    sex, age = rng.choice(["F", "M"], rows), np.sort(rng.integers(0, 600, rows))
    frame = pl.DataFrame({"age": age, "sex": sex, "w": np.where(sex == "F", 3.0, 1.0)})
    table = oneoff.read_table(frame, quasi=["age", "sex"], weight="w")
    release = _grouped(table, (np.arange(rows) // size).tolist())
    found = release.count("sex = 'F'", weighted=True)
    truth = 3.0 * float((sex == "F").sum())
    assert found.count == pytest.approx(truth, rel=0.02)  # with means of groups alone it would be a third less
    assert found.low <= truth <= found.high


# --- laws


def _weights(data: st.DataObject, rows: int) -> np.ndarray:
    numbers = st.floats(0, 1e6, allow_nan=False).map(lambda x: round(x, 3))
    drawn = np.array(data.draw(st.lists(numbers, min_size=rows, max_size=rows)))
    return drawn if drawn.any() else drawn + 1


@given(tables(), st.data())
def test_weights_of_all_groups_add_up_to_those_of_the_table(table: Table, data: st.DataObject) -> None:
    rows = table.rows
    assume(rows > 1)
    weighted = replace(table, weight=Weight("w", _weights(data, rows)))
    groups = data.draw(st.integers(1, max(rows // 2, 1)))
    group = (np.arange(rows) % groups)[np.argsort(data.draw(st.permutations(range(rows))))]
    columns = data.draw(st.sampled_from(["tally", "box"]))
    release = _grouped(weighted, np.asarray(group).tolist(), columns=columns)
    _adds_up(release, weighted)


@given(tables(), st.data())
def test_weights_of_all_cells_add_up_to_those_of_the_table(table: Table, data: st.DataObject) -> None:
    rows = table.rows
    assume(rows > 1)
    weighted = replace(table, weight=Weight("w", _weights(data, rows)))
    cells = data.draw(st.integers(1, max(rows // 2, 1)))
    fields = data.draw(st.integers(1, cells))
    plan = Tally(Partition((np.arange(rows) % cells).astype(np.int32), cells), np.arange(cells) % fields, 1.0)
    rng = np.random.default_rng(1)
    try:
        release = tally(
            weighted, plan, parse("beta-likeness:3"), method="tallies", against=Adversary.ANYONE, rng=rng, seeded=True
        )
    except BadValue as error:
        assert "who has which value" in str(error)  # noqa: PT017 - chance may draw such weights
        return
    _adds_up(release, weighted)


def _adds_up(release: Generalized | Tallied, table: Table) -> None:
    assert table.weight is not None
    assert table.sensitive is not None
    tallied, total = isinstance(release, Tallied) or release.tallies is not None, float(table.weight.each.sum())
    column = table.quasi[0] if tallied else table.sensitive  # a box may mean more than occurs
    found = release.count({column.name: column.labels.tolist()}, weighted=True)
    assert found.count == pytest.approx(total, rel=1e-5)
    assert found.low <= total * (1 + 1e-9)
    assert found.high >= total * (1 - 1e-9)
    rows = release.microdata()["w"] if tallied else None
    assert rows is None or float(np.sum(rows.to_numpy())) == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize(("promise", "method"), [("k-anonymity:5", "mondrian"), ("beta-likeness:3", "tallies")])
def test_equal_weights_count_people(promise: str, method: str) -> None:
    table = _table()
    same = replace(table, weight=Weight("weight", np.full(table.rows, 2.5)))
    release = oneoff.anonymize(same, promise, method=method, seed=1)
    for where in ("age < 30 and gender = 'Male'", "occupation = 'Manager'", "age > 40 and occupation != 'Manager'"):
        people, weight = release.count(where), release.count(where, weighted=True)
        assert weight.count == pytest.approx(2.5 * people.count, rel=1e-6)
        assert weight.low == pytest.approx(2.5 * people.low, rel=1e-4)
        assert weight.high == pytest.approx(2.5 * people.high, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["tallies", "burel"])
def test_intervals_hold_the_true_weights_of_new_samples(method: str) -> None:
    """95 % and, as measured, some more; over tables and draws that no number was chosen by."""
    held = []
    for seed in range(11, 14):
        frame = oneoff.sample(6_000, seed=seed, weights=True, values=8)
        table = oneoff.read_table(frame, **ROLES | {"weight": "weight"})
        release = oneoff.anonymize(table, "beta-likeness:3", method=method, seed=seed)
        held += [_holds(release, table, rng) for rng in np.random.default_rng(seed).spawn(60)]
    assert np.mean(held) > 0.9


def _holds(release: oneoff.releases.Published, table: Table, rng: np.random.Generator) -> bool:
    """A question about one or two columns and some values."""
    assert table.weight is not None
    assert table.sensitive is not None
    wanted = rng.random(table.sensitive.size) < 0.4
    wanted[rng.integers(len(wanted))] = True
    meant, where = wanted[table.values], {table.sensitive.name: table.sensitive.labels[wanted].tolist()}
    for j in rng.choice(len(table.quasi), rng.integers(1, 3), replace=False):
        first, last = np.sort(rng.integers(0, table.quasi[j].size, 2))
        where[table.quasi[j].name] = table.quasi[j].labels[first : last + 1].tolist()
        meant = meant & (table.codes[:, j] >= first) & (table.codes[:, j] <= last)
    found = release.count(where, weighted=True)
    return bool(found.low <= table.weight.each[meant].sum() <= found.high)


# --- what goes out, and what is checked


@pytest.mark.parametrize(("promise", "method"), [("k-anonymity:5", "mondrian"), ("beta-likeness:3", "tallies")])
@pytest.mark.usefixtures("without_pictures")
def test_means_come_back_from_a_folder(tmp_path: Path, promise: str, method: str) -> None:
    table = _table()
    release = oneoff.anonymize(table, promise, method=method, seed=1)
    release.write(tmp_path / "out")
    back = oneoff.load_release(tmp_path / "out")
    assert release.weights is not None
    assert back.weights is not None
    assert back.weights.mean.tolist() == release.weights.mean.tolist()
    where = "age < 40 and occupation = 'Manager'"
    assert back.count(where, weighted=True) == release.count(where, weighted=True)
    verdict = oneoff.verify(tmp_path / "out")
    assert verdict.holds
    assert any("Mean weights are published" in remark for remark in verdict.remarks)
    described = json.loads((tmp_path / "out/public/release.json").read_text())
    assert described["weight"] == {"name": "weight", "spread": release.weights.spread}
    assert oneoff.audit(oneoff.load_release(tmp_path / "out", private=True), table).problems == ()
    assert table.weight is not None
    own = set(table.weight.each.tolist())
    for path in (tmp_path / "out/public").glob("*.parquet"):
        frame = pq.read_table(path)
        if "weight" in frame.column_names:  # one of many may be the mean of its cell by chance
            assert sum(mean in own for mean in set(frame["weight"].to_pylist())) < 0.2 * len(own)


@pytest.mark.parametrize(("promise", "method"), [("k-anonymity:5", "mondrian"), ("beta-likeness:3", "tallies")])
def test_the_audit_finds_means_that_are_not_those_of_the_people(promise: str, method: str) -> None:
    table = _table()
    release = oneoff.anonymize(table, promise, method=method, seed=1)
    assert oneoff.audit(release, table).problems == ()
    assert release.weights is not None
    mean = release.weights.mean.copy()
    mean[3] *= 1.0001
    wrong = replace(release, weights=replace(release.weights, mean=mean))
    assert oneoff.audit(wrong, table).problems == ("a published mean weight is not that of the people it is of",)
    assert oneoff.audit(release, replace(table, weight=None)).problems == ()
    assert table.weight is not None
    other = replace(table, weight=Weight("other", table.weight.each))
    assert "'other'" in oneoff.audit(release, other).problems[0]


@pytest.mark.usefixtures("without_pictures")
def test_weights_that_are_none_are_found_out_by_a_recipient(tmp_path: Path) -> None:
    release = oneoff.anonymize(_table(), "beta-likeness:3", method="tallies", seed=1)
    assert release.weights is not None
    with pytest.raises(ValueError, match="finite"):
        replace(release.weights, mean=-release.weights.mean)
    with pytest.raises(ValueError, match="finite"):
        replace(release.weights, spread=math.nan)
    release.write(tmp_path / "out")
    for name, column in (("cells.parquet", "weight"), ("microdata.parquet", "weight")):
        assert _damaged(tmp_path / "out/public", name, column)


def _damaged(public: Path, name: str, column: str) -> bool:
    """Is a file with another number in it refused, although its hash is stated?"""
    import hashlib

    path, described = public / name, json.loads((public / "release.json").read_text())
    before = path.read_bytes()
    frame = pl.read_parquet(before)
    frame[0, column] = frame[0, column] * 2
    frame.write_parquet(path)
    stated = described | {"files": described["files"] | {name: hashlib.sha256(path.read_bytes()).hexdigest()}}
    (public / "release.json").write_text(json.dumps(stated))
    try:
        oneoff.load_release(public)
    except DamagedRelease:
        return True
    finally:
        path.write_bytes(before)
        (public / "release.json").write_text(json.dumps(described))
    return False


@pytest.mark.parametrize("method", ["mondrian", "tallies"])
@pytest.mark.usefixtures("without_pictures")
def test_descriptions_of_weights_that_make_no_sense_are_refused(tmp_path: Path, method: str) -> None:
    oneoff.anonymize(_table(500), "beta-likeness:3", method=method, seed=1).write(tmp_path / "out")
    path = tmp_path / "out/public/release.json"
    described = json.loads(path.read_text())
    name, spread = described["weight"]["name"], described["weight"]["spread"]
    strange: list[Any] = [
        None, 5, "weight", [], {}, {"name": name}, {"spread": spread}, {"name": "none", "spread": spread},
        {"name": "age", "spread": spread}, {"name": name, "spread": "much"}, {"name": name, "spread": -1},
        {"name": name, "spread": math.nan}, {"name": [name], "spread": spread}, {"name": name, "spread": None},
    ]  # fmt: skip
    for each in strange:
        path.write_text(json.dumps(described | {"weight": each}))
        with pytest.raises(DamagedRelease):
            oneoff.load_release(tmp_path / "out")
    path.write_text(json.dumps({key: value for key, value in described.items() if key != "weight"}))
    with pytest.raises(DamagedRelease):
        oneoff.load_release(tmp_path / "out")


def test_a_mean_of_one_person_is_refused_and_found() -> None:
    with pytest.raises(BadValue, match="somebody's own weight"):
        _grouped(_small(), [0, 0, 0, 1, 1, 2])
    with pytest.raises(BadValue, match="1 in which one person has more than half"):
        _grouped(replace(_small(), person=np.array([0, 0, 0, 1, 2, 3])), [0, 0, 0, 1, 1, 1])
    release = _grouped(replace(_small(), weight=None), [0, 0, 0, 1, 1, 2])
    three = _grouped(_small(), [0, 0, 1, 1, 2, 2]).weights
    verdict = oneoff.audit(replace(release, weights=three), guarantee="k-anonymity:1")
    assert not verdict.holds
    assert "one person alone" in verdict.problems[-1]


@pytest.mark.parametrize("method", ["ring", "exact-size", "perturbation", "privbayes", "heterogeneous"])
def test_methods_without_groups_carry_no_weights(method: str) -> None:
    with pytest.raises(MethodMismatch, match=r"carry no weights.*transversal, mondrian.*tallies"):
        oneoff.anonymize(_table(500), "l-diversity:2", method=method)


def test_a_release_without_weights_says_so() -> None:
    release = oneoff.anonymize(_table(weight=None), "k-anonymity:5")
    with pytest.raises(BadValue, match=r"no weights.*--weight COLUMN"):
        release.count("age < 30", weighted=True)


# --- weights that are made from values


def test_weights_made_from_values_are_refused_where_noise_hides_these() -> None:
    table = _table()
    assert table.weight is not None
    cases = replace(table, weight=Weight("weight", np.where(table.values == 2, 1.0, 10.0)))
    with pytest.raises(BadValue, match=r"who has which value.*standard deviations less in 'weight'"):
        oneoff.anonymize(cases, "beta-likeness:3", method="tallies", seed=1)
    release = oneoff.anonymize(table, "beta-likeness:3", method="tallies", seed=1)
    assert any("say who has which value" in problem for problem in oneoff.audit(release, cases).problems)
    told = oneoff.publish.publish(cases, "k-anonymity:5", method="mondrian", seed=1).notices
    assert any("weights go with the sensitive column" in notice for notice in told)


def test_weights_that_have_nothing_to_do_with_values_tell_nothing() -> None:
    table = _table(6_000)
    rng = np.random.default_rng(3)
    cell = (np.arange(table.rows) // 6).astype(np.int32)
    by_chance = replace(table, weight=Weight("w", rng.lognormal(0, 1, table.rows)))
    assert telling(by_chance, cell) is None
    by_cell = replace(table, weight=Weight("w", 1.0 + cell))
    assert telling(by_cell, cell) is None


def test_how_far_apart_weights_are_by_hand() -> None:
    """Cells of two, one of each value: 3 and 1 around 2, so half of the mean above and half below it."""
    values = np.tile([0, 1], 60).astype(np.int32)
    frame = pl.DataFrame(
        {"q": np.arange(120), "s": np.where(values == 0, "a", "b"), "w": np.where(values == 0, 3.0, 1.0)}
    )
    table = oneoff.read_table(frame, quasi="q", sensitive="s", weight="w")
    told = telling(table, (np.arange(120) // 2).astype(np.int32))
    assert told is not None
    # 60 people are off by .5 each; half of them are free; variance 120 * .25 / (120 - 60)
    assert (told.label, told.apart) == ("a", pytest.approx(30 / (30 * math.sqrt(0.5))))


def test_numbers_that_weights_rise_with_are_found_in_ranges() -> None:
    rng = np.random.default_rng(5)
    income = rng.permutation(3_000)
    frame = pl.DataFrame({"q": np.arange(3_000), "s": income, "w": 1 + income / 3_000})
    table = oneoff.read_table(frame, quasi="q", sensitive="s", weight="w")
    told = telling(table, (np.arange(3_000) // 6).astype(np.int32))
    assert told is not None
    assert abs(told.apart) > 1


# --- utility, profile, sample, command line


def test_aggregates_by_weight() -> None:
    table = _table()
    release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1)
    queries = random_aggregates(table, 200, attributes=2, rng=np.random.default_rng(1))
    weighted = aggregate_errors(release, table, queries, weighted=True)
    people = aggregate_errors(release, table, queries)
    assert weighted.count.median_width is None
    assert people.count.median_width is not None
    assert 0 < weighted.count.median < 0.1
    same = replace(table, weight=Weight("weight", np.full(table.rows, 3.0)))
    alike = oneoff.anonymize(same, "k-anonymity:5", method="mondrian", seed=1)
    again = aggregate_errors(alike, same, queries, weighted=True)
    assert again.count.median == pytest.approx(aggregate_errors(alike, same, queries).count.median)
    with pytest.raises(BadValue, match="no weights in the table"):
        aggregate_errors(release, replace(table, weight=None), queries, weighted=True)


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("fnlwgt", [77516, 83311, 215646], "weight"),
        ("PWGTP", [10, 20, 35], "weight"),
        ("perwt", [10.5, 20.0, 35.0], "weight"),
        ("final_weight", [0.5, 1.5, 2.0], "weight"),
        ("finalWt", [0.5, 1.5, 2.0], "weight"),
        ("weight", [812.5, 1033.1, 950.0], "weight"),
        ("weight", [0.4, 1.3, 2.2], "weight"),
        ("weight", [54, 71, 102], "quasi"),
        ("birth weight", [2900, 3100, 4000], "quasi"),
        ("fnlwgt", ["low", "high", "low"], "quasi"),
        ("wgt", [-1.0, 2.0, 3.0], "quasi"),
    ],
)
def test_a_profile_proposes_the_role(name: str, values: list[Any], role: str) -> None:
    found = oneoff.profile(pl.DataFrame({"age": [30, 40, 50], name: values}))
    column = next(each for each in found.columns if each.name == name)
    assert column.suggested_role == role
    assert ("--weight" in column.reason) == (role == "weight")


def test_a_profile_of_a_table_knows_the_weight() -> None:
    roles = {column.name: column.role for column in oneoff.profile(_small()).columns}
    assert roles == {"age": "quasi", "sex": "quasi", "illness": "sensitive", "weight": "weight"}


def test_weights_of_the_sample_go_with_quasi_identifiers_and_change_nothing_else() -> None:
    with_them, without = (oneoff.sample(3_000, seed=5, weights=flag) for flag in (True, False))
    assert with_them.drop_columns(["weight"]).equals(without)
    frame = pl.from_arrow(with_them)
    assert isinstance(frame, pl.DataFrame)
    means = dict(frame.group_by(pl.col("race") == "White").agg(pl.col("weight").mean()).rows())
    assert means[True] > 1.5 * means[False]
    assert frame["weight"].min() > 0  # type: ignore[operator]


@pytest.mark.usefixtures("without_pictures")
def test_weights_from_the_command_line_and_a_job(tmp_path: Path) -> None:
    pq.write_table(oneoff.sample(1_500, seed=3, weights=True, values=8), tmp_path / "survey.parquet")
    job = tmp_path / "job.toml"
    job.write_text(
        'input = "survey.parquet"\nguarantee = "k-anonymity:5"\nquasi = ["age", "gender"]\nsensitive = "occupation"\n'
        'identifiers = ["person"]\nweight = "weight"\n'
    )
    done = command("anonymize", job, "--out", tmp_path / "out")
    assert done.status == 0
    assert "Mean weights are published" in done.out.replace("\n", " ")
    assert 'weight = "weight"' in (tmp_path / "out/private/job.toml").read_text()
    asked = command("query", tmp_path / "out/public", "age < 30", "--weighted", "--json")
    truth = pl.read_parquet(tmp_path / "survey.parquet").filter(pl.col("age") < 30)["weight"].sum()
    assert asked.json["weighted"] is True
    assert asked.json["low"] <= truth <= asked.json["high"]
    assert asked.json["count"] == pytest.approx(truth, rel=0.02)
    assert "weighted" not in command("query", tmp_path / "out/public", "age < 30", "--json").json
    assert command("audit", tmp_path / "out").status == 0
    measured = command("utility", tmp_path / "out", "--queries", 50, "--seed", 1, "--weighted", "--json")
    assert measured.json["queries"]["count"]["median_width"] is None
    assert command("utility", tmp_path / "out", "--weighted").status == 2
    (tmp_path / "out/private/job.toml").unlink()  # the release itself knows which column it was
    assert command("audit", tmp_path / "out", "--table", tmp_path / "survey.parquet").status == 0
    refused = command(
        "anonymize", tmp_path / "survey.parquet", "--quasi", "age,gender", "--sensitive", "occupation", "--weight",
        "weight", "--guarantee", "l-diversity:2", "--method", "anatomy", "--out", tmp_path / "never",
    )  # fmt: skip
    assert refused.status == 2
    assert "carry no weights" in refused.err


@pytest.mark.usefixtures("without_pictures")
def test_survey_weights_of_a_real_table(tmp_path: Path, data_dir: Path) -> None:
    columns = "age,workclass,education,race,sex"
    done = command(
        "anonymize", data_dir / "adult.parquet", "--quasi", columns, "--sensitive", "occupation", "--weight", "fnlwgt",
        "--guarantee", "beta-likeness:3+k-anonymity:5", "--missing", "drop", "--rows", "20000", "--out", tmp_path / "o",
    )  # fmt: skip
    assert done.status == 0, done.err
    frame = pl.read_parquet(data_dir / "adult.parquet").head(20_000).drop_nulls([*columns.split(","), "occupation"])
    held = 0
    for job in frame["occupation"].unique().sort():
        asked = command("query", tmp_path / "o/public", f"age < 40 and occupation = '{job}'", "--weighted", "--json")
        truth = frame.filter((pl.col("age") < 40) & (pl.col("occupation") == job))["fnlwgt"].sum()
        held += asked.json["low"] <= truth <= asked.json["high"]
    assert held >= frame["occupation"].n_unique() - 3
