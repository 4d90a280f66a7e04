"""From an outcome to a folder: what the steward keeps beside what goes out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from oneoff.errors import PromiseBroken
from oneoff.outcome import Outcome
from oneoff.releases.private import HELD_OUT, SUPPRESSED
from oneoff.releases.published import PrivateFiles
from oneoff.table.held_out import held_out_file

__all__ = ["private_files", "write_outcome"]


def write_outcome(
    outcome: Outcome,
    folder: Path,
    *,
    csv: bool = False,
    raw_csv: bool = False,
    overwrite: bool = False,
    even_if_broken: bool = False,
    sign: str | None = None,
    warn: Callable[[str], None] | None = None,
) -> PromiseBroken | None:
    """Write both halves; when the public one is withheld, the private one is there all the same. Returns why."""
    try:
        outcome.release.write(
            folder, csv=csv, raw_csv=raw_csv, overwrite=overwrite, even_if_broken=even_if_broken, sign=sign, warn=warn
        )
    except PromiseBroken as withheld:
        return withheld
    return None


def private_files(outcome: Outcome) -> PrivateFiles:
    """Verdict, report, seed, and the job to repeat it; the report is drawn when all else is written."""
    files: dict[str, bytes | Callable[[], bytes]] = {
        "verdict.json": _json(outcome.judged),
        "summary.json": _json(outcome.as_dict()),
        "report.html": lambda: _report_page(outcome),
        "seed": f"{outcome.seed}\n".encode(),
    }
    release = outcome.release
    if outcome.left_out is not None and release.held_out is not None:
        rows = release.held_out if release.outliers is None else np.setdiff1d(release.held_out, release.outliers)
        files[HELD_OUT] = held_out_file(outcome.left_out, rows)
    if outcome.suppressed is not None and release.outliers is not None:
        files[SUPPRESSED] = held_out_file(outcome.suppressed, release.outliers)
    if outcome.job:
        files["job.toml"] = outcome.job.encode()
    return files


def _report_page(outcome: Outcome) -> bytes:
    from oneoff.report.page import report_html

    page = report_html(outcome.as_dict(), outcome.verdict, outcome.utility, outcome.table, model=outcome.release.model)
    return page.encode()


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
