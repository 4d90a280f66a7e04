"""Codes are equal exactly where values are: against a slow twin that compares Python objects pair by pair."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.audit import check
from oneoff.errors import BadValue, EmptyTable, HierarchyError, RoleConflict, UnknownColumn
from oneoff.table.encode import encode, read_values
from oneoff.table.hierarchy import Hierarchy
from oneoff.table.read import read_table

NAN = float("nan")

floats = st.none() | st.sampled_from([0.0, -0.0, 1.5, NAN, math.inf])
texts = st.none() | st.sampled_from(["F", "M", "FM", "(missing)"])
lists = st.none() | st.lists(texts, max_size=3)
pairs = st.none() | st.tuples(floats, floats).map(list)
structs = st.none() | st.fixed_dictionaries({"left": floats, "right": texts})

COLUMNS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), st.none() | st.integers(-2, 2)),
    (pa.float64(), floats),
    (pa.float32(), floats),
    (pa.string(), texts),
    (pa.string_view(), texts),
    (pa.bool_(), st.none() | st.booleans()),
    (pa.date32(), st.none() | st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 3))),
    (pa.dictionary(pa.int8(), pa.string()), texts),
    (pa.list_(pa.string()), lists),
    (pa.large_list(pa.string()), lists),
    (pa.list_view(pa.string()), lists),
    (pa.list_(pa.float64(), 2), pairs),
    (pa.list_(pa.list_(pa.string())), st.none() | st.lists(lists, max_size=2)),
    (pa.struct([("left", pa.float64()), ("right", pa.string())]), structs),
    (pa.list_(pa.struct([("left", pa.float64()), ("right", pa.string())])), st.none() | st.lists(structs, max_size=2)),
]


def twin(value: Any) -> Any:
    """A value in a form that Python compares as it should be: NaN is nothing, a list is a tuple."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, list):
        return tuple(map(twin, value))
    return {name: twin(part) for name, part in value.items()} if isinstance(value, dict) else value


def assert_equal_where(codes: Any, values: list[Any]) -> None:
    assert codes.dtype == np.int32
    assert (codes >= 0).all()
    same = [[one == other for other in map(twin, values)] for one in map(twin, values)]
    assert (codes[:, None] == codes[None, :]).tolist() == same


def quasi_codes(frame: Any, name: str = "x") -> Any:
    (codes,), attribute, values = read_values(frame, quasi=name)
    assert attribute is None
    assert (values.dtype, values.tolist()) == (np.int32, [0] * len(codes))
    return codes


@pytest.mark.slow
@pytest.mark.parametrize(("type_", "values"), COLUMNS, ids=[str(type_) for type_, _ in COLUMNS])
def test_codes_against_comparing_pairs(type_: pa.DataType, values: st.SearchStrategy[Any]) -> None:
    @given(st.lists(values, min_size=1, max_size=12), st.integers(0, 12))
    def law(column: list[Any], cut: int) -> None:
        chunks = [pa.array(part, type_) for part in (column[:cut], column[cut:])]
        assert_equal_where(quasi_codes(pa.table({"x": pa.chunked_array(chunks)})), column)
        sliced = pa.array([None, *column], type_).slice(1)
        assert_equal_where(quasi_codes(pa.table({"x": sliced})), column)

    law()


@given(st.lists(lists, min_size=1, max_size=12))
def test_lists_of_every_library(column: list[Any]) -> None:
    assert_equal_where(quasi_codes(pl.DataFrame({"x": pl.Series(column, dtype=pl.List(pl.String))})), column)
    categories = pl.Series(column, dtype=pl.List(pl.Categorical))
    assert_equal_where(quasi_codes(pl.DataFrame({"x": categories})), column)
    for kind in (list, tuple):
        objects = pd.Series([None if one is None else kind(one) for one in column], dtype=object)
        assert_equal_where(quasi_codes(pd.DataFrame({"x": objects})), column)


def test_codes_of_encode_and_their_counts() -> None:
    column = encode("x", pa.chunked_array([[2.0, None, 0.0], [-0.0, NAN, 2.0]]))
    assert column.labels.to_pylist() == [2.0, 0.0]
    assert column.codes.tolist() == [0, 2, 1, 1, 2, 0]
    assert column.counts.tolist() == [2, 2, 2]
    assert (column.name, column.kind, column.distinct, column.missing, column.unique) == ("x", "decimal", 2, 2, 0)


def test_encode_refuses_what_has_no_labels() -> None:
    with pytest.raises(BadValue, match="'x' cannot be compared"):
        encode("x", pa.chunked_array([[["F"], ["M"]]]))


