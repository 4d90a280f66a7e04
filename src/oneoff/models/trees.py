"""The hierarchy of the sensitive values as ranges of value codes: the values below any node are neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadGuarantee
from oneoff.table import Attribute, Hierarchy
from oneoff.table.arrays import Ints

__all__ = ["hierarchy_of", "node_levels", "tree_ranges"]


def hierarchy_of(sensitive: Attribute, spec: str) -> Hierarchy:
    """The hierarchy of the sensitive column, which the promise cannot do without."""
    if sensitive.hierarchy is None:
        raise BadGuarantee(
            f"{spec} needs a hierarchy of the sensitive values",
            allowed=f"a hierarchy for column {sensitive.name!r}",
            hint=f"--hierarchy {sensitive.name}=FILE.csv",
        )
    return sensitive.hierarchy


def tree_ranges(tree: Hierarchy, leaves: npt.NDArray[Any]) -> tuple[tuple[int, int], ...]:
    """For every node below the root, the range of value codes under it (`leaves` ascend with the codes).

    Level by level from the values upwards, and each level from left to right.
    """
    ranges = []
    for level in range(tree.height):
        node = tree.ancestor[level][leaves]
        cuts = np.concatenate(([0], np.flatnonzero(np.diff(node)) + 1, [len(node)]))
        ranges += [(int(low), int(high)) for low, high in pairwise(cuts)]
    return tuple(ranges)


def node_levels(ranges: Sequence[tuple[int, int]]) -> Iterator[Ints]:
    """The node of every value, level by level: a level begins where the first value is counted again."""
    low, high = np.array(ranges, dtype=np.int64).T
    starts = np.flatnonzero(low == 0)
    for first, last in pairwise([*starts.tolist(), len(low)]):
        yield np.repeat(np.arange(last - first), high[first:last] - low[first:last])
