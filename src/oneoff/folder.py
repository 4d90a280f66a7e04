"""From an outcome to a folder: what the steward keeps beside what goes out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.errors import PromiseBroken
from oneoff.outcome import Outcome
from oneoff.releases.private import HELD_OUT, SUPPRESSED
from oneoff.releases.published import PrivateFiles
from oneoff.table.databases import name_of_source
from oneoff.table.held_out import held_out_file

if TYPE_CHECKING:
    from oneoff.releases import Published
    from oneoff.report.guide import Guide
    from oneoff.report.page import About
    from oneoff.utility import Shape

__all__ = ["private_files", "public_pages", "recipients_guide", "write_outcome"]


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
    shape = cache(lambda: _shape(outcome))  # for the page and for the numbers behind it
    files: dict[str, bytes | Callable[[], bytes]] = {
        "verdict.json": _json(outcome.judged),
        "summary.json": _json(outcome.as_dict()),
        "report.html": lambda: _report_page(outcome, shape()),
        "report.json": lambda: _report_numbers(outcome, shape()),
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


def public_pages(release: Published, files: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
    """What a recipient is told, from what a recipient has: the release as it is read back, and its files."""
    from oneoff.report.guide import readme
    from oneoff.report.public_page import public_html

    guide = recipients_guide(release, files)
    return {"README.md": readme(guide).encode(), "report.html": public_html(guide).encode()}


def recipients_guide(release: Published, files: Mapping[str, Sequence[str]]) -> Guide:
    """The same before it is a page; files: the columns of every table, by the name of its file."""
    from oneoff.auto import foretold_of
    from oneoff.releases import has_entry
    from oneoff.report.guide import guide_of
    from oneoff.utility import expected_errors, released_columns

    columns = released_columns(release) if has_entry("oneoff.utility", "as_rows", release) else ()
    return guide_of(release, files, expected_errors(release), foretold_of(release), columns)


def _shape(outcome: Outcome) -> Shape | None:
    """What became of the columns; nothing for kinds of releases that nobody can draw rows from."""
    from oneoff.releases import has_entry
    from oneoff.utility import shape_of

    known = has_entry("oneoff.utility", "as_rows", outcome.release)
    return shape_of(outcome.release, outcome.table) if known else None


def _about(outcome: Outcome) -> About:
    from datetime import date

    from oneoff.report.page import About

    read = tomllib.loads(outcome.job).get("input", "") if outcome.job else ""
    today = date.today()
    return About(name_of_source(str(read)), f"{today.day} {today:%B %Y}", import_module("oneoff").__version__)


def _report_page(outcome: Outcome, shape: Shape | None) -> bytes:
    from oneoff.report.page import report_html

    page = report_html(
        outcome.as_dict(), outcome.verdict, outcome.utility, outcome.table, model=outcome.release.model, shape=shape,
        about=_about(outcome),
    )  # fmt: skip
    return page.encode()


def _report_numbers(outcome: Outcome, shape: Shape | None) -> bytes:
    from oneoff.report.numbers import report_numbers

    numbers = report_numbers(
        outcome.as_dict(), outcome.judged, outcome.verdict, outcome.utility, outcome.table,
        model=outcome.release.model, shape=shape, about=_about(outcome),
    )  # fmt: skip
    return _json(numbers)


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
