"""What commands print: sentences for people, one JSON object for programs, notices beside both."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from oneoff.errors import OneoffError

if TYPE_CHECKING:
    from oneoff.audit import Verdict

__all__ = [
    "MORE",
    "WIDTH",
    "Told",
    "error_details",
    "notify",
    "notify_once",
    "print_json",
    "print_lines",
    "verdict_text",
]

WIDTH = 110
MORE = "--verbose shows all that was measured."


def print_lines(lines: Iterable[str]) -> None:
    """Sentences are wrapped for reading; the rows of tables, which are indented, stay as they are."""
    for line in lines:
        wrapped = [line] if line.startswith(" ") or not line else textwrap.wrap(line, WIDTH)
        typer.echo("\n".join(wrapped))


def print_json(content: dict[str, Any]) -> None:
    typer.echo(json.dumps(content, ensure_ascii=False))


def verdict_text(verdict: Verdict, verbose: bool) -> list[str]:
    """A verdict on one screen, or all of it."""
    from oneoff.report.text import brief_verdict_lines, verdict_lines

    if verbose or verdict.unjudged:
        return verdict_lines(verdict)
    return [*brief_verdict_lines(verdict), "", MORE]


def notify(text: str) -> None:
    """On a line of its own: print, unlike typer, knows that a progress bar took over the terminal."""
    print(f"notice: {text}", file=sys.stderr)


@dataclass(frozen=True)
class Told:
    """Notices about the folder, which are told at once and kept for `--json`."""

    notices: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> None:
        self.notices.append(text)
        notify(text)


def notify_once() -> Callable[[str], None]:
    """The same, for somebody who is told a thing before the work and again after it."""
    said: set[str] = set()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            notify(text)

    return say


def error_details(error: OneoffError) -> list[str]:
    """What is allowed, what was got and a hint, on lines of their own."""
    labelled = (("allowed:", error.allowed), ("got:", error.got), ("hint:", error.hint))
    return [f"  {label:<9}{text}" for label, text in labelled if text]
