"""How strongly counts of fields speak for an effect of each column, and how far neighbouring fields may be believed.

Fields are numbered along the tree that cut them, so neighbours are alike, also in what no column explains. Runs of
fields are therefore halved again and again, and what is fitted is what sets the two halves of each run apart, for each
of their people. Halves of short runs differ by noise and chance; those of long runs differ by much else, which must not
be taken for an effect of columns. How much halves differ that columns do not explain is a variance for each length of
runs, how strong the effects of a column are is a variance for each column: all of them those that make the counts
likeliest, by the fixed point of MacKay (*Bayesian interpolation*, Neural Computation 4, 1992). A column that has
nothing to do with values gets no effects, whatever another has to do with them.

All that enters are sums over runs. Those of the parts of a release add up, and parts are halved like fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from oneoff.table.arrays import Floats, Ints, offsets

__all__ = ["Moments", "Solution", "moments_of", "pulls", "solved"]

_LEAST_FIELDS = 20  # fewer cannot tell what goes with columns from what goes with fields
_LENGTHS = 8  # runs of 2, 3-4, 5-8, ... fields; the longest are taken together
_ROUNDS = 40  # always as many, so that machines that round differently agree
_START = 1e-4  # strength of effects, in units of what halves of the shortest runs differ by
_FREE = 1.0  # strength of what is not held back: as if a column said everything


@dataclass(frozen=True, eq=False)
class Run:
    """Fields beside each other, and sums over them.

    number   runs are beside each other that follow each other
    """

    number: int
    fields: int
    features: Floats
    counts: Floats
    people: float


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over contrasts, which are differences of the halves of runs scaled to the variance of one person.

    features  [length, feature, feature]: products of contrasts of features
    counts    [length, feature, value]: of these and of counts
    squares   [length, value]: of counts
    number    [length]: how many contrasts there are
    single    the sum of what one person is of each field
    runs      between which there are no contrasts yet
    """

    features: Floats
    counts: Floats
    squares: Floats
    number: Ints
    single: float
    runs: tuple[Run, ...]

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.features + other.features,
            self.counts + other.counts,
            self.squares + other.squares,
            self.number + other.number,
            self.single + other.single,
            (*self.runs, *other.runs),
        )

    @property
    def fields(self) -> int:
        return sum(run.fields for run in self.runs)

    @property
    def people(self) -> float:
        return sum(run.people for run in self.runs)

    @property
    def total(self) -> Floats:
        """[value]: how many people have it."""
        found: Floats = np.sum([run.counts for run in self.runs], axis=0)
        return found

    def between(self) -> Moments:
        """With the contrasts between runs, as one run."""
        runs = sorted(self.runs, key=lambda run: run.number)
        features, counts = np.stack([run.features for run in runs]), np.stack([run.counts for run in runs])
        people, fields = np.array([run.people for run in runs]), np.array([run.fields for run in runs])
        return replace(
            self + _compared(features, counts, people, fields), runs=(_run(0, features, counts, people, fields),)
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """What the counts of fields say of effects.

    coefficient  [feature, value]
    curb         [feature, feature]: what is left unknown of the coefficients of a value, in units of its variance
    unlike       [length]: how much more halves of runs differ, beyond effects, than people of one kind would
    """

    coefficient: Floats
    curb: Floats
    unlike: Floats


def moments_of(design: Floats, counts: Floats, people: Floats, number: int = 0) -> Moments:
    """Of fields with these sums of features [field, feature] and these counts [field, value].

    number   where these fields are some of all
    """
    fields = np.ones(len(people), dtype=np.int64)
    found, run = _compared(design, counts, people, fields), _run(number, design, counts, people, fields)
    return replace(found, single=float((1 / people).sum()), runs=(run,))


def _run(number: int, features: Floats, counts: Floats, people: Floats, fields: Ints) -> Run:
    return Run(number, int(fields.sum()), features.sum(axis=0), counts.sum(axis=0), float(people.sum()))


def _compared(design: Floats, counts: Floats, people: Floats, fields: Ints) -> Moments:
    """All contrasts of rows that stand for so many fields each."""
    features, values = design.shape[1], counts.shape[1]
    found = Moments(
        np.zeros((_LENGTHS, features, features)), np.zeros((_LENGTHS, features, values)),
        np.zeros((_LENGTHS, values)), np.zeros(_LENGTHS, dtype=np.int64), 0.0, (),
    )  # fmt: skip
    sums = [np.concatenate([np.zeros((1, each.shape[1])), np.cumsum(each, axis=0)]) for each in (design, counts)]
    before, known = np.concatenate([[0.0], np.cumsum(people)]), offsets(fields)
    for runs in _halved(len(people)):
        marks, differ = (_contrasts(each, before, runs) for each in sums)
        length = _length(known[runs[2]] - known[runs[0]])
        for each in np.unique(length).tolist():
            x, y = marks[length == each], differ[length == each]
            found.features[each] += x.T @ x
            found.counts[each] += x.T @ y
            found.squares[each] += (y**2).sum(axis=0)
            found.number[each] += len(x)
    return found


def _halved(fields: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Beginnings, middles and ends of runs: all fields, then halves, then halves of these, and so on."""
    begin, end = np.array([0]), np.array([fields])
    while len(begin := begin[(several := end - begin > 1)]):
        end = end[several]
        middle = (begin + end) // 2
        yield begin, middle, end
        begin, end = np.stack([begin, middle], axis=1).ravel(), np.stack([middle, end], axis=1).ravel()


def _length(fields: Ints) -> Ints:
    """Of runs of so many fields: 0 for two, 1 for up to 4, and so on."""
    found: Ints = np.minimum(np.frexp(fields - 1)[1].astype(np.int64) - 1, _LENGTHS - 1)  # exact on every machine
    return found


def _scale(before: Floats, runs: tuple[Ints, Ints, Ints]) -> tuple[Floats, Floats]:
    """What one person of the first and of the second half of each run adds to its contrast."""
    begin, middle, end = runs
    first, second = before[middle] - before[begin], before[end] - before[middle]
    scale = np.sqrt(first * second / (first + second))
    return scale / first, scale / second


def _contrasts(sums: Floats, before: Floats, runs: tuple[Ints, Ints, Ints]) -> Floats:
    """[run, column]: the first half less the second, for each of their people."""
    begin, middle, end = runs
    first, second = _scale(before, runs)
    found: Floats = first[:, None] * (sums[middle] - sums[begin]) - second[:, None] * (sums[end] - sums[middle])
    return found


def pulls(design: Floats, people: Floats, unlike: Floats) -> Floats:
    """[field, feature]: how much one person more in a count of the field speaks for a feature."""
    sums = np.concatenate([np.zeros((1, design.shape[1])), np.cumsum(design, axis=0)])
    before = np.concatenate([[0.0], np.cumsum(people)])
    steps = np.zeros_like(sums)  # from field to field
    for runs in _halved(len(people)):
        first, second = _scale(before, runs)
        each = _contrasts(sums, before, runs) / unlike[_length(runs[2] - runs[0])][:, None]
        begin, middle, end = runs
        steps[begin] += first[:, None] * each
        steps[middle] -= (first + second)[:, None] * each
        steps[end] += second[:, None] * each
    return np.cumsum(steps, axis=0)[:-1]


def solved(moments: Moments, column: Ints, spread: Floats) -> Solution:
    """The likeliest strengths, and coefficients as they say.

    column   of each feature; -1 is held back by nothing
    spread   of each value: the variance that chance and noise give a count, for each person
    """
    moments, values, columns = moments.between(), len(spread), int(column.max(initial=-1)) + 1
    if moments.fields < _LEAST_FIELDS:
        return Solution(np.zeros((len(column), values)), np.zeros((len(column),) * 2), np.ones(_LENGTHS))
    seen = _Seen(moments, np.sqrt(spread))
    unlike = seen.unlike(np.zeros((len(column), values)), np.zeros((len(column),) * 2))
    strength = np.append(np.full(columns, _START * unlike[0]), _FREE)
    for _ in range(_ROUNDS):
        coefficient, curb, told = seen.likeliest(unlike, strength[column])
        kept = np.bincount(column[column >= 0], told[column >= 0], columns)
        size = np.bincount(column[column >= 0], (coefficient**2).sum(axis=1)[column >= 0], columns)
        strength[:-1] = size / (values * np.maximum(kept, 1e-9))
        unlike = seen.unlike(coefficient, curb)
    coefficient, curb, _ = seen.likeliest(unlike, strength[column])
    return Solution(coefficient * seen.unit, curb, unlike)


class _Seen:
    """Moments with every value in units of its own."""

    def __init__(self, moments: Moments, unit: Floats) -> None:
        self.unit, self.features, self.number = unit, moments.features, moments.number
        self.counts = moments.counts / unit
        self.squares = (moments.squares / unit**2).sum(axis=1)

    def likeliest(self, unlike: Floats, strength: Floats) -> tuple[Floats, Floats, Floats]:
        """Coefficients, what is unknown of them, and how much of each feature the counts decide."""
        known = np.tensordot(1 / unlike, self.features, 1)
        size = np.sqrt(strength)
        left = np.linalg.inv(np.eye(len(size)) + size[:, None] * known * size)
        curb = size[:, None] * left * size
        coefficient = curb @ np.tensordot(1 / unlike, self.counts, 1)
        return coefficient, curb, 1 - np.diag(left)

    def unlike(self, coefficient: Floats, curb: Floats) -> Floats:
        """What is left of contrasts, with what is unknown of coefficients, for each of them and each value."""
        together = coefficient @ coefficient.T + len(self.unit) * curb
        left = self.squares - 2 * (self.counts * coefficient).sum(axis=(1, 2))
        left += (self.features * together).sum(axis=(1, 2))
        found = left / np.maximum(self.number * len(self.unit), 1)
        return np.where(self.number > 0, np.maximum(found, 1e-12), 1.0)
