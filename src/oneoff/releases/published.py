"""What every release has, whatever its form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from oneoff.errors import OneoffError
from oneoff.models import Model
from oneoff.table import Attribute, Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from oneoff.releases.counting import Estimate
    from oneoff.releases.predicate import Where

__all__ = ["PrivateFiles", "Published", "of_people", "with_values"]

PrivateFiles = Mapping[str, bytes | Callable[[], bytes]]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Published(ABC):
    """Records in published order, the promise they were made for, and what the steward keeps.

    counts     people with each sensitive value in the whole table (the prior, which is public)
    against    who the method stands against: "reader", "insider", "black box" or "nobody"
    links[i]   private: the record of person i of the table
    private_half   private: makes the files that the steward keeps beside the links, by name
    broken     private: why this release must not go out, empty when nothing speaks against it
    """

    form: ClassVar[str]

    method: str
    model: Model
    quasi: tuple[Attribute, ...]
    sensitive: Attribute | None
    counts: npt.NDArray[np.int64]
    against: str = "reader"
    links: npt.NDArray[np.int64] | None = None
    origin: str = "polars"
    private_half: Callable[[], PrivateFiles] = dict
    broken: str = ""

    def __repr__(self) -> str:
        """Without a single value: releases in memory hold secrets."""
        return f"<Release by {self.method} for {self.guarantee}: {self.rows} records, {self._shape()}>"

    @abstractmethod
    def _shape(self) -> str:
        """What there is besides records, in two words."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many records."""

    @property
    def guarantee(self) -> str:
        return self.model.spec()

    def to_arrow(self) -> pyarrow.Table:
        """The published columns."""
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

    def count(self, where: Where) -> Estimate:
        """How many people of the original table have these properties, with an interval (see releases.counting).

        where   a text such as "age between 30 and 39 and disease in ('flu')", or {"age": (30, 39), "disease": ["flu"]}
        """
        from oneoff.releases.counting import count

        return count(self, where)

    def write(
        self,
        folder: str | PathLike[str],
        *,
        csv: bool = False,
        overwrite: bool = False,
        even_if_broken: bool = False,
    ) -> Path:
        """Write the public and the private half; the folder appears whole or not at all.

        even_if_broken   write the public half of a release that breaks its promise, for research; it says so itself
        """
        from oneoff.releases.write import write_release

        return write_release(
            self, Path(folder), csv=csv, overwrite=overwrite, private=self.private_half(), withhold=self.broken,
            even_if_broken=even_if_broken,
        )  # fmt: skip


def of_people(table: Table, person: npt.NDArray[np.int64]) -> dict[str, Any]:
    """What every release of a table has in common, when record r is that of person[r]."""
    return {
        "quasi": table.quasi,
        "sensitive": table.sensitive,
        "counts": table.counts,
        "links": np.argsort(person),
        "origin": table.origin,
    }


def with_values(table: Table, person: npt.NDArray[np.int64]) -> dict[str, Any]:
    """The same for a release whose records show true sensitive values, and the columns that travel with them."""
    kept = None if table.kept is None else table.kept[person]
    return of_people(table, person) | {"values": table.values[person], "keep": table.keep, "kept": kept}
