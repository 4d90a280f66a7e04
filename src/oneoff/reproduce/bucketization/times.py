"""Figures 6 and 7: how long it takes to find a bucket setting, over people and over values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneoff.mechanisms.bucketization.exact_size import exact_sizes
from oneoff.mechanisms.bucketization.multi_size import multi_sizes
from oneoff.mechanisms.bucketization.two_size import two_sizes
from oneoff.reproduce.bucketization.program import TooLong, two_sizes_by_program
from oneoff.reproduce.bucketization.settings import NAMES, Task, table_of
from oneoff.reproduce.harness import Point, Run, timed
from oneoff.table.arrays import Ints

__all__ = ["figure_6", "figure_7"]

PROGRAM, GENERAL = "Optimal (ILP, two sizes)", "any sizes, exact (ours)"
SEARCHES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "No-pruning": (two_sizes, ("none",)),
    "Loss-pruning": (two_sizes, ("loss",)),
    "Full-pruning": (two_sizes, ("full",)),
    PROGRAM: (two_sizes_by_program, ()),
    "MultiSize": (multi_sizes, ()),
    GENERAL: (exact_sizes, ()),
}
THREE = ("No-pruning", "Loss-pruning", "Full-pruning")


def figure_6(run: Run) -> None:
    sizes = run.pick([1_000, 1_500], [100_000, 200_000, 300_000, 400_000, 500_000])
    tasks = {name: {n: _task(run, table_of(run.tables, name, n).counts) for n in sizes} for name in NAMES}
    points = _series(run, tasks)
    text = "theta = 8. CPU seconds to find a setting, without reading, dealing and checking."
    run.lines("figure-6", "Time and people", points, x="people", y="CPU seconds", log_y=True, text=text)
    for name in NAMES:
        taken = _by_series(points, name)
        loss, full = taken["Loss-pruning"], taken["Full-pruning"]
        pruned = all(a < b for a, b in zip(loss, taken["No-pruning"], strict=False))
        constant = max(full) < 2 * min(full) + 0.01
        grows = loss[-1] > loss[0]
        run.claim(
            f"Figure 6, {name}",
            paper="Loss-pruning takes much less time than No-pruning and grows with the people; Full-pruning takes the "
            "least and stays constant; Optimal takes less than No-pruning.",
            found=_said(taken),
            same="same"
            if pruned and grows and constant and max(full) <= max(loss) and taken[PROGRAM][-1] < taken["No-pruning"][-1]
            else "in part",
            why=_why_6(taken, pruned, constant),
        )


def _why_6(taken: dict[str, list[float]], pruned: bool, constant: bool) -> str:
    reasons = []
    if not pruned:
        reasons.append("Loss-pruning is not always faster: where little can be pruned it only adds tests.")
    if not constant:
        reasons.append("Full-pruning takes milliseconds, whose changes are chance.")
    if max(taken["Full-pruning"]) > max(taken["Loss-pruning"]):
        reasons.append("Loss-pruning finds a good setting early here and leaves little to prune more.")
    if taken[PROGRAM][-1] >= taken["No-pruning"][-1]:
        reasons.append("The sequential search is compiled here; a program is solved for every pair of sizes.")
    return " ".join(reasons)


def figure_7(run: Run) -> None:
    n, factors = run.pick((1_500, (2, 4)), (500_000, (2, 4, 8, 16, 32, 64)))
    draw = np.random.default_rng(run.seed)
    tasks = {
        name: {f: _task(run, _finer(table_of(run.tables, name, n).counts, f, draw)) for f in factors} for name in NAMES
    }
    points = _series(run, tasks)
    text = (
        f"{n:,} people, theta = 8; every value is replaced by one of so many new ones at random (section 7.3.2). A "
        f"method stops when a run takes longer than {_patience(run):.0f} seconds."
    )
    run.lines(
        "figure-7", "Time and values", points, x="scale factor", y="CPU seconds", log_x=True, log_y=True, text=text
    )
    for name in NAMES:
        taken = _by_series(points, name)
        growth = {label: times[-1] / times[0] for label, times in taken.items()}
        steps = len(taken[PROGRAM]) - 1
        doubled = growth[PROGRAM] ** (1 / max(steps, 1))
        falls = growth["No-pruning"] < 1
        slow = growth[PROGRAM] > max(growth[label] for label in THREE)
        run.claim(
            f"Figure 7, {name}",
            paper="Optimal grows exponentially with the number of values, the others little; No-pruning even falls.",
            found=f"Optimal takes {doubled:.1f} times as long for twice the values; from the least to the largest "
            f"factor No-pruning takes {growth['No-pruning']:.2g}, Loss-pruning {growth['Loss-pruning']:.2g}, "
            f"Full-pruning {growth['Full-pruning']:.2g} times as long. {_said(taken)}",
            same="same" if doubled > 2.5 and falls and slow else "in part" if falls or slow else "not the same",
            why=""
            if doubled > 2.5
            else "HiGHS solves one program in milliseconds, and more values leave fewer pairs of sizes.",
        )


def _finer(counts: Ints, factor: int, rng: np.random.Generator) -> Ints:
    finer = np.concatenate([rng.multinomial(count, np.full(factor, 1 / factor)) for count in counts])
    return finer[finer > 0]


def _task(run: Run, counts: Ints) -> Task:
    return Task(counts, 8, run.pick(16, 50))


def _patience(run: Run) -> float:
    return run.pick(5.0, 40.0)


def _series(run: Run, tasks: dict[str, dict[int, Task]]) -> list[Point]:
    """CPU seconds; a method that took too long is not continued. Compiling does not count."""
    for solver, given in SEARCHES.values():
        Task(np.array([40, 30, 20, 10]), most=8).solve(solver, *given)
    points = list[Point]()
    for name, cases in tasks.items():
        tired = set[str]()
        for at, task in cases.items():
            for label in SEARCHES:
                if label not in tired:
                    seconds = _seconds(run, task, label)
                    if seconds is None or seconds > _patience(run):
                        tired.add(label)
                    if seconds is not None:
                        points.append(Point(label, at, seconds, name))
                    run.say(f"{name} {at}: {label} {'too long' if seconds is None else f'{seconds:.3f} s'}")
    return points


def _seconds(run: Run, task: Task, label: str) -> float | None:
    """The mean of several runs where one is short; None if it was given up."""
    solver, given = SEARCHES[label]
    given = (_patience(run),) if label == PROGRAM else given
    taken = list[float]()
    while not taken or (sum(taken) < 0.3 and len(taken) < 10):
        try:
            taken.append(timed(lambda: task.solve(solver, *given))[1])
        except TooLong:
            return None
    return float(np.mean(taken))


def _by_series(points: list[Point], name: str) -> dict[str, list[float]]:
    return {label: [p.y or 0.0 for p in points if p.series == label and p.panel == name] for label in SEARCHES}


def _said(taken: dict[str, list[float]]) -> str:
    spans = [f"{label} {times[0]:.2g} to {times[-1]:.2g} s" for label, times in taken.items() if times]
    return "; ".join(spans) + "."
