"""How well a release answers aggregates: the SUM (and COUNT) queries of paper 003, section 5.3.

A query names some quasi-identifiers at random. A category must be one of so many random values, a number is compared
with a random one (> < = >= <= !=). It asks for the people who fit all of that: how many there are, and the sum of their
sensitive numbers.

The paper takes (upper - lower) / actual as the error of all methods, but masked records have no bounds. So two measures
are kept apart: |estimate - actual| / actual for every form, and the width of the bounds for those that have them.

generalized   the people of a box are spread as its tallies say, each column by itself, or evenly over what it shows.
              How many of them can be meant at least and at most is certain (Frechet), and so is what they can add up to
bucketized    the people meant are known, and have the mean value of their bucket; they cannot have less than its
              least values, nor more than its greatest
perturbed     the people meant are known; what they show is led back through the channel
masked        the records that match, as they are
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue
from oneoff.releases import Bucketized, Exact, Generalized, Masked, Perturbed, Published, Tallied, of_kind
from oneoff.releases.published import renamed
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints
from oneoff.utility.workload import MOST_CELLS

__all__ = [
    "ANSWERS",
    "AggregateErrors",
    "Aggregates",
    "Answers",
    "RelativeErrors",
    "aggregate_errors",
    "random_aggregates",
]

_COMPARISONS = (np.greater, np.less, np.equal, np.greater_equal, np.less_equal, np.not_equal)
_ROUNDING = 1e-15  # a sum with less than this part of all numbers is 0, but for rounding
_BLOCK = 2_000_000  # cells [query, box] at a time


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
    if attribute.kind != "numeric":
        return _some_of(attribute.size, rng.integers(1, attribute.size + 1, queries), rng)
    value, comparison = rng.integers(0, attribute.size, queries), rng.integers(0, len(_COMPARISONS), queries)
    allowed = np.empty((queries, attribute.size), dtype=np.bool_)
    for number, compare in enumerate(_COMPARISONS):
        with_it = comparison == number
        allowed[with_it] = compare(np.arange(attribute.size), value[with_it, None])  # codes ascend as the numbers do
    return allowed


class Answers(NamedTuple):
    """[query, 0]: how many people; [query, 1]: the sum of their numbers. Bounds where they are certain."""

    estimate: Floats
    low: Floats | None = None
    high: Floats | None = None


def aggregate_errors(release: Published, table: Table, queries: Aggregates) -> AggregateErrors:
    """How far the answers of a recipient are from the truth, and how far apart the bounds she can be sure of."""
    other = release.prior_is_exact and not np.array_equal(release.counts, table.counts)
    if other or release.rows != table.rows or len(release.quasi) != len(table.quasi):
        raise BadValue(
            "the release is not one of this table",
            allowed=f"the {release.rows:,} people and {len(release.quasi)} quasi-identifiers of the release",
            got=f"{table.rows:,} people and {len(table.quasi)} quasi-identifiers, or other sensitive values",
        )
    numbers = _numbers(table)
    columns = [np.ascontiguousarray(column, dtype=np.int64) for column in table.codes.T]
    truth = _from_records(columns, numbers[table.values], queries)
    answers = of_kind(ANSWERS, release, "no aggregates are answered from")(release, table, numbers, queries)
    count = _errors(0, truth, answers, 0.0)
    if count is None:
        raise BadValue("no query has an answer", allowed="queries that mean somebody", hint="ask more queries")
    least = _ROUNDING * float(np.abs(numbers) @ table.counts)
    return AggregateErrors(len(queries), count, _errors(1, truth, answers, least) if numbers.any() else None)


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


def _columns(release: Exact, table: Table) -> list[Ints]:
    """The quasi-identifiers of the records in the codes of the table, each on its own."""
    return [np.ascontiguousarray(column, dtype=np.int64) for column in release.codes_in(table).T]


def _matching(columns: list[Ints], queries: Aggregates) -> Iterator[Flags]:
    """For every query, the records that fit."""
    for q in range(len(queries)):
        fits = [allowed[columns[j]] for j, allowed in queries.predicates(q)]
        yield np.logical_and.reduce(fits)


def _from_records(columns: list[Ints], number: Floats, queries: Aggregates) -> Floats:
    """[query]: the records that match and the sum of their numbers."""
    return np.array([(np.count_nonzero(meant), number[meant].sum()) for meant in _matching(columns, queries)])


def _from_perturbed(release: Perturbed, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    """Sums led back through the channel, never beyond those of people who all have the least or the greatest value."""
    weight: Floats = np.linalg.solve(release.channel.matrix.T, numbers).astype(np.float64)
    found = _from_records(_columns(release, table), weight[release.values], queries)
    people = found[:, 0]
    return Answers(np.stack((people, np.clip(found[:, 1], people * numbers.min(), people * numbers.max())), axis=1))


def _from_buckets(release: Bucketized, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    shares = release.shares
    values = np.repeat(numbers[shares.value], shares.count)  # bucket by bucket, ascending in each
    last = np.cumsum(shares.size)
    first = last - shares.size
    below = np.concatenate(([0.0], np.cumsum(values)))
    mean = (below[last] - below[first]) / shares.size
    found = np.empty((3, len(queries), 2))
    for q, meant in enumerate(_matching(_columns(release, table), queries)):
        people = np.bincount(release.bucket[meant], minlength=release.buckets)
        least, greatest = below[first + people] - below[first], below[last] - below[last - people]
        found[:, q, 0] = people.sum()
        found[:, q, 1] = people @ mean, least.sum(), greatest.sum()
    return Answers(*found)


def _from_boxes(release: Generalized, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    """Of each box so many people are meant at least and at most, whoever they are."""
    sums = _Sums.of(release.box, numbers[release.values], release.boxes)
    shown, size = _shown(release, table), release.people_in_box
    found = np.empty((3, len(queries), 2))
    step = max(1, _BLOCK // release.boxes)
    for first in range(0, len(queries), step):
        block = slice(first, first + step)
        part, least, most = _people(shown, size, queries, first, min(first + step, len(queries)))
        found[0, block] = np.stack((part @ size, part @ sums.total), axis=1)
        found[1, block] = np.stack((least.sum(axis=1), sums.lowest(least, most).sum(axis=1)), axis=1)
        found[2, block] = np.stack((most.sum(axis=1), sums.highest(least, most).sum(axis=1)), axis=1)
    return Answers(*found)


class _Sums(NamedTuple):
    """The numbers of every box, ascending: below[first[b] + m] - below[first[b]] is the sum of the least m of box b.

    under, over   how many of them are below 0, and how many are above
    """

    below: Floats
    first: Ints
    last: Ints
    under: Ints
    over: Ints

    @staticmethod
    def of(box: Codes, number: Floats, boxes: int) -> _Sums:
        size = np.bincount(box, minlength=boxes)
        below = np.concatenate(([0.0], np.cumsum(number[np.lexsort((number, box))])))
        under, over = (np.bincount(box[some], minlength=boxes) for some in (number < 0, number > 0))
        last = np.cumsum(size)
        return _Sums(below, last - size, last, under, over)

    @property
    def total(self) -> Floats:
        return self.below[self.last] - self.below[self.first]

    def lowest(self, least: Ints, most: Ints) -> Floats:
        """What so many people of each box add up to at least: the sum falls as long as numbers are below 0."""
        return self.below[self.first + np.clip(self.under, least, most)] - self.below[self.first]

    def highest(self, least: Ints, most: Ints) -> Floats:
        return self.below[self.last] - self.below[self.last - np.clip(self.over, least, most)]


class _Shown(NamedTuple):
    """weight[box, c] of many[box] is what the box says of code c of the table: people, or 1 for all that it shows."""

    weight: npt.NDArray[np.float32]
    many: Floats
    counted: bool


def _shown(release: Generalized, table: Table) -> list[_Shown]:
    """What the boxes show of every quasi-identifier."""
    cells = release.boxes * sum(attribute.size for attribute in table.quasi)
    if cells > 4 * MOST_CELLS:
        raise BadValue(
            "the release has too many boxes for aggregates",
            allowed=f"{4 * MOST_CELLS:,} boxes times values",
            got=f"{cells:,}",
        )
    return [_shown_of(release, j, known) for j, known in enumerate(table.quasi)]


def _shown_of(release: Generalized, j: int, known: Attribute) -> _Shown:
    attribute, cells = release.shown[j]
    if release.tallies is not None:
        people = release.tallies.matrix(j, renamed(attribute, known), known.size)
        return _Shown(people, release.people_in_box.astype(np.float64), True)
    codes = (np.diff(cells.share_below(attribute, known), axis=1) > 0).astype(np.float32)
    return _Shown(codes, cells.values_shown(attribute, known).astype(np.float64), False)


def _people(shown: list[_Shown], size: Ints, queries: Aggregates, first: int, last: int) -> tuple[Floats, Ints, Ints]:
    """[query, box]: the part of the box that fits the query, and how many of its people do at least and at most."""
    part = np.ones((last - first, len(size)))
    lacking, most = np.zeros(part.shape, dtype=np.int64), np.tile(size, (last - first, 1))
    for j, each in enumerate(shown):
        rows, allowed = queries.block(j, first, last)
        fits = allowed.astype(np.float32) @ each.weight.T  # whole numbers, exact up to 2^24 of them
        part[rows] *= fits / each.many
        least = fits if each.counted else np.where(fits < each.many, 0, size)
        lacking[rows] += size - least.astype(np.int64)
        most[rows] = np.minimum(most[rows], fits if each.counted else np.where(fits > 0, size, 0)).astype(np.int64)
    return part, np.maximum(size - lacking, 0), most


def _from_masked(release: Masked, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    return Answers(_from_records(_columns(release, table), numbers[release.values], queries))


def _from_tallied(release: Tallied, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    """Cell by cell: the part of its people that fits, each with the average number of its field."""
    tallies = release.tallies
    shown = [
        tallies.matrix(j, renamed(a, table.attribute(a.name)), table.attribute(a.name).size) / tallies.size[:, None]
        for j, a in enumerate(release.quasi)
    ]
    mean = ((release.estimates @ numbers) / release.people)[release.field]
    found = np.empty((len(queries), 2))
    for q in range(len(queries)):
        meant = tallies.size * np.prod([shown[j] @ allowed for j, allowed in queries.predicates(q)], axis=0)
        found[q] = meant.sum(), meant @ mean
    return Answers(found)


ANSWERS: dict[str, Callable[[Any, Table, Floats, Aggregates], Answers]] = {
    "generalized": _from_boxes,
    "bucketized": _from_buckets,
    "perturbed": _from_perturbed,
    "masked": _from_masked,
    "tallied": _from_tallied,
}
