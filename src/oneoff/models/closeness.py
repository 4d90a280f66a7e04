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
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadGuarantee
from oneoff.models.counts import Counts, Prior
from oneoff.models.model import Flags, Floats, Level, Model, parameter
from oneoff.models.numbers import Number, number_text
from oneoff.models.rule import RuleDraft
from oneoff.table import Attribute, Hierarchy

__all__ = ["TCloseness"]

Distance = Literal["equal", "ordered", "hierarchical"]
_CELLS = 4_000_000  # dense cells handled at a time, to bound memory


@dataclass(frozen=True)
class TCloseness(Model):
    """The values of every group are distributed as in the whole table, up to a distance t."""

    t: Fraction
    distance: Distance = "equal"
    ranges: tuple[tuple[int, int], ...] = ()  # hierarchical only: values below each node, filled in by `bind`
    height: int = 0

    name = "t-closeness"

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
        return TCloseness(t, "hierarchical", _tree_ranges(tree, np.arange(tree.leaf_count)), tree.height)

    def spec(self) -> str:
        suffix = "" if self.distance == "equal" else f",{self.distance}"
        return f"{self.name}:{number_text(self.t)}{suffix}"

    def sentence(self) -> str:
        return f"the values of every group are distributed as in the whole table, up to a distance of {float(self.t):g}"

    def bind(self, sensitive: Attribute | None) -> Model:
        super().bind(sensitive)
        assert sensitive is not None
        if self.distance == "ordered" and sensitive.kind != "numeric":
            raise BadGuarantee(
                f"{self.spec()} needs values with an order, but {sensitive.name!r} is text",
                allowed="a numeric sensitive column",
                hint="number the values, or use t-closeness without `ordered`",
            )
        if self.distance != "hierarchical":
            return self
        if sensitive.hierarchy is None:
            raise BadGuarantee(
                f"{self.spec()} needs a hierarchy of the sensitive values",
                allowed=f"a hierarchy for column {sensitive.name!r}",
                hint=f"--hierarchy {sensitive.name}=FILE.csv",
            )
        tree = sensitive.hierarchy
        return replace(self, ranges=_tree_ranges(tree, sensitive.leaves), height=tree.height)

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

    def parameter(self) -> Level:
        return self.t

    def at(self, level: Level) -> TCloseness:
        return TCloseness(level, self.distance, self.ranges, self.height)

    def tighten(self, draft: RuleDraft) -> None:
        ranges, scale = self._ranges(draft.prior.values)
        draft.distances.append((self.t, scale, ranges))

    def _ranges(self, values: int) -> tuple[list[tuple[int, int]], int]:
        """The ranges whose imbalances add up to the distance, and what their sum is divided by."""
        if self.distance == "ordered":
            return [(0, i) for i in range(1, values)], max(values - 1, 1)
        if self.distance == "equal":
            return [(i, i + 1) for i in range(values)], 2
        if not self.height:
            raise BadGuarantee(f"{self.spec()} was not given the hierarchy of the sensitive values")
        return list(self.ranges), 2 * self.height

    def _moved(self, counts: Counts, prior: Prior) -> tuple[npt.NDArray[Any], int]:
        """sum over ranges of |total * count(R) - size * prior(R)|, an integer for each group."""
        if self.distance == "equal":
            expected = prior.array[counts.value] * counts.size[counts.owner]
            found = prior.total * counts.count.astype(prior.array.dtype)
            present = np.add.reduceat(np.abs(found - expected) - expected, counts.start[:-1])
            return present + prior.total * counts.size.astype(prior.array.dtype), 2
        ranges, scale = self._ranges(prior.values)
        step = max(1, _CELLS // prior.values)
        blocks = [
            _imbalance(counts, prior, ranges, first, min(first + step, counts.groups))
            for first in range(0, counts.groups, step)
        ]
        return np.concatenate(blocks), scale


def _imbalance(counts: Counts, prior: Prior, ranges: list[tuple[int, int]], first: int, last: int) -> npt.NDArray[Any]:
    """The imbalance over ranges for groups first..last-1, from dense cumulated counts."""
    entries = slice(int(counts.start[first]), int(counts.start[last]))
    dense = np.zeros((last - first, prior.values + 1), dtype=prior.array.dtype)
    dense[counts.owner[entries] - first, counts.value[entries] + 1] = counts.count[entries]
    below = np.cumsum(dense, axis=1)
    expected = np.concatenate(([0], np.cumsum(prior.array)))
    difference = below * prior.total - expected[None, :] * counts.size[first:last, None].astype(prior.array.dtype)
    moved: npt.NDArray[Any] = np.zeros(last - first, dtype=prior.array.dtype)
    for low, high in ranges:
        moved += np.abs(difference[:, high] - difference[:, low])
    return moved


def _tree_ranges(tree: Hierarchy, leaves: npt.NDArray[Any]) -> tuple[tuple[int, int], ...]:
    """For every node below the root, the range of value codes under it (`leaves` ascend with the codes)."""
    ranges = []
    for level in range(tree.height):
        node = tree.ancestor[level][leaves]
        cuts = np.concatenate(([0], np.flatnonzero(np.diff(node)) + 1, [len(node)]))
        ranges += [(int(low), int(high)) for low, high in pairwise(cuts)]
    return tuple(ranges)
