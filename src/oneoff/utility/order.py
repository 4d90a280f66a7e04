"""Which of two releases says more about everybody, whatever is measured (paper 004, Definition 3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue
from oneoff.releases import Cells, Generalized
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags

__all__ = ["better"]

_AT_ONCE = 20_000_000  # pairs of boxes times values


def better(one: Generalized, other: Generalized, table: Table) -> bool:
    """Does `one` show less than `other` of nobody, and more of somebody?

    For every person and every quasi-identifier the values that the person's record in `one` allows, of those that occur
    in the table, must be among those of the record in `other`; somewhere they must be fewer. Then `one` loses less by
    every measure that only narrower cells can lower. It is a partial order: often neither of two is better.
    Needs the private halves, which say whose record is whose.
    """
    pairs = _pairs(one, other, table)
    fewer = False
    step = max(1, _AT_ONCE // max(attribute.size for attribute in table.quasi))
    for first in range(0, len(pairs), step):
        here, there = pairs[first : first + step].T
        for j, known in enumerate(table.quasi):
            mine = _allowed(one.quasi[j], one.cells[j], here, known)
            theirs = _allowed(other.quasi[j], other.cells[j], there, known)
            if (mine & ~theirs).any():
                return False
            fewer = fewer or bool((mine != theirs).any())
    return fewer


def _pairs(one: Generalized, other: Generalized, table: Table) -> npt.NDArray[np.int32]:
    """The different (box in one, box in other) of people."""
    names = [attribute.name for attribute in table.quasi]
    boxes = []
    for release in (one, other):
        if [attribute.name for attribute in release.quasi] != names or release.rows != table.rows:
            raise BadValue("only releases of the same people and columns can be ordered", allowed=", ".join(names))
        if release.links is None:
            raise BadValue(
                "whose record is whose must be known to order releases", allowed="releases with their private half"
            )
        boxes.append(release.box[release.links])
    pairs: npt.NDArray[np.int32] = np.unique(np.stack(boxes, axis=1), axis=0)
    return pairs


def _allowed(attribute: Attribute, cells: Cells, box: Codes, known: Attribute) -> Flags:
    """[pair, value]: can the box mean the value?"""
    return cells.covers(attribute, box[:, None], known.labels, np.arange(known.size)[None, :])
