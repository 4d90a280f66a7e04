"""What a release without groups gives away: the records that could be a person's, and the values they show.

A reader keeps for each person the records whose box contains the person's quasi-identifiers: the person's matches. An
insider knows the generalization graph and keeps the records that were made to cover the person. Either way the belief
that the person has value v is the share of v on the matches, and each match is the person's with one over their number.
(Paper 004, sections 3 and 4; like the papers, this takes all matches of a person to be equally likely.)

The beliefs come as `Counts` in which every person is a group, so that models judge them as they judge groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue
from oneoff.models import Counts
from oneoff.plans import Links
from oneoff.releases import Cells, Generalized
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Ints, Ragged, offsets

if TYPE_CHECKING:
    from oneoff.kernels.linking import BoxIndex

__all__ = [
    "Matches",
    "containment",
    "effective_matches",
    "identity",
    "insider_counts",
    "reader_counts",
    "surviving",
    "value_counts",
]

FOUND_AT_ONCE = 4_000_000  # matches held in memory while they are counted
FINEST = 256  # stretches into which an attribute is divided for the search, fewer when bits would fill the memory
INDEX_BYTES = 2**28


class Matches(NamedTuple):
    """The records that could be person i's are record[start[i] : start[i + 1]], in no particular order."""

    start: Ints
    record: Ints


def containment(release: Generalized, table: Table, people: npt.NDArray[np.integer[Any]] | None = None) -> Matches:
    """The records whose box contains each of the people (rows of the table; all of them when none are named).

    Exact, by way of bit sets of boxes. Everything is held in memory: ask for a sample where boxes are wide.
    """
    return _joined(list(_pieces(release, table, people)))


def effective_matches(release: Generalized, table: Table, most: int = 5_000_000) -> Matches | None:
    """The matches of all people that can be true when everybody has one record; None when there are more than `most`.

    Takes any one way to give everybody a record, so it needs the private links of the release.
    """
    if release.links is None or release.rows != table.rows:
        raise BadValue("the true links of a release of the whole table are needed to tell which matches survive")
    pieces, matches = [], 0
    for piece in _pieces(release, table, None):
        pieces.append(piece)
        matches += len(piece.record)
        if matches > most:
            return None
    return surviving(_joined(pieces), release.links)


def surviving(matches: Matches, links: Ints) -> Matches:
    """The matches that belong to some way of giving every person a record of their own (paper 004, Theorems 1 and 2).

    `links` is one such way: person i has record links[i]. Let every match of person i with the record of person j be
    an edge from i to j; a match can be true if and only if its edge lies inside a strongly connected component. The
    answer does not depend on which way was given. O(people + matches).
    """
    people = len(links)
    if len(matches.start) != people + 1 or not np.array_equal(np.sort(links), np.arange(people)):
        raise BadValue("which matches survive can only be told for all people and all records together")
    person = _persons(matches)
    owner = np.empty(people, dtype=np.int64)
    owner[links] = np.arange(people)
    if int((matches.record == links[person]).sum()) != people:
        raise BadValue("a person's own record is not among the matches")
    other = owner[matches.record]
    component = _strong_components(matches.start, other)
    stays = component[person] == component[other]
    return Matches(offsets(np.bincount(person[stays], minlength=people)), matches.record[stays])


def _strong_components(start: Ints, target: Ints) -> Codes:
    """The strongly connected component of every node; node i has edges to target[start[i] : start[i + 1]]."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    nodes = len(start) - 1
    edges = csr_array((np.ones(len(target)), target, start), shape=(nodes, nodes), copy=True)
    edges.sum_duplicates()  # scipy goes astray where an edge comes twice
    component: Codes = connected_components(edges, connection="strong")[1]
    return component


def identity(matches: Matches) -> Ints:
    """How many records could be each person's: a record is theirs with one over that."""
    return np.diff(matches.start)


def value_counts(matches: Matches, shown: npt.NDArray[np.integer[Any]]) -> Counts:
    """How often each value is shown on the matches of each person; shown[r] is the value of record r."""
    lonely = int((np.diff(matches.start) == 0).sum())
    if lonely:
        raise BadValue(f"{lonely} people fit no record at all, so that nothing can be said about them")
    return Counts.of_groups(_persons(matches), shown[matches.record])


def insider_counts(links: Links, shown: npt.NDArray[np.integer[Any]]) -> Counts:
    """What somebody who knows the generalization graph sees: the values of the records that cover each person."""
    return value_counts(Matches(*links.matches), shown)


def reader_counts(release: Generalized, table: Table, people: npt.NDArray[np.integer[Any]] | None = None) -> Counts:
    """What a reader sees: the values of the records that contain each person; group g is people[g], or person g.

    Matches that cannot be true are not taken out; see `effective_matches` for small tables.
    """
    pieces = [value_counts(piece, release.values) for piece in _pieces(release, table, people)]
    return Counts(
        offsets(np.concatenate([piece.distinct for piece in pieces])),
        np.concatenate([piece.value for piece in pieces]),
        np.concatenate([piece.count for piece in pieces]),
    )


