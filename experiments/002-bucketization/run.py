"""Paper 002 again: figures 3 to 7 on the real CENSUS, and how far every method is from the best there is.

    python experiments/002-bucketization/run.py            all of it, 300,000 rows, about ten minutes
    python experiments/002-bucketization/run.py --rows 30000 --only 3 4

Writes results.md and an SVG for each figure beside this file (or into --out).
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tables import Page, census_wide, markdown, pivot, resampled, say, timed

import oneoff
from oneoff.mechanisms.bucketization.exact_size import exact_sizes
from oneoff.mechanisms.bucketization.multi_size import multi_sizes
from oneoff.mechanisms.bucketization.setting import Setting
from oneoff.mechanisms.bucketization.two_size import two_sizes
from oneoff.models import FPrivacy
from oneoff.releases import Bucketized
from oneoff.table import Table
from oneoff.utility import query_errors, random_queries

TABLES = {"OCC": "occupation", "EDU": "education"}
THETAS = (2, 4, 8, 16, 32)
MOST = 50  # M' of the paper
QUERIES = 5_000
BLOCK_SIZES = (2_000, 32_000)
SIZES = {"TwoSize": two_sizes, "MultiSize": multi_sizes, "exact": exact_sizes}
METHODS = {"TwoSize": "two-size", "MultiSize": "multi-size", "exact": "exact-size"}
TOO_LONG = 40  # CPU seconds after which a series is not continued


@cache
def table_of(name: str, rows: int) -> Table:
    return resampled(census_wide(TABLES[name]), rows)


@dataclass(frozen=True, eq=False)
class Task:
    """Counts of sensitive values, and what F'-privacy makes of them: all that a bucket setting depends on."""

    counts: npt.NDArray[np.int64]
    theta: int = 8

    @property
    def limits(self) -> Any:
        return FPrivacy(self.theta).caps(self.counts)

    @property
    def l(self) -> int:  # noqa: E743
        """Of the l-diversity that enforces the same ceilings."""
        return ceil(1 / min(self.limits.ceiling))

    @property
    def anatomy_exists(self) -> bool:
        return int(self.counts.max()) * self.l <= int(self.counts.sum())

    @property
    def anatomy_msbs(self) -> float:
        """From sizes alone: as many buckets of l as there can be, and those left over one more in each."""
        n = int(self.counts.sum())
        number, more = divmod(n, self.l)
        return ((number - more) * (self.l - 1) ** 2 + more * self.l**2) / (n - 1)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.arange(ceil(1 / max(self.limits.ceiling)), MOST + 1)

    def solve(self, solver: Callable[..., Setting | None], *given: Any) -> tuple[Setting, float]:
        """A setting and its CPU seconds; an average of several runs when one is short."""
        n, sizes, runs = int(self.counts.sum()), self.sizes, list[float]()
        while not runs or (sum(runs) < 0.5 and len(runs) < 20):
            found, seconds = timed(lambda: solver(self.counts, self.limits.up_to(n), sizes, *given))
            runs.append(seconds)
        assert found is not None
        return found, float(np.mean(runs))

    def msbs(self, setting: Setting) -> float:
        return setting.loss / (int(self.counts.sum()) - 1)


@cache
def solved(name: str, rows: int, theta: int, label: str) -> Setting:
    setting, seconds = Task(table_of(name, rows).counts, theta).solve(SIZES[label])
    say(f"{name} theta {theta:2} {label:9} {seconds:.2f} s, loss {setting.loss:,}")
    return setting


def figure_3(page: Page, rows: int) -> None:
    points, said = [], []
    for name in TABLES:
        tasks = {theta: Task(table_of(name, rows).counts, theta) for theta in THETAS}
        points += [(name, theta, task.l) for theta, task in tasks.items()]
        able = " ".join(str(theta) for theta, task in tasks.items() if task.anatomy_exists)
        share = next(iter(tasks.values())).counts.max() / rows
        exists = f"anatomy exists for theta {able}" if able else "anatomy exists for none of them"
        said.append(f"{name}: the most frequent value has {share:.1%}, {exists}.")
    plot = page.plot("figure-3.svg", points, "theta", "l", title="Figure 3", doubling=True)
    text = "l of the l-diversity that enforces the same ceilings, f' = min(1, theta f + 0.02). " + " ".join(said)
    page.section("Figure 3: the corresponding l-diversity", text, pivot("theta", points), plots=[plot])


