"""How far apart two values of a quasi-identifier are, between 0 (equal) and 1 (as far as its values go).

Numbers: |x - y| over the range, and ordered categories by their ranks. Categories with a hierarchy: the level of their
lowest common ancestor over the height of the tree. Other categories: 0 or 1. (Paper 003, Definition 6 and section 4;
the choice for categories is ours.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.table.arrays import Floats, Ints
from oneoff.table.table import Attribute

__all__ = ["Metric", "displacement", "distance", "metric_of"]


class Metric(NamedTuple):
    """What distances are taken from, as arrays over codes.

    position   of every code on the line of numbers, or in the order; empty for other categories
    ancestor   [level, code]: the node above every code in its tree, from the code itself to the root; empty without one
    """

    position: Floats
    ancestor: Ints


def metric_of(attribute: Attribute) -> Metric:
    tree, nothing = attribute.hierarchy, np.zeros((0, 0), dtype=np.int64)
    if attribute.has_order:
        return Metric(np.ascontiguousarray(attribute.scaled), nothing)
    if tree is None:
        return Metric(np.zeros(0), nothing)
    return Metric(np.zeros(0), np.ascontiguousarray(tree.ancestor[:, attribute.leaves], dtype=np.int64))


def displacement(
    attribute: Attribute, first: npt.NDArray[np.integer[Any]], second: npt.NDArray[np.integer[Any]]
) -> Floats:
    """The distance of every pair of codes; arrays broadcast against each other."""
    return distance(metric_of(attribute), first, second)


def distance(metric: Metric, first: npt.NDArray[np.integer[Any]], second: npt.NDArray[np.integer[Any]]) -> Floats:
    """The same, where the metric is at hand."""
    if len(metric.position):
        return np.asarray(np.abs(metric.position[first] - metric.position[second]))
    if not len(metric.ancestor):
        return np.asarray(first != second, dtype=np.float64)
    differ = [level[first] != level[second] for level in metric.ancestor[:-1]]
    return np.asarray(np.mean(differ, axis=0))
