"""What a recipient's typical count is off by: the standard workload, the same for every release of a table.

1,000 queries, 250 of each kind: on 2 or 3 quasi-identifiers (on all of them where there are fewer), with a selectivity
of .1 or .02. A query names its quasi-identifiers at random and, for each of them and for the sensitive value, an
interval of values in the order of the codes, anywhere with the same probability. For a selectivity s and d columns, the
sensitive one among them, an interval has the part s^(1 / d) of its domain, rounded, but at least one value. Without a
sensitive column, queries are about quasi-identifiers alone. They depend on the sizes of the domains and on a public
seed and on nothing else, so that figures of methods and of runs can be compared.

The error of a query is |estimate - truth| / truth, where the truth is counted in the table; queries that mean nobody
are left out. One end is the table itself, which would give 0. The other is somebody whom the release told nothing: who
knows everybody's quasi-identifiers and, of values, only how often each occurs in the whole table; without a sensitive
column, only how often each value of each column does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from oneoff.errors import BadValue
from oneoff.releases import Published, has_entry, of_kind
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Floats, Ints, offsets
from oneoff.utility.counting import people_meant
from oneoff.utility.workload import Workload, estimated_counts

__all__ = [
    "CountErrors",
    "SizeErrors",
    "answers_of_part",
    "count_errors",
    "errors_of_parts",
    "overall_counts",
    "power_of_ten",
    "standard_queries",
    "stated",
]

_ASKED, _COLUMNS, _SELECTIVITIES = 1000, (2, 3), (0.1, 0.02)
_SEED = 1  # public, and for good: as long as it stays, figures can be compared
_DIGITS = 6  # of an error; what is smaller is rounding
_PERCENTILES = np.linspace(0, 1, 101)
_ENOUGH = 10  # queries of a size, for a median of theirs
_USUAL = 1000  # people, of whom most recipients ask


@dataclass(frozen=True)
class SizeErrors:
    """Relative errors of those queries that mean about so many people: a power of ten, which theirs is nearest to.

    median, most     of the release: half of the queries, and nine of ten, are off by no more
    overall_median   of somebody who knows the overall distribution only
    """

    people: int
    queries: int
    median: float
    most: float
    overall_median: float

    def sentence(self) -> str:
        return f"Counts of about {self.people:,} people are off by {self.median:.1%} in the median."


@dataclass(frozen=True)
class CountErrors:
    """Relative errors of the standard workload, over the queries that mean somebody.

    queries        how many of the 1,000 do
    median, mean   of the release
    overall_median, overall_mean   of somebody who knows the overall distribution only
    spread, overall_spread         the same errors at every percentile, from the least to the greatest
    about_values   do queries ask for a sensitive value, too?
    by_size        the same by how many people a query means, for sizes that enough queries have
    """

    queries: int
    median: float
    mean: float
    overall_median: float
    overall_mean: float
    spread: tuple[float, ...] = ()
    overall_spread: tuple[float, ...] = ()
    about_values: bool = True
    by_size: tuple[SizeErrors, ...] = ()

    @property
    def usual(self) -> SizeErrors | None:
        """Of counts of about 1,000 people, or of the size nearest to that which was asked for."""
        return min(self.by_size, key=lambda each: abs(math.log(each.people / _USUAL)), default=None)

    def as_dict(self) -> dict[str, float]:
        """What `--json` prints; keys are stable."""
        names = ("queries", "median", "mean", "overall_median", "overall_mean")
        return {name: getattr(self, name) for name in names}

    @property
    def other_end(self) -> str:
        if self.about_values:
            return "somebody who knew everybody's quasi-identifiers but only the overall distribution of values"
        return "somebody who knew only the overall distribution of each column"

    def sentence(self) -> str:
        less = "less: " if self.overall_median < self.median else ""
        return (
            f"A typical count is off by {self.median:.2%} (median of {self.queries:,} test counts; the mean is "
            f"{self.mean:.2%}); {self.other_end} would be off by {less}{self.overall_median:.2%}."
        )


def count_errors(
    release: Published, table: Table, everybody: Table | None = None, queries: Iterable[Workload] | None = None
) -> CountErrors:
    """Ask the standard workload, or other queries; an error says why that is not possible.

    everybody   the table with those who were left out of it as outliers: they are asked about, too
    """
    _refuse_other(release, table)
    people, table = table, table if everybody is None else everybody
    asked = (standard_queries(table),) if queries is None else queries
    answers = [_answers(release, people, table, each) for each in asked]
    truth, ours, overall = np.concatenate([np.zeros((3, 0)), *answers], axis=1)
    meant = truth > 0
    if not meant.any():
        raise _nobody_meant(table)
    return _errors(truth, ours, overall, table)


def answers_of_part(release: Published, part: Table, queries: Workload) -> Floats:
    """[4, query]: people it means, what a recipient answers, people with its quasi-identifiers, and the most that a
    recipient answers, where the answer must be kept from being more and from being less than nothing; parts add up."""
    if has_entry("oneoff.utility", "unbounded", release):
        return stated(part, queries, *of_kind("oneoff.utility", "unbounded", release, "")(release, part, queries))
    return stated(part, queries, estimated_counts(release, part, queries))


def stated(part: Table, queries: Workload, ours: Floats, most: Floats | float = np.inf) -> Floats:
    """The same from answers that are at hand."""
    meant, truth = people_meant(part.codes, part.values, queries).T
    return np.stack([truth, ours, meant, np.broadcast_to(most, len(truth))]).astype(np.float64)


def errors_of_parts(answers: Floats, queries: Workload, whole: Table) -> CountErrors:
    """What the answers of all parts together are off by.

    whole   any rows over the domains of all, which knows how many people of all have each value and each code
    """
    truth, ours, meant, most = answers
    ours = np.where(np.isfinite(most), np.clip(ours, 0.0, most), ours)
    if not (truth > 0).any():
        raise _nobody_meant(whole)
    return _errors(truth, ours, overall_counts(whole, queries, np.rint(meant).astype(np.int64)), whole)


def _errors(truth: Floats, ours: Floats, overall: Floats, table: Table) -> CountErrors:
    meant, rows = truth > 0, int(table.counts.sum())
    ours, overall = (np.round(np.abs(each - truth)[meant] / truth[meant], _DIGITS) for each in (ours, overall))
    return CountErrors(
        queries=len(ours),
        median=float(np.median(ours)),
        mean=float(ours.mean()),
        overall_median=float(np.median(overall)),
        overall_mean=float(overall.mean()),
        spread=tuple(np.quantile(ours, _PERCENTILES).tolist()),
        overall_spread=tuple(np.quantile(overall, _PERCENTILES).tolist()),
        about_values=table.sensitive is not None,
        by_size=_by_size(power_of_ten(truth[meant], rows), ours, overall),
    )


def _nobody_meant(table: Table) -> BadValue:
    return BadValue(
        "how far counts are off cannot be measured: none of the test counts means anybody",
        allowed="enough people for the values of the columns",
        got=f"{int(table.counts.sum()):,} people",
    )


def power_of_ten(count: Ints | Floats, rows: int) -> Ints:
    """The power that each count is nearest to, none greater than all people are."""
    return np.minimum(np.rint(np.log10(count)), np.floor(np.log10(rows))).astype(np.int64)


def _by_size(size: Ints, ours: Floats, overall: Floats) -> tuple[SizeErrors, ...]:
    return tuple(
        SizeErrors(
            people=10**each,
            queries=int(number),
            median=float(np.median(ours[size == each])),
            most=float(np.quantile(ours[size == each], 0.9)),
            overall_median=float(np.median(overall[size == each])),
        )
        for each, number in enumerate(np.bincount(size).tolist())
        if number >= _ENOUGH
    )


def _answers(release: Published, people: Table, everybody: Table, queries: Workload) -> Floats:
    """[3, query]: how many people it means; what a recipient answers, and who knows the overall distribution only."""
    meant, truth = people_meant(everybody.codes, everybody.values, queries).T
    ours = _answered(release, people, everybody, queries)
    found = np.stack([truth, ours, overall_counts(everybody, queries, meant)])
    return found if queries.question is None else np.stack([np.bincount(queries.question, each) for each in found])


def _refuse_other(release: Published, table: Table) -> None:
    """Figures of another table would mean nothing."""
    names = [[attribute.name for attribute in each.quasi] for each in (release, table)]
    values = [[] if each.sensitive is None else each.sensitive.labels.tolist() for each in (release, table)]
    if release.rows != table.rows or names[0] != names[1] or values[0] != values[1]:
        raise BadValue(
            "how far counts are off cannot be measured: the release is not one of this table",
            allowed=f"{release.rows:,} people with the columns and values of the release",
            got=f"{table.rows:,} people, or other columns or values",
        )


def _answered(release: Published, people: Table, everybody: Table, queries: Workload) -> Floats:
    """What a recipient would answer who has never heard of values that only outliers had."""
    if people is everybody:
        return estimated_counts(release, people, queries)
    low, high = queries.low.copy(), queries.high.copy()
    for j, (own, known) in enumerate(zip(people.quasi, everybody.quasi, strict=True)):
        at = queries.named == j
        low[:, :-1][at], high[:, :-1][at] = _moved(own, known, queries.low[:, :-1][at], queries.high[:, :-1][at])
    if people.sensitive is not None and everybody.sensitive is not None:
        low[:, -1], high[:, -1] = _moved(people.sensitive, everybody.sensitive, queries.low[:, -1], queries.high[:, -1])
    nobody = (high < low).any(axis=1)
    low[nobody], high[nobody] = 0, 0
    found = estimated_counts(release, people, replace(queries, low=low, high=high))
    return np.where(nobody, 0.0, found)


def _moved(own: Attribute, known: Attribute, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The same intervals in the codes of a smaller domain; the end lies before the beginning where none is left."""
    place = own.codes_in(known)
    return np.searchsorted(place, low), np.searchsorted(place, high, side="right") - 1


