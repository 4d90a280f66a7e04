"""Several sensitive columns: every promise is kept for each of them, and the verdict names the worst."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oneoff
from oneoff.catalog import METHODS
from oneoff.errors import (
    BadGuarantee,
    BadValue,
    DamagedRelease,
    MethodMismatch,
    UnknownColumn,
    UnreachableGuarantee,
)
from oneoff.kernels.joining import join_groups
from oneoff.kernels.rules import allows, allows_groups, counted, moved_left
from oneoff.mechanisms.columns import ruled
from oneoff.models import Counts, Model, PerColumn, by_column, parse
from oneoff.publish import publish
from oneoff.releases import Generalized
from oneoff.table import Table
from tests.command_line import oneoff as command
from tests.models.model_twins import keeps
from tests.tables import column, examples, models, tables

TWO = ["diag", "stay"]


def _people(rows: int = 60, seed: int = 3, columns: int = 2) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    diag = rng.integers(0, 4, rows)
    found = {
        "age": rng.integers(20, 60, rows),
        "sex": np.array(["F", "M"])[rng.integers(0, 2, rows)],
        "diag": np.array(["asthma", "flu", "gout", "ulcer"])[diag],
        "stay": np.where(rng.random(rows) < 0.6, diag + 1, rng.integers(1, 7, rows)),
        "drug": np.array(["a", "b", "c"])[rng.integers(0, 3, rows)],
        "note": np.array(["p", "q"])[rng.integers(0, 2, rows)],
    }
    return pl.DataFrame(found).drop([] if columns == 3 else ["drug"])


def _table(rows: int = 60, sensitive: list[str] | None = None, **given: Any) -> Table:
    names = sensitive or TWO
    return oneoff.read_table(_people(rows, columns=3), quasi=["age", "sex"], sensitive=names, keep=["note"], **given)


@st.composite
def _tables(draw: st.DrawFn) -> Table:
    """Few people with two or three sensitive columns of any kind."""
    table = draw(tables())
    beside = []
    for name in ("t", "u")[: draw(st.integers(1, 2))]:
        raw = draw(st.lists(st.integers(0, draw(st.integers(0, 5))), min_size=table.rows, max_size=table.rows))
        beside.append(column(name, draw(st.sampled_from(["number", "tree"])), raw))
    kept = np.stack([codes for _, codes in beside], axis=1).astype(np.int32)
    attributes = tuple(attribute for attribute, _ in beside)
    return replace(table, keep=attributes, kept=kept, besides=tuple(attribute.name for attribute in attributes))


def _promise(draw: st.DrawFn, table: Table) -> Model:
    """A promise of its own for each column, which the whole table keeps, and perhaps one about identity."""
    own, common = {}, draw(st.sampled_from([(), (parse(f"k-anonymity:{min(2, table.rows)}"),)]))
    for name in table.sensitive_names:
        single = table.of_column(name)
        drawn = draw(models(single))
        kept = drawn.about == "values" and drawn.holds(single.counts, single.counts)
        own[name] = drawn if kept else parse("l-diversity:1")
    return PerColumn(tuple(own.items()), common)


def _keeps(model: Model, table: Table, group: list[int], prior: list[int]) -> bool:
    """By the definition of each part; of branches, over all leaves of the hierarchy."""
    attribute = table.sensitive
    assert attribute is not None
    for part in model.parts():
        tree = attribute.hierarchy if "hierarch" in part.spec() else None
        sizes = group, prior
        if tree is not None:
            sizes = tuple(np.bincount(attribute.leaves, each, len(tree.leaves)).astype(int).tolist() for each in sizes)
        if not keeps(part, *sizes, tree):
            return False
    return True


# --- independent counts


def _shown(release: Generalized, table: Table) -> Iterator[tuple[str, list[list[int]], list[int]]]:
    """From records and links alone: for each column how many of every group have each value, and of all."""
    frame, links = release.to_polars(), release.links
    assert links is not None
    for name in table.sensitive_names:
        attribute, codes = (each := table.of_column(name)).sensitive, each.values
        assert attribute is not None
        labels = attribute.labels.tolist()
        shown = frame[name].to_list()
        assert [shown[record] for record in links.tolist()] == [labels[code] for code in codes.tolist()]
        groups: dict[int, Counter[Any]] = defaultdict(Counter)
        for group, value in zip(frame["group"].to_list(), shown, strict=True):
            groups[group][value] += 1
        yield name, [[each[label] for label in labels] for each in groups.values()], np.bincount(codes).tolist()


@pytest.mark.parametrize("method", ["mondrian", "hilbert", "burel"])
@given(data=st.data())
@examples(40)
def test_every_group_keeps_every_column_s_promise(method: str, data: st.DataObject) -> None:
    table = data.draw(_tables())
    model = _promise(data.draw, table)
    assume(METHODS[method].serves_promise(model))
    release = publish(table, model, method=method, seed=1).release
    assert isinstance(release, Generalized)
    for name, groups, prior in _shown(release, table):
        assert all(_keeps(model.for_column(name), table.of_column(name), group, prior) for group in groups), name
    assert oneoff.audit(release, table).holds


@pytest.mark.parametrize("method", ["mondrian", "burel"])
def test_a_column_can_have_a_promise_of_its_own_and_one_with_another(method: str) -> None:
    table = _table(200)
    model = parse("diag=l-diversity:2,stay=l-diversity:1.5,diag*stay=beta-likeness:3")
    release = oneoff.anonymize(table, model, method=method, seed=1)
    verdict = oneoff.audit(release, table)
    assert verdict.holds
    assert list(verdict.columns) == ["diag", "stay", "diag*stay"]
    assert isinstance(release, Generalized)
    for name, groups, prior in _shown(release, table):
        assert all(keeps(model.for_column(name), group, prior) for group in groups)
    pairs = Counter(release.to_polars().select("group", "diag", "stay").rows())
    sizes, whole = Counter(release.to_polars()["group"]), Counter(release.to_polars().select("diag", "stay").rows())
    for (group, *pair), count in pairs.items():
        assert Fraction(count, sizes[group]) <= 4 * Fraction(whole[tuple(pair)], table.rows)


@given(data=st.data())
@examples(40)
def test_the_verdict_names_the_column_that_is_nearest_to_its_ceiling(data: st.DataObject) -> None:
    table = data.draw(_tables())
    least = min(table.rows // int(each.counts.max()) for each, _ in by_column(table, parse("l-diversity:1")))
    assume(least >= 1)
    release = publish(table, f"l-diversity:{least}", method="mondrian", seed=1).release
    assert isinstance(release, Generalized)
    strain = {
        name: max(Fraction(max(group), sum(group)) * least for group in groups)
        for name, groups, _ in _shown(release, table)
    }
    verdict = oneoff.audit(release, table)
    assert strain[verdict.column] == max(strain.values())
    assert verdict.worst == pytest.approx(float(max(strain.values()) / least))
    assert list(verdict.columns) == list(table.sensitive_names)
    assert verdict.witness.column == verdict.column
    assert f"of '{verdict.column}'" in verdict.sentence()


def test_one_broken_column_breaks_the_promise_and_is_named() -> None:
    table = _table()
    release = oneoff.anonymize(table, "diag=l-diversity:2,stay=l-diversity:2", method="mondrian", seed=1)
    verdict = oneoff.audit(release, table, "k-anonymity:2+diag=l-diversity:2,stay=beta-likeness:0.1")
    assert not verdict.holds
    assert (verdict.columns["diag"].holds, verdict.columns["stay"].holds) == (True, False)
    assert verdict.column == "stay"
    assert [(part.name, part.holds) for part in verdict.parts] == [
        ("", True),
        ("diag: l-diversity", True),
        ("stay: beta-likeness", False),
    ]
    above = verdict.columns["stay"].people_above
    assert verdict.people_above == above > 0
    told = verdict.as_dict()
    assert (told["column"], list(told["columns"])) == ("stay", TWO)
    assert told["columns"]["stay"]["people_above"] == above


def test_people_above_are_counted_once_whatever_column_they_are_above_in() -> None:
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "a": ["x", "x", "x", "y"], "b": ["u", "v", "u", "u"]})
    verdict = oneoff.check(frame, quasi=["q"], sensitive=["a", "b"], guarantee="l-diversity:2")
    assert [each.people_above for each in verdict.columns.values()] == [2, 2]
    assert (verdict.people_above, verdict.certain) == (4, 4)
    same = oneoff.check(frame.with_columns(b=pl.col("a")), quasi=["q"], sensitive=["a", "b"], guarantee="l-diversity:2")
    assert (same.people_above, same.certain) == (2, 2)


# --- the compiled rule, and groups that are joined


@given(data=st.data())
@examples(80)
def test_the_rule_of_several_columns_is_that_of_each(data: st.DataObject) -> None:
    table = data.draw(_tables())
    model = _promise(data.draw, table)
    values, rule = ruled(table, model)
    group = np.sort(np.array(data.draw(st.lists(st.integers(0, 5), min_size=table.rows, max_size=table.rows))))
    each = by_column(table, model)
    for some in (np.flatnonzero(group == g) for g in np.unique(group)):
        count, touched, many = np.zeros(rule.limits.shape[1], np.int64), np.empty(rule.limits.shape[1], np.int64), 0
        many = counted(rule.parts, values[some], 0, len(some), count, touched, many)
        alone = [_alone(own, single, some) for single, own in each]
        assert allows(rule, count, touched, many, len(some)) == all(alone)
        left, right = np.zeros_like(count), count.copy()
        moved_left(rule.parts, values[some], 0, len(some), left, right)
        assert (left == count).all()
        assert not right.any()


def _alone(model: Model, table: Table, rows: np.ndarray) -> bool:
    """The rule of one column."""
    counts = Counts.of(np.bincount(table.values[rows], minlength=len(table.counts)))
    return bool(allows_groups(model.rule(table.counts, table.rows), counts.start, counts.value, counts.count)[0])


@given(data=st.data())
@examples(80)
def test_groups_are_joined_until_every_column_is_content(data: st.DataObject) -> None:
    table = data.draw(_tables())
    model = _promise(data.draw, table)
    values, rule = ruled(table, model)
    group = np.sort(np.array(data.draw(st.lists(st.integers(0, 8), min_size=table.rows, max_size=table.rows))))
    group = np.unique(group, return_inverse=True)[1]
    begin = np.concatenate(([0], np.cumsum(np.bincount(group))))
    assert join_groups(values, begin, rule).tolist() == _joined(table, model, begin.tolist())


def _joined(table: Table, model: Model, begin: list[int]) -> list[int]:
    """Close a block as soon as it will do; what is left joins the last one, again and again."""

    def good(first: int, last: int) -> bool:
        rows = np.arange(begin[first], begin[last])
        return all(_alone(own, single, rows) for single, own in by_column(table, model))

    blocks, first = [], 0
    for last in range(1, len(begin)):
        if good(first, last):
            blocks.append((first, last))
            first = last
    while first < len(begin) - 1:
        first = blocks.pop()[0]
        if good(first, len(begin) - 1):
            blocks.append((first, len(begin) - 1))
            break
    return [number for number, (first, last) in enumerate(blocks) for _ in range(first, last)]


# --- written, read back, verified


@pytest.mark.parametrize(
    "guarantee",
    ["l-diversity:1.5", "k-anonymity:3+diag=beta-likeness:2,stay=l-diversity:1.5", "diag*stay=l-diversity:2",
     "diag=t-closeness:0.4,stay=t-closeness:0.5,ordered", "k-anonymity:4"],
)  # fmt: skip
def test_a_release_comes_back_as_it_was(guarantee: str, tmp_path: Path, without_pictures: None) -> None:
    table = _table(120)
    release = oneoff.anonymize(table, guarantee, method="mondrian", seed=2)
    release.write(tmp_path / "out")
    again = oneoff.load_release(tmp_path / "out", private=True)
    assert isinstance(again, Generalized)
    assert (again.besides, again.guarantee) == (("stay",), parse(guarantee).spec())
    assert [attribute.name for attribute in again.keep] == ["stay", "note"]
    assert again.to_polars().equals(release.to_polars())
    for name in (*TWO, "diag*stay"):
        mine, theirs = release.of_column(name), again.of_column(name)
        assert isinstance(mine, Generalized)
        assert np.array_equal(mine.counts, theirs.counts)
        assert mine.sensitive is not None
        assert theirs.sensitive is not None
        assert mine.sensitive.labels.tolist() == theirs.sensitive.labels.tolist()
        assert [attribute.name for attribute in mine.keep] == ["note"]
    first, second = (oneoff.audit(each, table) for each in (release, again))
    assert first.holds
    assert first.as_dict() == second.as_dict()
    assert oneoff.verify(tmp_path / "out").holds
    described = json.loads((tmp_path / "out/public/release.json").read_text())
    assert [each["prior"] for each in described["besides"]] == [table.of_column("stay").counts.tolist()]
    summary = json.loads((tmp_path / "out/private/summary.json").read_text())
    assert summary["columns"].keys() == first.columns.keys()
    judged = json.loads((tmp_path / "out/private/verdict.json").read_text())
    assert judged["columns"].keys() == first.columns.keys()


def test_a_beside_column_that_was_changed_is_found_out(tmp_path: Path, without_pictures: None) -> None:
    table = _table(120)
    release = oneoff.anonymize(table, "l-diversity:1.5", method="mondrian", seed=2)
    release.write(tmp_path / "out")
    path, about = tmp_path / "out/public/data.parquet", tmp_path / "out/public/release.json"
    frame = pl.read_parquet(path)
    rolled = frame.with_columns(pl.col("stay").reverse())  # everybody's value is somebody's
    pq.write_table(rolled.to_arrow(), path)
    described = json.loads(about.read_text())
    _rehash(described, path, about)
    with pytest.raises(DamagedRelease):
        oneoff.load_release(tmp_path / "out")
    pq.write_table(release.to_arrow(), path)
    described["besides"][0]["prior"][0] += 1
    described["besides"][0]["prior"][1] -= 1
    _rehash(described, path, about)
    with pytest.raises(DamagedRelease, match="contradicts the records in: besides"):
        oneoff.load_release(tmp_path / "out")


def _rehash(described: dict[str, Any], path: Path, about: Path) -> None:
    import hashlib

    described["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    about.write_text(json.dumps(described))


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.update(besides=None),
        lambda told: told.update(besides=[7]),
        lambda told: told["besides"][0].update(name="nobody"),
        lambda told: told["besides"].append(told["besides"][0]),
        lambda told: told.pop("besides"),
        lambda told: told["besides"][0].update(values=[1, 1, 2, 3, 4, 5]),
        lambda told: told["besides"][0].update(prior=[]),
        lambda told: told["promises"][1].update(column="diag*nobody"),
        lambda told: told["promises"][1].pop("column"),
        lambda told: told["promises"].pop(),
    ],
)
def test_a_description_that_makes_no_sense_is_damage(damage: Any, tmp_path: Path, without_pictures: None) -> None:
    release = oneoff.anonymize(_table(120), "diag=l-diversity:2,stay=l-diversity:1.5", method="mondrian", seed=2)
    release.write(tmp_path / "out")
    about = tmp_path / "out/public/release.json"
    described = json.loads(about.read_text())
    damage(described)
    about.write_text(json.dumps(described))
    with pytest.raises(DamagedRelease):
        oneoff.load_release(tmp_path / "out")


def test_an_audit_finds_values_of_a_beside_column_under_other_people() -> None:
    table = _table(120)
    release = oneoff.anonymize(table, "k-anonymity:4", method="mondrian", seed=2)
    assert isinstance(release, Generalized)
    assert release.kept is not None
    kept = release.kept.copy()
    kept[:, 0] = kept[::-1, 0]
    verdict = oneoff.audit(replace(release, kept=kept), table)
    assert not verdict.holds
    assert verdict.column == "stay"
    assert verdict.problems == ("a person's record shows another person's value",)


def test_releases_of_one_column_say_nothing_of_others(tmp_path: Path, without_pictures: None) -> None:
    table = _table(60, ["diag"])
    oneoff.anonymize(table, "diag=l-diversity:2", method="mondrian", seed=1).write(tmp_path / "out")
    described = json.loads((tmp_path / "out/public/release.json").read_text())
    assert "besides" not in described
    assert described["guarantee"] == "l-diversity:2"
    verdict = oneoff.audit(oneoff.load_release(tmp_path / "out", private=True), table).as_dict()
    assert (verdict["column"], verdict["columns"], verdict["knowing"]) == (None, {}, [])


# --- what a recipient counts, and what is lost


def test_counts_about_several_columns_are_exact_inside_groups() -> None:
    table, frame = _table(120), _people(120, columns=3)
    release = oneoff.anonymize(table, "k-anonymity:4", method="mondrian", seed=2)
    both = release.count("diag in ('flu') and stay between 2 and 3")
    truth = frame.filter((pl.col("diag") == "flu") & pl.col("stay").is_between(2, 3)).height
    assert (both.count, both.low, both.high) == (truth, truth, truth)
    some = release.count({"sex": ["F"], "stay": [2], "diag": ["flu", "gout"]})
    meant = frame.filter((pl.col("sex") == "F") & (pl.col("stay") == 2) & pl.col("diag").is_in(["flu", "gout"])).height
    assert some.low <= meant <= some.high
    assert release.unknown_values("diag in ('flue') and stay in (2)")[0].startswith("no record shows 'flue'")
    with pytest.raises(UnknownColumn, match="sex, diag, stay"):
        release.count("stya in (2)")


def test_utility_is_that_of_the_worst_column_and_of_each() -> None:
    table = _table(120)
    release = oneoff.anonymize(table, "l-diversity:1.5", method="mondrian", seed=2)
    lost = oneoff.utility(release, table)
    alone = {name: oneoff.utility(release.of_column(name), table.of_column(name)) for name in TWO}
    medians = {name: each.count_error.median for name, each in alone.items() if each.count_error is not None}
    assert lost.count_error is not None
    assert lost.count_error.median == max(medians.values())
    assert list(lost.as_dict()["columns"]) == TWO
    assert all(f"{name} {median:.2%}" in lost.sentence() for name, median in medians.items())
    assert "columns" not in alone["diag"].as_dict()


# --- what knowing one tells about another


def test_what_knowing_one_column_tells_about_another_by_hand() -> None:
    frame = pl.DataFrame(
        {"q": [1, 1, 1, 1, 2, 2], "a": ["x", "x", "y", "y", "x", "y"], "b": ["u", "v", "u", "u", "u", "v"]}
    )
    verdict = oneoff.check(frame, quasi=["q"], sensitive=["a", "b"], guarantee="l-diversity:1.3")
    about = {(each.known, each.about): each for each in verdict.knowing}
    told = about["a", "b"]  # in group 1: x says u or v, y says u for sure; in group 2 everything is certain
    assert (told.highest, told.above) == (1.0, 4 / 6)
    assert told.average == pytest.approx((2 * 0.5 + 2 + 2) / 6)
    assert told.alone == pytest.approx((3 * 3 / 4 + 1 / 4 + 2 / 2) / 6)
    back = about["b", "a"]  # u: one x of three; v: x for sure
    assert back.average == pytest.approx((1 / 3 + 2 * 2 / 3 + 1 + 2) / 6)
    assert "of which" not in verdict.remarks[0]
    assert "Promises are about who knows none of the sensitive columns" in verdict.remarks[0]


@given(table=_tables())
@examples(30)
def test_who_knows_one_column_is_no_less_sure_of_another(table: Table) -> None:
    verdict = oneoff.audit(publish(table, "delta-probability:1", method="mondrian", seed=1).release, table)
    assert [(each.known, each.about) for each in verdict.knowing] == list(permutations(table.sensitive_names, 2))
    assert all(1 >= each.highest >= each.average >= each.alone - 1e-12 for each in verdict.knowing)


def test_an_attacker_who_knows_a_column_looks_among_those_who_have_it() -> None:
    table = _table(400)
    release = oneoff.anonymize(table, "l-diversity:1.5", method="mondrian", seed=2, hold_out=0.2)
    blind = oneoff.attack(release, table, ["skewness", "learned", "linking"])
    assert [finding.name for finding in blind] == [
        "skewness (diag)", "learned (diag)", "linking", "skewness (stay)", "learned (stay)"
    ]  # fmt: skip
    knowing = oneoff.attack(release, table, ["skewness", "learned"], attacker=oneoff.Attacker(knows=("stay",)))
    assert list(knowing.columns) == ["diag"]
    assert knowing["skewness"].rate.share > blind["skewness (diag)"].rate.share
    assert knowing["skewness"].control is not None
    assert knowing.as_dict()["attacker"]["knows"] == ["stay"]
    inside = release.people_in(table)
    told = {(each.known, each.about): each for each in oneoff.audit(release, table).knowing}
    beliefs = knowing["skewness"].per_person()
    assert len(beliefs["row"]) == inside.rows
    assert beliefs["belief"].max() == pytest.approx(told["stay", "diag"].highest)
    with pytest.raises(UnknownColumn, match="'note' is not one of several"):
        oneoff.attack(release, table, attacker=oneoff.Attacker(knows=("note",)))
    with pytest.raises(BadValue, match="knows every sensitive column"):
        oneoff.attack(release, table, attacker=oneoff.Attacker(knows=("diag", "stay")))


# --- methods


def test_burel_joins_groups_for_the_other_columns() -> None:
    frame = oneoff.sample(1500, income=True)
    table = oneoff.read_table(frame, quasi=["age", "gender", "education"], sensitive=["occupation", "income"])
    burel, mondrian = (
        oneoff.utility(
            oneoff.anonymize(table, "income=beta-likeness:0.5,occupation=l-diversity:4", method=name, seed=1), table
        ).ail
        for name in ("burel", "mondrian")
    )
    assert burel is not None
    assert mondrian is not None
    assert burel < 0.9 * mondrian
    for variant in ("paper", "slack", "hybrid"):
        release = oneoff.anonymize(table, "l-diversity:2", method="burel", seed=1, variant=variant)
        assert oneoff.audit(release, table).holds


@pytest.mark.parametrize("method", ["transversal", "packing", "heterogeneous", "ring"])
def test_several_columns_as_one_suit_every_method_in_groups(method: str) -> None:
    table = _table(120)
    release = oneoff.anonymize(table, "diag*stay=l-diversity:2", method=method, seed=1)
    verdict = oneoff.audit(release, table)
    assert verdict.holds
    assert list(verdict.columns) == ["diag*stay"]
    assert isinstance(release, Generalized)
    assert {"diag", "stay", "note"} <= set(release.to_polars().columns)


def test_who_cannot_keep_promises_for_several_columns_says_who_can() -> None:
    table = _table(120)
    with pytest.raises(MethodMismatch, match=r"diag\*stay=l-diversity:2.*methods that do: mondrian, burel, hilbert"):
        oneoff.anonymize(table, "l-diversity:2", method="transversal")
    with pytest.raises(MethodMismatch, match="sabre does not keep"):
        oneoff.anonymize(table, "t-closeness:0.5", method="sabre")
    assert oneoff.anonymize(table, "k-anonymity:5", method="transversal", seed=1).besides == ("stay",)
    with pytest.raises(MethodMismatch, match="anatomy does not keep"):
        oneoff.anonymize(table, "diag*stay=l-diversity:2", method="anatomy")


def test_masked_records_carry_several_columns(tmp_path: Path, without_pictures: None) -> None:
    table = _table(60)
    release = oneoff.anonymize(table, "delta-probability:0.5", method="mutual-cover", seed=1, joint=True)
    release.write(tmp_path / "out")
    again = oneoff.load_release(tmp_path / "out", private=True)
    assert again.besides == ("stay",)
    assert oneoff.audit(again, table).holds
    assert list(oneoff.utility(again, table).columns) == TWO
    both = again.count("diag in ('flu') and stay in (2)")
    assert both.low == both.high == int(((_people(60)["diag"] == "flu") & (_people(60)["stay"] == 2)).sum())


def test_auto_takes_a_method_that_serves_several_columns() -> None:
    table = _table(120)
    outcome = publish(table, "l-diversity:1.5", seed=1)
    assert outcome.release.method in ("burel", "tallies")
    assert publish(table, "t-closeness:0.5", seed=1).release.method == "mondrian"
    assert publish(table, "k-anonymity:3", seed=1).release.method == "mondrian"


def test_what_cannot_be_promised_names_the_column() -> None:
    table = _table(120)
    with pytest.raises(UnreachableGuarantee, match=r"l-diversity:9 for 'stay'"):
        oneoff.anonymize(table, "diag=l-diversity:2,stay=l-diversity:9", method="mondrian")
    with pytest.raises(BadGuarantee, match="nothing is promised about 'stay'"):
        oneoff.anonymize(table, "diag=l-diversity:2", method="mondrian")
    with pytest.raises(UnknownColumn, match="'note' is not a sensitive column"):
        oneoff.anonymize(table, "diag=l-diversity:2,stay=l-diversity:2,note=l-diversity:2", method="mondrian")


def test_notices_tell_promised_columns_from_kept_ones() -> None:
    notices = publish(_table(120), "l-diversity:1.5", method="mondrian", seed=1).notices
    assert [text for text in notices if "covered by no promise" in text] == [
        "published unchanged, because they are to be kept, and covered by no promise: note"
    ]


def test_too_many_combinations_are_refused_with_the_numbers() -> None:
    rows = np.arange(400)
    frame = pl.DataFrame({"q": rows % 3, "a": [f"a{i}" for i in rows], "b": [f"b{i}" for i in rows]})
    table = oneoff.read_table(frame, quasi=["q"], sensitive=["a", "b"])
    with pytest.raises(BadValue, match=r"'a\*b' has too many.*400 \* 400 = 160,000"):
        oneoff.anonymize(table, "a*b=l-diversity:2", method="mondrian")


def test_ceilings_of_a_file_for_one_column_go_out_with_it(tmp_path: Path, without_pictures: None) -> None:
    caps = tmp_path / "caps.csv"
    caps.write_text("value,cap\nasthma,0.5\n*,4*p+0.2\n")
    table = _table(120)
    guarantee = f"diag=f-privacy:{caps},stay=l-diversity:1.5"
    oneoff.anonymize(table, guarantee, method="burel", seed=1).write(tmp_path / "out")
    caps.unlink()  # no recipient has it
    again = oneoff.load_release(tmp_path / "out")
    assert oneoff.audit(again).holds
    limits = again.of_column("diag").model.caps(again.of_column("diag").counts)
    assert limits is not None
    assert limits.ceiling[0] == Fraction(1, 2)


# --- from the command line


def test_from_the_command_line_and_a_job(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pl.DataFrame(oneoff.sample(800, seed=4, income=True)).drop("person").write_csv(path)
    given = ["--quasi", "age,gender", "--sensitive", "occupation,income"]
    promise = "k-anonymity:5+occupation=l-diversity:3,income=l-diversity:2"
    out = command("anonymize", path, *given, "--guarantee", promise, "--method", "mondrian", "--hold-out", 0.1,
                  "--out", tmp_path / "out", "--json")  # fmt: skip
    assert out.status == 0, out.err
    assert out.json["columns"].keys() == {"occupation", "income"}
    assert out.json["column"] in out.json["columns"]
    assert len(out.json["knowing"]) == 2
    for name in ("audit", "verify", "utility"):
        found = command(name, tmp_path / "out", "--json")
        assert found.status == 0, found.err
        assert found.json["columns"].keys() == {"occupation", "income"}
    attacked = command("attack", tmp_path / "out", "--knows", "income", "--attack", "skewness", "--json").json
    assert [each["column"] for each in attacked["attacks"]] == ["occupation"]
    assert attacked["attacks"][0]["outside"] is not None
    asked = command("query", tmp_path / "out/public", "occupation = 'Manager' and income = '40-50K'", "--json").json
    assert asked["low"] == asked["high"]
    again = command("anonymize", tmp_path / "out/private/job.toml", "--out", tmp_path / "again", "--json")
    assert again.json["columns"].keys() == {"occupation", "income"}
    checked = command("check", path, *given, "--guarantee", "occupation=l-diversity:3,income=l-diversity:3", "--json")
    assert checked.status == 1
    assert set(checked.json["columns"]) == {"occupation", "income"}
    assert "Sensitive column (as named): income" in command("profile", path, *given).out
    compared = command("compare", path, *given, "--guarantee", "l-diversity:2", "--method", "mondrian",
                       "--method", "transversal", "--json").json["methods"]  # fmt: skip
    assert [bool(each["refused"]) for each in compared] == [False, True]


def test_the_page_shows_every_column(tmp_path: Path) -> None:
    table = _table(200)
    oneoff.anonymize(table, "l-diversity:1.5", method="mondrian", seed=1).write(tmp_path / "out")
    page = (tmp_path / "out/private/report.html").read_text()
    assert "Column by column" in page
    assert "Somebody who also knows a person" in page


def test_adult(data_dir: Path, tmp_path: Path) -> None:
    path = data_dir / "adult.parquet"
    given = ["--quasi", "age,education,sex,race", "--sensitive", "occupation,income", "--missing", "drop"]
    out = command("anonymize", path, *given, "--guarantee", "occupation=beta-likeness:2,income=l-diversity:1.1",
                  "--method", "mondrian", "--out", tmp_path / "out", "--json", "--rows", 8000)  # fmt: skip
    assert out.status == 0, out.err
    frame = pl.read_parquet(tmp_path / "out/public/data.parquet")
    share = frame.group_by("group", "income").len().with_columns(part=pl.col("len") / pl.col("len").sum().over("group"))
    assert float(share["part"].max()) <= 1 / 1.1  # type: ignore[arg-type]
    whole = dict(frame["occupation"].value_counts().rows())
    for (_,), group in frame.group_by("group"):
        for value, count in group["occupation"].value_counts().rows():
            assert count / group.height <= 3 * whole[value] / frame.height + 1e-9


@pytest.mark.parametrize("method", ["mondrian", "transversal"])
def test_columns_as_one_are_judged_without_those_left_out(method: str) -> None:
    """Some combinations and some values are theirs alone."""
    rows = np.arange(64)
    frame = pl.DataFrame({
        "age": np.append(rows[:60] % 12, [70, 90, 110, 130]),
        "diag": [f"d{i % 4}" if i < 60 else f"x{i}" for i in rows],
        "stay": [i // 4 % 3 if i < 60 else i for i in rows],
    })  # fmt: skip
    table = oneoff.read_table(frame, quasi=["age"], sensitive=TWO, rows_are_people=True)
    release = oneoff.anonymize(table, "diag*stay=l-diversity:3", method=method, seed=1, hold_out=0.3)
    assert release.held_out is not None
    verdict = oneoff.audit(release, table)
    assert (verdict.holds, verdict.problems) == (True, ())


def test_persons_with_several_columns_get_the_method_that_hides_them() -> None:
    frame = oneoff.sample(600, seed=3, values=4, rows_per_person=1.6, income=True)
    table = oneoff.read_table(frame, quasi=["age"], sensitive=["occupation", "income"], person="person")
    release = oneoff.anonymize(table, "occupation=beta-likeness:8,income=beta-likeness:8", most_rows=2, seed=1)
    assert release.method == "tallies"
    assert oneoff.audit(release, table).holds
