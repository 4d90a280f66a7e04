"""Who of a table is published: people may be held out with all their rows, of the others some rows be too many, and
outliers be suppressed."""

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
    """Who is published, who is held out, and the rows of the table that are left out; suppressed: those among them that
    are outliers'."""

    inside: Table
    outside: Table | None
    left_out: Ints | None
    suppressed: Ints | None = None

    def beside(self, table: Table) -> Table | None:
        """The rows of the table that are left out, but for outliers'."""
        if self.left_out is None:
            return None
        rows = self.left_out if self.suppressed is None else np.setdiff1d(self.left_out, self.suppressed)
        return table.take(rows) if len(rows) else None

    def without(self, rows: Ints) -> Parts:
        """The same after some rows of those to be published were suppressed, too."""
        if len(rows) == 0:
            return self
        before = np.zeros(0, dtype=np.int64) if self.left_out is None else self.left_out
        own = np.flatnonzero(inside(self.inside.rows + len(before), before))
        kept = self.inside.part(inside(self.inside.rows, rows))
        return Parts(kept, self.outside, np.sort(np.concatenate((before, own[rows]))), own[rows])


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
