"""The quasi-identifier space of a table in the form the compiled loops want."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from oneoff.table import Attribute, Table

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["curve_order", "lexicographic", "space_of"]


def space_of(table: Table, numeric_as: str = "range") -> Space:
    """Kinds, positions and hierarchies of all quasi-identifiers as flat arrays."""
    from oneoff.kernels.space import NODE, RANGE, SET, Space

    def kind(attribute: Attribute) -> int:
        if attribute.hierarchy is not None:
            return NODE
        return RANGE if attribute.kind == "numeric" and numeric_as == "range" else SET

    kinds = [kind(attribute) for attribute in table.quasi]
    sizes = [attribute.size for attribute in table.quasi]
    trees = [_tree(attribute) for attribute in table.quasi]
    leaves = np.array([_leaves(attribute) for attribute in table.quasi], dtype=np.int64)
    tree_sizes = [tree.shape[1] for tree in trees]
    columns = [kinds, _offsets(sizes), sizes, _offsets(tree_sizes), leaves]
    return Space(
        attribute=np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1),
        unit=1.0 / np.maximum(leaves - 1, 1),
        position=np.concatenate([attribute.scaled for attribute in table.quasi]),
        leaf=np.concatenate([attribute.leaves for attribute in table.quasi]).astype(np.int64),
        tree=np.concatenate(trees, axis=1),
    )


def lexicographic(table: Table, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """All rows sorted by their quasi-identifiers, attributes with small domains first (004, section 5.3).

    Equal rows come in random order: a file may be sorted by the sensitive value, and that must not decide anything.
    """
    by_size = sorted(range(len(table.quasi)), key=lambda j: table.quasi[j].size, reverse=True)
    mixed = rng.permutation(table.rows)
    return mixed[np.lexsort([table.codes[mixed, j] for j in by_size])]


def _leaves(attribute: Attribute) -> int:
    return attribute.size if attribute.hierarchy is None else attribute.hierarchy.leaf_count


def _offsets(sizes: Sequence[int]) -> list[int]:
    return [0, *accumulate(sizes)][:-1]


def _tree(attribute: Attribute) -> npt.NDArray[np.int64]:
    """Ancestor of every leaf on every level, and the number of leaves under it."""
    tree = attribute.hierarchy
    if tree is None:
        return np.zeros((2, 0), dtype=np.int64)
    under = np.stack([np.bincount(level)[level] for level in tree.ancestor])
    return np.stack([tree.ancestor.ravel(), under.ravel()]).astype(np.int64)


def curve_order(
    table: Table,
    space: Space,
    rows: npt.NDArray[np.int64],
    rng: np.random.Generator,
    within: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """The places in `rows` along a space-filling curve: neighbours on it lose little together.

    A Morton curve whose digits come in the order of what a difference in them costs, changed a little by chance so
    that two calls give two curves: a category is one digit that costs a unit, the bits of a number cost 1/2, 1/4, ...
    With `within`, places of the same number stay together and numbers ascend.
    """
    from oneoff.kernels.space import SET

    digits: list[tuple[float, int, npt.NDArray[np.int64]]] = []
    for j, attribute in enumerate(table.quasi):
        codes = table.codes[rows, j]
        if int(space.attribute[j, 0]) == SET:
            width = max(1, (attribute.size - 1).bit_length())
            digits.append((float(space.unit[j]), width, rng.permutation(attribute.size)[codes]))
            continue
        place = (attribute.scaled[codes] * 255.99).astype(np.int64)
        digits += [(2.0 ** -(bit + 1), 1, place >> (7 - bit) & 1) for bit in range(8)]
    weight = np.array([cost for cost, _, _ in digits]) * np.exp(rng.normal(0.0, 0.7, len(digits)))
    key, room = np.zeros(len(rows), dtype=np.int64), 63
    for i in np.argsort(-weight).tolist():
        _, width, digit = digits[i]
        if width <= room:
            key, room = key << width | digit, room - width
    return np.argsort(key, kind="stable") if within is None else np.lexsort((key, within))
