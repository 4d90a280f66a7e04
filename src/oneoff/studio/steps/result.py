"""The step `result`: the verdict first, what it costs and what it leaves an adversary; which run is better; sweeps."""

from __future__ import annotations

import re
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from oneoff.errors import BadGuarantee, OneoffError, whole_number
from oneoff.studio.asking import ask
from oneoff.studio.desks import Desk
from oneoff.studio.draft import Said, said
from oneoff.studio.named import real_method, with_real_files
from oneoff.studio.pages import desk_of, form_of, go_to, number_in, render
from oneoff.studio.runs import Run
from oneoff.studio.steps.run import latest, shown

__all__ = ["routes"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MOST_BESIDE = 12  # runs that are put beside one another


async def _page(request: Request) -> Response:
    return await run_in_threadpool(_shown, request, desk_of(request), [])


def _shown(
    request: Request, desk: Desk, complaints: list[Said], status: int = 200, typed: FormData | None = None
) -> Response:
    done = latest(desk, "release", "done")
    asked = request.query_params.get("run", "")
    run = next((each for each in done if each.id == asked), done[0] if done else None)
    if run is not None and "result" not in desk.draft.settled:
        desk.settle("result")
    return render(
        request, "result.html", status, desk=desk, step="result", complaints=complaints,
        done=[shown(each) for each in done], run=None if run is None else shown(run),
        result=None if run is None else run.result(), beside=_beside(desk, done),
        latest=next((shown(each) for each in latest(desk, "release")), None),
        sweep=_suggested(desk, typed), studies=_studies(desk),
    )  # fmt: skip


def _studies(desk: Desk) -> list[dict[str, Any]]:
    """Sweeps and comparisons, the latest first, with what came of them."""
    found = sorted([*latest(desk, "sweep"), *latest(desk, "comparison")], key=lambda run: -int(run.id))
    return [{**shown(run), "kind": run.kind, "result": run.result()} for run in found]


async def _list(request: Request) -> Response:
    """The part of the page that changes while a sweep or a comparison is at work."""
    desk = desk_of(request)
    studies = await run_in_threadpool(_studies, desk)
    return render(request, "study_list.html", desk=desk, studies=studies)


def _beside(desk: Desk, done: list[Run]) -> Any:
    """Which of the runs is better: None for less than two, "waiting" while the lines are put beside one another."""
    results = [(run, run.result() or {}) for run in done[:_MOST_BESIDE]]
    rows = [result["line"] | {"method": f"{run.id.lstrip('0')}. {result['line']['method']}"}
            for run, result in results if result.get("line")]  # fmt: skip
    if len(rows) < 2:
        return None
    try:
        return ask(desk, "beside", "oneoff.studio.work.runs:beside", rows=rows[::-1]) or "waiting"
    except OneoffError as error:
        return said(error)


async def _compared(request: Request) -> Response:
    desk = desk_of(request)
    beside = await run_in_threadpool(_beside, desk, latest(desk, "release", "done"))
    return render(request, "result_beside.html", desk=desk, beside=beside)


def _suggested(desk: Desk, typed: FormData | None) -> dict[str, str]:
    """The promise with values around its own, for a sweep."""
    if typed is not None:
        return {name: str(value) for name, value in typed.items()}
    name, colon, number = str(desk.draft.get("guarantee", "")).rpartition("+")[2].partition(":")
    before = str(desk.draft.get("guarantee", "")).rpartition("+")[0]
    if not colon or not _NUMBER.fullmatch(number):
        return {"guarantee": "", "repeat": "1"}
    values = [f"{float(number) * factor:g}" for factor in (0.5, 1, 2)]
    if float(number) == int(float(number)):
        values = [f"{max(1, round(float(number) * factor))}" for factor in (0.5, 1, 2)]
    promise = f"{name}:{','.join(dict.fromkeys(values))}"
    return {"guarantee": f"{before}+{promise}" if before else promise, "repeat": "1"}


# --- what is sent


async def _sweep(request: Request) -> Response:
    """A sweep is a run of its own."""
    desk, form = desk_of(request), await form_of(request)
    try:
        await run_in_threadpool(_start_sweep, desk, form)
    except OneoffError as error:
        field = "repeat" if "repeat" in error.what else "sweep-methods" if "method" in error.what else "sweep"
        found = said(error)
        complaint = Said(field, found.what, found.allowed, found.got, found.hint)
        return await run_in_threadpool(_shown, request, desk, [complaint], 422, form)
    return go_to(f"{desk.at('result')}#studies")


def _start_sweep(desk: Desk, form: FormData) -> None:
    asked = str(form.get("sweep", "")).strip()
    if not asked:
        raise BadGuarantee("a sweep needs a promise with values to try", allowed="beta-likeness:1,2,4 or 1..5")
    repeat = str(form.get("repeat", "1")).strip() or "1"
    methods = [part.strip() for part in str(form.get("sweep-methods", "")).split(",") if part.strip()]
    draws = whole_number(number_in(repeat), "repeat", least=1, most=20)
    asked, methods = with_real_files(desk, asked), [real_method(desk, each) for each in methods]
    desk.warm.ask(desk.id, "oneoff.studio.work.runs:check_sweep", guarantee=asked, methods=methods)
    desk.runs.start(desk.draft.job(), "sweep", {"guarantee": asked, "methods": methods, "repeat": draws})


async def _compare(request: Request) -> Response:
    """All methods that keep the promise, or some of them."""
    desk, form = desk_of(request), await form_of(request)
    methods = [part.strip() for part in str(form.get("compare-methods", "")).split(",") if part.strip()]
    try:
        await run_in_threadpool(_start_comparison, desk, methods)
    except OneoffError as error:
        found = said(error)
        complaint = Said("compare-methods", found.what, found.allowed, found.got, found.hint)
        return await run_in_threadpool(_shown, request, desk, [complaint], 422, form)
    return go_to(f"{desk.at('result')}#studies")


def _start_comparison(desk: Desk, methods: list[str]) -> None:
    methods = [real_method(desk, each) for each in methods]
    desk.warm.ask(desk.id, "oneoff.studio.work.runs:check_methods", methods=methods)
    desk.runs.start(desk.draft.job(), "comparison", {"methods": methods})


routes: list[BaseRoute] = [
    Route("/desk/{desk}/result", _page),
    Route("/desk/{desk}/result/studies", _list),
    Route("/desk/{desk}/result/beside", _compared),
    Route("/desk/{desk}/result/sweep", _sweep, methods=["POST"]),
    Route("/desk/{desk}/result/compare", _compare, methods=["POST"]),
]
