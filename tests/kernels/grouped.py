"""People in groups, as the loops want them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from oneoff.kernels.deals import redeal
from oneoff.kernels.groups import total_loss
from oneoff.mechanisms.space import space_of
from oneoff.models.limits import ANYBODY
from oneoff.table import Attribute, Table
from tests.tables import tables

__all__ = ["NO_LIMITS", "Floats", "Grouped", "Ints", "divided", "grouped", "line", "tightest"]

Ints = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]

NO_LIMITS = ANYBODY.rows


@dataclass(frozen=True, eq=False)
class Grouped:
    """A table whose people lie in groups, as the kernels want them."""

    table: Table
    start: Ints
    member: Ints

    @property
    def groups(self) -> list[Ints]:
        return np.split(self.member, self.start[1:-1])

    @property
    def loss(self) -> int:
        return int(total_loss(self.table.codes, space_of(self.table), self.start, self.member).sum())

    def redealt(self, limits: Ints, order: Ints, begin: Ints, offers: Ints, soft: float = 0.0) -> Grouped:
        member, space = self.member.copy(), space_of(self.table)
        values = self.table.values if limits is not NO_LIMITS else np.zeros_like(self.table.values)
        redeal(self.table.codes, values, space, limits, self.start, member, order, begin, offers, soft)
        return Grouped(self.table, self.start, member)

    def counts(self) -> Ints:
        return np.array([np.bincount(self.table.values[g], minlength=len(self.table.counts)) for g in self.groups])

    def limits(self) -> Ints:
        """The tightest ceilings and floors that all groups keep."""
        return tightest(self.table, self.groups)

    def keeps(self, limits: Ints) -> bool:
        size = np.diff(self.start)[:, None]
        counts = self.counts()
        below, above = counts * limits[1] <= limits[0] * size, counts * limits[3] >= limits[2] * size
        return bool((below & above).all())


@st.composite
def grouped(draw: st.DrawFn, most_groups: int = 5, most: int = 20) -> Grouped:
    table = draw(tables(most=most))
    start = draw(divided(table.rows, most_groups))
    return Grouped(table, start, np.array(draw(st.permutations(range(table.rows))), dtype=np.int64))


@st.composite
def divided(draw: st.DrawFn, people: int, most_groups: int) -> Ints:
    """Where so many groups at the most begin, and the end of the last."""
    many = draw(st.integers(1, min(most_groups, people)))
    edges = draw(st.permutations(range(1, people)))[: many - 1]
    return np.array([0, *sorted(edges), people], dtype=np.int64)


def line(ages: list[int], values: list[int] | None = None) -> Table:
    """People on a number line."""
    labels, codes = np.unique(np.array(ages), return_inverse=True)
    marks = np.array(values or [0] * len(ages), dtype=np.int32)
    column = codes.reshape(-1, 1).astype(np.int32)
    return Table((Attribute("x", "numeric", labels),), column, Attribute("s", "numeric", np.unique(marks)), marks)


def tightest(table: Table, groups: list[Ints]) -> Ints:
    """The tightest ceilings and floors that all groups keep."""
    counts = [np.bincount(table.values[g], minlength=len(table.counts)).tolist() for g in groups]
    shares = [[Fraction(c[v], len(g)) for c, g in zip(counts, groups, strict=True)] for v in range(len(table.counts))]
    top, bottom = [max(s) for s in shares], [min(s) for s in shares]
    parts = [[f.numerator for f in top], [f.denominator for f in top]]
    parts += [[f.numerator for f in bottom], [f.denominator for f in bottom], [0] * len(top)]
    return np.array(parts, dtype=np.int64)
