"""What takes long: a release, a sweep, a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneoff.comparison import compare, line_of
from oneoff.job import read_job
from oneoff.larger.placing import publish_to_place
from oneoff.outcome import Outcome
from oneoff.report.text import brief_verdict_lines, utility_lines
from oneoff.sweeping import sweep

__all__ = ["compare_methods", "publish", "sweep_values"]

Report = Callable[[str, float], None]
Warn = Callable[[str], None]
_LOSSES = 15  # columns whose loss is listed


def publish(job: str, seed_file: str | None, report: Report, warn: Warn) -> dict[str, Any]:
    """`oneoff anonymize job.toml --json`, with the words and the line of a comparison that belong to it.

    job   the path of the job file
    """
    report("reading", 0.0)
    asked, told = read_job(job, {"seed_file": seed_file}), list[str]()
    placed = publish_to_place(asked, report=report, warn=warn, told=told.append)
    outcome = placed.outcome
    return {
        "outcome": placed.as_dict(told),
        "verdict": brief_verdict_lines(outcome.verdict),
        "utility": utility_lines(outcome.utility, _LOSSES),
        "line": line_of(outcome, asked.options).as_dict() if isinstance(outcome, Outcome) else None,
    }


def sweep_values(
    job: str, seed_file: str | None, guarantee: str, methods: Sequence[str], repeat: int, report: Report
) -> dict[str, Any]:
    """`oneoff sweep job.toml --json`."""
    report("reading", 0.0)
    asked = read_job(job, {"guarantee": guarantee, "seed_file": seed_file})
    return sweep(
        asked.read_table(), asked.guarantee, methods=methods or None, repeat=repeat, seed=asked.chosen_seed(),
        most_rows=asked.rows_of_a_person(), max_suppressed=asked.max_suppressed, report=report,
    ).as_dict()  # fmt: skip


def compare_methods(job: str, seed_file: str | None, methods: Sequence[str], report: Report) -> dict[str, Any]:
    """`oneoff compare job.toml --json`."""
    report("reading", 0.0)
    asked = read_job(job, {"seed_file": seed_file})
    table = asked.read_table()
    found = compare(
        table, asked.guarantee, methods=methods or None, seed=asked.chosen_seed(), hold_out=asked.hold_out,
        most_rows=asked.rows_of_a_person(), max_suppressed=asked.max_suppressed, report=report,
    )  # fmt: skip
    return {"guarantee": asked.guarantee, "rows": table.rows, "methods": [each.as_dict() for each in found]}
