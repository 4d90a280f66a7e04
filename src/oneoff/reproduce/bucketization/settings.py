"""What the figures of paper 002 share: OCC and EDU, and bucket settings, which depend on counts and ceilings alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from oneoff.mechanisms.bucketization.exact_size import exact_sizes
from oneoff.mechanisms.bucketization.multi_size import multi_sizes
from oneoff.mechanisms.bucketization.setting import Setting
from oneoff.mechanisms.bucketization.two_size import two_sizes
from oneoff.models import FPrivacy, Limits
from oneoff.reproduce.harness import Run
from oneoff.reproduce.tables import Tables, resampled
from oneoff.table import Table
from oneoff.table.arrays import Ints

__all__ = ["METHODS", "NAMES", "SOLVERS", "THETAS", "Task", "chosen_thetas", "people", "solved", "table_of"]

NAMES = ("OCC", "EDU")
THETAS = (2, 4, 8, 16, 32)
MOST = 50  # M' of the paper
SOLVERS: dict[str, Callable[..., Setting | None]] = {
    "TwoSize": two_sizes,
    "MultiSize": multi_sizes,
    "Optimal": exact_sizes,
}
METHODS = {"TwoSize": "two-size", "MultiSize": "multi-size", "Optimal": "exact-size"}


@cache
def table_of(tables: Tables, name: str, rows: int) -> Table:
    """So many people drawn from the 100,000 there are, with repeats where that takes them."""
    whole = {"OCC": tables.census_occ, "EDU": tables.census_edu}[name]()
    return resampled(whole, rows)


def people(run: Run) -> int:
    """The paper's default."""
    return run.pick(1_500, 300_000)


def chosen_thetas(run: Run) -> tuple[int, ...]:
    return run.pick((8, 32), THETAS)


@dataclass(frozen=True, eq=False)
class Task:
    """Counts of sensitive values, a theta of F'-privacy, and the largest bucket to try."""

    counts: Ints
    theta: int = 8
    most: int = MOST

    @property
    def people(self) -> int:
        return int(self.counts.sum())

    @property
    def ceilings(self) -> Limits:
        return FPrivacy(self.theta).caps(self.counts)

    @property
    def l(self) -> int:  # noqa: E743
        """Of the l-diversity that enforces the same ceilings (remark 1)."""
        return ceil(1 / min(self.ceilings.ceiling))

    @property
    def anatomy_exists(self) -> bool:
        return int(self.counts.max()) * self.l <= self.people

    @property
    def anatomy_msbs(self) -> float:
        """From sizes alone: as many buckets of l as there can be, and those left over one more in each."""
        number, more = divmod(self.people, self.l)
        return ((number - more) * (self.l - 1) ** 2 + more * self.l**2) / (self.people - 1)

    @property
    def sizes(self) -> Ints:
        return np.arange(ceil(1 / max(self.ceilings.ceiling)), self.most + 1)

    def solve(self, solver: Callable[..., Any], *given: Any) -> Any:
        return solver(self.counts, self.ceilings.up_to(self.people), self.sizes, *given)

    def msbs(self, setting: Setting) -> float:
        return setting.loss / (self.people - 1)


@cache
def solved(tables: Tables, name: str, rows: int, theta: int, label: str) -> Setting:
    found: Setting | None = Task(table_of(tables, name, rows).counts, theta).solve(SOLVERS[label])
    assert found is not None
    return found
