"""Who of a table is published: people may be held out with all their rows, and of the others some rows be too many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from oneoff.table.arrays import Ints
from oneoff.table.held_out import held_out_rows, inside
from oneoff.table.persons import at_most
from oneoff.table.table import Table

__all__ = ["Parts", "parted"]


class Parts(NamedTuple):
    """Who is published, who is held out, and the rows of the table that are left out."""

    inside: Table
    outside: Table | None
    left_out: Ints | None


def parted(table: Table, share: float | None, most: int | None, chance: Callable[[], np.random.Generator]) -> Parts:
    """A share of the people held out, and no more than so many rows of any other; `chance` draws both."""
    if share is None and most is None:
        return Parts(table, None, None)
    rng = chance()
    chosen = np.ones(table.rows, np.bool_) if share is None else inside(table.rows, held_out_rows(table, share, rng))
    held = ~chosen
    if most is not None:
        chosen &= at_most(table, most, rng)
    if chosen.all():
        return Parts(table, None, None)
    published = table.part(chosen)
    surplus = table.rows - int(chosen.sum()) - int(held.sum())
    if surplus:
        said = f"left out {surplus:,} of {table.rows:,} rows, drawn by chance, so that nobody has more than {most}"
        published = replace(published, notices=(*published.notices, said))
    return Parts(published, table.take(held) if held.any() else None, np.flatnonzero(~chosen))
