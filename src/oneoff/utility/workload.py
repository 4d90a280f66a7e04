"""How well a release answers count queries: the workloads of papers 001 (section 6.2) and 002 (section 7.2).

A query names `attributes` quasi-identifiers at random and, for each of them and for the sensitive value, an interval of
values (paper 001) or any set of them, one or the other or the next (paper 002, as Anatomy, Xiao and Tao 2006). For an
expected selectivity s all of these have the part s^(1 / (attributes + 1)) of their domain, intervals in the order of
the codes. The relative error of a query is |estimate - truth| / truth; queries whose truth is 0 are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from oneoff.errors import BadValue
from oneoff.releases import Published, of_kind
from oneoff.table import Table
from oneoff.table.arrays import Flags, Floats, Ints
from oneoff.utility.counting import people_meant

__all__ = [
    "Predicates",
    "QueryErrors",
    "Spread",
    "Workload",
    "estimated_counts",
    "prefix_queries",
    "query_errors",
    "random_queries",
]

Predicates = Literal["intervals", "sets"]
Spread = Literal["even", "multiplicity"]
"""How the people of a box lie in it: evenly over what it shows, or as often as each value of each column occurs among
the people it is around. Column tallies say the latter of groups; of records with a box of their own nothing public
does, so it takes their private graph."""

_MOST_MARKS = 2_000_000_000  # bytes that say which codes are in which set


@dataclass(frozen=True, eq=False)
class Workload:
    """Query q asks for the codes low[q, j] .. high[q, j] of columns[subset[q]][j] and, last, of the sensitive value.

    Queries may ask for different numbers of columns; then there are entries before the last that mean nothing.

    inside   None, or [query, j, code]: a query asks for these codes only. Then low and high are the ends of whole
             domains, and the last code of all is nobody's and in no set.
    question None, or the question of which each query is a case: nobody is in two, and its answers are added up
    """

    columns: tuple[tuple[int, ...], ...]
    subset: Ints
    low: Ints
    high: Ints
    inside: Flags | None = None
    question: Ints | None = None

    def __len__(self) -> int:
        return len(self.subset)

    def take(self, some: slice | Ints) -> Workload:
        """Some of the queries."""
        inside = None if self.inside is None else self.inside[some]
        return Workload(self.columns, self.subset[some], self.low[some], self.high[some], inside)

    @property
    def asked(self) -> tuple[Ints, Ints, Ints, Flags]:
        """As the compiled loops want it; without sets, the last has no queries."""
        inside = np.zeros((0, 0, 0), dtype=np.bool_) if self.inside is None else self.inside
        return self.named, self.low, self.high, inside

    @cached_property
    def named(self) -> Ints:
        """[query, j]: the columns it asks for, then -1 where it asks for fewer than others do."""
        most = self.low.shape[1] - 1
        filled = [(*columns, *(-1,) * (most - len(columns))) for columns in self.columns]
        return np.array(filled, dtype=np.int64).reshape(len(filled), most)[self.subset]


@dataclass(frozen=True)
class QueryErrors:
    """Relative errors over the queries that have an answer."""

    queries: int
    median: float
    mean: float

    def sentence(self) -> str:
        errors = f"{self.median:.2%} in the median and {self.mean:.2%} in the mean"
        return f"The relative error of {self.queries:,} count queries is {errors}."

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def random_queries(
    table: Table,
    number: int = 10_000,
    *,
    attributes: int = 3,
    selectivity: float = 0.1,
    predicates: Predicates = "intervals",
    rng: np.random.Generator,
) -> Workload:
    """Queries on so many quasi-identifiers and the sensitive value; as selective as said if all were independent."""
    if table.sensitive is None:
        raise BadValue("count queries ask for a sensitive value", allowed="a table with a sensitive column")
    if not 1 <= attributes <= len(table.quasi):
        raise BadValue("too many attributes", allowed=f"1 to {len(table.quasi)}", got=str(attributes))
    if not 0 < selectivity <= 1:
        raise BadValue("the selectivity is not a share", allowed="above 0 and at most 1", got=str(selectivity))
    if predicates not in ("intervals", "sets"):
        raise BadValue("unknown kind of predicates", allowed="intervals, sets", got=repr(predicates))
    columns = tuple(combinations(range(len(table.quasi)), attributes))
    subset = rng.integers(0, len(columns), number)
    sizes = np.array([[table.quasi[j].size for j in each] + [table.sensitive.size] for each in columns])[subset]
    part = sizes * selectivity ** (1 / (attributes + 1))
    if predicates == "sets":
        return Workload(columns, subset, np.zeros_like(sizes), sizes - 1, _random_sets(sizes, part, rng))
    length = np.maximum(1, np.rint(part)).astype(np.int64)
    low = (rng.random(sizes.shape) * (sizes - length + 1)).astype(np.int64)
    return Workload(columns, subset, low, low + length - 1)


def _random_sets(sizes: Ints, part: Floats, rng: np.random.Generator) -> Flags:
    """[query, j, code]: so many random codes of each domain, rounded up as in Anatomy."""
    shape = (*sizes.shape, int(sizes.max()) + 1)
    if np.prod(shape, dtype=np.float64) > _MOST_MARKS:
        got = f"{shape[0]:,} queries on {shape[1]} columns of up to {shape[2] - 1:,} values"
        raise BadValue("too many values for sets", allowed=f"{_MOST_MARKS:,} in all", got=got, hint="ask fewer queries")
    inside = np.zeros(shape, dtype=np.bool_)
    chosen = np.ceil(np.round(part, 9)).astype(np.int64)  # 50 times a tenth is 5, whatever floats say
    for slot in range(sizes.shape[1]):
        for size in np.unique(sizes[:, slot]).tolist():
            some = np.flatnonzero(sizes[:, slot] == size)
            first = np.arange(size) < chosen[some, slot, None]
            inside[some, slot, :size] = rng.permuted(first, axis=1)
    return inside


def prefix_queries(
    table: Table, number: int = 10_000, *, prefix: str, equal: Sequence[str], rng: np.random.Generator
) -> Workload:
    """Queries for everybody with at most some code of `prefix` and a single code of each `equal` column.

    Every code is as likely as any other. Nothing is asked of the sensitive value: its interval is the whole domain.
    Paper 000, Figure 10(c), has education as prefix, and age, gender, marital status and race.
    """
    names = [attribute.name for attribute in table.quasi]
    asked = [prefix, *equal]
    if table.sensitive is None or set(asked) - set(names) or len(set(asked)) < len(asked):
        raise BadValue(
            "prefix queries name quasi-identifiers once each, of a table with a sensitive column",
            allowed=", ".join(names),
            got=", ".join(asked),
        )
    columns = tuple(names.index(name) for name in asked)
    sizes = np.array([table.quasi[j].size for j in columns] + [table.sensitive.size])
    high = (rng.random((number, len(sizes))) * sizes).astype(np.int64)
    high[:, -1] = sizes[-1] - 1
    low = high.copy()
    low[:, [0, -1]] = 0
    return Workload((columns,), np.zeros(number, dtype=np.int64), low, high)


def query_errors(release: Published, table: Table, queries: Workload, *, spread: Spread | None = None) -> QueryErrors:
    """How far the estimates of a recipient are from the truth; `spread` as for `estimated_counts`."""
    estimate = estimated_counts(release, table, queries, spread=spread)
    truth = people_meant(table.codes, table.values, queries)[:, 1]
    asked = truth > 0
    errors = np.abs(estimate[asked] - truth[asked]) / truth[asked]
    if not len(errors):
        raise BadValue("no query has an answer", allowed="queries that mean somebody", hint="raise the selectivity")
    return QueryErrors(len(errors), float(np.median(errors)), float(errors.mean()))


def estimated_counts(release: Published, table: Table, queries: Workload, *, spread: Spread | None = None) -> Floats:
    """What a recipient would answer.

    spread   of releases that show boxes: how the people of a box are taken to lie in it. By default as the release
             says, by its tallies, or else evenly
    """
    if spread is None:
        estimate: Callable[[Any, Table, Workload], Floats]
        estimate = of_kind("oneoff.utility", "estimate", release, "no queries are answered from")
        return estimate(release, table, queries)
    if spread not in get_args(Spread):
        raise BadValue("there is no such spread of people", allowed=", ".join(get_args(Spread)), got=repr(spread))
    spread_counts: Callable[[Any, Table, Workload, Spread], Floats]
    spread_counts = of_kind("oneoff.utility", "spread_counts", release, "people are not spread over the boxes of")
    return spread_counts(release, table, queries, spread)
