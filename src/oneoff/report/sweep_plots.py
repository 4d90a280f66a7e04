"""Pictures of a sweep: a measure over the values of a parameter, and what one measure costs of another.

Drawn as SVG text like those of `plots.py`, on a white ground of their own, since lines have more colours than a page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from oneoff.report.words import distinct

__all__ = ["Dot", "Line", "frontier_plot", "line_plot"]

_COLOURS = ("#2a6496", "#b3261e", "#2e7d4f", "#8a5a00", "#6a4c93", "#5a6672", "#c2417f", "#1f2933")
_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")
_INK, _SOFT = "#333d47", "#8a949e"
_WIDTH, _HEIGHT = 816, 260
_LABEL_CHARS = 40


@dataclass(frozen=True)
class Dot:
    """A mean with the least and the greatest of what it is the mean of, at x; called `text`."""

    x: float
    mean: float
    low: float
    high: float
    text: str = ""


@dataclass(frozen=True)
class Line:
    name: str
    dots: tuple[Dot, ...]


def line_plot(
    lines: Sequence[Line], across: str, up: str, *, percent: bool, rules: Mapping[str, float | None]
) -> Markup:
    """A line for each method, bars from the least to the greatest draw; rules: what the ends would be, broken lines."""
    import altair as alt

    names = distinct([line.name for line in lines], _LABEL_CHARS)
    data = [
        {"line": name, "order": i, "x": dot.x, "mean": dot.mean, "low": dot.low, "high": dot.high}
        for name, line in zip(names, lines, strict=True)
        for i, dot in enumerate(line.dots)
    ]
    x = alt.X("x:Q", title=across, scale=alt.Scale(zero=False, nice=False, padding=14), axis=_values_axis(alt, data))
    axis = alt.Axis(format="~%" if percent else ".2~f", tickCount=5)
    drawn = _layers(alt, data, names, x, alt.Y("mean:Q", title=up, axis=axis, scale=alt.Scale(zero=percent)))
    whole = drawn + _rules(alt, rules) if any(at is not None for at in rules.values()) else drawn
    return _svg(whole, f"{up}, over the {across}: {', '.join(names)}")


def frontier_plot(lines: Sequence[Line], across: str, up: str) -> Markup:
    """Both measures of every point, in the order of the parameter, with its value beside it: low and left is best."""
    import altair as alt

    names = distinct([line.name for line in lines], _LABEL_CHARS)
    data = [
        {"line": name, "order": i, "x": dot.x, "mean": dot.mean, "low": dot.low, "high": dot.high, "text": dot.text}
        for name, line in zip(names, lines, strict=True)
        for i, dot in enumerate(line.dots)
    ]
    x = alt.X("x:Q", title=across, axis=alt.Axis(format="~%", tickCount=6), scale=alt.Scale(zero=True))
    y = alt.Y("mean:Q", title=up, axis=alt.Axis(format="~%", tickCount=5), scale=alt.Scale(zero=True))
    drawn = _layers(alt, data, names, x, y)
    words = alt.Chart(alt.InlineData(values=data)).mark_text(align="left", dx=8, dy=-8, fontSize=12)
    whole = drawn + words.encode(x=x, y=y, text="text:N", color=_told_apart(alt, names)["color"])
    return _svg(whole, f"{up}, against {across}: {', '.join(names)}")


def _layers(alt: Any, data: Sequence[Mapping[str, Any]], names: Sequence[str], x: Any, y: Any) -> Any:
    """Lines in the order of the parameter, what draws differ by, and the means on top."""
    apart = _told_apart(alt, names)
    base = alt.Chart(alt.InlineData(values=data), width=_WIDTH, height=_HEIGHT).encode(x=x, color=apart["color"])
    lines = base.mark_line(strokeWidth=2).encode(y=y, order="order:Q")
    spread = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(y="low:Q", y2="high:Q")
    return lines + spread + base.mark_point(filled=True, size=70, opacity=1).encode(y=y, shape=apart["shape"])


def _values_axis(alt: Any, data: Sequence[Mapping[str, Any]]) -> Any:
    """A tick for every value, where they are few."""
    values = sorted({row["x"] for row in data})
    return alt.Axis(format="~g", labelFlush=False, grid=False, **({"values": values} if len(values) <= 12 else {}))


def _told_apart(alt: Any, names: Sequence[str]) -> dict[str, Any]:
    """By colour and, where that is not seen, by shape."""
    some = len(names)
    colours, shapes = ([each[i % len(each)] for i in range(some)] for each in (_COLOURS, _SHAPES))
    legend = alt.Legend(orient="top", labelLimit=400)
    return {
        "color": alt.Color("line:N", title=None, scale=alt.Scale(domain=names, range=colours), legend=legend),
        "shape": alt.Shape("line:N", title=None, scale=alt.Scale(domain=names, range=shapes), legend=legend),
    }


def _rules(alt: Any, rules: Mapping[str, float | None]) -> Any:
    data = [{"at": at, "text": text} for text, at in rules.items() if at is not None]
    base = alt.Chart(alt.InlineData(values=data))
    line = base.mark_rule(color=_SOFT, strokeDash=[5, 4]).encode(y="at:Q")
    word = base.mark_text(color=_INK, align="left", baseline="bottom", dy=-3, fontSize=12)
    return line + word.encode(y="at:Q", x=alt.value(4), text="text:N")


def _svg(chart: Any, title: str) -> Markup:
    import vl_convert

    styled = chart.configure(
        font="Arial, Helvetica, sans-serif", background="white", autosize={"type": "fit-x", "contains": "padding"}
    )
    styled = styled.configure_axis(
        labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelColor=_INK, titleColor=_INK
    )
    styled = styled.configure_view(stroke=None).configure_legend(labelFontSize=12, labelColor=_INK, columnPadding=30)
    drawn: str = vl_convert.vegalite_to_svg(styled.to_dict())
    # inside HTML a namespace is not needed, and without it the page holds no address at all
    bare = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", drawn, count=2)
    return Markup(re.sub("<svg", f'<svg role="img" aria-label="{escape(title)}"', bare, count=1))
