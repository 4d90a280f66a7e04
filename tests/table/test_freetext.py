"""Sentences are no quasi-identifier."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from oneoff.errors import RoleConflict
from oneoff.table.columns import column_of
from oneoff.table.freetext import is_free_text
from oneoff.table.read import read_frame, read_table

NOTES = [f"seen by doctor {i} because of pain in the knee" for i in range(30)]
FRAME = pl.DataFrame({"age": range(30), "note": NOTES, "d": ["a", "b", "c"] * 10})


def test_a_column_of_sentences_is_refused_until_it_is_declared() -> None:
    with pytest.raises(RoleConflict, match=r"'note' is free text.*30 different texts in 30 rows.*--categorical note"):
        read_table(FRAME, quasi=["age", "note"], sensitive="d")
    declared = read_table(FRAME, quasi=["age", "note"], sensitive="d", categorical=["note"])
    assert declared.quasi[1].size == 30


@pytest.mark.parametrize("role", [{"keep": ["note"]}, {"sensitive": "note"}])
def test_elsewhere_it_is_told(role: dict[str, str]) -> None:
    table = read_table(FRAME, quasi=["age"], **role)  # type: ignore[arg-type]
    assert [notice for notice in table.notices if "'note' is free text" in notice]


@pytest.mark.parametrize(
    "values",
    [
        NOTES[:19],  # few rows
        NOTES[:14] * 2,  # half of them alike
        [f"note {i}" for i in range(30)],  # short
        [f"SalesRepresentativeNumber{i:04d}" for i in range(30)],  # one word
        [f"Bergstrasse {i} 8001 Zuerich" for i in range(30)][:5] * 6,
        list(range(30)),
    ],
)
def test_what_is_no_free_text(values: list[object]) -> None:
    assert not is_free_text(column_of("x", pl.DataFrame({"x": values}).to_arrow()["x"]))


def test_no_column_of_real_tables_is_taken_for_it(data_dir: Path) -> None:
    for path in sorted(data_dir.glob("*.parquet")):
        frame = read_frame(path, rows=20_000)
        assert [name for name in frame.column_names if is_free_text(column_of(name, frame[name]))] == []
