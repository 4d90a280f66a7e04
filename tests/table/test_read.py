"""Reading: files and frames of every library become the same table, and nothing is guessed."""

from __future__ import annotations

import csv
import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import (
    BadValue,
    EmptyTable,
    HierarchyError,
    MissingValues,
    RoleConflict,
    UnknownColumn,
    UnreadableFile,
)
from oneoff.table.hierarchy import Hierarchy, read_hierarchy
from oneoff.table.read import read_frame, read_table
from oneoff.table.table import Attribute, Table

PEOPLE = {
    "name": ["Ann", "Bob", "Cid", "Dee"],
    "age": [34, 21, 34, 60],
    "sex": ["F", "M", "M", "F"],
    "disease": ["flu", "cold", "flu", "gout"],
    "city": ["B", "A", "B", "C"],
}
ROLES: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": "disease"}


def one(source: Any, name: str = "x", **options: Any) -> Attribute:
    """The attribute of a table's only quasi-identifier."""
    return read_table(source, quasi=[name], **options).quasi[0]


def decoded(table: Table) -> dict[str, list[Any]]:
    columns = {one.name: one.decode(table.codes[:, j]).tolist() for j, one in enumerate(table.quasi)}
    if table.sensitive is not None:
        columns[table.sensitive.name] = table.sensitive.decode(table.values).tolist()
    return columns


def write(folder: Path, text: str | bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def same(one: Table, other: Table) -> None:
    np.testing.assert_array_equal(one.codes, other.codes)
    np.testing.assert_array_equal(one.values, other.values)
    for a, b in zip([*one.quasi, one.sensitive], [*other.quasi, other.sensitive], strict=True):
        assert a is not None
        assert b is not None
        assert (a.name, a.kind, a.labels.dtype) == (b.name, b.kind, b.labels.dtype)
        np.testing.assert_array_equal(a.labels, b.labels)


# --- roles, codes, labels


def test_codes_labels_and_notices() -> None:
    table = read_table(pl.DataFrame(PEOPLE), **ROLES, identifiers=["name"])
    age, sex = table.quasi
    assert (age.name, age.kind, age.labels.dtype, age.labels.tolist()) == ("age", "numeric", np.int64, [21, 34, 60])
    assert (sex.name, sex.kind, sex.labels.dtype, sex.labels.tolist()) == ("sex", "categorical", object, ["F", "M"])
    assert table.codes.tolist() == [[1, 0], [0, 1], [1, 1], [2, 0]]
    assert table.codes.dtype == np.int32
    assert table.codes.flags.c_contiguous
    assert not table.codes.flags.writeable
    assert table.sensitive is not None
    assert table.sensitive.kind == "categorical"
    assert table.sensitive.labels.tolist() == ["cold", "flu", "gout"]
    assert table.values.tolist() == [1, 0, 1, 2]
    assert table.notices == ("dropped 1 column(s) that have no role: city",)
    assert (table.dropped_rows, table.keep, table.kept) == (0, (), None)


def test_roles_as_comma_separated_texts_and_no_sensitive_column() -> None:
    table = read_table(pl.DataFrame(PEOPLE), quasi="age, sex")
    assert [one.name for one in table.quasi] == ["age", "sex"]
    assert table.sensitive is None
    assert table.values.tolist() == [0, 0, 0, 0]


def test_unknown_column_names_the_nearest() -> None:
    with pytest.raises(UnknownColumn, match="did you mean 'disease'"):
        read_table(pl.DataFrame(PEOPLE), quasi=["age"], sensitive="Diseas")


def test_kept_columns_may_miss_values() -> None:
    frame = pl.DataFrame({"x": [1, 2, 3], "k": ["b", None, "a"], "n": [None, None, None]})
    table = read_table(frame, quasi=["x"], keep=["k", "n"])
    assert table.kept is not None
    assert table.kept.tolist() == [[1, -1], [-1, -1], [0, -1]]
    assert [one.labels.tolist() for one in table.keep] == [["a", "b"], []]


def test_origin_of_frames_and_files(tmp_path: Path) -> None:
    frame = pl.DataFrame(PEOPLE)
    frame.write_parquet(tmp_path / "people.parquet")
    frame.write_csv(tmp_path / "people.csv")
    origins = {
        "polars": (
            frame,
            frame.lazy(),
            nw.from_native(frame),
            tmp_path / "people.parquet",
            str(tmp_path / "people.csv"),
        ),
        "pandas": (frame.to_pandas(),),
        "pyarrow": (frame.to_arrow(), frame.to_arrow().to_batches()[0]),
    }
    expected = read_table(frame, **ROLES)
    for origin, sources in origins.items():
        for source in sources:
            table = read_table(source, **ROLES)
            assert table.origin == origin
            same(table, expected)


@pytest.mark.parametrize("source", [{"x": [1]}, [1, 2], None, 5, pl.Series("x", [1])])
def test_what_is_no_table_is_refused(source: object) -> None:
    with pytest.raises(BadValue, match="not a table"):
        read_table(source, quasi=["x"])


# --- laws

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "date": st.dates(),
    "datetime": st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)),
    "text": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
}
KINDS = {"int": "numeric", "float": "numeric", "date": "numeric", "datetime": "numeric"}
ARROW = {
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "text": pa.string(),
}


