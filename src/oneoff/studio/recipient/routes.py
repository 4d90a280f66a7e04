"""The pages: what the release is, how many, a table, rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from oneoff.errors import OneoffError
from oneoff.studio.draft import Said, said
from oneoff.studio.pages import form_of, render
from oneoff.studio.recipient.asking import TELLS, Question, question_of, tabulation_of

__all__ = ["routes"]

_WORK = "oneoff.studio.recipient.work"
_KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
_LONGEST_KEY = 20_000  # characters


async def _about(request: Request) -> Response:
    """What the release is; whether it keeps its promise comes when somebody asks, as that can take a while."""
    return await _about_page(request, None)


async def _verify(request: Request) -> Response:
    form = await form_of(request)
    key = str(form.get("key", ""))[:_LONGEST_KEY]
    try:
        found = await _asked(request, "verified", key=key)
    except OneoffError as error:
        return await _about_page(request, None, error, key)
    return await _about_page(request, found, None, key)


async def _about_page(
    request: Request, found: dict[str, Any] | None, wrong: OneoffError | None = None, key: str = ""
) -> Response:
    complaints = [] if wrong is None else [said(wrong, default="key" if key else "")]
    try:
        guide = await _asked(request, "about")
    except OneoffError as error:  # it cannot even be opened: that is the answer of the check
        return render(request, "recipient/unreadable.html", 400, at="about", complaints=[said(error)])
    status = 422 if complaints else 200
    return render(request, "recipient/about.html", status, at="about", complaints=complaints, guide=guide, found=found,
                  key=key, name=_name(request))  # fmt: skip


async def _count(request: Request) -> Response:
    asked = question_of(request.query_params)
    columns = await _asked(request, "columns")
    found = await _asked(request, "asked", **asked.given())
    complaints = [] if found["error"] is None else [_said_of(found["error"], asked)]
    shown = replace(asked, rows=tuple(found["rows"] or ()), any_of=found["any_of"])
    return render(
        request, "recipient/count.html", 422 if complaints else 200, at="count", complaints=complaints,
        asked=shown, simple=found["rows"] is not None, where=found["where"], answer=found["answer"],
        columns={each["name"]: each for each in columns}, tells=TELLS, weighted=await _weighted(request),
        interval=_interval(found["answer"]),
    )  # fmt: skip


def _said_of(error: dict[str, str], asked: Question) -> Said:
    """Beside the text if there is one, else beside the row whose column the message names."""
    details = {name: error.get(name, "") for name in ("allowed", "got", "hint")}
    if asked.text is not None:
        return Said("where", error["what"], **details)
    if " of which column" in error["what"]:
        return Said("of", error["what"], **details)
    at = [i for i, row in enumerate(asked.rows) if repr(row["column"]) in error["what"]]
    return Said(f"row.{at[0] + 1}" if at else "where", error["what"], **details)


def _interval(answer: dict[str, Any] | None) -> dict[str, float] | None:
    """Where to draw the estimate and its ends, from 0 to 100; nothing where they are no numbers."""
    if answer is None or None in (answer["number"], *answer["ends"], *answer["likely"]):
        return None
    low, high = answer["ends"]
    least, most = min(0.0, low), max(high, answer["number"])
    if most <= least:
        return None
    at = {"low": low, "high": high, "about": answer["number"], "from": answer["likely"][0], "to": answer["likely"][1]}
    return {name: round(100 * (number - least) / (most - least), 2) for name, number in at.items()}


async def _table(request: Request) -> Response:
    asked, found, complaints = tabulation_of(request.query_params), None, []
    columns = await _asked(request, "columns")
    if asked.by:
        try:
            found = await _asked(request, "tabulated", **asked.given())
        except OneoffError as error:
            field = "of" if " of which column" in error.what else "by1" if "too large" in error.what else "where"
            complaints = [Said(field, error.what, error.allowed, error.got, error.hint)]
    return render(
        request, "recipient/table.html", 422 if complaints else 200, at="table", complaints=complaints, asked=asked,
        found=found, columns={each["name"]: each for each in columns}, tells=TELLS, weighted=await _weighted(request),
    )  # fmt: skip


async def _table_csv(request: Request) -> Response:
    asked = tabulation_of(request.query_params)
    if not asked.by:
        raise HTTPException(404)
    text = await _asked(request, "tabulated_csv", **asked.given())
    return Response(text, media_type=_KINDS["csv"], headers=_download("table.csv"))


async def _rows(request: Request) -> Response:
    return render(request, "recipient/rows.html", at="rows", complaints=[], found=await _asked(request, "plain_rows"))


async def _rows_file(request: Request) -> Response:
    """Written aside first, in the folder of this page; it goes when it was sent."""
    what, kind = request.path_params["what"], request.path_params["kind"]
    if what not in ("plain", "records") or kind not in _KINDS:
        raise HTTPException(404)
    with tempfile.NamedTemporaryFile(suffix=f".{kind}", delete=False) as file:
        path = Path(file.name)
    gone = partial(path.unlink, missing_ok=True)
    try:
        await _asked(request, "write_rows", what=what, kind=kind, path=str(path))
    except BaseException:
        gone()
        raise
    name = f"{'rows' if what == 'plain' else 'records'}.{kind}"
    return FileResponse(path, media_type=_KINDS[kind], headers=_download(name), background=BackgroundTask(gone))


def _download(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


async def _weighted(request: Request) -> bool:
    weighted: bool = await _asked(request, "has_weights")
    return weighted


def _name(request: Request) -> str:
    folder: Path = request.app.state.release
    return folder.parent.name if folder.name == "public" else folder.name


async def _asked(request: Request, name: str, **given: Any) -> Any:
    """What the child process answers, which has the release in memory and is started with the first question."""
    state = request.app.state
    if not hasattr(state, "ask"):
        state.ask = _in_a_child()
    return await run_in_threadpool(state.ask, f"{_WORK}:{name}", folder=str(state.release), **given)


def _in_a_child() -> Callable[..., Any]:
    from oneoff.studio.children import Warm

    return partial(Warm().ask, "release")


routes: list[BaseRoute] = [
    Route("/release", _about),
    Route("/release/verify", _verify, methods=["POST"]),
    Route("/release/count", _count),
    Route("/release/table", _table),
    Route("/release/table.csv", _table_csv),
    Route("/release/rows", _rows),
    Route("/release/{what}.{kind}", _rows_file),
]
