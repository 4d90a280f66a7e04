"""Figures 8 and 9: how far counts are off, from groups and from perturbed values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

import oneoff
from oneoff.releases import Published
from oneoff.reproduce.beta_likeness.releases import (
    BETAS,
    BUREL,
    COMPETITORS,
    OURS,
    people,
    released,
    table_of,
    verdict,
)
from oneoff.reproduce.harness import Point, Run
from oneoff.reproduce.tables import Tables
from oneoff.utility import query_errors, random_queries

__all__ = ["figure_8", "figure_9"]

Case = tuple[float, int, int, float, int]  # x, quasi-identifiers, attributes asked for, selectivity, beta
Series = Callable[[int, int], Iterator[tuple[str, list[Published]]]]
PANELS = {
    "a": "(a) attributes in the query",
    "b": "(b) beta",
    "c": "(c) quasi-identifiers",
    "d": "(d) selectivity",
}
PAPERS, REPAIRED, BASELINE = "perturbation", "perturbation (ours)", "Baseline"


def _workloads(run: Run) -> dict[str, list[Case]]:
    """The four ways in which figures 8 and 9 vary a workload."""
    ks, given = run.pick((1, 3), (1, 2, 3, 4, 5)), run.pick((2, 4), BETAS)
    return {
        "a": [(k, 5, k, 0.1, 4) for k in ks],
        "b": [(beta, 5, 3, 0.1, beta) for beta in given],
        "c": [(q, q, min(q, 3), 0.1, 4) for q in run.pick((3, 5), (1, 2, 3, 4, 5))],
        "d": [(s, 5, 3, s, 4) for s in run.pick((0.1, 0.25), (0.05, 0.1, 0.15, 0.2, 0.25))],
    }


def _asked(run: Run, name: str, number: int, series: Series) -> list[Point]:
    """Median relative errors in percent, in the four ways."""
    points = []
    for key, cases in _workloads(run).items():
        for at, quasi, attributes, selectivity, beta in cases:
            table = table_of(run.tables, quasi, people(run))
            rng = np.random.default_rng(run.seed)
            queries = random_queries(table, number, attributes=attributes, selectivity=selectivity, rng=rng)
            for label, releases in series(quasi, beta):
                errors = [100 * query_errors(release, table, queries).median for release in releases]
                if errors:
                    points.append(Point.of(label, at, errors, PANELS[key]))
                run.say(f"{name}({key}), {at}: {label} {errors}")
    return points


def _by_series(points: list[Point], key: str) -> dict[str, list[float]]:
    found = dict[str, list[float]]()
    for point in points:
        if point.panel == PANELS[key]:
            found.setdefault(point.series, []).append(point.y or 0.0)
    return found


def _said(lines: dict[str, list[float]], labels: tuple[str, ...]) -> str:
    return "; ".join(f"{label} {' '.join(f'{y:.1f}' for y in lines[label])} %" for label in labels if label in lines)


def figure_8(run: Run) -> None:
    number, labels = run.pick(300, 10_000), (BUREL, *COMPETITORS)

    def series(quasi: int, beta: int) -> Iterator[tuple[str, list[Published]]]:
        for label in (*labels, OURS["burel"], f"{OURS['burel']}, tallies"):
            yield label, [released(run.tables, label, quasi, people(run), f"beta-likeness:{beta}")[0]]

    points = _asked(run, "figure 8", number, series)
    text = (
        f"{number:,} count queries, intervals as in the paper; people are taken to be spread evenly over the box of "
        "their group. With tallies, which releases have by default, as these say."
    )
    run.lines("figure-8", "Queries on groups", points, x="", y="median relative error (%)", text=text)
    trends = {
        "a": ("the error does not depend on the number of attributes in one direction", _no_direction),
        "b": ("the error falls as beta rises", _falls),
        "c": ("the error rises with the number of quasi-identifiers", _rises),
        "d": ("the error falls as the selectivity rises", _falls),
    }
    for key, (trend, holds) in trends.items():
        lines = _by_series(points, key)
        best = [own <= min(other) for own, *other in zip(*(lines[label] for label in labels), strict=True)]
        follows = [label for label in labels if holds(lines[label])]
        run.claim(
            f"Figure 8({key})",
            paper=f"{trend}, and BUREL's is the smallest everywhere.",
            found=f"{_said(lines, labels)}. The trend is that of {', '.join(follows) or 'none'}; BUREL's error is the "
            f"smallest {sum(best)} of {len(best)} times. Ours, with tallies: "
            f"{_said(lines, (OURS['burel'], OURS['burel'] + ', tallies'))}.",
            same=verdict([BUREL in follows, all(best)]),
            why="" if all(best) else "Its boxes are wider than those of LMondrian at beta of 2 and more (figure 5).",
        )


def _falls(line: list[float]) -> bool:
    return line[-1] < line[0]


def _rises(line: list[float]) -> bool:
    return line[-1] > line[0]


def _no_direction(line: list[float]) -> bool:
    steps = np.sign(np.diff(line))
    return len(set(steps.tolist())) > 1


@lru_cache(maxsize=8)
def _perturbed(tables: Tables, quasi: int, rows: int, beta: int, channel: str, draws: int) -> list[Published]:
    """None where the channel as published is refused, because it would break the promise."""
    table = table_of(tables, quasi, rows)
    promise = f"beta-likeness:{beta}"
    try:
        return [
            oneoff.anonymize(table, promise, method="perturbation", seed=seed, channel=channel) for seed in range(draws)
        ]
    except oneoff.errors.UnreachableGuarantee:
        return []


def figure_9(run: Run) -> None:
    number, draws = run.pick(300, 2_000), 2

    def series(quasi: int, beta: int) -> Iterator[tuple[str, list[Published]]]:
        table = table_of(run.tables, quasi, people(run))
        yield PAPERS, _perturbed(run.tables, quasi, people(run), beta, "paper", draws)
        yield REPAIRED, _perturbed(run.tables, quasi, people(run), beta, "repaired", draws)
        yield BASELINE, [oneoff.anonymize(table, f"beta-likeness:{beta}", method="baseline", seed=1)]

    points = _asked(run, "figure 9", number, series)
    text = (
        f"{number:,} count queries (the paper asks 10,000), the mean of the medians of {draws} draws and their range. "
        "The channel as published, where it keeps the promise, and ours, which always does."
    )
    run.lines("figure-9", "Queries on perturbed values", points, x="", y="median relative error (%)", text=text)
    trends = {
        "a": ("the error falls as queries ask for more attributes", _falls),
        "b": ("the error falls as beta rises", _falls),
        "c": ("the error does not change uniformly with the number of quasi-identifiers", _no_direction),
        "d": ("the error falls as the selectivity rises", _falls),
    }
    for key, (trend, holds) in trends.items():
        _claim_9(run, key, trend, holds, _by_series(points, key))


def _claim_9(
    run: Run, key: str, trend: str, holds: Callable[[list[float]], bool], lines: dict[str, list[float]]
) -> None:
    at = [case[0] for case in _workloads(run)[key]]
    shown = lines.get(PAPERS) or lines[REPAIRED]
    better = [own < other for own, other in zip(shown, lines[BASELINE], strict=False)]
    worse = ", ".join(f"{x:g}" for x, best in zip(at, better, strict=False) if not best)
    follows = holds(shown)
    run.claim(
        f"Figure 9({key})",
        paper=f"{trend}, and perturbation is always better than the Baseline.",
        found=f"{_said(lines, (PAPERS, REPAIRED, BASELINE))}: the trend is {'' if follows else 'not '}the same, "
        + (f"the Baseline is better at {worse}." if worse else "the Baseline is always worse."),
        same=verdict([follows, *better]),
        why="The fewer of the shown values are true, the noisier is what is led back; there that is more than the "
        "Baseline is off by."
        if key == "b" and worse
        else "",
    )
