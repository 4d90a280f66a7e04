"""One harness for every experiment: what a part measures becomes a CSV, a picture and a claim by claim account.

A part of an experiment is a plain function of a `Run`. It says what it measured (`lines`, `heat`, `numbers`) and, for
everything the paper shows there, what came out and whether that is the same (`claim`). Each part leaves a record of its
own beside its pictures, so parts can be run again one by one; pages are put together from the records.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from oneoff.reproduce.tables import Tables

__all__ = ["Claim", "Experiment", "Point", "Run", "Same", "Section", "read_record", "timed"]

Same = Literal["same", "in part", "not the same"]
T = TypeVar("T")


class Point(NamedTuple):
    """A place on a line: where several draws were made their mean, and the least and the greatest of them."""

    series: str
    x: float
    y: float | None
    panel: str = ""
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, series: str, x: float, draws: Sequence[float], panel: str = "") -> Point:
        return cls(series, x, float(np.mean(draws)), panel, float(min(draws)), float(max(draws)))


@dataclass(frozen=True)
class Claim:
    """Something a paper shows, and what came out here."""

    figure: str
    paper: str
    found: str
    same: Same
    why: str = ""


@dataclass(frozen=True)
class Section:
    """One picture or table of a part; `picture` names the files without their endings, or is empty."""

    name: str
    title: str
    text: str
    table: str
    picture: str = ""


@dataclass(frozen=True, eq=False)
class Experiment:
    """The experiments of one paper.

    shown elsewhere   figures and tables that explain instead of measure, and what stands for them here
    """

    name: str
    title: str
    parts: Mapping[str, Callable[[Run], None]]
    shown_elsewhere: Mapping[str, str] = field(default_factory=dict)

    def run(
        self, parts: Iterable[str], out: Path, *, tables: Tables, full: bool, seed: int, verbose: bool
    ) -> list[Claim]:
        """The named parts, in the paper's order; each one's record is written as soon as it is done."""
        wanted, claims = set(parts), list[Claim]()
        out.mkdir(parents=True, exist_ok=True)
        for part in self.parts:
            if part in wanted:
                run = Run(part, out, tables, full, seed, verbose)
                run.say(f"{self.name}, {part}")
                _, seconds = timed(lambda run=run, part=part: self.parts[part](run))  # type: ignore[misc]
                run.leave(seconds)
                claims += run.claims
        return claims


@dataclass(eq=False)
class Run:
    """What a part is given, and what it leaves behind."""

    part: str
    out: Path
    tables: Tables
    full: bool = False
    seed: int = 1
    verbose: bool = False
    sections: list[Section] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def pick(self, small: T, full: T) -> T:
        return full if self.full else small

    def say(self, text: str) -> None:
        if self.verbose or sys.stderr.isatty():
            print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)

    def lines(
        self,
        name: str,
        title: str,
        points: Sequence[Point],
        *,
        x: str,
        y: str,
        log_x: bool = False,
        log_y: bool = False,
        text: str = "",
    ) -> None:
        """NAME.csv, and NAME.png and NAME.svg with a small plot for each panel."""
        from oneoff.reproduce.drawing import line_chart, save

        self._csv(name, Point._fields, points)
        save(line_chart(title, points, x, y, log_x, log_y), self.out / name)
        self.sections.append(Section(name, title, text, _pivots(x, points), name))

    def heat(
        self, name: str, title: str, cells: Sequence[tuple[str, str, float]], *, x: str, y: str, text: str = ""
    ) -> None:
        """A matrix of (row, column, number) as a picture."""
        from oneoff.reproduce.drawing import heat_chart, save

        self._csv(name, ("row", "column", "value"), cells)
        save(heat_chart(title, cells, x, y), self.out / name)
        self.sections.append(Section(name, title, text, "", name))

    def numbers(
        self, name: str, title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], *, text: str = ""
    ) -> None:
        self._csv(name, header, rows)
        self.sections.append(Section(name, title, text, markdown(header, rows)))

    def claim(self, figure: str, *, paper: str, found: str, same: Same, why: str = "") -> None:
        """`same` is computed from what was measured, by a rule that stands in the code of the part."""
        self.claims.append(Claim(figure, paper, found, same, why))

    def leave(self, seconds: float) -> None:
        """The record of this part, for pages."""
        from oneoff import __version__

        record = {
            "part": self.part,
            "oneoff": __version__,
            "full": self.full,
            "people": "real tables" if self.tables.real else "generated people",
            "cpu_seconds": round(seconds, 1),
            "claims": [asdict(claim) for claim in self.claims],
            "sections": [asdict(section) for section in self.sections],
        }
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        (self.out / f"{self.part}.json").write_text(text, encoding="utf-8")

    def _csv(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        with (self.out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows([_rounded(cell) for cell in row] for row in rows)


def read_record(path: Path) -> dict[str, Any]:
    """The record of a part, with claims and sections as such."""
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    record["claims"] = [Claim(**claim) for claim in record["claims"]]
    record["sections"] = [Section(**section) for section in record["sections"]]
    return record


def timed(run: Callable[[], T]) -> tuple[T, float]:
    """What a function returns, and its CPU seconds, those of all threads."""
    began = time.process_time()
    found = run()
    return found, time.process_time() - began


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(map(str, header)) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _pivots(x: str, points: Sequence[Point]) -> str:
    """For each panel a row for each x and a column for each series."""
    panels = list(dict.fromkeys(point.panel for point in points))
    return "\n".join(
        (f"{panel}:\n\n" if panel else "") + _pivot(x, [point for point in points if point.panel == panel])
        for panel in panels
    )


def _pivot(x: str, points: Sequence[Point]) -> str:
    series = list(dict.fromkeys(point.series for point in points))
    found = {(point.series, point.x): _spread(point) for point in points}
    across = dict.fromkeys(point.x for point in points)
    return markdown([x, *series], [[f"{at:g}", *(found.get((name, at)) for name in series)] for at in across])


def _spread(point: Point) -> str | None:
    if point.y is None or not np.isfinite(point.y):
        return None
    if point.low is None or point.high is None or point.low == point.high:
        return f"{point.y:.4g}"
    return f"{point.y:.4g} ({point.low:.4g} to {point.high:.4g})"


def _rounded(cell: Any) -> Any:
    return f"{float(cell):.6g}" if isinstance(cell, float) else cell


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")
