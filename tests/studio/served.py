"""A page that is really served: `oneoff studio` as a child process, and programs that ask it without a browser."""

from __future__ import annotations

import http.client
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

__all__ = ["Answer", "Caller", "Server", "serving"]

_COMMAND = (sys.executable, "-c", "from oneoff.cli.main import main; main()", "studio", "--no-browser")
_PATIENCE = 60.0  # seconds until the address is printed, on a machine that does other things as well


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    cookies: tuple[str, ...]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


@dataclass(eq=False)
class Server:
    """A page that runs.

    address   with the token, as the command printed it
    log       what it wrote to both of its streams
    folder    where it was started
    """

    process: subprocess.Popen[bytes]
    address: str
    folder: Path
    log: Path

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.address).query)["token"][0]

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def caller(self) -> Caller:
        """Somebody who came with the token."""
        came = Caller(self)
        welcomed = came.get(f"/?token={self.token}")
        assert welcomed.status in (200, 303), welcomed
        return came

    def memory(self) -> int:
        """Bytes of its process that are in memory, without its children's."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def children(self) -> list[int]:
        """Processes that it or they have started and that are still there."""
        parents = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                words = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(path.parent.name)] = int(words[1])
        found, wave = [], [self.process.pid]
        while wave:
            wave = [child for child, parent in parents.items() if parent in wave]
            found += wave
        return found

    def stop(self) -> int:
        """As Ctrl+C does; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()


@dataclass
class Caller:
    """A program that asks, with the cookies it was given; a redirect is not followed."""

    server: Server
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, **headers)

    def post(self, path: str, form: Mapping[str, Any] | None = None, **headers: str) -> Answer:
        """A form, from the page itself unless other headers are given."""
        body = urlencode(form or {}, doseq=True).encode()
        known = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.server.origin}
        return self.ask("POST", path, body, **(known | headers))

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """A header whose value is empty is left out; underscores in names are hyphens."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies and "Cookie" not in given:
            given["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, path, body, {name: value for name, value in given.items() if value})
            return self._answer(connection.getresponse())
        finally:
            connection.close()

    def _answer(self, response: http.client.HTTPResponse) -> Answer:
        cookies = tuple(response.headers.get_all("set-cookie") or ())
        for each in cookies:
            name, _, value = each.partition(";")[0].partition("=")
            self.cookies[name] = value
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, cookies, response.read())


@contextmanager
def serving(folder: Path, *options: object, **environment: str) -> Iterator[Server]:
    """The command in a folder of its own, until the test is done with it."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder.parent / f"{folder.name}.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*_COMMAND, *map(str, options)],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
        )  # fmt: skip
    server = Server(process, "", folder, log)
    try:
        server.address = _address(server)
        yield server
    finally:
        server.stop()


def _address(server: Server) -> str:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and server.process.poll() is None:
        found = re.search(r"http://\S+", server.said)
        if found:
            return found[0]
        select.select([], [], [], 0.02)
    raise AssertionError(f"the page did not start: {server.said}")
