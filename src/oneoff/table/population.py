"""How many people of a population look like those of a table: where a journalist would search for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.errors import BadValue
from oneoff.table.arrays import Codes, Ints
from oneoff.table.classes import Classes, look_alikes
from oneoff.table.encode import Encoded, encode, places
from oneoff.table.schema import Schema
from oneoff.table.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Found", "find_in"]


@dataclass(frozen=True, eq=False)
class Found:
    """How many people of a population look like each class, never fewer than the class itself has."""

    counts: Ints
    rows: int
    uncovered: int


def find_in(source: Any, columns: Sequence[Encoded], classes: Classes) -> Found:
    """Count the classes that people of a table make by these columns in a population.

    A population that lacks people of the table does not hide them: they are counted as uncovered and keep the risk
    they have within the table, which can only be too high.
    """
    frame = _frame(source, [column.name for column in columns])
    codes = np.column_stack([_codes_in(column, frame.column(column.name)) for column in columns])
    codes = codes[(codes >= 0).all(axis=1)]
    both = [np.concatenate([own, codes[:, j]]) for j, own in enumerate(classes.codes)]
    merged = look_alikes(both)
    own, theirs = merged[: len(classes.counts)], merged[len(classes.counts) :]
    found = np.bincount(theirs, minlength=len(merged))[own]
    if not found.any():
        raise BadValue(
            "nobody in the population has the quasi-identifiers of anybody in the table",
            allowed="a population that contains the people of the table",
            hint="check that both write their values the same way",
        )
    short = found < classes.counts
    return Found(np.maximum(found, classes.counts), frame.num_rows, int(classes.counts[short].sum()))


def _frame(source: Any, names: Sequence[str]) -> pa.Table:
    from oneoff.table.columns import frame_of
    from oneoff.table.read import read_frame

    frame = frame_of(source) if isinstance(source, Table) else read_frame(source)
    Schema(quasi=tuple(names)).check_against(frame.column_names)
    return frame


def _codes_in(column: Encoded, values: pa.ChunkedArray) -> Codes:
    """The codes a column of the table gives to the values of a population; -1 for values the table does not have."""
    theirs = encode(column.name, values)
    known = places(theirs, column)
    if known is None:
        raise BadValue(
            f"column {column.name!r} is not the same thing in the table and in the population",
            allowed=f"{column.kind} values ({column.labels.type}) in both",
            got=f"{theirs.kind} values ({theirs.labels.type}) in the population",
            hint="convert one of them",
        )
    return np.append(known, np.int32(column.distinct))[theirs.codes]
