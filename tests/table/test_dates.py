"""Dates as days, months, quarters and years, from whatever a file writes them as."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from oneoff.errors import BadValue, RoleConflict, UnknownColumn
from oneoff.table import Table
from oneoff.table.read import read_table

DAYS = ["2020-03-17", "2020-03-31", "2019-12-01"]


def read(values: Any, precision: str, **given: Any) -> Table:
    return read_table(pl.DataFrame({"x": values}), quasi=["x"], dates={"x": precision}, **given)


@pytest.mark.parametrize(
    ("precision", "kind", "labels"),
    [
        ("day", "numeric", [dt.date(2019, 12, 1), dt.date(2020, 3, 17), dt.date(2020, 3, 31)]),
        ("month", "ordered", ["2019-12", "2020-03"]),
        ("quarter", "ordered", ["2019-Q4", "2020-Q1"]),
        ("year", "numeric", [2019, 2020]),
    ],
)
@pytest.mark.parametrize("typed", [False, True])
def test_the_precision_is_what_is_read(precision: str, kind: str, labels: list[Any], typed: bool) -> None:
    table = read([dt.date.fromisoformat(day) for day in DAYS] if typed else DAYS, precision)
    assert (table.quasi[0].kind, table.quasi[0].labels.tolist()) == (kind, labels)
    assert table.codes[:, 0].tolist() == ([1, 2, 0] if precision == "day" else [1, 1, 0])
    said = [notice for notice in table.notices if "as asked" in notice]
    assert len(said) == (precision != "day")


def test_times_lose_their_hours_where_they_were_written() -> None:
    late = [dt.datetime(2020, 2, 29, 23, 30), dt.datetime(2020, 2, 29, 1, 0)]
    assert read(late, "day").quasi[0].labels.tolist() == [dt.date(2020, 2, 29)]
    berlin = pl.Series([dt.datetime(2020, 3, 1, 0, 30)]).dt.replace_time_zone("Europe/Berlin")
    assert read(berlin, "month").quasi[0].labels.tolist() == ["2020-03"]  # in UTC it is still February
    assert read(["2020-01-31T10:00", "2020-01-31 23:59:59"], "day").quasi[0].size == 1


@pytest.mark.parametrize(
    "written",
    [
        ["17.03.2020", "31.3.2020", "1.12.2019"],
        ["17/03/2020", "31/03/2020", "01/12/2019"],
        ["3/17/2020", "3/31/2020", "12/1/2019"],
        ["20200317", "20200331", "20191201"],
        [20200317, 20200331, 20191201],
        ["2020/3/17", "2020/3/31", "2019/12/1"],
        [" 2020-03-17", "2020-03-31 ", "2019-12-01"],
    ],
)
def test_other_ways_to_write_a_date(written: list[Any]) -> None:
    assert read(written, "day").quasi[0].labels.tolist() == [
        dt.date(2019, 12, 1), dt.date(2020, 3, 17), dt.date(2020, 3, 31),
    ]  # fmt: skip


def test_what_can_be_read_in_two_ways_is_refused() -> None:
    with pytest.raises(BadValue, match="two ways: which number is the month"):
        read(["03/04/2020", "05/06/2020"], "month")
    assert read(["04/04/2020"], "day").quasi[0].size == 1  # both ways say the same


@pytest.mark.parametrize("bad", ["2020-02-30", "9999-99-99", "soon", "2020"])
def test_what_is_no_date_is_refused(bad: str) -> None:
    with pytest.raises(BadValue, match=r"no dates|no month has"):
        read([*DAYS, bad], "day")
    assert read([*DAYS, bad], "year", na=[bad], missing="drop").rows == 3
    with pytest.raises(BadValue, match="of type double"):
        read([1.5], "day")


def test_missing_dates() -> None:
    assert read([*DAYS, None], "month", missing="category").quasi[0].labels.tolist() == [
        "2019-12", "2020-03", "(missing)",
    ]  # fmt: skip
    assert read([*DAYS, None], "year", missing="category").quasi[0].labels.tolist() == ["2019", "2020", "(missing)"]


def test_kept_columns_may_be_coarser_too() -> None:
    frame = pl.DataFrame({"q": [1, 2, 3], "k": DAYS})
    table = read_table(frame, quasi=["q"], keep=["k"], dates={"k": "month"})
    assert table.keep[0].labels.tolist() == ["2019-12", "2020-03"]


def test_declarations_that_do_not_fit() -> None:
    with pytest.raises(BadValue, match="allowed: day, month, quarter, year"):
        read(DAYS, "week")
    with pytest.raises(UnknownColumn, match="dates are named for 'y'"):
        read_table(pl.DataFrame({"x": DAYS}), quasi=["x"], dates={"y": "day"})
    with pytest.raises(RoleConflict, match="has dates and is declared categorical"):
        read(DAYS, "day", categorical=["x"])


def test_dates_of_a_text_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x,y\n2020-03-17,17.03.2020\n2020-03-18,18.03.2020\n")
    table = read_table(path, quasi=["x", "y"])
    assert [attribute.kind for attribute in table.quasi] == ["numeric", "categorical"]
    assert [notice.split(";")[0] for notice in table.notices] == [
        "column 'x' is read as dates, to the day or finer",
        "the texts of column 'y' look like dates but are read as categories",
    ]
    assert read_table(path, quasi=["x", "y"], dates={"x": "month", "y": "month"}).quasi[1].labels.tolist() == [
        "2020-03"
    ]
