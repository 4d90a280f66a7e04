"""The seed and the keys of a run are in no page, log, environment or argument of a cluster."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.engines.sessions import NEEDS_SPARK
from tests.larger.processes import HERE, QUIET, Cluster, children, driving, free_port, wait_until
from tests.larger.tables import in_files, people

pytestmark = [pytest.mark.slow, NEEDS_SPARK]

SEED = 0x5EC12E7_0F_A_2057_1F_57A75_0427_0BE1


def forms(secret: bytes) -> Iterator[bytes]:
    """How it could be written down."""
    number = int.from_bytes(secret, "big")
    yield secret
    for text in (
        secret.hex(),
        secret.hex().upper(),
        str(number),
        str(int.from_bytes(secret, "little")),
        base64.b64encode(secret).decode().rstrip("="),
        base64.urlsafe_b64encode(secret).decode().rstrip("="),
        repr(secret)[2:-1],
    ):
        yield text.encode()


def secrets_of(digest: str, blocks: int) -> list[bytes]:
    key = hashlib.sha256(f"{digest} {SEED}".encode()).digest()
    purposes = ["noise 0", *(f"block {i}" for i in range(blocks))]
    derived = [hashlib.sha256(key + purpose.encode()).digest() for purpose in purposes]
    seed = SEED.to_bytes((SEED.bit_length() + 7) // 8, "big")
    return [form for secret in (key, seed, *derived) for form in forms(secret)]


class Watch(threading.Thread):
    """Environments and arguments of processes, for as long as they run."""

    def __init__(self, *roots: int) -> None:
        super().__init__(daemon=True)
        self.roots, self.ended, self.seen = roots, threading.Event(), set[bytes]()

    def run(self) -> None:
        while not self.ended.wait(0.1):
            for each in [process for root in self.roots for process in (root, *children(root))]:
                for name in ("environ", "cmdline"):
                    with suppress(OSError):
                        self.seen.add(Path(f"/proc/{each}/{name}").read_bytes())


def page(address: str) -> bytes:
    with urlopen(address) as answer:
        content: bytes = answer.read()
        return content


def pages(port: int) -> dict[str, bytes]:
    """What Spark shows of an application, to people and to programs."""
    base = f"http://{HERE}:{port}"
    apps = page(f"{base}/api/v1/applications")
    app = f"api/v1/applications/{json.loads(apps)[0]['id']}"
    names = [
        f"{app}/{what}"
        for what in (
            "jobs",
            "stages?details=true",
            "allexecutors",
            "environment",
            "storage/rdd",
            "sql?details=true&planDescription=true",
        )
    ]
    names += ["jobs/", "stages/", "storage/", "environment/", "executors/", "SQL/"]
    found = {name: page(f"{base}/{name}") for name in names}
    for i in range(len(json.loads(found[names[5]]))):
        found[f"plan {i}"] = page(f"{base}/SQL/execution/?id={i}")
    return found


def test_secrets_are_nowhere_but_in_the_work_itself(tmp_path: Path) -> None:
    source, out = in_files(people(2000), tmp_path / "rows", 3), tmp_path / "out"
    for name in ("cluster", "events"):
        (tmp_path / name).mkdir()
    cluster, port = Cluster(tmp_path / "cluster"), free_port()
    shown = {
        "spark.ui.enabled": "true",
        "spark.ui.port": f"{port}",
        "spark.log.level": "DEBUG",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{tmp_path}/events",
        "spark.eventLog.compress": "false",
    }
    try:
        worker = cluster.add_worker()
        settings = {"master": cluster.url, "spark.executor.memory": "512m", **QUIET, **shown}
        with driving("spark", tmp_path, settings) as driver:
            driver.ready()
            watch = Watch(driver.process.pid, worker.pid, cluster.master.pid)
            watch.start()
            driver.begin(source, out, seed=SEED, guarantee="beta-likeness:3+k-anonymity:5", method="tallies")
            digest = tmp_path / ".out.run" / "digest"
            wait_until(digest.exists)
            known = digest.read_text().partition(" ")[0]
            answer = driver.hear()
            assert "digest" in answer, answer
            found = pages(port)
            watch.ended.set()
            watch.join()
    finally:
        cluster.stop()
    for path in (*(tmp_path / "events").rglob("*"), *(tmp_path / "cluster").rglob("std*"), *tmp_path.rglob("*.log")):
        if path.is_file():
            found[str(path)] = path.read_bytes()
    found["processes"] = b"\0".join(watch.seen)
    for name, mark in {
        "jobs/": b"oneoff",
        "plan 0": b"mapInArrow",
        "processes": b"PYTHONPATH",
        f"{driver.said}": b"DEBUG",
    }.items():
        assert mark.lower() in found[name].lower(), f"nothing was looked at in {name}"
    assert any("events" in name and b"SparkListenerTaskEnd" in content for name, content in found.items())
    assert any(name.endswith("stderr") and b"Running task" in content for name, content in found.items())
    secrets = secrets_of(known, answer["blocks"])
    assert {name for name, content in found.items() for secret in secrets if secret in content} == set()
    assert f"{SEED}" in (out / "private" / "seed").read_text()
