"""Who may ask, and what is refused to whom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra is not installed: pip install 'oneoff[studio]'")

from oneoff.studio.guard import HEADERS, Guard
from tests.studio.asgi import HERE, TOKEN, Page, page_of


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    (tmp_path / "tables").mkdir()
    with page_of(tmp_path / "desks", tmp_path / "tables") as made:
        yield made


def test_without_the_token_there_is_nothing(page: Page) -> None:
    stranger = page.stranger()
    for path in ("/", "/?token=", "/?token=another", "/desk/AAAAAAAAAAAAAAAAAAAAAA/table"):
        answer = stranger.get(path)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    assert stranger.post("/desk").status_code == 403
    assert stranger.post(f"/desk?token={TOKEN}").status_code == 403  # a token opens pages, and changes nothing


def test_the_token_leaves_the_address_at_once(page: Page) -> None:
    answer = page.stranger().get(f"/?token={TOKEN}")
    assert answer.status_code == 200
    assert TOKEN not in answer.text
    kept = answer.headers["set-cookie"]
    assert "HttpOnly" in kept
    assert "SameSite=strict" in kept
    assert TOKEN not in kept
    assert "oneoff-studio-8765=" in kept  # browsers send cookies to all ports


@pytest.mark.parametrize("path", ["//elsewhere.example/", '/a"><script>', "/%22%3E"])
def test_where_it_leads_on_is_a_page_of_here(page: Page, path: str) -> None:
    answer = page.stranger().get(f"{HERE}{path}?token={TOKEN}")
    assert "elsewhere" not in answer.text
    assert "<script>" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "[::1]:8765"])
def test_another_name_of_this_machine_is_refused(page: Page, host: str) -> None:
    answer = page.caller().get("/", headers={"host": host, "origin": f"http://{host}"})
    assert answer.status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:8766", "https://127.0.0.1:8765"])
def test_a_foreign_origin_is_refused(page: Page, origin: str) -> None:
    caller = page.caller()
    assert caller.post("/desk", headers={"origin": origin}).status_code == 403
    assert caller.get("/", headers={"origin": origin}).status_code == 403
    assert caller.post("/desk").status_code == 303


def test_what_changes_something_says_where_it_comes_from(page: Page) -> None:
    caller = page.caller()
    del caller.headers["origin"]
    assert caller.get("/").status_code == 200
    assert caller.post("/desk").status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_and_ports_show_nothing_of_it(page: Page, site: str) -> None:
    assert page.caller().get("/", headers={"sec-fetch-site": site}).status_code == 403


def test_every_answer_says_what_a_browser_may_do_with_it(page: Page) -> None:
    caller, stranger = page.caller(), page.stranger()
    answers = [caller.get("/"), caller.get("/static/studio.css"), caller.get("/nothing"), stranger.get("/"),
               caller.post("/desk"), stranger.get("/", headers={"host": "evil.example"})]  # fmt: skip
    answers.append(caller.get("/static/nothing.css"))
    assert [each.status_code for each in answers] == [200, 200, 404, 403, 303, 403, 404]
    for i, answer in enumerate(answers):
        kept = {"Cache-Control": "private, max-age=600"} if i == 1 else {}  # styles hold nothing of a table
        for name, text in {**HEADERS, **kept}.items():
            assert answer.headers[name] == text


def test_a_body_is_bounded_whatever_it_says_of_its_length(page: Page) -> None:
    caller = page.caller()
    large = b"x" * ((8 << 20) + 1)
    assert caller.post("/desk", content=large).status_code == 413

    def pieces() -> Iterator[bytes]:  # no length is sent
        yield from (large[: 1 << 20] for _ in range(9))

    desk = page.desk(caller)
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert caller.post(desk.at("table") + "/choose", content=pieces(), headers=form).status_code == 413


def test_an_upload_is_bounded(tmp_path: Path) -> None:
    with page_of(tmp_path / "desks", tmp_path) as page:
        inner = page.app
        assert isinstance(inner, Guard)
        inner._most_uploaded = 1000
        caller = page.caller()
        desk = page.desk(caller)
        sent = caller.post(desk.at("table") + "/upload", files={"file": ("t.csv", b"a,b\n" * 1000)})
        assert sent.status_code == 413
        assert desk.source is None
        assert not list(desk.folder.glob("table/*"))


def test_a_defect_says_nothing_of_the_table(page: Page, monkeypatch: Any, capsys: Any) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("Mary has HIV")

    caller = page.caller()
    monkeypatch.setattr(page.desks, "of", fails)
    from starlette.testclient import TestClient

    quiet = TestClient(page.app, base_url=HERE, cookies=caller.cookies, raise_server_exceptions=False)
    answer = quiet.get("/")
    said = capsys.readouterr()
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert 'id="main"' in answer.text, "where the script puts the focus"
    assert "ValueError" in said.err
    assert "Mary" not in answer.text + said.err + said.out
