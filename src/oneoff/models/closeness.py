"""t-closeness (Li, Li and Venkatasubramanian 2007): the earth mover's distance between a group and the whole table.

All three ground distances have the same shape, a sum over ranges of neighbouring values R of |q(R) - p(R)|:
equal          R = each value,               divided by 2
ordered        R = all values up to the i-th, divided by m - 1
hierarchical   R = the leaves under each node below the root, divided by 2 H (H = height)
The last holds because two leaves whose lowest common ancestor has height h are h/H apart, which is the length of the
path between them when every edge of the tree is 1/(2H) long; and on a tree the cheapest transport sends through each
edge just the imbalance of what hangs below it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadGuarantee
from oneoff.models.counts import Counts, Prior
from oneoff.models.model import Level, Model, parameter
from oneoff.models.numbers import Number, number_text
from oneoff.models.rule import RuleDraft
from oneoff.models.trees import hierarchy_of, node_levels, tree_ranges
from oneoff.table import Attribute, Hierarchy
from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["TCloseness"]

Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True)
class TCloseness(Model):
    """The values of every group are distributed as in the whole table, up to a distance t."""

    t: Fraction
    distance: Distance = "equal"
    ranges: tuple[tuple[int, int], ...] = ()  # hierarchical only: values below each node, filled in by `bind`
    height: int = 0

    name = "t-closeness"
    parameter_name = "t"

    def __init__(
        self,
        t: Number,
        distance: Distance = "equal",
        ranges: tuple[tuple[int, int], ...] = (),
        height: int = 0,
    ) -> None:
        if distance not in ("equal", "ordered", "hierarchical"):
            raise BadGuarantee(
                "unknown distance for t-closeness", allowed="equal, ordered, hierarchical", got=repr(distance)
            )
        object.__setattr__(self, "t", parameter(t, "t of t-closeness", least=0, most=1))
        object.__setattr__(self, "distance", distance)
        object.__setattr__(self, "ranges", ranges)
        object.__setattr__(self, "height", height)

    @staticmethod
    def on_tree(t: Number, tree: Hierarchy) -> TCloseness:
        """Hierarchical distance for value codes that are the leaves of this tree, in its order."""
        return TCloseness(t, "hierarchical", tree_ranges(tree, np.arange(tree.leaf_count)), tree.height)

    def spec(self) -> str:
        suffix = "" if self.distance == "equal" else f",{self.distance}"
        return f"{self.name}:{number_text(self.t)}{suffix}"

    def sentence(self) -> str:
        return f"the values of every group are distributed as in the whole table, up to a distance of {float(self.t):g}"

    def bind(self, sensitive: Attribute | None) -> Model:
        super().bind(sensitive)
        assert sensitive is not None
        if self.distance == "ordered" and (not sensitive.has_order or sensitive.has_missing):
            raise BadGuarantee(
                f"{self.spec()} needs values with an order, but {sensitive.name!r} "
                + ("has missing values, which have no place in it" if sensitive.has_order else "is text"),
                allowed="a sensitive column of numbers, or of categories with an order, and no missing values",
                hint=f"name their order with --ordered {sensitive.name}=FIRST,SECOND,... (ordered=...), or use "
                "t-closeness without `ordered`",
            )
        if self.distance != "hierarchical":
            return self
        tree = hierarchy_of(sensitive, self.spec())
        return replace(self, ranges=tree_ranges(tree, sensitive.leaves), height=tree.height)

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        moved, scale = self._moved(counts, prior)
        size = counts.size.astype(object)
        bound = self.t * scale * prior.total
        flags: Flags = (moved.astype(object) * bound.denominator > size * bound.numerator).astype(np.bool_)
        return flags

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        moved, scale = self._moved(counts, prior)
        return moved.astype(np.float64) / (float(scale * prior.total) * counts.size)

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        moved, scale = self._moved(counts, prior)
        score = moved.astype(np.float64) / counts.size
        near = np.flatnonzero(score >= score.max() * (1 - 1e-9))
        pairs = {(int(moved[group]), int(counts.size[group])) for group in near}
        return max(Fraction(work, size * scale * prior.total) for work, size in pairs)

    def tighten(self, draft: RuleDraft) -> None:
        values = draft.prior.values
        draft.distances.append((self.t, self._scale(values), self._ranges(values)))

    def _scale(self, values: int) -> int:
        """What the sum of all imbalances is divided by."""
        if self.distance == "ordered":
            return max(values - 1, 1)
        if self.distance == "equal":
            return 2
        if not self.height:
            raise BadGuarantee(f"{self.spec()} was not given the hierarchy of the sensitive values")
        return 2 * self.height

    def _ranges(self, values: int) -> list[tuple[int, int]]:
        """The ranges whose imbalances add up to the distance."""
        if self.distance == "ordered":
            return [(0, i) for i in range(1, values)]
        return [(i, i + 1) for i in range(values)] if self.distance == "equal" else list(self.ranges)

    def _moved(self, counts: Counts, prior: Prior) -> tuple[npt.NDArray[Any], int]:
        """sum over ranges of |total * count(R) - size * prior(R)|, an integer for each group."""
        scale = self._scale(prior.values)
        # A distance is at most 1, so no sum exceeds scale * total * size: beyond 64 bits count in Python's integers.
        exact = np.dtype(np.int64 if scale * prior.total * counts.largest < 2**62 else object)
        people = np.array(prior.count, dtype=exact)
        if self.distance == "equal":
            return _imbalance(counts, people, np.arange(prior.values)), scale
        if self.distance == "ordered":
            return _imbalance_below(counts, people), scale
        levels = [_imbalance(counts, people, node) for node in node_levels(self.ranges)]
        return sum(levels[1:], start=levels[0]), scale


def _imbalance(counts: Counts, people: npt.NDArray[Any], node: Ints) -> npt.NDArray[Any]:
    """sum over nodes of |total * count - size * prior|, for nodes (ascending with the values) that hold every value.

    Only nodes that occur in a group are looked at: all others together add size * (total - prior of those).
    """
    exact, total = people.dtype, people.sum()
    expected = np.add.reduceat(people, np.flatnonzero(np.diff(node, prepend=-1)))
    owner, entry = counts.owner, node[counts.value]
    order = np.lexsort((entry, owner))
    owner, entry = owner[order], entry[order]
    first = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(entry, prepend=-1) != 0))
    found = total * np.add.reduceat(counts.count[order], first).astype(exact)
    owner, size = owner[first], counts.size.astype(exact)
    usual = expected[entry[first]] * size[owner]
    present = np.add.reduceat(np.abs(found - usual) - usual, np.flatnonzero(np.diff(owner, prepend=-1)))
    moved: npt.NDArray[Any] = present + total * size
    return moved


def _imbalance_below(counts: Counts, people: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """sum over values i but the last of |total * count(values <= i) - size * prior(values <= i)|.

    From one value of a group to its next the first term stays and the second grows, so their difference changes sign
    once at most: prefix sums on both sides of that place do, and no group is spread over all values.
    """
    exact, total, last = people.dtype, people.sum(), len(people) - 1
    usual = np.cumsum(people)
    before = np.concatenate((np.zeros(1, dtype=exact), np.cumsum(usual)))
    order = np.lexsort((counts.value, counts.owner))
    owner, low = counts.owner, counts.value[order]
    high = np.append(low[1:], last)
    high[counts.start[1:] - 1] = last
    running = np.cumsum(counts.count[order])
    earlier = np.concatenate(([0], running))[counts.start[:-1]]
    found = total * (running - earlier[owner]).astype(exact)
    size = counts.size.astype(exact)
    low = np.minimum(low, high)  # the last value ends no range
    turn = np.clip(np.searchsorted(usual, found // size[owner], side="right"), low, high)
    above = (2 * turn - low - high).astype(exact) * found
    inside = above - size[owner] * (2 * before[turn] - before[low] - before[high])
    # below its first value a group has nothing
    lead = size * before[np.minimum(counts.value[order][counts.start[:-1]], last)]
    moved: npt.NDArray[Any] = lead + np.add.reduceat(inside, counts.start[:-1])
    return moved
