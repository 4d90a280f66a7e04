"""The verdict over masked records: two promises of one name, and everything that speaks against a release."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

import oneoff
from oneoff.audit.columns import failing_columns
from oneoff.audit.exposure import knowledge, record_posterior, value_belief
from oneoff.errors import DamagedRelease, OneoffError
from oneoff.models import DeltaProbability
from oneoff.models.adversary import Adversary
from oneoff.plans import Cover, Partition, RandomTable, Redraw
from oneoff.plans.cover import TOTAL
from oneoff.publish import publish
from oneoff.releases import Masked, mask
from oneoff.releases.folder import load_release
from oneoff.releases.masked import load_cover
from oneoff.releases.private import load_links
from oneoff.table import Attribute, Table
from tests.test_laws import changed_again, probability_of, row_of

pytestmark = pytest.mark.usefixtures("without_pictures")

PROMISE = "delta-probability:1/5+l-diversity:4"


def masked(table: Table, promise: str = PROMISE, **options: Any) -> Masked:
    release = publish(table, promise, method="mutual-cover", seed=4, options=options).release
    assert isinstance(release, Masked)
    return release


@st.composite
def covers(draw: st.DrawFn) -> tuple[Table, Cover]:
    """Two quasi-identifiers with two or three values, people in groups, and any tables at all."""
    n = draw(st.integers(2, 6))
    codes = np.array([[draw(st.integers(0, 2)), draw(st.integers(0, 1))] for _ in range(n)], dtype=np.int32)
    group = np.unique([draw(st.integers(0, 1)) for _ in range(n)], return_inverse=True)[1].astype(np.int32)
    quasi = (Attribute("x", "numeric", np.arange(3)), Attribute("y", "categorical", np.array(["a", "b"], dtype=object)))
    sensitive = Attribute("s", "numeric", np.arange(n))
    table = Table(quasi, codes, sensitive, np.arange(n, dtype=np.int32))
    tables = []
    for j in range(2):
        keys, row = np.unique(group.astype(np.int64) * 3 + codes[:, j], return_inverse=True)
        start, shown, weight = [0], [], []
        for key in keys.tolist():
            inside = sorted(set(codes[group == key // 3, j].tolist()))
            parts = [draw(st.integers(0, 4)) for _ in inside]
            parts[0] += sum(parts) == 0
            units = [part * (TOTAL // sum(parts)) for part in parts]
            units[int(np.argmax(units))] += TOTAL - sum(units)
            shown += [c for c, unit in zip(inside, units, strict=True) if unit]
            weight += [unit for unit in units if unit]
            start.append(len(shown))
        tables.append(
            RandomTable(row.astype(np.int32), np.array(start), np.array(shown, dtype=np.int32), np.array(weight))
        )
    redraw = None
    if draw(st.booleans()):
        odds = np.zeros((int(group.max()) + 1, 2), dtype=np.int64)
        for g, j in product(range(len(odds)), range(2)):
            several = len(set(codes[group == g, j].tolist())) > 1
            odds[g, j] = draw(st.integers(1, 5)) if several else 0
        redraw = Redraw(odds, draw(st.integers(1, 2)))
    return table, Cover(Partition(group), tuple(tables), redraw)


def outcomes(table: Table, cover: Cover, person: int) -> dict[tuple[int, ...], Fraction]:
    """Everything the person's record may show, with its probability: Algorithm 3 step by step."""
    rows = [row_of(each, person) for each in cover.tables]
    own = tuple(table.codes[person].tolist())
    found: dict[tuple[int, ...], Fraction] = {}
    for choice in product(*(row.items() for row in rows)):
        shown = tuple(code for code, _ in choice)
        found[shown] = found.get(shown, Fraction(0)) + prod(
            (probability for _, probability in choice), start=Fraction(1)
        )
    if cover.redraw is None or own not in found:
        return found
    changes = changed_again(table, cover, person)
    unchanged = found.pop(own) if changes else Fraction(0)
    for shown, probability in changes.items():
        found[shown] = found.get(shown, Fraction(0)) + unchanged * probability
    return found


