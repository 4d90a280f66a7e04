"""Whose a row is, as a column says: a table in which somebody has several rows is read with that column, or not at all.

A promise about rows is none about persons. Ten rows may be one patient's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oneoff.errors import BadValue, InputError, MissingValues, RoleConflict
from oneoff.table.arrays import Codes, Flags, Ints
from oneoff.table.columns import Column

__all__ = [
    "PerPerson",
    "look_like_persons",
    "one_row_each",
    "per_person_choice",
    "person_codes",
    "refuse_several_rows",
    "repeats",
]

PerPerson = tuple[Literal["first", "last"], str]

_NUMBER_OF_A_PERSON = re.compile(
    r"\bssn\b|social security|\bmrn\b|"
    r"\b(person|patient|pat|customer|client|user|member|employee|student|subject|participant|beneficiary|resident)s?"
    r" ?(id|no|nr|nbr|num|number|key|code|identifier)\b"
)


def look_like_persons(names: Iterable[str]) -> list[str]:
    """Columns whose name says that they hold the number of a person."""
    found = []
    for name in names:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
        if _NUMBER_OF_A_PERSON.search(re.sub(r"[^a-z0-9]+", " ", words.lower())):
            found.append(name)
    return found


def refuse_several_rows(names: Sequence[str], load: Callable[[list[str]], pa.Table]) -> None:
    """An identifier that repeats: the rows are not people, so nothing that is said about rows is true of people."""
    for name, column in _loaded(names, load):
        try:
            present, distinct = len(column) - column.null_count, pc.count_distinct(column, mode="only_valid").as_py()
        except pa.ArrowException:
            continue
        if 1 < distinct < present:
            raise repeats(name, present, distinct)


def repeats(name: str, rows: int, distinct: int, *, about: bool = False) -> RoleConflict:
    """The error for an identifier that repeats; `about` where its values were not all counted."""
    return RoleConflict(
        f"{name!r} repeats, so somebody may have several rows, and a promise about rows would be none about people",
        allowed=f"--person {name} (person={name!r}), and promises count persons; or --rows-are-people "
        "(rows_are_people=True)",
        got=f"{'about ' * about}{rows:,} rows, {distinct:,} {name}",
        hint="one row of each person can be published, too: "
        f"--person {name} --per-person one (person={name!r} and then most_rows=1)",
    )


def _loaded(names: Sequence[str], load: Callable[[list[str]], pa.Table]) -> Iterator[tuple[str, Any]]:
    """The columns, read together where that works. What is dropped may be of any type; such a one names nobody."""
    if not names:
        return
    try:
        frame = load(list(names))
    except (InputError, pa.ArrowException):
        for name in names if len(names) > 1 else ():
            yield from _loaded([name], load)
        return
    yield from ((name, frame[name]) for name in names)


def person_codes(column: Column) -> Ints:
    """Whose every row is, numbered from 0 without gaps."""
    if column.missing:
        raise MissingValues(
            f"it is not said whose {column.missing:,} rows are",
            allowed=f"a value of {column.name!r} in every row",
            got=f"{column.name} ({column.missing})",
            hint="leave these rows out, or give each of them a number of its own",
        )
    return np.unique(column.codes, return_inverse=True)[1].astype(np.int64)


def per_person_choice(given: str | None) -> PerPerson | None:
    """`first:COLUMN` or `last:COLUMN`; nothing for `one`, which is drawn when the table is published."""
    if given is None or given == "one":
        return None
    which, _, column = str(given).partition(":")
    if which not in ("first", "last") or not column.strip():
        raise BadValue(
            "it is not said which row of a person to publish",
            allowed="one (drawn by chance), first:COLUMN or last:COLUMN",
            got=repr(given),
        )
    return ("first", column.strip()) if which == "first" else ("last", column.strip())


def one_row_each(person: Ints, order: Codes, which: str) -> Flags:
    """The row of each person that comes first, or last, in an order; of several the one further up in the table."""
    along = np.lexsort((order if which == "first" else -order.astype(np.int64), person))
    chosen = np.zeros(len(person), dtype=np.bool_)
    chosen[along[np.flatnonzero(np.diff(person[along], prepend=-1))]] = True
    return chosen
