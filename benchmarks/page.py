"""How quick the local page is, as whoever sits before it sees it: `python benchmarks/page.py`.

A real page and a real browser (Debian's Chromium, by playwright), as in the tests: seconds from the start of `oneoff
studio` to the first page, seconds to the preview of half a million rows, how long a click waits while two runs use
both cores, and the memory of the page's process. page.md beside this file is written from that. Measure on a machine
that does nothing else.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # the page is served and looked at as in the tests

from tests.studio.browsing import Window, browser_of_tests, window  # noqa: E402
from tests.studio.served import Server, serving  # noqa: E402

STARTS, PREVIEWS, CLICKS = 7, 3, 30
MANY, FEW, TIMES = 500_000, 20_000, 100
STEPS = ("Table", "Columns", "Promise", "Method", "Run")
MB = 1 << 20


@dataclass(frozen=True)
class Figure:
    """A line of the page: what was measured, in seconds or MB; the most it may be; what it is."""

    name: str
    found: tuple[float, ...]
    most: float
    unit: str
    about: str

    def line(self) -> str:
        median, worst = statistics.median(self.found), max(self.found)
        number = "{:.0f}" if self.unit == "MB" else "{:.2f}"
        verdict = "kept" if (worst if self.unit == "MB" else median) <= self.most else "MISSED"
        cells = (
            self.name,
            number.format(median),
            number.format(worst),
            f"{self.most:g} {self.unit}",
            verdict,
            self.about,
        )
        return f"| {' | '.join(cells)} |"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="page-") as name, browser_of_tests() as browser:
        folder, above = Path(name), heading()
        write_tables(folder)
        figures = [first_page(folder, browser), *previews(folder, browser), *clicks(folder, browser)]
    lines = [figure.line() for figure in figures]
    print(*lines, sep="\n")
    (HERE / "page.md").write_text(f"{above}\n{TABLE}\n" + "\n".join(lines) + "\n", encoding="utf-8")


def heading() -> str:
    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "")  # fmt: skip
    return HEADING.format(model=model, cores=os.cpu_count(), load=os.getloadavg()[0])


HEADING = """# The local page

