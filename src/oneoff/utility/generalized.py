"""What boxes are still good for: how much they blur, and how their people are spread over what they show.

For counts and aggregates, the people of a box are spread as its tallies say, each column by itself, or evenly over what
it shows. Counts of a release without groups can also be had as the program of paper 000 makes them (`spread_counts`).
How many of them can be meant at least and at most is certain (Frechet), and so is what they can add up to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue
from oneoff.models import Counts
from oneoff.releases import Cells, Generalized
from oneoff.releases.published import renamed
from oneoff.releases.tallies import ColumnTallies
from oneoff.table import Attribute, Hierarchy, Table
from oneoff.table.arrays import Codes, Floats, Ints
from oneoff.utility.aggregates import Aggregates, Answers
from oneoff.utility.counting import Below, counted_below, from_cells, shown_below, tallied_below
from oneoff.utility.loss import Utility, Yardsticks
from oneoff.utility.shape import Columns, of_columns
from oneoff.utility.workload import Spread, Workload

__all__ = ["answer", "as_rows", "estimate", "measure", "spread_counts"]

MOST_CELLS = 60_000_000
_BLOCK = 2_000_000  # cells [query, box] at a time


def as_rows(release: Generalized, rng: np.random.Generator) -> Columns:
    """The plain rows; where there are none, some value that the box of each record could mean."""
    if release.plain is not None:
        return [*of_columns(release, release.plain.codes, release.plain.values), *_beside(release, release.plain.kept)]
    drawn = [cells.draw(attribute, release.box, rng) for attribute, cells in release.shown]
    rows = of_columns(release, np.stack(drawn, axis=1).astype(np.int32), release.values)
    return [*rows, *_beside(release, release.kept)]


def _beside(release: Generalized, kept: Codes | None) -> Columns:
    """The sensitive columns beside the first."""
    every = [] if kept is None else zip(release.keep, kept.T, strict=True)
    return [(attribute, codes) for attribute, codes in every if attribute.name in release.besides]


def measure(release: Generalized, table: Table | None, by: Yardsticks) -> Utility:
    """What every box blurs, weighted with its people."""
    weight, shown, sizes = release.people_in_box / release.rows, release.shown, by.domains
    by_attribute = {a.name: float(weight @ _range_loss(a, c, sizes.get(a.name))) for a, c in shown}
    sets = [_set_loss(_domain(a, table), a, c, sizes.get(a.name)) for a, c in shown]
    averages = [weight @ _information_loss(a, c, by.hierarchies.get(a.name)) for a, c in shown]
    group = None if release.group is None else np.bincount(release.group)
    group = None if group is None else group[group > 0]
    return Utility(
        gcp=float(np.mean(list(by_attribute.values()))),
        gcp_set=None if any(x is None for x in sets) else float(np.mean([weight @ x for x in sets if x is not None])),
        ail=float(np.mean(averages)),
        discernibility=None if group is None else int((group.astype(np.int64) ** 2).sum()),
        average_class_size=None if group is None else release.rows / len(group),
        per_attribute=by_attribute,
        iloss=sum(by_attribute.values()),
    )


def _range_loss(attribute: Attribute, cells: Cells, size: float | None) -> Floats:
    ends = cells.ends() if attribute.has_order else None
    if ends is None:
        return _count_loss(cells.values_shown(attribute), size or _leaves(attribute))
    part: Floats = attribute.scaled[ends[1]] - attribute.scaled[ends[0]]
    return part if size is None else _ratio(part * attribute.span, size - 1)


def _set_loss(domain: Attribute | None, attribute: Attribute, cells: Cells, size: float | None) -> Floats | None:
    """None when a range was read back and the values that occur inside it are not known."""
    if cells.complete:
        return _count_loss(cells.values_shown(attribute), size or _leaves(attribute))
    if domain is None:
        return None
    return _count_loss(cells.values_shown(attribute, domain), size or domain.size)


def _domain(attribute: Attribute, table: Table | None) -> Attribute | None:
    """The attribute with all values that occur: from the table, or the release's own when it was never written."""
    return None if table is None else table.attribute(attribute.name)


