"""Hierarchies that a word makes from the values of a column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import oneoff
from oneoff.errors import HierarchyError, RoleConflict
from oneoff.table import Hierarchy
from oneoff.table.read import read_table


def tree(values: Any, word: str, **given: Any) -> Hierarchy:
    found = read_table(pl.DataFrame({"x": values}), quasi=["x"], hierarchies={"x": word}, **given).quasi[0].hierarchy
    assert found is not None
    return found


def test_prefixes() -> None:
    rows = tree(["98101", "98109", "01234"], "prefix").rows()
    assert rows[0] == ["01234", "0123*", "012**", "01***", "0****", "*"]
    assert rows[2][1:4] == ["9810*", "981**", "98***"]
    table = read_table(pl.DataFrame({"x": ["98101", "98109"]}), quasi=["x"], prefix="x")
    assert table.quasi[0].hierarchy is not None
    assert table.quasi[0].hierarchy.rows() == tree(["98101", "98109"], "prefix").rows()


def test_zeros_in_front_are_not_lost_and_lost_ones_are_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "zip.csv"
    path.write_text("zip\n01234\n98101\n")
    table = read_table(path, quasi=["zip"], prefix=["zip"])
    assert table.quasi[0].labels.tolist() == ["01234", "98101"]
    with pytest.raises(HierarchyError, match=r"may have lost zeros in front; .*4 to 5 digits"):
        tree([1234, 98101], "prefix")


def test_dates_and_intervals() -> None:
    assert tree(["2020-03-17", "2021-01-02"], "date").rows()[0] == ["2020-03-17", "2020-03", "2020", "*"]
    assert tree(["2020-03-17", "2021-01-02"], "date:quarter,decade").rows()[0][1:] == ["2020-Q1", "2020s", "*"]
    assert tree([3, 12, 27], "interval:5,10,20").rows()[1] == ["12", "[10, 15)", "[10, 20)", "[0, 20)", "*"]
    assert tree([3, 12, 27], "interval").rows() == tree([3, 12, 27], "interval:5,10,20").rows()


def test_missing_is_a_branch_of_its_own() -> None:
    rows = tree(["98101", None, "98109"], "prefix", missing="category").rows()
    assert rows[-1] == ["(missing)"] * 5 + ["*"]


@pytest.mark.parametrize(
    ("values", "word", "said"),
    [
        ([1, 2], "interval:x", "widths of intervals are numbers"),
        ([1, 2], "interval:5,7", "do not nest"),
        (["a", "b"], "interval", "intervals need numbers"),
        (["a", "b"], "date", "not dates"),
        (["12", "13"], "prefix:3", "takes nothing after it"),
    ],
)
def test_words_that_do_not_fit(values: list[Any], word: str, said: str) -> None:
    with pytest.raises(HierarchyError, match=f"can be made for 'x': .*{said}"):
        tree(values, word)


def test_one_hierarchy_for_each_column() -> None:
    with pytest.raises(RoleConflict, match="has a hierarchy and is to have one of prefixes"):
        read_table(pl.DataFrame({"x": ["a"]}), quasi=["x"], prefix=["x"], hierarchies={"x": "date"})


def test_people_who_are_left_out_are_not_in_the_tree(tmp_path: Path) -> None:
    """It is public and made of the values, so it must not list those of people who are not in the release."""
    frame = pl.DataFrame({"zip": [f"{98000 + i}" for i in range(60)], "d": ["a", "b", "c"] * 20})
    table = read_table(frame, quasi=["zip"], sensitive="d", prefix=["zip"])
    release = oneoff.anonymize(table, "k-anonymity:3", method="mondrian", hold_out=0.3, seed=1)
    release.write(tmp_path / "out")
    shown = json.loads((tmp_path / "out" / "public" / "release.json").read_text())["quasi"][0]["hierarchy"]
    assert release.held_out is not None
    left_out = {frame["zip"][int(row)] for row in release.held_out}
    assert left_out
    assert not left_out & {row[0] for row in shown}
    assert len(shown) == 60 - len(left_out)


def test_rows_that_are_dropped_are_not_in_the_tree() -> None:
    frame = pl.DataFrame({"x": ["98101", "98109", "55555"], "y": [1, 2, None]})
    table = read_table(frame, quasi=["x", "y"], prefix=["x"], missing="drop")
    assert table.quasi[0].hierarchy is not None
    assert table.quasi[0].hierarchy.leaves == ("98101", "98109")
