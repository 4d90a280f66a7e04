"""How well a release answers aggregates: the SUM (and COUNT) queries of paper 003, section 5.3.

A query names some quasi-identifiers at random. A category must be one of so many random values, a number is compared
with a random one (> < = >= <= !=). It asks for the people who fit all of that: how many there are, and the sum of their
sensitive numbers.

The paper takes (upper - lower) / actual as the error of all methods, but masked records have no bounds. So two measures
are kept apart: |estimate - actual| / actual for every form, and the width of the bounds for those that have them.
What a recipient answers from each kind of release is `answer` in the module of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from oneoff.errors import BadValue
from oneoff.releases import Exact, Published, of_kind
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints, Ragged
from oneoff.table.classes import look_alikes

__all__ = [
    "AggregateErrors",
    "Aggregates",
    "Answers",
    "RelativeErrors",
    "aggregate_errors",
    "columns_of",
    "matching",
    "random_aggregates",
    "sums",
]

_COMPARISONS = (np.greater, np.less, np.equal, np.greater_equal, np.less_equal, np.not_equal)
_ROUNDING = 1e-15  # a sum with less than this part of all numbers is 0, but for rounding


@dataclass(frozen=True, eq=False)
class Aggregates:
    """Query q has a predicate on quasi-identifier j if named[q, j]; allowed[j] has a row of codes for each of these."""

    named: Flags
    allowed: tuple[Flags, ...]

    def __len__(self) -> int:
        return len(self.named)

    def predicates(self, q: int) -> list[tuple[int, Flags]]:
        """The quasi-identifiers query q names, and which of their codes it allows."""
        return [(j, self.allowed[j][self._before[q, j]]) for j in np.flatnonzero(self.named[q]).tolist()]

    def block(self, j: int, first: int, last: int) -> tuple[Ints, Flags]:
        """Which of the queries from `first` up to `last` name quasi-identifier j, and the codes they allow."""
        before = self._before[:, j]
        return np.flatnonzero(self.named[first:last, j]), self.allowed[j][before[first] : before[last]]

    @cached_property
    def _before(self) -> Ints:
        """[q, j]: how many queries before q name quasi-identifier j."""
        return np.concatenate((np.zeros((1, self.named.shape[1]), dtype=np.int64), np.cumsum(self.named, axis=0)))


@dataclass(frozen=True)
class RelativeErrors:
    """Over the queries whose true answer is above 0, relative to that answer.

    queries                    how many there are
    mean, median               of the distance between estimate and truth
    mean_width, median_width   of the distance between the bounds; None for releases that give no certain ones
    """

    queries: int
    mean: float
    median: float
    mean_width: float | None = None
    median_width: float | None = None

    def phrase(self) -> str:
        text = f"{self.median:.2%} in the median and {self.mean:.2%} in the mean"
        if self.median_width is None or self.mean_width is None:
            return text
        return f"{text} (bounds {self.median_width:.2%} and {self.mean_width:.2%} apart)"


@dataclass(frozen=True)
class AggregateErrors:
    """asked: all queries, with an answer or without. sum: None where there are no numbers to add up to more than 0."""

    asked: int
    count: RelativeErrors
    sum: RelativeErrors | None

    def sentence(self) -> str:
        counts = (
            f"The relative error of {self.count.queries:,} of {self.asked:,} COUNT queries is {self.count.phrase()}"
        )
        if self.sum is None:
            return f"{counts}."
        return f"{counts}; of {self.sum.queries:,} SUM queries it is {self.sum.phrase()}."

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def random_aggregates(
    table: Table, number: int = 1000, *, attributes: int = 4, rng: np.random.Generator | None = None
) -> Aggregates:
    """Queries on so many quasi-identifiers each, or on all of them where there are fewer; fresh ones without `rng`."""
    rng = np.random.default_rng() if rng is None else rng
    if number < 1 or attributes < 1:
        got = f"{number} queries on {attributes} attributes"
        raise BadValue("there is nothing to ask", allowed="at least one query on at least one attribute", got=got)
    columns = len(table.quasi)
    named = _some_of(columns, np.full(number, min(attributes, columns)), rng)
    asked = zip(table.quasi, named.sum(axis=0).tolist(), strict=True)
    return Aggregates(named, tuple(_predicates(attribute, queries, rng) for attribute, queries in asked))


def _some_of(size: int, chosen: Ints, rng: np.random.Generator) -> Flags:
    """A row for each entry of `chosen`, with that many random places of `size` marked."""
    return rng.permuted(np.arange(size) < chosen[:, None], axis=1)


def _predicates(attribute: Attribute, queries: int, rng: np.random.Generator) -> Flags:
    """[predicate, code]: the codes that so many random predicates allow."""
    if not attribute.has_order:
        return _some_of(attribute.size, rng.integers(1, attribute.size + 1, queries), rng)
    value, comparison = rng.integers(0, attribute.size, queries), rng.integers(0, len(_COMPARISONS), queries)
    allowed = np.empty((queries, attribute.size), dtype=np.bool_)
    for number, compare in enumerate(_COMPARISONS):
        with_it = comparison == number
        allowed[with_it] = compare(np.arange(attribute.size), value[with_it, None])  # codes ascend as the values do
    return allowed


class Answers(NamedTuple):
    """[query, 0]: how many people; [query, 1]: the sum of their numbers. Bounds where they are certain."""

    estimate: Floats
    low: Floats | None = None
    high: Floats | None = None


def aggregate_errors(
    release: Published, table: Table, queries: Aggregates, *, weighted: bool = False
) -> AggregateErrors:
    """How far the answers of a recipient are from the truth, and how far apart the bounds she can be sure of.

    table      the one the release was made from: queries are about those of its people who were to be published,
               outliers that were left out among them
    weighted   everybody counts for their weight, and for what the mean weight of their group or cell is
    """
    original, everybody, table = table, release.with_outliers(table), release.people_in(table)
    other = release.prior_is_exact and not np.array_equal(release.counts, table.counts)
    if other or release.rows != table.rows or len(release.quasi) != len(table.quasi):
        raise BadValue(
            "the release is not one of this table",
            allowed=f"the {release.rows:,} people and {len(release.quasi)} quasi-identifiers of the release",
            got=f"{table.rows:,} people and {len(table.quasi)} quasi-identifiers, or other sensitive values",
        )
    if weighted and (release.weights is None or table.weight is None):
        raise BadValue(
            "there are no weights to count with",
            allowed="a table that was read with weights, and a release that has means of them",
            got="no weights in the " + ("table" if table.weight is None else "release"),
        )
    number = _numbers(original)
    truth = _truth(everybody, number[_places(everybody, original)], _known_to(everybody, original, queries), weighted)
    numbers, queries = number[_places(table, original)], _known_to(table, original, queries)
    answer: Callable[..., Answers]
    answer = of_kind("oneoff.utility", "answer", release, "no aggregates are answered from")
    means = {"each": release.weights.mean} if weighted and release.weights is not None else {}
    answers = answer(release, table, numbers, queries, **means)
    count = _errors(0, truth, answers, 0.0)
    if count is None:
        raise BadValue("no query has an answer", allowed="queries that mean somebody", hint="ask more queries")
    least = _ROUNDING * float(np.abs(numbers) @ table.counts)
    return AggregateErrors(len(queries), count, _errors(1, truth, answers, least) if numbers.any() else None)


def _truth(table: Table, numbers: Floats, queries: Aggregates, weighted: bool) -> Floats:
    columns = [np.ascontiguousarray(column, dtype=np.int64) for column in table.codes.T]
    each = table.weight.each if weighted and table.weight is not None else None
    return sums(columns, numbers[table.values], queries, each)


def _places(some: Table, original: Table) -> Codes | slice:
    """The sensitive values of some people among those of all."""
    if some is original or some.sensitive is None or original.sensitive is None:
        return slice(None)
    return some.sensitive.codes_in(original.sensitive)


def _known_to(some: Table, original: Table, queries: Aggregates) -> Aggregates:
    """The same queries over the quasi-identifiers that some people have."""
    if some is original:
        return queries
    columns = zip(queries.allowed, some.quasi, original.quasi, strict=True)
    return Aggregates(queries.named, tuple(allowed[:, own.codes_in(known)] for allowed, own, known in columns))


def _numbers(table: Table) -> Floats:
    """What each sensitive value adds to a sum: nothing where values are not numbers; dates have no sum either.

    Divided by a power of two, which changes no digit and no relative error: the greatest floats could not be added up.
    """
    sensitive = table.sensitive
    if sensitive is None or sensitive.kind != "numeric" or sensitive.labels.dtype.kind in "Mm":
        return np.zeros(len(table.counts))
    numbers = sensitive.labels.astype(np.float64)
    scaled: Floats = np.ldexp(numbers, -np.frexp(np.abs(numbers).max())[1])
    return scaled


def _errors(which: int, truth: Floats, answers: Answers, least: float) -> RelativeErrors | None:
    actual = truth[:, which]
    asked = actual > least
    actual = actual[asked]
    if not len(actual):
        return None
    error = np.abs(answers.estimate[asked, which] - actual) / actual
    found = len(actual), float(error.mean()), float(np.median(error))
    if answers.low is None or answers.high is None:
        return RelativeErrors(*found)
    width = (answers.high[asked, which] - answers.low[asked, which]) / actual
    return RelativeErrors(*found, float(width.mean()), float(np.median(width)))


def columns_of(release: Exact, table: Table) -> list[Ints]:
    """The quasi-identifiers of the records in the codes of the table, each on its own."""
    return [np.ascontiguousarray(column, dtype=np.int64) for column in release.codes_in(table).T]


def matching(columns: list[Ints], queries: Aggregates) -> Iterator[Flags]:
    """For every query, the records that fit."""
    for q in range(len(queries)):
        fits = [allowed[columns[j]] for j, allowed in queries.predicates(q)]
        yield np.logical_and.reduce(fits)


def sums(columns: list[Ints], number: Floats, queries: Aggregates, each: Floats | None = None) -> Floats:
    """[query]: the records that match and the sum of their numbers; each counts for as much as it weighs.

    Queries that name the same columns are asked together: who looks the same in these is added up first.
    """
    one = np.ones(len(number)) if each is None else each
    found = np.empty((len(queries), 2))
    named, which = np.unique(queries.named, axis=0, return_inverse=True)
    alike = Ragged.of_owners(which.reshape(-1), len(named))
    for i, asked in enumerate(named):
        at = np.flatnonzero(asked).tolist()
        classes = look_alikes([columns[j] for j in at])
        record = np.empty(int(classes.max()) + 1, dtype=np.int64)
        record[classes] = np.arange(len(number))
        added = np.stack([np.bincount(classes, weights=one), np.bincount(classes, weights=one * number)])
        codes = {j: columns[j][record] for j in at}
        for q in alike[i].tolist():
            fits = np.logical_and.reduce([allowed[codes[j]] for j, allowed in queries.predicates(q)])
            found[q] = added @ fits
    return found
