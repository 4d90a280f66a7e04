"""The quasi-identifier space as plain arrays, and the loss of a box in it.

The loss of an attribute in a group is its normalized certainty penalty: for ranges (max - min) / (U - L), for sets
(values - 1) / (domain - 1), for nodes of a hierarchy (leaves under the lowest common ancestor - 1) / (leaves - 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

__all__ = ["NODE", "RANGE", "SET", "Space", "place", "span_loss"]

RANGE, SET, NODE = 0, 1, 2


class Space(NamedTuple):
    """Few and wide arrays, because every array costs compile time.

    attribute [attributes, 5]   kind, offset of its codes, domain size, offset of its tree, leaves of the tree
    unit      [attributes]      the loss of one more value in a set, or of one more leaf under a node
    position, leaf              at offset + code: place on the number line from 0 to 1, leaf in the hierarchy
    tree      [2, ...]          at tree offset + level * leaves + leaf: the ancestor's number, the leaves under it
    """

    attribute: Any
    unit: Any
    position: Any
    leaf: Any
    tree: Any


@njit(cache=True)
def span_loss(space: Any, j: int, low: int, high: int, distinct: int) -> float:
    """Loss of attribute j for a group whose codes run from low to high with that many distinct ones."""
    kind, offset = space.attribute[j, 0], space.attribute[j, 1]
    if kind == 0:
        return space.position[offset + high] - space.position[offset + low]
    if kind == 1:
        return (distinct - 1) * space.unit[j]
    a = space.attribute[j, 3] + space.leaf[offset + low]
    b = space.attribute[j, 3] + space.leaf[offset + high]
    while space.tree[0, a] != space.tree[0, b]:
        a += space.attribute[j, 4]
        b += space.attribute[j, 4]
    return (space.tree[1, a] - 1) * space.unit[j]


@njit(cache=True)
def place(space: Any, a: int, code: int) -> int:
    """What a box remembers of a code: its place on the number line in units of 2**-19, or the code itself."""
    if space.attribute[a, 0] == 0:
        return int(space.position[space.attribute[a, 1] + code] * 2**19 + 0.5)
    return code
