"""The quasi-identifier space as plain arrays, and the loss of a box in it.

The loss of an attribute in a group is its normalized certainty penalty: for ranges (max - min) / (U - L), for sets
(values - 1) / (domain - 1), for nodes of a hierarchy (leaves under the lowest common ancestor - 1) / (leaves - 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

__all__ = [
    "ABOVE_ALL",
    "ANCESTOR",
    "KIND",
    "LEAVES",
    "NODE",
    "OFFSET",
    "RANGE",
    "SET",
    "SIZE",
    "TREE",
    "UNDER",
    "UNIT",
    "Space",
    "in_units",
    "leaves_under",
    "place",
    "span_loss",
]

RANGE, SET, NODE = range(3)  # kinds of attributes
KIND, OFFSET, SIZE, TREE, LEAVES = range(5)  # columns of Space.attribute
ANCESTOR, UNDER = range(2)  # lines of Space.tree
UNIT = 2**19  # the loss of a whole attribute where losses are whole numbers, which makes ties exact
ABOVE_ALL = 2**31  # no code is so high


class Space(NamedTuple):
    """Few and wide arrays, because every array costs compile time.

    attribute [attributes, 5]   KIND, OFFSET of its codes, SIZE of its domain, offset of its TREE, LEAVES of the tree
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
    kind, offset = space.attribute[j, KIND], space.attribute[j, OFFSET]
    if kind == RANGE:
        return space.position[offset + high] - space.position[offset + low]
    if kind == SET:
        return (distinct - 1) * space.unit[j]
    return (leaves_under(space, j, low, high) - 1) * space.unit[j]


@njit(cache=True)
def leaves_under(space: Any, j: int, low: int, high: int) -> int:
    """How many leaves the lowest common ancestor of two codes has, in the hierarchy of attribute j."""
    a = space.attribute[j, TREE] + space.leaf[space.attribute[j, OFFSET] + low]
    b = space.attribute[j, TREE] + space.leaf[space.attribute[j, OFFSET] + high]
    while space.tree[ANCESTOR, a] != space.tree[ANCESTOR, b]:
        a += space.attribute[j, LEAVES]
        b += space.attribute[j, LEAVES]
    return space.tree[UNDER, a]


@njit(cache=True)
def in_units(loss: float) -> int:
    """A loss, or a place on the number line, in whole numbers of 1 / UNIT."""
    return int(loss * UNIT + 0.5)


@njit(cache=True)
def place(space: Any, a: int, code: int) -> int:
    """What a box remembers of a code: its place on the number line in whole numbers of 1 / UNIT, or itself."""
    if space.attribute[a, KIND] == RANGE:
        return in_units(space.position[space.attribute[a, OFFSET] + code])
    return code
