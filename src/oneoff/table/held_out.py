"""People left out of a release before anything else, by chance: they are like those in it, and it says nothing of them.

What an attacker finds out about them she would find out about anybody, so they are the control of every attack.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from oneoff.errors import BadValue
from oneoff.table.arrays import Flags, Ints
from oneoff.table.table import Table

__all__ = ["held_out_file", "held_out_rows", "inside", "others_among", "read_held_out"]


def held_out_rows(table: Table, share: float, rng: np.random.Generator) -> Ints:
    """The rows of a random share of the people, at least one, ascending; all rows of whoever is chosen."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise BadValue("hold-out is not a share of the people", allowed="more than 0, less than 1", got=repr(share),
                       hint="0.1 leaves out every tenth person")  # fmt: skip
    many = max(1, round(share * table.people))
    if many >= table.people:
        raise BadValue(
            "nobody would be left to publish",
            allowed=f"a share that leaves some of {table.people} people",
            got=str(share),
        )
    chosen = np.sort(rng.choice(table.people, many, replace=False))
    return chosen if table.person is None else np.flatnonzero(np.isin(table.person, chosen))


def inside(rows: int, held_out: Ints) -> Flags:
    """Who of so many people is in the release."""
    flags = np.ones(rows, dtype=np.bool_)
    flags[held_out] = False
    return flags


def others_among(table: Table, left_out: Ints) -> Ints:
    """Those of the rows left out that belong to nobody who is in the release."""
    if table.person is None:
        return left_out
    return left_out[~np.isin(table.person[left_out], table.person[inside(table.rows, left_out)])]


def held_out_file(people: Table, rows: Ints) -> bytes:
    """Their columns as they were, and last the row each of them has in the table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from oneoff.table.columns import frame_of

    frame = frame_of(people)
    name = "row"
    while name in frame.column_names:
        name += "_"
    for place, column in enumerate(frame.columns):  # Parquet has no dictionaries with a missing value among the others
        if pa.types.is_dictionary(column.type) and any(chunk.dictionary.null_count for chunk in column.chunks):
            frame = frame.set_column(place, frame.column_names[place], column.cast(column.type.value_type))
    sink = io.BytesIO()
    pq.write_table(frame.append_column(name, pa.array(rows)), sink, compression="zstd")
    return sink.getvalue()


def read_held_out(path: Any) -> Ints:
    """The rows of the people who were left out."""
    from oneoff.table.parquet import read_parquet

    frame = read_parquet(path)
    rows: Ints = frame.column(frame.num_columns - 1).to_numpy().astype(np.int64)
    if len(rows) == 0 or int(rows.min()) < 0 or (np.diff(rows) <= 0).any():
        raise ValueError("its rows are out of order, listed twice or none")
    return rows
