"""Pieces of the quasi-identifier space in which every column is as uniform as cuts can make it.

For counts of values that recipients make from tallies of columns: how wide a piece looks does not matter to them, how
alike its people are does. Values play no part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneoff.table import Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints, offsets
from oneoff.table.axes import axes_of

__all__ = ["uniform_cut", "uniform_pieces"]


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


def uniform_cut(
    counts: Sequence[Ints], place: Floats, begin: Ints, weight: Floats, least: int
) -> tuple[int, Flags] | None:
    """The cut that `uniform_pieces` would make of people of whom only this is known: how many have each code of each
    column. The column, and which of its codes go to the first side; None where they stay together."""
    from oneoff.kernels.trees import best_of_counts

    size, best, found = int(counts[0].sum()), 0.0, None
    if size < 2 * least:
        return None
    for j, count in enumerate(counts):
        gain, order, at = best_of_counts(count, place, int(begin[j]), size, least)
        if weight[j] * gain > best * (1.0 + 1e-9):
            best, found = weight[j] * gain, (j, order[:at])
    if found is None:
        return None
    left = np.zeros(len(counts[found[0]]), dtype=np.bool_)
    left[found[1]] = True
    return found[0], left


def _axes(table: Table) -> tuple[Floats, Floats]:
    """Of a table, or of the larger one that it is a part of."""
    counted = zip(table.quasi, table.codes.T, strict=True)
    own = [np.bincount(codes, minlength=attribute.size) for attribute, codes in counted]
    return axes_of(table.quasi, own if table.margins is None else table.margins)
