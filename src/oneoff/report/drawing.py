"""Pictures as SVG that fit every page: as wide as there is room, letters always of the same size, colours of the page.

Places along x are percent of the width, so that nothing is scaled; only lines are, in a picture of their own whose
strokes are not. Colours are classes of the style sheet, which knows light, dark and paper. No script, no address, no
library; the same numbers give the same text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup, escape

__all__ = ["Axis", "Chart", "Mark", "Side", "draw", "evenly", "linear"]

Point = tuple[float, float]
Side = Literal["start", "end"]
_LINES = 1000  # units across the picture of lines


def linear(low: float, high: float) -> Callable[[float], float]:
    """Where a number lies between two ends, from 0 to 1."""
    return lambda number: min(max((number - low) / (high - low), 0.0), 1.0)


@dataclass(frozen=True)
class Axis:
    """place: from a number to 0..1; every second of the numbers beside it may be left out on a narrow page."""

    title: str
    ticks: tuple[tuple[float, str], ...]
    place: Callable[[float], float] = field(default=linear(0, 1))
    crowded: bool = False


@dataclass(frozen=True)
class Mark:
    """Points as a line, as dots, as columns from x to the next x, or a rule across the whole height.

    kind    the class of the style sheet that gives it its colour
    texts   beside the points, if any; (text, on which side)
    """

    shape: Literal["line", "dots", "columns", "rule"]
    kind: str
    points: tuple[Point, ...]
    texts: tuple[tuple[str, Side], ...] = ()


@dataclass(frozen=True)
class Chart:
    """label: what is to be seen, in a sentence, for who does not see it."""

    label: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    height: int = 220


def draw(chart: Chart) -> Markup:
    """The picture."""
    inside = Markup("").join(
        [*_grid(chart), *(part for mark in chart.marks for part in _SHAPES[mark.shape](mark, chart))]
    )
    return Markup('<svg class="plot" role="img" aria-label="{}" width="100%" height="{}">{}</svg>').format(
        chart.label, chart.height, inside
    )


def _grid(chart: Chart) -> Iterator[Markup]:
    """Lines across with their numbers on the left, numbers below, and what both are."""
    for at, text in chart.y.ticks:
        y = _down(at, chart)
        yield Markup('<line class="grid" x1="0" x2="100%" y1="{0}" y2="{0}"/>').format(y)
        yield Markup('<text class="tick end" x="-8" y="{}" dy=".32em">{}</text>').format(y, text)
    for i, (at, text) in enumerate(chart.x.ticks):
        spare = " spare" if chart.x.crowded and i % 2 else ""
        yield Markup('<text class="tick middle{}" x="{}" y="{}">{}</text>').format(
            Markup(spare), _across(at, chart), chart.height + 18, text
        )
    yield Markup('<text class="title" x="-8" y="-10">{}</text>').format(chart.y.title)
    yield Markup('<text class="title middle" x="50%" y="{}">{}</text>').format(chart.height + 38, chart.x.title)


def _across(number: float, chart: Chart) -> Markup:
    return escape(f"{100 * chart.x.place(number):.4g}%")


def _down(number: float, chart: Chart) -> str:
    return f"{chart.height * (1 - chart.y.place(number)):.4g}"


def _line(mark: Mark, chart: Chart) -> Iterator[Markup]:
    path = " ".join(f"{_LINES * chart.x.place(x):.4g},{_down(y, chart)}" for x, y in mark.points)
    yield Markup(
        '<svg class="lines" x="0" y="0" width="100%" height="{0}" viewBox="0 0 {1} {0}" preserveAspectRatio="none">'
        '<polyline class="{2}" points="{3}" vector-effect="non-scaling-stroke"/></svg>'
    ).format(chart.height, _LINES, mark.kind, path)


def _dots(mark: Mark, chart: Chart) -> Iterator[Markup]:
    for x, y in mark.points:
        yield Markup('<circle class="{}" cx="{}" cy="{}" r="4.5"/>').format(
            mark.kind, _across(x, chart), _down(y, chart)
        )
    for (x, y), (text, side) in zip(mark.points, mark.texts, strict=False):
        yield Markup('<text class="beside {}" x="{}" y="{}" dx="{}" dy=".32em">{}</text>').format(
            side, _across(x, chart), _down(y, chart), 9 if side == "start" else -9, text
        )


def _columns(mark: Mark, chart: Chart) -> Iterator[Markup]:
    """Each from its x to that of the next point; the last point only ends the one before it."""
    for (x, y), (end, _) in zip(mark.points, mark.points[1:], strict=False):
        width = 100 * (chart.x.place(end) - chart.x.place(x))
        top = _down(y, chart)
        if width > 0 and y > 0:
            yield Markup('<rect class="{}" x="{}" width="{:.4g}%" y="{}" height="{:.4g}"/>').format(
                mark.kind, _across(x, chart), width * 0.92, top, chart.height - float(top)
            )


def _rule(mark: Mark, chart: Chart) -> Iterator[Markup]:
    for x, _ in mark.points:
        yield Markup('<line class="rule {0}" x1="{1}" x2="{1}" y1="0" y2="{2}"/>').format(
            mark.kind, _across(x, chart), chart.height
        )
    for (x, _), (text, side) in zip(mark.points, mark.texts, strict=False):
        yield Markup('<text class="beside {} {}" x="{}" y="-8" dx="4">{}</text>').format(
            side, mark.kind, _across(x, chart), text
        )


_SHAPES: dict[str, Callable[[Mark, Chart], Iterator[Markup]]] = {
    "line": _line,
    "dots": _dots,
    "columns": _columns,
    "rule": _rule,
}


def evenly(title: str, high: float, text: Callable[[float], str]) -> Axis:
    """An axis from 0 to `high` or a little beyond, with four to six round numbers on it."""
    step = 10.0 ** math.floor(math.log10(max(high, 1e-9)))
    while high / step < 4:
        step /= 2 if f"{step:e}"[0] != "5" else 2.5
    ticks = math.ceil(high / step - 1e-9) + 1
    return Axis(title, tuple((i * step, text(i * step)) for i in range(ticks)), linear(0, (ticks - 1) * step))
