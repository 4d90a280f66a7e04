"""The step `table`: a file is chosen or uploaded, and shown as it will be read."""

from __future__ import annotations

import re
import secrets
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from oneoff.errors import BadValue, OneoffError, OutputError, UnreadableFile, whole_number
from oneoff.studio.asking import ask
from oneoff.studio.desks import Desk
from oneoff.studio.draft import Draft, Said, said
from oneoff.studio.folders import Folders
from oneoff.studio.heads import READING, Head, found_reading, head_of
from oneoff.studio.pages import desk_of, form_of, go_to, number_in, render
from oneoff.table.files import is_known

__all__ = ["found_of", "reading_of", "routes"]

MISSING = (
    ("category", "Keep these rows: “missing” becomes a value of its own"),
    ("drop", "Leave these rows out"),
    ("error", "Refuse the table if a column that matters has any"),
)
DELIMITERS = ((",", "comma ,"), (";", "semicolon ;"), ("\t", "tab"), ("|", "bar |"))
ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16", "latin-2", "cp1250", "cp1251")
_LISTED = 300  # files and folders


def reading_of(draft: Draft) -> dict[str, Any]:
    """How the file is read: the keys of a job that say so."""
    return {name: draft.given[name] for name in READING if name in draft.given}


def found_of(desk: Desk) -> Any:
    """What `profile` finds in the table; None while that is being found out."""
    return ask(
        desk,
        "profile",
        "oneoff.studio.work.look:profile_table",
        source=str(desk.source),
        reading=reading_of(desk.draft),
    )


# --- pages


async def _page(request: Request) -> Response:
    desk = desk_of(request)
    if desk.source is None or "other" in request.query_params:
        return await _choosing(request, desk)
    return await run_in_threadpool(_shown, request, desk, [])


def _shown(
    request: Request, desk: Desk, complaints: list[Said], status: int = 200, typed: FormData | None = None
) -> Response:
    """The head of the file, and how it is read."""
    assert desk.source is not None
    head: Head | None = None
    try:
        head = head_of(desk.source, reading_of(desk.draft))
    except OneoffError as error:
        complaints, status = [*complaints, said(error, default="input")], 422
    return render(
        request, "table.html", status, desk=desk, step="table", head=head, complaints=complaints, draft=desk.draft,
        delimiters=DELIMITERS, encodings=ENCODINGS, uploaded=desk.source.is_relative_to(desk.folder),
        stays=_stays(desk.draft, typed), **_looked(desk, head),
    )  # fmt: skip


def _stays(draft: Draft, typed: FormData | None) -> dict[str, str]:
    """What the controls hold: what somebody typed, or else what is settled."""
    if typed is not None:
        return {name: str(typed.get(name, "")) for name in READING}
    kept = {"encoding": "utf-8", "decimal": ".", **draft.given}
    marks = ", ".join(text for text in draft.get("na", ()) if text)
    return {name: str(kept.get(name, "")) for name in READING} | {"na": marks}


def _looked(desk: Desk, head: Head | None) -> dict[str, Any]:
    """What is known of the whole table by now."""
    if head is None:
        return {"found": None, "failed": None, "missing": MISSING, "chosen_missing": ""}
    try:
        found, failed = found_of(desk), None
    except OneoffError as error:
        found, failed = None, _at(error, _cause(error))
    if found or failed:
        desk.remember("unread", failed and asdict(failed))
    return {
        "found": found, "failed": failed, "missing": MISSING, "chosen_missing": desk.draft.get("missing", "category"),
    }  # fmt: skip


async def _found(request: Request) -> Response:
    """The part of the page that waits for a look at the whole table."""
    desk = desk_of(request)
    head = await run_in_threadpool(head_of, desk.source, reading_of(desk.draft)) if desk.source else None
    values = await run_in_threadpool(_looked, desk, head)
    return render(request, "table_found.html", desk=desk, **values)


async def _choosing(
    request: Request, desk: Desk, complaints: list[Said] | None = None, status: int = 200, typed: str = ""
) -> Response:
    folder = request.query_params.get("folder", "")
    said_before = complaints or []
    try:
        shown = desk.folders.inside(folder or ".")
        if not shown.is_dir():
            shown = desk.folders.allowed[0]
    except UnreadableFile as error:
        shown, said_before, status = desk.folders.allowed[0], [*said_before, said(error)], 403
    entries = await run_in_threadpool(_entries, shown, desk.folders)
    return render(
        request, "choose.html", status, desk=desk, step="table", complaints=said_before, typed=typed, folder=shown,
        entries=entries, allowed=desk.folders.allowed, above=_above(shown, desk.folders),
    )  # fmt: skip


def _entries(folder: Path, folders: Folders) -> list[tuple[str, str, int]]:
    """Kind, name and size of what can be chosen in a folder; what leads out of the allowed folders is not shown."""
    found = []
    for each in sorted(folder.iterdir(), key=lambda path: path.name.lower())[: 10 * _LISTED]:
        if each.name.startswith("."):
            continue
        try:
            real = folders.inside(each)
            kind = "folder" if real.is_dir() else "file" if is_known(each.name) and real.is_file() else ""
            if kind:
                found.append((kind, each.name, 0 if kind == "folder" else real.stat().st_size))
        except (OneoffError, OSError):
            continue
    return sorted(found, key=lambda each: each[0] == "file")[:_LISTED]


def _above(folder: Path, folders: Folders) -> Path | None:
    try:
        return folders.inside(folder.parent)
    except UnreadableFile:
        return None


