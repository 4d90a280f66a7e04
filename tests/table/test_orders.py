"""Categories with an order: how it is given, what becomes of missing values, and what falls outside of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from oneoff import anonymize
from oneoff.errors import BadGuarantee, BadValue, RoleConflict, UnknownColumn
from oneoff.models import parse
from oneoff.releases.predicate import conditions
from oneoff.table import Attribute
from oneoff.table.distance import displacement
from oneoff.table.domain import with_domain
from oneoff.table.orders import declared_as
from oneoff.table.read import read_table
from oneoff.utility.counting import people_meant
from oneoff.utility.workloads import asked_in_file

ORDER = ["Poor", "Fair", "Good", "Very good", "Excellent"]
HEALTH = ["Good", "Poor", "Excellent", "Good", "Fair"]  # nobody is very well


def one(values: Any, **given: Any) -> Attribute:
    return read_table(pl.DataFrame({"x": values}), quasi=["x"], **given).quasi[0]


@pytest.mark.parametrize(
    "given", [ORDER, tuple(ORDER), "Poor,Fair,Good,Very good,Excellent", 'Poor, Fair,Good,"Very good",Excellent']
)
def test_labels_follow_the_order_that_is_given(given: Any) -> None:
    table = read_table(pl.DataFrame({"x": HEALTH}), quasi=["x"], ordered={"x": given})
    assert (table.quasi[0].kind, table.quasi[0].labels.tolist()) == ("ordered", ["Poor", "Fair", "Good", "Excellent"])
    assert table.codes[:, 0].tolist() == [2, 0, 3, 2, 1]
    assert table.quasi[0].scaled.tolist() == [0, 1 / 3, 2 / 3, 1]


def test_a_comma_may_be_part_of_a_value() -> None:
    assert one(["so, so", "well"], ordered={"x": 'well,"so, so"'}).labels.tolist() == ["well", "so, so"]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"x": pl.Series(HEALTH, dtype=pl.Enum(ORDER))}),
        pd.DataFrame({"x": pd.Categorical(HEALTH, categories=ORDER, ordered=True)}),
        pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([2, 0, 4, 2, 1]), pa.array(ORDER), ordered=True)}),
    ],
    ids=["polars", "pandas", "arrow"],
)
def test_frames_that_know_an_order_bring_it(frame: Any, tmp_path: Path) -> None:
    attribute = read_table(frame, quasi=["x"]).quasi[0]
    assert (attribute.kind, attribute.labels.tolist()) == ("ordered", ["Poor", "Fair", "Good", "Excellent"])
    declared = read_table(frame, quasi=["x"], categorical=["x"]).quasi[0]
    assert (declared.kind, declared.labels.tolist()) == ("categorical", sorted(set(HEALTH)))
    read_table(frame, quasi=["x"], na=["Fair"], missing="drop")  # does not lose the order on its way


def test_the_order_comes_through_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"x": pl.Series(HEALTH, dtype=pl.Enum(ORDER))}).write_parquet(path)
    assert read_table(path, quasi=["x"]).quasi[0].labels.tolist() == ["Poor", "Fair", "Good", "Excellent"]


def test_an_unordered_dictionary_has_none_and_different_ones_are_not_joined() -> None:
    assert read_table(pd.DataFrame({"x": pd.Categorical(HEALTH)}), quasi=["x"]).quasi[0].kind == "categorical"
    parts = [pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(names), ordered=True) for names in ("ab", "ba")]
    table = read_table(pa.table({"x": pa.chunked_array(parts)}), quasi=["x"])
    assert table.quasi[0].kind == "categorical"


def test_numbers_and_truth_values_may_have_an_order_of_their_own() -> None:
    assert one([3, 1, 2], ordered={"x": ["2", "3", "1"]}).labels.tolist() == ["2", "3", "1"]
    assert one([3.0, 1.5], ordered={"x": ["3", "1.5"]}).labels.tolist() == ["3", "1.5"]
    assert one([True, False], ordered={"x": "true,false"}).labels.tolist() == ["True", "False"]


def test_values_outside_of_the_order_are_listed() -> None:
    with pytest.raises(
        BadValue, match=r"2 value\(s\) of 'x' are not in its order; .*got: Exellent, bad; .*'Excellent'"
    ):
        one(["Poor", "Exellent", "bad"], ordered={"x": ORDER})


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"ordered": {"y": ORDER}}, UnknownColumn, "an order for 'y', but no such column"),
        ({"ordered": {"x": ["a"]}}, BadValue, "at least two values"),
        ({"ordered": {"x": ["a", "a", "b"]}}, BadValue, "a more than once"),
        ({"ordered": {"x": ["a", "", "b"]}}, BadValue, "cannot be used"),
        ({"ordered": {"x": ["a", "(missing)", "b"]}}, BadValue, "after the last"),
        ({"ordered": {"x": 3}}, BadValue, "is no list"),
        ({"ordered": {"x": ORDER}, "numeric": ["x"]}, RoleConflict, "has an order and is declared numeric"),
        ({"ordered": {"x": ORDER}, "prefix": ["x"]}, RoleConflict, "generalized along a hierarchy"),
    ],
)
def test_orders_that_cannot_be_used(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        one(HEALTH, **given)


def test_an_order_is_one_of_a_column_that_is_generalized() -> None:
    with pytest.raises(RoleConflict, match="'k' has an order and is not generalized"):
        read_table(pl.DataFrame({"x": [1, 2], "k": ["a", "b"]}), quasi=["x"], keep=["k"], ordered={"k": "a,b"})


def test_the_names_of_its_range_are_reserved() -> None:
    frame = pl.DataFrame({"x": ["a", "b"], "x_min": [1, 2]})
    with pytest.raises(RoleConflict, match="the range of 'x'"):
        read_table(frame, quasi=["x", "x_min"], ordered={"x": "a,b"})


# --- missing values


def test_missing_comes_last_and_numbers_keep_their_order() -> None:
    assert one([100, None, 9, 20], missing="category").labels.tolist() == ["9", "20", "100", "(missing)"]
    health = one(["Good", None, "Poor"], missing="category", ordered={"x": ORDER})
    assert (health.labels.tolist(), health.has_missing) == (["Poor", "Good", "(missing)"], True)
    assert not one(["Good", "Poor"], ordered={"x": ORDER}).has_missing


def held(attribute: Attribute, where: str) -> list[str]:
    (condition,) = conditions(where)
    return attribute.labels[condition.holds_for(attribute)].tolist()


def test_questions_about_an_order() -> None:
    health = one(HEALTH, ordered={"x": ORDER})
    assert held(health, "x between 'Fair' and 'Good'") == ["Fair", "Good"]
    assert held(health, "x > 'Fair'") == ["Good", "Excellent"]
    assert held(health, "x <= 'Fair'") == ["Poor", "Fair"]
    assert held(health, "x not between 'Fair' and 'Good'") == ["Poor", "Excellent"]
    assert held(health, "x in ('Poor', 'Good')") == ["Poor", "Good"]
    assert held(health, "x != 'Poor'") == ["Fair", "Good", "Excellent"]
    with pytest.raises(BadValue, match=r"is not in it; allowed: Poor, Fair, Good, Excellent; .*did you mean 'Good'"):
        held(health, "x > 'Goood'")


def test_a_missing_value_is_in_no_range_and_outside_of_none() -> None:
    ages = one([9, 20, 100, None], missing="category")
    assert held(ages, "x > 15") == ["20", "100"]
    assert held(ages, "x between 9 and 20.0") == ["9", "20"]
    assert held(ages, "x not between 10 and 30") == ["9", "100"]
    assert held(ages, "x = '(missing)'") == ["(missing)"]
    assert held(ages, "x != '(missing)'") == ["9", "20", "100"]


# --- what else an order means


def test_ordered_distances_and_displacement_go_by_rank() -> None:
    health = one(HEALTH, ordered={"x": ORDER})
    model = parse("t-closeness:0.2,ordered")
    assert model.bind(health) == model
    assert displacement(health, np.array([0, 1]), np.array([3, 2])).tolist() == [1, pytest.approx(1 / 3)]
    with pytest.raises(BadGuarantee, match=r"'x' is text; .*--ordered x="):
        model.bind(one(HEALTH))
    with pytest.raises(BadGuarantee, match="missing values, which have no place in it"):
        model.bind(one(["Good", None, "Poor"], missing="category", ordered={"x": ORDER}))


def test_a_domain_keeps_the_order() -> None:
    frame = pl.DataFrame({"q": [1, 2, 3, 4, 5], "x": HEALTH})
    table = read_table(frame, quasi=["q"], sensitive="x", ordered={"x": ORDER})
    wider = with_domain(table, ORDER)
    assert wider.sensitive is not None
    assert wider.sensitive.labels.tolist() == ORDER
    assert [ORDER[code] for code in wider.values] == HEALTH
    with pytest.raises(BadValue, match="in another order than they have"):
        with_domain(table, ORDER[::-1])


def test_another_table_is_read_in_the_same_way() -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["u", "v"], "c": ["u", "v"], "d": ["2020-03-01", "2021-01-01"]})
    table = read_table(frame, quasi=["a", "b", "c", "d"], ordered={"c": "v,u"}, dates={"d": "month"})
    assert declared_as(table.quasi) == {
        "numeric": ["a"],
        "categorical": ["b"],
        "ordered": {"c": ["v", "u"]},
        "dates": {"d": "month"},
    }
    assert declared_as(table.quasi, but=["a", "d"])["dates"] == {}


# --- where others ask for a range


def _ordered_people(**given: Any) -> Any:
    frame = pl.DataFrame({"age": [30, 31, 32, 33] * 5, "ill": list("abab") * 5, "health": HEALTH * 4})
    return read_table(frame, quasi=["age"], sensitive=["ill", "health"], ordered={"health": ORDER}, **given)


@pytest.mark.parametrize("method", ["mutual-cover", "mondrian"])
def test_a_range_of_a_second_sensitive_column_follows_its_order(method: str) -> None:
    promise = "delta-probability:0.5" if method == "mutual-cover" else "k-anonymity:4"
    release = anonymize(_ordered_people(), promise, method=method, seed=1)
    assert release.count("health between 'Poor' and 'Good'").count == 16  # nobody between P and G, as texts go
    assert release.count("health > 'Good'").count == 4


def test_a_question_in_a_file_follows_it_too(tmp_path: Path) -> None:
    table = _ordered_people().of_column("health")
    (tmp_path / "own.txt").write_text("health between 'Poor' and 'Good'\n", "utf-8")
    (asked,) = asked_in_file(tmp_path / "own.txt", table)
    assert people_meant(table.codes, table.values, asked)[:, 1].tolist() == [16]
