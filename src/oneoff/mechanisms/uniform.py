"""Pieces of the quasi-identifier space in which every column is as uniform as cuts can make it.

For counts of values that recipients make from tallies of columns: how wide a piece looks does not matter to them, how
alike its people are does. Values play no part.
"""

from __future__ import annotations

import numpy as np

from oneoff.table import Table
from oneoff.table.arrays import Codes, Floats, Ints, offsets

__all__ = ["uniform_pieces"]


def uniform_pieces(table: Table, sizes: list[int], importance: Floats | None = None) -> list[Codes]:
    """The piece of every person when no piece may have fewer people than the first size; then those pieces cut again,
    down to the second size, and so on. `importance` says how much finer to cut each column. O(n d log n)."""
    from oneoff.kernels.trees import cut_tree

    place, weight = _axes(table)
    weight *= 1.0 if importance is None else importance
    begin = offsets([attribute.size for attribute in table.quasi])
    row, nodes = np.arange(table.rows, dtype=np.int32), np.array([0, table.rows])
    pieces = []
    for size in sizes:
        nodes = cut_tree(table.codes, place, begin, weight, row, nodes, size)
        pieces.append(_numbered(row, nodes))
    return pieces


def _numbered(row: Codes, begin: Ints) -> Codes:
    """The piece of every person, when pieces are slices of `row`."""
    piece = np.empty(len(row), dtype=np.int32)
    piece[row] = np.repeat(np.arange(len(begin) - 1, dtype=np.int32), np.diff(begin))
    return piece


def _axes(table: Table) -> tuple[Floats, Floats]:
    """The place of every code, attribute after attribute, and what a unit of impurity of each attribute counts.

    Numbers lie where the people are: the place is the share of people below. Categories have no place, which is written
    -1, with a hierarchy or without: the order of its leaves says too little about how alike they are.
    """
    places, weights = [], []
    for j, attribute in enumerate(table.quasi):
        share = np.bincount(table.codes[:, j], minlength=attribute.size) / table.rows
        ordered = attribute.has_order
        place = np.cumsum(share) - share / 2 if ordered else np.full(attribute.size, -1.0)
        impurity = share @ place**2 - (share @ place) ** 2 if ordered else 1 - share @ share
        places.append(place)
        weights.append(1 / impurity if impurity > 0 else 0.0)
    return np.concatenate(places), np.array(weights)
