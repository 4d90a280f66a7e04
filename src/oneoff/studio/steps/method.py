"""The step `method`: what `auto` would take and why, what else would do, and what can be chosen about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from oneoff.errors import BadValue, OneoffError
from oneoff.studio.asking import ask
from oneoff.studio.desks import Desk
from oneoff.studio.draft import Draft, Said, said
from oneoff.studio.named import real_option
from oneoff.studio.pages import desk_of, form_of, go_to, render

__all__ = ["reading_job", "routes"]

_OF_THE_RUN = ("guarantee", "output", "method", "options", "seed", "seed_file", "hold_out", "max_suppressed", "csv",
               "raw_csv", "engine", "workers", "memory_per_worker", "scratch", "master", "conf")  # fmt: skip
_ENGINES = (
    ("auto", "Whatever its size asks for"),
    ("memory", "All at once, in memory"),
    ("local", "Block by block, by worker processes"),
)
_FILES = ("public", "domain")  # options that may name a file


def reading_job(draft: Draft) -> dict[str, Any]:
    """What says how the table is read and who is who in it."""
    return {name: value for name, value in draft.given.items() if name not in _OF_THE_RUN}


def _plan(desk: Desk) -> Any:
    """What is known about methods; None while that is being found out."""
    job = reading_job(desk.draft)
    return ask(desk, "plan", "oneoff.studio.work.method:plan", job=job, guarantee=desk.draft.job().guarantee)


# --- pages


async def _page(request: Request) -> Response:
    return await run_in_threadpool(_shown, request, desk_of(request), [])


async def _methods(request: Request) -> Response:
    """The part of the page that waits for a look at the table."""
    desk = desk_of(request)
    return await run_in_threadpool(_rendered, request, "method_choice.html", desk, [], 200)


def _shown(
    request: Request, desk: Desk, complaints: list[Said], status: int = 200, typed: FormData | None = None
) -> Response:
    return _rendered(request, "method.html", desk, complaints, status, typed)


def _rendered(
    request: Request, template: str, desk: Desk, complaints: list[Said], status: int, typed: FormData | None = None
) -> Response:
    found, failed = None, None
    try:
        found = _plan(desk)
    except OneoffError as error:
        failed = said(error)
    stays = _stays(desk.draft, typed)
    return render(
        request, template, status, desk=desk, step="method", complaints=complaints, found=found, failed=failed,
        engines=_ENGINES, chosen=_chosen(desk.draft, typed), groups=_groups(found), stays=stays,
        touched={name.split(".")[1] for name, value in stays.items() if name.startswith("option.") and value},
    )  # fmt: skip


def _stays(draft: Draft, typed: FormData | None) -> dict[str, str]:
    """What the controls hold: what somebody typed, or else what is settled."""
    if typed is not None:
        return {name: str(value) for name, value in typed.items()}
    kept = {name: str(value) for name, value in draft.given.items() if name in _OF_THE_RUN and name != "options"}
    options = draft.get("options", {})
    return kept | {f"option.{draft.get('method', 'auto')}.{name}": str(value) for name, value in options.items()}


def _chosen(draft: Draft, typed: FormData | None) -> str:
    return str(draft.get("method", "auto") if typed is None else typed.get("method", "auto"))


def _groups(found: Any) -> dict[str, list[dict[str, Any]]]:
    """Those who do, the strongest first; those there for comparisons; those who do not."""
    methods = [] if found is None else found["methods"]
    order = sorted(methods, key=lambda each: (-each.get("rank", 0), each["error"] is None, each["error"] or 0))
    serving = [each for each in order if each["why_not"] is None]
    return {
        "serving": [each for each in serving if not each["comparator"]],
        "comparators": [each for each in serving if each["comparator"]],
        "others": [each for each in order if each["why_not"] is not None],
    }


# --- what is sent


async def _settle(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    return await run_in_threadpool(_settled, request, desk, form)


def _settled(request: Request, desk: Desk, form: FormData) -> Response:
    complaints: list[Said] = []
    changes = _changes(desk, form, complaints)
    draft = desk.draft.with_(**changes)
    try:
        guarantee, method = draft.job().guarantee, changes["method"] or "auto"
        if not complaints:
            desk.warm.ask(
                desk.id, "oneoff.studio.work.method:check", job=reading_job(draft), guarantee=guarantee,
                method=method, options=changes["options"] or {},
            )  # fmt: skip
    except OneoffError as error:
        complaints.append(_at_option(error, changes["method"] or "auto", changes["options"] or {}))
    if complaints:
        return _shown(request, desk, complaints, 422, form)
    desk.keep(draft.with_("method"))
    return go_to(desk.at("run"))


def _changes(desk: Desk, form: FormData, complaints: list[Said]) -> dict[str, Any]:
    """Keys of a job; what is as the library does it by itself is left out."""
    method = str(form.get("method", "auto"))
    prefix = f"option.{method}."
    options = {name.removeprefix(prefix): str(value).strip() for name, value in form.items() if name.startswith(prefix)}
    options = {name: value for name, value in options.items() if value}
    for name in _FILES:
        if name in options:
            _inside(desk, options, name, f"{prefix}{name}", complaints)
    return {
        "method": None if method == "auto" else method,
        "options": options or None,
        "seed": _number(form, "seed", int, "a whole number from 0 on", complaints),
        "hold_out": _number(form, "hold_out", float, "a share of the people, such as 0.1", complaints),
        "max_suppressed": _number(form, "max_suppressed", float, "a share of the people, such as 0.01", complaints),
        "csv": True if form.get("csv") else None,
        "engine": None if form.get("engine", "auto") == "auto" else str(form["engine"]),
        "workers": _number(form, "workers", int, "a whole number from 1 on", complaints),
        "memory_per_worker": str(form.get("memory_per_worker", "")).strip() or None,
    }


def _inside(desk: Desk, options: dict[str, str], name: str, field: str, complaints: list[Said]) -> None:
    """A file that an option names lies where files may be chosen."""
    try:
        options[name] = real_option(desk, name, options[name])
    except OneoffError as error:
        complaints.append(said(error, default=field))


def _number(
    form: FormData, name: str, kind: type[int] | type[float], allowed: str, complaints: list[Said]
) -> int | float | None:
    text = str(form.get(name, "")).strip().replace(",", ".")
    if not text:
        return None
    try:
        return kind(text)
    except ValueError:
        error = BadValue(f"{name.replace('_', ' ')} is not usable", allowed=allowed, got=repr(text[:60]))
        complaints.append(Said(name, error.what, error.allowed, error.got, error.hint))
        return None


def _at_option(error: OneoffError, method: str, options: Mapping[str, str]) -> Said:
    """At the option that an error names, or at the method."""
    words = error.what.replace("-", "_").replace(" ", "_")
    named = next((name for name in options if name in words), None)
    field = f"option.{method}.{named}" if named else "method"
    return Said(field, error.what, error.allowed, error.got, error.hint)


routes: list[BaseRoute] = [
    Route("/desk/{desk}/method", _page),
    Route("/desk/{desk}/method", _settle, methods=["POST"]),
    Route("/desk/{desk}/method/choice", _methods),
]
