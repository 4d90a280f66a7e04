"""The step `columns`: what each column is to people, and how its values are blurred."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from oneoff.errors import BadValue, OneoffError, whole_number
from oneoff.studio.asking import answer_now, answered
from oneoff.studio.desks import Desk
from oneoff.studio.draft import Draft, Said, said
from oneoff.studio.pages import desk_of, form_of, go_to, is_fragment, number_in, render
from oneoff.studio.steps.table import MISSING, found_of
from oneoff.studio.steps.trees import routes as tree_routes
from oneoff.table.made import is_word
from oneoff.table.schema import Schema

__all__ = ["ROLES", "read_of", "routes"]

ROLES = (
    ("none", "leave out", "It is not published."),
    ("quasi", "an outsider may know it", "It is blurred, so that nobody can be told apart by it."),
    ("sensitive", "it must stay private", "It is published, and what anyone may learn of it is bounded."),
    ("keep", "keep it as it is", "It is published unchanged beside the private one: only for what identifies nobody."),
    ("identifier", "it names a person", "It is dropped."),
    ("person", "it says whose a row is", "People have several rows: promises then count persons. It is dropped."),
    ("household", "it says whose household", "k then counts households. It is dropped."),
    ("weight", "a survey weight", "It says how many people a row stands for; published as means."),
)
_LISTS = {"quasi": "quasi", "identifier": "identifiers", "keep": "keep"}  # role -> key of a job
_SINGLE = ("person", "household", "weight")
_READ = ("numeric", "categorical", "prefix")  # lists of columns
PERIODS = ("day", "month", "quarter", "year")
_TUNING = ("bins", "level", "other_below")
_OF_COLUMNS = ("quasi", "sensitive", "identifiers", "keep", "person", "household", "weight", "numeric", "categorical",
               "prefix", "ordered", "dates", "hierarchies", "rows_are_people", "per_person", *_TUNING)  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column as the page shows it: what was found, what is proposed, what is settled or typed."""

    name: str
    kind: str
    distinct: int
    missing: int
    reason: str
    proposed: str
    values: tuple[tuple[str | None, int], ...]
    role: str
    reading: str
    order: str

    @property
    def readings(self) -> list[tuple[str, str]]:
        """How its values may be read and blurred."""
        numbers = self.kind in ("integer", "decimal")
        dates = self.kind == "date"
        first = "ranges of numbers" if numbers else "ranges of dates" if dates else "sets of values"
        found = [("", first)]
        found += [("categorical", "sets of values")] if numbers or dates else []
        found += [("numeric", "ranges of numbers")] if not numbers else []
        found += [("ordered", "ranges in an order")] if not numbers else []
        found += [(period, f"ranges of dates, by {period}") for period in PERIODS] if not numbers else []
        return [*found, ("prefix", "first characters of codes"), ("hierarchy", "along a hierarchy (tree)")]


# --- the page


async def _page(request: Request) -> Response:
    desk = desk_of(request)
    if desk.source is None:
        return go_to(desk.at("table"))
    try:
        found = await run_in_threadpool(found_of, desk)
    except OneoffError:
        return go_to(desk.at("table"))  # which says why
    if found is None:
        template = "wait.html" if not is_fragment(request) else "wait_part.html"
        return render(request, template, desk=desk, step="columns", address=desk.at("columns"))
    draft = desk.draft if _has_roles(desk.draft) else proposed_draft(desk.draft, found)
    return _shown(request, desk, draft, found, [])


def _shown(
    request: Request, desk: Desk, draft: Draft, found: Any, complaints: list[Said], status: int = 200
) -> Response:
    return render(
        request, "columns.html", status, desk=desk, step="columns", draft=draft, found=found, complaints=complaints,
        columns=columns_of(draft, found), roles=ROLES, missing=MISSING, word=is_word,
        gaps=[each["name"] for each in found["columns"] if each["missing"]],
    )  # fmt: skip


def _has_roles(draft: Draft) -> bool:
    return any(name in draft.given for name in ("quasi", "sensitive", "identifiers", "keep"))


