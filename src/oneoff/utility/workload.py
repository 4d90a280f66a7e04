"""How well a release answers count queries: the workloads of papers 001 (section 6.2) and 002 (section 7.2).

A query names `attributes` quasi-identifiers at random and, for each of them and for the sensitive value, an interval of
values. For an expected selectivity s every interval has the part s^(1 / (attributes + 1)) of its domain, in the order
of the codes. Its relative error is |estimate - truth| / truth; queries whose truth is 0 are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue
from oneoff.releases import Exact, Published, of_kind
from oneoff.releases.exact import ValuesShown
from oneoff.table import Table
from oneoff.table.arrays import Codes, Floats, Ints, offsets

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "MOST_CELLS",
    "QueryErrors",
    "Workload",
    "from_cells",
    "from_records",
    "query_errors",
    "random_queries",
]

MOST_CELLS = 60_000_000


@dataclass(frozen=True, eq=False)
class Workload:
    """Query q asks for the codes low[q, j] .. high[q, j] of columns[subset[q]][j] and, last, of the sensitive value."""

    columns: tuple[tuple[int, ...], ...]
    subset: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.subset)


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
    estimated: Callable[[Any, Table, Workload], Floats]
    estimated = of_kind("oneoff.utility", "estimate", release, "no queries are answered from")
    estimate = estimated(release, table, queries)
    true = _one_each(table.values, table)
    truth = _answers(queries, lambda columns: _cube(table, columns, table.codes, true))
    asked = truth > 0
    errors = np.abs(estimate[asked] - truth[asked]) / truth[asked]
    if not len(errors):
        raise BadValue("no query has an answer", allowed="queries that mean somebody", hint="raise the selectivity")
    return QueryErrors(len(errors), float(np.median(errors)), float(errors.mean()))


def _one_each(values: Codes, table: Table) -> csr_array:
    """[record, value]: everybody has one value."""
    return _sparse(ValuesShown.one_each(values, len(table.counts)), table)


def _sparse(shown: ValuesShown, table: Table) -> csr_array:
    """[record, value]: the share of the value on the record; a single row where all records show the same."""
    from scipy.sparse import csr_array

    lists, records = len(shown.start) - 1, len(shown.row)
    values = csr_array((shown.share, shown.value, shown.start), shape=(lists, len(table.counts)))
    member = csr_array((np.ones(records), shown.row, np.arange(records + 1)), shape=(records, lists))
    return member @ values if lists > 1 else values


def _added_up(found: Floats, first: int, last: int) -> float:
    return float(found[first : last + 1].sum())


def _answers(
    queries: Workload,
    cube_of: Callable[[tuple[int, ...]], Floats],
    answer: Callable[[Floats, int, int], float] = _added_up,
) -> Floats:
    """For every query, what `answer` makes of the histogram of values among the people it asks for.

    A cube of counts for each subset of columns, summed up along its axes: a query then reads its corners.
    """
    answers = np.zeros(len(queries))
    for s in np.unique(queries.subset).tolist():
        cube = cube_of(queries.columns[s])
        for q in np.flatnonzero(queries.subset == s).tolist():
            found = _corner_sum(cube, queries.low[q, :-1], queries.high[q, :-1])
            answers[q] = answer(found, int(queries.low[q, -1]), int(queries.high[q, -1]))
    return answers


def _cube(table: Table, columns: tuple[int, ...], codes: Codes, probabilities: csr_array) -> Floats:
    """How many people with these codes have each value, as far as probabilities say; summed up along every column."""
    from scipy.sparse import csr_array

    sizes = [table.quasi[j].size + 1 for j in columns]
    cells, width = math.prod(sizes), probabilities.shape[1]
    if cells * width > MOST_CELLS:
        raise BadValue("the attributes have too many values for a workload of queries", allowed=f"{MOST_CELLS:,} cells")
    key = np.zeros(len(codes), dtype=np.int64)
    for j, size in zip(columns, sizes, strict=True):
        key = key * size + codes[:, j] + 1
    if probabilities.shape[0] == 1:  # the same for everybody
        inside = np.bincount(key, minlength=cells)[:, None] * probabilities.toarray()
    else:
        member = csr_array((np.ones(len(key)), (key, np.arange(len(key)))), shape=(cells, len(key)))
        inside = (member @ probabilities).toarray()
    cube: Floats = inside.reshape(*sizes, width).astype(np.float64)
    for axis in range(len(sizes)):
        np.cumsum(cube, axis=axis, out=cube)
    return cube


def _corner_sum(cube: Floats, low: Ints, high: Ints) -> Floats:
    """The histogram inside a box, from the corners of the summed cube."""
    part = cube
    for first, last in zip(low.tolist(), high.tolist(), strict=True):
        part = part[last + 1] - part[first]
    return part


def from_cells(shares: list[npt.NDArray[np.float32]], people: npt.NDArray[Any], queries: Workload) -> Floats:
    """shares[j][box, c] of the people[box, v] with value v have a code of attribute j below c, independently."""
    from oneoff.kernels.queries import expected_counts

    start, (boxes, width) = offsets([part.shape[1] for part in shares]), people.shape
    if boxes * (int(start[-1]) + width) > 4 * MOST_CELLS:
        raise BadValue("the release has too many boxes for a workload of queries", allowed="fewer boxes or values")
    below = np.zeros((boxes, width + 1), dtype=people.dtype)
    np.cumsum(people, axis=1, out=below[:, 1:])
    first = start[np.array(queries.columns)[queries.subset]]
    asked = np.empty((len(queries), 2 + 2 * first.shape[1]), dtype=np.int64)
    asked[:, 0], asked[:, 1] = queries.low[:, -1], queries.high[:, -1]
    asked[:, 2::2], asked[:, 3::2] = first + queries.low[:, :-1], first + queries.high[:, :-1] + 1
    found: Floats = expected_counts(np.concatenate(shares, axis=1), below, asked)
    return found


def from_records(
    release: Exact, table: Table, queries: Workload, answer: Callable[[Floats, int, int], float] = _added_up
) -> Floats:
    """The records as they are; `answer` makes a count of the histogram of values on those that a query asks for."""
    codes, shown = release.codes_in(table), _sparse(release.values_shown(), table)
    return _answers(queries, lambda columns: _cube(table, columns, codes, shown), answer)
