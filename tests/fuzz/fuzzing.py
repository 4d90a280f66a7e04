"""Drawing inputs for a target for as long as there is time, and keeping what is found, made small.

The same seed draws the same inputs in the same order; how many of them there is time for is up to the machine.
"""

from __future__ import annotations

import faulthandler
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky
from numba.core.dispatcher import Dispatcher

from tests.fuzz.targets import Found, Target, empty

__all__ = ["Run", "fuzz"]

MOST_SECONDS = 5  # of processor time for one input
MOST_MEMORY = 1 << 30  # bytes by which inputs may make the process grow
_HANGS = 300  # seconds after which a process that does not even return to Python is ended
_ROUND = 100  # inputs between two looks at the clock


class TooLong(BaseException):
    """Not an Exception: nothing on the way may take it for an error of its own."""


@dataclass
class Run:
    """Inputs that were tried, and for each kind of failure the smallest input that shows it."""

    tried: int = 0
    found: dict[str, str] = field(default_factory=dict)


def fuzz(target: Target, place: Path, number: int, *, seconds: float = 1e9, rounds: int = 10**9) -> Run:
    """Try inputs until the time is over or so many rounds were made.

    number   the seed
    """
    run, end = Run(), time.monotonic() + seconds
    most = _memory() + MOST_MEMORY
    many = _ROUND if rounds > 1 else 10
    with _compiling_for_nothing():
        for each in range(rounds):
            if time.monotonic() > end:
                break
            run.found |= _round(target, place, number * 1_000_003 + each, many, run, end, most)
    return run


@contextmanager
def _compiling_for_nothing() -> Iterator[None]:
    """Kernels are compiled when they are first needed; the clock of an input stands still meanwhile."""
    compiled = Dispatcher.compile

    def unclocked(kernel: Any, signature: Any) -> Any:
        left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        try:
            return compiled(kernel, signature)
        finally:
            signal.setitimer(signal.ITIMER_PROF, left)

    with mock.patch.object(Dispatcher, "compile", unclocked):
        yield


def _round(target: Target, place: Path, number: int, many: int, run: Run, end: float, most: int) -> dict[str, str]:
    """Failures that were not known yet; hypothesis makes their inputs small."""
    failing: dict[str, str] = {}

    def attempt(given: Any) -> None:
        if time.monotonic() > end:
            return
        run.tried += 1
        (place.parent / f"{target.name}.last").write_text(repr(given), errors="backslashreplace")
        try:
            with _bounded(most):
                target.run(given, empty(place))
        except (Exception, TooLong) as error:
            failure = _failure(error)
            if failure in run.found or (failing and failure not in failing):
                return  # another time
            failing[failure] = repr(given)[:2_000]
            raise Found(failure) from error

    profile = settings(
        max_examples=many, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False,
        report_multiple_bugs=False, phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    try:
        seed(number)(profile(_given(target, attempt)))()
    except (Found, Flaky):
        if not failing:
            raise
    return failing


def _given(target: Target, attempt: Any) -> Any:
    @given(target.inputs())
    def inputs(drawn: Any) -> None:
        attempt(drawn)

    return inputs


def _failure(error: BaseException) -> str:
    """The same for all inputs that fail at the same place in the same way."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [each for each in frames if "/oneoff/" in each.filename] or frames
    said = f": {str(error)[-200:]}" if isinstance(error, Found | TooLong) else ""
    return f"{type(error).__name__} in {Path(inside[-1].filename).name}, {inside[-1].name}{said}"


@contextmanager
def _bounded(most: int) -> Iterator[None]:
    """What takes too long or too much memory fails."""

    def stop(*_: Any) -> None:
        raise TooLong(f"more than {MOST_SECONDS} seconds of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    faulthandler.dump_traceback_later(_HANGS, exit=True)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGPROF, before)
    if _memory() > most:
        raise Found(f"more than {MOST_MEMORY >> 20} MB of memory")


def _memory() -> int:
    """The most that this process ever had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
