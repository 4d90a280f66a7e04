"""Work in child processes: the page stays quick, memory is theirs, and what is stopped has stopped.

    with Child() as child:
        child.call("oneoff.studio.work.method:plan", report=print, job={...})

A call names a function of oneoff and its arguments, plain values; what it returns comes back as plain values (or its
`as_dict()`). A function that takes `report` tells its stages, one that takes `warn` its notices. An error of the
library is raised here as what it was there. A child that dies is `Lost`, one that is stopped from outside `Stopped`.

Every child leads a process group of its own. `stop` tells all of that to end, which lets it clean up, and kills what
does not within some seconds. When the page's process ends, however it does, its children's input ends, and they with
it. On Windows there are no groups: there a child is killed at once, and those it started end when their input does.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from oneoff import errors
from oneoff.errors import OneoffError

__all__ = ["Child", "Lost", "Stopped", "Warm", "stop_all"]

_PROGRAM = (sys.executable, "-P", "-m", "oneoff.studio.child")  # -P: modules lie beside Python, not in this folder
_PATIENCE = 5.0  # seconds to clean up before a group is killed
_GROUPS = hasattr(os, "killpg")
_ALIVE: weakref.WeakSet[Child] = weakref.WeakSet()

Report = Callable[[str, float], None]
Warn = Callable[[str], None]


class Lost(OneoffError):
    """A child that died before it answered."""

    code = "child-lost"


class Stopped(OneoffError):
    """A child that was told to stop."""

    code = "stopped"


class Child:
    """A process that answers one call after another.

    log       a file for what it says on standard error
    scratch   a folder for its temporary files; else those are where this process has its own
    """

    def __init__(self, log: Path | None = None, scratch: Path | None = None) -> None:
        self._one_at_a_time, self._stopped = threading.Lock(), False
        self.memory = 0
        self._process = _started(log, scratch)
        _ALIVE.add(self)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def alive(self) -> bool:
        return not self._stopped and self._process.poll() is None

    @property
    def busy(self) -> bool:
        return self._one_at_a_time.locked()

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, name: str, *, report: Report | None = None, warn: Warn | None = None, **arguments: Any) -> Any:
        """Make a call and wait for what comes of it; another one waits for its turn."""
        with self._one_at_a_time:
            self._send({"name": name, "arguments": arguments})
            for message in self._messages():
                if "progress" in message and report is not None:
                    report(*message["progress"])
                if "notice" in message and warn is not None:
                    warn(message["notice"])
                self.memory = message.get("memory", self.memory)
                if "result" in message:
                    return message["result"]
                if "error" in message:
                    raise self._gone() if self._stopped else _error(message["error"])  # what was made to end, ended
            raise self._gone()

    def stop(self) -> None:
        """End it and all that it started. Whoever waits for an answer gets `Stopped`."""
        self._stopped = True
        _end(self._process)

    def _send(self, call: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{json.dumps(call)}\n".encode())
            self._process.stdin.flush()
        except (OSError, ValueError):  # nobody there, or stopped meanwhile
            raise self._gone() from None

    def _messages(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        with suppress(ValueError):  # half a line of one that died
            for line in self._process.stdout:
                yield json.loads(line)

    def _gone(self) -> OneoffError:
        """Once nothing of it is there any more."""
        if self._stopped:
            _end(self._process)
            return Stopped("the work was stopped", hint="nothing is half written; start it again if it is needed")
        status = self._process.wait()
        _end(self._process)
        killed = " (the system kills with 9 when memory is short)" * (status == -9)
        return Lost(
            "the process that did the work ended before it was done",
            allowed="a process that lives as long as its work",
            got=f"signal {-status}{killed}" if status < 0 else f"exit status {status}",
            hint="nothing is half written. If memory ran out, use fewer rows, fewer runs at a time, or engine local",
        )


def stop_all() -> None:
    """Every child there is; at the end of the page's process."""
    for child in list(_ALIVE):
        child.stop()


atexit.register(stop_all)


def _started(log: Path | None, scratch: Path | None) -> subprocess.Popen[bytes]:
    errors_to: IO[bytes] | int = subprocess.DEVNULL if log is None else _private_file(log)
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch or tempfile.gettempdir()))  # as this process has it
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.BELOW_NORMAL_PRIORITY_CLASS}
    try:
        return subprocess.Popen(
            _PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors_to,
            env={**os.environ, **places}, **apart,
        )  # fmt: skip
    finally:
        if not isinstance(errors_to, int):
            errors_to.close()


def _private_file(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, wait, kill. A group may outlive who leads it, so it is killed in the end all the same."""
    if process.poll() is None:
        _signal(process, "SIGTERM")
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
    _signal(process, "SIGKILL")
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None and not pipe.closed:
            with suppress(OSError, ValueError):  # what was on its way is of no use any more
                pipe.close()


def _signal(process: subprocess.Popen[bytes], name: str) -> None:
    with suppress(OSError):  # gone already
        if _GROUPS:
            os.killpg(process.pid, getattr(signal, name))
        else:
            process.kill()


def _error(said: dict[str, str]) -> OneoffError:
    """The error as it was raised in the child."""
    kinds: list[type[OneoffError]] = [getattr(errors, name) for name in errors.__all__]
    kind = next((each for each in kinds if each.code == said["code"]), None)
    details = {name: said.get(name, "") for name in ("allowed", "got", "hint")}
    if kind is None:  # one that is defined where it is needed
        kind = type("Other", (OneoffError,), {"code": said["code"]})
    return kind(said["what"], **details)


class Warm:
    """Children that stay, one for each desk at most, so that quick questions find the table read.

    most      how many there are at a time; who was asked longest ago goes first
    memory    bytes that all of them may keep between questions
    """

    def __init__(self, most: int = 3, memory: int = 2 << 30) -> None:
        self._most, self._memory = most, memory
        self._lock, self._children = threading.Lock(), OrderedDict[str, Child]()
        self._closed = False

    def ask(self, desk: str, name: str, *, report: Report | None = None, warn: Warn | None = None, **given: Any) -> Any:
        """What the function answers. The next question is for a new child where this one dies of it."""
        try:
            return self._of(desk).call(name, report=report, warn=warn, **given)
        finally:
            self._bounded(desk)

    def forget(self, desk: str) -> None:
        """The desk is gone, or its table is another one."""
        with self._lock:
            child = self._children.pop(desk, None)
        if child is not None:
            child.stop()

    def close(self) -> None:
        """For good: a question that comes late starts no child that nobody would end."""
        with self._lock:
            self._closed = True
        for desk in list(self._children):
            self.forget(desk)

    def _of(self, desk: str) -> Child:
        with self._lock:
            if self._closed:
                raise Stopped("the page was closed")
            child = self._children.get(desk)
            if child is not None and not child.alive:
                child.stop()
                child = None
            child = self._children[desk] = child or Child()
            self._children.move_to_end(desk)
            return child

    def _bounded(self, asked: str) -> None:
        """Those that are too many or too large go, the idle ones that were asked longest ago first."""
        with self._lock:
            leaving = []
            for desk, child in list(self._children.items()):
                over = len(self._children) > self._most or self._kept() > self._memory
                if over and not child.busy and (desk != asked or len(self._children) == 1):
                    leaving.append(self._children.pop(desk))
        for child in leaving:
            child.stop()

    def _kept(self) -> int:
        return sum(child.memory for child in self._children.values())
