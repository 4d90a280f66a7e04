"""A part of the step `columns`: the hierarchy of one column, proposed, made, edited as a tree, loaded and saved.

Whatever is done to it is kept at once, in a file of its own that is named by what is in it; the draft says which one.
"""

from __future__ import annotations

import csv
import hashlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from oneoff.errors import BadValue, OneoffError
from oneoff.studio.asking import ask
from oneoff.studio.desks import Desk
from oneoff.studio.draft import Draft, Said, said
from oneoff.studio.pages import desk_of, form_of, go_to, is_fragment, render
from oneoff.studio.steps.table import found_of, reading_of
from oneoff.studio.trees import flat, put_under, renamed, shown_tree, without_level
from oneoff.table.hierarchy import Hierarchy, read_hierarchy
from oneoff.table.made import is_word, made_hierarchy
from oneoff.table.table import MISSING_LABEL

__all__ = ["routes"]

_MOST_SENT = 20 << 20  # bytes of a file with a hierarchy
_WORDS = (
    ("interval", "intervals of numbers, by their widths: 5,10,20"),
    ("date", "periods of dates: month,quarter,year,decade"),
    ("prefix", "codes that lose characters from the right"),
)


# --- the page


async def _page(request: Request) -> Response:
    desk, column = desk_of(request), request.query_params.get("column", "")
    return await run_in_threadpool(_shown, request, desk, column, [])


def _shown(request: Request, desk: Desk, column: str, complaints: list[Said], status: int = 200) -> Response:
    address = _at(desk, column)
    try:
        found = _proposals(desk, column)
    except OneoffError as error:
        return render(request, "complaint.html", 400, desk=desk, step="columns", complaints=[said(error)])
    if found is None:
        template = "wait_part.html" if is_fragment(request) else "wait.html"
        return render(request, template, desk=desk, step="columns", address=address)
    rows, counts = _rows(desk, column), _counts(desk, found)
    proposals = [(place, each, shown_tree(each["rows"], counts, 12)) for place, each in enumerate(found["proposals"])]
    return render(
        request, "tree.html", status, desk=desk, step="columns", column=column, complaints=complaints,
        tree=None if rows is None else shown_tree(rows, counts), levels=0 if rows is None else len(rows[0]),
        proposals=proposals,
        words=_WORDS, address=address, distinct=found["distinct"], by=request.query_params.get("by", ""),
        others=[name for name in _names(desk) if name != column and name not in _private(desk.draft)],
        uncovered=[] if rows is None else _uncovered(rows, counts),
    )  # fmt: skip


def _counts(desk: Desk, found: Any) -> dict[str, int]:
    """Rows by value; what is missing is a value of its own where that was chosen."""
    own = {MISSING_LABEL: found["missing"]} if found["missing"] and desk.draft.get("missing") == "category" else {}
    return {**found["counts"], **own}


def _with_missing(rows: list[list[str]], counts: dict[str, int]) -> list[list[str]]:
    """What is missing is a branch of its own, as the library makes it."""
    if MISSING_LABEL not in counts or any(row[0] == MISSING_LABEL for row in rows):
        return rows
    return [*rows, [*[MISSING_LABEL] * (len(rows[0]) - 1), rows[0][-1]]]


def _at(desk: Desk, column: str) -> str:
    return f"{desk.at('columns')}/tree?{urlencode({'column': column})}"


def _names(desk: Desk) -> list[str]:
    found = found_of(desk)
    return [] if found is None else [each["name"] for each in found["columns"]]


def _proposals(desk: Desk, column: str, by: list[str] | None = None) -> Any:
    """What the library proposes for a column, and how many rows have each value; None while it is at work."""
    found = found_of(desk)
    if found is None:
        return None
    if column not in [each["name"] for each in found["columns"]]:
        raise HTTPException(404)
    name = f"tree-{_digest(column)}"
    chosen = by if by is not None else (desk.recall(f"by-{name}") or [])
    chosen = [each for each in chosen if each not in _private(desk.draft)]
    if by is not None:
        desk.remember(f"by-{name}", by)
    return ask(
        desk, name, "oneoff.studio.work.look:propose_trees", source=str(desk.source), reading=reading_of(desk.draft),
        column=column, by=chosen,
    )  # fmt: skip