def proposed_draft(draft: Draft, found: Mapping[str, Any]) -> Draft:
    """The draft with the roles that `profile` proposes, and what it says of columns beside them."""
    roles = {each["column"]: each["role"] for each in found["roles"]}
    changes = _role_keys(roles)
    options = [each["option"] for each in found["roles"] if each["option"] and each["role"] in ("quasi", "sensitive")]
    for flag, text in options:
        name, _, value = text.partition("=")
        if flag == "--dates":
            changes.setdefault("dates", {})[name] = value
        elif flag == "--ordered":
            changes.setdefault("ordered", {})[name] = _cells(value)
        elif flag == "--prefix":
            changes.setdefault("prefix", []).append(name)
        elif flag in ("--bins", "--other-below"):
            changes[flag.removeprefix("--").replace("-", "_")] = int(text)
    if "--rows-are-people" in found["arguments"]:
        changes["rows_are_people"] = True
    return draft.with_(**changes)


def columns_of(draft: Draft, found: Mapping[str, Any]) -> list[Column]:
    """All columns in the order of the table, with what the draft says of each."""
    proposals = {each["column"]: each for each in found["roles"]}
    roles = _roles_in(draft)
    return [
        Column(
            each["name"], each["kind"], each["distinct"], each["missing"], proposals[each["name"]]["reason"],
            proposals[each["name"]]["role"], tuple((text, count) for text, count in found["values"][each["name"]]),
            roles.get(each["name"], "none"), _reading_in(draft, each["name"]), _order_text(draft, each["name"]),
        )
        for each in found["columns"]
    ]  # fmt: skip


def _roles_in(draft: Draft) -> dict[str, str]:
    roles = {name: role for role, key in _LISTS.items() for name in draft.get(key, ())}
    roles |= {draft.given[role]: role for role in _SINGLE if role in draft.given}
    return roles | dict.fromkeys(_names(draft.get("sensitive")), "sensitive")


def _names(given: str | list[str] | None) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else list(given)


def _reading_in(draft: Draft, name: str) -> str:
    """How a column is read, as the choices of the page call it."""
    for key, called in (("hierarchies", "hierarchy"), ("ordered", "ordered")):
        if name in draft.get(key, {}):
            return called
    if name in draft.get("dates", {}):
        return str(draft.given["dates"][name])
    return next((key for key in _READ if name in draft.get(key, ())), "")


