"""A table with generalized quasi-identifiers: every record shows a box, its group, and a true sensitive value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from oneoff.models import Model
from oneoff.plans import Links, Partition
from oneoff.releases.cells import Cells, NumericAs, cells_of_groups
from oneoff.releases.published import Published, with_values
from oneoff.table import Attribute, Table

__all__ = ["Generalized", "generalize", "generalize_each"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Generalized(Published):
    """Published records, in published order.

    cells[j]   what each box shows of quasi-identifier j: x_min and x_max for ranges, lists for sets, texts for nodes
    box[r]     the box of record r
    group[r]   the published group of record r, or None for a release without groups
    values[r]  code of the sensitive value of record r; kept[r] those of the columns that travel with it
    graph      private: for a release without groups, which people each record covers and whose value it shows
    """

    form: ClassVar[str] = "generalized"

    cells: tuple[Cells, ...]
    box: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32] | None
    values: npt.NDArray[np.int32]
    keep: tuple[Attribute, ...] = ()
    kept: npt.NDArray[np.int32] | None = None
    graph: Links | None = None

    def _shape(self) -> str:
        return "no groups" if self.group is None else f"{self.boxes} groups"

    @property
    def rows(self) -> int:
        return len(self.box)

    @cached_property
    def boxes(self) -> int:
        return int(self.box.max()) + 1

    @cached_property
    def people_in_box(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.box, minlength=self.boxes).astype(np.int64)


def generalize(
    table: Table,
    partition: Partition,
    model: Model,
    *,
    method: str,
    against: str,
    rng: np.random.Generator,
    numeric_as: NumericAs = "range",
) -> Generalized:
    """Publish every group of a partition under the tightest common box, records and group numbers in random order."""
    renamed = rng.permutation(partition.groups).astype(np.int32)
    person = rng.permutation(table.rows)
    place = np.argsort(renamed)  # boxes are numbered as the groups are published
    start, rows = _reordered(partition.members.start, partition.members.items, place)
    group = renamed[partition.group[person]]
    cells = _cells(table, start, rows, numeric_as)
    return _release(table, model, cells, person, box=group, group=group, graph=None, method=method, against=against)


def generalize_each(
    table: Table,
    links: Links,
    model: Model,
    *,
    method: str,
    against: str,
    rng: np.random.Generator,
    numeric_as: NumericAs = "range",
) -> Generalized:
    """Publish every record under the tightest box around the people it covers, in random order and without groups."""
    order = rng.permutation(table.rows)  # published record r is record order[r] of the plan
    start, member = _reordered(links.start, links.member, order)
    graph = Links(start, member, links.carrier[order])
    cells, box = _cells(table, start, member, numeric_as), np.arange(table.rows, dtype=np.int32)
    person = graph.carrier
    return _release(table, model, cells, person, box=box, group=None, graph=graph, method=method, against=against)


def _reordered(
    start: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], order: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The same lists of rows, list order[i] in place i."""
    sizes = np.diff(start)[order]
    new = np.concatenate(([0], np.cumsum(sizes)))
    return new, rows[np.repeat(start[:-1][order] - new[:-1], sizes) + np.arange(int(new[-1]))]


def _cells(
    table: Table, start: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], numeric_as: NumericAs
) -> tuple[Cells, ...]:
    return tuple(
        cells_of_groups(attribute, table.codes[:, j], start, rows, numeric_as)
        for j, attribute in enumerate(table.quasi)
    )


def _release(
    table: Table,
    model: Model,
    cells: tuple[Cells, ...],
    person: npt.NDArray[np.int64],
    *,
    box: npt.NDArray[np.int32],
    group: npt.NDArray[np.int32] | None,
    graph: Links | None,
    method: str,
    against: str,
) -> Generalized:
    """Records in published order; record r shows the sensitive value of person[r]."""
    return Generalized(
        **with_values(table, person),
        method=method,
        model=model,
        against=against,
        cells=cells,
        box=box,
        group=group,
        graph=graph,
    )
