"""Who may ask the page what: tried against a real server, as somebody would who wants in."""

from __future__ import annotations

import http.client
import os
import re
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

from oneoff.studio.guard import Guard
from tests.studio.browsing import window
from tests.studio.served import Answer, Caller, Server, serving

SECRET = "Zebulon-4711"
NEEDED = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A page whose temporary files can be looked at, with a table in its folder and another outside."""
    place = tmp_path_factory.mktemp("security")
    for folder in ("work", "passing"):
        (place / folder).mkdir()
    write_table(place / "work" / "people.csv")
    write_table(place / "outside.csv")
    (place / "work" / "link.csv").symlink_to(place / "outside.csv")
    with serving(place / "work", TMPDIR=str(place / "passing")) as running:
        yield running


def write_table(path: Path) -> None:
    pl.DataFrame({"age": [*range(20, 60)], "name": [SECRET] * 40, "disease": ["flu", "cold"] * 20}).write_csv(path)


@pytest.fixture
def stranger(served: Server) -> Caller:
    return Caller(served)


@pytest.fixture
def steward(served: Server) -> Caller:
    return served.caller()


def refused(answer: Answer, status: int = 403) -> None:
    assert answer.status == status, answer.text
    assert SECRET not in answer.text
    assert not answer.cookies
    described(answer)


def described(answer: Answer, **other: str) -> None:
    """Headers that every answer has, refusals and files included."""
    for name, part in {**NEEDED, **other}.items():
        assert part in answer.headers.get(name, ""), f"{name}: {answer.headers}"
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert answer.headers["referrer-policy"] in ("no-referrer", "same-origin")
    assert "server" not in answer.headers


def desk_of(caller: Caller, path: str = "people.csv") -> str:
    """The address of a new desk with a table on it."""
    at = caller.post("/desk").headers["location"].rpartition("/")[0]
    chosen = caller.post(f"{at}/table/choose", {"input": path})
    assert chosen.status == 303, chosen.text
    return at


# --- without the token


@pytest.mark.parametrize("path", ["/", "/desk", "/desk/x/table", "/release", "/nowhere", "/?token=", "/?token=wrong"])
def test_nobody_comes_in_without_the_token(stranger: Caller, path: str) -> None:
    refused(stranger.get(path))
    refused(stranger.post(path))


def test_a_token_that_is_nearly_right_is_wrong(stranger: Caller) -> None:
    token = stranger.server.token
    assert len(token) >= 40
    for wrong in (token[:-1], f"{token}x", token.swapcase(), f"{token}%00", "%F0%9F%90%88", token[::-1]):
        refused(stranger.get(f"/?token={wrong}"))
    refused(stranger.get(f"/?token=wrong&token={token}"))
    refused(stranger.post(f"/desk?token={token}"))


@pytest.mark.parametrize("cookie", ["", "x", "a=b; c", "{name}=", "{name}=wrong", '{name}="\\', "{name}=ä"])
def test_a_cookie_that_was_never_given_opens_nothing(stranger: Caller, cookie: str) -> None:
    name = f"oneoff-studio-{stranger.server.port}"
    connection = http.client.HTTPConnection("127.0.0.1", stranger.server.port, timeout=20)
    connection.putrequest("GET", "/")
    connection.putheader("Cookie", cookie.replace("{name}", name).encode("latin-1"))
    connection.endheaders()
    assert connection.getresponse().status == 403
    connection.close()


def test_the_cookie_is_for_this_page_alone(served: Server) -> None:
    came = Caller(served)
    (cookie,) = came.get(f"/?token={served.token}").cookies
    words = cookie.lower().replace(" ", "").split(";")
    assert "httponly" in words
    assert "samesite=strict" in words
    assert not [word for word in words if word.startswith(("domain", "expires", "max-age"))], "it ends with the browser"
    assert served.token not in cookie


def test_the_address_with_the_token_is_left_at_once(served: Server) -> None:
    """So that it is in no title, link or address that is sent on."""
    answer = Caller(served).get(f"/?token={served.token}")
    assert served.token not in answer.text
    assert served.token not in str(answer.headers)
    assert "url=/" in answer.text or answer.headers.get("location") == "/"
    for odd in ("//evil.example", "/\\evil.example", "/%0d%0aX:%20y"):
        found = Caller(served).get(f"{odd}?token={served.token}")
        assert "evil" not in found.text + found.headers.get("location", "")


# --- from elsewhere, with the cookie


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "[::1]"]
)
def test_another_name_that_leads_here_is_refused(steward: Caller, host: str) -> None:
    refused(steward.get("/", Host=host))
    refused(steward.get(f"/?token={steward.server.token}", Host=host))
    refused(steward.post("/desk", Host=host, Origin=f"http://{host}"))


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", ""]
)
def test_a_form_of_another_page_changes_nothing(steward: Caller, origin: str) -> None:
    before = steward.get("/").text
    refused(steward.post("/desk", Origin=origin.replace("{port}", str(steward.server.port))))
    assert steward.get("/").text == before


def test_what_another_page_shows_or_leads_to_is_refused(steward: Caller) -> None:
    for site in ("cross-site", "same-site"):
        refused(steward.get("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate"))
        refused(steward.get("/", Sec_Fetch_Site=site, Sec_Fetch_Dest="iframe"))
    assert steward.get("/", Sec_Fetch_Site="none").status == 200


def test_a_form_without_the_cookie_changes_nothing(served: Server) -> None:
    at = desk_of(served.caller())
    refused(Caller(served).post(f"{at}/table/choose", {"input": "people.csv"}))
    refused(Caller(served).post(f"{at}/close"))


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"])
def test_other_ways_to_ask_lead_nowhere(steward: Caller, method: str) -> None:
    assert steward.ask(method, "/desk", Origin=steward.server.origin).status in (400, 404, 405)
    assert steward.ask(method, "/desk").status in (400, 403)


# --- two people


def test_two_sessions_do_not_see_each_other(served: Server) -> None:
    mine, theirs = served.caller(), served.caller()
    at = desk_of(mine)
    assert "people.csv" in mine.get("/").text
    assert "people.csv" not in theirs.get("/").text
    for step in ("table", "columns", "promise", "method", "run", "result", "handover"):
        assert theirs.get(f"{at}/{step}").status == 404
    assert theirs.post(f"{at}/close").status == 404
    assert theirs.post(f"{at}/table/choose", {"input": "people.csv"}).status == 404
    assert mine.get(f"{at}/table").status == 200


def test_another_user_of_the_machine_is_refused_with_token_and_cookie(served: Server, steward: Caller) -> None:
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        pytest.skip("only root can act as somebody else")
    name, value = next(iter(steward.cookies.items()))
    for path in ("/", f"/?token={served.token}"):
        asked = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {name}={value}\r\nConnection: close\r\n\r\n"
        assert as_user(0, served.port, asked).startswith("HTTP/1.1 200")
        for host in ("127.0.0.1", "::ffff:127.0.0.1"):  # the same place, and another table of the system
            answer = as_user(65534, served.port, asked, host)
            assert answer.startswith("HTTP/1.1 403")
            assert "Another user of this machine" in answer


@pytest.mark.parametrize("hangs_up", ["close", "reset"])
def test_another_user_who_hangs_up_at_once_is_refused(served: Server, steward: Caller, hangs_up: str) -> None:
    """Of a connection that nobody holds any more the system says that it is root's, or nothing."""
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        pytest.skip("only root can act as somebody else")
    name, value = next(iter(steward.cookies.items()))
    asked = (
        f"POST /desk HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nCookie: {name}={value}\r\n"
        "Content-Length: 0\r\n\r\n"
    )
    for _ in range(10):
        as_user(65534, served.port, asked, hangs_up=hangs_up)
    assert 'href="/desk/' not in steward.get("/").text


