"""A progress bar for people, and nothing for pipes and log files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["described", "progress_bar"]

_STAGES = {
    "reading": "reading the table",
    "grouping": "grouping people",
    "writing boxes": "writing what each group shows",
    "auditing": "checking as an adversary",
    "done": "done",
}


@contextmanager
def progress_bar(*, shown: bool = True) -> Iterator[Callable[[str, float], None]]:
    """Yield `report(stage, share)`, which moves a bar on stderr; the bar is gone afterwards.

    Where stderr is no terminal, or nothing is to be shown, nothing is written at all.
    """
    if not shown or not _is_terminal():
        yield lambda stage, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def report(stage: str, share: float) -> None:
            # the bar pulses until the first share is known, which after a compilation takes a while
            bar.update(task, description=described(stage, share), completed=share, total=1.0 if share > 0 else None)

        yield report


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def described(stage: str, share: float) -> str:
    """A stage in words."""
    text = _STAGES.get(stage, stage)
    return f"{text} (the first run also compiles)" if stage == "grouping" and share == 0 else text
