"""The verdict, against brute force and against what other tools get wrong."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadGuarantee, BadValue, RoleConflict, UnknownColumn
from oneoff.models import Counts, parse
from oneoff.publish import publish
from oneoff.table import Table
from tests.tables import promises, tables


def frame_of(table: Table) -> pd.DataFrame:
    assert table.sensitive is not None
    columns = {a.name: a.labels[table.codes[:, j]] for j, a in enumerate(table.quasi)}
    return pd.DataFrame({**columns, "s": table.sensitive.labels[table.values]})


def beliefs(frame: pd.DataFrame) -> list[tuple[int, float, float]]:
    """For each person by plain counting: look-alikes, belief in the own value, highest belief in any value."""
    rows = [tuple(row) for row in frame.itertuples(index=False)]
    people = Counter(row[:-1] for row in rows)
    pairs = Counter(rows)
    top = {key: max(count for pair, count in pairs.items() if pair[:-1] == key) for key in people}
    return [(people[r[:-1]], pairs[r] / people[r[:-1]], top[r[:-1]] / people[r[:-1]]) for r in rows]


@given(data=st.data())
def test_check_agrees_with_counting_by_hand(data: st.DataObject) -> None:
    table = data.draw(tables())
    model = data.draw(promises(table))
    frame = frame_of(table)
    trees = None if table.sensitive is None or table.sensitive.hierarchy is None else {"s": table.sensitive.hierarchy}
    verdict = oneoff.check(
        frame, quasi=[a.name for a in table.quasi], sensitive="s", guarantee=model, hierarchies=trees
    )
    by_hand = beliefs(frame)
    pairs = Counter((row[:-1], row[-1]) for row in frame.itertuples(index=False))
    classes = list(dict.fromkeys(key for key, _ in pairs))
    matrix = np.array([[pairs[key, label] for label in table.sensitive.labels] for key in classes])
    assert verdict.holds == all(part.holds(matrix, table.counts) for part in model.parts())
    assert verdict.levels["k-anonymity"] == min(size for size, _, _ in by_hand)
    assert verdict.levels["l-diversity"] == pytest.approx(1 / max(top for _, _, top in by_hand))
    people = verdict.per_person()
    assert people["group_size"].tolist() == [size for size, _, _ in by_hand]
    assert people["own_belief"] == pytest.approx([own for _, own, _ in by_hand])
    above = model.failing(Counts.of(matrix), oneoff.models.Prior.of(table.counts))
    assert verdict.people_above == matrix[above].sum()


@given(data=st.data())
def test_a_release_is_judged_as_its_own_file(data: st.DataObject) -> None:
    """The audit of a release equals the check of the frame that is handed out."""
    table = data.draw(tables())
    model = data.draw(promises(table))
    if not model.holds(Counts.of(table.counts), table.counts):
        return
    release = oneoff.anonymize(table, model)
    verdict = oneoff.audit(release, table)
    trees = None if table.sensitive is None or table.sensitive.hierarchy is None else {"s": table.sensitive.hierarchy}
    frame = release.to_arrow()
    if table.sensitive is not None and table.sensitive.kind == "ordered":  # as a frame says it
        column = pa.DictionaryArray.from_arrays(release.values, table.sensitive.labels, ordered=True)
        frame = frame.set_column(frame.column_names.index("s"), "s", column)
    outside = oneoff.check(frame, quasi="group", sensitive="s", guarantee=model, hierarchies=trees)
    assert outside.holds
    assert outside.levels == verdict.levels
    assert outside.worst == pytest.approx(verdict.worst)


def test_per_person_is_in_the_order_of_the_table(people: Table) -> None:
    release = oneoff.anonymize(people, "l-diversity:3")
    verdict = oneoff.audit(release, people)
    assert release.links is not None
    assert release.group is not None
    sizes = np.bincount(release.group)
    assert verdict.per_person()["group_size"].tolist() == [
        sizes[release.group[release.links[i]]] for i in range(people.rows)
    ]


def test_witness_points_at_the_worst_group(people: Table) -> None:
    release = oneoff.anonymize(people, "beta-likeness:2", method="transversal")
    verdict = oneoff.audit(release, people)
    frame = release.to_polars().filter(pl.col("group") == verdict.witness.group)
    share = frame["occupation"].eq(verdict.witness.value).mean()
    assert len(frame) == verdict.witness.people
    assert share == pytest.approx(verdict.witness.belief)
    assert verdict.worst == verdict.witness.belief <= verdict.witness.allowed
    assert verdict.witness.value in verdict.sentence()


def test_another_promise_can_be_asked_about(people: Table) -> None:
    release = oneoff.anonymize(people, "k-anonymity:4")
    assert oneoff.audit(release, people).holds
    other = oneoff.audit(release, people, parse("l-diversity:40"))
    assert not other.holds
    assert other.people_above == people.rows


@pytest.mark.parametrize("harm", ["lost", "moved", "outside", "prior"])
def test_records_that_are_not_the_table_are_found_out(harm: str, people: Table) -> None:
    release = publish(people, "k-anonymity:4").release
    assert release.links is not None
    if harm == "lost":
        links = release.links.copy()
        links[0] = links[1]
        release = replace(release, links=links)
    elif harm == "moved":
        release = replace(release, values=np.roll(release.values, 1))
    elif harm == "outside":
        cells = release.cells[0]
        release = replace(release, cells=(replace(cells, low=cells.high, high=cells.high), *release.cells[1:]))  # type: ignore[call-arg]
    else:
        release = replace(release, counts=release.counts[::-1].copy())
    verdict = oneoff.audit(release, people)
    assert not verdict.holds
    assert verdict.problems


def test_risk_before_and_after(people: Table) -> None:
    verdict = oneoff.audit(oneoff.anonymize(people, "k-anonymity:5"), people)
    assert verdict.risk_before is not None
    assert verdict.risk_before.highest == 1.0
    assert verdict.risk_after.highest <= 0.2
    assert verdict.risk_after.unique == 0.0


# what other tools get wrong


def test_a_98_1_1_class_is_not_recursively_diverse() -> None:
    frame = pl.DataFrame({"zip": ["1"] * 100, "s": ["a"] * 98 + ["b", "c"]})
    assert not oneoff.check(frame, quasi="zip", sensitive="s", guarantee="recursive-l-diversity:c=1,l=3").holds
    assert oneoff.check(frame, quasi="zip", sensitive="s", guarantee="recursive-l-diversity:c=99,l=3").holds


def test_full_disclosure_satisfies_no_enhanced_beta() -> None:
    frame = pl.DataFrame({"zip": ["1"] * 5 + ["2"] * 5, "s": ["a"] * 5 + ["b"] * 5})
    verdict = oneoff.check(frame, quasi="zip", sensitive="s", guarantee="beta-likeness:1000000")
    assert not verdict.holds
    assert math.isinf(verdict.levels["beta-likeness"])
    assert verdict.as_dict()["levels"]["beta-likeness"] is None
    assert verdict.levels["basic-beta-likeness"] == 1


def test_rows_with_missing_quasi_identifiers_count() -> None:
    frame = pd.DataFrame({"zip": ["1", "1", None], "age": [30.0, 30.0, float("nan")], "s": ["a", "b", "c"]})
    verdict = oneoff.check(frame, quasi=["zip", "age"], sensitive="s", guarantee="k-anonymity:2")
    assert verdict.rows == 3
    assert not verdict.holds
    assert verdict.levels["k-anonymity"] == 1


@given(st.permutations(range(8)))
def test_the_index_of_a_frame_changes_nothing(order: list[int]) -> None:
    frame = pd.DataFrame({"zip": list("11223333"), "s": list("abababca")})
    shuffled = frame.iloc[order]
    filtered = pd.concat([frame, frame]).iloc[8:][lambda f: f["s"] != "zzz"]
    verdicts = [
        oneoff.check(f, quasi="zip", sensitive="s", guarantee="l-diversity:2").as_dict()
        for f in (frame, shuffled, filtered)
    ]
    for verdict in verdicts:
        verdict.pop("witness")
        verdict["parts"][0].pop("witness")
    assert verdicts[0] == verdicts[1] == verdicts[2]


def test_output_of_another_tool_with_intervals_as_text() -> None:
    frame = pa.table({"age": ["[20-30]", "[20-30]", "*", "*"], "sex": [["F", "M"]] * 4, "s": ["a", "b", "a", "a"]})
    verdict = oneoff.check(frame, quasi=["age", "sex"], sensitive="s", guarantee="distinct-l-diversity:2")
    assert not verdict.holds
    assert verdict.groups == 2
    assert verdict.people_above == 2


def test_a_part_of_a_table_is_judged_by_the_prior_of_the_whole() -> None:
    part = pl.DataFrame({"zip": ["1"] * 4, "s": ["a", "a", "a", "b"]})
    assert oneoff.check(part, quasi="zip", sensitive="s", guarantee="basic-beta-likeness:0").holds
    verdict = oneoff.check(
        part, quasi="zip", sensitive="s", guarantee="basic-beta-likeness:0", prior={"a": 50, "b": 50}
    )
    assert not verdict.holds
    assert verdict.levels["basic-beta-likeness"] == Fraction(1, 2)


def part_of(values: list[object], guarantee: str, prior: object, **more: object) -> oneoff.Verdict:
    frame = pd.DataFrame({"q": [1] * len(values), "s": values})
    return oneoff.check(frame, quasi="q", sensitive="s", guarantee=guarantee, prior=prior, **more)


def test_a_prior_keeps_values_that_are_not_in_the_part() -> None:
    halves = ["a"] * 50 + ["b"] * 50
    verdict = part_of(halves, "basic-beta-likeness:1", {"a": 1, "b": 1, "c": 98})
    assert not verdict.holds
    assert verdict.levels["basic-beta-likeness"] == 49
    assert part_of(halves, "basic-beta-likeness:49", pd.Series({"a": 1, "c": 98, "b": 1, "d": 0})).holds


@pytest.mark.parametrize(
    ("values", "prior"),
    [
        ([10, 30], {30: 1, 20: 2, "10": 1}),
        ([1.0, 3.0], {1: 1, 3: 1, 2.5: 2}),
        ([1, 3], {"1": 1, "3": 1, "2.5": 2}),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 3)], {"2020-01-02": 2, "2020-01-03": 1, dt.date(2020, 1, 1): 1}),
    ],
)
def test_a_prior_of_numbers_keeps_their_order(values: list[object], prior: dict[object, int]) -> None:
    assert part_of(values, "t-closeness:0.25,ordered", prior).holds
    assert not part_of(values, "t-closeness:0.24,ordered", prior).holds


def test_a_prior_follows_the_hierarchy() -> None:
    tree = oneoff.Hierarchy.from_rows([["b", "x", "*"], ["z", "x", "*"], ["a", "y", "*"], ["c", "y", "*"]])
    prior = {"a": 1, "b": 1, "c": 1, "z": 1}
    # a quarter of the people are half the tree away (c), two quarters all of it (b, z)
    assert part_of(["a", "a"], "t-closeness:0.625,hierarchical", prior, hierarchies={"s": tree}).holds
    assert not part_of(["a", "a"], "t-closeness:0.624,hierarchical", prior, hierarchies={"s": tree}).holds
    with pytest.raises(BadValue, match="leaf of its hierarchy"):
        part_of(["a"], "l-diversity:1", {**prior, "w": 1}, hierarchies={"s": tree})


def test_a_prior_may_count_missing_values() -> None:
    verdict = part_of([2, 10], "basic-beta-likeness:3", {2: 1, 10: 1, None: 2})
    assert verdict.levels["basic-beta-likeness"] == 1
    for missing in (None, float("nan"), pd.NA, pd.NaT, "(missing)"):
        assert part_of(["a", None], "basic-beta-likeness:1", {"a": 1, missing: 1, "b": 2}).holds
    assert part_of([True, True], "basic-beta-likeness:3", {"true": 1, "False": 3}).holds


@pytest.mark.parametrize(
    ("values", "prior", "match"),
    [
        (["a", "b"], {"a": 1}, "values that occur.*none for b"),
        (["a", "b"], {"a": 1, "b": 0}, "values that occur.*none for b"),
        (["a"], ["a"], "a mapping"),
        (["a"], 5, "a mapping"),
        (["a"], {}, "not all zero"),
        (["a"], {"a": 0}, "not all zero"),
        (["a"], {"a": -1, "b": 9}, "not negative"),
        (["a"], {"a": 0.5, "b": 0.5}, "give people, not shares"),
        (["a"], {"a": True}, "whole numbers"),
        (["a"], {"a": "1"}, "whole numbers"),
        (["a"], {"a": 2**62}, "whole numbers"),
        ([1], {1: 1, "1.0": 1}, "twice"),
        ([1], {1: 1, "x": 1}, "cannot have"),
        ([1], {1: 1, "nan": 1}, "cannot have"),
        ([dt.date(2020, 1, 1)], {"2020-01-01": 1, "2020-01-02T10": 1}, "cannot have"),
        ([dt.date(2020, 1, 1)], {"2020-01-01": 1, "soon": 1}, "cannot have"),
        ([True], {"True": 1, "maybe": 1}, "cannot have"),
    ],
)
def test_priors_that_cannot_be_used_are_refused(values: list[object], prior: object, match: str) -> None:
    with pytest.raises(BadValue, match=match) as caught:
        part_of(values, "l-diversity:1", prior)
    assert caught.value.allowed
    assert caught.value.got


def test_check_refuses_bad_roles() -> None:
    frame = pl.DataFrame({"zip": ["1"], "s": ["a"]})
    with pytest.raises(UnknownColumn, match="did you mean 'zip'"):
        oneoff.check(frame, quasi="zipp", sensitive="s", guarantee="k-anonymity:1")
    with pytest.raises(RoleConflict):
        oneoff.check(frame, quasi=["zip", "s"], sensitive="s", guarantee="k-anonymity:1")
    with pytest.raises(BadGuarantee, match="sensitive"):
        oneoff.check(frame, quasi="zip", guarantee="l-diversity:2")


def test_json_of_a_verdict_is_plain(people: Table) -> None:
    import json

    verdict = oneoff.audit(oneoff.anonymize(people, "k-anonymity:4+l-diversity:2"), people)
    text = json.dumps(verdict.as_dict(), allow_nan=False)
    assert {"holds", "worst", "witness", "levels", "parts", "risk_before", "risk_after"} <= set(json.loads(text))


def test_groups_against_an_insider_say_what_a_model_can_learn(people: Table) -> None:
    """Of values in groups only: identity alone, and tallies, need no such word."""
    groups = oneoff.anonymize(people, "beta-likeness:9", method="transversal", seed=1)
    assert "of people outside" in " ".join(oneoff.audit(groups, people).remarks)
    for guarantee, method in (("k-anonymity:4", "mondrian"), ("beta-likeness:9", "mondrian")):
        release = oneoff.anonymize(people, guarantee, method=method, seed=1)
        assert oneoff.audit(release, people).remarks == ()
