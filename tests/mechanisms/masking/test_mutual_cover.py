"""Mutual cover (paper 003): the counterexamples to it, what is exchanged, and what is refused."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

import oneoff
from oneoff.audit.exposure import knowledge, record_posterior
from oneoff.errors import BadGuarantee, BadValue, HierarchyError, MethodMismatch, OneoffError, UnreachableGuarantee
from oneoff.mechanisms.masking import mutual_cover
from oneoff.mechanisms.masking.output_tables import Solved, random_output_tables
from oneoff.mechanisms.masking.shapes import ColumnLimits
from oneoff.mechanisms.partitioning import mondrian
from oneoff.models import Counts, DeltaProbability, LDiversity
from oneoff.models.adversary import Adversary
from oneoff.models.spec import parse
from oneoff.plans import Cover, Partition, RandomTable, Redraw
from oneoff.plans.cover import LARGEST_GROUP, TOTAL
from oneoff.publish import publish
from oneoff.releases import Masked, mask
from oneoff.table import Attribute, Hierarchy, Table
from oneoff.table.distance import metric_of
from oneoff.table.read import read_table
from tests.mechanisms.masking.test_output_tables import LINE, dense, highest, people_of


def identity_cover(table: Table) -> Cover:
    """All in one group, everybody shows their own values."""
    tables = []
    for j in range(len(table.quasi)):
        used, row = np.unique(table.codes[:, j], return_inverse=True)
        start, weight = np.arange(len(used) + 1), np.full(len(used), TOTAL)
        tables.append(RandomTable(row.astype(np.int32), start, used.astype(np.int32), weight))
    return Cover(Partition(np.zeros(table.rows, dtype=np.int32)), tuple(tables))


def test_tables_that_break_delta_are_not_published(monkeypatch: pytest.MonkeyPatch, people: Table) -> None:
    """Whatever made them: here they change nothing."""
    made = identity_cover(people)
    nothing = Solved(groups=1, shapes=1, cost=0.0, large=0, gap=0.0, same=0)
    tables = iter(made.tables)
    module = sys.modules["oneoff.mechanisms.masking.mutual_cover"]
    monkeypatch.setattr(module, "mondrian", lambda *arguments, **options: made.partition)
    monkeypatch.setattr(module, "random_output_tables", lambda *arguments, **options: (next(tables), nothing))
    with pytest.raises(OneoffError, match="nothing was published"):
        mutual_cover(people, DeltaProbability("1/100"))


def test_columns_that_keep_delta_can_give_everybody_away_together() -> None:
    """(10, 1), (10, 2), (20, 1), (20, 2) with delta = 1/2: tables that change nothing are fine, records are not."""
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    quasi = (Attribute("x", "numeric", np.array([10, 20])), Attribute("y", "numeric", np.array([1, 2])))
    table = Table(quasi, codes, Attribute("s", "numeric", np.arange(4)), np.arange(4, dtype=np.int32))
    cover = identity_cover(table)
    assert all(highest(dense(each, 2), np.zeros(4)) == Fraction(1, 2) for each in cover.tables)
    assert (record_posterior(knowledge(cover, table, codes)) == 1).all()
    release = mask(
        table, cover, DeltaProbability("1/2"), method="m", against=Adversary.BLACK_BOX, rng=np.random.default_rng(0)
    )
    verdict = oneoff.audit(release, table)
    assert verdict.holds
    assert (verdict.parts[0].name, verdict.risk_after.highest) == ("column delta-probability", 1.0)
    assert verdict.masked is not None
    assert verdict.masked.posterior.certain == 1
    assert "single columns" in verdict.sentence()
    # our own tables change nothing either, for this is the least cost; whole records are another promise
    own = mutual_cover(table, parse("delta-probability:1/2+l-diversity:4"), rng=np.random.default_rng(0))
    assert (record_posterior(knowledge(own, table, codes)) == 1).all()
    joint = publish(table, "delta-probability:1/2", method="mutual-cover", options={"joint": True}, seed=0)
    assert joint.verdict.parts[0].name == "record delta-probability"
    assert joint.verdict.risk_after.highest == 0.5


def test_changing_the_unchanged_breaks_delta() -> None:
    """x = 1, 1, 1, 1, 1, 9 with delta = 1/3: all show 1, those who had it are changed to 9, and 1 is one person's."""
    table = people_of([1, 1, 1, 1, 1, 9])
    promise = "delta-probability:1/3+l-diversity:6"  # all in one group
    kept = publish(table, promise, method="mutual-cover", seed=1)
    assert kept.verdict.holds
    assert kept.verdict.parts[0].level == pytest.approx(1 / 6)
    broken = publish(table, promise, method="mutual-cover", seed=1, options={"randomize_unchanged": True})
    assert not broken.verdict.holds
    assert broken.verdict.worst == 1.0
    assert broken.verdict.people_above == 6
    assert broken.release.broken
    assert isinstance(broken.release, Masked)
    assert broken.release.codes[broken.release.links, 0].tolist() == [1, 1, 1, 1, 1, 0]