# --- what is sent


async def _choose(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    path = str(form.get("input", "")).strip()
    try:
        if not path:
            raise BadValue(
                "no file was named", allowed="a CSV or Parquet file", hint="type its path, or choose one below"
            )
        real = desk.folders.inside(path)
        if not real.is_file():
            raise UnreadableFile(f"there is no file {path!r}", allowed="a CSV or Parquet file", hint="check the path")
        await run_in_threadpool(_begin, desk, real)
    except OneoffError as error:
        return await _choosing(request, desk, [said(error, default="input")], 422, path)
    return go_to(desk.at("table"))


async def _upload(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    given = form.get("file")
    try:
        if not isinstance(given, UploadFile) or not given.filename:
            raise BadValue("no file was sent", allowed="a CSV or Parquet file", hint="choose one first")
        await run_in_threadpool(_keep_upload, desk, given)
    except OneoffError as error:
        return await _choosing(request, desk, [_at(error, "file")], 422)
    finally:
        await form.close()
    return go_to(desk.at("table"))


def _keep_upload(desk: Desk, given: UploadFile) -> None:
    """Into the desk's folder, under its own name as far as that is a plain one."""
    name = re.sub(r"[^\w. ()-]+", "_", Path(str(given.filename)).name)[-120:].lstrip(". ") or "table"
    if not is_known(name):
        raise UnreadableFile(
            "the kind of a file is not known",
            allowed="Parquet or text files (.parquet, .csv, .tsv, .txt)",
            got=name,
            hint="save a spreadsheet as CSV first",
        )
    aside = desk.path("coming", secrets.token_hex(8))
    try:
        with aside.open("xb") as file:
            aside.chmod(0o600)
            shutil.copyfileobj(given.file, file, 1 << 20)
        with desk.lock:  # two tabs may send one, and a run may read the one before
            shutil.rmtree(desk.folder / "table", ignore_errors=True)
            target = aside.replace(desk.path("table", name))
        _begin(desk, target)
    except OSError as error:
        raise OutputError("the file cannot be kept", got=error.strerror or "", hint="choose it by its path") from None
    finally:
        aside.unlink(missing_ok=True)


def _begin(desk: Desk, path: Path) -> None:
    """Another table: whatever was settled about the last one is forgotten."""
    reading = found_reading(path)
    if desk.source is not None and desk.source != path and desk.source.is_relative_to(desk.folder):
        desk.source.unlink(missing_ok=True)
    desk.warm.forget(desk.id)
    desk.forget()
    desk.keep(Draft({"input": str(path), **reading}))


async def _settle(request: Request) -> Response:
    """How the file is read: shown again, or settled."""
    desk, form = desk_of(request), await form_of(request)
    if desk.source is None:
        return go_to(desk.at("table"))
    complaints: list[Said] = []
    changes = _reading_from(form, complaints)
    if complaints:
        return await run_in_threadpool(_shown, request, desk, complaints, 422, form)
    before = reading_of(desk.draft)
    draft = desk.draft.with_(**changes)
    try:
        await run_in_threadpool(head_of, desk.source, reading_of(draft))
    except OneoffError as error:
        field = "encoding" if "written in" in error.what or "encoding" in error.what else "delimiter"
        return await run_in_threadpool(_shown, request, desk, [_at(error, field)], 422, form)
    if reading_of(draft) != before:
        desk.forget()
    if "missing" in form:
        draft = draft.with_(missing=str(form["missing"]))
    goes_on = form.get("then") == "columns"
    unread = desk.recall("unread")
    if goes_on and unread and reading_of(draft) == before:
        return await run_in_threadpool(_shown, request, desk, [Said(**unread)], 422, form)
    desk.keep(draft.with_("table") if goes_on else draft)
    return go_to(desk.at("columns" if goes_on else "table"))


def _cause(error: OneoffError) -> str:
    """The field that may mend a table which cannot be read."""
    return "delimiter" if "delimiter" in error.hint else "input"


def _at(error: OneoffError, field: str) -> Said:
    return Said(field, error.what, error.allowed, error.got, error.hint)


def _reading_from(form: FormData, complaints: list[Said]) -> dict[str, Any]:
    """Keys of a job from the form; what is as the library does it by itself is left out."""
    found: dict[str, Any] = dict.fromkeys(READING)
    encoding = str(form.get("encoding", "utf-8")).strip()
    found["encoding"] = None if encoding in ("", "utf-8") else encoding
    mark = str(form.get("delimiter", ""))
    found["delimiter"] = mark or None
    found["decimal"] = "," if form.get("decimal") == "," else None
    texts = [part.strip() for part in str(form.get("na", "")).split(",") if part.strip()]
    found["na"] = ["", *texts] if texts else None
    rows = str(form.get("rows", "")).replace(",", "").strip()
    if rows:
        try:
            found["rows"] = whole_number(number_in(rows), "the number of rows", least=1)
        except BadValue as error:
            complaints.append(Said("rows", error.what, error.allowed, error.got, error.hint))
    return found


routes: list[BaseRoute] = [
    Route("/desk/{desk}/table", _page),
    Route("/desk/{desk}/table", _settle, methods=["POST"]),
    Route("/desk/{desk}/table/found", _found),
    Route("/desk/{desk}/table/choose", _choose, methods=["POST"]),
    Route("/desk/{desk}/table/upload", _upload, methods=["POST"]),
]
