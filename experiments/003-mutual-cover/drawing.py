"""Plots and tables of what was measured: lines with the least and the greatest of several draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tables import markdown

__all__ = ["Point", "grid_plot", "spread_table", "table_heat"]


class Point(NamedTuple):
    """A mean with the least and the greatest of the draws, where there were several."""

    series: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, series: str, x: float, draws: Sequence[float]) -> Point:
        return cls(series, x, float(np.mean(draws)), min(draws), max(draws))

    def cell(self) -> str:
        return f"{self.y:.4g}" if self.low is None else f"{self.y:.4g} ({self.low:.4g} to {self.high:.4g})"


def spread_table(x: str, points: Sequence[Point]) -> str:
    """A row for each x, a column for each series: mean (least to greatest)."""
    series = list(dict.fromkeys(point.series for point in points))
    found = {(point.series, point.x): point.cell() for point in points}
    across = list(dict.fromkeys(point.x for point in points))
    return markdown([x, *series], [[f"{a:g}", *(found.get((name, a)) for name in series)] for a in across])


def grid_plot(path: Path, panels: dict[str, list[Point]], x: str, y: str, *, log: Sequence[str] = ()) -> str:
    """Small line plots, three in a row, with bars from the least to the greatest; panels in `log` are logarithmic."""
    import altair as alt

    order = list(dict.fromkeys(point.series for points in panels.values() for point in points))
    at = sorted({point.x for points in panels.values() for point in points})
    color = alt.Color("series:N", sort=order, title=None, scale=alt.Scale(domain=order, scheme="tableau10"))
    charts = []
    for title, points in panels.items():
        scale = alt.Scale(type="log", nice=True) if title in log else alt.Scale(zero=True)
        base = alt.Chart(
            alt.InlineData(values=[point._asdict() for point in points]), width=250, height=190, title=title
        ).encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(values=at)),
            color=color,
        )
        height = alt.Y("y:Q", title=y, scale=scale, axis=alt.Axis(tickCount=5, format="~g"))
        shape = alt.Shape("series:N", sort=order, scale=alt.Scale(domain=order), title=None)
        bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, opacity=0.6)
        charts.append(
            base.mark_line().encode(y=height)
            + base.mark_point(size=40, filled=True, opacity=1).encode(y=height, shape=shape)
            + bars.encode(y=alt.Y("low:Q", title=y), y2="high:Q")
        )
    chart = alt.concat(*charts, columns=3, background="white").configure_legend(
        orient="bottom", labelLimit=320, columns=5, labelFontSize=12, symbolSize=80
    )
    chart.save(str(path), scale_factor=1.5)
    return path.name


def table_heat(path: Path, probabilities: npt.NDArray[np.float64], ages: Sequence[int], values: Sequence[int]) -> str:
    """A random output table: a row for each person, a column for each value, the probability in each cell."""
    import altair as alt

    people = [f"{i + 1}: {age}" for i, age in enumerate(ages)]
    cells = [
        {"person": person, "shown": str(value), "p": float(p), "text": f"{p:.3f}"}
        for person, row in zip(people, probabilities, strict=True)
        for value, p in zip(values, row, strict=True)
        if p
    ]
    base = alt.Chart(
        alt.InlineData(values=cells), width=440, height=300, title="Random output table, delta = 1/2"
    ).encode(
        x=alt.X("shown:N", title="age shown", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("person:N", sort=people, title="person: age"),
    )
    shade = alt.Color("p:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), title="probability")
    dark = alt.condition("datum.p > 0.55", alt.value("white"), alt.value("black"))
    chart = base.mark_rect(stroke="#ddd").encode(color=shade) + base.mark_text(fontSize=11).encode(
        text="text:N", color=dark
    )
    chart.properties(background="white").save(str(path), scale_factor=1.5)
    return path.name