@st.composite
def frames(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(SCALARS)), min_size=2, max_size=5))
    columns = [draw(st.lists(SCALARS[kind], min_size=rows, max_size=rows)) for kind in kinds]
    return pa.table(
        {
            f"{kind}{j}": pa.array(column, ARROW[kind])
            for j, (kind, column) in enumerate(zip(kinds, columns, strict=True))
        }
    )


@given(frames())
def test_decoded_codes_are_the_source(frame: pa.Table) -> None:
    *quasi, sensitive = frame.column_names
    table = read_table(frame, quasi=quasi, sensitive=sensitive)
    assert decoded(table) == frame.to_pydict()
    for one in table.quasi:
        assert one.kind == KINDS.get(one.name.rstrip("0123456789"), "categorical")
        assert one.labels.tolist() == sorted(set(frame[one.name].to_pylist()))


@given(frames(), st.randoms(use_true_random=False))
def test_any_library_gives_the_same_table(frame: pa.Table, random: Any) -> None:
    *quasi, sensitive = frame.column_names
    expected = read_table(frame, quasi=quasi, sensitive=sensitive)
    pandas = frame.to_pandas()
    pandas.index = pd.Index(random.sample(range(100), len(pandas)))
    nullable = frame.to_pandas(types_mapper=pd.ArrowDtype)
    polars = pl.DataFrame(frame)
    stream = io.BytesIO()
    pq.write_table(frame, stream)
    for source in (pandas, nullable, polars, polars.lazy(), pq.read_table(stream)):
        same(read_table(source, quasi=quasi, sensitive=sensitive), expected)


