"""The command line as a person uses it, but without starting an interpreter for every command."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

from typer.main import get_command

from oneoff.cli.main import main

__all__ = ["Answer", "oneoff"]

_COMMANDS = cache(get_command)  # typer looks at every parameter of every command anew each time


@dataclass(frozen=True)
class Answer:
    """What came out of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The single JSON object on stdout, read as strictly as the standard asks: no NaN, no Infinity."""
        found = json.loads(self.out, parse_constant=_refuse)
        assert isinstance(found, dict)
        assert self.out.count("\n") == 1, "one object on one line"
        return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def oneoff(*arguments: object, report: bool = False) -> Answer:
    """Run a command in this process. Pages take a while, so they are stubs unless asked for."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch("typer.main.get_command", _COMMANDS))
        stack.enter_context(mock.patch.object(sys, "argv", ["oneoff", *map(str, arguments)]))
        if not report:
            stack.enter_context(mock.patch("oneoff.report.page.report_html", return_value="<html></html>"))
            stack.enter_context(mock.patch("oneoff.report.public_page.public_html", return_value="<html></html>"))
            stack.enter_context(mock.patch("oneoff.utility.expected_errors", return_value=()))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        try:
            main()
        except SystemExit as stop:
            status = stop.code
    assert isinstance(status, int), status
    return Answer(status, out.getvalue(), err.getvalue())