def test_missing_empty_and_list_of_missing_differ() -> None:
    assert len(set(quasi_codes(pa.table({"x": [None, [], [None], [None, None], ["a"]]})).tolist())) == 5


def test_lists_that_read_the_same_when_joined_differ() -> None:
    codes = quasi_codes(pa.table({"x": [["a", "b"], ["ab"], ["a, b"], ["b", "a"], ["a", "b"]]}))
    assert len(set(codes.tolist())) == 4
    assert codes[0] == codes[4]


def test_many_long_lists_take_time_by_their_items() -> None:
    """One list of a million items beside a hundred thousand short ones: place by place this would take hours."""
    long = np.arange(1_000_000) % 7
    items = np.concatenate([long, np.arange(300_000) % 6, long])
    offsets = np.concatenate(([0], np.arange(1_000_000, 1_300_001, 3), [2_300_000]))
    column = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(items))
    codes = quasi_codes(pa.table({"x": column}))
    assert len(np.unique(codes)) == 3
    assert codes[0] == codes[-1]


def test_intervals_and_periods_of_pandas() -> None:
    ages = [21, 22, NAN, 35, 36, 64]
    for bins in (pd.cut(ages, [20, 30, 40, 70]), pd.arrays.IntervalArray(pd.cut(ages, [20, 30, 40, 70]))):
        assert_equal_where(quasi_codes(pd.DataFrame({"x": bins})), ["20s", "20s", None, "30s", "30s", "old"])
    months = pd.PeriodIndex(["2020-01", "2020-02", "2020-01"], freq="M")
    assert_equal_where(quasi_codes(pd.DataFrame({"x": months})), [1, 2, 1])


def test_categories_that_are_tuples() -> None:
    assert_equal_where(
        quasi_codes(pd.DataFrame({"x": pd.Categorical([(1, 2), (3, 4), None, (1, 2)])})), [1, 2, None, 1]
    )


def test_the_index_of_a_frame_does_not_matter() -> None:
    frame = pd.DataFrame({"x": [1, 2, 1], "s": ["b", "a", "b"]}, index=[7, 7, 0])
    (codes,), attribute, values = read_values(frame, quasi="x", sensitive="s")
    assert_equal_where(codes, [1, 2, 1])
    assert attribute is not None
    assert attribute.labels[values].tolist() == ["b", "a", "b"]


def test_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": ["[20-30]", "[30-40]", None, "[20-30]"], "z": [["F"], ["F", "M"], None, ["F"]]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.select("x", y=1).write_csv(tmp_path / "t.csv")
    assert_equal_where(quasi_codes(tmp_path / "t.csv"), frame["x"].to_list())
    first, second = read_values(str(tmp_path / "t.parquet"), quasi="x, z")[0]
    assert_equal_where(first, frame["x"].to_list())
    assert_equal_where(second, frame["z"].to_list())


# --- the sensitive column --------------------------------------------------------------------------------------------


def sensitive(column: Any, **options: Any) -> Any:
    frame = pa.table({"x": pa.nulls(len(column)), "s": column})
    _, attribute, values = read_values(frame, quasi="x", sensitive="s", **options)
    return attribute, values


@pytest.mark.parametrize(
    ("column", "kind", "labels"),
    [
        (pa.array([3, 1, 3]), "numeric", [1, 3]),
        (pa.array([0.5, -0.0, 0.0]), "numeric", [0.0, 0.5]),
        (pa.array(["b", "a", "b"]), "categorical", ["a", "b"]),
        (pa.array([True, False, True]), "categorical", [False, True]),
        (pa.array([3, 1, 3]).dictionary_encode(), "categorical", [1, 3]),
        (pa.array([dt.date(2021, 1, 1), dt.date(2020, 1, 1)]), "numeric", [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]),
        (pa.array([10, None, 9, 10]), "ordered", ["9", "10", "(missing)"]),
        (pa.array([10.0, NAN, 9.5]), "ordered", ["9.5", "10", "(missing)"]),
        (pa.array(["b", None, "a"]), "categorical", ["(missing)", "a", "b"]),
        (pa.nulls(2), "categorical", ["(missing)"]),
    ],
)
def test_kind_labels_and_codes(column: Any, kind: str, labels: list[Any]) -> None:
    attribute, values = sensitive(column)
    assert (attribute.name, attribute.kind, attribute.labels.tolist()) == ("s", kind, labels)
    assert values.dtype == np.int32
    shown = attribute.labels[values].tolist()
    wanted = ["(missing)" if twin(value) is None else value for value in column.to_pylist()]
    assert shown == (list(map(_text, wanted)) if "(missing)" in labels else wanted)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else value


