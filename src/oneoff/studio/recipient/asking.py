"""What an address asks of a release. A question is part of the address, so that a reload or a bookmark asks it again.

    /release/count?1.column=age&1.low=30&1.high=39&2.column=disease&2.in=flu&2.in=cold&join=or&tell=mean&of=age
    /release/count?where=age between 30 and 39&tell=count
    /release/table?by=sex&by=disease&where=...

Rows have numbers, in the order they were added. Everybody may know what is asked here: a release is public.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

__all__ = ["TELLS", "Question", "Tabulation", "question_of", "tabulation_of"]

TELLS = {"count": "how many people", "mean": "the mean of a column", "sum": "the sum of a column",
         "share": "the share of everybody"}  # fmt: skip
_ROW = re.compile(r"(\d{1,4})\.(column|low|high|in|not)")
_MOST_ROWS = 100


@dataclass(frozen=True)
class Question:
    """A question as it was put together: rows of the builder or, where it was written, a text.

    rows      column, low, high, among, without
    complete  or was a row just added, and nothing is to be answered yet?
    """

    rows: tuple[dict[str, Any], ...] = ()
    any_of: bool = False
    text: str | None = None
    tell: str = "count"
    of: str = ""
    weighted: bool = False
    complete: bool = True

    def given(self) -> dict[str, Any]:
        """As the library's side wants it."""
        return {"rows": list(self.rows), "any_of": self.any_of, "text": self.text, "tell": self.tell,
                "of": self.of or None, "weighted": self.weighted, "answer": self.complete}  # fmt: skip


@dataclass(frozen=True)
class Tabulation:
    """A table of people by one column or two."""

    by: tuple[str, ...] = ()
    where: str = ""
    tell: str = "count"
    of: str = ""
    weighted: bool = False

    def given(self) -> dict[str, Any]:
        return {"by": list(self.by), "where": self.where, "tell": self.tell, "of": self.of or None,
                "weighted": self.weighted}  # fmt: skip

    @property
    def address(self) -> str:
        """What comes after the question mark."""
        pairs = [("by", name) for name in self.by] + [("where", self.where), ("tell", self.tell), ("of", self.of)]
        return urlencode([(name, text) for name, text in pairs if text] + [("weighted", "yes")] * self.weighted)


def question_of(asked: QueryParams) -> Question:
    """The question, after whatever button was pressed: `add` puts a column's row there, `drop` takes one out."""
    rows, added = _rows(asked), asked.get("column", "")
    if asked.get("drop", "").isdecimal():
        rows = [row for row in rows if row["number"] != int(asked["drop"])]
    if "add" in asked and added and len(rows) < _MOST_ROWS:
        rows = [*rows, {"column": added, "low": "", "high": "", "among": [], "without": False}]
    return Question(
        rows=tuple({name: value for name, value in row.items() if name != "number"} for row in rows),
        any_of=asked.get("join") == "or",
        text=asked.get("where"),
        tell=_tell(asked),
        of=asked.get("of", ""),
        weighted="weighted" in asked,
        complete=bool(asked) and "add" not in asked and ("drop" not in asked or bool(rows)),
    )


def tabulation_of(asked: QueryParams) -> Tabulation:
    by: Sequence[str] = [name for name in asked.getlist("by") if name]
    told = _tell(asked)
    return Tabulation(
        by=tuple(dict.fromkeys(by))[:2],
        where=asked.get("where", ""),
        tell="count" if told == "share" else told,
        of=asked.get("of", ""),
        weighted="weighted" in asked,
    )


def _tell(asked: QueryParams) -> str:
    return asked["tell"] if asked.get("tell") in TELLS else "count"


def _rows(asked: QueryParams) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for name, value in asked.multi_items():
        part = _ROW.fullmatch(name)
        if part is None or (int(part[1]) not in found and len(found) >= _MOST_ROWS):
            continue
        number = int(part[1])
        row = found.setdefault(number, {"number": number, "column": "", "low": "", "high": "", "among": [],
                                        "without": False})  # fmt: skip
        if part[2] == "in":
            row["among"] += [line.strip() for line in value.splitlines() if line.strip()]
        else:
            row |= {"without": True} if part[2] == "not" else {part[2]: value}
    return [found[number] for number in sorted(found) if found[number]["column"]]