def _private(draft: Draft) -> list[str]:
    """The columns that no hierarchy may tell of, as it is public."""
    given = draft.get("sensitive") or []
    return [*([given] if isinstance(given, str) else given), *draft.get("keep", [])]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _rows(desk: Desk, column: str) -> list[list[str]] | None:
    """The hierarchy that the draft has for a column, if that is one of a file."""
    file = desk.draft.get("hierarchies", {}).get(column)
    return None if file is None or is_word(file) else read_hierarchy(file).rows()


def _uncovered(rows: list[list[str]], counts: dict[str, int]) -> list[str]:
    known = {row[0] for row in rows}
    return [value for value in counts if value not in known]


# --- what is done to it


async def _change(request: Request) -> Response:
    desk, column, form = desk_of(request), request.query_params.get("column", ""), await form_of(request)
    try:
        await run_in_threadpool(_changed, desk, column, form)
    except OneoffError as error:
        complaint = said(error, default=_field(str(form.get("do", ""))))
        return await run_in_threadpool(_shown, request, desk, column, [_placed(complaint, form)], 422)
    finally:
        await form.close()
    return go_to(desk.at("columns") if form.get("do") == "nothing" else _at(desk, column))


def _field(do: str) -> str:
    return {"put": "above", "rename": "new", "load": "file", "make": "widths", "cut": "level", "by": "by"}.get(
        do, "tree"
    )


def _placed(complaint: Said, form: FormData) -> Said:
    """At the control that was used, whatever the message is about."""
    return Said(_field(str(form.get("do", ""))), complaint.what, complaint.allowed, complaint.got, complaint.hint)


def _changed(desk: Desk, column: str, form: FormData) -> None:
    try:
        _do(desk, column, form)
    except (IndexError, ValueError):  # a place that another tab has taken away
        raise BadValue("the tree is another one by now", hint="look at it again, and do what is to be done") from None


def _do(desk: Desk, column: str, form: FormData) -> None:
    do = str(form.get("do", ""))
    if do == "nothing":
        return _use(desk, column, None)
    if do == "by":
        _proposals(desk, column, _public(desk.draft, [str(name) for name in form.getlist("by")]))
        return None
    found = _proposals(desk, column)
    if found is None:
        return None
    rows, counts = _rows(desk, column), _counts(desk, found)
    makers: dict[str, Callable[[], list[list[str]]]] = {
        "flat": lambda: flat(found["counts"]),
        "make": lambda: made_hierarchy(_word(form), list(found["counts"]), column).rows(),
        "load": lambda: _loaded(form, list(found["counts"]), column),
        "propose": lambda: found["proposals"][int(str(form.get("proposal", "0")))]["rows"],
    }
    if do in makers:
        return _use(desk, column, _with_missing(makers[do](), counts))
    return None if rows is None else _edited(desk, column, do, form, rows, _uncovered(rows, counts))


def _public(draft: Draft, names: list[str]) -> list[str]:
    """These columns, none of which is private."""
    private = [name for name in names if name in _private(draft)]
    if private:
        raise BadValue("a hierarchy is public, so it cannot be made by a private column",
                       allowed="columns that do not stay private", got=", ".join(map(repr, private)),
                       hint="choose what outsiders may know, such as age or sex")  # fmt: skip
    return names


def _edited(desk: Desk, column: str, do: str, form: FormData, rows: list[list[str]], uncovered: list[str]) -> None:
    level, labels = _ticked(form)
    changes: dict[str, Callable[[], list[list[str]]]] = {
        "put": lambda: put_under(rows, level, labels, str(form.get("above", ""))),
        "rename": lambda: renamed(rows, _only(labels, level), str(form.get("new", ""))),
        "cut": lambda: without_level(rows, int(str(form.get("level", "0")))),
        "cover": lambda: [*rows, *([*[value] * (len(rows[0]) - 1), rows[0][-1]] for value in uncovered)],
    }
    if do in changes:
        _use(desk, column, changes[do]())


