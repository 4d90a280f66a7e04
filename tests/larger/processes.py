"""Drivers and a small cluster as processes of their own: started here, watched here, killed here and nowhere else."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import oneoff

HERE = "127.0.0.1"
ROOT = Path(__file__).resolve().parents[2]
PYTHON = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(oneoff.__file__).parents[1])])}
SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # of Java that does not live long
QUIET = {
    "spark.shuffle.io.retryWait": "100ms",
    "spark.excludeOnFailure.application.maxFailedTasksPerExecutor": "9",
    "spark.executor.extraJavaOptions": SHORT,
    "spark.driver.extraJavaOptions": SHORT,
}


class Driver:
    """`tests.larger.driver`, and what it says."""

    def __init__(
        self, engine: str, folder: Path, settings: Mapping[str, str] | None = None, limit: int | None = None
    ) -> None:
        given = {"settings": dict(settings or {}), "scratch": str(folder / "scratch")}
        self.said = folder / "driver.log"
        with self.said.open("wb") as log:
            self.process = subprocess.Popen(
                [*limited(limit), sys.executable, "-m", "tests.larger.driver", engine, json.dumps(given)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT,
                env={**os.environ, **PYTHON, "SPARK_LOCAL_IP": HERE},
            )  # fmt: skip

    def ready(self) -> None:
        assert self.hear() == {"ready": True}

    def begin(self, source: Path, out: Path, **settings: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"source": str(source), "out": str(out), **settings}) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.said.read_text()[-3000:]
        heard: dict[str, Any] = json.loads(line)
        return heard

    def publish(self, source: Path, out: Path, **settings: Any) -> dict[str, Any]:
        self.begin(source, out, **settings)
        return self.hear()

    def wait_for_executors(self, number: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"executors": number}) + "\n")
        self.process.stdin.flush()
        assert self.hear() == {"executors": number}

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def driving(
    engine: str, folder: Path, settings: Mapping[str, str] | None = None, limit: int | None = None
) -> Iterator[Driver]:
    """A driver that is starting, and gone afterwards with all that works for it."""
    made = Driver(engine, folder, settings, limit)
    try:
        yield made
    finally:
        assert made.process.stdin is not None
        assert made.process.stdout is not None
        with suppress(BrokenPipeError):
            made.process.stdin.close()
        if made.process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                made.process.wait(30)
        kill_tree(made.process)
        made.process.stdout.close()


def children(process: int) -> list[int]:
    """Processes that this one has started, and those that they have."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def kill_tree(process: subprocess.Popen[Any]) -> None:
    for each in (*children(process.pid), process.pid):
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    process.wait()


class Cluster:
    """A master and some workers of Spark's standalone cluster, on the loopback."""

    def __init__(self, folder: Path, memory: str = "600m") -> None:
        self.folder, self.memory = folder, memory
        self.port, self.page = free_port(), free_port()
        self.workers: list[subprocess.Popen[Any]] = []
        ports = ["--port", f"{self.port}", "--webui-port", f"{self.page}"]
        self.master = self._start("master.Master", "--host", HERE, *ports)
        wait_until(lambda: _listens(self.port))

    @property
    def url(self) -> str:
        return f"spark://{HERE}:{self.port}"

    def add_worker(self, limit: int | None = None, path: str | None = None) -> subprocess.Popen[Any]:
        """One with a core; `limit` is the most bytes of a file that it and its executors can write, `path` where their
        Python looks for modules first."""
        folder = self.folder / f"worker-{len(list(self.folder.glob('worker-*'))):02}"
        folder.mkdir()
        made = self._start(
            "worker.Worker",
            "--host",
            HERE,
            "--cores",
            "1",
            "--memory",
            self.memory,
            "--webui-port",
            "0",
            "--work-dir",
            str(folder),
            self.url,
            limit=limit,
            own={"SPARK_LOCAL_DIRS": str(folder), **({"PYTHONPATH": path} if path else {})},
        )
        self.workers.append(made)
        return made

    def lose_worker(self, process: subprocess.Popen[Any]) -> None:
        """It and its executor, at once."""
        self.workers.remove(process)
        kill_tree(process)

    def lose_executor(self, process: subprocess.Popen[Any]) -> None:
        """Only the executor of a worker, which starts another."""
        for each in children(process.pid):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)

    def stop(self) -> None:
        for process in (*self.workers, self.master):
            kill_tree(process)

    def _start(
        self, name: str, *arguments: str, limit: int | None = None, own: Mapping[str, str] | None = None
    ) -> subprocess.Popen[Any]:
        spec = find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        program = Path(spec.origin).parent / "bin" / "spark-class"
        command = [*limited(limit), str(program), f"org.apache.spark.deploy.{name}", *arguments]
        known = {"SPARK_LOCAL_IP": HERE, "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": SHORT}
        given = {**os.environ, **PYTHON, **known, "PYSPARK_PYTHON": sys.executable, **(own or {})}
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, env=given, stdout=log, stderr=log)


def limited(size: int | None) -> list[str]:
    """A command that runs another, which cannot write more than so many bytes to a file."""
    return [] if size is None else ["prlimit", f"--fsize={size}", "--"]


def free_port() -> int:
    with socket.create_server((HERE, 0)) as made:
        port: int = made.getsockname()[1]
        return port


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.005)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection((HERE, port), 1):
        return True
    return False
