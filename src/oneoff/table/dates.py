"""Dates at the precision that is to be published: days, months, quarters or years.

Days stay dates, years become whole numbers; months and quarters are texts in their order, such as 2020-03 and 2020-Q1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from oneoff.errors import BadValue, RoleConflict, UnknownColumn, listing, nearest
from oneoff.table.columns import Column, is_text, to_numpy

__all__ = ["PRECISIONS", "at_precision", "given_precisions", "looks_like_dates"]

PRECISIONS = ("day", "month", "quarter", "year")

_ISO = re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)(-(?P<d>\d\d)([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?)?")
_SHAPES = (  # of texts: each is tried for all values of a column
    _ISO,
    re.compile(r"(?P<y>\d{4})-Q(?P<q>[1-4])"),
    re.compile(r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)"),
    re.compile(r"(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})"),
    re.compile(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})"),
    re.compile(r"(?P<d>\d{1,2})[/-](?P<m>\d{1,2})[/-](?P<y>\d{4})"),
    re.compile(r"(?P<m>\d{1,2})[/-](?P<d>\d{1,2})[/-](?P<y>\d{4})"),
)
_ALLOWED = "ISO dates such as 2020-03-17, or 17.03.2020, 20200317, or with slashes where only one order of them fits"


def given_precisions(given: Mapping[str, str], taken: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The precision of every column that has one."""
    for name, precision in given.items():
        if name not in names:
            raise UnknownColumn(
                f"dates are named for {name!r}, but there is no such column",
                allowed=listing(names, limit=20),
                hint=nearest(name, names) or "check the spelling against the list",
            )
        if precision not in PRECISIONS:
            raise BadValue(
                f"dates are not published by {precision!r}",
                allowed=listing(PRECISIONS),
                got=repr(precision),
                hint=nearest(str(precision), PRECISIONS) or "the next coarser one hides more, and loses more",
            )
        if name in taken:
            raise RoleConflict(f"column {name!r} has dates and is {taken[name]}", allowed="one of the two")
    return dict(given)


def at_precision(column: Column, precision: str, notices: list[str]) -> Column:
    """The column with every date made as coarse as asked for; the notice says how many were joined."""
    if not len(column.values):
        return column
    days = _days(column)
    periods, code = np.unique(_PERIOD[precision](days), return_inverse=True)
    several = f"{len(periods):,} {precision}{'s' * (len(periods) > 1)}"
    if len(periods) < len(days):
        notices.append(f"the {len(days):,} different dates of {column.name!r} were read as {several}, as asked")
    codes = np.append(code, -1).astype(np.int32)[column.codes]
    if precision in ("day", "year"):
        return replace(column, kind="numeric", declared=True, codes=codes, values=pa.array(periods), order=())
    texts = tuple(periods.tolist())
    return replace(column, kind="ordered", declared=True, codes=codes, values=pa.array(texts), order=texts)


def _quarters(days: npt.NDArray[Any]) -> npt.NDArray[Any]:
    year, month = np.divmod(days.astype("datetime64[M]").astype(np.int64), 12)
    return np.array([f"{y + 1970:04d}-Q{m // 3 + 1}" for y, m in zip(year.tolist(), month.tolist(), strict=True)])


_PERIOD: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "day": lambda days: days,
    "month": lambda days: days.astype("datetime64[M]").astype(str),
    "quarter": _quarters,
    "year": lambda days: days.astype("datetime64[Y]").astype(np.int64) + 1970,
}


def _days(column: Column) -> npt.NDArray[Any]:
    """The day of every distinct value, where it is written also of a time with a zone."""
    values = column.values
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = pc.local_timestamp(values)
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        return to_numpy(values.cast(pa.timestamp("us"))).astype("datetime64[D]")
    texts = [str(value).strip() for value in values.to_pylist()] if _may_be(values) else []
    readings = [days for shape in _SHAPES if (days := _read(texts, shape)) is not None]
    if not readings or any(not np.array_equal(days, readings[0]) for days in readings):
        raise _unclear(column.name, texts, values, bool(readings))
    return readings[0]


def _may_be(values: Any) -> bool:
    return is_text(values.type) or pa.types.is_integer(values.type)


def _read(texts: Sequence[str], shape: re.Pattern[str]) -> npt.NDArray[Any] | None:
    """All texts as days, or None where one is not of this shape or no date."""
    if not texts or not all(shape.fullmatch(text) for text in texts):
        return None
    try:
        return np.array([_iso(shape, text) for text in texts], dtype="datetime64[D]")
    except ValueError:
        return None


def _iso(shape: re.Pattern[str], text: str) -> str:
    found = shape.fullmatch(text)
    assert found is not None
    part = found.groupdict()
    month = part.get("m") or 3 * int(part["q"]) - 2
    return f"{part['y']}-{int(month):02d}-{int(part.get('d') or 1):02d}"


def _unclear(name: str, texts: Sequence[str], values: Any, several: bool) -> BadValue:
    if several:
        return BadValue(
            f"the dates of {name!r} can be read in two ways: which number is the month?",
            allowed=_ALLOWED,
            got=listing(texts[:3]),
            hint="write them as 2020-03-17",
        )
    bad = [text for text in texts if not _ISO.fullmatch(text)]
    return BadValue(
        f"column {name!r} has values that are no dates",
        allowed=_ALLOWED,
        got=listing(sorted(bad)[:5]) or f"values of type {values.type}, or days that no month has",
        hint="name the texts that stand for a missing value with --na (na=)",
    )


def looks_like_dates(texts: Sequence[str]) -> bool:
    """Would these texts be dates if somebody said so?"""
    return any(_read(texts, shape) is not None for shape in _SHAPES[3:])
