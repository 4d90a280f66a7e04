"""The pages together: what is at which address."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oneoff import report
from oneoff.errors import OneoffError
from oneoff.studio.asking import forget
from oneoff.studio.desks import Desks
from oneoff.studio.draft import STEPS, said
from oneoff.studio.guard import Guard, defect_page
from oneoff.studio.pages import desk_of, desks_of, go_to, render, session_of

__all__ = ["create_app"]

_HERE = Path(__file__).parent
_STYLES = Path(report.__file__).parent / "templates"  # reports and pages have the same colours and figures


def create_app(
    desks: Desks, *, token: str, port: int, release: Path | None = None, begin: Path | None = None
) -> ASGIApp:
    """The app, behind its guard.

    release   the public half whose pages are served, and no desks then: `app.state.release`
    begin     the table that the first desk has: `app.state.begin`
    """
    shared: list[BaseRoute] = [
        Route("/static/palette.css", _style),
        Route("/static/drawn.css", _style),
        Mount("/static", StaticFiles(directory=_HERE / "static")),
    ]
    routes = _for_stewards() if release is None else _for_recipients()
    app = Starlette(
        routes=[*shared, *routes], middleware=[Middleware(_Forms)],
        exception_handlers={HTTPException: _not_there, OneoffError: _complained, Exception: _failed},
    )  # fmt: skip
    app.state.desks, app.state.release, app.state.begin = desks, release, begin
    return Guard(app, token=token, port=port)


class _Forms:
    """Tells the script where a form leads to: a browser follows redirects by itself and says nothing of `#parts`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 303:
                names = {b"location": b"x-studio-go"}
                headers = [(names.get(name, name), value) for name, value in message["headers"]]
                message = {**message, "status": 200, "headers": headers}
            await send(message)

        is_form = dict(scope["headers"]).get(b"x-studio") == b"form"
        await self._app(scope, receive, tell if is_form else send)


def _for_stewards() -> Sequence[BaseRoute]:
    from oneoff.studio.steps import columns, handover, method, promise, result, run, table

    steps = [route for each in (table, columns, promise, method, run, result, handover) for route in each.routes]
    return [
        Route("/", _start),
        Route("/desk", _new, methods=["POST"]),
        Route("/desk/{desk}", _first),
        Route("/desk/{desk}/close", _close, methods=["POST"]),
        *steps,
        Route("/desk/{desk}/{step}", _not_yet),
    ]


def _for_recipients() -> Sequence[BaseRoute]:
    from oneoff.studio import recipient

    return [Route("/", _release), *recipient.routes]


async def _style(request: Request) -> Response:
    return FileResponse(_STYLES / Path(request.url.path).name, media_type="text/css")


async def _start(request: Request) -> Response:
    """The desks of this session; a page that was started with a table goes to it at once."""
    desks, begin = desks_of(request), request.app.state.begin
    mine = desks.of(session_of(request))
    if begin is not None and not mine:
        desk = desks.new(session_of(request))
        desk.settle(None, input=str(begin))
        return go_to(desk.at("table"))
    return render(request, "start.html", desks=mine)


async def _new(request: Request) -> Response:
    return go_to(desks_of(request).new(session_of(request)).at("table"))


async def _first(request: Request) -> Response:
    """To the first step that is not settled."""
    desk = desk_of(request)
    return go_to(desk.at(next((step for step in STEPS if step not in desk.draft.settled), "result")))


async def _close(request: Request) -> Response:
    desk = desk_of(request)
    await run_in_threadpool(desks_of(request).remove, desk)  # which may wait for a run to stop
    forget(desk)
    return go_to("/")


async def _not_yet(request: Request) -> Response:
    desk, step = desk_of(request), request.path_params["step"]
    if step not in STEPS:
        raise HTTPException(404)
    return render(request, "placeholder.html", desk=desk, step=step)


async def _release(_: Request) -> Response:
    return go_to("/release")


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    why = error.detail if error.status_code == 413 else ""
    answer = render(request, "missing.html", error.status_code, why=why)
    answer.headers.update(error.headers or {})
    return answer


async def _failed(_: Request, __: Exception) -> Response:
    return defect_page()


async def _complained(request: Request, error: Exception) -> Response:
    """What no step answered for."""
    assert isinstance(error, OneoffError)
    return render(request, "complaint.html", 400, complaints=[said(error)])
