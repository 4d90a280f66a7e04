"""How well a release answers count queries: the workloads of papers 001 (section 6.2) and 002 (section 7.2).

A query names `attributes` quasi-identifiers at random and, for each of them and for the sensitive value, an interval of
values. For an expected selectivity s every interval has the part s^(1 / (attributes + 1)) of its domain, in the order
of the codes. Its relative error is |estimate - truth| / truth; queries whose truth is 0 are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from oneoff.errors import BadValue
from oneoff.releases import Published, of_kind
from oneoff.table import Table
from oneoff.table.arrays import Floats, Ints
from oneoff.utility.counting import people_meant

__all__ = ["QueryErrors", "Workload", "estimated_counts", "query_errors", "random_queries"]


@dataclass(frozen=True, eq=False)
class Workload:
    """Query q asks for the codes low[q, j] .. high[q, j] of columns[subset[q]][j] and, last, of the sensitive value.

    Queries may ask for different numbers of columns; then there are entries before the last that mean nothing.
    """

    columns: tuple[tuple[int, ...], ...]
    subset: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.subset)

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
    table: Table, number: int = 10_000, *, attributes: int = 3, selectivity: float = 0.1, rng: np.random.Generator
) -> Workload:
    """Queries on so many quasi-identifiers and the sensitive value; as selective as said if all were independent."""
    if table.sensitive is None:
        raise BadValue("count queries ask for a sensitive value", allowed="a table with a sensitive column")
    if not 1 <= attributes <= len(table.quasi):
        raise BadValue("too many attributes", allowed=f"1 to {len(table.quasi)}", got=str(attributes))
    if not 0 < selectivity <= 1:
        raise BadValue("the selectivity is not a share", allowed="above 0 and at most 1", got=str(selectivity))
    columns = tuple(combinations(range(len(table.quasi)), attributes))
    subset = rng.integers(0, len(columns), number)
    sizes = np.array([[table.quasi[j].size for j in each] + [table.sensitive.size] for each in columns])[subset]
    length = np.maximum(1, np.rint(sizes * selectivity ** (1 / (attributes + 1)))).astype(np.int64)
    low = (rng.random(sizes.shape) * (sizes - length + 1)).astype(np.int64)
    return Workload(columns, subset, low, low + length - 1)


def query_errors(release: Published, table: Table, queries: Workload) -> QueryErrors:
    """How far the estimates of a recipient are from the truth."""
    estimate = estimated_counts(release, table, queries)
    truth = people_meant(table.codes, table.values, queries)[:, 1]
    asked = truth > 0
    errors = np.abs(estimate[asked] - truth[asked]) / truth[asked]
    if not len(errors):
        raise BadValue("no query has an answer", allowed="queries that mean somebody", hint="raise the selectivity")
    return QueryErrors(len(errors), float(np.median(errors)), float(errors.mean()))


def estimated_counts(release: Published, table: Table, queries: Workload) -> Floats:
    """What a recipient would answer."""
    estimate: Callable[[Any, Table, Workload], Floats]
    estimate = of_kind("oneoff.utility", "estimate", release, "no queries are answered from")
    return estimate(release, table, queries)
