"""Hierarchies: trees over values, ARX files, and builders."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import HierarchyError, UnreadableFile
from oneoff.table.hierarchy import (
    Hierarchy,
    date_hierarchy,
    interval_hierarchy,
    label_texts,
    prefix_hierarchy,
    read_hierarchy,
)

FRUIT = [
    ["apple", "pome", "fruit"],
    ["carrot", "root", "vegetable"],
    ["pear", "pome", "fruit"],
    ["leek", "stem", "vegetable"],
    ["beet", "root", "vegetable"],
]


@st.composite
def trees(draw: st.DrawFn) -> list[list[str]]:
    """Rows of a random tree, shuffled: every leaf is a path of child numbers."""
    height = draw(st.integers(1, 4))
    paths = draw(st.lists(st.tuples(*[st.integers(0, 2)] * height), min_size=1, max_size=20, unique=True))
    return [["-".join(map(str, path[: height - level])) for level in range(height)] for path in paths]


def below(tree: Hierarchy, level: int, node: int) -> set[int]:
    """The leaves of a node, from its labels alone."""
    return {leaf for leaf, row in enumerate(tree.rows()) if row[level] == tree.names[level][node]}


def test_leaves_of_a_node_are_neighbours_in_order_of_appearance() -> None:
    tree = Hierarchy.from_rows(FRUIT)
    assert tree.leaves == ("apple", "pear", "carrot", "beet", "leek")
    assert tree.names[1:] == (("pome", "root", "stem"), ("fruit", "vegetable"), ("*",))
    assert tree.ancestor.tolist() == [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0]]
    assert (tree.height, tree.leaf_count) == (3, 5)
    assert tree.ancestor.dtype == np.int32


@pytest.mark.parametrize(
    "rows",
    [
        [["A", "B", "*"], ["B", "A", "*"], ["C", "A", "*"], ["D", "B", "*"]],
        [["1", "1", "*"], ["2", "1", "*"]],
        [["*"], ["b"]],
        [["a", "x", "y"], ["b", "x", "y"], ["c", "y", "x"]],
    ],
)
def test_a_label_with_two_meanings_is_refused(rows: list[list[str]]) -> None:
    with pytest.raises(HierarchyError, match="different meanings on different levels") as caught:
        Hierarchy.from_rows(rows)
    assert caught.value.allowed
    assert caught.value.got
    assert caught.value.hint


def test_a_label_may_repeat_along_its_path() -> None:
    rows = [["1", "1", "1", "*"], ["2", "23", "23", "*"], ["3", "23", "23", "*"]]
    assert Hierarchy.from_rows(rows).rows() == rows


def test_a_tree_cannot_be_changed() -> None:
    tree = Hierarchy.from_rows(FRUIT)
    with pytest.raises(ValueError, match="read-only"):
        tree.ancestor[0, 0] = 1


@given(trees())
def test_rows_build_the_same_tree_again(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_rows(rows)
    again = Hierarchy.from_rows(tree.rows())
    assert again.names == tree.names
    np.testing.assert_array_equal(again.ancestor, tree.ancestor)
    original = {row[0]: row for row in rows}
    assert all(row[: len(original[row[0]])] == original[row[0]] for row in tree.rows())
    assert sorted(tree.leaves) == sorted(original)


@given(trees(), st.data())
def test_lowest_common_ancestor_covers_the_set_and_no_lower_node_does(
    rows: list[list[str]], data: st.DataObject
) -> None:
    tree = Hierarchy.from_rows(rows)
    leaf = st.integers(0, tree.leaf_count - 1)
    sets = data.draw(st.lists(st.sets(leaf, min_size=1), min_size=1, max_size=5))
    level, node = tree.lca([min(one) for one in sets], [max(one) for one in sets])
    for one, its_level, its_node in zip(sets, level.tolist(), node.tolist(), strict=True):
        assert one <= below(tree, its_level, its_node)
        lower = ((h, other) for h in range(its_level) for other in range(len(tree.names[h])))
        assert not any(one <= below(tree, h, other) for h, other in lower)


@given(trees())
def test_span_count_and_label_of_every_node(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_rows(rows)
    nodes = [(level, node) for level, names in enumerate(tree.names) for node in range(len(names))]
    level, node = np.array(nodes).T
    first, last = tree.span(level, node)
    counts, labels = tree.leaves_under(level, node), tree.labels_of(level, node)
    for position, (h, one) in enumerate(nodes):
        expected = below(tree, h, one)
        assert set(range(first[position], last[position] + 1)) == expected
        assert counts[position] == len(expected)
        assert labels[position] == tree.label(h, one) == tree.names[h][one]


def test_a_root_is_added_only_where_there_is_none() -> None:
    assert Hierarchy.from_rows([["a", "all"], ["b", "all"]]).names == (("a", "b"), ("all",))
    assert Hierarchy.from_rows([["a"], ["b"]]).names == (("a", "b"), ("*",))
    assert Hierarchy.from_rows([["a"]]).names == (("a",), ("*",))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "is empty"),
        ([[]], "is empty"),
        ([["a", "x", "*"], ["b", "*"]], "rows of different length.*got: 2 cells in the row of 'b'"),
        ([["a", "*"], ["b", "*"], ["a", "*"]], "lists values twice.*got: a;"),
        ([["a", "x", "p"], ["b", "x", "q"]], "'x' at level 1 is below two different labels.*got: p, q"),
        ([["a", "", "*"]], "empty label above the value 'a'"),
    ],
)
def test_what_is_no_tree_is_refused(rows: list[list[str]], message: str) -> None:
    with pytest.raises(HierarchyError, match=f"hierarchy of 'zip'.*{message}"):
        Hierarchy.from_rows(rows, name="zip")


def test_inconsistent_parts_are_refused() -> None:
    with pytest.raises(HierarchyError, match="fit together"):
        Hierarchy((("a", "b"), ("*",)), np.zeros((1, 2), dtype=np.int32))
    with pytest.raises(HierarchyError, match="neighbours"):
        Hierarchy((("a", "b"), ("x", "y"), ("*",)), np.array([[0, 1], [1, 0], [0, 0]], dtype=np.int32))


@pytest.mark.parametrize(
    ("leaves", "labels"),
    [
        (["22", "7"], np.array([7, 22, 22])),
        (["22", "7", "2.5"], np.array([7.0, 22.0, 2.5])),
        (["true", "FALSE"], np.array([False, True])),
        (["2020-03-01", "2020-03-02T10:30:00"], np.array(["2020-03-02T10:30", "2020-03-01"], "datetime64[us]")),
        (["2020-03-01", "1969-12-31"], np.array(["1969-12-31", "2020-03-01"], "datetime64[D]")),
        (["b", "a"], np.array(["a", "b", "a"], dtype=object)),
        (["b", "a"], np.array(["a", "b"])),
    ],
)
def test_labels_of_any_type_match_leaves_by_text(leaves: list[str], labels: np.ndarray) -> None:
    tree = Hierarchy.from_rows([[leaf, "*"] for leaf in leaves])
    codes = tree.leaf_codes(labels)
    assert codes.dtype == np.int32
    texts = [tree.leaves[code] for code in codes]
    if labels.dtype.kind == "b":
        assert [text.lower() for text in texts] == [str(label).lower() for label in labels.tolist()]
    else:
        assert texts == label_texts(labels)


def test_missing_values_are_listed_with_the_nearest_leaf() -> None:
    tree = Hierarchy.from_rows(FRUIT)
    with pytest.raises(HierarchyError) as raised:
        tree.leaf_codes(np.array(["apple", "aple", "kiwi", "kiwi"], dtype=object))
    assert raised.value.got == "aple, kiwi"
    assert "did you mean 'apple'?" in raised.value.hint


# --- files


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "tree.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["", "level0#level1#level2\n", "Level0#a#b\n", "value#group#all\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_delimiters_headers_and_marks(tmp_path: Path, delimiter: str, header: str, mark: str) -> None:
    text = mark + header + 'a#"x; y, z"#*\nb#"x; y, z"#*\r\n"c ""d"""#w#*\n\n'
    tree = read_hierarchy(write(tmp_path, text.replace("#", delimiter)))
    assert tree.names == (("a", "b", 'c "d"'), ("x; y, z", "w"), ("*",))


