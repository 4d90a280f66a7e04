"""A table with generalized quasi-identifiers: every record shows a box, its group, and a true sensitive value.

Counting takes people to be spread evenly over what their record shows (paper 001, section 6.2); the interval is
certain: records that must be meant, and those that can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Links, Partition
from oneoff.releases.cells import Cells, NumericAs
from oneoff.releases.estimate import Estimate
from oneoff.releases.nodes import Nodes
from oneoff.releases.predicate import Condition
from oneoff.releases.private import missing, reading
from oneoff.releases.published import Published, with_values
from oneoff.releases.ranges import Ranges
from oneoff.releases.sets import Sets
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Ints, Ragged
from oneoff.table.classes import look_alikes

if TYPE_CHECKING:
    import pyarrow

__all__ = ["CELLS", "Generalized", "cells_of_groups", "generalize", "generalize_each", "load_graph"]

CELLS: dict[str, type[Cells]] = {kind.shown_as: kind for kind in (Ranges, Sets, Nodes)}


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
    box: Codes
    group: Codes | None
    values: Codes
    keep: tuple[Attribute, ...] = ()
    kept: Codes | None = None
    graph: Links | None = None

    @property
    def needs_table(self) -> bool:
        return self.group is None

    def _shape(self) -> str:
        return "no groups" if self.group is None else f"{self.boxes} groups"

    @property
    def rows(self) -> int:
        return len(self.box)

    @cached_property
    def boxes(self) -> int:
        return int(self.box.max()) + 1

    @cached_property
    def people_in_box(self) -> Ints:
        return np.bincount(self.box, minlength=self.boxes).astype(np.int64)

    @property
    def shown(self) -> list[tuple[Attribute, Cells]]:
        """Every quasi-identifier with what the boxes show of it."""
        return list(zip(self.quasi, self.cells, strict=True))

    def labels_shown(self, j: int) -> npt.NDArray[Any]:
        return self.cells[j].categories(self.quasi[j])

    def to_arrow(self) -> pyarrow.Table:
        import pyarrow as pa

        from oneoff.releases.columns import value_columns

        columns = self._quasi_columns(self.box)
        if self.group is not None:
            columns["group"] = pa.array(self.group)
        return pa.table(columns | value_columns(self.sensitive, self.values, self.keep, self.kept))

    def as_text(self, frame: pyarrow.Table) -> pyarrow.Table:
        """The records with `[28, 39]` for a range and `{F, M}` for a set."""
        import pyarrow as pa

        box, names = pa.array(self.box), self._quasi_columns(self.box[:0]).keys()
        columns = {a.name: pa.array(cells.texts(a), pa.string()).take(box) for a, cells in self.shown}
        return pa.table(columns | {name: frame[name] for name in frame.column_names if name not in names})

    def _quasi_columns(self, box: Codes) -> dict[str, pyarrow.Array]:
        return {name: column for a, cells in self.shown for name, column in cells.columns(a, box).items()}

    def describe_form(self) -> dict[str, Any]:
        return {
            "groups": None if self.group is None else self.boxes,
            "quasi": [
                {"name": a.name, "kind": a.kind, "shown_as": cells.shown_as} | cells.describe(a)
                for a, cells in self.shown
            ],
            "keep": [attribute.name for attribute in self.keep],
        }

    @classmethod
    def assemble(
        cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pyarrow.Table]
    ) -> Generalized:
        from oneoff.releases.columns import read_kept, read_values

        frame = frames["data.parquet"]
        parts = [CELLS[quasi["shown_as"]].read(quasi, frame) for quasi in described["quasi"]]
        group = frame["group"].to_numpy().astype(np.int32) if "group" in frame.column_names else None
        box, first = _boxes([cells for _, cells in parts], group)
        keep, kept = read_kept(described["keep"], frame)
        return Generalized(
            **common,
            quasi=tuple(attribute for attribute, _ in parts),
            cells=tuple(cells.take(first) for _, cells in parts),
            box=box.astype(np.int32),
            group=group,
            values=read_values(common["sensitive"], frame),
            keep=keep,
            kept=kept,
        )

    def private_files(self) -> dict[str, pyarrow.Table]:
        import pyarrow as pa

        if self.graph is None:
            return {}
        return {"graph.parquet": pa.table({"record": self.graph.record, "person": self.graph.member})}

    def with_private(self, private: Path) -> Generalized:
        """A release without groups cannot be judged without its graph; one with groups has nothing of its own."""
        if self.group is not None or self.links is None:
            return self
        graph = load_graph(private, self.links)
        if graph is None:
            raise missing(private / "graph.parquet")
        return replace(self, graph=graph)

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        part = np.ones(self.boxes)
        for each in asked:
            j = self.place_of(each.column)
            part *= self.cells[j].part(self.quasi[j], each)
        people = np.bincount(self.box[wanted[self.values]], minlength=self.boxes)
        raw = float(people @ part)
        low, high = float(people[part >= 1].sum()), float(people[part > 0].sum())
        return Estimate(raw, raw, None, low, high, True)


def _boxes(cells: list[Cells], group: Codes | None) -> tuple[Ints, Ints]:
    """The box of every record and a record for every box: the groups, unless records of one group differ."""
    if group is not None:
        box = look_alikes([group])
        first = np.unique(box, return_index=True)[1]
        if all(column.same_as(first[box]) for column in cells):
            return box, first
    keys = [key for column in cells for key in column.keys()]  # noqa: SIM118
    box = look_alikes(keys if group is None else [group, *keys])
    return box, np.unique(box, return_index=True)[1]


def load_graph(private: Path, links: Ints) -> Links | None:
    """Which people each record covers, from the private half of a release without groups; None when it is not there."""
    import pyarrow.parquet as pq

    path = private / "graph.parquet"
    if not path.is_file():
        return None
    with reading(path):
        edges = pq.read_table(path, columns=["record", "person"])
        record, person = edges["record"].to_numpy(), edges["person"].to_numpy()
        covered = Ragged.of_owners(record, len(links))
        return Links(covered.start, person[covered.items].astype(np.int64), np.argsort(links))


def generalize(
    table: Table,
    partition: Partition,
    model: Model,
    *,
    method: str,
    against: Adversary,
    rng: np.random.Generator,
    numeric_as: NumericAs = "range",
) -> Generalized:
    """Publish every group of a partition under the tightest common box, records and group numbers in random order."""
    renamed = rng.permutation(partition.groups).astype(np.int32)
    person = rng.permutation(table.rows)
    members = partition.members.take(np.argsort(renamed))  # boxes are numbered as the groups are published
    group = renamed[partition.group[person]]
    return Generalized(
        **with_values(table, person),
        method=method,
        model=model,
        against=against,
        cells=_cells(table, members, numeric_as),
        box=group,
        group=group,
    )


def generalize_each(
    table: Table,
    links: Links,
    model: Model,
    *,
    method: str,
    against: Adversary,
    rng: np.random.Generator,
    numeric_as: NumericAs = "range",
) -> Generalized:
    """Publish every record under the tightest box around the people it covers, in random order and without groups."""
    order = rng.permutation(table.rows)  # published record r is record order[r] of the plan
    covered = Ragged(links.start, links.member).take(order)
    graph = Links(covered.start, covered.items, links.carrier[order])
    return Generalized(
        **with_values(table, graph.carrier),
        method=method,
        model=model,
        against=against,
        cells=_cells(table, covered, numeric_as),
        box=np.arange(table.rows, dtype=np.int32),
        group=None,
        graph=graph,
    )


def _cells(table: Table, members: Ragged, numeric_as: NumericAs) -> tuple[Cells, ...]:
    columns = zip(table.quasi, table.codes.T, strict=True)
    return tuple(cells_of_groups(attribute, codes, members, numeric_as) for attribute, codes in columns)


def cells_of_groups(attribute: Attribute, codes: Codes, members: Ragged, numeric_as: NumericAs = "range") -> Cells:
    """The tightest cell around the members of every group; codes[i] is what person i has."""
    if attribute.hierarchy is not None:
        way = Nodes.shown_as
    else:
        way = Sets.shown_as if attribute.kind == "categorical" else numeric_as
    return CELLS[way].around(attribute, Ragged(members.start, codes[members.items]))
