"""What chance may make of every quasi-identifier: the random output tables of mutual cover (paper 003, Definition 3).

Probabilities are whole weights over a common total, so that what is drawn and what is audited are the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect
from oneoff.plans.partition import Partition
from oneoff.plans.redraw import Redraw
from oneoff.table.arrays import Codes, Flags, Ints, Ragged

__all__ = ["LARGEST_GROUP", "TOTAL", "Columns", "Cover", "RandomTable"]

TOTAL = 2**40  # what the weights of a row sum up to
LARGEST_GROUP = 2**22  # people whose weights are still added up exactly in 64 bits


class Columns(NamedTuple):
    """The columns of the tables of all groups: group and code, and the weights of everybody and of the likeliest."""

    group: Ints
    code: Ints
    everybody: npt.NDArray[Any]
    likeliest: npt.NDArray[Any]

    def above(self, delta: Fraction) -> Flags:
        """In which columns does the likeliest have more than the part delta of everybody? In whole numbers."""
        part, whole = self.likeliest, self.everybody
        if max(int(part.max()) * delta.denominator, int(whole.max()) * delta.numerator) >= 2**63:
            part, whole = part.astype(object), whole.astype(object)
        return np.asarray(part * delta.denominator > whole * delta.numerator, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class RandomTable:
    """The tables of all groups for one quasi-identifier, one below the other.

    row[i]   the row of person i, which shows code[e] with probability weight[e] / TOTAL for start[row] <= e < start[row
             + 1]. People of a group with equal values (and, where that matters, equal sensitive values) share a row,
             unless exact limits ask for weights that differ by one.
    """

    row: Codes
    start: Ints
    code: Codes
    weight: Ints

    def __post_init__(self) -> None:
        fits = len(self.code) == len(self.weight)
        if not fits or (self.codes.lengths < 1).any() or (self.weight <= 0).any():
            raise Defect("a row of a random output table is empty or has weights that are not positive")
        if (np.add.reduceat(self.weight, self.start[:-1]) != TOTAL).any():
            raise Defect("the weights of a row of a random output table do not sum up to the total")
        if len(np.unique(self.row)) != self.rows or int(self.row.min()) < 0 or int(self.row.max()) >= self.rows:
            raise Defect("a row of a random output table is nobody's, or somebody has none")
        for array in (self.row, self.start, self.code, self.weight):
            array.flags.writeable = False

    @cached_property
    def codes(self) -> Ragged:
        """What every row may show."""
        return Ragged(self.start, self.code)

    @property
    def rows(self) -> int:
        return len(self.codes)

    @cached_property
    def people(self) -> Ints:
        """How many people share each row."""
        return np.bincount(self.row, minlength=self.rows).astype(np.int64)

    @cached_property
    def owner(self) -> Codes:
        """The row of every entry."""
        return self.codes.owner.astype(np.int32)

    def group_of_rows(self, group: Codes) -> Codes:
        """The group each row belongs to."""
        found = np.empty(self.rows, dtype=np.int32)
        found[self.row] = group
        return found

    def columns(self, group: Codes) -> Columns:
        """Definition 5 asks that the likeliest has at most the part delta of everybody, in each of these."""
        where = self.group_of_rows(group)[self.owner].astype(np.int64)
        order = np.lexsort((self.code, where))
        where, code = where[order], self.code[order].astype(np.int64)
        first = np.flatnonzero(np.concatenate(([True], (np.diff(where) != 0) | (np.diff(code) != 0))))
        weight = self.weight[order]
        everybody = np.add.reduceat(weight * self.people[self.owner[order]], first)
        return Columns(where[first], code[first], everybody, np.maximum.reduceat(weight, first))

    def weight_of(self, codes: npt.NDArray[np.integer]) -> Ints:
        """The weight with which person i shows codes[i]; 0 when that cannot be."""
        width = int(max(self.code.max(), codes.max(initial=0))) + 1
        key = self.owner.astype(np.int64) * width + self.code
        order = np.argsort(key, kind="stable")
        wanted = self.row.astype(np.int64) * width + codes
        place = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        entry = order[place]
        return np.where(key[entry] == wanted, self.weight[entry], 0)

    def draw(self, rng: np.random.Generator) -> Codes:
        """What everybody shows, each drawn on its own."""
        dice, entry = rng.integers(0, TOTAL, len(self.row)), self.start[self.row]
        undecided = np.arange(len(self.row))
        while len(undecided):
            dice[undecided] -= self.weight[entry[undecided]]
            undecided = undecided[dice[undecided] >= 0]
            entry[undecided] += 1
        return self.code[entry]


@dataclass(frozen=True, eq=False)
class Cover:
    """Who covers for whom: people in groups, and what they show.

    tables   one for each quasi-identifier; empty where the people of a group exchange all of theirs at random instead
    redraw   how somebody is changed who came out unchanged (Algorithm 3); None where nobody is
    diverse  were ceilings on sensitive values to be kept in every column of every table?
    notes    what a steward should know
    """

    partition: Partition
    tables: tuple[RandomTable, ...]
    redraw: Redraw | None = None
    diverse: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.tables and int(self.partition.size.max()) > LARGEST_GROUP:
            raise Defect("a group is too large for its weights to be added up exactly")
        for table in self.tables:
            if len(table.row) != len(self.partition.group):
                raise Defect("a random output table is not one for these people")
            where = table.group_of_rows(self.partition.group)
            if not np.array_equal(where[table.row], self.partition.group):
                raise Defect("people of different groups share a row of a random output table")
        if self.redraw is not None and self.redraw.odds.shape != (self.partition.groups, len(self.tables)):
            raise Defect("the probabilities of drawing again do not fit the groups")

    @property
    def joint(self) -> bool:
        """Are all quasi-identifiers of a person exchanged together?"""
        return not self.tables