def test_a_comma_in_unquoted_labels_is_not_the_delimiter(tmp_path: Path) -> None:
    tree = read_hierarchy(write(tmp_path, "20;[20, 25);[20, 30);*\n21;[20, 25);[20, 30);*\n"))
    assert tree.names == (("20", "21"), ("[20, 25)",), ("[20, 30)",), ("*",))
    tree = read_hierarchy(write(tmp_path, '20,"[20; 25)",*\n31,"[30; 35)",*\n42,"[40; 45)",*\n'))
    assert tree.names == (("20", "31", "42"), ("[20; 25)", "[30; 35)", "[40; 45)"), ("*",))


def test_a_first_value_is_not_taken_for_a_header(tmp_path: Path) -> None:
    assert read_hierarchy(write(tmp_path, "a,x\nb,y\n")).leaves == ("a", "b")
    assert read_hierarchy(write(tmp_path, "a,*\nb,*\n")).leaves == ("a", "b")
    assert read_hierarchy(write(tmp_path, "value,all\nb,*\n")).leaves == ("b",)
    assert read_hierarchy(write(tmp_path, "a\nb\nc\n")).leaves == ("a", "b", "c")


@pytest.mark.parametrize("text", ["", "\n\n", "level0,level1\n"])
def test_a_file_without_values_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(HierarchyError, match="is empty"):
        read_hierarchy(write(tmp_path, text))