@given(st.lists(st.one_of(SCALARS["text"], st.from_regex(r"[-+ ]?[0-9.eE:]{1,20}", fullmatch=True)), min_size=1))
def test_no_csv_text_is_read_with_loss(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """Distinct texts stay distinct unless they are the same number, and text columns come back as they are."""
    path = tmp_path_factory.getbasetemp() / "loss.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["x"], *([text] for text in texts)])
    table = read_table(path, quasi=["x"])
    values = table.quasi[0].decode(table.codes[:, 0]).tolist()
    if table.quasi[0].kind == "categorical":
        assert values == texts
    else:
        assert values == [float(text) for text in texts]
        assert len(set(values)) == len({Decimal(text.strip()) for text in texts})


def test_a_filtered_and_shuffled_pandas_index_changes_nothing() -> None:
    frame = pd.DataFrame(PEOPLE).set_index("name", drop=False)
    table = read_table(frame[frame["age"] > 21].iloc[::-1], **ROLES)
    assert decoded(table) == {"age": [60, 34, 34], "sex": ["F", "M", "F"], "disease": ["gout", "flu", "flu"]}
    assert "index" not in " ".join(table.notices)
    with pytest.raises(UnknownColumn):
        read_table(pd.DataFrame({"x": [1]}, index=pd.Index([5], name="zip")), quasi=["x", "zip"])


@pytest.mark.parametrize("values", [[7], [7, 7, 7], list(range(50))])
def test_one_row_a_constant_and_all_distinct(values: list[int]) -> None:
    attribute = one(pl.DataFrame({"x": values}))
    assert attribute.labels.tolist() == sorted(set(values))


# --- kinds and types


@pytest.mark.parametrize(
    ("values", "kind", "labels"),
    [
        (pa.array([3, 1], pa.int8()), "numeric", np.array([1, 3])),
        (pa.array([3, 1], pa.uint64()), "numeric", np.array([1, 3])),
        (pa.array([0.5, -1], pa.float32()), "numeric", np.array([-1.0, 0.5])),
        (pa.array([-0.0, 0.0]), "numeric", np.array([0.0])),
        (pa.array([Decimal("1.50"), Decimal("0.25")]), "numeric", np.array([0.25, 1.5])),
        (pa.array([Decimal(7), Decimal(3)], pa.decimal128(5, 0)), "numeric", np.array([3, 7])),
        (pa.array([dt.date(2020, 3, 1)], pa.date64()), "numeric", np.array(["2020-03-01"], "datetime64[D]")),
        (pa.array([1583020800], pa.timestamp("s")), "numeric", np.array(["2020-03-01"], "datetime64[us]")),
        (pa.array(["b", "a"], pa.string_view()), "categorical", np.array(["a", "b"], dtype=object)),
        (pa.array([True, False, True]), "categorical", np.array([False, True])),
        (pa.array(["b", "a"]).dictionary_encode(), "categorical", np.array(["a", "b"], dtype=object)),
        (pa.array([30, 4]).dictionary_encode(), "categorical", np.array([4, 30])),
        (pa.array(["é", "z", "Z", "😀", "\uffff"]), "categorical", np.array(list("Zzé\uffff😀"), dtype=object)),
    ],
)
def test_kind_and_labels_of_every_type(values: pa.Array, kind: str, labels: np.ndarray) -> None:
    attribute = one(pa.table({"x": values}))
    assert attribute.kind == kind
    assert attribute.labels.dtype == labels.dtype
    assert attribute.labels.tolist() == labels.tolist()
    if labels.dtype.kind == "f":
        assert not np.signbit(attribute.labels[attribute.labels == 0]).any()


def test_times_with_a_zone_count_in_utc() -> None:
    berlin = pl.Series("x", [dt.datetime(2020, 3, 1, 0, 30)]).dt.replace_time_zone("Europe/Berlin")
    expected = np.array(["2020-02-29T23:30"], "datetime64[us]")
    for frame in (berlin.to_frame(), berlin.to_frame().to_pandas(), berlin.to_frame().to_arrow()):
        labels = one(frame).labels
        assert labels.dtype == expected.dtype
        assert labels.tolist() == expected.tolist()


def test_dictionaries_with_unused_repeated_and_null_entries() -> None:
    enum = pl.DataFrame({"x": pl.Series(["c", "a", "c"], dtype=pl.Enum(["c", "b", "a"]))})
    assert one(enum).labels.tolist() == ["c", "a"]  # an Enum has an order
    assert one(enum, categorical=["x"]).labels.tolist() == ["a", "c"]
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 4], pa.int8()), pa.array(["a", "b", "a", "u", None]))
    table = read_table(pa.table({"x": column, "y": [1, 2, 3, 4]}), quasi=["x", "y"], missing="drop")
    assert table.codes[:, 0].tolist() == [0, 1, 0]
    assert table.dropped_rows == 1
    chunks = pa.chunked_array([pa.array(["b"]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()])
    assert decoded(read_table(pa.table({"x": chunks}), quasi=["x"])) == {"x": ["b", "a", "b"]}


def test_declared_kinds_override_what_is_inferred() -> None:
    frame = pl.DataFrame(
        {"zip": [12, 7], "age": ["7", " 034"], "half": ["1.5", "2"], "on": ["2020-03-02", "2020-03-01"]}
    )
    table = read_table(frame, quasi=["zip", "age", "half"], sensitive="on", numeric="age,half,on", categorical=["zip"])
    assert [one.kind for one in table.quasi] == ["categorical", "numeric", "numeric"]
    assert [one.labels.tolist() for one in table.quasi] == [[7, 12], [7, 34], [1.5, 2.0]]
    assert table.sensitive is not None
    assert table.sensitive.labels.dtype == "datetime64[D]"
    assert one(pl.DataFrame({"x": [True, False]}), numeric=["x"]).labels.dtype == np.int64


def test_text_declared_numeric_lists_what_is_no_number() -> None:
    frame = pl.DataFrame({"x": ["1", "NA", "2", "unknown", "NA"]})
    with pytest.raises(BadValue) as raised:
        one(frame, numeric=["x"])
    assert raised.value.got == "'NA', 'unknown'"
    with pytest.raises(BadValue, match="too large"):
        one(pl.DataFrame({"x": ["1", "1e999"]}), numeric=["x"])
    table = read_table(frame, quasi=["x"], numeric=["x"], na=["NA", "unknown"], missing="drop")
    assert table.quasi[0].labels.tolist() == [1, 2]


def test_a_few_texts_among_numbers_are_told() -> None:
    frame = pl.DataFrame({"x": [*map(str, range(20)), "NA"]})
    table = read_table(frame, quasi=["x"])
    assert table.quasi[0].kind == "categorical"
    assert table.notices == ("column 'x' is categorical because some of its values are not numbers: NA",)
    assert read_table(frame, quasi=["x"], categorical=["x"]).notices == ()
    assert read_table(pl.DataFrame({"x": [f"0{n}" for n in range(20)]}), quasi=["x"]).notices == ()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([b"a", b"b"]),
        pa.array([b"a", b"b"]).dictionary_encode(),
        pa.array([dt.time(1), dt.time(2)]),
        pa.array([dt.timedelta(1), dt.timedelta(2)]),
        pa.array([1, 2**64 - 1], pa.uint64()),
        pa.array([Decimal("0.1000000000000000000001"), Decimal("0.1000000000000000000002")]),
        pa.array([1, 2**60], pa.timestamp("s")),
        pa.array([1, 2], pa.timestamp("ns")),
    ],
)
def test_types_that_cannot_be_used_are_refused_in_a_role_only(values: pa.Array) -> None:
    frame = pa.table({"x": [1, 2], "odd": values})
    for role in ({"quasi": ["odd"]}, {"quasi": ["x"], "sensitive": "odd"}, {"quasi": ["x"], "keep": ["odd"]}):
        with pytest.raises(BadValue, match=r"column 'odd' cannot be used.*hint"):
            read_table(frame, **role)
    assert read_table(frame, quasi=["x"], identifiers=["odd"]).rows == 2
    assert read_table(frame, quasi=["x"]).rows == 2


