"""Random output tables by column generation, in compiled code and on all cores: those with few rows, that is most."""

from __future__ import annotations

import numpy as np

from oneoff.mechanisms.masking.shapes import Answer, Shapes, Sparse, TableProblem
from oneoff.table.arrays import offsets

__all__ = ["solve_small"]


def solve_small(shapes: Shapes, problem: TableProblem) -> Answer:
    """Tables of these shapes. What was put aside is -1 where the simplex did not come to an end: those have no entries
    that could be used."""
    from oneoff.kernels.cover import cover_shapes
    from oneoff.kernels.threads import spread

    out = offsets(shapes.entries)
    weight, found = np.zeros(int(out[-1]), dtype=np.int64), np.zeros((shapes.tables, 2))
    rows, columns, limits = shapes.rows, shapes.columns, problem.limits
    tables = (rows.items, rows.start, columns.items, columns.start, out)
    bounds = limits.as_array()

    def run(first: int, last: int) -> None:
        cover_shapes(*tables, *problem.metric, bounds, problem.average, limits.total, found, weight, first, last)

    spread(run, shapes.tables)
    entry = np.flatnonzero(weight)
    table = np.searchsorted(out, entry, side="right") - 1
    row, column = np.divmod(entry - out[table], columns.lengths[table])
    return Answer(Sparse(table, row, column, weight[entry]), found[:, 0], found[:, 1])