def figure_4(page: Page, rows: int) -> None:
    tables, plots = [], []
    for name in TABLES:
        points, none = list[tuple[str, float, float]](), []
        for theta in THETAS:
            task = Task(table_of(name, rows).counts, theta)
            points.append(("Anatomy (sizes)", theta, task.anatomy_msbs))
            none += [] if task.anatomy_exists else [str(theta)]
            points += [(label, theta, task.msbs(solved(name, rows, theta, label))) for label in SIZES]
        missing = f" (anatomy by its sizes alone: no such buckets exist for theta {' '.join(none)})" if none else ""
        tables.append(f"MSBS on {name}{missing}:\n\n{pivot('theta', points)}")
        file, title = f"figure-4-{name.lower()}.svg", f"Figure 4, {name}"
        plots.append(page.plot(file, points, "theta", "MSBS", title=title, doubling=True, logarithmic=True))
    text = "Mean squared bucket size (equation 1), sizes up to 50. exact is the paper's Optimal."
    page.section("Figure 4: bucket sizes", text, *tables, plots=plots)


def excess(page: Page, rows: int) -> None:
    """The proven bound is that of the linear program, which the exact method comes with."""
    lines = []
    for name in TABLES:
        for theta in THETAS:
            found = {label: solved(name, rows, theta, label) for label in SIZES}
            best = found["exact"]
            assert best.excess is not None
            least = best.loss / (1 + best.excess)
            kinds = "; ".join(f"{b} of {s}" for s, b in zip(best.size, best.number, strict=True))
            over = [f"{100 * (setting.loss / least - 1):.4f} %" for setting in found.values()]
            lines.append([name, theta, *over, kinds if len(best.size) <= 6 else f"{len(best.size)} sizes"])
    text = (
        "More loss than the proven lower bound for any setting with sizes up to 50. The paper calls TwoSize and "
        "MultiSize good approximations of the optimum."
    )
    header = ["table", "theta", *SIZES, "best buckets"]
    page.section("Excess over the proven optimum", text, markdown(header, lines))


def _released(table: Table, theta: int, method: str, **options: Any) -> tuple[Bucketized | None, str]:
    """A release that was checked, or what was refused."""
    guarantee = f"f-privacy:theta={theta},base=0.02"
    try:
        made, seconds = timed(lambda: oneoff.anonymize(table, guarantee, method=method, seed=1, **options))
    except oneoff.errors.UnreachableGuarantee as error:
        say(f"theta {theta} {method} {options}: refused")
        return None, error.got or "refused"
    say(f"theta {theta} {method} {options}: {seconds:.1f} s")
    assert oneoff.audit(made).holds
    return made, ""


def figure_5(page: Page, rows: int) -> None:
    tables, plots = [], []
    for name in TABLES:
        table = table_of(name, rows)
        queries = random_queries(table, QUERIES, attributes=3, selectivity=0.05, rng=np.random.default_rng(7))
        wanted = [(label, method, {}) for label, method in METHODS.items()]
        for size in BLOCK_SIZES:
            wanted.append((f"exact, blocks of {size:,}", "exact-size", {"choice": "blocks", "block_size": size}))
        points, medians, sizes, refused = [], [], [], []
        for theta in THETAS:
            for label, method, options in wanted:
                release, why = _released(table, theta, method, **options)
                if release is None:
                    refused.append([label, theta, why])
                    continue
                errors = query_errors(release, table, queries)
                points.append((label, theta, 100 * errors.mean))
                medians.append((label, theta, 100 * errors.median))
                sizes.append((label, theta, oneoff.utility(release).msbs))
        tables.append(f"{name}, mean relative error in percent:\n\n{pivot('theta', points)}")
        tables.append(f"{name}, median relative error in percent:\n\n{pivot('theta', medians)}")
        tables.append(f"{name}, MSBS:\n\n{pivot('theta', sizes)}")
        if refused:
            tables.append(f"{name}, refused:\n\n{markdown(['method', 'theta', 'why'], refused)}")
        file, title = f"figure-5-{name.lower()}.svg", f"Figure 5, {name}"
        plots.append(page.plot(file, points, "theta", "mean relative error (%)", title=title, doubling=True))
    text = (
        f"{QUERIES:,} count queries on three random quasi-identifiers and the sensitive value, expected selectivity "
        "5 %. They ask for intervals of codes; the paper follows Anatomy's, which ask for random sets of values. "
        "People are drawn from the whole table, or inside blocks of at least so many people with similar "
        "quasi-identifiers; blocks are refused where one of them cannot keep the promise by itself."
    )
    page.section("Figure 5: count queries", text, *tables, plots=plots)


