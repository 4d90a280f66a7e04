"""Plain rows: the columns of the table again, every one of them shuffled inside its group by itself.

They are drawn from the release alone, so they say nothing that it does not say, and any tool can read them. A row is
not a person, though: only what is counted column by column inside a group is true of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect
from oneoff.releases.tallies import ColumnTallies
from oneoff.releases.weights import CellWeights
from oneoff.table import Attribute
from oneoff.table.arrays import Codes, Floats, Ints
from oneoff.table.table import ValueColumns

if TYPE_CHECKING:
    import pyarrow

__all__ = ["ABOUT", "PlainRows", "draw_rows", "read_rows", "rows_table"]

ABOUT = (
    "rows are not people: every column was shuffled inside its group by itself; a count of equal rows says nothing "
    "about k; correlations inside a group are gone"
)


@dataclass(frozen=True, eq=False)
class PlainRows:
    """codes[r, j] of quasi-identifier j, a sensitive value with what travels with it, the mean weight of a group."""

    codes: Codes
    values: Codes
    kept: Codes | None
    weight: Floats | None = None

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.values) or (self.kept is not None and len(self.kept) != len(self.values)):
            raise Defect("the columns of the plain rows have different lengths")
        for array in (self.codes, self.values, self.kept, self.weight):
            if array is not None:
                array.flags.writeable = False

    def of_column(self, columns: ValueColumns, name: str) -> PlainRows:
        """With one sensitive column only; `columns` are those of the records."""
        own = columns._replace(values=self.values, kept=self.kept).of_column(name)
        return replace(self, values=own.values, kept=own.kept)

    def refuse_other(
        self, tallies: ColumnTallies, values: Codes, kept: Codes | None, weights: CellWeights | None
    ) -> None:
        """Every column must have the very values that the groups have; so must values with what travels with them."""
        for j, width in enumerate(tallies.widths):
            shown, there = (np.bincount(code, minlength=width) for code in (self.codes[:, j], tallies.expanded(j)))
            if not np.array_equal(shown, there):
                raise ValueError("microdata.parquet and columns.parquet have different values of a quasi-identifier")
        if not np.array_equal(_ranked(self.values, self.kept), _ranked(values, kept)):
            raise ValueError("microdata.parquet and data.parquet have different sensitive or kept values")
        if self.weight is not None and weights is not None:
            weights.refuse_other(self.weight, tallies.size)


def _ranked(values: Codes, kept: Codes | None) -> npt.NDArray[np.integer]:
    """The rows in an order of their own."""
    rows = values[None] if kept is None else np.concatenate((values[None], kept.T))
    return rows[:, np.lexsort(rows)]


def draw_rows(
    tallies: ColumnTallies,
    group: Codes,
    values: Codes,
    kept: Codes | None,
    rng: np.random.Generator,
    weights: CellWeights | None = None,
) -> PlainRows:
    """Shuffle every column inside its group, then all rows. Record r has the value values[r], in group[r]."""
    owner = np.repeat(np.arange(tallies.groups), tallies.size)
    columns = [tallies.expanded(j)[_shuffled(owner, rng)] for j in range(len(tallies.columns))]
    record, row = _shuffled(group, rng), rng.permutation(len(group))
    shown = None if kept is None else kept[record][row]
    weight = None if weights is None else weights.mean[owner][row]
    return PlainRows(np.stack(columns, axis=1)[row], values[record][row], shown, weight)


def _shuffled(group: npt.NDArray[np.integer], rng: np.random.Generator) -> Ints:
    """The places group by group, in random order in each; the same one on every machine."""
    return np.argsort(group.astype(np.int64) << 31 | rng.integers(0, 2**31, len(group)), kind="stable")


def rows_table(
    rows: PlainRows, quasi: Sequence[Attribute], sensitive: Attribute | None, keep: tuple[Attribute, ...], weight: str
) -> pyarrow.Table:
    """With the columns and types of the original; the name of the weight, where rows have one."""
    import pyarrow as pa

    from oneoff.releases.columns import shown, value_columns

    columns = {attribute.name: shown(attribute, rows.codes[:, j]) for j, attribute in enumerate(quasi)}
    columns |= value_columns(sensitive, rows.values, keep, rows.kept)
    return pa.table(columns | ({} if rows.weight is None else {weight: pa.array(rows.weight)}))


def read_rows(
    frame: pyarrow.Table,
    quasi: Sequence[Attribute],
    sensitive: Attribute | None,
    keep: tuple[Attribute, ...],
    weights: CellWeights | None = None,
) -> PlainRows:
    from oneoff.releases.columns import codes, numbers, read_values

    columns = [codes(frame[a.name].combine_chunks(), a.labels) for a in quasi]
    kept = [_with_gaps(frame[a.name].combine_chunks(), a) for a in keep]
    values = read_values(sensitive, frame)
    weight = None if weights is None else numbers(frame, weights.name)
    return PlainRows(np.stack(columns, axis=1), values, np.stack(kept, axis=1) if kept else None, weight)


def _with_gaps(column: pyarrow.Array, attribute: Attribute) -> Codes:
    """The codes of a column that may lack values."""
    from oneoff.releases.columns import codes

    found = np.full(len(column), -1, dtype=np.int32)
    there = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    found[there] = codes(column.take(there), attribute.labels)
    return found
