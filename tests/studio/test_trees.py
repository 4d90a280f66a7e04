"""Editing a hierarchy: what comes of it is a tree, or is refused by the library."""

from __future__ import annotations

import pytest

from oneoff.errors import BadValue, HierarchyError
from oneoff.studio.trees import flat, put_under, renamed, shown_tree, without_level
from oneoff.table.hierarchy import Hierarchy

VALUES = ["local", "state", "private", "none"]
COUNTS = {"local": 5, "state": 3, "private": 10, "none": 2}


def test_values_are_put_under_a_label_and_the_tree_makes_room() -> None:
    rows = put_under(flat(VALUES), 0, ["local", "state"], " government ")
    assert rows == [
        ["local", "government", "*"],
        ["state", "government", "*"],
        ["private", "private", "*"],
        ["none", "none", "*"],
    ]
    more = put_under(rows, 0, ["private"], "government")
    assert [row[1] for row in more] == ["government"] * 3 + ["none"]
    taller = put_under(rows, 1, ["government", "private"], "working")
    assert taller[2] == ["private", "private", "working", "*"]
    for each in (rows, more, taller):
        assert sorted(Hierarchy.from_rows(each).leaves) == sorted(VALUES)


def test_a_value_that_moves_takes_its_new_place_on_all_levels() -> None:
    rows = put_under(put_under(flat(VALUES), 0, ["local", "state"], "government"), 1, ["government"], "public")
    moved = put_under(rows, 0, ["private"], "government")
    assert moved[2] == ["private", "government", "public", "*"]
    Hierarchy.from_rows(moved)


def test_labels_are_renamed_and_levels_removed() -> None:
    rows = put_under(flat(VALUES), 0, ["local", "state"], "government")
    assert renamed(rows, "government", "public")[0] == ["local", "public", "*"]
    assert renamed(rows, "local", "x")[0][0] == "local"  # values are those of the table
    assert without_level(rows, 1) == flat(VALUES)
    for level in (0, 2):
        with pytest.raises(BadValue):
            without_level(rows, level)


@pytest.mark.parametrize(("labels", "above"), [([], "x"), (["local"], "  ")])
def test_nothing_is_put_under_nothing(labels: list[str], above: str) -> None:
    with pytest.raises(BadValue):
        put_under(flat(VALUES), 0, labels, above)


def test_a_label_with_two_meanings_is_refused_by_the_library() -> None:
    rows = put_under(flat(VALUES), 0, ["local", "state"], "private")
    with pytest.raises(HierarchyError, match="ambiguous"):
        Hierarchy.from_rows(rows)


def test_the_tree_is_shown_with_counts_and_repeats_nothing() -> None:
    tree = shown_tree(put_under(flat(VALUES), 0, ["local", "state"], "government"), COUNTS)
    assert (tree.label, tree.count) == ("*", 20)
    assert [(each.label, each.level, each.count) for each in tree.children] == [
        ("government", 1, 8), ("private", 0, 10), ("none", 0, 2),
    ]  # fmt: skip
    assert [each.label for each in tree.children[0].children] == ["local", "state"]


def test_of_a_large_tree_whole_levels_are_shown() -> None:
    rows = [[f"{n:04}", f"{n // 100:02}**", "*"] for n in range(2000)]
    tree = shown_tree(rows, {f"{n:04}": 1 for n in range(2000)}, 400)
    assert len(tree.children) == 20
    assert {(each.count, each.hidden, each.children) for each in tree.children} == {(100, 100, ())}
