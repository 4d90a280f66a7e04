"""A table with generalized quasi-identifiers: every record shows a box, its group, and a true sensitive value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import OneoffError
from oneoff.models import Model
from oneoff.plans import Links, Partition
from oneoff.releases.cells import Cells, NumericAs, cells_of_groups
from oneoff.table import Attribute, Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Generalized", "PrivateFiles", "generalize", "generalize_each"]

PrivateFiles = Mapping[str, bytes | Callable[[], bytes]]


@dataclass(frozen=True, eq=False, repr=False)
class Generalized:
    """Published records, in published order.

    cells[j]   what each box shows of quasi-identifier j
    box[r]     the box of record r
    group[r]   the published group of record r, or None for a release without groups
    values[r]  code of the sensitive value of record r; kept[r] those of the columns that travel with it
    counts     people with each sensitive value in the whole table (the prior, which is public)
    against    who the method stands against: "reader", "insider" or "nobody"
    links[i]   private: the record of person i of the table
    graph      private: for a release without groups, which people each record covers and whose value it shows
    private    private: more files for the private half, by name
    broken     private: why this release must not go out, empty when nothing speaks against it
    """

    method: str
    model: Model
    quasi: tuple[Attribute, ...]
    cells: tuple[Cells, ...]
    box: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32] | None
    sensitive: Attribute | None
    values: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]
    keep: tuple[Attribute, ...] = ()
    kept: npt.NDArray[np.int32] | None = None
    against: str = "reader"
    links: npt.NDArray[np.int64] | None = None
    graph: Links | None = None
    origin: str = "polars"
    private: PrivateFiles = field(default_factory=dict)
    broken: str = ""

    def __repr__(self) -> str:
        """Without a single value: releases in memory hold secrets."""
        grouped = "no groups" if self.group is None else f"{self.boxes} groups"
        return f"<Release by {self.method} for {self.guarantee}: {self.rows} records, {grouped}>"

    @property
    def rows(self) -> int:
        return len(self.box)

    @property
    def guarantee(self) -> str:
        return self.model.spec()

    @cached_property
    def boxes(self) -> int:
        return int(self.box.max()) + 1

    @cached_property
    def people_in_box(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.box, minlength=self.boxes).astype(np.int64)

    def to_arrow(self) -> pyarrow.Table:
        """The published columns: x_min and x_max for ranges, lists for sets, texts for nodes, `group`."""
        from oneoff.releases.write import published

        return published(self)

    def to_polars(self) -> polars.DataFrame:
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise OneoffError("pandas is not installed", hint="pip install pandas, or use to_polars()") from None
        return self.to_arrow().to_pandas()

    def to_native(self) -> Any:
        """The same kind of frame the table was read from (polars for files)."""
        return {"pandas": self.to_pandas, "pyarrow": self.to_arrow}.get(self.origin, self.to_polars)()

    def write(
        self,
        folder: str | PathLike[str],
        *,
        csv: bool = False,
        overwrite: bool = False,
        even_if_broken: bool = False,
    ) -> Path:
        """Write the public and the private half; the folder appears whole or not at all."""
        from oneoff.releases.write import write_release

        return write_release(self, Path(folder), csv=csv, overwrite=overwrite, even_if_broken=even_if_broken)


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
    start, rows = _reordered(*partition.members, place)
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
        method=method,
        model=model,
        quasi=table.quasi,
        cells=cells,
        box=box,
        group=group,
        sensitive=table.sensitive,
        values=table.values[person],
        counts=table.counts,
        keep=table.keep,
        kept=None if table.kept is None else table.kept[person],
        against=against,
        links=np.argsort(person),
        graph=graph,
        origin=table.origin,
    )
