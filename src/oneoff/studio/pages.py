"""What routes share: the desk that is meant, pages from templates, and messages beside their fields.

    async def page(request: Request) -> Response:
        desk = desk_of(request)
        return render(request, "promise.html", desk=desk, step="promise", complaints=[])

    async def settled(request: Request) -> Response:
        desk, form = desk_of(request), await form_of(request)
        try:
            ...                                            # the library's word
        except OneoffError as error:
            return render(request, "promise.html", 422, desk=desk, step="promise", complaints=[said(error)], ...)
        desk.settle("promise", guarantee=...)
        return go_to(desk.at("method"))

Templates extend base.html, which wants `desk`, `step` and `complaints` (a list of `Said`, may be empty). Macros for
controls with their help and messages are in controls.html. What takes long goes to a child process or at least to
`starlette.concurrency.run_in_threadpool`: routes must not hold up the page.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from oneoff.card import plain
from oneoff.help import HELP
from oneoff.studio.desks import Desk, Desks
from oneoff.studio.draft import STEPS
from oneoff.studio.words import in_the_page

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.datastructures import FormData

__all__ = ["desk_of", "desks_of", "form_of", "go_to", "help_of", "is_fragment", "number_in", "render", "session_of"]

_MARKS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
_LONGEST = 2000  # letters of any text
TITLES = {"table": "Table", "columns": "Columns", "promise": "Promise", "method": "Method", "run": "Run",
          "result": "Result", "handover": "Hand over"}  # fmt: skip


def session_of(request: Request) -> str:
    session: str = request.scope["session"]
    return session


def desks_of(request: Request) -> Desks:
    desks: Desks = request.app.state.desks
    return desks


def desk_of(request: Request) -> Desk:
    """The desk in the address, if it is the session's own; else there is none."""
    desk = desks_of(request).get(session_of(request), request.path_params["desk"])
    if desk is None:
        raise HTTPException(404)
    return desk


async def form_of(request: Request) -> FormData:
    """What a form says; there may be as many fields as a wide table has columns, and a file or two."""
    return await request.form(max_files=4, max_fields=20_000)


def number_in(text: str) -> int | str:
    """The whole number that somebody typed, or the text, for the library to refuse."""
    return int(text) if text.isdecimal() and len(text) < 20 else text


def is_fragment(request: Request) -> bool:
    """Did the script ask, for a part of the page to put in place?"""
    return request.headers.get("x-studio") == "fragment"


def go_to(address: str) -> Response:
    """On to another page, after a form."""
    return RedirectResponse(address, 303)


def render(request: Request, template: str, status: int = 200, /, **values: Any) -> Response:
    """The page that a template makes of the values."""
    known: dict[str, Any] = {
        "desk": None,
        "step": "",
        "complaints": [],
        "steps": STEPS,
        "titles": TITLES,
        "request": request,
    }
    return HTMLResponse(_templates().get_template(template).render(known | values), status)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("oneoff.studio", "templates"),
        autoescape=True,
        finalize=_readable,
        undefined=StrictUndefined,  # a name that is not there is a mistake, not an empty place
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["help_of"] = help_of
    found.globals["dict_of"] = lambda rows: {row[0]: row[1] for row in rows}
    found.filters["cut"] = plain
    found.filters["here"] = in_the_page
    found.filters["id"] = _id
    found.filters["number"] = lambda number: f"{number:,}"
    found.filters["figure"] = lambda text: f"{int(text):,}" if text.isdecimal() else text
    found.filters["percent"] = _percent
    found.filters["bytes"] = _bytes
    found.filters["sentence"] = _sentence
    found.filters["words"] = _word
    found.filters["lines"] = lambda text: Markup("\n").join(plain(line, _LONGEST) for line in text.split("\n"))
    found.filters["picture"] = Markup  # of SVG that a child drew by `report.drawing`, which escapes what is in it
    found.filters["mark"] = lambda mark: _MARKS.get(mark, repr(mark))
    return found


def help_of(key: str) -> str:
    """What the command line says of it, without what is about options."""
    return in_the_page(HELP[key].removesuffix(" Repeatable."))


def _id(field: str) -> str:
    """What a field is called in the page, whatever letters the names of columns have."""
    if re.fullmatch(r"[\w.-]+", field, re.ASCII):
        return "f-" + field.replace(".", "-")
    return f"f-{hashlib.blake2b(field.encode(errors='replace'), digest_size=9).hexdigest()}"


def _sentence(text: str) -> str:
    """With a full stop, and a capital unless it begins with the name of a file or a promise."""
    begins = text if re.match(r"\S*\w[.:]\w", text) else f"{text[:1].upper()}{text[1:]}"
    return f"{begins}{'' if text[-1:] in '.!?:' else '.'}"


def _word(value: str) -> tuple[str, str]:
    """A value of an option with the word for it."""
    return value, {"True": "yes", "False": "no"}.get(value, value)


def _percent(share: float) -> str:
    """A share that never rounds something to nothing, nor nearly all to all."""
    if 0 < share < 0.01:
        return f"{100 * share:.2g} %" if share > 1e-6 else "<0.0001 %"
    return ">99.9 %" if 0.999 < share < 1 else f"{100 * share:.1f} %"


def _bytes(size: int) -> str:
    for unit, length in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if size >= length:
            return f"{size / length:.3g} {unit}"
    return f"{size} bytes"


def _readable(value: object) -> object:
    return value if isinstance(value, Markup) else plain(value, _LONGEST)
