"""Which solver a table goes to, and what is divided before: all shapes of a quasi-identifier in, their tables out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oneoff.mechanisms.masking.large_tables import solve_large
from oneoff.mechanisms.masking.programs import too_many_pairs
from oneoff.mechanisms.masking.shapes import Answer, Shapes, TableProblem, joined
from oneoff.mechanisms.masking.small_tables import solve_small
from oneoff.mechanisms.masking.table_pieces import in_pieces
from oneoff.table.arrays import Flags, Ints

__all__ = ["solve"]

Report = Callable[[float], None]

_AT_ONCE = 4_000_000  # entries of full tables that are kept before they are made sparse


def solve(shapes: Shapes, problem: TableProblem, report: Report) -> Answer:
    """Tables of all shapes; those that are too large as a whole in pieces."""
    divided = _too_large(shapes, problem)
    whole, steps = np.flatnonzero(~divided), 1 + int(divided.sum())
    found: list[tuple[Ints, Answer]] = []
    if len(whole):
        found.append((whole, _solve_whole(shapes.take(whole), problem, _part_of(report, 0, steps))))
    for done, t in enumerate(np.flatnonzero(divided).tolist(), start=1):
        pieces = in_pieces(*shapes.one(t), problem)
        parts = _solve_whole(pieces.shapes, problem.of_parts(pieces.number), _part_of(report, done, steps))
        found.append((np.array([t]), pieces.together(parts)))
    return joined(found)


def _too_large(shapes: Shapes, problem: TableProblem) -> Flags:
    """Of which shapes the tables take too long to solve as a whole."""
    large = shapes.rows.lengths > problem.most_rows
    for t in np.flatnonzero(large).tolist():
        large[t] = too_many_pairs(*shapes.one(t), problem)
    return large


def _part_of(report: Report, done: int, steps: int) -> Report:
    """Progress of one step as that of all."""
    return lambda share: report((done + share) / steps)


def _solve_whole(shapes: Shapes, problem: TableProblem, report: Report) -> Answer:
    """Each table in one piece: small ones by column generation, the others by HiGHS."""
    small = shapes.rows.lengths <= problem.most_rows
    found: list[tuple[Ints, Answer]] = []
    left = [np.flatnonzero(~small)]
    for some in _portions(np.flatnonzero(small), shapes.entries):
        made = solve_small(shapes.take(some), problem)
        ended = made.reserve >= 0  # the simplex may not come to an end
        found.append((some[ended], made.only(ended)))
        left.append(some[~ended])
        report(float(some[-1] + 1) / shapes.tables)
    large = np.sort(np.concatenate(left))
    if len(large):
        done = 1 - len(large) / shapes.tables
        rest = solve_large(shapes.take(large), problem, lambda share: report(done + (1 - done) * share))
        found.append((large, rest))
    return joined(found)


def _portions(chosen: Ints, entries: Ints) -> list[Ints]:
    """Slices whose full tables fit in memory together."""
    if not len(chosen):
        return []
    number = np.cumsum(entries[chosen]) // _AT_ONCE
    return np.split(chosen, np.flatnonzero(np.diff(number)) + 1)