@given(covers(), st.integers(0, 2**32))
def test_who_is_behind_a_record(given: tuple[Table, Cover], seed: int) -> None:
    table, cover = given
    release = mask(
        table, cover, DeltaProbability(1), method="m", against=Adversary.BLACK_BOX, rng=np.random.default_rng(seed)
    )
    assert release.links is not None
    shown = release.codes[release.links]
    found = record_posterior(knowledge(cover, table, shown))
    for i in range(table.rows):
        people = np.flatnonzero(cover.partition.group == cover.partition.group[i]).tolist()
        probabilities = {p: outcomes(table, cover, p).get(tuple(shown[i].tolist()), Fraction(0)) for p in people}
        assert probabilities[i] > 0, "what was drawn could be drawn"
        assert found[i, 0] == pytest.approx(float(probabilities[i] / sum(probabilities.values())))
        assert found[i, 1] == pytest.approx(float(max(probabilities.values()) / sum(probabilities.values())))
    assert not oneoff.audit(release, table).problems


@given(covers(), st.lists(st.integers(0, 2), min_size=6, max_size=6), st.integers(0, 2**32))
def test_what_is_believed_of_values(given: tuple[Table, Cover], drawn: list[int], seed: int) -> None:
    table, cover = given
    values = np.array(drawn[: table.rows], dtype=np.int32)
    ceilings = np.array([0.5, 0.7, 1.0])
    release = mask(
        table, cover, DeltaProbability(1), method="m", against=Adversary.BLACK_BOX, rng=np.random.default_rng(seed)
    )
    assert release.links is not None
    shown = release.codes[release.links]
    own, alone, above = [], [], 0
    for i in range(table.rows):
        group = np.flatnonzero(cover.partition.group == cover.partition.group[i]).tolist()
        probabilities = [outcomes(table, cover, i).get(tuple(shown[r].tolist()), Fraction(0)) for r in group]
        belief = [
            sum(p for p, r in zip(probabilities, group, strict=True) if values[r] == v) / sum(probabilities)
            for v in range(3)
        ]
        own.append(float(belief[values[i]]))
        alone.append(float(np.mean(values[group] == values[i])))
        above += any(float(b) > c * (1 + 1e-9) for b, c in zip(belief, ceilings, strict=True))
    found = value_belief(knowledge(cover, table, shown), values, ceilings)
    assert found.own == pytest.approx(np.mean(own))
    assert found.alone == pytest.approx(np.mean(alone))
    assert found.above == pytest.approx(above / table.rows)
    exchanged = value_belief(knowledge(Cover(cover.partition, ()), table, shown), values, ceilings)
    assert (exchanged.own, exchanged.alone) == (pytest.approx(found.alone), pytest.approx(found.alone))
    assert value_belief(knowledge(cover, table, shown), values, None).above is None


@given(covers(), st.fractions(Fraction(1, 6), 1, max_denominator=12))
def test_definition_5_after_the_last_draw(given: tuple[Table, Cover], delta: Fraction) -> None:
    table, cover = given
    release = mask(
        table, cover, DeltaProbability(1), method="m", against=Adversary.BLACK_BOX, rng=np.random.default_rng(1)
    )
    found = failing_columns(cover, table, delta)
    for j in range(2):
        worst, broken = Fraction(0), set()
        for g in range(cover.partition.groups):
            people = np.flatnonzero(cover.partition.group == g).tolist()
            single: dict[int, list[Fraction]] = {}
            for i in people:
                probability = probability_of(release, table, i, j)
                joint: dict[int, Fraction] = {}
                for shown, p in outcomes(table, cover, i).items():
                    joint[shown[j]] = joint.get(shown[j], Fraction(0)) + p
                assert {c: p for c, p in probability.items() if p} == {c: p for c, p in joint.items() if p}
                for code, p in joint.items():
                    single.setdefault(code, []).append(p)
            for column in single.values():
                if sum(column):
                    worst = max(worst, max(column) / sum(column))
                    broken |= {g} if max(column) > delta * sum(column) else set()
        assert found.worst[j][2] == worst
        assert set(found.groups[j].tolist()) == broken


