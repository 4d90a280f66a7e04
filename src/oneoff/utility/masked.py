"""What masked records are still good for: they are taken as they are. How far they moved: `masking.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.releases import Masked
from oneoff.table import Table
from oneoff.table.arrays import Floats
from oneoff.utility.aggregates import Aggregates, Answers, columns_of, sums
from oneoff.utility.counting import from_records
from oneoff.utility.loss import Utility, Yardsticks
from oneoff.utility.masking import masking
from oneoff.utility.shape import Columns, of_columns

__all__ = ["answer", "as_rows", "estimate", "measure"]

estimate = from_records


def measure(release: Masked, table: Table | None, by: Yardsticks) -> Utility:
    """Single values, but not the true ones: what they lose is how far they moved, which the table tells."""
    unknown = Utility(None, None, None, None, None, {})
    if table is None:
        return unknown
    moved = masking(release, table)
    return replace(unknown, per_attribute=moved.per_attribute or {}, iloss=moved.iloss, masking=moved)


def as_rows(release: Masked, rng: np.random.Generator) -> Columns:
    return of_columns(release, release.codes, release.values)


def answer(release: Masked, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    return Answers(sums(columns_of(release, table), numbers[release.values], queries))
