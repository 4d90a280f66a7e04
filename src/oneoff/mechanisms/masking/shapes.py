"""Tables that are to be made, what limits them, and what was found: the nouns that all solvers of this house share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from oneoff.models.numbers import fraction_below
from oneoff.plans.cover import TOTAL
from oneoff.table.arrays import Flags, Floats, Ints, Ragged
from oneoff.table.distance import Metric

__all__ = ["UNKNOWN", "Answer", "ColumnLimits", "Shapes", "Sparse", "TableProblem", "joined"]

UNKNOWN = 1.0  # a gap of which nothing is known

_LARGEST = 10**9  # denominators of limits; those beyond are rounded down
_MOST_ROWS = 96  # of a table that is solved by column generation
_WITH_CEILINGS = 200  # the same, where there are ceilings: these slow HiGHS down more


class ColumnLimits(NamedTuple):
    """delta, a ceiling for each sensitive value (None where these do not matter), and the sum of a person's weights."""

    delta: Fraction
    ceilings: tuple[Fraction, ...] | None = None
    total: int = TOTAL

    def as_array(self) -> Ints:
        """Numerators and denominators, rounded down to what 64 bits hold; delta first."""
        bounds = (self.delta, *(self.ceilings or (Fraction(1),)))
        parts = [fraction_below(min(bound, Fraction(1)), _LARGEST) for bound in bounds]
        return np.array([(part.numerator, part.denominator) for part in parts], dtype=np.int64)

    def as_floats(self) -> Floats:
        """The same as floats, for the solver."""
        return np.asarray(self.as_array() @ [1.0, 0.0] / (self.as_array() @ [0.0, 1.0]))

    def of_parts(self, parts: int) -> ColumnLimits:
        """The same for people who are counted in so many parts."""
        return ColumnLimits(self.delta / parts, self.ceilings, self.total // parts)

    def leaves_no_choice(self, people: int) -> bool:
        """Are there so few that all must show the same?"""
        return self.delta * people <= 1


@dataclass(frozen=True, eq=False)
class TableProblem:
    """What is asked of every table of a quasi-identifier.

    average   a table is the mean of so many that all have the least cost
    solver    "columns" (small tables by column generation, the others by HiGHS) or "highs" for all
    """

    metric: Metric
    limits: ColumnLimits
    average: int = 4
    solver: str = "columns"

    @property
    def most_rows(self) -> int:
        """Of a table that is solved by column generation."""
        if self.solver != "columns":
            return 0
        return _MOST_ROWS if self.limits.ceilings is None else _WITH_CEILINGS

    def of_parts(self, parts: int) -> TableProblem:
        """The same for people who are counted in so many parts."""
        return replace(self, limits=self.limits.of_parts(parts))


@dataclass(frozen=True, eq=False)
class Shapes:
    """The tables of some groups: rows of (code, people, sensitive value) and columns, each a code, of each of them."""

    rows: Ragged
    columns: Ragged

    @property
    def tables(self) -> int:
        return len(self.rows)

    @property
    def entries(self) -> Ints:
        """How many each table has when it is full."""
        return self.rows.lengths * self.columns.lengths

    def one(self, t: int) -> tuple[Ints, Ints]:
        """Rows and columns of a table."""
        return self.rows[t], self.columns[t]

    def take(self, groups: Ints) -> Shapes:
        """Those of some groups."""
        return Shapes(self.rows.take(groups), self.columns.take(groups))


class Sparse(NamedTuple):
    """Entries of tables, by table, row and column; row and column are counted inside the table.

    weight   of all people of the row together
    """

    table: Ints
    row: Ints
    column: Ints
    weight: Ints


class Answer(NamedTuple):
    """Tables of some shapes.

    cost     of each: the sum of the distances people are to be moved
    reserve  of each: what part of the weights went to one column for all, so that limits hold exactly
    gap      how far the cost of any of them is from the least at most, as a share of it
    """

    entries: Sparse
    cost: Floats
    reserve: Floats
    gap: float = 0.0

    def only(self, chosen: Flags) -> Answer:
        """For some of the shapes."""
        entries = Sparse(*(column[chosen[self.entries.table]] for column in self.entries))
        table = (np.cumsum(chosen) - 1)[entries.table]
        return Answer(entries._replace(table=table), self.cost[chosen], self.reserve[chosen], self.gap)


def joined(answers: Iterable[tuple[Ints, Answer]]) -> Answer:
    """One answer from several, each with the places of its shapes among all."""
    places, parts = zip(*answers, strict=True)
    order = np.argsort(np.concatenate(places))
    entries = [
        part.entries._replace(table=place[part.entries.table]) for place, part in zip(places, parts, strict=True)
    ]
    return Answer(
        Sparse(*(np.concatenate(column) for column in zip(*entries, strict=True))),
        np.concatenate([part.cost for part in parts])[order],
        np.concatenate([part.reserve for part in parts])[order],
        max(part.gap for part in parts),
    )
