"""Files of tools that leave rows out by writing * in every column."""

from __future__ import annotations

import polars as pl

from oneoff.audit import check


def test_rows_that_another_tool_suppressed_are_judged_as_the_group_they_are() -> None:
    """ARX writes * in every column of rows it leaves out, and their values beside it."""
    rows = [("3*", "F", v) for v in "abcde"] + [("4*", "M", v) for v in "abcde"] + [("*", "*", v) for v in "aaabc"]
    frame = pl.DataFrame(rows, schema=["age", "sex", "disease"], orient="row")
    verdict = check(frame, quasi=["age", "sex"], sensitive="disease", guarantee="l-diversity:5")
    assert not verdict.holds
    assert verdict.worst == 0.6
    (said,) = verdict.remarks
    assert said.startswith("5 of 15 rows show * in every quasi-identifier")
    assert "and these break the promise" in said
    kept = check(frame, quasi="age,sex", guarantee="k-anonymity:5")
    assert kept.holds
    assert "they keep the promise" in kept.remarks[0]
    assert check(frame.head(10), quasi=["age", "sex"], guarantee="k-anonymity:5").remarks == ()
    coded = frame.with_columns(pl.col("age").cast(pl.Categorical))
    assert check(coded, quasi=["age", "sex"], guarantee="k-anonymity:5").remarks == kept.remarks