def standard_queries(table: Table) -> Workload:
    """The standard workload of a table."""
    rng, kinds = np.random.default_rng(_SEED), list(product(_COLUMNS, _SELECTIVITIES))
    return _together([_queries(table, many, share, _ASKED // len(kinds), rng) for many, share in kinds])


def _queries(table: Table, many: int, selectivity: float, number: int, rng: np.random.Generator) -> Workload:
    """So many queries of one kind."""
    sizes = np.array([attribute.size for attribute in table.quasi])
    columns = np.sort(np.argsort(rng.random((number, len(sizes))), axis=1)[:, :many], axis=1)
    size = np.concatenate((sizes[columns], np.full((number, 1), len(table.counts))), axis=1)
    asked = size.shape[1] - (table.sensitive is None)
    length = np.maximum(1, np.rint(size * selectivity ** (1 / asked))).astype(np.int64)
    low = (rng.random(size.shape) * (size - length + 1)).astype(np.int64)
    return Workload(tuple(map(tuple, columns.tolist())), np.arange(number), low, low + length - 1)


def _together(parts: Sequence[Workload]) -> Workload:
    """All queries in one workload, also where some ask for more columns than others."""
    width = max(part.low.shape[1] for part in parts)
    columns = tuple(each for part in parts for each in part.columns)
    low = np.concatenate([_widened(part.low, width) for part in parts])
    high = np.concatenate([_widened(part.high, width) for part in parts])
    return Workload(columns, np.arange(len(columns)), low, high)


def _widened(ends: Ints, width: int) -> Ints:
    """With entries that mean nothing before the last."""
    nothing = np.zeros((len(ends), width - ends.shape[1]), dtype=np.int64)
    return np.concatenate((ends[:, :-1], nothing, ends[:, -1:]), axis=1)


def overall_counts(table: Table, queries: Workload, meant: Ints) -> Floats:
    """What somebody would answer who knows the overall distribution only.

    meant   people with the quasi-identifiers that each query asks for
    """
    if table.sensitive is not None:
        return np.asarray(meant * _having(table.counts, queries, np.arange(len(queries)), -1) / table.counts.sum())
    people = int(table.counts.sum())
    estimate = np.full(len(queries), float(people))
    for j, codes in enumerate(table.codes.T):
        query, slot = np.nonzero(queries.named == j)
        counts = np.bincount(codes, minlength=table.quasi[j].size) if table.margins is None else table.margins[j]
        estimate[query] *= _having(counts, queries, query, slot) / people
    return estimate


def _having(counts: Ints, queries: Workload, query: Ints, slot: Ints | int) -> Ints:
    """How many people have a code that each of these queries asks for."""
    if queries.inside is not None:
        return np.asarray(queries.inside[query, slot, : len(counts)] @ counts)
    below = offsets(counts)
    return np.asarray(below[queries.high[query, slot] + 1] - below[queries.low[query, slot]])
