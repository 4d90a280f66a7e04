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
    against    who the method stands against: "reader" or "insider"
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
    start, rows = partition.members
    order = rng.permutation(table.rows)  # record r shows person order[r]
    links = np.empty(table.rows, dtype=np.int64)
    links[order] = np.arange(table.rows)
    place = np.argsort(renamed)  # boxes are numbered as the groups are published
    sizes = partition.size[place]
    new_start = np.concatenate(([0], np.cumsum(sizes)))
    new_rows = rows[np.repeat(start[place] - new_start[:-1], sizes) + np.arange(table.rows)]
    group = renamed[partition.group[order]]
    return Generalized(
        method=method,
        model=model,
        quasi=table.quasi,
        cells=tuple(
            cells_of_groups(attribute, table.codes[:, j], new_start, new_rows, numeric_as)
            for j, attribute in enumerate(table.quasi)
        ),
        box=group,
        group=group,
        sensitive=table.sensitive,
        values=table.values[order],
        counts=table.counts,
        keep=table.keep,
        kept=None if table.kept is None else table.kept[order],
        against=against,
        links=links,
        origin=table.origin,
    )


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
    sizes = np.diff(links.start)[order]
    start = np.concatenate(([0], np.cumsum(sizes)))
    member = links.member[np.repeat(links.start[:-1][order] - start[:-1], sizes) + np.arange(int(start[-1]))]
    graph = Links(start, member, links.carrier[order])
    return Generalized(
        method=method,
        model=model,
        quasi=table.quasi,
        cells=tuple(
            cells_of_groups(attribute, table.codes[:, j], start, member, numeric_as)
            for j, attribute in enumerate(table.quasi)
        ),
        box=np.arange(table.rows, dtype=np.int32),
        group=None,
        sensitive=table.sensitive,
        values=table.values[graph.carrier],
        counts=table.counts,
        keep=table.keep,
        kept=None if table.kept is None else table.kept[graph.carrier],
        against=against,
        links=np.argsort(graph.carrier),
        graph=graph,
        origin=table.origin,
    )