@pytest.mark.parametrize(
    ("values", "types"),
    [
        ([1, "a", None], "int, str"),
        ([True, 1], "bool, int"),
        ([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)], "date, datetime"),
        ([Decimal(1), 1.5], "Decimal, float"),
        (["a", b"a"], "bytes, str"),
    ],
)
def test_mixed_pandas_columns_are_refused_in_a_role_only(values: list[object], types: str) -> None:
    frame = pd.DataFrame({"x": range(len(values)), "odd": pd.Series(values, dtype=object)})
    with pytest.raises(BadValue, match=f"'odd' mixes.*got: {types};.*hint"):
        read_table(frame, quasi=["x", "odd"])
    assert read_table(frame, quasi=["x"], identifiers=["odd"]).rows == len(values)


def test_pandas_columns_of_objects() -> None:
    frame = pd.DataFrame({"x": pd.Series([2, 1.5], dtype=object), "y": pd.Series(["b", "a"], dtype=object)})
    assert decoded(read_table(frame, quasi=["x", "y"])) == {"x": [2.0, 1.5], "y": ["b", "a"]}
    with pytest.raises(BadValue, match="'x'"):
        one(pd.DataFrame({"x": pd.Series([2**70, 1], dtype=object)}))
    with pytest.raises(BadValue, match="'x'"):
        one(pd.DataFrame({"x": pd.Series(["a", 1]).astype("category")}))


def test_twin_and_strange_column_names_are_refused(tmp_path: Path) -> None:
    sources = [
        pd.DataFrame([[1, 2]], columns=["x", "x"]),
        pa.table([[1], [2]], names=["x", "x"]),
        write(tmp_path, "x,x\n1,2\n"),
    ]
    for source in sources:
        with pytest.raises(BadValue, match=r"several columns have the same name.*x"):
            one(source)
    with pytest.raises(BadValue, match=r"must be texts.*got: 0, 1"):
        one(pd.DataFrame([[1, 2]]))


# --- missing values

GAPS = pl.DataFrame({"a": [1, None, 3, 4], "b": ["u", "v", None, None], "s": ["p", "q", None, "q"], "id": [None] * 4})


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_missing_values_are_refused_with_counts(library: str) -> None:
    frame = {"polars": GAPS, "pandas": GAPS.to_pandas(), "pyarrow": GAPS.to_arrow()}[library]
    with pytest.raises(MissingValues) as raised:
        read_table(frame, quasi=["a", "b"], sensitive="s", identifiers=["id"])
    assert raised.value.got == "a (1), b (2), s (1)"
    assert "--missing drop" in raised.value.hint
    assert "--missing category" in raised.value.hint
    assert read_table(frame.head(1) if library != "pyarrow" else frame.slice(0, 1), quasi=["a", "b"]).rows == 1


def test_nan_is_missing_everywhere() -> None:
    values = [1.0, float("nan")]
    for frame in (pl.DataFrame({"x": values}), pd.DataFrame({"x": values}), pa.table({"x": values})):
        with pytest.raises(MissingValues, match=r"x \(1\)"):
            one(frame)


def test_dropped_rows_take_their_labels_along() -> None:
    table = read_table(GAPS, quasi=["a", "b"], sensitive="s", keep=["id"], missing="drop")
    assert decoded(table) == {"a": [1], "b": ["u"], "s": ["p"]}
    assert [one.labels.tolist() for one in table.quasi] == [[1], ["u"]]
    assert table.kept is not None
    assert table.kept.tolist() == [[-1]]
    assert table.dropped_rows == 3
    assert table.notices == ("dropped 3 of 4 rows with missing values: a (1), b (2), s (1)",)
    with pytest.raises(EmptyTable, match="no row is left"):
        read_table(GAPS, quasi=["a", "id"], missing="drop")


