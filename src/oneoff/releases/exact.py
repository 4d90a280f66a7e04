"""What releases share that show single values of quasi-identifiers, true ones or not, instead of boxes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneoff.releases.amounts import Amounts
from oneoff.releases.predicate import Condition
from oneoff.releases.published import Published, renamed
from oneoff.table import Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints
from oneoff.table.classes import look_alikes

if TYPE_CHECKING:
    import pyarrow

    from oneoff.releases.features import Columns

__all__ = ["Exact", "ValuesShown"]


class ValuesShown(NamedTuple):
    """Record r shows value[e] with the share share[e], for start[row[r]] <= e < start[row[r] + 1]."""

    row: Codes
    start: Ints
    value: Ints
    share: Floats

    @staticmethod
    def one_each(values: Codes, kinds: int) -> ValuesShown:
        """Every record shows one value."""
        return ValuesShown(values, np.arange(kinds + 1), np.arange(kinds), np.ones(kinds))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Exact(Published):
    """codes[r, j] is what record r shows of quasi-identifier j."""

    codes: Codes

    @property
    def rows(self) -> int:
        return len(self.codes)

    @abstractmethod
    def values_shown(self) -> ValuesShown:
        """What the records say about sensitive values, taken at their word."""

    def meant(self, asked: Sequence[Condition]) -> Flags:
        """The records that show these quasi-identifiers."""
        meant = np.ones(self.rows, dtype=np.bool_)
        for each in asked:
            j = self.place_of(each.column)
            meant &= each.holds_for(self.quasi[j])[self.codes[:, j]]
        return meant

    def amounts(self, asked: Sequence[Condition], wanted: Floats, of: Amounts | None) -> tuple[Floats, float, float]:
        """What each record counts for by its quasi-identifiers; and what all of them can add up to with any values."""
        each = self.meant(asked).astype(np.float64)
        if of is not None:
            each *= of.each[self.codes[:, of.column]]
        products = np.multiply.outer([float(np.minimum(each, 0).sum()), float(each.clip(0).sum())], wanted)
        return each, float(min(products.min(), 0.0)), float(max(products.max(), 0.0))

    @cached_property
    def look_alikes(self) -> Ints:
        """The class of every record, numbered from 0 without gaps: those with the same quasi-identifiers are in one."""
        return look_alikes(list(self.codes.T))

    def columns_shown(self, *, plain: bool = False) -> Columns:
        from scipy.sparse import csr_array

        from oneoff.releases.features import Exactly, Spread

        columns: Columns = {a.name: (a, Exactly(self.codes[:, j])) for j, a in enumerate(self.quasi)}
        if self.sensitive is None:
            return columns
        row, start, value, share = self.values_shown()
        shares = csr_array((share, value, start), shape=(len(start) - 1, self.sensitive.size))
        return {**columns, self.sensitive.name: (self.sensitive, Spread(row, shares))}

    def codes_in(self, table: Table) -> Codes:
        """The records in the codes of the table, also when they were read back from a folder."""
        columns = [renamed(a, table.quasi[j])[self.codes[:, j]] for j, a in enumerate(self.quasi)]
        return np.stack(columns, axis=1)

    def _quasi_columns(self) -> dict[str, pyarrow.Array]:
        from oneoff.releases.columns import shown

        return {attribute.name: shown(attribute, self.codes[:, j]) for j, attribute in enumerate(self.quasi)}

    def _describe_quasi(self) -> list[dict[str, Any]]:
        from oneoff.releases.columns import describe_exact

        if self.is_part:  # others may show what this one does not
            return [describe_exact(attribute) for attribute in self.quasi]
        shown = (replace(a, labels=a.labels[np.unique(self.codes[:, j])]) for j, a in enumerate(self.quasi))
        return [describe_exact(attribute) for attribute in shown]
