"""A child process of the page: takes calls as lines of JSON, makes them, and says what came of them.

Started by `children`. A call names a function of oneoff, "oneoff.studio.work.method:plan", and its arguments, plain
values. What goes back, one line each, while it works and at the end:

  {"progress": [stage, share]}    for functions that take `report`
  {"notice": text}                for functions that take `warn`
  {"result": ..., "memory": n}    what it returned (or its `as_dict()`), and the bytes that this process has
  {"error": {...}, "memory": n}   an `OneoffError` as its `as_dict()`; anything else as a defect

It ends when its standard input does, also in the middle of a call: then whoever started it is gone, and whatever it
started itself goes with it. Secrets come in through the pipe, and are in neither arguments nor environment.
"""

from __future__ import annotations

import inspect
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO

from oneoff.errors import Defect, OneoffError

__all__ = ["main"]

_NICE = 5  # the page and whatever else the steward does come first
_APART = 0.1  # seconds between two reports of one stage


def main() -> None:
    """Answer calls until the pipe is closed."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is none of our lines
    _come_second()
    signal.signal(signal.SIGTERM, _end)  # so that whatever is half done is cleaned up
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(waiting,), daemon=True).start()
    while True:
        _answer(waiting.get(), answers)


def _listen(waiting: queue.SimpleQueue[bytes]) -> NoReturn:
    """Without a buffered file, whose lock a thread must not hold when the process ends."""
    begun = b""
    while more := os.read(0, 1 << 16):
        *lines, begun = (begun + more).split(b"\n")
        for line in lines:
            waiting.put(line)
    _end_all()


def _end_all() -> NoReturn:
    """This process at once, and those that it started."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():  # the group is its own
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # once is enough
    raise SystemExit(128 + number)


def _come_second() -> None:
    if hasattr(os, "nice"):
        os.nice(_NICE)


def _answer(line: bytes, answers: TextIO) -> None:
    def say(**message: Any) -> None:
        answers.write(f"{json.dumps(message, ensure_ascii=True)}\n")
        answers.flush()

    try:
        call = json.loads(line)
        say(result=_made(call["name"], call["arguments"], say), memory=_memory())
    except OneoffError as error:
        say(error=error.as_dict(), memory=_memory())
    except Exception as error:
        say(error=Defect(f"{type(error).__name__} in {_place(error)}").as_dict(), memory=_memory())


def _made(name: str, arguments: Mapping[str, Any], say: Callable[..., None]) -> Any:
    module, _, function = name.partition(":")
    if module.partition(".")[0] != "oneoff":
        raise Defect(f"{name} is no function of oneoff")
    called = getattr(import_module(module), function)
    taken, told = inspect.signature(called).parameters, dict[str, Any]()
    if "report" in taken:
        told["report"] = _reporter(say)
    if "warn" in taken:
        told["warn"] = lambda text: say(notice=text)
    result = called(**arguments, **told)
    return result.as_dict() if hasattr(result, "as_dict") else result


def _reporter(say: Callable[..., None]) -> Callable[[str, float], None]:
    """Loops report more often than anybody looks."""
    last, at = "", 0.0

    def report(stage: str, share: float) -> None:
        nonlocal last, at
        now = time.monotonic()
        if stage != last or now - at >= _APART:
            last, at = stage, now
            say(progress=[stage, float(share)])

    return report


def _place(error: Exception) -> str:
    """Where it happened. What an error says about itself may hold values of the table, and is not passed on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "nowhere" if trace is None else f"{trace.tb_frame.f_globals.get('__name__', '?')}, line {trace.tb_lineno}"


def _memory() -> int:
    """Bytes that are in memory now; where the system does not tell, the most there ever were."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return _most_memory()


def _most_memory() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