def test_nothing_to_drop_gives_no_notice() -> None:
    table = read_table(pl.DataFrame({"x": [1, 2]}), quasi=["x"], missing="drop")
    assert (table.dropped_rows, table.notices) == (0, ())


def test_missing_as_a_category() -> None:
    table = read_table(GAPS, quasi=["a", "b", "id"], sensitive="s", missing="category")
    a, b, id_ = table.quasi
    assert (a.kind, a.labels.tolist()) == ("ordered", ["1", "3", "4", "(missing)"])
    assert b.labels.tolist() == ["(missing)", "u", "v"]
    assert id_.labels.tolist() == ["(missing)"]
    assert decoded(table)["s"] == ["p", "q", "(missing)", "q"]
    assert [notice for notice in table.notices if "'a'" in notice and "in their order" in notice]
    assert len(table.notices) == 1
    assert table.dropped_rows == 0


def test_missing_category_must_not_meet_a_value_of_that_name() -> None:
    with pytest.raises(BadValue, match=r"also the value '\(missing\)'"):
        one(pl.DataFrame({"x": ["(missing)", None]}), missing="category")
    assert one(pl.DataFrame({"x": ["(missing)", "a"]}), missing="category").size == 2


def test_missing_category_of_a_hierarchy_must_be_one_of_its_leaves() -> None:
    frame = pl.DataFrame({"x": ["a", None]})
    with pytest.raises(HierarchyError, match=r"got: \(missing\)"):
        one(frame, missing="category", hierarchies={"x": Hierarchy.from_rows([["a"]])})
    tree = Hierarchy.from_rows([["a"], ["(missing)"]])
    assert one(frame, missing="category", hierarchies={"x": tree}).labels.tolist() == ["a", "(missing)"]


@pytest.mark.parametrize("option", [{"missing": "ignore"}, {"rows": 0}, {"rows": -1}, {"rows": True}, {"rows": 1.5}])
def test_impossible_options_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(BadValue, match=r"allowed.*got"):
        one(pl.DataFrame({"x": [1]}), **option)


def test_infinite_numbers_are_refused_with_their_count() -> None:
    frame = pl.DataFrame({"x": [float("inf"), 1.0, float("-inf"), float("inf")], "y": [1, 2, 3, 4]})
    with pytest.raises(BadValue, match=r"'x' has infinite.*got: 3 .*hint"):
        one(frame)
    with pytest.raises(BadValue, match="'x' has infinite"):
        read_table(frame, quasi=["y"], sensitive="x")
    assert one(frame, categorical=["x"]).size == 3
    assert read_table(frame, quasi=["y"], keep=["x"]).rows == 4


def test_na_texts_in_frames() -> None:
    frame = pl.DataFrame({"x": ["NA", "", "a"], "n": [-99, 5, 6]})
    for source in (frame, frame.to_pandas(), frame.with_columns(pl.col("x").cast(pl.Categorical))):
        with pytest.raises(MissingValues, match=r"x \(1\)"):
            one(source)
        assert one(source, na=()).labels.tolist() == ["", "NA", "a"]
        table = read_table(source, quasi=["x", "n"], na=["NA", "", "-99"], missing="drop")
        assert decoded(table) == {"x": ["a"], "n": [6]}
    assert read_frame(frame)["x"].null_count == 1
    assert one(pl.DataFrame({"x": ["\0", "a"]})).labels.tolist() == ["\0", "a"]
    assert read_frame(frame, na="NA")["x"].to_pylist() == [None, "", "a"]


# --- hierarchies

TREE = Hierarchy.from_rows([["30", "old", "*"], ["20", "young", "*"], ["40", "old", "*"]])


def test_labels_follow_the_leaves_of_the_hierarchy(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [20, 30, 40, 20], "s": ["20", "40", "30", "20"]})
    path = write(tmp_path, "30;old;*\n20;young;*\n40;old;*\n", "tree.csv")
    for tree in (TREE, path, str(path)):
        table = read_table(frame, quasi=["x"], sensitive="s", hierarchies={"x": tree, "s": tree})
        assert (table.quasi[0].kind, table.quasi[0].labels.dtype) == ("categorical", np.int64)
        assert table.quasi[0].labels.tolist() == [30, 40, 20]
        assert table.quasi[0].leaves.tolist() == [0, 1, 2]
        assert table.sensitive is not None
        assert table.sensitive.labels.tolist() == ["30", "40", "20"]
        assert decoded(table) == frame.to_dict(as_series=False)


