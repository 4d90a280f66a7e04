"""What takes long: a release, a sweep, a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oneoff.comparison import compare, line_of, method_of
from oneoff.job import Job, read_job
from oneoff.larger.placing import Placed, publish_to_place
from oneoff.outcome import Outcome
from oneoff.publish import repeats
from oneoff.report.comparison import comparison_html, comparison_parts
from oneoff.report.page import report_parts
from oneoff.report.sweep import sweep_html, sweep_parts
from oneoff.report.text import brief_verdict_lines, utility_lines
from oneoff.studio.work.parts import plain_parts
from oneoff.sweeping import promises, sweep

__all__ = ["beside", "check_methods", "check_sweep", "compare_methods", "publish", "sweep_values"]

Report = Callable[[str, float], None]
Warn = Callable[[str], None]
_LOSSES = 15  # columns whose loss is listed
_SHOWN = ("headline", "costs", "promised", "checked", "attacks", "learned", "risk", "nearest", "believed", "next")


def publish(job: str, seed_file: str | None, report: Report, warn: Warn) -> dict[str, Any]:
    """`oneoff anonymize job.toml --json` as `outcome`, with the parts of its report and its line of a comparison.

    `repeats`: does the command line make the same of it, with the job and the seed of the private half?

    job   the path of the job file
    """
    report("reading", 0.0)
    asked, told = read_job(job, {"seed_file": seed_file}), list[str]()
    placed = publish_to_place(asked, report=report, warn=warn, told=told.append)
    summary = placed.as_dict(told)
    return {
        "outcome": summary,
        "verdict": brief_verdict_lines(placed.outcome.verdict),
        "utility": utility_lines(placed.outcome.utility, _LOSSES),
        **_in_memory(placed, asked, summary),
    }


def _in_memory(placed: Placed, job: Job, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a release whose table was in memory."""
    outcome = placed.outcome
    if not isinstance(outcome, Outcome):
        return {"parts": None, "line": None, "repeats": "seconds" not in job.options}
    parts = report_parts(summary, outcome.verdict, outcome.utility, outcome.table, model=outcome.release.model)
    return {
        "parts": plain_parts({name: parts[name] for name in _SHOWN}),
        "line": line_of(outcome, job.options).as_dict(),
        "repeats": repeats(outcome.release.method, job.options, seeded=job.chosen_seed() is not None),
    }


def sweep_values(
    job: str, seed_file: str | None, guarantee: str, methods: Sequence[str], repeat: int, report: Report
) -> dict[str, Any]:
    """`oneoff sweep job.toml --json`, with its page and the parts of it."""
    report("reading", 0.0)
    asked = read_job(job, {"guarantee": guarantee, "seed_file": seed_file})
    swept = sweep(
        asked.read_table(), asked.guarantee, methods=methods or None, repeat=repeat, seed=asked.chosen_seed(),
        most_rows=asked.rows_of_a_person(), max_suppressed=asked.max_suppressed, report=report,
    ).as_dict()  # fmt: skip
    return {"swept": swept, "parts": plain_parts(sweep_parts(swept)), "page": sweep_html(swept)}


def compare_methods(job: str, seed_file: str | None, methods: Sequence[str], report: Report) -> dict[str, Any]:
    """`oneoff compare job.toml --json`, with its page and the parts of it."""
    report("reading", 0.0)
    asked = read_job(job, {"seed_file": seed_file})
    found = compare(
        asked.read_table(), asked.guarantee, methods=methods or None, seed=asked.chosen_seed(),
        hold_out=asked.hold_out, most_rows=asked.rows_of_a_person(), max_suppressed=asked.max_suppressed,
        report=report,
    )  # fmt: skip
    rows = [each.as_dict() for each in found]
    return {"methods": rows, "parts": beside(rows), "page": comparison_html(rows, asked.guarantee)}


def beside(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The parts of a comparison, of lines that are there already."""
    return plain_parts(comparison_parts(rows))


def check_sweep(guarantee: str, methods: Sequence[str]) -> list[str]:
    """The promises that a sweep would try; what cannot be one is refused before it starts."""
    check_methods(methods)
    return [text for text, _, _ in promises(guarantee)]


def check_methods(methods: Sequence[str]) -> list[str]:
    """Names of methods, with the options they have."""
    return [method_of(text)[0] for text in methods]
