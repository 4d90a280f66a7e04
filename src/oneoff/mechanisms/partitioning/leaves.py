"""Groups of people divided further by the best of several plans: what `burel` and `sabre` have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneoff.mechanisms.partitioning.hilbert import hilbert_order, lined_up
from oneoff.mechanisms.task import Task
from oneoff.table.arrays import Codes, Ints

__all__ = ["Leaves", "leaves_of"]


@dataclass(frozen=True, eq=False)
class Leaves:
    """A task whose groups are divided in place.

    values   the value of everybody as the loop numbers them
    promise  what every group must keep, as the loop wants it
    divide   the loop: `kernels.burel.divide` or `kernels.sabre.divide`
    curve    everybody along a Hilbert curve
    """

    task: Task
    values: Codes
    promise: Any
    divide: Callable[..., None]
    curve: Ints

    def divided(self, group: Codes, plans: Sequence[tuple[float, ...]], *, across: bool) -> Codes:
        """Every group divided by the plan that loses least; whole where none gains anything.

        `across` says that some plan cuts across attributes, and so needs people in the order of each.
        """
        from oneoff.kernels.threads import spread

        task = self.task
        people, start = lined_up(task.table, self.curve, group, across)
        label, chance = np.empty(task.table.rows, dtype=np.int64), task.rng.random(task.table.rows)
        wanted, codes = np.array(plans), task.table.codes

        def run(first: int, last: int) -> None:
            self.divide(
                first, last, codes, self.values, task.space, self.promise, people, start, wanted, chance, label
            )  # fmt: skip

        spread(run, len(start) - 1)
        return _numbered(label)


def leaves_of(task: Task, values: Codes, promise: Any, divide: Callable[..., None]) -> Leaves:
    """Draws the order of people in the same cell of the curve."""
    return Leaves(task, values, promise, divide, hilbert_order(task.table, task.rng, common_first=True))


def _numbered(label: Ints) -> Codes:
    """Labels below n as numbers without gaps."""
    present = np.zeros(len(label), dtype=np.int32)
    present[label] = 1
    number = np.cumsum(present, dtype=np.int32) - 1
    return number[label]
