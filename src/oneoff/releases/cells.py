"""What is published instead of a quasi-identifier: a range, a set, or a node of its hierarchy, for every box.

A box is one generalization of all quasi-identifiers; the cells of an attribute say what each box shows of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.table import Attribute

__all__ = ["Cells", "Nodes", "NumericAs", "Ranges", "Sets", "cells_of_groups"]

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
NumericAs = Literal["range", "set"]


@dataclass(frozen=True, eq=False)
class Ranges:
    """Box b shows the codes low[b] .. high[b]."""

    low: Codes
    high: Codes

    def covers(self, attribute: Attribute, box: Any, labels: npt.NDArray[Any], code: Any) -> npt.NDArray[np.bool_]:
        """Does each box contain each value labels[code]? The labels may be those of another table."""
        at_most = (np.searchsorted(attribute.labels, labels, side="right") - 1)[code]
        at_least = np.searchsorted(attribute.labels, labels, side="left")[code]
        inside: npt.NDArray[np.bool_] = (self.low[box] <= at_most) & (at_least <= self.high[box])
        return inside

    def values_shown(self, attribute: Attribute) -> Ints:
        """How many of the values that occur in the table each box allows."""
        return (self.high - self.low + 1).astype(np.int64)

    def ends(self) -> tuple[Codes, Codes]:
        """Lowest and highest code of every box."""
        return self.low, self.high


@dataclass(frozen=True, eq=False)
class Sets:
    """Box b shows the codes code[start[b] : start[b + 1]], ascending."""

    start: Ints
    code: Codes

    def covers(self, attribute: Attribute, box: Any, labels: npt.NDArray[Any], code: Any) -> npt.NDArray[np.bool_]:
        """Does each box contain each value labels[code]?"""
        known = {label: number for number, label in enumerate(attribute.labels.tolist())}
        wanted = np.array([known.get(label, -1) for label in labels.tolist()], dtype=np.int64)[code]
        owner = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        shown = owner * attribute.size + self.code
        key = np.asarray(box, dtype=np.int64) * attribute.size + wanted
        return _contains(shown, np.where(wanted >= 0, key, -1))

    def values_shown(self, attribute: Attribute) -> Ints:
        """How many values each box lists."""
        return np.diff(self.start)

    def ends(self) -> tuple[Codes, Codes]:
        """Lowest and highest code of every box."""
        return self.code[self.start[:-1]], self.code[self.start[1:] - 1]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Box b shows node[b] on level[b] of the attribute's hierarchy."""

    level: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]

    def covers(self, attribute: Attribute, box: Any, labels: npt.NDArray[Any], code: Any) -> npt.NDArray[np.bool_]:
        """Does each box contain each value labels[code]?"""
        assert attribute.hierarchy is not None
        first, last = attribute.hierarchy.span(self.level[box], self.node[box])
        leaf = attribute.hierarchy.leaf_codes(labels)[code]
        inside: npt.NDArray[np.bool_] = (first <= leaf) & (leaf <= last)
        return inside

    def values_shown(self, attribute: Attribute) -> Ints:
        """All leaves under the node, whether they occur or not."""
        assert attribute.hierarchy is not None
        return attribute.hierarchy.leaves_under(self.level, self.node).astype(np.int64)


Cells = Ranges | Sets | Nodes


def cells_of_groups(
    attribute: Attribute, codes: Codes, start: Ints, rows: Ints, numeric_as: NumericAs = "range"
) -> Cells:
    """The tightest cell around the members of every group: group g has the rows rows[start[g] : start[g + 1]]."""
    members = codes[rows]
    if attribute.hierarchy is None and (attribute.kind == "categorical" or numeric_as == "set"):
        return _sets(attribute, members, start)
    low, high = np.minimum.reduceat(members, start[:-1]), np.maximum.reduceat(members, start[:-1])
    if attribute.hierarchy is None:
        return Ranges(low, high)
    return Nodes(*attribute.hierarchy.lca(attribute.leaves[low], attribute.leaves[high]))


def _contains(shown: Ints, wanted: Ints) -> npt.NDArray[np.bool_]:
    """Which of the wanted keys are among the shown ones (ascending); a negative key never is."""
    top = int(max(shown[-1], wanted.max())) + 2
    if top <= 8 * len(wanted) + 1_000_000:  # a table of all keys is cheaper than searching
        known = np.zeros(top, dtype=np.bool_)
        known[shown] = True
        return known[wanted]  # key -1 reads the last cell, which is never set
    place = np.minimum(np.searchsorted(shown, wanted), len(shown) - 1)
    found: npt.NDArray[np.bool_] = shown[place] == wanted
    return found


def _sets(attribute: Attribute, members: Codes, start: Ints) -> Sets:
    groups = len(start) - 1
    owner = np.repeat(np.arange(groups), np.diff(start))
    key = owner * attribute.size + members
    if groups * attribute.size <= 8 * len(key) + 1_000_000:  # a table of all pairs is cheaper than sorting
        shown = np.zeros(groups * attribute.size, dtype=np.bool_)
        shown[key] = True
        key = np.flatnonzero(shown)
    else:
        key = np.unique(key)
    sizes = np.bincount(key // attribute.size, minlength=groups)
    return Sets(np.concatenate(([0], np.cumsum(sizes))), (key % attribute.size).astype(np.int32))