def _information_loss(attribute: Attribute, cells: Cells, tree: Hierarchy | None) -> Floats:
    """Leaves under the lowest common ancestor of what a box shows; without a hierarchy the tree is flat."""
    own = attribute.hierarchy
    if own is not None and tree is not None:
        raise BadValue(f"{attribute.name!r} was released with a hierarchy of its own", allowed="no other one")
    along = tree if own is None else own
    if along is not None:
        under = cells.leaves_under(attribute, along)
        return np.where(under > 1, under / along.leaf_count, 0.0)
    if attribute.has_order:
        return _range_loss(attribute, cells, None)
    return (cells.values_shown(attribute) > 1).astype(np.float64)


def _leaves(attribute: Attribute) -> int:
    return attribute.size if attribute.hierarchy is None else attribute.hierarchy.leaf_count


def _count_loss(shown: npt.NDArray[Any], size: float) -> Floats:
    return _ratio((shown - 1).astype(np.float64), size - 1)


def _ratio(part: Floats, whole: float) -> Floats:
    """A constant attribute cannot lose anything."""
    return part / whole if whole > 0 else np.zeros(len(part))


def estimate(release: Generalized, table: Table, queries: Workload) -> Floats:
    """People are spread as the tallies of their group say, or evenly over what their box shows."""
    return spread_counts(release, table, queries, "even" if release.tallies is None else "multiplicity")


def spread_counts(release: Generalized, table: Table, queries: Workload, spread: Spread) -> Floats:
    """People are spread evenly over what their box shows, or as often as values occur among those it is around."""
    if spread == "even":
        shares = [shown_below(cells, a, known) for (a, cells), known in zip(release.shown, table.quasi, strict=True)]
        return from_cells(release.boxes, shares, _people_below(release.box, release, table), queries)
    if release.tallies is not None:
        shares = tallied_below(release.tallies, release.quasi, table)
        return from_cells(release.boxes, shares, _people_below(release.box, release, table), queries)
    tallies, record = _covered(release, table), np.arange(release.rows)
    shares = tallied_below(tallies, table.quasi, table)
    return from_cells(release.rows, shares, _people_below(record, release, table), queries)


def _people_below(box: npt.NDArray[Any], release: Generalized, table: Table) -> Below:
    return counted_below(Counts.of_groups(box, release.values), np.arange(len(table.counts)))


def _covered(release: Generalized, table: Table) -> ColumnTallies:
    """How often each value occurs among the people that each record covers. No file of the public half says it."""
    graph = release.graph
    if graph is None or table.rows != graph.rows:
        raise BadValue(
            "how often values occur among the people of a box is not known",
            allowed="a release with column tallies, or its table and whom each record covers (private)",
            got="boxes alone" if graph is None else f"a table of {table.rows:,} people, not {graph.rows:,}",
            hint='spread="even" needs nothing but the boxes',
        )
    columns = tuple(Counts.of_groups(graph.record, codes[graph.member]) for codes in table.codes.T)
    return ColumnTallies(columns, graph.covers.lengths, tuple(attribute.size for attribute in table.quasi))


def answer(
    release: Generalized, table: Table, numbers: Floats, queries: Aggregates, each: Floats | None = None
) -> Answers:
    """Of each box so many people are meant at least and at most, whoever they are; with weights nothing is certain."""
    sums = _Sums.of(release.box, numbers[release.values], release.boxes)
    shown, size = _shown(release, table), release.people_in_box
    found = np.empty((3, len(queries), 2))
    step = max(1, _BLOCK // release.boxes)
    for first in range(0, len(queries), step):
        block = slice(first, first + step)
        part, least, most = _people(shown, size, queries, first, min(first + step, len(queries)))
        one = np.ones(len(size)) if each is None else each
        found[0, block] = np.stack((part @ (size * one), part @ (sums.total * one)), axis=1)
        found[1, block] = np.stack((least.sum(axis=1), sums.lowest(least, most).sum(axis=1)), axis=1)
        found[2, block] = np.stack((most.sum(axis=1), sums.highest(least, most).sum(axis=1)), axis=1)
    return Answers(*found) if each is None else Answers(found[0])


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