`python benchmarks/page.py` starts `oneoff studio`, opens it in Debian's Chromium and measures from outside. The worst
case decides about memory, the median about time. {model}, {cores} cores; load average at the start {load:.1f}.
"""
TABLE = """| what | median | worst | at most | | |
| --- | --- | --- | --- | --- | --- |"""


def write_tables(folder: Path) -> None:
    """Generated people: some thousands, again and again, as a text and as Parquet; and fewer for the runs."""
    import oneoff

    (folder / "work").mkdir()
    people = oneoff.sample(MANY // TIMES, seed=1).drop(["person"])
    many = pa.concat_tables([people] * TIMES).unify_dictionaries()
    pyarrow.csv.write_csv(many, folder / "work" / "many.csv")
    pyarrow.parquet.write_table(many, folder / "work" / "many.parquet")
    pyarrow.csv.write_csv(oneoff.sample(FEW, seed=2).drop(["person"]), folder / "work" / "few.csv")


# --- the figures


def first_page(folder: Path, browser: Any) -> Figure:
    found = []
    for _ in range(STARTS):
        with window(browser) as tab:
            begin = time.perf_counter()
            with serving(folder / "work") as server:
                tab.page.goto(server.address)
                tab.page.wait_for_selector("text=Begin with a table")
                found.append(time.perf_counter() - begin)
    about = f"From the start of the command to its first page in a browser that is open; {STARTS} times."
    return Figure("first page", tuple(found), 2, "s", about)


def previews(folder: Path, browser: Any) -> Iterator[Figure]:
    for kind, words in (("csv", "a text"), ("parquet", "Parquet")):
        shown, known = [], []
        with serving(folder / "work") as server, window(browser) as tab:
            tab.page.goto(server.address)
            for _ in range(PREVIEWS):
                tab.page.goto(server.origin)
                tab.page.click("text=Begin with a table")
                tab.page.wait_for_selector("h1:has-text('Which table?')")
                begin = time.perf_counter()
                tab.page.click(f"button:has-text('many.{kind}')")
                tab.page.wait_for_selector(".preview tbody tr")
                shown.append(time.perf_counter() - begin)
                tab.page.wait_for_selector("#found details", timeout=120_000)
                known.append(time.perf_counter() - begin)
        looked = statistics.median(known)
        about = (
            f"From a click on {words} of {MANY:,} rows to its first rows; all of it was looked at after {looked:.1f} s."
        )
        yield Figure(f"preview, {words}", tuple(shown), 2, "s", about)


def clicks(folder: Path, browser: Any) -> Iterator[Figure]:
    """Steps of a desk with the large table, while two runs of another desk are at work."""
    with serving(folder / "work") as server, window(browser) as tab:
        tab.page.goto(server.address)
        idle = server.memory()
        to_method(tab, server, "few.csv")
        start_two_runs(tab)
        before = set(server.children())
        to_method(tab, server, "many.csv")
        kept = [server.memory()]
        waited = []
        for place in range(CLICKS):
            waited.append(clicked(tab, STEPS[place % len(STEPS)]))
            kept.append(server.memory())
        assert before <= set(server.children()), "the runs were at work all the time"
        sliding = [slid(tab, number) for number in range(12, 22)]
        kept.append(server.memory())
    busy = f"while two runs use {os.cpu_count()} cores"
    about = f"From a click on a step of a table of {MANY:,} rows until its page stands, {busy}; {CLICKS} clicks."
    yield Figure("a click", tuple(waited), 0.2, "s", about)
    about = f"From a change of a promise until its meaning is told anew, {busy}; 0.2 s of it the page waits for more."
    yield Figure("a slider", tuple(sliding), 0.5, "s", about)
    about = f"Of the page's process beyond the {idle / MB:.0f} MB it has when idle; runs are processes of their own."
    yield Figure("memory", tuple((size - idle) / MB for size in kept), 400, "MB", about)


def to_method(tab: Window, server: Server, file: str) -> None:
    page = tab.page
    page.goto(server.origin)
    page.click("text=Begin with a table")
    page.click(f"button:has-text('{file}')")
    page.wait_for_selector("#found details", timeout=120_000)
    page.click("text=Go on to the columns")
    page.wait_for_selector("h1:has-text('What is each column?')")
    page.click("text=Go on to the promise")
    page.wait_for_selector("#f-promise-k-anonymity", timeout=120_000)
    page.click("text=Promise this")
    page.wait_for_selector("#f-method", timeout=120_000)


def start_two_runs(tab: Window) -> None:
    """A method that works as long as it is told to."""
    page = tab.page
    page.click("summary:has-text('choose one yourself')")
    page.check("#f-method-packing")
    page.click("summary:has-text('Options of packing')")
    page.fill("[name='option.packing.seconds']", "600")
    page.click("text=Go on to the run")
    page.wait_for_selector("h1:has-text('Run it')")
    page.wait_for_load_state()
    for number in (1, 2):
        page.click("section[aria-labelledby=will] button")
        page.wait_for_selector(f"article:has(#run-00{number}) p:has-text('Grouping people')", timeout=120_000)


def clicked(tab: Window, step: str) -> float:
    """Seconds until the page of a step stands, by the clock of the browser."""
    with tab.page.expect_navigation(wait_until="load"):
        tab.page.click(f"nav[aria-label=Steps] >> text={step}")
    return float(tab.page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")) / 1000


def slid(tab: Window, number: int) -> float:
    if not tab.page.locator("#f-promise-k-anonymity").count():
        clicked(tab, "Promise")
    begin = time.perf_counter()
    tab.page.fill("#f-promise-k-anonymity", str(number))
    tab.page.wait_for_selector(f"#meaning code:has-text('k-anonymity:{number}')")
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
