"""Hierarchies proposed from the values of a column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, HierarchyError, UnknownColumn
from oneoff.table.proposals import Proposal, propose, write_hierarchy
from tests.command_line import oneoff as command


def _proposed(values: list[Any], kind: str | None = None) -> list[Proposal]:
    return propose(pa.table({"x": values}), "x", kind=kind)


def _path(found: Proposal, value: str) -> list[str]:
    return next(row for row in found.tree.rows() if row[0] == value)


@pytest.mark.parametrize(
    ("values", "kind", "path"),
    [
        (["A01.1", "A02", "B10.2", "B11"], "icd-10", ["A01.1", "A01.*", "A00-A09", "A", "*"]),
        (["428", "428.1", "V27", "E909.1", "250.83"], "icd-9", ["428", "428.*", "420-429", "400-499", "*"]),
        (["428", "428.1", "V27", "E909.1", "250.83"], "icd-9", ["V27", "V27.*", "V20-V29", "V", "*"]),
        (["11-1011", "11-1021", "11-2011", "13-1011"], "soc",
         ["11-1011", "11-10xx", "11-1xxx", "11-xxxx", "*"]),
        (["US-CA", "US-NY", "DE-BE", "FR-75"], "regions", ["US-CA", "US", "*"]),
        (["01111", "01112", "01201", "99999"], "prefixes", ["01111", "0111*", "011**", "01***", "0****", "*"]),
        (["2020-01-31", "2020-02-01", "2021-05-05", "2022-01-01"], "dates",
         ["2020-01-31", "2020-01", "2020-Q1", "2020", "*"]),
    ],
)  # fmt: skip
def test_codes_are_recognised_by_their_shape(values: list[str], kind: str, path: list[str]) -> None:
    first = _proposed(values)[0]
    assert first.kind == kind
    assert _path(first, path[0]) == path


def test_one_value_of_another_shape_is_enough_for_another_proposal() -> None:
    assert [each.kind for each in _proposed(["A01.1", "A02", "B10.2", "unknown"])] == []


def test_numbers_in_ranges_of_equal_width_and_of_equal_counts() -> None:
    ages = [20] * 50 + list(range(21, 60))
    intervals, counts = _proposed(ages)
    assert (intervals.kind, counts.kind) == ("intervals", "counts")
    assert _path(intervals, "21")[1:] == ["[20, 25)", "[20, 30)", "[20, 40)", "*"]
    assert "[20, 20]" in counts.tree.names[1]  # half of the rows are one value
    assert int(counts.counts.sum()) == len(ages)


def test_ages_are_no_codes_but_zip_codes_are() -> None:
    assert "prefixes" not in [each.kind for each in _proposed(list(range(10, 60)))]
    assert _proposed([10115, 10117, 20095, 80331])[0].kind == "prefixes"


@given(st.lists(st.integers(-1000, 1000), min_size=4, max_size=60))
def test_every_value_is_a_leaf_and_counts_are_those_of_rows(numbers: list[int]) -> None:
    for found in _proposed(numbers):
        assert sorted(map(int, found.tree.names[0])) == sorted(set(numbers))
        assert [int(c) for c in found.counts] == [numbers.count(int(leaf)) for leaf in found.tree.names[0]]
        assert len(found.tree.names[-1]) == 1
        assert next(iter(found.lines())).split() == ["*", str(len(numbers))]


def test_values_whose_people_are_alike_are_joined() -> None:
    rng = np.random.default_rng(1)
    job = rng.choice(["nurse", "doctor", "smith", "welder", "clerk", "cook"], 3_000)
    place = np.where(
        np.isin(job, ["nurse", "doctor"]), "clinic", np.where(np.isin(job, ["smith", "welder"]), "forge", "town")
    )
    (found,) = propose(pa.table({"job": job, "place": place}), "job", by=["place"])
    assert found.kind == "clusters"
    assert _path(found, "nurse")[1] == _path(found, "doctor")[1]
    assert _path(found, "nurse")[1] != _path(found, "smith")[1] or len(found.tree.names[1]) < 3
    assert propose(pa.table({"job": job}), "job") == []


def test_what_is_asked_for_must_exist() -> None:
    table = pa.table({"zip": ["01111", "01112", "01201", "99999"]})
    with pytest.raises(UnknownColumn, match=r"no column 'zpi'.*did you mean 'zip'"):
        propose(table, "zpi")
    with pytest.raises(BadValue, match=r"kind 'prefix'.*did you mean 'prefixes'"):
        propose(table, "zip", kind="prefix")
    assert propose(table, "zip", kind="soc") == []
    with pytest.raises(HierarchyError, match="nothing is proposed"):
        write_hierarchy([], "zip", Path("never.csv"))


def test_the_command_writes_a_file_that_is_read_again(tmp_path: Path) -> None:
    source, out = tmp_path / "people.csv", tmp_path / "zip.csv"
    rows = [f"{place}{i % 7}{i % 3},{'FM'[i % 2]}" for i, place in enumerate(["011", "012", "991"] * 40)]
    source.write_text("zip,sex\n" + "\n".join(rows) + "\n")
    answer = command("hierarchy", source, "zip", "--out", out)
    assert answer.status == 0, answer.err
    assert "prefixes: all values are codes of 5 characters." in answer.out
    assert "011**  40" in answer.out
    made = command(
        "anonymize", source, "--quasi", "zip,sex", "--guarantee", "k-anonymity:5", "--hierarchy", f"zip={out}", "--out",
        tmp_path / "release",
    )  # fmt: skip
    assert made.status == 0, made.err
    assert command("hierarchy", source, "zip", "--out", out).status == 2
    assert command("hierarchy", source, "zip", "--out", out, "--overwrite", "--kind", "prefixes").status == 0
    found = command("hierarchy", source, "sex", "--json").json
    assert found == {"column": "sex", "proposals": []}
    assert "Nothing is proposed" in command("hierarchy", source, "sex").out
    assert oneoff.read_hierarchy(out).height == 5