def test_nobody_comes_out_unchanged_where_that_is_asked_for(people: Table) -> None:
    release = publish(
        people, "delta-probability:1/4", method="mutual-cover", seed=2, options={"randomize_unchanged": True}
    ).release
    assert isinstance(release, Masked)
    assert release.links is not None
    assert release.cover is not None
    assert release.cover.redraw is not None
    stuck = (release.codes[release.links] == people.codes).all(axis=1)
    alike = release.cover.redraw.many == 0  # groups in which there is nothing else to show
    assert not stuck[~alike[release.cover.partition.group]].any()


@pytest.mark.parametrize("columns", [2, 3])
def test_unchanged_people_are_changed_in_as_many_columns_as_asked_for(people: Table, columns: int) -> None:
    options = {"randomize_unchanged": True, "perturbed_columns": columns}
    outcome = publish(people, "delta-probability:1/4+l-diversity:4", method="mutual-cover", seed=2, options=options)
    release = outcome.release
    assert isinstance(release, Masked)
    assert release.cover is not None
    assert release.cover.redraw is not None
    assert not outcome.verdict.problems
    drawn = mask(
        people, replace(release.cover, redraw=None), release.model, method="m", against=Adversary.BLACK_BOX,
        rng=np.random.default_rng(5),
    )  # fmt: skip
    again = mask(
        people, release.cover, release.model, method="m", against=Adversary.BLACK_BOX, rng=np.random.default_rng(5)
    )
    kept, changed = ((each.codes[each.links] != people.codes).sum(axis=1) for each in (drawn, again))
    expected = release.cover.redraw.many[release.cover.partition.group]
    assert (changed == np.where(kept == 0, expected, kept)).all()
    assert (expected == columns).mean() > 0.5


def test_unchanged_people_may_get_any_number_from_the_range_of_the_group() -> None:
    """Algorithm 3 draws "from the range within group": 5 is between 1 and 9, though nobody of the group has it."""
    table = people_of([1, 1, 1, 9, 9, 9, 5, 5, 5])
    cover = Cover(
        Partition(np.array([0] * 6 + [1] * 3, dtype=np.int32)), _own_tables(table),
        Redraw(np.array([[1], [0]], dtype=np.int64)),
    )  # fmt: skip
    seen = set()
    for seed in range(20):
        release = mask(
            table, cover, DeltaProbability(1), method="m", against=Adversary.BLACK_BOX, rng=np.random.default_rng(seed)
        )
        assert not oneoff.audit(release, table).problems
        shown = release.codes[release.links, 0]
        assert (shown[6:] == 1).all(), "all alike: nothing to draw from"
        seen |= set(shown[:3].tolist())
    assert seen == {1, 2}
    worst = oneoff.audit(release, table).masked
    assert worst is not None
    assert worst.columns[0].delta == pytest.approx(1 / 3), "9 is shown by those who had 1"


def _own_tables(table: Table) -> tuple[RandomTable, ...]:
    """Everybody shows their own value; 1s, 9s and 5s have a row each."""
    return (RandomTable(table.codes[:, 0], np.arange(4), np.arange(3, dtype=np.int32), np.full(3, TOTAL)),)


def test_groups_may_keep_t_closeness_instead(people: Table) -> None:
    """Footnote 1 of the paper: the partition can comply with another principle, such as t-closeness."""
    model = parse("delta-probability:1/4+t-closeness:0.35").bind(people.sensitive)
    for options in ({}, {"cuts": "median"}, {"randomize_unchanged": True}):
        outcome = publish(people, model, method="mutual-cover", seed=1, options=options)
        release, parts = outcome.release, outcome.verdict.parts
        assert isinstance(release, Masked)
        assert release.cover is not None
        counts = Counts.of_groups(release.cover.partition.group, people.values)
        assert model.models[1].holds(counts, people.counts)
        assert not model.models[1].at(parts[1].level * 0.99).holds(counts, people.counts)
        assert [part.name for part in parts] == ["column delta-probability", "hidden-group t-closeness"]
        assert parts[1].holds
        assert release.cover.partition.groups > 1


