"""People found by their quasi-identifiers (paper 003, section 5.1), against the definition over all subsets."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.audit import generalized as boxes
from oneoff.audit.recognition import Recognition, _columns, _files, _over_order, recognition
from oneoff.errors import BadValue, OneoffError
from oneoff.models import KAnonymity
from oneoff.models.adversary import Adversary
from oneoff.plans import Channel, Partition
from oneoff.publish import publish
from oneoff.releases import Bucketized, Generalized, Masked, Perturbed, Published, bucketize, generalize, perturb
from oneoff.releases.folder import load_release
from oneoff.releases.private import load_links
from oneoff.table import Attribute, Table
from oneoff.table.read import read_table
from oneoff.table.sample import SAMPLE_ROLES, sample
from tests.tables import examples, tables

module = import_module("oneoff.audit.recognition")  # the function in it has the same name

METHODS = {
    "mondrian": "l-diversity:2",
    "heterogeneous": "l-diversity:2",
    "anatomy": "l-diversity:2",
    "perturbation": "beta-likeness:2",
    "mutual-cover": "delta-probability:0.5+l-diversity:2",
}


@pytest.fixture(scope="module")
def few() -> Table:
    return read_table(sample(40, seed=3, values=6), **{**SAMPLE_ROLES, "quasi": ("age", "gender", "education", "race")})


def masked(table: Table, rng: np.random.Generator, changed: float = 0.3) -> Masked:
    """Some of the codes are those of somebody else."""
    other = rng.permuted(table.codes, axis=0)
    codes = np.where(rng.random(table.codes.shape) < changed, other, table.codes)
    person = rng.permutation(table.rows)
    return Masked(
        method="test",
        model=KAnonymity(1),
        quasi=table.quasi,
        codes=codes[person],
        sensitive=table.sensitive,
        values=table.values[person],
        counts=table.counts,
        links=np.argsort(person),
    )


def generalized(table: Table, rng: np.random.Generator, numeric_as: Any = "range", columns: Any = "box") -> Generalized:
    group = np.unique(rng.integers(0, 4, table.rows), return_inverse=True)[1].astype(np.int32)
    made = {"method": "test", "against": "reader", "rng": rng, "numeric_as": numeric_as, "columns": columns}
    return generalize(table, Partition(group), KAnonymity(1), **made)


def bucketized(table: Table, rng: np.random.Generator) -> Bucketized:
    group = np.unique(rng.integers(0, 4, table.rows), return_inverse=True)[1].astype(np.int32)
    return bucketize(table, Partition(group), KAnonymity(1), method="test", against=Adversary.READER, rng=rng)


def perturbed(table: Table, rng: np.random.Generator) -> Perturbed:
    many = len(table.counts)
    channel = Channel(np.ones((many, many), dtype=np.int64) + 3 * np.eye(many, dtype=np.int64))
    return perturb(table, channel, KAnonymity(1), method="test", against=Adversary.READER, rng=rng)


FORMS: dict[str, Callable[[Table, np.random.Generator], Published]] = {
    "masked": masked,
    "ranges": generalized,
    "sets": lambda table, rng: generalized(table, rng, "set"),
    "tallies": lambda table, rng: generalized(table, rng, columns="tally"),
    "bucketized": bucketized,
    "perturbed": perturbed,
}


def fits(release: Published, record: dict[str, Any], attribute: Attribute, label: Any) -> bool:
    """Does a published record match on a value, going by what its columns say?"""
    name = attribute.name
    if "occurs" in record:
        return str(label) in record["occurs"][name]
    if f"{name}_min" in record:
        low, high = record[f"{name}_min"], record[f"{name}_max"]
        if attribute.kind == "ordered":
            label, low, high = (attribute.labels.tolist().index(each) for each in (label, low, high))
        return bool(low <= label <= high)
    if isinstance(record[name], list):
        return label in record[name]
    if isinstance(release, Generalized):
        assert attribute.hierarchy is not None
        return any(path[0] == str(label) and record[name] in path for path in attribute.hierarchy.rows())
    return bool(record[name] == label)


def records_of(release: Published) -> list[dict[str, Any]]:
    if not isinstance(release, Masked):
        records, files = release.to_arrow().to_pylist(), release.public_files()
        tallies = files["columns.parquet"].to_pylist() if "columns.parquet" in files else []
        for record in records if tallies else []:
            mine = [line for line in tallies if line["group"] == record["group"]]
            record["occurs"] = {a.name: [x["value"] for x in mine if x["column"] == a.name] for a in release.quasi}
        return records
    columns = {a.name: a.decode(release.codes[:, j]).tolist() for j, a in enumerate(release.quasi)}
    if release.sensitive is not None:
        columns[release.sensitive.name] = release.sensitive.decode(release.values).tolist()
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


def probabilities_of(release: Published, table: Table) -> list[list[Fraction]]:
    """[record][value of the table]: how likely the record is to have it, as published."""
    if table.sensitive is None:
        return [[] for _ in range(release.rows)]
    labels, records = table.sensitive.labels.tolist(), records_of(release)
    if not isinstance(release, Bucketized):
        return [[Fraction(record[table.sensitive.name] == label) for label in labels] for record in records]
    lines = release.sensitive_table().to_pylist()
    size = {b: sum(line["count"] for line in lines if line["bucket"] == b) for b in range(release.buckets)}
    share = {
        (line["bucket"], line[table.sensitive.name]): Fraction(line["count"], size[line["bucket"]]) for line in lines
    }
    return [[share.get((record["bucket"], label), Fraction(0)) for label in labels] for record in records]


def twin(release: Published, table: Table) -> tuple[list[Fraction], list[Fraction]]:
    """F_0 .. F_d of identity and attribute disclosure, by definition."""
    assert release.links is not None
    d, n, records, probabilities = len(table.quasi), table.rows, records_of(release), probabilities_of(release, table)
    identity, attribute = [Fraction(0)] * (d + 1), [Fraction(0)] * (d + 1)
    for t in range(n):
        labels = [a.labels.tolist()[table.codes[t, j]] for j, a in enumerate(table.quasi)]
        fit = [[fits(release, r, a, label) for a, label in zip(table.quasi, labels, strict=True)] for r in records]
        for size in range(d + 1):
            for used in combinations(range(d), size):
                found = [r for r in range(release.rows) if all(fit[r][j] for j in used)]
                if release.links[t] in found:
                    identity[size] += Fraction(1, len(found) * n)
                if found and table.sensitive is not None:
                    hits = sum((probabilities[r][table.values[t]] for r in found), Fraction(0))
                    attribute[size] += hits / len(found) / n
    return identity, attribute


def agrees(result: Recognition, release: Published, table: Table) -> None:
    identity, attribute = twin(release, table)
    assert result.exact
    assert result.people == table.rows
    assert result.identity == pytest.approx([float(x) for x in identity], abs=1e-12)
    assert result.attribute == pytest.approx([float(x) for x in attribute], abs=1e-12)
    p, d = Fraction(3, 10), result.quasi
    expected = sum((p**s * (1 - p) ** (d - s) * x for s, x in enumerate(identity)), Fraction(0))
    assert result.at(0.3).identity == pytest.approx(float(expected))


@pytest.mark.parametrize("form", FORMS)
@examples(40)
@given(table=tables(most=12), seed=st.integers(0, 2**32))
def test_every_form_as_defined(form: str, table: Table, seed: int) -> None:
    release = FORMS[form](table, np.random.default_rng(seed))
    agrees(recognition(release, table), release, table)


@pytest.mark.parametrize("method", METHODS)
def test_releases_of_methods(few: Table, method: str, tmp_path: Path) -> None:
    """In memory, and read back from a folder, where codes may mean other labels."""
    release = publish(few, METHODS[method], method=method, seed=4).release
    result = recognition(release, few)
    agrees(result, release, few)
    replace(release, private_half=dict).write(tmp_path / "out")  # without a report
    back = replace(load_release(tmp_path / "out"), links=load_links(tmp_path / "out" / "private"))
    again = recognition(back, few)
    assert again.identity == pytest.approx(result.identity, abs=1e-12)
    assert again.attribute == pytest.approx(result.attribute, abs=1e-12)


def test_own_code_books(few: Table) -> None:
    """Labels that only the release or only the table knows match nobody; the rest is found under its label."""
    release = masked(few, np.random.default_rng(1))
    quasi, codes = [], release.codes.copy()
    for j, attribute in enumerate(release.quasi):
        used, codes[:, j] = np.unique(release.codes[:, j], return_inverse=True)
        quasi.append(replace(attribute, labels=attribute.labels[used]))
    codes[:5, 0] = len(quasi[0].labels)
    quasi[0] = replace(quasi[0], labels=np.append(quasi[0].labels, 200))
    other = replace(release, quasi=tuple(quasi), codes=codes)
    agrees(recognition(other, few), other, few)
    assert few.sensitive is not None
    fewer = np.where(release.values == 0, 1, release.values) - 1  # nobody shows the first value any more
    renamed = replace(few.sensitive, labels=few.sensitive.labels[1:])
    other = replace(release, values=fewer.astype(np.int32), sensitive=renamed, counts=few.counts[1:])
    agrees(recognition(other, few), other, few)
    boxes = generalized(few, np.random.default_rng(1))
    fewer = (np.where(boxes.values == 0, 1, boxes.values) - 1).astype(np.int32)
    other = replace(boxes, values=fewer, sensitive=renamed, counts=few.counts[1:])
    agrees(recognition(other, few), other, few)


@pytest.mark.parametrize("form", FORMS)
def test_both_ends_of_the_curve(few: Table, form: str) -> None:
    release = FORMS[form](few, np.random.default_rng(2))
    result = recognition(release, few)
    nothing, everything = result.at(0), result.at(1)
    assert nothing.identity == pytest.approx(1 / few.rows)  # all records match
    if form != "perturbed":
        assert nothing.attribute == pytest.approx(float(sum(share**2 for share in few.prior)))
    assert everything.identity == pytest.approx(result.identity[-1])
    assert everything.attribute == pytest.approx(result.attribute[-1] if result.attribute else None)
    assert result.at(0.5).identity == pytest.approx(sum(result.identity) / 2**result.quasi)


def test_by_hand() -> None:
    """Three people, the ages of the first two exchanged: with the age everybody else is found."""
    table = Table(
        (Attribute("age", "numeric", np.array([30, 40, 50])), Attribute("sex", "categorical", np.array(["f", "m"]))),
        np.array([[0, 0], [1, 1], [2, 1]], dtype=np.int32),
        Attribute("s", "categorical", np.array(["a", "b"], dtype=object)),
        np.array([0, 1, 1], dtype=np.int32),
    )
    release = Masked(
        method="test",
        model=KAnonymity(1),
        quasi=table.quasi,
        codes=np.array([[1, 0], [0, 1], [2, 1]], dtype=np.int32),
        sensitive=table.sensitive,
        values=table.values,
        counts=table.counts,
        links=np.arange(3),
    )
    result = recognition(release, table)
    # nothing used; age or sex: the third by age, the first alone by sex, the others half; both: only the third
    assert result.identity == pytest.approx((1 / 3, (0 + 0 + 1 + 1 + 0.5 + 0.5) / 3, 1 / 3))
    assert result.attribute == pytest.approx(((1 / 3 + 2 / 3 + 2 / 3) / 3, (0 + 0 + 1 + 1 + 1 + 1) / 3, 1 / 3))
    assert result.worst() == 0.5
    text = result.sentence()
    assert "all 2 quasi-identifiers" in text
    assert "probability 0.50" in text
    assert "41.7%" in text
    assert "exact, over 3 people" in text


def test_where_nothing_helps_nothing_is_worst() -> None:
    """All look the same, so that the curve is flat; rounding decides nothing."""
    codes = np.zeros((7, 3), dtype=np.int32)
    quasi = tuple(Attribute(f"q{j}", "numeric", np.array([1])) for j in range(3))
    table = Table(quasi, codes, Attribute("s", "numeric", np.arange(7)), np.arange(7, dtype=np.int32))
    result = recognition(masked(table, np.random.default_rng(1)), table)
    assert result.worst() == 0
    assert result.at(0.37).identity == pytest.approx(1 / 7)


def test_someone_whose_links_are_wrong_is_not_found(few: Table) -> None:
    release = generalized(few, np.random.default_rng(2))
    assert release.links is not None
    release = replace(release, links=release.links[::-1].copy())
    agrees(recognition(release, few), release, few)


def test_without_a_sensitive_column() -> None:
    full = read_table(sample(50, seed=1), quasi=["age", "race"])
    assert full.sensitive is None
    for release in (masked(full, np.random.default_rng(1)), generalized(full, np.random.default_rng(1))):
        result = recognition(release, full)
        assert result.attribute is None
        assert result.at(0.4).attribute is None
        assert result.at(0.4).attribute_interval is None
        assert "share" not in result.sentence()
        assert result.identity == pytest.approx([float(x) for x in twin(release, full)[0]])
        assert result.as_dict()["attribute_by_used"] is None


def simulated(patch: pytest.MonkeyPatch, release: Published, table: Table, seed: int, **budgets: int) -> Recognition:
    for name, budget in budgets.items():
        patch.setattr(module if hasattr(module, name) else boxes, name, budget)
    return recognition(release, table, rng=np.random.default_rng(seed))


BUDGETS: dict[str, dict[str, int]] = {
    "orders": {"MOST_ROWS": 10, "FEWEST_ORDERS": 15, "MOST_PAIRS": 10, "FEWEST_PEOPLE": 400},
    "people": {"MOST_ROWS": 10, "FEWEST_ORDERS": 18, "MOST_PAIRS": 300 * 2**7, "FEWEST_PEOPLE": 10},
}


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("form", FORMS)
def test_estimates_are_near_the_truth(people: Table, form: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = FORMS[form](people, np.random.default_rng(5))
    truth = recognition(release, people)
    guess = simulated(monkeypatch, release, people, 7, **BUDGETS[kind])
    assert truth.exact
    assert not guess.exact
    assert "estimated" in guess.sentence()
    for p in (0.2, 0.5, 0.8):
        true, guessed = truth.at(p), guess.at(p)
        pairs = (
            (true.identity, guessed.identity, guessed.identity_error),
            (true.attribute, guessed.attribute, guessed.attribute_error),
        )
        for right, estimate, error in pairs:
            assert right is not None
            assert estimate is not None
            assert error is not None
            assert abs(estimate - right) <= 4 * error + 1e-12  # few draws: the error is itself an estimate
            assert 0 < error < right
        assert guessed.identity_interval is not None
        low, high = guessed.identity_interval
        assert 0 <= low <= guessed.identity <= high <= 1
        assert high - low == pytest.approx(2 * 1.959964 * (guessed.identity_error or 0))
    if isinstance(release, Generalized):
        assert guess.people < people.rows
    assert simulated(monkeypatch, release, people, 7, **BUDGETS[kind]) == guess


@pytest.mark.parametrize("form", FORMS)
def test_all_orders_together_are_exact(few: Table, form: str) -> None:
    """Everybody with every order of the attributes: no chance is left, so estimates have no bias."""
    release, orders = FORMS[form](few, np.random.default_rng(5)), np.array(list(permutations(range(4))))
    truth = recognition(release, few)
    assert release.links is not None
    if isinstance(release, Generalized):
        person = np.stack((release.box[release.links], few.values), axis=1).astype(np.int64)
        who = np.arange(few.rows)
        looks = [boxes._among_boxes(release, few, person, who, np.tile(o, (few.rows, 1))).mean(axis=0) for o in orders]
    else:
        assert isinstance(release, Masked | Perturbed | Bucketized)
        codes, files = _columns(release, few), _files(release, few, release.links)
        looks = [_over_order(codes, files, order) / few.rows for order in orders]
    identity, attribute = np.mean(looks, axis=0) * [1, 4, 6, 4, 1]
    assert identity == pytest.approx(truth.identity)
    assert attribute == pytest.approx(truth.attribute)


@pytest.mark.parametrize("form", ["masked", "ranges"])
def test_intervals_hold_the_truth_as_often_as_they_say(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = read_table(sample(80, seed=3), **SAMPLE_ROLES)
    release = FORMS[form](table, np.random.default_rng(5))
    right = recognition(release, table).at(0.6).identity
    budgets = {"MOST_ROWS": 10, "FEWEST_ORDERS": 18, "MOST_PAIRS": 10, "FEWEST_PEOPLE": 100}
    held = 0
    for seed in range(100):
        ends = simulated(monkeypatch, release, table, seed, **budgets).at(0.6).identity_interval
        assert ends is not None
        held += ends[0] <= right <= ends[1]
    assert held >= 86  # of 95; fewer than this has a probability below one in a thousand


def test_a_sample_of_nearly_everybody_is_nearly_certain(few: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    release = generalized(few, np.random.default_rng(5))
    each = release.boxes + 2**4
    errors = []
    for people in (20, few.rows - 1):
        result = simulated(monkeypatch, release, few, 1, MOST_PAIRS=people * each, FEWEST_PEOPLE=2)
        assert result.people == people
        errors.append(result.at(0.9).attribute_error or 0)
    assert 0 < errors[1] < errors[0] / 3  # without what is known of everybody else it would be / 1.4


def test_small_stretches_change_nothing(few: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    release = generalized(few, np.random.default_rng(5))
    whole = recognition(release, few)
    draws = {"MOST_PAIRS": 1, "FEWEST_PEOPLE": 50}
    with pytest.MonkeyPatch.context() as patch:
        drawn = simulated(patch, release, few, 1, **draws)
    monkeypatch.setattr(boxes, "CELLS_AT_ONCE", 60)
    assert recognition(release, few) == whole
    assert simulated(monkeypatch, release, few, 1, **draws) == drawn


def test_many_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than any number of bits: 70 attributes, of which only the first differs between people."""
    n, d = 30, 70
    codes = np.zeros((n, d), dtype=np.int32)
    codes[:, 0] = np.arange(n) // 3
    numbers = Attribute("a0", "numeric", np.arange(10))
    same = tuple(Attribute(f"a{j}", "numeric", np.array([1])) for j in range(1, d))
    sensitive = Attribute("s", "categorical", np.array(["a", "b"], dtype=object))
    table = Table((numbers, *same), codes, sensitive, (np.arange(n) % 2).astype(np.int32))
    monkeypatch.setattr(module, "MOST_ROWS", 200_000 * d)
    monkeypatch.setattr(boxes, "MOST_PAIRS", 3000 * d)
    group = generalize(
        table,
        Partition(codes[:, 0].copy()),
        KAnonymity(1),
        method="test",
        against=Adversary.READER,
        rng=np.random.default_rng(1),
    )
    for release in (masked(table, np.random.default_rng(1), 0.0), group):
        result = recognition(release, table, rng=np.random.default_rng(2))
        for p in (0.0, 0.3, 1.0):
            found = result.at(p)
            expected = p / 3 + (1 - p) / n
            assert not result.exact
            assert abs(found.identity - expected) <= 4 * (found.identity_error or 0) + 1e-9
            assert math.isfinite(found.identity)


