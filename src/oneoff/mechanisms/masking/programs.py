"""A random output table as a linear program: between which rows and columns there may be a probability.

In large tables not every pair of row and column is tried. Of numbers, person i may show v_j only when at most 1/delta
people lie strictly between v_i and v_j (the band); of categories the neighbours in the same sense, and the most common
one may give to and take from all. No proof is known that the band loses nothing; `large_tables` checks it each time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oneoff.mechanisms.masking.shapes import ColumnLimits, TableProblem
from oneoff.table.arrays import Floats, Ints, offsets
from oneoff.table.distance import Metric, distance

__all__ = ["Program", "too_many_pairs"]

_FULL = 4_000  # pairs of a table that is solved with all of them
_FULL_WITH_CEILINGS = 12_000  # of one with ceilings that is solved with all of them
_MOST_PAIRS = 60_000  # of a table that is solved in one piece
_WITH_CEILINGS = 40_000  # the same, where there are ceilings, which make it much harder


class Program(NamedTuple):
    """One table: the pairs of row and column that may have a probability, and their distance.

    code, people, kind   of every row, `kind` being its sensitive value; columns: the code of every column
    """

    row: Ints
    column: Ints
    distance: Floats
    code: Ints
    people: Ints
    kind: Ints
    columns: Ints

    @staticmethod
    def of(rows: Ints, columns: Ints, problem: TableProblem) -> Program:
        """With all pairs, or those of the band where these are too many."""
        code, people, kind = rows.T
        if len(code) * len(columns) <= (_FULL if problem.limits.ceilings is None else _FULL_WITH_CEILINGS):
            row, column = _all_pairs(len(code), len(columns))
        else:
            row, column = _band(code, people, columns, problem.metric, _reach(problem.limits))
        return Program(row, column, distance(problem.metric, code[row], columns[column]), code, people, kind, columns)

    @property
    def full(self) -> bool:
        return len(self.row) == len(self.people) * len(self.columns)

    @property
    def everybody(self) -> int:
        return int(self.people.sum())

    def with_pairs(self, metric: Metric, row: Ints, column: Ints) -> Program:
        """The same table with other pairs."""
        away = distance(metric, self.code[row], self.columns[column])
        return self._replace(row=row, column=column, distance=away)

    def with_more_pairs(self, metric: Metric, row: Ints, column: Ints) -> Program:
        many = len(self.columns)
        pairs = np.unique(np.concatenate([self.row * many + self.column, row * many + column]))
        return self.with_pairs(metric, *np.divmod(pairs, many))

    def with_all_pairs(self, metric: Metric) -> Program:
        return self.with_pairs(metric, *_all_pairs(len(self.people), len(self.columns)))

    def with_one_column(self, metric: Metric) -> Program:
        """Everybody shows the same: the column nearest to all."""
        cost = [float(self.people @ distance(metric, self.code, np.full_like(self.code, c))) for c in self.columns]
        everybody = np.arange(len(self.people))
        return self.with_pairs(metric, everybody, np.full(len(everybody), int(np.argmin(cost))))


def too_many_pairs(rows: Ints, columns: Ints, problem: TableProblem) -> bool:
    """Would a table with these rows and columns take too long to solve as a whole?"""
    pairs = len(rows) * len(columns)
    if problem.limits.ceilings is not None:
        return pairs > _WITH_CEILINGS
    if pairs > _MOST_PAIRS:
        pairs = len(_band(rows[:, 0], rows[:, 1], columns, problem.metric, _reach(problem.limits))[0])
    return pairs > _MOST_PAIRS


def _all_pairs(rows: int, columns: int) -> tuple[Ints, Ints]:
    row, column = (each.ravel() for each in np.indices((rows, columns)))
    return row, column


def _reach(limits: ColumnLimits) -> float:
    """So many people may lie between a person and what they show."""
    tightest = min([limits.delta, *(limits.ceilings or ())])
    return 1 / float(max(tightest, limits.delta / 16))


def _band(code: Ints, people: Ints, columns: Ints, metric: Metric, reach: float) -> tuple[Ints, Ints]:
    """Pairs of row and column between whose values so many people lie at most."""
    order = np.argsort(columns)
    own = np.searchsorted(columns[order], code)  # the place of each row's own value among the ordered columns
    shown = np.bincount(own, people, minlength=len(columns))
    before = np.concatenate(([0.0], np.cumsum(shown)))
    low = np.searchsorted(before[1:], before[own] - reach)
    high = np.minimum(np.searchsorted(before[:-1], before[own + 1] + reach, side="right"), len(columns))
    start = offsets(high - low)
    row = np.repeat(np.arange(len(code)), high - low)
    pairs = [row * len(columns) + order[np.arange(len(row)) - (start[:-1] - low)[row]]]
    if not len(metric.position):
        common = int(np.argmax(shown))  # gives to all, and takes from all
        giver = np.flatnonzero(own == common)
        pairs.append(np.arange(len(code)) * len(columns) + order[common])
        pairs.append((giver[:, None] * len(columns) + np.arange(len(columns))).ravel())
    found, other = np.divmod(np.unique(np.concatenate(pairs)), len(columns))
    return found, other
