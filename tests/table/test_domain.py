"""Values that may occur: named in a list, a text, a file or a hierarchy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.errors import BadValue, UnreadableFile
from oneoff.table import Hierarchy, Table
from oneoff.table.domain import with_domain

TREE = [["flu", "lungs", "*"], ["asthma", "lungs", "*"], ["ulcer", "stomach", "*"], ["gastritis", "stomach", "*"]]


def people(values: list[Any], hierarchy: Hierarchy | None = None) -> Table:
    frame = pl.DataFrame({"age": list(range(len(values))), "disease": values})
    trees = {} if hierarchy is None else {"disease": hierarchy}
    return oneoff.read_table(frame, quasi=["age"], sensitive="disease", hierarchies=trees)


def shown(table: Table) -> list[Any]:
    assert table.sensitive is not None
    found: list[Any] = table.sensitive.decode(table.values).tolist()
    return found


@pytest.mark.parametrize(
    "given", [["flu", "HIV", "gout", "cold"], "flu; HIV ;gout;cold", ("cold", "HIV", "flu", "gout")]
)
def test_absent_values_are_there_with_nobody(given: Any) -> None:
    wide = with_domain(people(["flu", "gout", "flu"]), given)
    assert wide.sensitive is not None
    assert wide.sensitive.labels.tolist() == ["HIV", "cold", "flu", "gout"]
    assert wide.counts.tolist() == [0, 0, 2, 1]
    assert shown(wide) == ["flu", "gout", "flu"]
    again = with_domain(wide, given)
    assert again.counts.tolist() == wide.counts.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "flu\ngout\nHIV\n",
        "value\nflu\ngout\nHIV\n",
        "Disease,share\nflu,1\ngout,2\nHIV,3\n",
        "\ufeffflu;x\ngout;y\nHIV;z\n",
    ],
)
def test_a_file_has_them_in_its_first_column(text: str, tmp_path: Path) -> None:
    (tmp_path / "domain.csv").write_text(text, encoding="utf-8")
    wide = with_domain(people(["flu", "gout"]), str(tmp_path / "domain.csv"))
    assert wide.sensitive is not None
    assert wide.sensitive.labels.tolist() == ["HIV", "flu", "gout"]


def test_the_leaves_of_a_hierarchy_in_its_order() -> None:
    tree = Hierarchy.from_rows(TREE)
    wide = with_domain(people(["ulcer", "flu"], tree), "hierarchy")
    assert wide.sensitive is not None
    assert wide.sensitive.labels.tolist() == list(tree.leaves)
    assert shown(wide) == ["ulcer", "flu"]
    assert (np.diff(wide.sensitive.leaves) > 0).all()


@pytest.mark.parametrize(
    ("values", "given", "expected"),
    [
        ([3, 5, 3], "1;3;5;10", [1, 3, 5, 10]),
        ([3, 5, 3], [1, 3, 5], [1, 3, 5]),
        ([3, 5, 3], [0.5, 3, 5], [0.5, 3.0, 5.0]),
        ([0.5, 2.0], "0.25;0.5;2", [0.25, 0.5, 2.0]),
        ([True, True], "true;false", [False, True]),
    ],
)
def test_numbers_and_truth_values(values: list[Any], given: Any, expected: list[Any]) -> None:
    wide = with_domain(people(values), given)
    assert wide.sensitive is not None
    assert wide.sensitive.labels.tolist() == expected
    assert shown(wide) == values


def test_what_cannot_be_a_domain(tmp_path: Path) -> None:
    table = people(["flu", "gout", "flu"])
    with pytest.raises(BadValue, match=r"misses values of 'disease' that occur.*none of gout"):
        with_domain(table, ["flu", "HIV"])
    with pytest.raises(BadValue, match="no hierarchy whose leaves"):
        with_domain(table, "hierarchy")
    with pytest.raises(BadValue, match="no values"):
        with_domain(table, [])
    with pytest.raises(BadValue, match="misses"):
        with_domain(table, "")
    with pytest.raises(BadValue, match="the domain names a value that column 'disease' cannot have"):
        with_domain(people([3, 5]), "3;5;many")
    with pytest.raises(BadValue, match="cannot have"):
        with_domain(people(["flu", "ulcer"], Hierarchy.from_rows(TREE)), ["flu", "ulcer", "HIV"])
    with pytest.raises(UnreadableFile, match="the domain"):
        with_domain(table, str(tmp_path / "nowhere.csv"))
    nothing = oneoff.read_table(pl.DataFrame({"age": [1, 2]}), quasi=["age"])
    with pytest.raises(BadValue, match="sensitive"):
        with_domain(nothing, ["flu"])
