"""From values to HTML, by the templates of this room: pages that stand alone, without scripts and without addresses.

Templates hold markup and words that are always the same; whatever is different from page to page is put in here. Each
text is stripped of control characters, cut and escaped on its way, whether or not a template thinks of it. Only our
own plots are let through as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from oneoff.report.words import plain

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Figure", "Grid", "Section", "render"]

Section = dict[str, object]  # what the template of a part of the page shows, by the names it has there
_LONGEST = 2000  # letters of any text


@dataclass(frozen=True)
class Grid:
    """A table to be shown; right: the columns of numbers. Rows that end in a word of alarm stand out."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A plot and the words below it."""

    svg: Markup
    caption: str


def render(template: str, **values: object) -> str:
    """The page that this template makes of the values."""
    return _templates().get_template(template).render(values)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("oneoff.report", "templates"),
        autoescape=True,
        finalize=_readable,
        undefined=StrictUndefined,  # a name that is not there is a mistake, not an empty place
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["cut"] = plain
    return found


def _readable(value: object) -> object:
    return value if isinstance(value, Markup) else plain(value, _LONGEST)
