"""Paper 001 again: figures 4 to 9, the table of section 7, and everything side by side on the real CENSUS.

    python experiments/001-beta-likeness/run.py            all of it, 500,000 rows, about half an hour
    python experiments/001-beta-likeness/run.py --rows 50000 --only 5 9

Writes results.md and an SVG for each figure beside this file (or into --out).
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tables import Page, adult, census, markdown, pivot, resampled, say, timed

import oneoff
from oneoff.models import Counts, LDiversity, Prior, TCloseness
from oneoff.releases import Generalized, Published
from oneoff.table import Table
from oneoff.utility import query_errors, random_queries

BETAS = (1, 2, 3, 4, 5)
GROUPING = {
    "BUREL": ("burel", {}),
    "BUREL (paper)": ("burel", {"variant": "paper"}),
    "LMondrian": ("lmondrian", {}),
    "DMondrian": ("dmondrian", {}),
}
SOUND = {"transversal": ("transversal", {}), "packing": ("packing", {})}
QUERIES = 10_000
DRAWS = 5  # of a perturbation: a single one is as good as its luck


class Results(Page):
    """The page as it grows, and how many people it is about."""

    def __init__(self, out: Path, rows: int) -> None:
        super().__init__(out)
        self.rows = rows


@cache
def table_with(quasi: int, rows: int) -> Table:
    whole = census(quasi)
    return whole if rows >= whole.rows else resampled(whole, rows)


@cache
def released(label: str, quasi: int, rows: int, guarantee: str) -> tuple[Published, float]:
    """A release and its CPU seconds. Methods are warmed up on a few people, so that compiling does not count."""
    method, options = {**GROUPING, **SOUND, "tMondrian": ("tmondrian", {}), "SABRE": ("sabre", {})}[label]
    _warm(method, guarantee.split(":")[0], tuple(options.items()))
    release, seconds = timed(
        lambda: oneoff.anonymize(table_with(quasi, rows), guarantee, method=method, seed=1, **options)
    )
    say(f"{label:14} {quasi} quasi-identifiers, {rows} rows, {guarantee}: {seconds:.1f} s")
    return release, seconds


@cache
def _warm(method: str, promise: str, options: tuple[tuple[str, Any], ...]) -> None:
    guarantee = f"{promise}:0.3" if promise == "t-closeness" else f"{promise}:3"
    oneoff.anonymize(table_with(3, 2000), guarantee, method=method, seed=1, **dict(options))


def loss(label: str, quasi: int, rows: int, guarantee: str) -> float:
    return oneoff.utility(released(label, quasi, rows, guarantee)[0]).ail


def counts_of(release: Published) -> tuple[Counts, Prior]:
    assert isinstance(release, Generalized)
    assert release.group is not None
    return Counts.of_groups(release.group, release.values), Prior.of(release.counts)


def levels(release: Published) -> dict[str, float]:
    """What the groups reach: beta (enhanced ceilings aside: the largest gain), t and l, at worst and on average."""
    counts, prior = counts_of(release)
    closeness = TCloseness(0).scores(counts, prior)
    diversity = LDiversity(1).scores(counts, prior)
    weight = counts.size / counts.size.sum()
    gain = oneoff.models.BasicBetaLikeness(0).worst_level(counts, prior)
    return {
        "beta": float(gain),
        "t": float(closeness.max()),
        "average t": float(closeness @ weight),
        "l": float(diversity.min()),
        "average l": float(diversity @ weight),
    }


def section_7(results: Results) -> None:
    rows = []
    for beta in BETAS:
        for label in ("BUREL", "BUREL (paper)"):
            found = levels(released(label, 3, results.rows, f"beta-likeness:{beta}")[0])
            rows.append([label, beta, found["t"], found["average t"], found["l"], found["average l"]])
    results.section(
        "Section 7: t and l that beta-likeness brings",
        "Closeness is the equal-distance EMD; averages are over people. The paper has t .02, .09, .13, .16, .17 and l "
        "19.0, 11.0, 8.7, 7.2, 6.6 for beta 1 to 5 (averages t .01 to .05, l 20.7 to 12.6).",
        markdown(["method", "beta", "t", "average t", "l", "average l"], rows),
    )


def figure_4(results: Results) -> None:
    """Levels are not monotone in the parameter, so everything is looked up on a grid instead of searched by halving."""
    rows, n = list[list[Any]](), results.rows
    points: dict[str, list[tuple[str, float, float]]] = {"a": [], "b": [], "c": []}
    for beta in BETAS:
        t = levels(released("BUREL", 3, n, f"beta-likeness:{beta}")[0])["t"]
        for label in ("BUREL", "SABRE", "tMondrian"):
            guarantee = f"beta-likeness:{beta}" if label == "BUREL" else f"t-closeness:{t:.6f}"
            found = levels(released(label, 3, n, guarantee)[0])
            points["a"].append((label, beta, found["beta"]))
            rows.append(["a: same t", beta, label, found["t"], found["beta"], loss(label, 3, n, guarantee)])
    grid = _grid(n)
    for t in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3):
        for label, entries in grid.items():
            allowed = [entry for entry in entries if entry["t"] <= t + 1e-12]
            if allowed:  # the least loss that is as close as that
                best = min(allowed, key=lambda entry: entry["ail"])
                points["b"].append((label, t, best["beta"]))
                rows.append(["b: t at most", t, label, best["t"], best["beta"], best["ail"]])
    for most in (0.1, 0.2, 0.3, 0.4, 0.5):
        for label, entries in grid.items():
            allowed = [entry for entry in entries if entry["ail"] <= most + 1e-12]
            if allowed:
                best = min(allowed, key=lambda entry: entry["beta"])
                points["c"].append((label, most, best["beta"]))
                rows.append(["c: AIL at most", most, label, best["t"], best["beta"], best["ail"]])
    titles = {
        "a": ("beta given to BUREL", "4a: all reach BUREL's t"),
        "b": ("t", "4b: t at most"),
        "c": ("AIL", "4c: AIL at most"),
    }
    plots = [
        results.plot(f"figure-4{key}.svg", points[key], x, "beta reached", title=title, logarithmic=True)
        for key, (x, title) in titles.items()
    ]
    results.section(
        "Figure 4: face to face with t-closeness",
        "The beta each method really gives (largest relative gain of any value in any group), at the same t, at a t of "
        "at most, and at an AIL of at most. b and c are looked up on a grid of parameters: among the releases that are "
        "close enough the one with least AIL, among those with little enough loss the one with least beta.",
        markdown(["comparison", "at", "method", "t reached", "beta reached", "AIL"], rows),
        plots=plots,
    )


@cache
def _grid(n: int) -> dict[str, list[dict[str, float]]]:
    betas = (0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8)
    closeness = (0.02, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3, 0.35, 0.4)
    wanted = {"BUREL": [f"beta-likeness:{beta}" for beta in betas]}
    wanted |= {label: [f"t-closeness:{t}" for t in closeness] for label in ("SABRE", "tMondrian")}
    return {
        label: [
            levels(released(label, 3, n, guarantee)[0]) | {"ail": loss(label, 3, n, guarantee)} for guarantee in given
        ]
        for label, given in wanted.items()
    }


def _versus(
    results: Results, name: str, title: str, text: str, x: str, cases: Sequence[tuple[float, int, int, str]], also: bool
) -> None:
    """AIL and time of every grouping method over (x, quasi-identifiers, rows, promise)."""
    lost, took, many, broken = [], [], [], 0
    for value, quasi, n, guarantee in cases:
        for label in [*GROUPING, *(SOUND if also else [])]:
            release, seconds = released(label, quasi, n, guarantee)
            verdict = oneoff.audit(release)
            broken += not verdict.holds
            lost.append((label, value, oneoff.utility(release).ail))
            took.append((label, value, seconds))
            many.append((label, value, verdict.groups))
    plots = [
        results.plot(f"{name}a.svg", lost, x, "AIL", title=f"{title}: loss"),
        results.plot(f"{name}b.svg", [point for point in took if point[0] in GROUPING], x, "CPU seconds", title=title),
    ]
    whom = "transversal stands against an insider, packing against nobody, the others against a reader."
    said = f"{text} {whom if also else ''} Releases that break their promise: {broken}."
    tables = [f"AIL:\n\n{pivot(x, lost)}", f"CPU seconds:\n\n{pivot(x, took)}", f"Groups:\n\n{pivot(x, many)}"]
    results.section(title, said, *tables, plots=plots)


def figure_5(results: Results) -> None:
    _versus(
        results, "figure-5", "Figure 5: beta", "Three quasi-identifiers: age, gender, education.", "beta",
        [(beta, 3, results.rows, f"beta-likeness:{beta}") for beta in BETAS], True,
    )  # fmt: skip


def figure_6(results: Results) -> None:
    _versus(
        results, "figure-6", "Figure 6: quasi-identifiers", "beta = 4; age, gender, education, marital, workclass, in "
        "this order.", "quasi-identifiers", [(q, q, results.rows, "beta-likeness:4") for q in range(1, 6)], True,
    )  # fmt: skip


def figure_7(results: Results) -> None:
    sizes = [results.rows * part // 5 for part in range(1, 6)]
    _versus(
        results, "figure-7", "Figure 7: people", "beta = 4, three quasi-identifiers; random parts of the table.",
        "people", [(n, 3, n, "beta-likeness:4") for n in sizes], False,
    )  # fmt: skip


Case = tuple[float, int, int, float, str]  # x, quasi-identifiers, attributes asked for, selectivity, promise


def _workloads() -> dict[str, tuple[str, list[Case]]]:
    """The four ways in which figures 8 and 9 vary a workload."""
    return {
        "a": ("attributes in the query", [(k, 5, k, 0.1, "beta-likeness:4") for k in range(1, 6)]),
        "b": ("beta", [(beta, 5, 3, 0.1, f"beta-likeness:{beta}") for beta in BETAS]),
        "c": ("quasi-identifiers", [(q, q, min(q, 3), 0.1, "beta-likeness:4") for q in range(1, 6)]),
        "d": ("selectivity", [(s, 5, 3, s, "beta-likeness:4") for s in (0.05, 0.1, 0.15, 0.2, 0.25)]),
    }


def _asked(results: Results, name: str, title: str, text: str, series: Callable[[int, str], Iterator[Any]]) -> None:
    """Median relative errors of 10,000 queries, in the four ways."""
    tables, plots = [], []
    for key, (x, cases) in _workloads().items():
        points = []
        for value, quasi, attributes, selectivity, guarantee in cases:
            table = table_with(quasi, results.rows)
            draw = np.random.default_rng(7)
            queries = random_queries(table, QUERIES, attributes=attributes, selectivity=selectivity, rng=draw)
            for label, releases in series(quasi, guarantee):
                errors = [query_errors(release, table, queries).median for release in releases]
                if errors:
                    points.append((label, value, 100 * float(np.mean(errors))))
        tables.append(f"({key}) Median relative error in percent:\n\n{pivot(x, points)}")
        plots.append(results.plot(f"{name}{key}.svg", points, x, "median relative error (%)", title=f"{title} ({key})"))
    results.section(title, text, *tables, plots=plots)


def figure_8(results: Results) -> None:
    def series(quasi: int, guarantee: str) -> Iterator[Any]:
        for label in GROUPING:
            yield label, [released(label, quasi, results.rows, guarantee)[0]]

    _asked(
        results, "figure-8", "Figure 8: queries on groups", f"{QUERIES:,} count queries; people are taken to be spread "
        "evenly over the box of their group.", series,
    )  # fmt: skip


def figure_9(results: Results) -> None:
    @cache
    def perturbed(quasi: int, guarantee: str, channel: str) -> list[Published]:
        table = table_with(quasi, results.rows)
        try:
            return [
                oneoff.anonymize(table, guarantee, method="perturbation", seed=seed, channel=channel)
                for seed in range(DRAWS)
            ]
        except oneoff.errors.UnreachableGuarantee as error:
            say(f"{channel}, {guarantee}: {error}")
            return []

    def series(quasi: int, guarantee: str) -> Iterator[Any]:
        table = table_with(quasi, results.rows)
        yield "perturbation", perturbed(quasi, guarantee, "repaired")
        yield "perturbation (paper)", perturbed(quasi, guarantee, "paper")
        yield "Baseline", [oneoff.anonymize(table, guarantee, method="baseline", seed=1)]

    _asked(
        results, "figure-9", "Figure 9: queries on perturbed values", f"{QUERIES:,} count queries, the mean of the "
        f"medians over {DRAWS} draws. The paper's channel is shown where it is sound.", series,
    )  # fmt: skip


def adult_at_basic_beta(results: Results) -> None:
    """Where another tool leaves out a sixth to a fifth of the people."""
    table, rows = adult(), []
    for beta in (1, 2):
        for method in ("transversal", "burel", "mondrian", "packing"):
            release, seconds = timed(
                lambda beta=beta, method=method: oneoff.anonymize(
                    table, f"basic-beta-likeness:{beta}", method=method, seed=1
                )
            )
            verdict, lost = oneoff.audit(release, table), oneoff.utility(release, table)
            say(f"ADULT {method} beta {beta}: {seconds:.1f} s")
            rows.append(
                [beta, method, lost.gcp, lost.ail, 0, seconds, "yes" if verdict.holds else "NO", release.against]
            )
    results.section(
        "ADULT, basic beta-likeness",
        "30,162 people, occupation sensitive, seven quasi-identifiers without hierarchies. ARX leaves out 20 % of the "
        "rows at beta = 1 and 16 % at beta = 2, and takes minutes; here nobody is left out.",
        markdown(["beta", "method", "GCP", "AIL", "left out", "CPU s", "holds", "stands against"], rows),
    )


PARTS: dict[str, Callable[[Results], None]] = {
    "5": figure_5,
    "6": figure_6,
    "7": figure_7,
    "4": figure_4,
    "section-7": section_7,
    "8": figure_8,
    "9": figure_9,
    "adult": adult_at_basic_beta,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000, help="people; random ones when fewer than all")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS), help="parts to run")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent, help="folder to write into")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    results = Results(given.out, given.rows)
    for name in PARTS:
        if name in given.only:
            PARTS[name](results)
            results.write(
                "# beta-likeness (paper 001), on the real CENSUS\n\n"
                "Written by `python experiments/001-beta-likeness/run.py`. Salary is sensitive; AIL with hierarchies "
                f"of the table (equations 2 to 5). {given.rows:,} people, Python {platform.python_version()}, oneoff "
                f"{oneoff.__version__}; CPU seconds on {platform.machine()}, compiling excluded."
            )
            say(f"part {name} done")


if __name__ == "__main__":
    main()