@given(st.lists(st.none() | st.integers(-3, 12), min_size=1, max_size=20), st.booleans())
def test_it_is_what_read_table_reads(column: list[int | None], as_text: bool) -> None:
    typed = pa.array([None if n is None else str(n) for n in column] if as_text else column)
    attribute, values = sensitive(typed)
    whole = pa.table({"x": [0] * len(column), "s": typed})
    table = read_table(whole, quasi="x", sensitive="s", missing="category")
    assert table.sensitive is not None
    assert (attribute.kind, attribute.labels.tolist()) == (table.sensitive.kind, table.sensitive.labels.tolist())
    assert values.tolist() == table.values.tolist()


def test_labels_follow_the_leaves_of_a_hierarchy(tmp_path: Path) -> None:
    rows = [["flu", "lungs"], ["ulcer", "belly"], ["cough", "lungs"], ["(missing)", "?"]]
    tree = Hierarchy.from_rows(rows)
    (tmp_path / "tree.csv").write_text("\n".join(f"{leaf};{above};*" for leaf, above in rows))
    for given_tree in (tree, tmp_path / "tree.csv", str(tmp_path / "tree.csv")):
        attribute, values = sensitive(["ulcer", "cough", "flu"], hierarchies={"s": given_tree})
        assert (attribute.kind, attribute.labels.tolist()) == ("categorical", ["flu", "cough", "ulcer"])
        assert values.tolist() == [2, 1, 0]
        assert attribute.hierarchy.leaves == tree.leaves
    attribute, _ = sensitive(["ulcer", None], hierarchies={"s": tree})
    assert attribute.labels.tolist() == ["ulcer", "(missing)"]
    with pytest.raises(HierarchyError, match="measles"):
        sensitive(["measles"], hierarchies={"s": tree})


def test_a_hierarchy_makes_numbers_categories() -> None:
    attribute, values = sensitive([1, 2], hierarchies={"s": Hierarchy.from_rows([["2", "b"], ["1", "a"]])})
    assert (attribute.kind, attribute.labels.tolist(), values.tolist()) == ("categorical", [2, 1], [1, 0])


def test_sensitive_columns_that_cannot_be_used() -> None:
    for column in ([["F"], ["M"]], [b"F", b"M"]):
        with pytest.raises(BadValue, match="'s'"):
            sensitive(column)
    with pytest.raises(BadValue, match="also the value"):
        sensitive(["(missing)", None])
    with pytest.raises(BadValue, match="hierarchy of 's'"):
        sensitive(["F"], hierarchies={"s": 5})


# --- roles -----------------------------------------------------------------------------------------------------------


def test_roles_are_checked() -> None:
    frame = pa.table({"age": [1], "sex": ["F"], "disease": ["flu"]})
    with pytest.raises(UnknownColumn, match="did you mean 'age'"):
        read_values(frame, quasi=["aeg"])
    with pytest.raises(UnknownColumn, match="did you mean 'disease'"):
        read_values(frame, quasi=["age"], sensitive="diseases")
    with pytest.raises(UnknownColumn, match="did you mean 'disease'"):
        read_values(frame, quasi=["age"], hierarchies={"diseases": Hierarchy.from_rows([["flu", "*"]])})
    with pytest.raises(RoleConflict, match="'sex'"):
        read_values(frame, quasi=["age", "sex"], sensitive="sex")
    with pytest.raises(RoleConflict, match="no quasi-identifier"):
        read_values(frame, quasi=[])


def test_no_rows() -> None:
    with pytest.raises(EmptyTable):
        read_values(pa.table({"x": pa.array([], pa.int64())}), quasi="x")


def test_a_map_is_refused_by_name() -> None:
    with pytest.raises(BadValue, match="'x'"):
        quasi_codes(pa.table({"x": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}))


# --- who asks --------------------------------------------------------------------------------------------------------


def test_check_judges_lists_and_missing_values() -> None:
    frame = pl.DataFrame(
        {
            "age": ["[20-30]"] * 2 + [None] * 2,
            "sex": [["F", "M"], ["F", "M"], ["F"], ["F"]],
            "disease": ["flu", "cold", "flu", None],
        }
    )
    assert check(frame, quasi=["age", "sex"], sensitive="disease", guarantee="l-diversity:2").holds
    assert check(frame, quasi=["age", "sex"], guarantee="k-anonymity:2").holds
    assert not check(frame, quasi=["age", "sex"], guarantee="k-anonymity:3").holds