def test_ragged_file_names_the_row(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match=r"'tree.csv' has rows of different length.*'b'"):
        read_hierarchy(write(tmp_path, "a,x,*\nb,*\n"))


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="No such file"):
        read_hierarchy(tmp_path / "absent.csv")
    with pytest.raises(UnreadableFile, match="cannot be read"):
        read_hierarchy(tmp_path)
    with pytest.raises(UnreadableFile, match=r"not UTF-8.*0xe9 at position 2.*hint"):
        read_hierarchy(write(tmp_path, b"ab\xe9,*\n"))


def test_real_files_are_read_unchanged(data_dir: Path) -> None:
    files = sorted((data_dir / "hierarchies").glob("*/*.csv"))
    assert len(files) >= 14
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()[1:]
        tree = read_hierarchy(path)
        assert tree.leaf_count == len(lines), path
        assert tree.names[-1] == ("*",), path
        assert sorted(tree.rows()) == sorted(line.split(",") for line in lines), path


# --- builders


def test_intervals_nest_and_are_half_open() -> None:
    tree = interval_hierarchy([25, 4, 24, 4], widths=(5, 10))
    assert tree.rows() == [
        ["4", "[0, 5)", "[0, 10)", "*"],
        ["24", "[20, 25)", "[20, 30)", "*"],
        ["25", "[25, 30)", "[20, 30)", "*"],
    ]


def test_intervals_of_decimal_and_negative_numbers_are_exact() -> None:
    tree = interval_hierarchy(np.array([0.3, -0.05]), widths=(0.1,))
    assert tree.rows() == [["-0.05", "[-0.1, 0)", "*"], ["0.3", "[0.3, 0.4)", "*"]]
    assert interval_hierarchy([3], widths=(4,), origin=2).rows() == [["3", "[2, 6)", "*"]]


@given(
    st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=30),
    st.integers(1, 9),
    st.lists(st.integers(2, 4), max_size=3),
    st.integers(-5, 5),
)
def test_every_number_lies_in_its_intervals(values: list[int], width: int, factors: list[int], origin: int) -> None:
    widths = np.cumprod([width, *factors]).tolist()
    tree = interval_hierarchy(values, widths, origin)
    assert list(tree.leaves) == [str(value) for value in sorted(set(values))]
    for row in tree.rows():
        for label, size in zip(row[1:-1], widths, strict=True):
            low, high = (int(end) for end in label[1:-1].split(", "))
            assert low <= int(row[0]) < high == low + size
            assert (low - origin) % size == 0


