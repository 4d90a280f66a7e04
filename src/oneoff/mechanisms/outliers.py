"""Who may be left out so that the others lose less: outliers, found in quasi-identifiers and in whose a row is.

The table comes without its values (`without_values`), so they can play no part. Cells are cut, those whose presence
costs the others of their cell more than they would lose themselves (everything: a loss of 1) are taken out, and cells
are cut again, for that is what a method does with the rest. Only what then lowers the loss of everybody counts, and
what a typical count of people is off by, in which those who went are missing. People with equal quasi-identifiers all
stay or all go: the order of rows, in which values may show, decides nothing. O(n d log n) for each of a few rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from oneoff.mechanisms.partitioning.mondrian import mondrian
from oneoff.mechanisms.persons import enough_persons
from oneoff.mechanisms.space import space_of
from oneoff.mechanisms.uniform import uniform_pieces
from oneoff.models import KAnonymity
from oneoff.randomness import secret_generator
from oneoff.table import Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints, Ragged

__all__ = ["Off", "Shape", "cells_of", "outliers", "without_values"]

Shape = Literal["uniform", "box"]
Off = Callable[[Table, Codes], float]
"""What a typical count of people is off by, when these are left and in these cells."""

_TRIES = 6
_WORTH = 0.02  # a round that saves less than this part of what the first one did was the last
_LESS = 0.005  # of all that is lost must be saved before anybody goes: less may be how cuts fell
_NEARER = 0.99  # of what counts were off by is what they may be off by then, likewise
_LEAST = 0.5  # of a cell that stays when it is peeled: half of it are no outliers
_DIGITS = 9  # of what somebody costs; what is smaller is rounding


def without_values(table: Table) -> Table:
    """The quasi-identifiers of a table, and whose a row is: no values, and no weights, which may go with them."""
    nothing = np.zeros(table.rows, dtype=np.int32)
    return replace(table, sensitive=None, values=nothing, keep=(), kept=None, weight=None, besides=())


def cells_of(table: Table, size: int, shape: Shape) -> Codes:
    """The cell of every row, when a cell counts for so many people at least; equal rows are in one cell.

    shape   "uniform" as tallies and uniform cuts make them, "box" as narrow as strict cuts can
    """
    if shape == "uniform":
        return enough_persons(table, uniform_pieces(table, [size])[0], size)
    return mondrian(table, KAnonymity(size), cuts="strict", effort="fast", rng=secret_generator()).group


def outliers(table: Table, size: int, most: int, shape: Shape, off: Off) -> Ints:
    """The rows of at most so many people, ascending; of nobody where neither loss nor counts would gain.

    size   how many people a cell must count for at least
    """
    table, unit = without_values(table), _units(table)
    if most == 0 or table.crowd < size:
        return np.zeros(0, dtype=np.int64)
    best = _Cut.of(table, np.zeros(table.rows, dtype=np.bool_), size, shape)
    missed, chunk, first = off(best.left, best.cells), most, 0.0
    for _ in range(_TRIES):
        gone = best.peeled(unit, min(chunk, most - best.people_out), size, shape)
        if gone is None:
            break
        saved = best.total - gone.total
        now = off(gone.left, gone.cells) if saved > (0.0 if first else _LESS * best.total) else np.inf
        if now >= missed or now > _NEARER * missed:
            chunk = (gone.people_out - best.people_out) // 2
            continue
        best, missed, first = gone, now, first or saved
        if saved < _WORTH * first:
            break
    return np.flatnonzero(best.out)


@dataclass(frozen=True, eq=False)
class _Cut:
    """Who is out, the cells of those who are left, and what all lose together: 1 who is out, others what their cell
    does."""

    table: Table
    out: Flags
    left: Table
    cells: Codes
    total: float

    @staticmethod
    def of(table: Table, out: Flags, size: int, shape: Shape) -> _Cut:
        from oneoff.kernels.outliers import cell_losses

        left = table.take(~out)
        if left.crowd < size:  # so few are no cell
            return _Cut(table, out, left, np.zeros(left.rows, dtype=np.int32), np.inf)
        cells = cells_of(left, size, shape)
        members = Ragged.of_owners(cells)
        loss = cell_losses(left.codes, space_of(left), members.start, members.items, _room(left, members)[0])
        return _Cut(table, out, left, cells, float(loss @ members.lengths) + float(out.sum()))

    @property
    def people_out(self) -> int:
        return self.table.people - self.left.people

    def peeled(self, unit: Ints, most: int, size: int, shape: Shape) -> _Cut | None:
        """The same without those who cost most, at most so many people; None where nobody costs more than she loses."""
        from oneoff.kernels.outliers import peel

        members = Ragged.of_owners(self.cells)
        gain, room = np.full(self.table.rows, -np.inf), _room(self.left, members)
        gain[~self.out] = peel(self.left.codes, space_of(self.left), members.start, members.items, _LEAST, *room)
        chosen = _costliest(gain, unit, self.table, most)
        return None if not chosen.any() else _Cut.of(self.table, self.out | chosen, size, shape)


def _room(table: Table, cells: Ragged) -> tuple[Ints, Floats]:
    from oneoff.kernels.outliers import working_space

    room: tuple[Ints, Floats] = working_space(max(a.size for a in table.quasi), int(cells.lengths.max()))
    return room


def _units(table: Table) -> Ints:
    """Rows that stay or go together: those of a person and of a household, and of all whom these join."""
    if table.person is None or table.household is None:
        return np.arange(table.rows) if table.hiding is None else table.hiding
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = (table.people, int(table.household.max()) + 1)
    pairs = table.person, size[0] + table.household
    graph = coo_array((np.ones(table.rows), pairs), shape=(sum(size), sum(size)))
    found: Ints = connected_components(graph, directed=False)[1][table.person].astype(np.int64)
    return found


def _costliest(gain: Floats, unit: Ints, table: Table, most: int) -> Flags:
    """Who goes: by what is saved for each person, as many as may, but of those who save the same all or none."""
    many = int(unit.max()) + 1
    owner = np.arange(table.rows) if table.person is None else table.person
    people = np.bincount(unit[np.unique(owner, return_index=True)[1]], minlength=many)
    saved = np.round(np.bincount(unit, gain, minlength=many) / np.maximum(people, 1), _DIGITS)
    place = np.unique(-saved, return_inverse=True)[1]  # the highest first
    together = np.cumsum(np.bincount(place, people))
    last = int(np.searchsorted(together, most, side="right"))
    chosen: Flags = ((place < last) & (saved > 0))[unit]
    return chosen
