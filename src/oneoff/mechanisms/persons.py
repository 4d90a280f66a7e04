"""Groups of persons who have several rows each: neighbouring groups are joined until everyone hides among enough.

Enough for k means that nobody has more than 1 / k of the rows of a group: then there are k persons at least, and a row
is nobody's with a larger probability. That stays so when groups are joined, and so do ceilings and a least number of
rows; whose a row is plays no part in which values it has. So this can follow any way of making groups from
quasi-identifiers.
"""

from __future__ import annotations

import numpy as np

from oneoff.errors import Defect
from oneoff.models import Counts, Model, Prior
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints, offsets
from oneoff.table.persons import persons_in

__all__ = ["enough_persons", "refuse_too_few"]


def enough_persons(table: Table, group: Codes, least: int, wall: Ints | None = None) -> Codes:
    """The group of every row, after groups that count for fewer persons were joined with their neighbours in number.

    wall   for each group, which of them may be joined; by default all
    """
    from oneoff.kernels.persons import join_neighbours

    if table.hiding is None:
        return group
    line = np.argsort(group, kind="stable")
    begin = offsets(np.bincount(group))
    apart = np.zeros(len(begin) - 1, dtype=np.int64) if wall is None else wall
    joined = join_neighbours(table.hiding[line], begin, apart, least, int(table.hiding.max()) + 1)
    found: Codes = joined[group].astype(np.int32)
    return found


def refuse_too_few(method: str, table: Table, model: Model, group: Codes) -> None:
    """The exact last look at groups of persons."""
    if table.hiding is None:
        return
    sizes, prior = Counts.of(persons_in(group, table.hiding)[:, None]), Prior.of(table.counts)
    for part in model.parts():
        if part.about == "identity" and part.failing(sizes, prior).any():
            raise Defect(f"{method} made a group of too few persons for {part.spec()}")
