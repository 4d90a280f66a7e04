"""The progress bar: for a terminal only, and gone when it is done."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from oneoff.report import progress_bar

STAGES = [("grouping", 0.0), ("grouping", 0.5), ("writing boxes", 0.0), ("auditing", 0.0), ("done", 1.0)]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _run() -> None:
    with progress_bar() as report:
        for stage, share in STAGES:
            report(stage, share)


def test_nothing_is_written_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    _run()
    assert capfd.readouterr() == ("", "")


def test_nor_to_a_dumb_one(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    _run()
    assert terminal.getvalue() == ""


def test_a_terminal_sees_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    _run()
    written = terminal.getvalue()
    assert "done" in written
    assert written.rstrip().endswith("\x1b[2K")  # the last thing done is to erase the line


def test_an_error_passes_through_and_leaves_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(ValueError, match="stop"), progress_bar():
        raise ValueError("stop")
    assert terminal.getvalue().rstrip().endswith("\x1b[2K")


def test_neither_oneoff_nor_the_report_room_loads_what_draws() -> None:
    code = "import sys, oneoff, oneoff.report; print({'altair', 'vl_convert', 'rich', 'numba'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