@pytest.mark.parametrize("widths", [(), (5, 12), (10, 5), (5, 5), (0, 5), (-5,), (float("nan"),)])
def test_widths_that_do_not_nest_are_refused(widths: tuple[float, ...]) -> None:
    with pytest.raises(HierarchyError, match="do not nest"):
        interval_hierarchy([1, 2], widths=widths)


def test_intervals_of_what_is_no_number_are_refused() -> None:
    with pytest.raises(HierarchyError, match="got: nan, x"):
        interval_hierarchy(np.array(["1", "x", "nan"], dtype=object))


def test_prefixes() -> None:
    tree = prefix_hierarchy(["12345", "123", "12399"])
    assert tree.rows()[0] == ["123", "123*", "123**", "12***", "1****", "*"]
    assert tree.rows()[1] == ["12345", "1234*", "123**", "12***", "1****", "*"]
    assert prefix_hierarchy([7, 8]).rows() == [["7", "*"], ["8", "*"]]
    assert prefix_hierarchy(["ab"], mask="#").rows() == [["ab", "a#", "*"]]


def test_prefixes_of_values_of_different_length_are_unambiguous() -> None:
    tree = prefix_hierarchy(["1", "12", "123"])
    assert tree.rows() == [["1", "1*", "1**", "*"], ["12", "12*", "1**", "*"], ["123", "12*", "1**", "*"]]


@given(st.lists(st.text("ab0", min_size=1, max_size=4), min_size=1, max_size=12))
def test_prefix_labels_are_the_prefix_and_a_mask_for_each_level(values: list[str]) -> None:
    tree = prefix_hierarchy(values)
    longest = max(map(len, values))
    assert tree.height == longest
    for row in tree.rows():
        for level, label in enumerate(row[1:-1], start=1):
            assert label == row[0][: longest - level] + "*" * level


@pytest.mark.parametrize("mask", ["", "**", "1"])
def test_masks_that_cannot_hide_are_refused(mask: str) -> None:
    with pytest.raises(HierarchyError, match="one character that no value contains"):
        prefix_hierarchy(["123", "200"], mask=mask)


@pytest.mark.parametrize(
    "values",
    [
        ["2020-03-17", "2019-12-01"],
        [dt.date(2020, 3, 17), dt.date(2019, 12, 1)],
        [dt.datetime(2020, 3, 17), dt.datetime(2019, 12, 1)],
        np.array(["2020-03-17", "2019-12-01"], "datetime64[D]"),
        np.array(["2020-03-17", "2019-12-01"], "datetime64[ns]"),
    ],
)
def test_dates_of_any_type(values: object) -> None:
    tree = date_hierarchy(values, levels=("month", "quarter", "year", "decade"))
    assert tree.rows() == [
        ["2019-12-01", "2019-12", "2019-Q4", "2019", "2010s", "*"],
        ["2020-03-17", "2020-03", "2020-Q1", "2020", "2020s", "*"],
    ]
    assert tree.leaf_codes(np.asarray(values)).tolist() == [1, 0]
    assert date_hierarchy(values).rows()[1] == ["2020-03-17", "2020-03", "2020", "*"]


@pytest.mark.parametrize("levels", [(), ("year", "month"), ("week",), ("month", "month")])
def test_periods_that_do_not_nest_are_refused(levels: tuple[str, ...]) -> None:
    with pytest.raises(HierarchyError, match="do not nest"):
        date_hierarchy(["2020-03-17"], levels=levels)


@pytest.mark.parametrize("value", ["17.03.2020", "2020-02-31", "2020-3-1", "20200317", ""])
def test_what_is_no_date_is_refused(value: str) -> None:
    with pytest.raises(HierarchyError, match="not dates"):
        date_hierarchy(["2020-03-17", value])


@pytest.mark.parametrize("build", [interval_hierarchy, prefix_hierarchy, date_hierarchy])
def test_builders_refuse_no_values(build: object) -> None:
    with pytest.raises(HierarchyError, match="is empty"):
        build([])  # type: ignore[operator]
