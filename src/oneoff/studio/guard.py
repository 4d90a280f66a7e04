"""Who may ask: nobody from elsewhere, nobody without the token, nothing too large; what browsers may do with answers.

    user       must be the one who started it, where the system tells (neighbours.py)
    Host       must name this machine: another name that leads here (DNS rebinding) is refused
    Origin     must be the page itself, on everything that changes something, and wherever a browser sends it
    token      in the address that the command prints; whoever comes with it gets a session: a cookie that scripts
               cannot read and other sites cannot send. It opens the desks of this session only
    bodies     are cut off at a bound while they arrive, whatever they said before

The session is `scope["session"]`. Every answer says what a browser may load (nothing that is not from here), and that
nothing of it is to be stored, but for styles and scripts.
"""

from __future__ import annotations

import re
import secrets
import sys
import traceback
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oneoff.studio.neighbours import is_neighbour

__all__ = ["MOST_UPLOADED", "Guard", "defect_page"]

MOST_UPLOADED = 2 << 30  # bytes of a table; larger ones are chosen by their path
_MOST_SENT = 8 << 20  # bytes of a form
_HOSTS = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?")
_SAFE = ("GET", "HEAD")
_UPLOADS = re.compile(r"/desk/[^/]+/table/upload")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers hide the Origin of forms, which is checked here
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """ASGI around the app.

    token   who has it may come in
    port    where the page is; part of the cookie's name, as browsers send cookies to all ports of a machine
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int, most_uploaded: int = MOST_UPLOADED) -> None:
        self._app, self._token, self._most_uploaded = app, token.encode(), most_uploaded
        self._cookie = f"oneoff-studio-{port}"
        self._sessions: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        try:
            await self._answer(scope, receive, answer)
        except ClientDisconnect:
            return  # whoever asked does not wait for the answer
        except Exception as error:
            _tell_without_values(error)
            if not answer.begun:
                await defect_page()(scope, receive, answer)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if is_neighbour(scope.get("client"), scope.get("server")):
            return await _page("This page is somebody's own", _NEIGHBOUR, 403)(scope, receive, send)
        refused = _refused(scope, headers)
        if refused:
            return await _page("Refused", refused, 403)(scope, receive, send)
        if scope["path"].startswith("/static/") and scope["method"] in _SAFE:
            return await self._app(scope, receive, _lasting(send))
        if self._has_token(scope):
            return await self._welcome(scope, headers)(scope, receive, send)
        session = self._session(headers)
        if session is None or _from_elsewhere(headers):
            return await _page("This page is somebody's own", _NO_TOKEN, 403)(scope, receive, send)
        scope["session"] = session
        most = self._most_uploaded if _UPLOADS.fullmatch(scope["path"]) else _MOST_SENT
        bounded = _Bounded(receive, most)
        if bounded.exceeds(headers.get("content-length", "0")):
            return await _page("Too large", _too_large(most), 413, closes=True)(scope, receive, send)
        await self._app(scope, bounded, send)

    def _has_token(self, scope: Scope) -> bool:
        if scope["method"] not in _SAFE:
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return secrets.compare_digest(given.encode(), self._token)

    def _session(self, headers: dict[str, str]) -> str | None:
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return None
        return kept.value if kept is not None and kept.value in self._sessions else None

    def _welcome(self, scope: Scope, headers: dict[str, str]) -> Response:
        """A session, and on to the address without the token.

        It is a page and no redirect: a browser that follows one from elsewhere would hold back a strict cookie.
        """
        session = self._session(headers)
        if session is None:
            session = secrets.token_urlsafe(32)
            self._sessions.add(session)
        path = scope["path"] if re.fullmatch(r"/[\w/-]*", scope["path"]) and scope["path"][:2] != "//" else "/"
        answer = _page("oneoff studio", f'<a href="{path}">Go to the page</a>', 200, refresh=path)
        answer.set_cookie(self._cookie, session, httponly=True, samesite="strict", path="/")
        return answer


def _refused(scope: Scope, headers: dict[str, str]) -> str:
    """Why this is not for us, or nothing."""
    host = headers.get("host", "")
    if not _HOSTS.fullmatch(host):
        return "This page answers at 127.0.0.1 only."
    origin = headers.get("origin")
    if origin != f"http://{host}" and (origin is not None or scope["method"] not in _SAFE):
        return "Another page asked for this. Nothing was changed."
    return ""


def _from_elsewhere(headers: dict[str, str]) -> bool:
    """Did a page of another site or port lead here, or show something of here in itself?"""
    return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")


class _Bounded:
    """What arrives, up to a number of bytes; more is an answer of its own, wherever it is read."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._left, self._most = receive, most, most

    def exceeds(self, length: str) -> bool:
        return not (length.isascii() and length.isdigit()) or int(length) > self._left

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise HTTPException(413, _too_large(self._most), {"connection": "close"})
        return message


def _lasting(send: Send) -> Send:
    """Styles and scripts are alike in every page and hold nothing of a table: browsers may keep them for a while."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] in (200, 304):
            message["headers"] = [*message.get("headers", []), (b"cache-control", b"private, max-age=600")]
        await send(message)

    return sent


class _Answer:
    """What is sent, with the headers every answer has."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            said = {name.lower() for name, _ in message.get("headers", [])}
            more = [(name.lower().encode(), text.encode()) for name, text in HEADERS.items()]
            message["headers"] = [*message.get("headers", []), *(each for each in more if each[0] not in said)]
        await self._send(message)


def _tell_without_values(error: BaseException) -> None:
    """On the terminal: what failed and where. Messages may quote the table, so they are left out."""
    print(f"a defect of oneoff: {type(error).__name__}", file=sys.stderr)
    for frame in traceback.extract_tb(error.__traceback__):
        print(f"  {frame.filename}:{frame.lineno} in {frame.name}", file=sys.stderr)


def _page(title: str, words: str, status: int, refresh: str = "", *, closes: bool = False) -> HTMLResponse:
    """A page that needs nothing else; its words are ours."""
    forward = f'<meta http-equiv="refresh" content="0; url={refresh}">' if refresh else ""
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{forward}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/static/palette.css">'
        '<link rel="stylesheet" href="/static/studio.css"></head>'
        f'<body><main class="alone" id="main" tabindex="-1"><h1>{title}</h1><p>{words}</p></main></body></html>'
    )
    return HTMLResponse(page, status, {"connection": "close"} if closes else None)


def defect_page() -> HTMLResponse:
    """For what is our own fault."""
    return _page("Something went wrong", _DEFECT, 500)


def _too_large(most: int) -> str:
    size = f"{most >> 30} GB" if most >= 1 << 30 else f"{most >> 20} MB"
    return f"More than {size} was sent, and nothing of it was kept. A larger table is chosen by its path."


_DEFECT = "This is a defect of oneoff, and nothing was published. Please report it; what failed is in the terminal."
_NEIGHBOUR = "Another user of this machine started it, and it answers nobody else."
_NO_TOKEN = (
    "Open it with the whole address that <code>oneoff studio</code> printed in the terminal; it has a token in it. "
    "If you had the page open before, it has been started anew since."
)