def _ticked(form: FormData) -> tuple[int, list[str]]:
    """The nodes that were ticked, all of one level."""
    nodes = [str(each).partition(":") for each in form.getlist("node")]
    levels = {level for level, _, _ in nodes}
    if len(levels) > 1:
        raise BadValue("labels of different levels were ticked", allowed="labels of one level at a time")
    return int(levels.pop()) if levels else 0, [label for _, _, label in nodes]


def _only(labels: list[str], level: int) -> str:
    if len(labels) != 1 or level == 0:
        raise BadValue("one label is renamed at a time", allowed="one ticked label above the values",
                       got=f"{len(labels)} ticked")  # fmt: skip
    return labels[0]


def _word(form: FormData) -> str:
    if form.get("kind") not in [name for name, _ in _WORDS]:
        raise BadValue("there is no such way to make one", allowed=", ".join(name for name, _ in _WORDS))
    kind, widths = str(form.get("kind", "")), str(form.get("widths", "")).replace(" ", "")
    return f"{kind}:{widths}" if widths and kind != "prefix" else kind


def _loaded(form: FormData, values: list[str], column: str) -> list[list[str]]:
    given = form.get("file")
    if not isinstance(given, UploadFile) or not given.filename or (given.size or 0) > _MOST_SENT:
        raise BadValue("no file was sent", allowed="a CSV file: value, level 1, ..., *", hint="choose one first")
    with tempfile.NamedTemporaryFile(suffix=".csv") as kept:
        kept.write(given.file.read())
        kept.flush()
        try:
            tree = read_hierarchy(kept.name)
        except OneoffError as error:
            named = error.what.replace(kept.name, given.filename).replace(Path(kept.name).name, given.filename)
            raise type(error)(named, allowed=error.allowed, got=error.got, hint=error.hint) from None
    tree.leaf_codes(np.array(values, dtype=object), column)
    return tree.rows()


def _use(desk: Desk, column: str, rows: list[list[str]] | None) -> None:
    """The draft with this hierarchy for the column, in a file; or with none."""
    trees = dict(desk.draft.get("hierarchies", {}))
    trees.pop(column, None)
    others: dict[str, Any] = {}
    if rows is not None:
        text = _csv(Hierarchy.from_rows(rows, column).rows())
        file = desk.path("hierarchies", f"{_digest(column)}-{_digest(text)}.csv")
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
        trees[column] = str(file)
        others = _without_other_readings(desk.draft, column)
    draft = desk.draft.with_(**others, hierarchies=trees or None)
    desk.keep(Draft(draft.given, tuple(step for step in draft.settled if step == "table")))


def _without_other_readings(draft: Draft, column: str) -> dict[str, Any]:
    lists = {key: [name for name in draft.get(key, []) if name != column] or None
             for key in ("numeric", "categorical", "prefix") if key in draft.given}  # fmt: skip
    tables = {key: {name: each for name, each in draft.get(key, {}).items() if name != column} or None
              for key in ("ordered", "dates") if key in draft.given}  # fmt: skip
    return lists | tables


def _csv(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


async def _saved(request: Request) -> Response:
    desk, column = desk_of(request), request.query_params.get("column", "")
    rows = await run_in_threadpool(_rows, desk, column)
    if rows is None:
        raise HTTPException(404)
    name = quote(f"{column}.csv", safe="")
    return Response(
        _csv(rows),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f"attachment; filename*=utf-8''{name}"},
    )


routes: list[BaseRoute] = [
    Route("/desk/{desk}/columns/tree", _page),
    Route("/desk/{desk}/columns/tree", _change, methods=["POST"]),
    Route("/desk/{desk}/columns/tree.csv", _saved),
]
