"""Pictures of experiments: small line plots side by side, and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from oneoff.reproduce.harness import Point

__all__ = ["heat_chart", "line_chart", "save"]

_ALONE, _BESIDE = (420, 260), (250, 190)  # width and height of a plot
_ACROSS = 3
_MOST_TICKS = 12
_TEN = 10


def save(chart: Any, path: Path) -> None:
    """As PNG to look at and as SVG to print."""
    chart.save(f"{path}.png", scale_factor=1.25)
    chart.save(f"{path}.svg")


def line_chart(title: str, points: Sequence[Point], x: str, y: str, log_x: bool, log_y: bool) -> Any:
    """A line for each series, a plot for each panel; bars reach from the least to the greatest of several draws."""
    import altair as alt

    shown = [point for point in points if _drawable(point, log_y)]
    order = list(dict.fromkeys(point.series for point in points))
    panels = list(dict.fromkeys(point.panel for point in points))
    color = alt.Color("series:N", sort=order, title=None, scale=alt.Scale(domain=order, scheme=_scheme(order)))
    shape = alt.Shape("series:N", sort=order, title=None, scale=alt.Scale(domain=order))
    charts = [
        _panel(
            panel,
            [point for point in shown if point.panel == panel],
            (x, y),
            (log_x, log_y),
            (color, shape),
            len(panels),
        )
        for panel in panels
    ]
    whole = alt.concat(*charts, columns=_ACROSS, title=title, background="white")
    return whole.configure_legend(orient="bottom", labelLimit=320, columns=4, symbolSize=70).configure_title(
        fontSize=13
    )


def _panel(
    panel: str,
    points: Sequence[Point],
    names: tuple[str, str],
    logarithmic: tuple[bool, bool],
    looks: tuple[Any, Any],
    number: int,
) -> Any:
    import altair as alt

    width, height = _ALONE if number == 1 else _BESIDE
    at = sorted({point.x for point in points})
    ticks = {"values": at} if len(at) <= _MOST_TICKS else {"tickCount": 6}
    across = alt.Scale(type="log", nice=False, padding=12) if logarithmic[0] else alt.Scale(zero=False, padding=12)
    up = alt.Scale(type="log") if logarithmic[1] else alt.Scale(zero=True)
    data = alt.InlineData(values=[_floats(point) for point in points])
    base = alt.Chart(data, width=width, height=height, title=panel).encode(
        x=alt.X(
            "x:Q",
            title=names[0],
            scale=across,
            axis=alt.Axis(labelExpr=_label("~s" if at and at[-1] >= 1000 else "~g"), **ticks),
        ),
        color=looks[0],
    )
    height_of = alt.Y("y:Q", title=names[1], scale=up, axis=alt.Axis(tickCount=5, labelExpr=_label("~g")))
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, opacity=0.5)
    return (
        base.mark_line().encode(y=height_of)
        + base.mark_point(size=40, filled=True, opacity=1).encode(y=height_of, shape=looks[1])
        + bars.encode(y=alt.Y("low:Q", title=names[1], scale=up), y2="high:Q")
    )


def heat_chart(title: str, cells: Sequence[tuple[str, str, float]], x: str, y: str) -> Any:
    """(row, column, number): the number in a shaded cell; rows and columns in the order they come."""
    import altair as alt

    rows, columns = (list(dict.fromkeys(str(cell[at]) for cell in cells)) for at in (0, 1))
    top = max((float(cell[2]) for cell in cells), default=1.0)
    data = [
        {"row": str(row), "column": str(column), "value": float(value), "text": f"{value:.3g}"}
        for row, column, value in cells
    ]
    base = alt.Chart(
        alt.InlineData(values=data), width=max(240, 52 * len(columns)), height=max(120, 28 * len(rows)), title=title
    ).encode(
        x=alt.X("column:N", sort=columns, title=x, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("row:N", sort=rows, title=y),
    )
    shade = alt.Color("value:Q", scale=alt.Scale(scheme="blues", domain=[0, top]), title=None)
    dark = alt.condition(f"datum.value > {0.55 * top}", alt.value("white"), alt.value("black"))
    drawn = base.mark_rect(stroke="#ddd").encode(color=shade) + base.mark_text(fontSize=11).encode(
        text="text:N", color=dark
    )
    return drawn.properties(background="white")


def _label(form: str) -> str:
    """A format of the axis itself would round to the distance of its ticks: 10 becomes 1e+1, and .12 becomes 0.1."""
    return f"format(datum.value, '{form}')"


def _drawable(point: Point, log_y: bool) -> bool:
    """A logarithmic axis has no place for zero."""
    return point.y is not None and bool(np.isfinite(point.y)) and (point.y > 0 or not log_y)


def _floats(point: Point) -> dict[str, Any]:
    whole = point._asdict()
    return whole | {key: None if whole[key] is None else float(whole[key]) for key in ("x", "y", "low", "high")}


def _scheme(order: Sequence[str]) -> Literal["tableau10", "tableau20"]:
    return "tableau10" if len(order) <= _TEN else "tableau20"