def test_hierarchies_that_do_not_fit() -> None:
    frame = pl.DataFrame({"x": [20, 50], "k": [1, 2]})
    with pytest.raises(HierarchyError, match="got: 50"):
        one(frame, hierarchies={"x": TREE})
    with pytest.raises(UnknownColumn, match=r"hierarchy for 'X'.*did you mean 'x'"):
        one(frame, hierarchies={"X": TREE})
    with pytest.raises(RoleConflict, match="numeric"):
        one(frame, numeric=["x"], hierarchies={"x": TREE})
    with pytest.raises(RoleConflict, match="not generalized"):
        one(frame, keep=["k"], hierarchies={"k": TREE})
    with pytest.raises(BadValue, match="got: dict"):
        one(frame, hierarchies={"x": {}})  # type: ignore[dict-item]


# --- names a release needs


@pytest.mark.parametrize(
    "roles",
    [
        {"quasi": ["group"]},
        {"quasi": ["c"], "sensitive": "group"},
        {"quasi": ["c"], "keep": ["group"]},
        {"quasi": ["age"], "sensitive": "age_min"},
        {"quasi": ["age", "age_max"]},
        {"quasi": ["age"], "keep": ["age_max"]},
    ],
)
def test_reserved_names_are_refused(roles: dict[str, Any]) -> None:
    frame = pl.DataFrame({"group": [1], "c": ["x"], "age": [1], "age_min": [1], "age_max": [1]})
    with pytest.raises(RoleConflict, match="hint: rename"):
        read_table(frame, **roles)


def test_reserved_names_that_are_not_published_or_needed_are_fine() -> None:
    frame = pl.DataFrame({"group": [1], "age": ["x"], "age_min": [1]})
    assert read_table(frame, quasi=["age"], sensitive="age_min", identifiers=["group"]).rows == 1


# --- files


def test_quotes_marks_and_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path, '\ufeff\r\n"x",y\r\n"a, b",1\r\n"two\nlines",2\r\n"say ""hi""",3')
    assert decoded(read_table(path, quasi=["x", "y"])) == {"x": ["a, b", "two\nlines", 'say "hi"'], "y": [1, 2, 3]}


def test_line_breaks_in_quotes_between_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneoff.table.textfile._BLOCK_BYTES", 64)
    texts = [f"{n}\n{'#' * (n % 9)}\n\n" for n in range(200)]
    path = write(tmp_path, "x,y\n" + "".join(f'"{text}",1\n' for text in texts))
    assert decoded(read_table(path, quasi=["x"])) == {"x": texts}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "TXT"])
def test_the_delimiter_is_found_in_the_header(tmp_path: Path, delimiter: str, suffix: str) -> None:
    text = '"last, first; a|b\tc"#x#y\nA#1#2\n'.replace("#", delimiter)
    path = write(tmp_path, text, f"people.{suffix}")
    assert decoded(read_table(path, quasi=["x", "y"])) == {"x": [1], "y": [2]}


def test_a_given_delimiter_wins(tmp_path: Path) -> None:
    path = write(tmp_path, "x:a,b\n1:2\n")
    assert read_frame(path, delimiter=":").to_pydict() == {"x": [1], "a,b": [2]}
    for delimiter in ("::", "", '"'):
        with pytest.raises(BadValue, match="delimiter"):
            read_frame(path, delimiter=delimiter)


@pytest.mark.parametrize("text", ["x,y\n1,2\n3\n5,6\n", "x,y\n1,2\n3,4,5\n"])
def test_ragged_lines_are_refused_with_their_number(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableFile, match=r"2 cells in every line.*got: .*Row #3.*hint"):
        one(write(tmp_path, text))


@pytest.mark.parametrize("text", ['x,y\n1,2\n3,"a\n5,6\n7,8\n', 'x,y\n1,"a\n3,4\n5,"b\n7,8\n'])
def test_an_open_quote_does_not_swallow_people(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableFile, match=r"closed quotes.*got: .*line"):
        one(write(tmp_path, text))


def test_the_encoding_is_never_guessed(tmp_path: Path) -> None:
    path = write(tmp_path, "x,größe\nä,1\nb,2\n".encode("latin-1"))
    with pytest.raises(UnreadableFile, match=r"not written in utf-8.*0xf6 in line 1.*--encoding latin-1"):
        one(path)
    assert decoded(read_table(path, quasi=["x", "größe"], encoding="latin-1")) == {"x": ["ä", "b"], "größe": [1, 2]}
    assert decoded(read_table(write(tmp_path, "x\nä\n".encode("utf-16")), quasi=["x"], encoding="utf-16")) == {
        "x": ["ä"]
    }
    with pytest.raises(UnreadableFile, match="0xe4 in line 3"):
        one(write(tmp_path, b"x\na\n\xe4\n"))
    with pytest.raises(BadValue, match="unknown encoding"):
        one(path, encoding="klingon")


