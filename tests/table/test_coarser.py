"""Fewer sensitive values: a level of their hierarchy, or rare ones as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import oneoff
from oneoff.errors import BadValue
from oneoff.table.hierarchy import Hierarchy
from tests.command_line import oneoff as command

TREE = Hierarchy.from_rows(
    [["flu", "airways", "inner", "*"], ["asthma", "airways", "inner", "*"], ["gout", "joints", "inner", "*"],
     ["burn", "skin", "outer", "*"], ["rash", "skin", "outer", "*"]]
)  # fmt: skip
PEOPLE = pl.DataFrame({"age": range(20), "disease": ["flu", "asthma", "gout", "burn"] * 4 + ["burn"] * 4})


def _read(**given: Any) -> oneoff.table.Table:
    return oneoff.read_table(PEOPLE, quasi=["age"], sensitive="disease", **given)


def _counted(table: oneoff.table.Table) -> dict[str, int]:
    assert table.sensitive is not None
    return dict(zip(table.sensitive.labels.tolist(), table.counts.tolist(), strict=True))


def test_the_labels_of_a_level() -> None:
    table = _read(hierarchies={"disease": TREE}, level=1)
    assert _counted(table) == {"airways": 8, "joints": 4, "skin": 8}
    assert table.sensitive is not None
    assert table.sensitive.hierarchy is not None
    assert table.sensitive.hierarchy.rows() == [
        ["airways", "inner", "*"],
        ["joints", "inner", "*"],
        ["skin", "outer", "*"],
    ]
    assert "became 3 of level 1" in table.notices[-1]
    assert _counted(_read(hierarchies={"disease": TREE}, level=2)) == {"inner": 12, "outer": 8}
    assert oneoff.audit(oneoff.anonymize(table, "l-diversity:2", method="mondrian", seed=1), table).holds


def test_labels_of_the_highest_level_ascend_whatever_the_order_of_the_file(tmp_path: Path) -> None:
    rows = [["flu", "inner", "*"], ["asthma", "inner", "*"], ["gout", "inner", "*"], ["burn", "a skin", "*"]]
    table = _read(hierarchies={"disease": Hierarchy.from_rows(rows)}, level=1)
    assert table.sensitive is not None
    assert table.sensitive.labels.tolist() == ["a skin", "inner"]
    assert _counted(table) == {"a skin": 8, "inner": 12}
    oneoff.anonymize(table, "l-diversity:1.5", method="mondrian", seed=1).write(tmp_path / "out")
    assert oneoff.verify(tmp_path / "out" / "public").holds


def test_rare_values_become_one() -> None:
    table = _read(other_below=5)
    assert _counted(table) == {"(other)": 12, "burn": 8}
    assert "3 values of 'disease' that fewer than 5 rows have, 12 rows in all" in table.notices[-1]
    assert _counted(_read(other_below=4)) == _counted(_read())  # nothing is that rare
    release = oneoff.anonymize(table, "l-diversity:1.5", method="mondrian", seed=1)
    assert set(release.to_polars()["disease"]) == {"(other)", "burn"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"level": 1}, "no hierarchy of 'disease'"),
        ({"hierarchies": {"disease": TREE}, "level": 3}, "level"),
        ({"hierarchies": {"disease": TREE}, "other_below": 5}, "--level 1"),
        ({"other_below": 1}, "other_below"),
    ],
)
def test_what_cannot_be_made_coarser(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadValue, match=message):
        _read(**given)


def test_proposals_before_the_work_say_what_they_would_bring() -> None:
    people = oneoff.read_table(
        oneoff.sample(20_000, seed=1, values=400), quasi=["age", "gender"], sensitive="occupation"
    )
    said: list[str] = []
    oneoff.publish.publish(people, "beta-likeness:1", method="mondrian", seed=1, warn=said.append)
    (large,) = [text for text in said if "large groups" in text]
    assert "--other-below 40 (other_below=40 in read_table)" in large
    assert "(a typical count off by about" in large


def test_from_the_command_line_and_its_job(tmp_path: Path) -> None:
    PEOPLE.write_csv(tmp_path / "people.csv")
    start = (
        "anonymize",
        tmp_path / "people.csv",
        "--quasi",
        "age",
        "--sensitive",
        "disease",
        "--guarantee",
        "k-anonymity:4",
    )
    answer = command(*start, "--other-below", 5, "--out", tmp_path / "a", "--json")
    assert answer.status == 0, answer.err
    assert any("became '(other)'" in notice for notice in answer.json["notices"])
    assert command("audit", tmp_path / "a").status == 0
    assert command("anonymize", tmp_path / "a" / "private" / "job.toml", "--out", tmp_path / "b").status == 0