def as_user(number: int, port: int, asked: str, host: str = "127.0.0.1", hangs_up: str = "") -> str:
    """What a process of this user is answered; forked, as another user may not run the Python of this one."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setuid(number)
            with socket.create_connection((host, port), timeout=20) as line:
                if hangs_up == "reset":
                    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                line.sendall(asked.encode())
                while not hangs_up and (more := line.recv(1 << 16)):
                    os.write(writing, more)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        answer = file.read().decode()
    os.waitpid(child, 0)
    return answer


# --- files


@pytest.mark.parametrize(
    "path",
    ["../outside.csv", "{outside}", "link.csv", "/etc/passwd", "~root/x.csv", "./../outside.csv", "/proc/self/environ",
     "people.csv/../../outside.csv", "\x00", "file:///etc/passwd", "\\\\host\\share", "/dev/zero"],
)  # fmt: skip
def test_a_path_outside_is_refused_in_the_same_words(served: Server, steward: Caller, path: str) -> None:
    at = steward.post("/desk").headers["location"].rpartition("/")[0]
    given = path.replace("{outside}", str(served.folder.parent / "outside.csv"))
    answer = steward.post(f"{at}/table/choose", {"input": given})
    assert answer.status in (400, 403, 422), answer.text
    assert SECRET not in answer.text
    assert "root:" not in answer.text
    assert "outside.csv" not in steward.get("/").text


def test_whether_a_file_outside_is_there_is_not_told(steward: Caller) -> None:
    at = steward.post("/desk").headers["location"].rpartition("/")[0]
    said = []
    for path in ("../outside.csv", "../absent.csv"):
        page = steward.post(f"{at}/table/choose", {"input": path}).text
        said.append(page.replace(path, "PATH"))
    assert said[0] == said[1]


def test_folders_outside_are_not_listed(steward: Caller) -> None:
    at = steward.post("/desk").headers["location"].rpartition("/")[0]
    for folder in ("..", "/", "/etc", "../"):
        page = steward.get(f"{at}/table?folder={folder}").text
        assert "outside.csv" not in page
        assert "passwd" not in page
    assert "people.csv" in steward.get(f"{at}/table").text
    assert "link.csv" not in steward.get(f"{at}/table").text


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd", "/static/",
     "/desk/../static/studio.css/../../app.py", "/desk/%2e%2e/%2e%2e/etc/passwd/table", "/desk/./table"],
)  # fmt: skip
def test_addresses_reach_no_file_but_static_ones(steward: Caller, path: str) -> None:
    answer = steward.get(path)
    assert answer.status in (400, 403, 404), answer.text
    assert "import" not in answer.text
    assert "root:" not in answer.text


def multipart(name: str, content: bytes) -> tuple[bytes, dict[str, str]]:
    head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return head + content + b"\r\n--x--\r\n", {"Content_Type": "multipart/form-data; boundary=x"}


@pytest.mark.parametrize("name", ["../../evil.csv", "/tmp/evil.csv", "..\\..\\evil.csv", ".evil.csv", "e\x01vil.csv"])
def test_an_upload_stays_in_the_folder_of_its_desk(served: Server, steward: Caller, name: str) -> None:
    at = steward.post("/desk").headers["location"].rpartition("/")[0]
    body, headers = multipart(name, b"age,disease\n30,flu\n40,cold\n")
    answer = steward.ask("POST", f"{at}/table/upload", body, Origin=served.origin, **headers)
    assert answer.status == 303, answer.text
    found = [path for path in served.folder.parent.rglob("*vil.csv") if path.is_file()]
    assert len(found) == 1
    assert found[0].is_relative_to(served.folder.parent / "passing")
    assert stat.S_IMODE(found[0].stat().st_mode) == 0o600
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o700 for each in (found[0].parent, *found[0].parents[1:4]))
    steward.post(f"{at}/close")
    assert not found[0].exists()


def test_an_upload_that_is_no_table_is_refused(served: Server, steward: Caller) -> None:
    at = steward.post("/desk").headers["location"].rpartition("/")[0]
    for name, content in (("run.sh", b"#!/bin/sh\n"), ("page.html", b"<script>"), ("x", b"PAR1")):
        body, headers = multipart(name, content)
        assert steward.ask("POST", f"{at}/table/upload", body, Origin=served.origin, **headers).status == 422
    body, headers = multipart("x.parquet", b"PAR1junkPAR1")
    steward.ask("POST", f"{at}/table/upload", body, Origin=served.origin, **headers)
    page = steward.get(f"{at}/table")
    assert page.status == 422
    assert 'role="alert"' in page.text


def test_what_is_too_large_is_not_even_read(steward: Caller) -> None:
    at = steward.post("/desk").headers["location"].rpartition("/")[0]
    for path, size in ((f"{at}/table/upload", 3 << 30), (f"{at}/table/choose", 9 << 20), ("/desk", 9 << 20)):
        with socket.create_connection(("127.0.0.1", steward.server.port), timeout=20) as line:
            line.sendall(head_of(steward, path, f"Content-Length: {size}"))
            assert line.recv(4096).startswith(b"HTTP/1.1 413"), path


def test_what_does_not_say_its_size_fills_no_memory(steward: Caller) -> None:
    at, before = steward.post("/desk").headers["location"].rpartition("/")[0], steward.server.memory()
    with socket.create_connection(("127.0.0.1", steward.server.port), timeout=20) as line:
        line.sendall(head_of(steward, f"{at}/table/choose", "Transfer-Encoding: chunked"))
        try:
            for _ in range(100):
                line.sendall(b"100000\r\n" + b"x" * (1 << 20) + b"\r\n")
        except OSError:  # it hung up
            return
        assert re.match(rb"HTTP/1.1 4(00|13)", line.recv(4096))
    assert steward.server.memory() < before + (50 << 20)


def test_a_defect_tells_nothing_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError(f"{SECRET} is not in list")

    guard = Guard(app, token="t" * 43, port=8080)
    client = TestClient(guard, base_url="http://127.0.0.1:8080", raise_server_exceptions=False)
    client.get(f"/?token={'t' * 43}")
    answer = client.get("/")
    assert answer.status_code == 500
    assert "a defect of oneoff" in answer.text
    assert SECRET not in answer.text + "".join(capsys.readouterr())


def head_of(caller: Caller, path: str, size: str) -> bytes:
    name, value = next(iter(caller.cookies.items()))
    port = caller.server.port
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Origin: http://127.0.0.1:{port}",
             f"Cookie: {name}={value}", "Content-Type: application/x-www-form-urlencoded", size]  # fmt: skip
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


# --- what is told to whom


def test_every_answer_says_what_a_browser_may_do(steward: Caller) -> None:
    at = desk_of(steward)
    for path in ("/", f"{at}/table", f"{at}/columns", "/static/nothing.js", "/nowhere"):
        described(steward.get(path))
    for path in ("/static/studio.js", "/static/palette.css"):  # the same for everybody
        described(steward.get(path), **{"cache-control": "private, max-age=600"})
    described(Caller(steward.server).get("/"))


def test_it_listens_on_this_machine_alone(served: Server) -> None:
    bound = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if Path(table).exists():
            lines = [line.split() for line in Path(table).read_text().splitlines()[1:]]
            bound += [words[1] for words in lines if words[3] == "0A" and words[1].endswith(f":{served.port:04X}")]
    assert bound == [f"0100007F:{served.port:04X}"] if bound else not sys.platform.startswith("linux")
    with pytest.raises(OSError, match=r"."), socket.create_connection(("127.0.0.2", served.port), timeout=2):
        pass


def test_nothing_of_a_table_is_in_the_log(served: Server, steward: Caller) -> None:
    at = desk_of(steward)
    assert SECRET in steward.get(f"{at}/table").text
    steward.get(f"{at}/columns?x={SECRET}")
    steward.post(f"{at}/table/choose", {"input": f"{SECRET}.csv"})
    steward.post(f"{at}/columns", {f"column.{SECRET}": SECRET})
    odd = "multipart/form-data; boundary=x"  # of which the reader of forms says what it found instead
    steward.ask("POST", f"{at}/table/upload", f"--{SECRET}".encode(), Origin=served.origin, Content_Type=odd)
    lines = served.said.strip().splitlines()
    assert len(lines) == 2, lines
    assert SECRET not in served.said
    assert not re.search(r"GET|POST|/desk", served.said)


def test_no_token_is_among_the_arguments_of_a_process(served: Server) -> None:
    for pid in (served.process.pid, *served.children()):
        for what in ("cmdline", "environ"):
            assert served.token.encode() not in Path(f"/proc/{pid}/{what}").read_bytes()


def test_what_was_temporary_is_gone_when_the_page_ends(tmp_path: Path) -> None:
    (tmp_path / "passing").mkdir()
    with serving(tmp_path / "work", TMPDIR=str(tmp_path / "passing")) as running:
        caller = running.caller()
        at = caller.post("/desk").headers["location"].rpartition("/")[0]
        body, headers = multipart("a.csv", b"age,disease\n30,flu\n40,cold\n")
        assert caller.ask("POST", f"{at}/table/upload", body, Origin=running.origin, **headers).status == 303
        assert list((tmp_path / "passing").rglob("a.csv"))
        caller.get(f"{at}/columns")
        assert running.stop() == 0
    until = time.monotonic() + 10
    while list((tmp_path / "passing").iterdir()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not list((tmp_path / "passing").iterdir())


# --- in a browser


@pytest.mark.slow
def test_names_and_values_that_look_like_pages_are_texts(browser: Any, tmp_path: Path) -> None:
    """Nothing runs, nothing is fetched: what the policy refuses would be on the console, and fail the test."""
    evil = "<img src=http://evil.example/x onerror=alert(1)><script>alert(2)</script>"
    names = ["age", f"sex{evil}", "disease'\"><svg onload=alert(3)>"]
    rows = {names[0]: [*range(20, 60)], names[1]: [evil, "F"] * 20, names[2]: [f"{{{{7*7}}}}{evil}", "cold"] * 20}
    (tmp_path / "work").mkdir()
    pl.DataFrame(rows).write_csv(tmp_path / "work" / "people.csv")
    with serving(tmp_path / "work", "people.csv") as running, window(browser) as tab:
        tab.page.on("dialog", lambda dialog: pytest.fail("a script ran"))
        tab.page.goto(running.address)
        tab.page.wait_for_url("**/table")
        for step in ("table", "columns", "promise", "method"):
            tab.page.goto(tab.page.url.rpartition("/")[0] + f"/{step}")
            tab.page.wait_for_timeout(300)
            assert "49" not in tab.page.inner_text("main") or "{{7*7}}" in tab.page.inner_text("main")
            assert not tab.page.locator("main img[src*=evil], main script").count()
