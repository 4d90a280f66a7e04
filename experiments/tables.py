"""The real tables of the experiments, and how results are written: Markdown tables and line plots."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import oneoff
from oneoff.table import Table

__all__ = [
    "Page", "adult", "census", "census_wide", "data_folder", "line_plot", "markdown", "pivot", "resampled", "say",
    "timed",
]  # fmt: skip

QUASI = ("age", "gender", "education", "marital", "workclass")
WIDE = ("age", "gender", "education", "marital", "race", "workclass", "country", "occupation")
ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")


def data_folder() -> Path:
    """Beside the checkout, or where ONEOFF_DATA points."""
    found = Path(os.environ.get("ONEOFF_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if not found.is_dir():
        sys.exit(f"the real tables are not in {found}; set ONEOFF_DATA to the folder that holds census_sal500k.parquet")
    return found


def census(quasi: int = 3, rows: int | None = None, *, sal: bool = True, hierarchies: bool = True) -> Table:
    """CENSUS with the first so many quasi-identifiers of paper 001; salary (SAL) or occupation (OCC) is sensitive."""
    names = QUASI[:quasi]
    numbers = [name for name in names if name in ("age", "education")]
    trees = data_folder() / "hierarchies" / "census"
    given = {name: trees / f"{name}.csv" for name in names if name not in numbers} if hierarchies else {}
    return oneoff.read_table(
        data_folder() / ("census_sal500k.parquet" if sal else "census_occ100k.parquet"),
        quasi=names,
        sensitive="salary" if sal else "occupation",
        numeric=numbers,
        categorical=[] if hierarchies else [name for name in names if name not in numbers],
        hierarchies=given,
        rows=rows,
    )


def census_wide(sensitive: str) -> Table:
    """The 100,000 people of CENSUS with an occupation: one attribute is sensitive, all others quasi-identifiers.

    occupation is the OCC of papers 000 and 002, education the EDU of paper 002.
    """
    numbers = [name for name in ("age", "education") if name != sensitive]
    quasi = [name for name in WIDE if name != sensitive]
    return oneoff.read_table(
        data_folder() / "census_occ100k.parquet",
        quasi=quasi,
        sensitive=sensitive,
        numeric=numbers,
        categorical=[name for name in WIDE if name not in numbers],
    )


def adult() -> Table:
    """The 30,162 complete rows of the training part, occupation sensitive."""
    import polars

    frame = polars.read_parquet(data_folder() / "adult.parquet").filter(polars.col("split") == "train")
    frame = frame.select([*ADULT, "occupation"]).drop_nulls()
    categorical = [name for name in ADULT if name != "age"]
    return oneoff.read_table(frame, quasi=ADULT, sensitive="occupation", numeric=["age"], categorical=categorical)


def resampled(table: Table, rows: int, seed: int = 0) -> Table:
    """So many people drawn from a table: without repeats as long as there are enough."""
    draw = np.random.default_rng(seed)
    chosen = draw.choice(table.rows, rows, replace=rows > table.rows)
    return table.take(chosen)


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and its CPU seconds."""
    began = time.process_time()
    found = run()
    return found, time.process_time() - began


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def pivot(x: str, points: Sequence[tuple[str, float, float]]) -> str:
    """A row for each x, a column for each series."""
    series = list(dict.fromkeys(name for name, _, _ in points))
    found = {(name, a): b for name, a, b in points}
    rows = [[a, *(found.get((name, a)) for name in series)] for a in dict.fromkeys(a for _, a, _ in points)]
    return markdown([x, *series], rows)


class Page:
    """A page of results as it grows: sections of Markdown, and plots beside it."""

    def __init__(self, out: Path) -> None:
        self.out, self.parts = out, list[str]()

    def section(self, title: str, text: str, *tables: str, plots: Sequence[str] = ()) -> None:
        pictures = "\n".join(f"![{title}]({name})" for name in plots)
        self.parts.append("\n".join([f"## {title}\n", f"{text}\n", *tables, pictures]).rstrip())

    def plot(self, name: str, *given: Any, **options: Any) -> str:
        line_plot(self.out / name, *given, **options)
        return name

    def write(self, header: str, name: str = "results.md") -> None:
        (self.out / name).write_text(header + "\n\n" + "\n\n".join(self.parts) + "\n", encoding="utf-8")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def line_plot(
    path: Path,
    points: Sequence[tuple[str, float, float]],
    x: str,
    y: str,
    *,
    title: str,
    logarithmic: bool = False,
    doubling: bool = False,
) -> None:
    """One line for each series of (series, x, y); y from zero unless it is logarithmic; doubling: x by powers of 2."""
    import altair as alt

    order = list(dict.fromkeys(series for series, _, _ in points))
    data = [{"series": s, "x": float(a), "y": float(b)} for s, a, b in points if b is not None and np.isfinite(b)]
    scale = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=True)
    across = alt.Scale(type="log", base=2, nice=False) if doubling else alt.Scale(zero=False, padding=12)
    ticks = alt.Axis(values=sorted({point["x"] for point in data})) if doubling else alt.Axis(tickCount=6)
    chart = (
        alt.Chart(alt.InlineData(values=data), width=360, height=240, title=title, background="white")
        .mark_line(point=alt.OverlayMarkDef(size=45))
        .encode(
            x=alt.X("x:Q", title=x, scale=across, axis=ticks),
            y=alt.Y("y:Q", title=y, scale=scale, axis=alt.Axis(tickCount=6)),
            color=alt.Color("series:N", sort=order, title=None, scale=alt.Scale(scheme="tableau10")),
            strokeDash=alt.StrokeDash("series:N", sort=order, title=None, legend=None),
            shape=alt.Shape("series:N", sort=order, legend=None),
        )
        .configure_legend(labelLimit=260)
    )
    chart.save(str(path), scale_factor=1.5)