SEARCHES: dict[str, tuple[Callable[..., Setting | None], tuple[Any, ...]]] = {
    "No-pruning": (two_sizes, ("none",)),
    "Loss-pruning": (two_sizes, ("loss",)),
    "Full-pruning": (two_sizes, ("full",)),
    "MultiSize": (multi_sizes, ()),
    "exact": (exact_sizes, ()),
}


def _timed_series(
    page: Page, figure: str, x: str, text: str, tasks: dict[str, dict[int, Task]], **scales: bool
) -> None:
    for solver, given in SEARCHES.values():  # compiling does not count
        Task(np.array([40, 30, 20, 10])).solve(solver, *given)
    tables, plots = [], []
    for name, cases in tasks.items():
        points, tired = list[tuple[str, float, float]](), set[str]()
        for at, task in cases.items():
            for label, (solver, given) in SEARCHES.items():
                if label in tired:
                    continue
                _, seconds = task.solve(solver, *given)
                points.append((label, at, seconds))
                say(f"figure {figure} {name} {x} {at}: {label} {seconds:.3f} s")
                if seconds > TOO_LONG:
                    tired.add(label)
        tables.append(f"CPU seconds on {name}:\n\n{pivot(x, points)}")
        file, title = f"figure-{figure}-{name.lower()}.svg", f"Figure {figure}, {name}"
        plots.append(page.plot(file, points, x, "CPU seconds", title=title, logarithmic=True, **scales))
    page.section(f"Figure {figure}: time and {x}", text, *tables, plots=plots)


def figure_6(page: Page, rows: int) -> None:
    sizes = [rows * part // 3 for part in range(1, 6)]  # 100,000 to 500,000
    tasks = {name: {n: Task(table_of(name, n).counts) for n in sizes} for name in TABLES}
    text = (
        "theta = 8. The time to find a setting, without reading, dealing and checking. The three searches of TwoSize "
        "find the same setting; Full-pruning is the interval of first_valid for all pairs of sizes, without a search."
    )
    _timed_series(page, "6", "people", text, tasks)


def figure_7(page: Page, rows: int) -> None:
    n, draw = rows * 5 // 3, np.random.default_rng(3)
    tasks = {
        name: {factor: Task(_finer(table_of(name, n).counts, factor, draw)) for factor in (2, 4, 8, 16, 32, 64)}
        for name in TABLES
    }
    text = (
        f"{n:,} people, theta = 8; every value is replaced by one of so many new ones at random (section 7.3.2). The "
        "paper's Optimal grows exponentially here; only the numbers of buckets have to be whole."
    )
    _timed_series(page, "7", "scale factor", text, tasks, doubling=True)


def _finer(counts: npt.NDArray[np.int64], factor: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    finer = np.concatenate([rng.multinomial(count, np.full(factor, 1 / factor)) for count in counts])
    return finer[finer > 0]


PARTS: dict[str, Callable[[Page, int], None]] = {
    "3": figure_3,
    "4": figure_4,
    "excess": excess,
    "6": figure_6,
    "7": figure_7,
    "5": figure_5,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000, help="people; figures 6 and 7 go up to 5/3 of it")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS), help="parts to run")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent, help="folder to write into")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    page = Page(given.out)
    for name in PARTS:
        if name in given.only:
            _, seconds = timed(lambda name=name: PARTS[name](page, given.rows))
            page.write(
                "# Generalized bucketization (paper 002), on the real CENSUS\n\n"
                "Written by `python experiments/002-bucketization/run.py`. OCC has occupation sensitive, EDU "
                "education; all other seven attributes are quasi-identifiers. The 100,000 people there are were drawn "
                f"with repeats to make {given.rows:,}. Python {platform.python_version()}, oneoff "
                f"{oneoff.__version__}; CPU seconds on {platform.machine()}, compiling excluded."
            )
            say(f"part {name} done, {seconds:.0f} s")


if __name__ == "__main__":
    main()
