"""Every file operation of `write` goes wrong in turn, or is the last that its process does.

`python -m tests.releases.faults FOLDER` kills: a process of its own forks one that dies at the first operation, then
one that dies at the second, and so on. In what is written when it dies, half of the bytes arrive.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import oneoff
from oneoff.errors import OutputError
from oneoff.releases import renaming
from oneoff.releases.leftovers import clear_leftovers

__all__ = ["SCENARIOS", "Scenario", "Trial", "small_release", "survive_errors", "survive_kills"]

_OPERATIONS = ("mkdir", "open", "write", "fsync", "rename", "unlink", "rmdir", "scandir", "listdir", "stat", "lstat")
Snapshot = dict[str, bytes]


@dataclass(frozen=True)
class Scenario:
    """at_once   does the system exchange folders?"""

    name: str
    overwrite: bool
    at_once: bool


SCENARIOS = [Scenario("new", False, True), Scenario("exchanged", True, True), Scenario("in two steps", True, False)]


def small_release() -> tuple[oneoff.Published, oneoff.Published]:
    """An earlier release and the one that is to replace it."""
    from oneoff.table.read import read_table
    from oneoff.table.sample import SAMPLE_ROLES, sample

    table = read_table(sample(60, seed=3), **SAMPLE_ROLES)
    made = [oneoff.anonymize(table, f"k-anonymity:{k}", seed=1, method="mondrian", columns="box") for k in (5, 7)]
    earlier, later = [
        replace(
            release,
            private_half=lambda: {"report.html": lambda: b"page", "seed": b"1"},
            public_pages=lambda release, files: {"README.md": b"guide"},
        )
        for release in made
    ]
    return earlier, later


@contextmanager
def _broken(happen: Callable[[int, str, tuple[Any, ...]], None]) -> Iterator[list[str]]:
    """Tell somebody before every file operation, with its number."""
    done: list[str] = []

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*given: Any, **more: Any) -> Any:
            done.append(name)
            happen(len(done) - 1, name, given)
            return real(*given, **more)

        return operation

    renames = mock.patch.object(renaming, "_renamed", watched("renameat2", renaming._renamed))
    with renames, mock.patch.multiple(os, **{name: watched(name, getattr(os, name)) for name in _OPERATIONS}):
        yield done


def _snapshot(folder: Path) -> Snapshot:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@dataclass(frozen=True)
class Trial:
    """A folder in which a release is written again and again, and what it may look like afterwards."""

    scenario: Scenario
    place: Path
    earlier: oneoff.Published
    later: oneoff.Published

    def begin(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        if self.scenario.overwrite:
            self.earlier.write(self.out)

    @property
    def out(self) -> Path:
        return self.place / "out"

    def write(self) -> None:
        with mock.patch.object(
            renaming, "_system_call", renaming._system_call if self.scenario.at_once else lambda: None
        ):
            self.later.write(self.out, csv=True, overwrite=self.scenario.overwrite, warn=lambda text: None)

    def operations(self) -> list[str]:
        self.begin()
        with _broken(lambda number, name, given: None) as done:
            self.write()
        return done

    def allowed(self) -> list[Snapshot | None]:
        """The earlier release or nothing; the new one, or that without its page."""
        self.begin()
        before = _snapshot(self.out) if self.scenario.overwrite else None
        self.write()
        whole = _snapshot(self.out)
        part = {name: content for name, content in whole.items() if name != "private/report.html"}
        torn = whole | {"private/report.html": b"pa"}
        return [before, whole, part, part | {"private/report.html": b""}, torn]

    def found(self) -> Snapshot | None:
        return _snapshot(self.out) if self.out.exists() else None

    def check(self, allowed: list[Snapshot | None], when: str) -> None:
        """Old, new or nothing, after the next run had a look; and that run can do its work."""
        clear_leftovers(self.out, lambda text: None)
        found = self.found()
        assert found in allowed, f"{when}: {sorted(found or ())}"
        left = [path.name for path in self.place.iterdir() if path != self.out]
        assert all(not any((self.place / name).iterdir()) for name in left), f"{when}: {left}"  # begun this moment
        self.later.write(self.out, overwrite=True)


def survive_errors(trial: Trial, step: int = 1) -> list[str]:
    """Let operations fail, one in each run; returns those that did."""
    allowed, operations = trial.allowed(), trial.operations()
    for number in range(0, len(operations), step):

        def fail(now: int, name: str, given: tuple[Any, ...], number: int = number) -> None:
            if now == number:
                raise OSError(errno.EIO, "the disk is on fire")

        trial.begin()
        try:
            with _broken(fail):
                trial.write()
        except OutputError:
            pass
        when = f"{trial.scenario.name}, operation {number}, {operations[number]}, fails"
        assert trial.found() in allowed, f"{when}: it is for the next run to repair"
        trial.check(allowed, when)
    return operations[::step]


def survive_kills(trial: Trial) -> list[str]:
    """Let a process die at each operation; returns those at which one did."""
    allowed, operations = trial.allowed(), trial.operations()
    for number in range(len(operations)):
        trial.begin()
        child = os.fork()
        if not child:
            _die_at(number, trial)
        _, status = os.waitpid(child, 0)
        when = f"{trial.scenario.name}, killed at operation {number}, {operations[number]}"
        assert os.WIFSIGNALED(status), f"{when}: it lived, and ended with {status}"
        assert os.WTERMSIG(status) == signal.SIGKILL, f"{when}: {status}"
        trial.check(allowed, when)
    return operations


def _die_at(number: int, trial: Trial) -> None:
    signal.alarm(60)
    real = os.write

    def die(now: int, name: str, given: tuple[Any, ...]) -> None:
        if now == number:
            if name == "write":
                real(given[0], given[1][: len(given[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    with _broken(die):
        trial.write()
    os._exit(0)


def main(place: Path) -> None:
    os.fsync = lambda file: None  # nobody cuts the power here
    earlier, later = small_release()
    for scenario in SCENARIOS:
        died = survive_kills(Trial(scenario, place / scenario.name, earlier, later))
        print(f"{scenario.name}: {len(died)} kills")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