def _pieces(release: Generalized, table: Table, people: npt.NDArray[np.integer[Any]] | None) -> Iterator[Matches]:
    """The matches of one stretch of people after the other, so that they need not be in memory all at once."""
    from oneoff.kernels.linking import contained

    if people is not None and len(people) == 0:
        raise BadValue("no people were named to look for")
    some = table if people is None else table.take(people)
    index, position = _index(release, some)
    ends = np.empty(some.rows, dtype=np.int64)
    found = np.empty(max(FOUND_AT_ONCE, 2 * release.rows), dtype=np.int64)
    person = 0
    while person < some.rows:
        done = contained(index, position, person, ends, found)
        start = np.concatenate(([0], ends[person:done]))
        yield Matches(start, found[: start[-1]].copy())
        person = done


def _joined(pieces: list[Matches]) -> Matches:
    sizes = np.concatenate([np.diff(piece.start) for piece in pieces])
    return Matches(offsets(sizes), np.concatenate([piece.record for piece in pieces]))


def _index(release: Generalized, people: Table) -> tuple[BoxIndex, Codes]:
    """Boxes ready to be searched, and where each of the people is in every attribute."""
    from oneoff.kernels.linking import BoxIndex, mark_boxes

    axes = [_axis(attribute, cells, people) for attribute, cells in release.shown]
    order = _box_order(axes, release.boxes)
    words = -(-release.boxes // 64)
    finest = min(FINEST, max(8, INDEX_BYTES // (8 * words * len(axes))))
    stretches = np.array([min(axis.positions, finest) for axis in axes])
    start, spans = _joined_spans(axes, order)
    place = np.empty(release.boxes, dtype=np.int64)
    place[order] = np.arange(release.boxes)
    index = BoxIndex(
        attribute=np.stack((offsets(stretches)[:-1], stretches, [axis.positions for axis in axes]), axis=1),
        bits=np.zeros((int(stretches.sum()), words), dtype=np.uint64),
        blocks=np.zeros((int(stretches.sum()), -(-words // 64)), dtype=np.uint64),
        start=start,
        spans=spans,
        record_start=offsets(release.people_in_box[order]),
        record=np.argsort(place[release.box], kind="stable"),
    )
    mark_boxes(index)
    return index, np.stack([axis.position for axis in axes], axis=1)


class _Axis(NamedTuple):
    """One attribute: where people are (0 .. positions - 1), and the spans of positions that each box shows."""

    positions: int
    position: Codes
    start: Ints
    low: Codes
    high: Codes


def _axis(attribute: Attribute, cells: Cells, people: Table) -> _Axis:
    """Only values that somebody has get a position: spans shrink to those, and vanish when nothing is left."""
    known, codes = people.column(attribute.name)
    where = cells.places(attribute, known.labels)[codes]
    start, low, high = cells.spans(attribute)
    used, position = np.unique(where, return_inverse=True)
    low, high = np.searchsorted(used, low, side="left"), np.searchsorted(used, high, side="right") - 1
    some = low <= high
    start = offsets(some)[start]
    return _Axis(len(used), position.astype(np.int32), start, low[some].astype(np.int32), high[some].astype(np.int32))


def _box_order(axes: list[_Axis], boxes: int) -> Ints:
    """Boxes along a curve through their middles, so that those a person fits are near each other."""
    from oneoff.kernels.hilbert import curve_keys

    bits = max(1, min(16, 63 // len(axes)))
    points = np.zeros((boxes, min(len(axes), 63)), dtype=np.int64)
    for j, axis in enumerate(axes[:63]):
        filled = np.flatnonzero(np.diff(axis.start))
        middle = axis.low[axis.start[filled]].astype(np.int64) + axis.high[axis.start[filled + 1] - 1]
        points[filled, j] = (middle << bits) // (2 * axis.positions)
    return np.argsort(curve_keys(points, bits), kind="stable")


def _joined_spans(axes: list[_Axis], order: Ints) -> tuple[Ints, Codes]:
    """The spans of all attributes behind one another, boxes in the given order."""
    starts, spans, before = [], [], 0
    for axis in axes:
        low, high = (Ragged(axis.start, ends).take(order) for ends in (axis.low, axis.high))
        starts.append(low.start + before)
        spans.append(np.stack((low.items, high.items)))
        before += len(axis.low)
    return np.stack(starts), np.concatenate(spans, axis=1)


def _persons(matches: Matches) -> Ints:
    """The person of every match."""
    return np.repeat(np.arange(len(matches.start) - 1), np.diff(matches.start))