@pytest.mark.slow
def test_the_last_draw_follows_algorithm_3() -> None:
    """Six people, two quasi-identifiers: what comes out, ten thousand times, against the probabilities."""
    codes = np.array([[0, 0], [0, 1], [1, 0], [2, 1], [2, 1], [2, 0]], dtype=np.int32)
    quasi = (Attribute("x", "numeric", np.array([0, 1, 9])), Attribute("y", "numeric", np.array([3, 4])))
    table = Table(quasi, codes, Attribute("s", "numeric", np.arange(6)), np.arange(6, dtype=np.int32))
    cover = masked(table, "delta-probability:1/3+l-diversity:6", randomize_unchanged=True).cover
    assert cover is not None
    rng = np.random.default_rng(8)
    drawn: list[dict[tuple[int, ...], int]] = [{} for _ in range(6)]
    for _ in range(10_000):
        release = mask(table, cover, DeltaProbability(1), method="m", against=Adversary.BLACK_BOX, rng=rng)
        assert release.links is not None
        for i, shown in enumerate(release.codes[release.links].tolist()):
            drawn[i][tuple(shown)] = drawn[i].get(tuple(shown), 0) + 1
    for i in range(6):
        probability = outcomes(table, cover, i)
        assert set(drawn[i]) <= {shown for shown, p in probability.items() if p}
        common = [shown for shown, p in probability.items() if p > Fraction(1, 200)]
        seen, expected = [drawn[i].get(x, 0) for x in common], np.array([float(probability[x]) for x in common])
        if len(common) > 1:
            assert chisquare(seen, expected / expected.sum() * sum(seen)).pvalue > 1e-5


def test_an_insider_learns_no_more_than_the_share_of_a_group_from_exchanged_records() -> None:
    """All orders of four people, all equally likely: whoever sees the records is left with 1/4 for everybody."""
    table = Table(
        (Attribute("x", "numeric", np.arange(4)),), np.arange(4, dtype=np.int32)[:, None],
        Attribute("s", "numeric", np.arange(2)), np.array([0, 0, 1, 1], dtype=np.int32),
    )  # fmt: skip
    made: dict[tuple[tuple[int, int], ...], np.ndarray] = {}  # [x, i]: how often i made the record that shows x
    has: dict[tuple[tuple[int, int], ...], np.ndarray] = {}  # [i]: how often i has the second value
    for values in set(permutations([0, 0, 1, 1])):  # who has which value is not known to the insider
        for order in permutations(range(4)):  # person i shows the number of order[i]
            records = tuple(sorted(zip(order, values, strict=True)))
            made.setdefault(records, np.zeros((4, 4), dtype=int))[list(order), range(4)] += 1
            has.setdefault(records, np.zeros(4, dtype=int))
            has[records] += np.array(values)
    for records, makers in made.items():
        assert (4 * makers == makers.sum(axis=1)[:, None]).all(), "everybody is behind every record with 1/4"
        assert (2 * has[records] == makers[0].sum()).all(), "and has either value with 1/2, as in the group"
    cover = Cover(Partition(np.zeros(4, dtype=np.int32)), ())
    release = mask(
        table, cover, DeltaProbability("1/4"), method="m", against=Adversary.INSIDER, rng=np.random.default_rng(0)
    )
    verdict = oneoff.audit(release, table)
    assert verdict.holds
    assert verdict.against == "insider"
    assert (verdict.worst, verdict.risk_after.highest) == (0.25, 0.25)
    assert not oneoff.audit(release, table, "delta-probability:0.2").holds


def test_two_promises_with_two_names(people: Table) -> None:
    column, record = (oneoff.audit(masked(people, joint=joint), people) for joint in (False, True))
    assert [part.name for part in column.parts] == ["column delta-probability", "hidden-group l-diversity"]
    assert [part.name for part in record.parts] == ["record delta-probability", ""]
    assert (column.against, record.against) == ("black box", "insider")
    assert (column.stands_against, record.stands_against) == ("black box", "insider")
    assert "nothing is promised for several columns" in column.parts[0].sentence
    assert "Nothing is promised for several columns together" in column.sentence()
    assert column.parts[1].sentence != record.parts[1].sentence, "ceilings of hidden groups are not those of people"
    assert "exchanged" in record.sentence()
    told = json.loads(json.dumps(column.as_dict()))
    assert told["masked"]["promise"] == "column"
    assert set(told["masked"]["columns"]) == {attribute.name for attribute in people.quasi}
    assert max(told["masked"]["columns"].values()) <= 0.2
    assert {"own", "highest", "best", "nearly", "certain"} == set(told["masked"]["posterior"])
    assert [point["p_match"] for point in told["masked"]["matching"]["curve"]] == pytest.approx(np.arange(11) / 10)