def _order_text(draft: Draft, name: str) -> str:
    """The order of its values, as somebody may type it."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(draft.get("ordered", {}).get(name, []))
    return line.getvalue()


def _cells(text: str) -> list[str]:
    return next(csv.reader([text], skipinitialspace=True), [])


# --- what is sent


async def _settle(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    found = await run_in_threadpool(found_of, desk) if desk.source is not None else None
    if found is None:
        return go_to(desk.at("columns"))
    complaints: list[Said] = []
    draft = _from_form(desk.draft, form, [each["name"] for each in found["columns"]], complaints)
    tree = next((key.removeprefix("tree.") for key in form if key.startswith("tree.")), None)
    if tree is not None:  # on to a hierarchy, with whatever is typed so far
        desk.keep(draft)
        return go_to(f"{desk.at('columns')}/tree?{urlencode({'column': tree})}")
    if not complaints:
        complaints = await run_in_threadpool(_complaints, desk, draft, [each["name"] for each in found["columns"]])
    if complaints:
        return _shown(request, desk, draft, found, complaints, 422)
    settled = draft.with_("columns")
    if {key: settled.get(key) for key in _OF_COLUMNS} != {key: desk.draft.get(key) for key in _OF_COLUMNS}:
        settled = _without_later(settled)
    desk.keep(settled)
    return go_to(desk.at("promise"))


def _without_later(draft: Draft) -> Draft:
    """Other columns: what was settled about promise and method has to be looked at again."""
    return Draft(draft.given, tuple(step for step in draft.settled if step in ("table", "columns")))


def read_job_of(draft: Draft) -> dict[str, Any]:
    """What says how the table is read, and nothing of what is promised."""
    keys = (*_OF_COLUMNS, "input", "missing", "rows", "encoding", "delimiter", "decimal", "na")
    return {key: draft.given[key] for key in keys if key in draft.given}


def read_of(desk: Desk) -> Any:
    """What is known of the table with the roles that are settled; None where they are not."""
    return answered(desk, "roles", "oneoff.studio.work.look:read_roles", job=read_job_of(desk.draft))


def _complaints(desk: Desk, draft: Draft, names: list[str]) -> list[Said]:
    """What the library says to these roles when it reads the table with them."""
    try:
        Schema(quasi=draft.get("quasi", ()))  # that there is one, in its words
        answer_now(desk, "roles", "oneoff.studio.work.look:read_roles", job=read_job_of(draft))
    except OneoffError as error:
        return [said(error, names, _default_field(error, draft))]
    return []


def _default_field(error: OneoffError, draft: Draft) -> str:
    """Where a message stands that names no column."""
    text = f"{error.what} {error.hint}"
    for key in (*_TUNING, "per_person", "rows_are_people"):
        if key in text or f"--{key.replace('_', '-')}" in text:
            return key
    return "columns"


def _from_form(draft: Draft, form: FormData, names: Iterable[str], complaints: list[Said]) -> Draft:
    """The draft as the form has it; what the library is to judge is left to it."""
    roles = {name: str(form.get(f"column.{name}", "none")) for name in names}
    changes: dict[str, Any] = dict.fromkeys(_OF_COLUMNS) | _role_keys(roles)
    trees = draft.get("hierarchies", {})
    for name, role in roles.items():
        reading = str(form.get(f"reading.{name}", ""))
        if role not in ("quasi", "sensitive") or not reading:
            continue
        if reading in _READ:
            changes[reading] = [*(changes[reading] or []), name]
        elif reading in PERIODS:
            changes["dates"] = {**(changes["dates"] or {}), name: reading}
        elif reading == "ordered":
            order = [cell for cell in _cells(str(form.get(f"ordered.{name}", ""))) if cell]
            if not order:
                complaints.append(Said(f"ordered.{name}", f"the order of {name!r} is not said", "its values, from the "
                                       "least to the greatest, divided by commas"))  # fmt: skip
            changes["ordered"] = {**(changes["ordered"] or {}), name: order}
        elif name in trees:
            changes["hierarchies"] = {**(changes["hierarchies"] or {}), name: trees[name]}
        elif not any(key.startswith("tree.") for key in form):
            complaints.append(
                Said(f"reading.{name}", f"{name!r} has no hierarchy yet", hint="make one, or load a file")
            )
    for key in _TUNING:
        changes[key] = _whole(form, key, complaints)
    changes["rows_are_people"] = True if form.get("rows_are_people") else None
    changes["per_person"] = str(form.get("per_person", "")).strip() or None
    missing = str(form.get("missing", "")) or draft.get("missing")
    return draft.with_(**changes, missing=missing)


def _role_keys(roles: Mapping[str, str]) -> dict[str, Any]:
    """Roles as keys of a job."""
    having = {role: [name for name, own in roles.items() if own == role] for role, _, _ in ROLES}
    found: dict[str, Any] = {key: having[role] for role, key in _LISTS.items() if having[role]}
    found |= {"quasi": having["quasi"]}
    for role in _SINGLE:
        if having[role]:
            found[role] = having[role][0]
            found["identifiers"] = [*found.get("identifiers", []), *having[role][1:]]
    private = having["sensitive"]
    found |= {"sensitive": private[0] if len(private) == 1 else private} if private else {}
    return {key: value for key, value in found.items() if value or key == "quasi"}


def _whole(form: FormData, key: str, complaints: list[Said]) -> int | None:
    text = str(form.get(key, "")).strip()
    if not text:
        return None
    try:
        return whole_number(number_in(text), key.replace("_", " "), least=1)
    except BadValue as error:
        complaints.append(said(error, default=key))
        return None


routes: list[BaseRoute] = [
    Route("/desk/{desk}/columns", _page),
    Route("/desk/{desk}/columns", _settle, methods=["POST"]),
    *tree_routes,
]
