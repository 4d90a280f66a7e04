"""What a method that makes groups is asked for, and the last look at what it made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from oneoff.errors import Defect
from oneoff.mechanisms.columns import about_columns
from oneoff.mechanisms.persons import refuse_too_few
from oneoff.mechanisms.space import space_of
from oneoff.models import Counts, Limits, Model, Prior, by_column
from oneoff.models.limits import ANYBODY
from oneoff.plans import Partition
from oneoff.randomness import secret_generator
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["Effort", "NumericAs", "Report", "Task", "finish", "task_of"]

Effort = Literal["fast", "balanced", "best"]
NumericAs = Literal["range", "set"]
Report = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Task:
    """A table, a promise, and both in the form the compiled loops want.

    method   who does it, for messages
    values   the value of everybody, as `limits` counts them: all 0 where values play no part
    limits   what every group must keep, exact for groups as large as the table; of several columns nothing (`columns`)
    report   told the share that is done
    """

    method: str
    table: Table
    model: Model
    space: Space
    values: Codes
    limits: Limits
    rng: np.random.Generator
    report: Report

    def counts(self, rows: Ints) -> Ints:
        """How many of these people have each value."""
        return np.bincount(self.values[rows], minlength=self.limits.values)

    @property
    def everybody(self) -> Codes:
        """One group."""
        return np.zeros(self.table.rows, dtype=np.int32)

    def without_values(self) -> Task:
        """The same for a promise that says nothing about values but how many people a group must have."""
        return replace(self, values=self.everybody, limits=ANYBODY.with_least_size(self.limits.least_size))


def task_of(
    method: str,
    table: Table,
    model: Model,
    numeric_as: NumericAs = "range",
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Task:
    """The task, with the limits of the promise; ceilings are all they say, so a method that needs more asks for it."""
    several = about_columns(table, model)
    limits = ANYBODY if several else model.limits(table.counts, table.rows)
    rng, report = rng or secret_generator(), report or (lambda _: None)
    task = Task(method, table, model, space_of(table, numeric_as), table.values, limits, rng, report)
    return task if limits.values == len(table.counts) and not several else task.without_values()


def finish(task: Task, group: Codes, notes: tuple[str, ...] = ()) -> Partition:
    """The groups as a plan, after an exact look at every one of them; nothing else may leave a method."""
    table, model = task.table, task.model
    if len(group) != table.rows or int(group.min()) < 0:
        raise Defect(f"{task.method} left somebody without a group")
    for single, own in by_column(table, model):
        if own.failing(Counts.of_groups(group, single.values), Prior.of(single.counts)).any():
            raise Defect(f"{task.method} made a group that breaks {own.spec()}")
    refuse_too_few(task.method, table, model, group)
    return Partition(group, notes)
