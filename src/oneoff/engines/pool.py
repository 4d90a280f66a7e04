"""Worker processes that make calls, and are replaced when they die."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO, TypeVar, cast

from oneoff.engines.worker import receive, send
from oneoff.errors import OneoffError

__all__ = ["THREADS", "Pool", "WorkerLost"]

R = TypeVar("R")
_TRIES = 3  # a call whose worker dies is made again by another one
THREADS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS")


class WorkerLost(OneoffError):
    """A worker died again and again at the same call."""

    code = "worker-lost"


class Pool:
    """So many workers, each with a thread here that hands it calls."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._workers: list[subprocess.Popen[bytes] | None] = [None] * number

    def close(self) -> None:
        for worker in self._workers:
            _stop(worker)
        self._workers = [None] * self.number

    def run(self, function: Callable[..., R], calls: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, R]]:
        """The number of each call and what came of it, as they are done. The first error ends all."""
        waiting: queue.SimpleQueue[tuple[int, tuple[Any, ...]]] = queue.SimpleQueue()
        many = 0
        for many, call in enumerate(calls, start=1):
            waiting.put((many - 1, call))
        done: queue.SimpleQueue[tuple[int, R] | BaseException] = queue.SimpleQueue()
        ended = threading.Event()
        threads = [
            threading.Thread(target=self._serve, args=(i, function, waiting, done, ended), daemon=True)
            for i in range(min(self.number, many))
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in range(many):
                result = done.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            ended.set()
            if not waiting.empty() or any(thread.is_alive() for thread in threads):
                self._interrupt(threads)

    def _interrupt(self, threads: list[threading.Thread]) -> None:
        """Workers whose call is of no use any more are ended; the threads of others end by themselves."""
        for thread in threads:
            thread.join(0.05)
        if any(thread.is_alive() for thread in threads):
            self.close()
        for thread in threads:
            thread.join()

    def _serve(self, i: int, function: Any, waiting: Any, done: Any, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                number, call = waiting.get_nowait()
            except queue.Empty:
                return
            done.put(self._made(i, function, number, call, ended))

    def _made(self, i: int, function: Any, number: int, call: tuple[Any, ...], ended: threading.Event) -> Any:
        status: int | None = None
        for _ in range(_TRIES):
            worker = self._worker(i)
            try:
                send(cast(BinaryIO, worker.stdin), (function, call))
                fine, answer = receive(cast(BinaryIO, worker.stdout))
                return (number, answer) if fine else answer
            except (EOFError, BrokenPipeError, ConnectionError, ValueError) as error:
                if ended.is_set():
                    return error
                status = worker.wait()
                _stop(worker)
                self._workers[i] = None
            except Exception as error:  # what cannot be pickled
                return error
        return WorkerLost(
            "a worker process died three times at the same work",
            allowed="workers that live as long as their work",
            got=_died(status),
            hint="if the system ran out of memory, a lower --memory-per-worker makes smaller blocks",
        )

    def _worker(self, i: int) -> subprocess.Popen[bytes]:
        worker = self._workers[i]
        if worker is None or worker.poll() is not None:
            threads = dict.fromkeys(THREADS, "1") if self.number > 1 else {}
            worker = subprocess.Popen(
                [sys.executable, "-m", "oneoff.engines.worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **threads},
            )  # fmt: skip
            self._workers[i] = worker
        return worker


def _died(status: int | None) -> str:
    if status is not None and status < 0:
        return f"signal {-status}{' (the system kills with 9 when memory is short)' * (status == -9)}"
    return f"exit status {status}"


def _stop(worker: subprocess.Popen[bytes] | None) -> None:
    if worker is None:
        return
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        with suppress(OSError, ValueError):  # what was on its way is of no use any more
            cast(BinaryIO, pipe).close()
