"""From values to HTML, by the templates of this room: pages that stand alone, without scripts and without addresses.

Templates hold markup and words that are always the same; whatever is different from page to page is put in here. Each
text is stripped of control characters, cut and escaped on its way, whether or not a template thinks of it. Only our
own plots are let through as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from oneoff.report.words import plain

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Bars", "Figure", "Grid", "Section", "render"]

Section = dict[str, object]  # what the template of a part of the page shows, by the names it has there
_LONGEST = 2000  # letters of any text


@dataclass(frozen=True)
class Grid:
    """A table to be shown; right: the columns of numbers. Rows that end in a word of alarm stand out.

    caption   what it is a table of; read aloud, and shown where `titled`
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    caption: str = ""
    titled: bool = False

    @property
    def wordy(self) -> bool:
        """Are there words besides what a row is called? On a narrow page its cells then stand below one another."""
        return len(self.header) <= 6 and len(self.right) < len(self.header) - 1


@dataclass(frozen=True)
class Figure:
    """A plot and the words below it; legend: the kind of each mark and what it stands for."""

    svg: Markup
    caption: str
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Bars:
    """Bars as a table: what each row is called, and one number or none for each of the series.

    series   kind (the class that gives the bars their colour) and name of each
    label    what the rows are
    text     from a number to what is written beside its bar
    top      what a bar of full length stands for; by default the greatest number
    """

    series: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    caption: str
    label: str
    text: Callable[[float], str]
    top: float | None = None

    @property
    def header(self) -> tuple[str, ...]:
        return (self.label, *(name for _, name in self.series)) if len(self.series) > 1 else (self.label, "share")

    @property
    def title(self) -> str:
        """What is to be seen, for who does not see it."""
        return f"{' and '.join(name for _, name in self.series)}, by {self.label}"

    def drawn(self) -> list[tuple[str, list[tuple[str, str, str]]]]:
        """Every row with, for each series, its kind, the length of its bar in percent and its text."""
        top = self.top or max((n for _, numbers in self.rows for n in numbers if n is not None), default=1.0) or 1.0
        return [
            (
                name,
                [(kind, _length(n, top), "" if n is None else self.text(n)) for (kind, _), n in self._paired(numbers)],
            )
            for name, numbers in self.rows
        ]

    def _paired(self, numbers: tuple[float | None, ...]) -> list[tuple[tuple[str, str], float | None]]:
        return list(zip(self.series, numbers, strict=True))


def _length(number: float | None, top: float) -> str:
    return "0" if number is None else f"{100 * min(max(number / top, 0.0), 1.0):.4g}"


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
    found.filters["lines"] = _lines
    return found


def _lines(text: str) -> Markup:
    """Several lines, each of them as harmless as any text."""
    return Markup("\n").join(plain(line, _LONGEST) for line in text.split("\n"))


def _readable(value: object) -> object:
    return value if isinstance(value, Markup) else plain(value, _LONGEST)
