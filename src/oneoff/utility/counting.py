"""Answers to many count queries at once: from boxes whose people are spread, and from records.

Both take memory for a bounded number of cells, whatever the domains: boxes are done in blocks, and of an attribute only
those codes are looked at where an interval of a query begins or ends. Sets of codes are added up for some queries at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneoff.models import Counts
from oneoff.releases.cells import Cells, Shares
from oneoff.releases.exact import Exact, ValuesShown
from oneoff.releases.published import renamed
from oneoff.releases.tallies import ColumnTallies
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints, Ragged
from oneoff.table.classes import look_alikes

if TYPE_CHECKING:
    from oneoff.utility.workload import Workload

__all__ = [
    "Below",
    "Block",
    "counted_below",
    "from_cells",
    "from_records",
    "people_meant",
    "shown_below",
    "tallied_below",
    "weights_meant",
]

_MOST_CELLS = 2_000_000  # [edge or set, box] at a time
_SETS = 500  # queries at a time
_FEW_LOOKS = 100_000_000  # queries times records; for more it pays to put together records that look the same

Block = Callable[[slice], npt.NDArray[Any]]
Below = Callable[[Ints], Block]
"""For edges, which are codes that ascend: [edge, box], how much of the boxes of a slice lies below each of them."""


def people_meant(codes: Codes, values: Codes, queries: Workload) -> Ints:
    """[query]: how many of these records have the quasi-identifiers asked for, and how many a wanted value as well."""
    found, together = np.zeros((len(queries), 2), dtype=np.int64), list[Ints]()
    for some, columns in _alike(queries):
        if len(some) * len(values) < _FEW_LOOKS:
            together.append(some)
            continue
        named = codes[:, columns]  # who looks the same in what is asked for is looked at once
        classes = look_alikes([*named.T, values])
        people, record = np.bincount(classes), np.empty(int(classes.max()) + 1, dtype=np.int64)
        record[classes] = np.arange(len(values))
        found[some] = _meant(named[record], values[record], people, columns, codes.shape[1], queries.take(some))
    if together:
        some, every = np.concatenate(together), list(range(codes.shape[1]))
        one_each = np.ones(len(values), dtype=np.int64)
        found[some] = _meant(codes, values, one_each, every, len(every), queries.take(some))
    return found


def _meant(named: Codes, values: Codes, people: Ints, columns: Sequence[int], every: int, queries: Workload) -> Ints:
    """Of records with the codes of these columns, each of which stands for some people."""
    from oneoff.kernels.queries import records_meant

    place = np.full(every + 1, -1)
    place[list(columns)] = np.arange(len(columns))
    asked, low, high, inside = queries.asked
    found = np.zeros((len(queries), 2), dtype=np.int64)
    records_meant(_by_column(named), values, people, place[asked], low, high, inside, found)
    return found


def _alike(queries: Workload) -> Iterator[tuple[Ints, list[int]]]:
    """Queries that ask for the same columns, whatever their order, with these."""
    kind, which = np.unique(np.sort(queries.named, axis=1), axis=0, return_inverse=True)
    members = Ragged.of_owners(which.reshape(-1), len(kind))
    for i, columns in enumerate(kind.tolist()):
        yield members[i], [j for j in columns if j >= 0]


def weights_meant(codes: Codes, shown: ValuesShown, queries: Workload) -> Floats:
    """The same for records that show several values, with a weight for each."""
    from oneoff.kernels import queries as kernels

    records, found = Ragged.of_owners(shown.row, len(shown.start) - 1), np.zeros((len(queries), 2))
    lists = (shown.start, shown.value.astype(np.int64, copy=False), shown.share.astype(np.float64, copy=False))
    columns = _by_column(codes[records.items])
    kernels.weights_meant(columns, records.start, lists, *queries.asked, found)
    return found


def from_records(release: Exact, table: Table, queries: Workload) -> Floats:
    """The records as they are."""
    return weights_meant(release.codes_in(table), release.values_shown(), queries)[:, 1]


def _by_column(codes: Codes) -> Codes:
    return np.ascontiguousarray(codes.T, dtype=np.int32)


def from_cells(boxes: int, shares: Sequence[Below], people: Below, queries: Workload) -> Floats:
    """The people meant: those of a box with a wanted value, times the part of it that each column asked for says.

    shares[j]   the part of a box with codes of quasi-identifier j below the edges
    people      how many of its people have a value below the edges
    """
    belows, found = [*shares, people], np.zeros(len(queries))
    if queries.inside is None:
        edges, asked = _edges(queries, len(shares))
        parts = [(below(at), len(at)) for below, at in zip(belows, edges, strict=True)]
        _add_expected(boxes, parts, asked, found)
        return found
    for first in range(0, len(queries), _SETS):
        some = slice(first, first + _SETS)
        sets, asked = _sets(queries.take(some), len(shares))
        parts = [(_within(below, each), max(each.shape)) for below, each in zip(belows, sets, strict=True)]
        _add_expected(boxes, parts, asked, found[some])
    return found


def _add_expected(boxes: int, parts: Sequence[tuple[Block, int]], asked: Ints, found: Floats) -> None:
    """Some boxes at a time. With each part comes how many rows it takes: of what it gives, or on the way to that."""
    from oneoff.kernels.queries import add_expected

    *shares, (wanted, _) = parts
    step = max(1, _MOST_CELLS // sum(rows for _, rows in parts))
    for first in range(0, boxes, step):
        block = slice(first, min(first + step, boxes))
        nothing = np.zeros((0, block.stop - first), dtype=np.float32)
        share = np.concatenate([nothing, *(part(block) for part, _ in shares)], dtype=np.float32)
        add_expected(share, np.ascontiguousarray(wanted(block), dtype=np.float64), asked, found)


def _sets(queries: Workload, columns: int) -> tuple[list[Flags], Ints]:
    """Of every quasi-identifier and, last, of the value: no code at all, then a set of codes for each query that asks
    for some; and the rows of all these, one after the other, that each query reads, those of no code first."""
    assert queries.inside is not None
    asked = np.full((len(queries), 2 + 2 * queries.named.shape[1]), -1, dtype=np.int64)
    sets: list[Flags] = []
    for j in range(columns):
        before, (query, slot) = sum(map(len, sets)), np.nonzero(queries.named == j)
        asked[query, 2 + 2 * slot], asked[query, 3 + 2 * slot] = before, before + 1 + np.arange(len(query))
        sets.append(_and_none(queries.inside[query, slot], queries.high[query, slot]))
    asked[:, 0], asked[:, 1] = 0, 1 + np.arange(len(queries))
    return [*sets, _and_none(queries.inside[:, -1], queries.high[:, -1])], asked


def _and_none(inside: Flags, last: Ints) -> Flags:
    """The sets of one domain, after the empty one."""
    size = int(last[0]) + 1 if len(last) else 1
    return np.concatenate((np.zeros((1, size), dtype=np.bool_), inside[:, :size]))


def _within(below: Below, sets: Flags) -> Block:
    """[set, box]: how much of the boxes of a slice lies in each set."""
    until, weight = below(np.arange(sets.shape[1] + 1)), sets.astype(np.float64)

    def within(boxes: slice) -> Floats:
        return np.asarray(weight @ np.diff(until(boxes).astype(np.float64), axis=0))

    return within


def _edges(queries: Workload, columns: int) -> tuple[list[Ints], Ints]:
    """Of every quasi-identifier and, last, of the value: the codes where intervals begin or end; and the rows of all
    these, one after the other, that each query reads (`add_expected`)."""
    ends = queries.low, queries.high + 1
    asked = np.full((len(queries), 2 + 2 * queries.named.shape[1]), -1, dtype=np.int64)
    edges: list[Ints] = []
    for j in range(columns):
        before, (query, slot) = sum(map(len, edges)), np.nonzero(queries.named == j)
        edges.append(np.unique([end[query, slot] for end in ends]))
        for side, end in enumerate(ends):
            asked[query, 2 + 2 * slot + side] = before + np.searchsorted(edges[j], end[query, slot])
    edges.append(np.unique([end[:, -1] for end in ends]))
    for side, end in enumerate(ends):
        asked[:, side] = np.searchsorted(edges[-1], end[:, -1])
    return edges, asked


def counted_below(counts: Counts, code: npt.NDArray[Any], *, parts: bool = False) -> Below:
    """From how often values occur in each box, where value v is called code[v]; with `parts`, of all in the box."""
    from oneoff.kernels.queries import sums_below

    def at(edges: Ints) -> Block:
        above = np.searchsorted(edges, code, side="right")  # the first edge above each value

        def below(boxes: slice) -> Floats:
            start = counts.start[boxes.start : boxes.stop + 1]
            entries = slice(int(start[0]), int(start[-1]))
            found = np.zeros((len(edges), len(start) - 1))
            sums_below(start - start[0], above[counts.value[entries]], counts.count[entries], found)
            return found / counts.size[boxes] if parts else found

        return below

    return at


def tallied_below(tallies: ColumnTallies, quasi: Sequence[Attribute], table: Table) -> list[Below]:
    """The part of the people of groups, as the tallies of their columns say."""
    columns = zip(tallies.columns, quasi, table.quasi, strict=True)
    return [counted_below(counts, renamed(attribute, known), parts=True) for counts, attribute, known in columns]


def shown_below(cells: Cells, attribute: Attribute, known: Attribute) -> Below:
    """The part of what boxes show, people being spread evenly over that."""

    def at(edges: Ints) -> Block:
        def below(boxes: slice) -> Shares:
            shown = cells.take(np.arange(boxes.start, boxes.stop))
            return np.ascontiguousarray(shown.share_below(attribute, known, edges).T)

        return below

    return at