def test_other_promises_of_a_masked_release(people: Table) -> None:
    release = masked(people)
    assert oneoff.audit(release, people, "l-diversity:4").holds
    assert not oneoff.audit(release, people, "delta-probability:0.1").holds
    assert not oneoff.audit(release, people, "l-diversity:5").holds
    crowd = oneoff.audit(release, people, "k-anonymity:5")
    classes = release.to_polars().group_by([attribute.name for attribute in people.quasi]).len()["len"]
    assert not crowd.holds, "nobody hides among look-alikes"
    assert crowd.levels["k-anonymity"] == crowd.parts[0].level == classes.min()
    assert crowd.people_above == classes.filter(classes < 5).sum()
    joint = masked(people, joint=True)
    assert not oneoff.audit(joint, people, "k-anonymity:2").holds, "exchanged records are still those of the table"


def test_in_how_many_columns_people_were_changed_is_kept_with_the_tables(people: Table, tmp_path: Path) -> None:
    """Version 0.1.0 did not say it, and drew from other values: its folders are not judged by what is drawn now."""
    release = masked(people, randomize_unchanged=True, perturbed_columns=2)
    assert release.cover is not None
    assert release.cover.redraw is not None
    release.write(tmp_path / "out", even_if_broken=True)
    found = load_cover(tmp_path / "out" / "private")
    assert found is not None
    assert found.redraw is not None
    assert found.redraw.columns == 2
    assert np.array_equal(found.redraw.odds, release.cover.redraw.odds)
    path = tmp_path / "out" / "private" / "redraw.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata({}), path)
    with pytest.raises(DamagedRelease, match=r"redraw\.parquet"):
        load_cover(tmp_path / "out" / "private")


def test_each_promise_is_judged_by_its_own_limit(people: Table) -> None:
    release = masked(people, "delta-probability:1/5+l-diversity:4", diverse=True)
    parts = oneoff.audit(release, people, "delta-probability:1/5+delta-probability:1/50").parts
    assert [part.holds for part in parts] == [True, False]
    harder = oneoff.audit(release, people, "delta-probability:1/5+l-diversity:4.2")
    assert not harder.problems, "columns were to keep the ceilings of its own promise, not those of another"


def foreign(redraw: bool) -> tuple[Table, Cover]:
    """Two groups of three; in the first, somebody always shows a value of the second."""
    codes = np.array([[0], [0], [1], [2], [2], [2]], dtype=np.int32)
    table = Table(
        (Attribute("x", "numeric", np.arange(3)),), codes, Attribute("s", "numeric", np.arange(6)),
        np.arange(6, dtype=np.int32),
    )  # fmt: skip
    shown = RandomTable(
        np.array([0, 0, 1, 2, 2, 2], dtype=np.int32), np.arange(4), np.array([0, 2, 2], dtype=np.int32),
        np.full(3, TOTAL),
    )  # fmt: skip
    odds = Redraw(np.array([[1], [0]], dtype=np.int64)) if redraw else None
    return table, Cover(Partition(np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)), (shown,), odds)


@pytest.mark.parametrize("redraw", [False, True])
def test_a_value_from_elsewhere_points_at_who_shows_it(redraw: bool) -> None:
    table, cover = foreign(redraw)
    assert failing_columns(cover, table, Fraction(1, 2)).worst[0][1:] == (2, 1)
    release = mask(
        table, cover, DeltaProbability("1/2"), method="m", against=Adversary.BLACK_BOX, rng=np.random.default_rng(0)
    )
    assert not oneoff.audit(release, table).holds
    fewer = replace(release, cover=replace(cover, tables=(*cover.tables, *cover.tables), redraw=None))
    assert "for every quasi-identifier" in oneoff.audit(fewer, table).problems[0]


