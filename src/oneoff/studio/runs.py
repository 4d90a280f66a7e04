"""Runs of a desk: each is a job with a folder of its own, worked on in a child process, several side by side.

A run of the kind "release" does what `oneoff anonymize job.toml --seed-file seed` does in its folder:

  job.toml     the job, with out/ beside it as its output; it holds no secret
  seed         the seed, where one was given, for its owner's eyes only
  out/         the release, once it is whole
  run.json     what is known of the run; it is found again by this
  result.json  what came of it

"sweep" and "comparison" are `oneoff sweep job.toml` and `oneoff compare job.toml`, which write no release. What is
cancelled, or dies, leaves job.toml and run.json and nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from oneoff.errors import Defect, OneoffError, OutputError
from oneoff.job import Job, read_job
from oneoff.report.progress import described
from oneoff.studio.children import Child, Lost, Stopped

__all__ = ["ACTIVE", "KINDS", "Run", "Runs", "Told"]

KINDS = {
    "release": "oneoff.studio.work.runs:publish",
    "sweep": "oneoff.studio.work.runs:sweep_values",
    "comparison": "oneoff.studio.work.runs:compare_methods",
}
ACTIVE = ("waiting", "running")
_FAULTS = (Lost, Defect)  # nothing that was asked for is at fault
_KEPT = ("job.toml", "seed", "run.json")
_SHORT = ("holds", "method", "rows", "count_error")
_CLOSED = {
    "code": "stopped",
    "what": "the page was closed while this ran",
    "hint": "nothing is half written; start it again if it is needed",
}


@dataclass(frozen=True)
class Told:
    """What is known of a run at one moment.

    state    waiting, running, done, refused (by the library, before anything was made), failed (nobody asked for
             that) or cancelled; a promise that does not hold is done, and its result says so
    stage    what is being done, in words, and `share` of that, from 0 to 1
    error    why it was refused or failed: code, what, allowed, got, hint
    asked    what a sweep or a comparison was asked for besides the job
    came     in short, what came of a release: holds, method, rows, count_error
    """

    state: str = "waiting"
    stage: str = ""
    share: float = 0.0
    began: float = 0.0
    seconds: float = 0.0
    notices: tuple[str, ...] = ()
    error: dict[str, str] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    came: dict[str, Any] = field(default_factory=dict)


class Run:
    """One of the runs of a desk; the threads of the page ask it, and one of its own changes it."""

    def __init__(self, folder: Path, kind: str, told: Told) -> None:
        self.folder, self.kind, self.told = folder, kind, told
        self.stopping = False
        self._job: Job | None = None
        self._child: Child | None = None
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def active(self) -> bool:
        return self.told.state in ACTIVE

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def seed_file(self) -> Path | None:
        path = self.folder / "seed"
        return path if path.is_file() else None

    def job(self) -> Job:
        """The job it was started with, seed and all."""
        if self._job is None:
            job = read_job(str(self.folder / "job.toml"), {})
            seed = None if self.seed_file is None else str(self.seed_file)
            self._job = job.model_copy(update={"seed_file": seed})
        return self._job

    def result(self) -> dict[str, Any] | None:
        """What came of it: of a release `outcome` (what the command line prints as JSON) and what belongs to it."""
        path = self.folder / "result.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def seconds(self) -> float:
        """How long it runs, or ran."""
        return time.time() - self.told.began if self.told.state == "running" else self.told.seconds

    def as_dict(self) -> dict[str, Any]:
        return self._with(self.told)

    def _with(self, told: Told) -> dict[str, Any]:
        return {"id": self.id, "kind": self.kind, **asdict(told)}

    def cancel(self) -> None:
        """Stop it; soon it is cancelled, and nothing is left of what it was about to write."""
        with self._lock:
            self.stopping, child = True, self._child
        if child is not None:
            threading.Thread(target=child.stop, daemon=True).start()  # which may take some seconds

    def _tell(self, **changes: Any) -> None:
        told = replace(self.told, **changes)
        try:
            if "state" in changes:  # on disk first: who sees a run that is done finds it done
                _write(self.folder / "run.json", json.dumps(self._with(told)))
        finally:
            self.told = told

    def _progress(self, stage: str, share: float) -> None:
        self.told = replace(self.told, stage=described(stage, share), share=share)

    def _notice(self, text: str) -> None:
        if text not in self.told.notices:
            self.told = replace(self.told, notices=(*self.told.notices, text))

    def work(self) -> None:
        """Do it, from beginning to end."""
        self._tell(state="running", began=time.time())
        ended: dict[str, Any]
        try:
            (self.folder / "scratch").mkdir(mode=0o700, exist_ok=True)
            with Child(self.folder / "log", scratch=self.folder / "scratch") as child:
                with self._lock:
                    self._child = child
                    if self.stopping:
                        raise Stopped("the work was stopped")
                result = child.call(KINDS[self.kind], report=self._progress, warn=self._notice, **self._asked())
            _write(self.folder / "result.json", json.dumps(result))
            ended = {"state": "done", "share": 1.0, "came": _in_short(result)}
        except Stopped:
            ended = {"state": "cancelled"}
        except OneoffError as error:
            ended = {"state": "failed" if isinstance(error, _FAULTS) else "refused", "error": error.as_dict()}
        except OSError as error:  # a full disk
            ended = {"state": "failed", "error": OutputError("the run cannot be kept", got=str(error)).as_dict()}
        self._cleaned(all_of_it=ended["state"] != "done")
        self._tell(**ended, seconds=time.time() - self.told.began)

    def _asked(self) -> dict[str, Any]:
        seed = None if self.seed_file is None else str(self.seed_file)
        return {"job": str(self.folder / "job.toml"), "seed_file": seed, **self.told.asked}

    def _cleaned(self, *, all_of_it: bool) -> None:
        """Without what it took to make it; of one that was not done, without all but what it was asked for."""
        for path in list(self.folder.iterdir()):
            if path.name in ("scratch", "log") or (all_of_it and path.name not in _KEPT):
                _remove(path)


class Runs:
    """The runs of a desk, in the order in which they were started; `most` at a time, the others wait their turn."""

    def __init__(self, folder: Path, most: int = 2) -> None:
        self._folder, self._most = folder, most
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._turn, self._waiting, self._running = threading.Condition(), list[Run](), 0
        self._closed = False
        self._runs = {run.id: run for run in map(_found, sorted(folder.glob("[0-9]*"))) if run is not None}

    def all(self) -> list[Run]:
        return list(self._runs.values())

    def of(self, name: str) -> Run | None:
        return self._runs.get(name)

    def start(self, job: Job, kind: str = "release", asked: Mapping[str, Any] | None = None) -> Run:
        """Start a run of a job; asked: what a sweep or a comparison takes besides."""
        if self._closed:
            raise Stopped("the page was closed")
        folder = self._new_folder()
        seed = job.chosen_seed()  # read now, for its file may change
        _write(folder / "job.toml", job.model_copy(update={"output": str(folder / "out")}).to_toml())
        if seed is not None:
            _write(folder / "seed", f"{seed}\n")
        run = Run(folder, kind, Told(asked=dict(asked or {})))
        run._tell(state="waiting")
        with self._turn:
            if self._closed:
                raise Stopped("the page was closed")
            self._runs[run.id] = run
            self._waiting.append(run)
        threading.Thread(target=self._work, args=(run,), daemon=True, name=f"run {run.id}").start()
        return run

    def cancel(self, name: str) -> None:
        run = self._runs.get(name)
        if run is not None and run.active:
            run.cancel()
            with self._turn:
                self._turn.notify_all()

    def delete(self, name: str) -> None:
        """Forget a run and all that came of it."""
        run = self._runs.get(name)
        if run is None:
            return
        self.cancel(name)
        with self._turn:
            self._turn.wait_for(lambda: not run.active, timeout=30)
            mine = self._runs.pop(name, None) is run  # not if another tab was faster, and the name is another's by now
        if mine:
            _remove(run.folder)

    def stop(self) -> None:
        """Tell all that is under way to end, and start nothing more."""
        with self._turn:
            self._closed = True
        for run in self.all():
            self.cancel(run.id)

    def close(self) -> None:
        """End all that is under way, for good."""
        self.stop()
        with self._turn:
            self._turn.wait_for(lambda: not any(run.active for run in self.all()), timeout=30)

    def _work(self, run: Run) -> None:
        with self._turn:
            self._turn.wait_for(lambda: run.stopping or (self._running < self._most and self._waiting[0] is run))
            self._waiting.remove(run)
            self._running += 1
            self._turn.notify_all()  # the next one may be first now, and there may be room
        try:
            if run.stopping:
                run._tell(state="cancelled")
            else:
                run.work()
        except OSError:
            if not self._closed:  # its folder may go while it stops
                raise
        finally:
            with self._turn:
                self._running -= 1
                self._turn.notify_all()

    def _new_folder(self) -> Path:
        number = max((int(name) for name in self._runs), default=0) + 1
        while True:  # two tabs may start a run at the same moment
            folder = self._folder / f"{number:03d}"
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                number += 1
            else:
                return folder


def _found(folder: Path) -> Run | None:
    """A run of an earlier page on the same folder; one that was under way then is not any more."""
    try:
        known = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        told = Told(**{name: known[name] for name in Told.__dataclass_fields__} | {"notices": tuple(known["notices"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    run = Run(folder, known["kind"], told)
    if run.active:
        run._cleaned(all_of_it=True)
        run._tell(state="cancelled", error=_CLOSED)
    return run


def _in_short(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: result["outcome"][name] for name in _SHORT} if "outcome" in result else {}


def _write(path: Path, text: str) -> None:
    """A whole file or none, for its owner alone."""
    aside = path.with_name(f".{path.name}.new")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    aside.replace(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
