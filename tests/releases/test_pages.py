"""Data first, pages after: whatever drawing does, no release is lost by it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.csv
import pytest

import oneoff
from oneoff.errors import PromiseBroken
from oneoff.table import Table
from oneoff.table.sample import sample
from tests.command_line import Answer
from tests.command_line import oneoff as command


@pytest.fixture(scope="module")
def release(people: Table) -> oneoff.Published:
    return oneoff.anonymize(people, "k-anonymity:5", seed=1, method="mondrian")


def drawn_by(release: oneoff.Published, draw: Callable[[], bytes]) -> oneoff.Published:
    return replace(release, private_half=lambda: {"report.html": draw, "seed": b"1\n"})


def out_of_memory() -> bytes:
    raise MemoryError("no room for a picture\nand a long trace")


def published(source: Path, out: Path, *more: str) -> Answer:
    pyarrow.csv.write_csv(sample(200, seed=1), source)
    return command("anonymize", source, "--quasi", "age,gender", "--guarantee", "k-anonymity:5", "--out", out, *more,
                   report=True)  # fmt: skip


def test_a_page_that_cannot_be_drawn_is_a_notice(release: oneoff.Published, tmp_path: Path) -> None:
    told: list[str] = []
    folder = drawn_by(release, out_of_memory).write(tmp_path / "out", warn=told.append)
    report = folder / "private" / "report.html"
    assert told == [
        f"{str(report)!r} could not be drawn: MemoryError: no room for a picture; everything else is written"
    ]
    assert {path.name for path in report.parent.iterdir()} == {"files.txt", "links.parquet", "seed"}
    assert oneoff.verify(folder).holds
    release.write(folder, overwrite=True, warn=told.append)
    assert report.exists(), "one without its page is a release, too"
    assert len(told) == 1


def test_the_command_line_says_so_and_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneoff.report.page.report_html", lambda *given, **more: out_of_memory())
    answer = published(tmp_path / "people.csv", tmp_path / "out")
    assert answer.status == 0
    assert "report.html' could not be drawn: MemoryError" in answer.err
    assert "Written:" in answer.out
    assert "report.html" not in answer.out
    answer = published(tmp_path / "people.csv", tmp_path / "again", "--json")
    assert "could not be drawn" in answer.json["notices"][-1]


def test_stopping_while_a_page_is_drawn_keeps_the_release(release: oneoff.Published, tmp_path: Path) -> None:
    def stop() -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drawn_by(release, stop).write(tmp_path / "out")
    assert oneoff.verify(tmp_path / "out").holds


def test_a_page_never_gets_into_the_release_of_another_run(release: oneoff.Published, tmp_path: Path) -> None:
    def overtaken() -> bytes:
        replace(release, private_half=lambda: {"seed": b"2"}).write(tmp_path / "out", overwrite=True)
        return b"of the first run"

    told: list[str] = []
    drawn_by(release, overtaken).write(tmp_path / "out", warn=told.append)
    assert "replaced by another run" in told[0]
    assert not (tmp_path / "out" / "private" / "report.html").exists()


def test_what_is_withheld_has_its_page(release: oneoff.Published, tmp_path: Path) -> None:
    with pytest.raises(PromiseBroken):
        replace(drawn_by(release, lambda: b"why"), broken="a group is too small").write(tmp_path / "out")
    report = tmp_path / "out" / "private" / "report.html"
    assert report.read_bytes() == b"why"
    assert report.stat().st_mode & 0o777 == 0o600


_ABORT = """
import os, sys
from unittest import mock
with mock.patch("oneoff.report.page.report_html", lambda *given, **more: os.abort()):
    from oneoff.cli.main import main
    main()
"""


@pytest.mark.slow
def test_a_library_that_ends_the_process_takes_no_release_with_it(tmp_path: Path) -> None:
    arguments = ["demo", "--rows", "200", "--out", str(tmp_path / "out")]
    ended = subprocess.run([sys.executable, "-c", _ABORT, *arguments], check=False, capture_output=True)
    assert ended.returncode < 0
    assert oneoff.verify(tmp_path / "out").holds
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