@pytest.mark.parametrize("encoding", ["klingon", "", "\0", "hex"])
def test_an_encoding_is_looked_up_even_where_there_is_nothing_to_decode(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(b"" if encoding != "hex" else b"age\n1\n")
    with pytest.raises(BadValue, match="unknown encoding"):
        read_frame(tmp_path / "people.csv", encoding=encoding)


@pytest.mark.parametrize("delimiter", ["\0", "\u00e9", "ab", "", '"'])
def test_delimiters_that_no_reader_takes(delimiter: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex\n1,F\n")
    with pytest.raises(BadValue, match="this delimiter is not possible"):
        read_frame(tmp_path / "people.csv", delimiter=delimiter)


@pytest.mark.parametrize("first", ["\n", "\r\n\r\n", "\ufeff\ufeff", "\ufeff\n"])
@pytest.mark.parametrize("header", ["age", "age,sex"])
def test_what_stands_before_the_header_is_no_part_of_it(first: str, header: str, tmp_path: Path) -> None:
    line = header.replace("age", "30").replace("sex", "F")
    (tmp_path / "people.csv").write_bytes(f"{first}{header}\n{line}\n{line}\n".encode())
    frame = read_frame(tmp_path / "people.csv")
    assert (frame.column_names, frame.num_rows) == (header.split(","), 2)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    broken = write(tmp_path, "PAR1 and no more", "broken.parquet")
    whole = tmp_path / "whole.parquet"
    pl.DataFrame({"x": list(range(1000))}).write_parquet(whole)
    cut = write(tmp_path, whole.read_bytes()[:300], "cut.parquet")
    for path in (broken, cut, write(tmp_path, "", "none.parquet")):
        with pytest.raises(UnreadableFile, match=r"cannot be read as Parquet.*hint"):
            one(path)
    with pytest.raises(UnreadableFile, match=r"no file.*did you mean 'whole.parquet'"):
        one(tmp_path / "hole.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableFile, match="has no files that can be read"):
        one(tmp_path / "empty")
    with pytest.raises(UnreadableFile, match=r"kind of file.*'.xlsx'.*hint"):
        one(write(tmp_path, "x", "people.xlsx"))


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableFile, match="is empty"):
        one(write(tmp_path, text))


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    empty = pl.DataFrame({"x": []}, schema={"x": pl.Int64})
    empty.write_parquet(tmp_path / "empty.parquet")
    sources = (empty, empty.lazy(), empty.to_pandas(), empty.to_arrow(), tmp_path / "empty.parquet")
    for source in (*sources, write(tmp_path, "x,y\n")):
        with pytest.raises(EmptyTable, match="no rows"):
            one(source)


@pytest.mark.parametrize(
    ("texts", "kind", "labels"),
    [
        (["01234", "99999"], "categorical", ["01234", "99999"]),
        (["0", "10", "-5"], "numeric", [-5, 0, 10]),
        (["-05", "1"], "categorical", ["-05", "1"]),
        (["00.5", "1"], "categorical", ["00.5", "1"]),
        (["0.5", "1", "1e3"], "numeric", [0.5, 1.0, 1000.0]),
        (["123456789012345678", "1"], "numeric", [1, 123456789012345678]),
        (["1234567890123456789", "1"], "categorical", ["1", "1234567890123456789"]),
        (["0.1234567890123456789", "1"], "categorical", ["0.1234567890123456789", "1"]),
        (["0.30000000000000004", "0.3", "1"], "numeric", [0.3, 0.30000000000000004, 1.0]),
        (["9007199254740993.0", "9007199254740992.0"], "categorical", ["9007199254740992.0", "9007199254740993.0"]),
        (["1.50", "1.5", "2"], "numeric", [1.5, 2.0]),
        (["1e999", "1"], "categorical", ["1", "1e999"]),
        (["+49", "1"], "categorical", ["+49", "1"]),
        ([" 7", "12 "], "numeric", [7, 12]),
        (["NA", "DE"], "categorical", ["DE", "NA"]),
        (["nan", "1"], "categorical", ["1", "nan"]),
        (["true", "false"], "categorical", ["false", "true"]),
        (["2020-03-01", "1969-12-31"], "numeric", [dt.date(1969, 12, 31), dt.date(2020, 3, 1)]),
        (["2020-02-31"], "categorical", ["2020-02-31"]),
        (["2020-03-01 10:00", "2020-03-01T09:00:01.5"], "numeric", None),
        (["01/02/2020"], "categorical", ["01/02/2020"]),
        (["a" * 10_000, "b"], "categorical", ["a" * 10_000, "b"]),
    ],
)
def test_types_of_csv_columns(tmp_path: Path, texts: list[str], kind: str, labels: list[Any] | None) -> None:
    attribute = one(write(tmp_path, "x,y\n" + "".join(f"{text},1\n" for text in texts)))
    assert attribute.kind == kind
    if labels is None:
        labels = [dt.datetime(2020, 3, 1, 9, 0, 1, 500_000), dt.datetime(2020, 3, 1, 10)]
    assert attribute.labels.tolist() == labels


def test_empty_fields_are_missing_in_texts_and_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "x,y,z\n1,a,\n,,\n3,NA,\n-9,b,\n")
    with pytest.raises(MissingValues, match=r"got: x \(1\), y \(1\), z \(4\)"):
        read_table(path, quasi=["x", "y", "z"])
    table = read_table(path, quasi=["x", "y"], missing="drop")
    assert decoded(table) == {"x": [1, 3, -9], "y": ["a", "NA", "b"]}
    table = read_table(path, quasi=["x", "y"], missing="drop", na=["", "NA", "-9"])
    assert decoded(table) == {"x": [1], "y": ["a"]}
    assert table.quasi[0].labels.dtype == np.int64


def test_only_the_first_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [f"v{n % 7}" for n in range(100)], "y": range(100)})
    frame.write_csv(tmp_path / "x.csv")
    frame.with_columns(pl.col("x").cast(pl.Categorical)).write_parquet(tmp_path / "x.parquet", row_group_size=3)
    sources = (frame, frame.lazy(), frame.to_pandas(), frame.to_arrow(), tmp_path / "x.csv", tmp_path / "x.parquet")
    for source in sources:
        for rows in (1, 5, 100, 1000):
            table = read_table(source, quasi=["x"], sensitive="y", rows=rows)
            assert decoded(table) == frame.head(rows).to_dict(as_series=False)


