"""The step `promise`: how much anyone may learn, in words and for this table."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from oneoff.errors import BadGuarantee, OneoffError
from oneoff.studio.asking import ask
from oneoff.studio.desks import Desk
from oneoff.studio.draft import Draft, Said, said
from oneoff.studio.named import names_file, with_real_files
from oneoff.studio.pages import desk_of, form_of, go_to, is_fragment, render
from oneoff.studio.promises import KINDS, Meaning, joined_text, meaning_of, split_text
from oneoff.studio.steps.columns import read_job_of
from oneoff.studio.steps.table import found_of

__all__ = ["routes"]


async def _page(request: Request) -> Response:
    desk = desk_of(request)
    if "columns" not in desk.draft.settled:
        return go_to(desk.at("columns" if desk.source is not None else "table"))
    try:
        table = await run_in_threadpool(_table, desk)
    except OneoffError:
        return go_to(desk.at("columns"))  # where its message has a place
    if table is None:
        template = "wait_part.html" if is_fragment(request) else "wait.html"
        return render(request, template, desk=desk, step="promise", address=desk.at("promise"))
    guarantee = desk.draft.get("guarantee") or await run_in_threadpool(_proposed, desk, table)
    return await run_in_threadpool(_shown, request, desk, table, *split_text(guarantee), [])


def _table(desk: Desk) -> Any:
    """What is known of the table with these roles; None while it is read."""
    return ask(desk, "roles", "oneoff.studio.work.look:read_roles", job=read_job_of(desk.draft))


def _proposed(desk: Desk, table: Any) -> str:
    """What `profile` proposes; without a private column, what it says of who somebody is."""
    found = found_of(desk)
    arguments = [] if found is None else found["arguments"]
    text = arguments[arguments.index("--guarantee") + 1] if "--guarantee" in arguments else "k-anonymity:5"
    if not table["sensitive"]:
        return next((part for part in text.split("+") if part.startswith("k-")), "k-anonymity:5")
    return text if "+" in text else f"{text}+beta-likeness:3"


def _shown(
    request: Request, desk: Desk, table: Any, chosen: dict[str, str], extra: str, complaints: list[Said],
    status: int = 200,
) -> Response:  # fmt: skip
    kinds = [kind for kind in KINDS if table["sensitive"] or not kind.of_values]
    meaning, wrong = _meaning(desk, table, joined_text(chosen, extra))
    return render(
        request, "promise.html", status, desk=desk, step="promise", table=table, kinds=kinds, chosen=chosen,
        extra=extra, complaints=complaints, meaning=meaning, wrong=wrong,
        known=[each["name"] for each in table["quasi"]], hidden=[each["name"] for each in table["sensitive"]],
    )  # fmt: skip


def _meaning(desk: Desk, table: Any, guarantee: str) -> tuple[Meaning | None, Said | None]:
    try:
        if not guarantee:
            raise BadGuarantee("nothing is promised yet", allowed="at least one promise", hint="tick one of them")
        real = with_real_files(desk, guarantee)
        return meaning_of(real, table, [each["name"] for each in table["quasi"]]), None
    except OneoffError as error:
        return None, said(error)


async def _live(request: Request) -> Response:
    """What is chosen at the moment, and what it means."""
    desk, form = desk_of(request), await form_of(request)
    table = await run_in_threadpool(_table, desk)
    if table is None:
        return Response(status_code=204)
    meaning, wrong = await run_in_threadpool(_meaning, desk, table, joined_text(*_chosen(form)))
    return render(request, "promise_meaning.html", desk=desk, meaning=meaning, wrong=wrong, table=table)


def _chosen(form: FormData) -> tuple[dict[str, str], str]:
    """The promises that are ticked, with their numbers, and the text beside them."""
    ticked = [kind.name for kind in KINDS if form.get(f"use.{kind.name}")]
    return {name: str(form.get(f"promise.{name}", "")).strip() for name in ticked}, str(
        form.get("guarantee", "")
    ).strip()


async def _settle(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    table = await run_in_threadpool(_table, desk)
    if table is None:
        return go_to(desk.at("promise"))
    chosen, extra = _chosen(form)
    try:
        guarantee = await run_in_threadpool(_checked, desk, joined_text(chosen, extra))
    except OneoffError as error:
        complaint = said(error)
        placed = Said(_field(error, chosen), complaint.what, complaint.allowed, complaint.got, complaint.hint)
        return await run_in_threadpool(_shown, request, desk, table, chosen, extra, [placed], 422)
    draft = desk.draft.with_("promise", guarantee=guarantee)
    if guarantee != desk.draft.get("guarantee"):
        draft = Draft(draft.given, tuple(step for step in draft.settled if step in ("table", "columns", "promise")))
    desk.keep(draft)
    return go_to(desk.at("method"))


def _checked(desk: Desk, text: str) -> str:
    """The guarantee as the library writes it, or with the path of its file; one that nothing keeps is an error."""
    if not text:
        raise BadGuarantee("nothing is promised yet", allowed="at least one promise", hint="tick one of them")
    real = with_real_files(desk, text)
    job = {**read_job_of(desk.draft), "guarantee": real}
    answer = desk.warm.ask(desk.id, "oneoff.studio.work.look:keep_promise", job=job)
    return real if names_file(real) else str(answer["guarantee"])


def _field(error: OneoffError, chosen: dict[str, str]) -> str:
    """The slider of the promise that a message is about, or the text."""
    named = [name for name in chosen if error.got.startswith(f"{name}:") or f"of {name}" in error.what]
    return f"promise.{named[0]}" if named else "guarantee" if "nothing" not in error.what else "promise"


routes: list[BaseRoute] = [
    Route("/desk/{desk}/promise", _page),
    Route("/desk/{desk}/promise", _settle, methods=["POST"]),
    Route("/desk/{desk}/promise/meaning", _live, methods=["POST"]),
]
