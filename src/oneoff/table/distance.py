"""How far apart two values of a quasi-identifier are, between 0 (equal) and 1 (as far as its values go).

Numbers: |x - y| over the range. Categories with a hierarchy: the level of their lowest common ancestor over the height
of the tree. Other categories: 0 or 1. (Paper 003, Definition 6 and section 4; the choice for categories is ours.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.table.arrays import Floats, Ints
from oneoff.table.table import Attribute

__all__ = ["Ground", "apart", "displacement", "ground_of"]


class Ground(NamedTuple):
    """What distances are taken from, as arrays over codes.

    position   of every code on the line of numbers; empty for categories
    ancestor   [level, code]: the node above every code in its tree, from the code itself to the root; empty without one
    """

    position: Floats
    ancestor: Ints


def ground_of(attribute: Attribute) -> Ground:
    tree, nothing = attribute.hierarchy, np.zeros((0, 0), dtype=np.int64)
    if attribute.kind == "numeric":
        return Ground(np.ascontiguousarray(attribute.scaled), nothing)
    if tree is None:
        return Ground(np.zeros(0), nothing)
    return Ground(np.zeros(0), np.ascontiguousarray(tree.ancestor[:, attribute.leaves], dtype=np.int64))


def displacement(
    attribute: Attribute, first: npt.NDArray[np.integer[Any]], second: npt.NDArray[np.integer[Any]]
) -> Floats:
    """The distance of every pair of codes; arrays broadcast against each other."""
    return apart(ground_of(attribute), first, second)


def apart(ground: Ground, first: npt.NDArray[np.integer[Any]], second: npt.NDArray[np.integer[Any]]) -> Floats:
    """The same, where the ground is at hand."""
    if len(ground.position):
        return np.asarray(np.abs(ground.position[first] - ground.position[second]))
    if not len(ground.ancestor):
        return np.asarray(first != second, dtype=np.float64)
    differ = [level[first] != level[second] for level in ground.ancestor[:-1]]
    return np.asarray(np.mean(differ, axis=0))