def test_parquet_columns_with_dots_and_nested_neighbours(tmp_path: Path) -> None:
    frame = pa.table({"a": [1, 2], "a.b": [3, 4], "n": [{"b": 1}, {"b": 2}]})
    pq.write_table(frame, tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet", quasi=["a"], sensitive="a.b")
    assert decoded(table) == {"a": [1, 2], "a.b": [3, 4]}


def test_read_frame_has_every_column_and_no_index() -> None:
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", None]}, index=[7, 3])
    assert read_frame(frame).to_pydict() == {"x": [1, 2], "y": ["a", None]}
    assert read_frame(frame, rows=1).num_rows == 1


# --- real tables


def test_real_table_with_its_hierarchies(data_dir: Path) -> None:
    folder = data_dir / "hierarchies" / "adult"
    quasi = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
    trees = {name: folder / f"{name}.csv" for name in [*quasi, "occupation"]}
    source = data_dir / "adult.parquet"
    table = read_table(source, quasi=quasi, sensitive="occupation", hierarchies=trees, missing="drop")
    assert table.rows == 45_222
    assert table.dropped_rows == 48_842 - 45_222
    whole = pl.read_parquet(source).select(*quasi, "occupation").drop_nulls()
    assert decoded(table) == whole.to_dict(as_series=False)
    for one_of in (*table.quasi, table.sensitive):
        assert one_of is not None
        assert one_of.hierarchy is not None
        assert one_of.hierarchy.names == read_hierarchy(trees[one_of.name]).names
        assert (np.diff(one_of.leaves) > 0).all()


def test_a_csv_copy_of_a_real_table_is_the_same_table(data_dir: Path, tmp_path: Path) -> None:
    columns = ["age", "gender", "education", "marital", "race", "workclass", "country", "occupation"]
    source = data_dir / "census_occ100k.parquet"
    pl.read_parquet(source).write_csv(tmp_path / "copy.csv", separator=";")
    roles: dict[str, Any] = {"quasi": columns[:-1], "sensitive": columns[-1], "rows": 20_000}
    copy = read_table(tmp_path / "copy.csv", **roles)
    assert copy.rows == 20_000
    same(copy, read_table(source, **roles))


def test_an_empty_line_is_a_person_in_a_file_of_one_column(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("city\nA\n\nB\n")
    assert read_table(path, quasi="city", missing="category").rows == 3
    with pytest.raises(MissingValues):
        read_table(path, quasi="city")


def test_numbers_that_look_like_codes_get_a_notice() -> None:
    frame = pa.table({"zip": [12345, 12346], "age": [3, 4]})
    notices = read_table(frame, quasi="zip,age").notices
    assert any("--categorical zip" in notice for notice in notices)
    assert not any("age" in notice for notice in notices)
    assert read_table(frame, quasi="zip,age", categorical="zip").notices == ()
