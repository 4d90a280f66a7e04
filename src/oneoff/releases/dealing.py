"""Plain rows from cells: columns shuffled inside each, and values dealt out as shares say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from oneoff.releases.tallies import ColumnTallies
from oneoff.table.arrays import Codes, Floats, Ints, offsets

__all__ = ["dealt", "random_order", "shuffled_columns"]

_SHORT = 200  # people of a cell up to which inserting is faster than sorting

_UNIT = 2**30  # of a person, so that dealing is exact and the same on every machine


def shuffled_columns(tallies: ColumnTallies, rng: np.random.Generator) -> tuple[Ints, Codes]:
    """The cell of every row, cell after cell, and its codes: every column in random order inside its cell."""
    cell = np.repeat(np.arange(tallies.groups), tallies.size)
    columns = [tallies.expanded(j)[random_order(cell, rng)] for j in range(len(tallies.columns))]
    return cell, np.stack(columns, axis=1)


def random_order(cell: npt.NDArray[np.integer], rng: np.random.Generator) -> Ints:
    """The places of cells that lie one after the other: cell after cell, and in random order inside each."""
    from oneoff.kernels.sort import order_within

    key, start = rng.random(len(cell)), offsets(np.bincount(cell))
    if int(np.diff(start).max(initial=0)) > _SHORT:
        return np.lexsort((key, cell))
    order = np.empty(len(cell), dtype=np.int64)
    order_within(start, key, order)
    return order


def dealt(
    level: Floats,
    effect: Sequence[Floats],
    codes: Codes,
    owner: npt.NDArray[np.integer],
    widths: Sequence[int],
    rng: np.random.Generator,
) -> Codes:
    """A value for each row: everybody adds to what is due of each value, and gets the one most is due of.

    level[owner[i], v] of row i has value v, and effect[j][c, v] more for its code c of column j
    """
    from oneoff.kernels.dealing import deal_values

    units, more = _in_units(level, 1), _in_units(np.concatenate(effect), 0)
    due = rng.integers(-_UNIT // 2, _UNIT // 2, level.shape[1])
    values: Codes = deal_values(codes, offsets(widths), more, units, owner, due, _UNIT)
    return values


def _in_units(shares: Floats, total: int) -> Ints:
    """Whole units, in rows that add up to the total."""
    units = np.rint(shares * _UNIT).astype(np.int64)
    units[:, 0] += total * _UNIT - units.sum(axis=1)
    return units
