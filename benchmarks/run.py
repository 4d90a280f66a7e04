"""Measure speed, memory and loss: `python benchmarks/run.py [--only NAME ...]`.

Each case runs in a fresh process, so that its peak memory is its own. A table is printed as it goes. The figures are
kept in results.json beside this file, and results.md is written from them: a run of some blocks or cases (`--only
recipients`) puts its figures in place of theirs and leaves the others as they were. The real tables are looked for
beside the checkout or where ONEOFF_DATA points, and cases whose table is absent are skipped. Rivals are measured where
they can be imported: in this interpreter, or in the one named by --rivals or ONEOFF_RIVALS. They pin older libraries
than ours, so give them an environment of their own:
`python -m venv rivals && rivals/bin/pip install '.[bench]'`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from case import Case
from cases import BLOCKS, CASES, REFERENCES

HERE = Path(__file__).resolve().parent
LIBRARIES = ("numpy", "numba", "pyarrow", "polars")


@dataclass(frozen=True)
class Column:
    title: str
    key: str
    text: Callable[[Any], str]


COLUMNS = (
    Column("rows", "rows", lambda x: f"{x:,}"),
    Column("CPU s", "cpu", lambda x: f"{x:.2f}"),
    Column("wall s", "wall", lambda x: f"{x:.2f}"),
    Column("base MB", "base", lambda x: f"{x:.0f}"),
    Column("peak MB", "mb", lambda x: f"{x:.0f}"),
    Column("median error", "median", lambda x: f"{x:.4f}"),
    Column("mean error", "mean", lambda x: f"{x:.4f}"),
    Column("AUC", "auc", lambda x: f"{x:.4f}"),
    Column("accuracy", "accuracy", lambda x: f"{x:.4f}"),
    Column("original", "original", lambda x: f"{x:.4f}"),
    Column("lost", "lost", lambda x: f"{x:.4f}"),
    Column("inside", "inside", lambda x: f"{x:.3f}"),
    Column("outside", "outside", lambda x: f"{x:.3f}"),
    Column("difference", "gain", lambda x: f"{x:.3f}"),
    Column("GCP", "gcp", lambda x: f"{x:.4f}"),
    Column("AIL", "ail", lambda x: f"{x:.4f}"),
    Column("MSBS", "msbs", lambda x: f"{x:.2f}"),
    Column("ILoss", "iloss", lambda x: f"{x:.3f}"),
    Column("groups", "groups", lambda x: f"{x:,}"),
    Column("holds", "holds", lambda x: "yes" if x else "NO"),
    Column("audit s", "audit", lambda x: f"{x:.2f}"),
)
WORDS = {
    "cpu": "{:g} CPU s",
    "wall": "{:g} s",
    "mb": "{:g} MB",
    "gcp": "GCP {:g}",
    "audit": "audit {:g} s",
    "median": "median {:g}",
    "mean": "mean {:g}",
    "lost": "{:g} lost",
    "gain": "a difference of {:g}",
    "accuracy": "accuracy {:g}",
}
NAME = max(len(case.name) for case in CASES) + 2


@dataclass(frozen=True)
class Result:
    """The figures of a case, or why there are none."""

    case: Case
    figures: dict[str, Any]
    skipped: str = ""
    failed: str = ""

    def cells(self) -> list[str]:
        return [self._cell(column) for column in COLUMNS]

    def _cell(self, column: Column) -> str:
        value = self.figures.get(column.key)
        return "" if value is None else column.text(value)

    def missed(self) -> list[str]:
        over = [WORDS[key].format(most) for key, most in self.case.floors.items() if self.figures[key] > most]
        under = [WORDS[key].format(least) for key, least in self.case.least.items() if self.figures[key] < least]
        return over + under

    def remark(self) -> str:
        """Why there is no result, or a note, and the floors and whether they are kept."""
        if self.skipped or self.failed:
            return f"skipped: {self.skipped}" if self.skipped else f"FAILED: {self.failed}"
        told = [str(self.figures["note"])] if self.figures.get("note") else []
        limits = [
            f"{word} {', '.join(WORDS[key].format(limit) for key, limit in limits.items())}"
            for word, limits in (("at most", self.case.floors), ("at least", self.case.least))
            if limits
        ]
        if limits:
            missed = self.missed()
            told.append(f"{', '.join(limits)}: " + (f"MISSED {', '.join(missed)}" if missed else "kept"))
        return "; ".join(told)


class Bench:
    """One run over the cases: where the data are, where cases leave files for each other, what is done already."""

    def __init__(self, data: Path, work: Path, rivals: str) -> None:
        self.data, self.work, self.rivals = data, work, rivals
        self.done: dict[str, Result] = {}

    def run(self, case: Case) -> Result:
        if case.name not in self.done:
            self.done[case.name] = self._measured(case)
        return self.done[case.name]

    def _measured(self, case: Case) -> Result:
        if case.file and not (self.data / case.file).is_file():
            return Result(case, {}, skipped=f"{case.file} is not in the data folder (set ONEOFF_DATA)")
        if case.rival and not self._importable(case.rival):
            return Result(case, {}, skipped=f"{case.rival} is not installed (see --rivals)")
        if case.after:
            self.run(next(other for other in CASES if other.name == case.after))
        try:
            figures = self._process(case.verb, case, self.rivals if case.rival else sys.executable)
            if case.then:
                figures |= self._process(case.then, case, sys.executable)
        except subprocess.CalledProcessError as error:
            return Result(case, {}, failed=(error.stderr.strip().splitlines() or ["no message"])[-1])
        return Result(case, figures)

    def _process(self, verb: str, case: Case, interpreter: str) -> dict[str, Any]:
        """The figures of a verb from a fresh process. This one must stay small: what a process holds when it starts
        another counts towards the peak of the other."""
        given = {**case.given, "data": str(self.data), "work": str(self.work)}
        command = [interpreter, str(HERE / "measure.py"), verb, json.dumps(given)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures

    def _importable(self, module: str) -> bool:
        tried = subprocess.run([self.rivals, "-c", f"import {module}, pandas, pyarrow"], capture_output=True)
        return tried.returncode == 0


# --- what is printed --------------------------------------------------------------------------------------------------


def line(result: Result) -> str:
    """What there is of a result: no block has figures of all kinds."""
    told = [f"{column.title} {cell}" for column, cell in zip(COLUMNS, result.cells(), strict=True) if cell]
    return "  ".join([f"{result.case.name:<{NAME}}", *told, result.remark()]).rstrip()


def measure_all(bench: Bench, cases: Iterable[Case]) -> list[Result]:
    """Run the cases and print each as soon as it is there."""
    results: list[Result] = []
    for case in cases:
        if not results or results[-1].case.block != case.block:
            print(f"\n{BLOCKS[case.block].title}")
        result = bench.run(case)
        print(line(result), flush=True)
        results.append(result)
    return results


GROWTH = {
    "mondrian": "census mondrian k-anonymity",
    "hilbert": "census hilbert k-anonymity",
    "transversal": "growth transversal",
    "packing": "growth packing",
    "tallies": "growth tallies",
}


def growth(results: Sequence[Result]) -> list[str]:
    """How the time for a row changes with the number of rows, for each method."""
    sentences = []
    for method, cases in GROWTH.items():
        per_row = {
            found.figures["rows"]: found.figures["cpu"] / found.figures["rows"] * 1e6
            for found in results
            if found.case.name.startswith(cases) and found.figures
        }
        if len(per_row) > 1:
            texts = ", ".join(f"{micro:.1f} µs at {rows:,} rows" for rows, micro in per_row.items())
            ratio = per_row[max(per_row)] / per_row[min(per_row)]
            times = max(per_row) // min(per_row)
            sentences.append(f"{method}, CPU time for a row: {texts}; {ratio:.2f} times for {times} times the rows.")
    return sentences


def growth_plot(results: Sequence[Result]) -> bytes:
    """CPU seconds and memory by rows, both axes logarithmic, so that linear growth is a straight line."""
    import altair
    import vl_convert

    points = [
        {"method": method, "rows": found.figures["rows"], "what": what, "figure": found.figures[key]}
        for method, cases in GROWTH.items()
        for found in results
        if found.case.name.startswith(cases) and found.figures
        for what, key in (("CPU seconds", "cpu"), ("peak memory, MB", "mb"))
    ]
    axes = {
        "x": altair.X("rows:Q", scale=altair.Scale(type="log"), title="people"),
        "y": altair.Y("figure:Q", scale=altair.Scale(type="log"), title=None),
        "color": altair.Color("method:N", title=None),
    }
    chart = altair.Chart(altair.Data(values=points)).mark_line(point=True).encode(**axes)
    chart = chart.properties(width=300, height=240).facet(facet=altair.Facet("what:N", title=None))
    png: bytes = vl_convert.vegalite_to_png(chart.resolve_scale(y="independent").to_dict(), scale=2)
    return png


def machine() -> list[str]:
    """Where the figures come from, without names of hosts or folders."""
    load = f"; load average at the start {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return [
        f"{_processor()}, {os.cpu_count()} cores{load}",
        f"{platform.system()}, Python {platform.python_version()}, oneoff {version('oneoff')}, {libraries}",
    ]


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    models = [text for text in info.read_text().splitlines() if text.startswith("model name")] if info.exists() else []
    return models[0].partition(":")[2].strip() if models else platform.processor() or platform.machine()


# --- what is kept and written -----------------------------------------------------------------------------------------


def kept() -> dict[str, Any]:
    """The figures of earlier runs by case, and about the machine."""
    path = HERE / "results.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {"about": [], "later": {}, "cases": {}} | found


def keep(results: Sequence[Result], about: list[str], only: Sequence[str]) -> None:
    """Put these in the place of earlier ones, and write the page of all."""
    known = kept() if only else {"about": about, "later": {}, "cases": {}}
    known["later"] |= {f"measured anew, {', '.join(only)}": about[0]} if only else {}
    known["cases"] |= {
        found.case.name: {"figures": found.figures, "skipped": found.skipped, "failed": found.failed}
        for found in results
    }
    (HERE / "results.json").write_text(_as_lines(known), encoding="utf-8")
    everything = [Result(case, **known["cases"][case.name]) for case in CASES if case.name in known["cases"]]
    lines = [*(known["about"] or about), *(f"{what}: {where}" for what, where in known["later"].items())]
    board = HERE / "scoreboard.md"  # written by scoreboard.py
    attacks = f"\n{board.read_text(encoding='utf-8')}" if board.exists() else ""
    (HERE / "results.md").write_text(page(everything, lines) + attacks, encoding="utf-8")
    if any(found.case.name.startswith(tuple(GROWTH.values())) for found in results):
        (HERE / "growth.png").write_bytes(growth_plot(everything))
    print("written: benchmarks/results.json, benchmarks/results.md")


def _as_lines(known: dict[str, Any]) -> str:
    """JSON with a line for every case, so that differences can be read."""
    cases = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in known["cases"].items())
    head = "".join(f" {json.dumps(name)}: {json.dumps(known[name])},\n" for name in ("about", "later"))
    return f'{{\n{head} "cases": {{\n{cases}\n }}\n}}\n'


def page(results: Sequence[Result], about: Sequence[str]) -> str:
    parts = ["# Benchmarks", INTRODUCTION, "\n".join(f"- {text}" for text in about)]
    for name, block in BLOCKS.items():
        rows = [result for result in results if result.case.block == name]
        if rows:
            parts += [f"## {block.title}", block.meaning, _markdown(rows)]
        if name == "growth" and growth(results):
            parts.append("\n".join(f"- {sentence}" for sentence in growth(results)))
            parts.append("![CPU seconds and memory by number of people](growth.png)")
    references = [f"| {what} | {figure} |" for what, figure in REFERENCES]
    parts += ["## Reference figures (not run here)", REFERENCE_MEANING]
    parts.append("\n".join(["| what | figure |", "|---|---|", *references]))
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """\
Written by `make bench` (`make bench ARGS="--only recipients"` measures one block anew). Every line is a process of its
own. CPU s counts all threads. peak MB is the most memory the process ever held, with the interpreter, all libraries and
the input table in it; base MB is what it held after the warm-up, before the table was read. GCP is the range variant: 0
when nothing is blurred, 1 when everything is. holds says whether an audit of the records found the promise kept; "at
most" is what the project holds itself to. Tables larger than memory are in [larger.md](larger.md), the local page is in
[page.md](page.md)."""

REFERENCE_MEANING = "Reported figures, none of them produced by this run: good for the order of magnitude only."


def _markdown(rows: Sequence[Result]) -> str:
    used = [i for i, column in enumerate(COLUMNS) if any(row.cells()[i] for row in rows)]
    remarks = any(row.remark() for row in rows)
    titles = ["case", *(COLUMNS[i].title for i in used), *(["remark"] if remarks else [])]
    marks = ["---", *("---:" for _ in used), *(["---"] if remarks else [])]
    body = [[row.case.name, *(row.cells()[i] for i in used), *([row.remark()] if remarks else [])] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [titles, marks, *body])


# --- the command ------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure speed, memory and loss of oneoff.")
    which = "a block, or cases with this in their name"
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=which)
    parser.add_argument("--dry", action="store_true", help="print only, write nothing")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    own = os.environ.get("ONEOFF_RIVALS", sys.executable)
    parser.add_argument("--rivals", default=own, metavar="PYTHON", help="an interpreter with anonypy and pycanon")
    return parser.parse_args()


def chosen(only: Sequence[str]) -> list[Case]:
    if not only:
        return [case for case in CASES if not case.slow]
    blocks = [case for case in CASES if case.block in only and not case.slow]
    return [case for case in CASES if case in blocks or any(name in case.name for name in set(only) - set(BLOCKS))]


def main() -> int:
    given = arguments()
    cases = chosen(given.only)
    if given.list or not cases:
        print("\n".join(case.name for case in (cases or CASES)))
        return 0 if cases else 2
    data = Path(os.environ.get("ONEOFF_DATA", HERE.parents[1] / "shared" / "data"))
    about, began = machine(), time.perf_counter()
    print("\n".join(about))
    with tempfile.TemporaryDirectory() as work:
        results = measure_all(Bench(data, Path(work), given.rivals), cases)
    print("\nReference figures (not run here)")
    print("\n".join(f"{what:<{NAME + 8}}{figure}" for what, figure in REFERENCES))
    print("\n".join(["", *growth(results)]))
    print(f"{time.perf_counter() - began:.0f} s in all")
    if not given.dry:
        keep(results, about, given.only)
    return int(any(result.failed or result.figures.get("holds") is result.case.breaks for result in results))


if __name__ == "__main__":
    sys.exit(main())
