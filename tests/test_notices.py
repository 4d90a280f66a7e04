"""What is told, not refused: values a promise leaves open although it sounds as if it protected them."""

from __future__ import annotations

import polars as pl
import pytest

import oneoff
from oneoff.errors import BadGuarantee, HierarchyError, MethodMismatch
from oneoff.publish import publish
from oneoff.table import Table

PEOPLE = pl.DataFrame({"age": range(20), "disease": ["flu"] * 10 + ["cold"] * 5 + ["gout"] * 5})


def table(frame: pl.DataFrame = PEOPLE, **more: object) -> Table:
    return oneoff.read_table(frame, quasi=["age"], sensitive="disease", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("guarantee", "named"),
    [
        ("basic-beta-likeness:1", "flu"),
        ("basic-beta-likeness:3", "cold, flu, gout"),
        ("basic-beta-likeness:0.9", ""),
        ("beta-likeness:3", ""),
        ("two-sided-beta-likeness:3", ""),
        ("l-diversity:1", ""),
        ("k-anonymity:2", ""),
        ("k-anonymity:2+basic-beta-likeness:1", "flu"),
        ("basic-beta-likeness:1+l-diversity:1.5", ""),  # the other promise covers it
    ],
)
def test_values_left_open_are_named(guarantee: str, named: str) -> None:
    notices = publish(table(), guarantee, seed=1).notices
    assert (len(notices) == 1 and f": {named}; beta-likeness:" in notices[0]) if named else notices == ()


def test_one_value_for_all_is_nothing_to_hide() -> None:
    same = PEOPLE.with_columns(disease=pl.lit("flu"))
    for guarantee in ("beta-likeness:1", "basic-beta-likeness:1", "two-sided-beta-likeness:0", "t-closeness:0.1"):
        outcome = publish(table(same), guarantee, seed=1)
        assert outcome.verdict.holds
        assert outcome.notices == (f"everybody has the same 'disease', so {guarantee} has nothing to hide",)
    assert publish(table(same), "k-anonymity:2", seed=1).notices == ()


def test_branches_need_a_hierarchy_that_knows_every_value() -> None:
    with pytest.raises(BadGuarantee, match="needs a hierarchy") as caught:
        publish(table(), "hierarchy-beta-likeness:3")
    assert caught.value.hint == "--hierarchy disease=FILE.csv"
    half = oneoff.Hierarchy.from_rows([["flu", "infection", "*"], ["scurvy", "other", "*"]])
    with pytest.raises(HierarchyError, match="missing from the hierarchy") as lacking:
        table(hierarchies={"disease": half})
    assert lacking.value.got == "cold, gout"


def test_methods_that_know_only_single_values_refuse_branches() -> None:
    tree = oneoff.Hierarchy.from_rows([["flu", "infection", "*"], ["cold", "infection", "*"], ["gout", "other", "*"]])
    people = table(hierarchies={"disease": tree})
    for method in ("transversal", "packing", "heterogeneous"):
        with pytest.raises(MethodMismatch):
            publish(people, "hierarchy-beta-likeness:3", method=method)
    assert publish(people, "hierarchy-beta-likeness:3", seed=1).release.method == "burel"


def test_columns_that_go_out_unchanged_are_named() -> None:
    """Also before the work; one that nearly names people is told apart."""
    frame = PEOPLE.with_columns(
        year=pl.Series([2020, 2021] * 10), household=pl.Series(range(20)) // 3, cents=pl.Series(range(20)) * 1.01
    )
    told: list[str] = []
    kept = table(frame, keep=["year", "household", "cents"])
    notices = publish(kept, "k-anonymity:2", seed=1, warn=told.append).notices
    assert notices[0] == (
        "published unchanged, because they are to be kept, and covered by no promise: year, household, cents"
    )
    near = [notice for notice in notices if "is published unchanged and nearly unique" in notice]
    assert [notice.split("'")[1] for notice in near] == ["household", "cents"]
    assert "20 of 20 people share their value with fewer than 4 others" in near[0]
    assert told == list(notices)
    plain = publish(table(frame, keep=["year"]), "k-anonymity:2", seed=1).notices
    assert not [notice for notice in plain if "nearly unique" in notice], "a year is shared by many"
    assert publish(table(), "k-anonymity:2", seed=1).notices == ()


def test_a_kept_column_with_gaps_is_looked_at_all_the_same() -> None:
    frame = PEOPLE.with_columns(code=pl.Series([None, *range(19)]))
    notices = publish(table(frame, keep=["code"]), "k-anonymity:2", seed=1).notices
    assert any("'code' is published unchanged and nearly unique: 20 of 20" in notice for notice in notices)
