"""Whatever goes wrong while a release is written, and whenever: the earlier one is there, the new one, or none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import oneoff
from tests.releases.faults import SCENARIOS, Scenario, Trial, small_release, survive_errors

pytestmark = pytest.mark.skipif(os.name != "posix", reason="file operations as on POSIX")


@pytest.fixture(scope="module")
def releases() -> tuple[oneoff.Published, oneoff.Published]:
    return small_release()


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_operations_that_fail(
    scenario: Scenario, step: int, releases: tuple[oneoff.Published, oneoff.Published], tmp_path: Path
) -> None:
    failed = survive_errors(Trial(scenario, tmp_path / "place", *releases), step)
    if step == 1:
        assert {"mkdir", "open", "write", "fsync", "renameat2"} <= set(failed)
        assert {"unlink", "rmdir"} <= set(failed) or not scenario.overwrite


@pytest.mark.slow
def test_processes_that_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.releases.faults", str(tmp_path)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    assert [line.partition(":")[0] for line in ended.stdout.splitlines()] == [each.name for each in SCENARIOS]
