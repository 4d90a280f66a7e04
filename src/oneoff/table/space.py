"""The quasi-identifier space of a table in the form the compiled loops want."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oneoff.table.arrays import Ints, offsets
from oneoff.table.table import Attribute, Table

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["space_of"]


def space_of(table: Table, numeric_as: str = "range") -> Space:
    """Kinds, positions and hierarchies of all quasi-identifiers as flat arrays."""
    from oneoff.kernels.space import NODE, RANGE, SET, Space

    def kind(attribute: Attribute) -> int:
        if attribute.hierarchy is not None:
            return NODE
        return RANGE if attribute.has_order and numeric_as == "range" else SET

    kinds = [kind(attribute) for attribute in table.quasi]
    sizes = [attribute.size for attribute in table.quasi]
    trees = [_tree(attribute) for attribute in table.quasi]
    leaves = np.array([_leaves(attribute) for attribute in table.quasi], dtype=np.int64)
    tree_sizes = [tree.shape[1] for tree in trees]
    columns = [kinds, offsets(sizes)[:-1], sizes, offsets(tree_sizes)[:-1], leaves]
    return Space(
        attribute=np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1),
        unit=1.0 / np.maximum(leaves - 1, 1),
        position=np.concatenate([attribute.scaled for attribute in table.quasi]),
        leaf=np.concatenate([attribute.leaves for attribute in table.quasi]).astype(np.int64),
        tree=np.concatenate(trees, axis=1),
    )


def _leaves(attribute: Attribute) -> int:
    return attribute.size if attribute.hierarchy is None else attribute.hierarchy.leaf_count


def _tree(attribute: Attribute) -> Ints:
    """Ancestor of every leaf on every level, and the number of leaves under it."""
    tree = attribute.hierarchy
    if tree is None:
        return np.zeros((2, 0), dtype=np.int64)
    under = np.stack([np.bincount(level)[level] for level in tree.ancestor])
    return np.stack([tree.ancestor.ravel(), under.ravel()]).astype(np.int64)