def test_groups_by_medians_are_those_of_mondrian(people: Table) -> None:
    model = parse("delta-probability:1/4+l-diversity:5").bind(people.sensitive)
    cover = mutual_cover(people, model, cuts="median", rng=np.random.default_rng(1))
    assert np.array_equal(cover.partition.group, mondrian(people, model, cuts="median").group)


def test_a_group_of_equals_is_left_as_it_is() -> None:
    """The paper's Algorithm 3 would go on for ever."""
    table = people_of([5, 5, 5, 5])
    for options in ({}, {"randomize_unchanged": True}, {"joint": True}, {"diverse": False}):
        release = publish(table, "delta-probability:1/4", method="mutual-cover", options=options).release
        assert isinstance(release, Masked)
        assert not release.codes.any()


def test_whole_records_are_exchanged_at_random() -> None:
    """Every order of the four people of a group is as likely as any other."""
    table = people_of([1, 2, 3, 4])
    cover = Cover(Partition(np.zeros(4, dtype=np.int32)), ())
    rng = np.random.default_rng(11)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(4800):
        release = mask(table, cover, DeltaProbability("1/4"), method="m", against=Adversary.INSIDER, rng=rng)
        assert release.links is not None
        order = tuple(release.codes[release.links, 0].tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 24
    assert chisquare(list(seen.values())).pvalue > 1e-4


def test_ceilings_reach_the_columns_only_when_asked(people: Table) -> None:
    promise = "delta-probability:1/5+l-diversity:4"
    views = []
    for diverse in (False, True):
        verdict = publish(people, promise, method="mutual-cover", seed=3, options={"diverse": diverse}).verdict
        assert verdict.holds
        assert verdict.masked is not None
        views.append(verdict.masked.carried)
    assert views == [False, True]


def test_distances() -> None:
    number = Attribute("n", "numeric", np.array([0, 5, 20]))
    assert metric_of(number).position.tolist() == [0, 0.25, 1]
    tree = Hierarchy.from_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c+", "*"]])
    labels = np.array(["a", "b", "c"], dtype=object)
    flat, branched = (Attribute("c", "categorical", labels, each) for each in (None, tree))
    pairs = (np.array([0, 0, 0]), np.array([0, 1, 2]))
    from oneoff.table.distance import displacement

    assert displacement(number, *pairs).tolist() == [0, 0.25, 1]
    assert displacement(flat, *pairs).tolist() == [0, 1, 1]
    assert displacement(branched, *pairs).tolist() == [0, 0.5, 1]


def branched() -> Table:
    """Values under two branches of a tree."""
    tree = Hierarchy.from_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])
    frame = pl.DataFrame({"x": list(range(8)), "s": [*"abcdabcd"]})
    return read_table(frame, quasi=["x"], sensitive="s", hierarchies={"s": tree})


def refused(table: Table, promise: str, **options: Any) -> str:
    with pytest.raises((BadGuarantee, BadValue, UnreachableGuarantee, MethodMismatch)) as caught:
        publish(table, promise, method="mutual-cover", options=options)
    return str(caught.value)


