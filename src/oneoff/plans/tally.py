"""Who is counted together: people in cells, cells in fields, and how much noise the counts of a field need."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from oneoff.errors import Defect
from oneoff.plans.partition import Partition
from oneoff.table.arrays import Ints

__all__ = ["Tallies", "Tally"]


@dataclass(frozen=True, eq=False)
class Tally:
    """field[c] is the field of cell c, numbered from 0 without gaps; a field is a union of cells.

    epsilon   by which factor e^epsilon one person's values may change the probability of anything that is published
    rows_per_person   how many rows anybody has at most: so many values of theirs may change at once
    """

    cells: Partition
    field: Ints
    epsilon: float
    notes: tuple[str, ...] = ()
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        numbered = len(self.field) == self.cells.groups and int(self.field.min()) == 0
        if not numbered or (np.bincount(self.field) == 0).any():
            raise Defect("fields are not numbered from 0 without gaps, or not every cell has one")
        if not 0 < self.epsilon < np.inf or self.rows_per_person < 1:
            raise Defect("counts without noise, or with nothing but noise, are not for publication")

    @property
    def fields(self) -> int:
        return int(self.field.max()) + 1

    @property
    def of_a_row(self) -> float:
        """The epsilon of one row, which noise is drawn for."""
        return self.epsilon / self.rows_per_person

    @cached_property
    def people(self) -> Ints:
        """In each field."""
        return np.bincount(self.field, weights=self.cells.size).astype(np.int64)

    @cached_property
    def field_of_person(self) -> Ints:
        return self.field[self.cells.group]


@dataclass(frozen=True, eq=False)
class Tallies:
    """What is counted of several sensitive columns over the same cells, each with noise of its own.

    columns   the name of what is counted (`diag`, or `diag*stay` for columns counted together), and its tally
    epsilon   of all of them together: no less than the sum of theirs
    """

    columns: tuple[tuple[str, Tally], ...]
    epsilon: float
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(tally.cells is not self.cells for _, tally in self.columns):
            raise Defect("columns of a table are counted over different cells")
        if sum(Fraction(tally.epsilon) for _, tally in self.columns) > Fraction(self.epsilon):
            raise Defect("the counts of all columns together say more than epsilon")

    @property
    def cells(self) -> Partition:
        return self.columns[0][1].cells
