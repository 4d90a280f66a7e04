"""Random output tables that are too large to solve as a whole, in pieces.

The people of every sensitive value are put in the order of what they have and divided into as many equal parts as there
are pieces; the first piece has the first part of each, and so on. So every piece has the same share of each sensitive
value as the group, and can keep whatever ceilings the group keeps, even those that leave no room. For numbers, and
ceilings that are all used up, this is the best there is when pieces are small: people then have to be brought to the
same place who are equally far in the order of their sensitive value.

To divide exactly, people are counted in parts of a person, and a part may be the origin of a value with that part of
delta at most. Weights of pieces are added up in the end. That keeps all limits: a ceiling compares sums over a column,
and somebody whose parts are in several pieces has the mean of their probabilities, over the columns of all of these
together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oneoff.mechanisms.masking.programs import too_many_pairs
from oneoff.mechanisms.masking.shapes import UNKNOWN, Answer, Shapes, TableProblem
from oneoff.table.arrays import Ints, Ragged, offsets

__all__ = ["Pieces", "in_pieces"]

_MOST_PIECES = 2**12


class Pieces(NamedTuple):
    """The pieces of a table as tables of their own.

    number        of pieces, and parts that a person is counted in
    row, column   of the table, for each row and column of the shapes
    """

    shapes: Shapes
    number: int
    row: Ints
    column: Ints

    def together(self, found: Answer) -> Answer:
        """The table, from those of its pieces."""
        entries = found.entries
        row = self.row[self.shapes.rows.start[entries.table] + entries.row]
        column = self.column[self.shapes.columns.start[entries.table] + entries.column]
        width = int(self.column.max()) + 1
        pair, place = np.unique(row * width + column, return_inverse=True)
        weight = np.zeros(len(pair), dtype=np.int64)
        np.add.at(weight, place, entries.weight)
        whole = entries._replace(table=np.zeros_like(pair), row=pair // width, column=pair % width, weight=weight)
        cost, reserve = found.cost.sum() / self.number, found.reserve.max()
        return Answer(whole, np.array([cost]), np.array([reserve]), found.gap if self.number == 1 else UNKNOWN)


def in_pieces(rows: Ints, columns: Ints, problem: TableProblem) -> Pieces:
    """As few pieces as can be solved each, but with twice as many people in each as can cover for one another."""
    most = problem.limits.delta * int(rows[:, 1].sum())
    number = 1
    pieces = _divided(rows, columns, number)
    while _too_large(pieces, problem) and number < _MOST_PIECES and most >= 4 * number:
        number *= 2
        pieces = _divided(rows, columns, number)
    return pieces


def _too_large(pieces: Pieces, problem: TableProblem) -> bool:
    """Is one of the pieces?"""
    parts = problem.of_parts(pieces.number)
    tables = (pieces.shapes.one(p) for p in range(pieces.number))
    return any(len(rows) > problem.most_rows and too_many_pairs(rows, columns, parts) for rows, columns in tables)


def _divided(rows: Ints, columns: Ints, number: int) -> Pieces:
    """The table in so many pieces."""
    order = np.lexsort((rows[:, 0], rows[:, 2]))
    code, _, kind = rows[order].T
    row, piece, parts = _parts(rows[order], number)
    by_piece = np.argsort(piece, kind="stable")
    row, piece, parts = row[by_piece], piece[by_piece], parts[by_piece]
    width = int(columns.max()) + 1
    shown = np.unique(piece * width + code[row])
    known = np.argsort(columns)
    cells = np.stack([code[row], parts, kind[row]], axis=1)
    shapes = Shapes(
        Ragged(np.searchsorted(piece, np.arange(number + 1)), cells),
        Ragged(np.searchsorted(shown // width, np.arange(number + 1)), shown % width),
    )
    return Pieces(shapes, number, order[row], known[np.searchsorted(columns[known], shown % width)])


def _parts(rows: Ints, number: int) -> tuple[Ints, Ints, Ints]:
    """(row, piece, parts of its people that are there); rows ascend by sensitive value and code."""
    _, people, kind = rows.T
    each = np.bincount(kind, people).astype(np.int64)[kind]  # parts of every sensitive value in each piece
    first = offsets(people)[:-1]
    first = (first - first[np.searchsorted(kind, kind)]) * number
    last = first + people * number
    times = (last - 1) // each - first // each + 1
    row = np.repeat(np.arange(len(rows)), times)
    piece = first[row] // each[row] + np.arange(len(row)) - offsets(times)[row]
    parts = np.minimum(last[row], (piece + 1) * each[row]) - np.maximum(first[row], piece * each[row])
    return row, piece, parts