def test_plain_json(few: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    release = masked(few, np.random.default_rng(5))
    for result in (recognition(release, few), simulated(monkeypatch, release, few, 1, MOST_ROWS=1, FEWEST_ORDERS=3)):
        told = result.as_dict()
        assert json.loads(json.dumps(told)) == told
        assert [point["p_match"] for point in told["curve"]] == [tenth / 10 for tenth in range(11)]
        assert told["curve"][3]["identity"] == result.at(0.3).identity
        assert told["identity_by_used"][-1] == pytest.approx(result.at(1).identity)
        assert told["attribute_by_used"][0] == pytest.approx(result.at(0).attribute)
        assert all(0 <= share <= 1 for share in told["identity_by_used"])
        assert (told["curve"][3]["identity_interval"] is None) == result.exact
        best = max(result.at(percent / 100).identity for percent in range(101))
        assert result.at(told["worst"]).identity == pytest.approx(best)


def test_refusals(few: Table) -> None:
    release = masked(few, np.random.default_rng(5))
    with pytest.raises(OneoffError, match="links"):
        recognition(replace(release, links=None), few)
    with pytest.raises(OneoffError, match="not one of this table"):
        recognition(replace(release, links=np.arange(3)), few)
    result = recognition(release, few)
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(BadValue, match="P_match"):
            result.at(bad)
