"""The step `run`: start, watch, cancel; several runs side by side with their settings; again with others; delete."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from oneoff.errors import BadValue, OneoffError
from oneoff.studio.desks import Desk
from oneoff.studio.draft import STEPS, Draft, Said, said
from oneoff.studio.pages import desk_of, form_of, go_to, is_fragment, render
from oneoff.studio.runs import Run

if TYPE_CHECKING:
    from oneoff.job import Job

__all__ = ["latest", "routes", "run_of", "shown"]

_STATES = {
    "waiting": "Waits for its turn",
    "running": "At work",
    "done": "Done: the promise holds",
    "broken": "Done: the promise does not hold",
    "found": "Done",
    "refused": "Refused",
    "failed": "Failed",
    "cancelled": "Cancelled; nothing is left of it",
}
_SETTINGS = ("seed", "hold_out", "max_suppressed", "engine", "rows", "missing")
_ALONE = {"Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"}


def run_of(request: Request, desk: Desk) -> Run:
    run = desk.runs.of(request.path_params["run"])
    if run is None:
        raise HTTPException(404)
    return run


def latest(desk: Desk, kind: str, *states: str) -> list[Run]:
    """Runs of a kind, the latest first."""
    found = [run for run in desk.runs.all() if run.kind == kind and (not states or run.told.state in states)]
    return found[::-1]


def shown(run: Run) -> dict[str, Any]:
    """What the page shows of a run."""
    told, job = run.told, run.job()
    state = told.state
    if state == "done":
        state = "found" if run.kind != "release" else "done" if told.came.get("holds") else "broken"
    words = "Stops…" if run.stopping and run.active else _STATES[state]
    chosen = {
        name: getattr(job, name) for name in _SETTINGS if getattr(job, name) != type(job).model_fields[name].default
    }
    return {
        "run": run, "id": run.id, "number": int(run.id), "state": state, "words": words, "told": told,
        "active": run.active, "seconds": run.seconds(), "guarantee": told.asked.get("guarantee", job.guarantee),
        "method": told.came.get("method", job.method), "asked_method": job.method, "options": job.options,
        "settings": chosen | ({"seed": "given"} if run.seed_file else {}),
    }  # fmt: skip


# --- pages


async def _page(request: Request) -> Response:
    return await run_in_threadpool(_shown, request, desk_of(request), [])


async def _list(request: Request) -> Response:
    """The part of the page that changes while something is at work."""
    return await run_in_threadpool(_runs, request, desk_of(request))


def _shown(request: Request, desk: Desk, complaints: list[Said], status: int = 200) -> Response:
    try:
        job, missing = desk.draft.job(), None
    except OneoffError as error:
        job, missing = None, said(error)
    unsettled = [each for each in STEPS[:3] if each not in desk.draft.settled]
    return render(
        request, "run.html", status, desk=desk, step="run", complaints=complaints, job=job, missing=missing,
        runs=_all(desk), unsettled=unsettled, mark=job and _mark(job),
    )  # fmt: skip


def _runs(request: Request, desk: Desk) -> Response:
    return render(request, "run_list.html", desk=desk, runs=_all(desk))


def _all(desk: Desk) -> list[dict[str, Any]]:
    return [shown(run) for run in latest(desk, "release")]


async def _report(request: Request) -> Response:
    """What was written about it: a page that stands alone, and may do nothing here."""
    run = run_of(request, desk_of(request))
    name = f"report-{run.id}.html"
    headers = dict(_ALONE)
    if "download" in request.query_params:
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    if run.kind == "release":
        path = run.out / "private" / "report.html"
        if not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, media_type="text/html", headers=headers)
    result = await run_in_threadpool(run.result)
    if result is None:
        raise HTTPException(404)
    return HTMLResponse(result["page"], headers=headers)


async def _plot(request: Request) -> Response:
    """A picture of a sweep."""
    result, number = await run_in_threadpool(run_of(request, desk_of(request)).result), request.path_params["number"]
    plots = (result or {}).get("parts", {}).get("plots", [])
    if number >= len(plots):
        raise HTTPException(404)
    return Response(_as_file(plots[number]["svg"]), media_type="image/svg+xml", headers=_ALONE)


def _as_file(svg: str) -> str:
    """A picture that was made to stand in a page, as a file."""
    return (
        svg if "xmlns=" in svg.partition(">")[0] else svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    )


# --- what is sent


async def _start(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    try:
        job = desk.draft.job()
        if form.get("seen", _mark(job)) != _mark(job):
            raise BadValue("what will be done was changed since this page was shown, perhaps in another tab",
                           allowed="what stands here by now", hint="read it again, then start the run")  # fmt: skip
        await run_in_threadpool(desk.runs.start, job)
    except OneoffError as error:
        return await run_in_threadpool(_shown, request, desk, [said(error)], 422)
    desk.settle("run")
    return await _after(request, desk)


def _mark(job: Job) -> str:
    """The same for the same job."""
    return hashlib.sha256(job.to_toml().encode(errors="surrogatepass")).hexdigest()[:16]


async def _cancel(request: Request) -> Response:
    desk = desk_of(request)
    await run_in_threadpool(desk.runs.cancel, run_of(request, desk).id)
    return await _after(request, desk)


async def _delete(request: Request) -> Response:
    desk = desk_of(request)
    await run_in_threadpool(desk.runs.delete, run_of(request, desk).id)
    return await _after(request, desk)


async def _after(request: Request, desk: Desk) -> Response:
    """The list anew, where only that was asked for, or the page it belongs to."""
    if is_fragment(request):
        return await run_in_threadpool(_runs, request, desk)
    return go_to(desk.at("result" if request.query_params.get("at") == "result" else "run"))


async def _again(request: Request) -> Response:
    """Its settings are those of the draft again, to change some and run it once more."""
    desk = desk_of(request)
    try:
        await run_in_threadpool(_resume, desk, run_of(request, desk))
    except OneoffError as error:
        return await run_in_threadpool(_shown, request, desk, [said(error)], 422)
    return go_to(desk.at("method"))


def _resume(desk: Desk, run: Run) -> None:
    job = run.job()
    if not Path(job.input).is_file():
        raise BadValue("the table of this run is not there any more", got=Path(job.input).name,
                       hint="choose it again in the first step")  # fmt: skip
    given = job.model_dump(exclude_defaults=True, exclude={"output", "overwrite", "seed_file"})
    if job.seed_file is not None:
        given["seed"] = job.chosen_seed()
    if desk.draft.get("input") != job.input:
        desk.forget()
    desk.keep(Draft(given, desk.draft.settled))


routes: list[BaseRoute] = [
    Route("/desk/{desk}/run", _page),
    Route("/desk/{desk}/run", _start, methods=["POST"]),
    Route("/desk/{desk}/run/list", _list),
    Route("/desk/{desk}/run/{run}/cancel", _cancel, methods=["POST"]),
    Route("/desk/{desk}/run/{run}/delete", _delete, methods=["POST"]),
    Route("/desk/{desk}/run/{run}/again", _again, methods=["POST"]),
    Route("/desk/{desk}/run/{run}/report", _report),
    Route("/desk/{desk}/run/{run}/plot/{number:int}.svg", _plot),
]