def test_reasons_not_to_trust_a_masked_release(people: Table) -> None:
    for joint in (False, True):
        release = masked(people, joint=joint)
        assert release.links is not None
        swapped = release.links.copy()
        swapped[[0, 1]] = swapped[[1, 0]]
        other = release.codes.copy()
        j = int(np.argmax([attribute.size for attribute in people.quasi]))
        other[0, j] = (other[0, j] + people.quasi[j].size // 2) % people.quasi[j].size
        bad = {
            "no record of their own": replace(release, links=np.zeros_like(release.links)),
            "another person's value": replace(release, values=np.roll(release.values, 1)),
            "that of the table": replace(release, counts=release.counts[::-1].copy()),
            "records, the table": replace(release, codes=release.codes[1:], values=release.values[1:]),
            "shows" if joint else "could not be drawn": replace(release, codes=other),
            "private half": replace(release, cover=None),
        }
        if not joint:
            assert release.cover is not None
            bad["ceilings are broken"] = replace(release, cover=replace(release.cover, diverse=True))
        for reason, each in bad.items():
            verdict = oneoff.audit(each, people)
            assert not verdict.holds
            assert reason in verdict.problems[0]
        assert oneoff.audit(release).problems
        fewer = replace(people, codes=people.codes[1:], values=people.values[1:])
        assert "records, the table 599 people" in oneoff.audit(release, fewer).sentence()
        with pytest.raises(OneoffError, match="not one of this table"):
            oneoff.utility(release, fewer)
        assert not oneoff.audit(replace(release, links=None), people).holds


def test_a_release_and_its_folder(people: Table, tmp_path: Path) -> None:
    for name, options in {"tables": {}, "again": {"randomize_unchanged": True}, "joint": {"joint": True}}.items():
        release = masked(people, "delta-probability:1/5", **options)
        release.write(tmp_path / name, even_if_broken=True)
        public = {path.name for path in (tmp_path / name / "public").iterdir()}
        assert public == {"README.md", "data.parquet", "release.json", "report.html"}
        told = json.loads((tmp_path / name / "public" / "release.json").read_text())
        assert (told["form"], told["method"]) == ("masked", "mutual-cover")
        assert not {"groups", "tables", "seed", "cover"} & set(told)
        loaded = load_release(tmp_path / name)
        assert isinstance(loaded, Masked)
        assert loaded.cover is None
        assert loaded.to_arrow().equals(release.to_arrow())
        blind = oneoff.verify(tmp_path / name)
        assert "CANNOT be checked" in blind.sentence()
        assert not blind.holds
        assert not any(part.holds for part in blind.parts), "nothing is said to be kept that was not looked at"
        assert blind.risk_after.highest == 1
        private = tmp_path / name / "private"
        whole = replace(loaded, links=load_links(private), cover=load_cover(private))
        before, after = oneoff.audit(release, people), oneoff.audit(whole, people)
        assert (after.holds, after.worst, after.masked) == (before.holds, before.worst, before.masked)
        assert oneoff.utility(whole, people) == oneoff.utility(release, people)


def test_a_changed_file_is_refused(people: Table, tmp_path: Path) -> None:
    masked(people).write(tmp_path / "out")
    described = tmp_path / "out" / "public" / "release.json"
    told = json.loads(described.read_text())
    told["quasi"][0]["kind"] = "categorical" if told["quasi"][0]["kind"] == "numeric" else "numeric"
    told["rows"] += 1
    described.write_text(json.dumps(told))
    with pytest.raises(DamagedRelease):
        load_release(tmp_path / "out")


def test_counting_masked_records(people: Table) -> None:
    release = masked(people)
    frame = release.to_polars()
    found = release.count("age between 30 and 39")
    assert found.count == frame.filter(frame["age"].is_between(30, 39)).height
    assert (found.low, found.high, found.error) == (0, people.rows, None)
    value = frame["occupation"][0]
    exact = release.count({"occupation": [value]})
    assert exact.low == exact.count == exact.high == (frame["occupation"] == value).sum()


def test_columns_that_travel_with_the_value() -> None:
    table = oneoff.read_table(
        oneoff.sample(200, seed=1), quasi=["age", "gender"], sensitive="occupation", keep=["race"]
    )
    release = masked(table, "delta-probability:1/4")
    assert release.to_arrow().column_names == ["age", "gender", "occupation", "race"]
    pairs = sorted(zip(*(release.to_polars()[name].to_list() for name in ("occupation", "race")), strict=True))
    frame = oneoff.sample(200, seed=1)
    assert pairs == sorted(zip(*(frame[name].to_pylist() for name in ("occupation", "race")), strict=True))
    assert release.kept is not None
    for each in (release, publish(table, "k-anonymity:4", seed=1).release):
        wrong = replace(each, kept=np.roll(each.kept, 1, axis=0))  # type: ignore[attr-defined, call-arg]
        assert "another person's 'race'" in oneoff.audit(wrong, table).problems[0]


@given(covers())
def test_any_tables_are_judged(given: tuple[Table, Cover]) -> None:
    """Whatever somebody drew from, the audit comes to an end and to a number between one over the group and one."""
    table, cover = given
    assume(table.rows > 2)
    release = mask(
        table, cover, DeltaProbability("1/2"), method="m", against=Adversary.BLACK_BOX, rng=np.random.default_rng(2)
    )
    verdict = oneoff.audit(release, table)
    assert 1 / cover.partition.size.max() - 1e-9 <= verdict.parts[0].level <= 1
    assert verdict.holds == (verdict.parts[0].level <= 0.5)
