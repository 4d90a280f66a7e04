"""Quasi-identifiers as they are and, in a second file, how many people have each value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition
from oneoff.releases import Estimate, Exact
from oneoff.releases.columns import read_exact, shown
from oneoff.releases.estimate import estimated
from oneoff.releases.exact import ValuesShown
from oneoff.releases.predicate import Condition
from oneoff.releases.published import of_people
from oneoff.table import Table
from oneoff.table.arrays import Flags

__all__ = ["Apart", "set_apart"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Apart(Exact):
    """codes[r] are the quasi-identifiers of record r; which values people have is said of all of them together."""

    form: ClassVar[str] = "apart"

    def _shape(self) -> str:
        return "values apart"

    def values_shown(self) -> ValuesShown:
        everybody, kinds = np.zeros(self.rows, dtype=np.int32), len(self.counts)
        return ValuesShown(everybody, np.array([0, kinds]), np.arange(kinds), self.counts / self.counts.sum())

    def _records(self) -> pa.Table:
        return pa.table(self._quasi_columns())

    def _tables(self) -> dict[str, Callable[[], pa.Table]]:
        return {"people.parquet": self.to_arrow, "values.parquet": self._values_table}

    def _values_table(self) -> pa.Table:
        assert self.sensitive is not None
        values = shown(self.sensitive, np.arange(len(self.counts)))
        return pa.table({"value": values, "count": self.counts})

    def describe_form(self) -> dict[str, Any]:
        return {"quasi": self._describe_quasi()}

    @classmethod
    def assemble(cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pa.Table]) -> Apart:
        quasi, codes = read_exact(described["quasi"], frames["people.parquet"])
        return Apart(**common, quasi=quasi, codes=codes)

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        meant, share = int(self.meant(asked).sum()), float(self.counts[wanted].sum() / self.counts.sum())
        return estimated(meant * share, float(np.sqrt(meant * share * (1 - share))), meant)


def set_apart(
    table: Table, plan: Partition, model: Model, *, method: str, against: Adversary, rng: np.random.Generator
) -> Apart:
    """Publish everybody's quasi-identifiers in random order; the plan has them all in one group."""
    person = rng.permutation(table.rows)
    return Apart(**of_people(table, person), method=method, model=model, against=against, codes=table.codes[person])