def test_what_cannot_be_done_is_refused(people: Table) -> None:
    few = people_of([1, 2, 3, 4])
    assert "delta-probability:0.25" in refused(few, "delta-probability:0.2"), "the smallest that can be reached"
    assert "0 < delta <= 1" in refused(few, "delta-probability:0")
    assert "at most 1" in refused(few, "delta-probability:1.5")
    assert "l-diversity" in refused(people_of([1, 2, 3, 4], [0, 0, 0, 1]), "delta-probability:0.5+l-diversity:2")
    assert "delta-probability" in refused(few, "l-diversity:2")
    assert "does not keep" in refused(few, "delta-probability:0.5+entropy-l-diversity:2")
    assert "against an insider" in refused(few, "delta-probability:0.5+t-closeness:0.5", joint=True)
    assert "needs ceilings" in refused(few, "delta-probability:0.5+t-closeness:0.5", diverse=True)
    assert "from 1 to 1" in refused(few, "delta-probability:0.5", randomize_unchanged=True, perturbed_columns=2)
    assert "from 1 to 7" in refused(people, "delta-probability:0.5", randomize_unchanged=True, perturbed_columns=0)
    assert "which is off" in refused(people, "delta-probability:0.5", perturbed_columns=2)
    assert "leave diverse out" in refused(few, "delta-probability:0.5+l-diversity:2", joint=True, diverse=True)
    assert "exchanges whole" in refused(few, "delta-probability:0.5", joint=True, randomize_unchanged=True)
    assert "needs ceilings" in refused(few, "delta-probability:0.5", diverse=True)
    assert "floors" in refused(people, "delta-probability:0.5+two-sided-beta-likeness:9", diverse=True)
    both = {"diverse": True, "randomize_unchanged": True}
    assert "after the draw" in refused(people, "delta-probability:0.5+l-diversity:2", **both)
    for unused in ({"average": 8}, {"cuts": "strict"}, {"solver": "highs"}):
        assert "no use for" in refused(few, "delta-probability:0.5", joint=True, **unused)
    branches = parse("delta-probability:0.5+hierarchy-beta-likeness:3").bind(branched().sensitive)
    with pytest.raises(MethodMismatch, match="leave joint out"):
        mutual_cover(branched(), branches, joint=True)
    assert mutual_cover(branched(), branches).partition.groups >= 1
    assert "1 to 64" in refused(few, "delta-probability:0.5", average=0)
    assert "columns, highs" in refused(few, "delta-probability:0.5", solver="simplex")
    assert "true, false" in refused(few, "delta-probability:0.5", joint="maybe")
    with pytest.raises(UnreachableGuarantee, match="1/4 or weaker"):
        mutual_cover(few, DeltaProbability("0.2"))
    pairs = np.array([0, 0, 1, 1, 1], dtype=np.int32)
    with pytest.raises(UnreachableGuarantee, match="1/2 or weaker"):
        random_output_tables(pairs, pairs, pairs, LINE, ColumnLimits(Fraction(1, 3)))
    crowd = np.zeros(LARGEST_GROUP + 1, dtype=np.int32)
    with pytest.raises(BadValue, match="too many people"):
        random_output_tables(crowd, crowd, crowd, LINE, ColumnLimits(Fraction(1, 3)))
    with pytest.raises(BadValue, match="bound on recognising"):
        mutual_cover(few, LDiversity(2))
    with pytest.raises(MethodMismatch):
        mutual_cover(few, parse("delta-probability:0.5+entropy-l-diversity:2").bind(few.sensitive))


def test_odd_tables() -> None:
    one = publish(people_of([7]), "delta-probability:1", method="mutual-cover")
    assert one.verdict.holds
    constant = read_table(
        pl.DataFrame({"x": [3] * 9, "y": list(range(9)), "s": list("abcabcabc")}), quasi=["x", "y"], sensitive="s"
    )
    release = publish(constant, "delta-probability:1/3+l-diversity:3", method="mutual-cover", seed=1).release
    assert release.to_polars()["x"].to_list() == [3] * 9
    assert set(release.to_polars()["y"].to_list()) <= set(range(9))
    with pytest.raises(HierarchyError, match="missing from the hierarchy"):
        read_table(
            pl.DataFrame({"c": ["a", "z"], "s": [1, 2]}), quasi=["c"], sensitive="s",
            hierarchies={"c": Hierarchy.from_rows([["a", "*"], ["b", "*"]])},
        )  # fmt: skip


def test_the_same_columns_and_types_and_nothing_else(people: Table) -> None:
    release = publish(people, "delta-probability:1/5+l-diversity:4", method="mutual-cover", seed=5).release
    frame = oneoff.sample(600, seed=3)
    shown = release.to_arrow()
    wanted = [name for name in frame.column_names if name != "person"]
    assert shown.column_names == wanted
    for name in wanted:
        assert shown[name].to_numpy(zero_copy_only=False).dtype == frame[name].to_numpy(zero_copy_only=False).dtype
        assert set(shown[name].to_pylist()) <= set(frame[name].to_pylist())
    assert sorted(shown["occupation"].to_pylist()) == sorted(frame["occupation"].to_pylist())
