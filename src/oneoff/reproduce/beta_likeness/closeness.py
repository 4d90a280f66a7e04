"""Figure 4 and the table of section 7: beta-likeness beside t-closeness, by the ordered distance of salaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from oneoff.mechanisms.partitioning.burel import bi_split, dp_partition
from oneoff.models import BetaLikeness, Limits
from oneoff.reproduce.beta_likeness.releases import (
    BUREL,
    OURS,
    Levels,
    ail,
    betas,
    levels,
    people,
    released,
    table_of,
    verdict,
)
from oneoff.reproduce.harness import Point, Run
from oneoff.table.arrays import Ints

__all__ = ["figure_4", "section_7"]

PAPERS_T = (0.02, 0.09, 0.13, 0.16, 0.17)
SECTION_7 = {  # beta: t, average t, l, average l
    1: (0.02, 0.01, 19.0, 20.7),
    2: (0.09, 0.04, 11.0, 15.9),
    3: (0.13, 0.04, 8.7, 14.2),
    4: (0.16, 0.04, 7.2, 13.6),
    5: (0.17, 0.05, 6.6, 12.6),
}
RIVALS = ("SABRE", "tMondrian")
PANELS = {"a": "(a) all as close as BUREL is", "b": "(b) t at most", "c": "(c) AIL"}

Entry = tuple[Levels, float]  # what a release reaches, and its AIL


def _entry(run: Run, label: str, guarantee: str) -> Entry:
    release, seconds = released(run.tables, label, 3, people(run), guarantee)
    run.say(f"{label}, {guarantee}: {seconds:.1f} s")
    return levels(release), ail(run.tables, label, 3, people(run), guarantee)


def _close(t: float) -> str:
    return f"t-closeness:{t:.6f},ordered"


def figure_4(run: Run) -> None:
    """Levels are not monotone in the parameter, so (b) and (c) look them up on a grid instead of halving."""
    grid = _grid(run)
    points = [*_same_t(run), *_t_at_most(run, grid), *_same_loss(run, grid)]
    text = (
        "The beta that a release really gives: the largest gain of any value in any group. t is the largest ordered "
        "distance of any group. BUREL, SABRE and tMondrian as published; ours beside them. (b) Of the releases that "
        "are close enough the least close. (c) Of BUREL the release with the least beta and at most the given AIL, of "
        "the others the one with least loss that is not below that of BUREL, and at most .1 above."
    )
    run.lines("figure-4", "Face to face with t-closeness", points, x="given", y="beta reached", log_y=True, text=text)
    asked = {"a": "the same t as BUREL at beta", "b": "t at most", "c": "AIL"}
    for key in PANELS:
        found = {(p.series, p.x): p.y for p in points if p.panel == PANELS[key] and p.y is not None}
        at = [x for name, x in found if name == BUREL and any((label, x) in found for label in RIVALS)]
        better = [found[BUREL, x] <= min(found.get((label, x), np.inf) for label in RIVALS) for x in at]
        said = "; ".join(f"{x:g}: {' '.join(_shown(found.get((s, x))) for s in (BUREL, *RIVALS))}" for x in at)
        won = ", ".join(f"{x:g}" for x, best in zip(at, better, strict=True) if best) or "none"
        run.claim(
            f"Figure 4({key})",
            paper=f"at {'the same t' if key != 'c' else 'the same loss'} BUREL has a much smaller beta than SABRE and "
            "tMondrian, everywhere.",
            found=f"BUREL, SABRE, tMondrian by {asked[key]}: {said}. BUREL has the smallest at {won}.",
            same=verdict(better),
            why="A beta of 0 is one group of everybody." if 0 in found.values() else "",
        )


def _shown(beta: float | None) -> str:
    return "-" if beta is None else f"{beta:.2f}"


def _same_t(run: Run) -> list[Point]:
    points = []
    for beta in betas(run):
        own, _ = _entry(run, BUREL, f"beta-likeness:{beta}")
        points.append(Point(BUREL, beta, own.beta, PANELS["a"]))
        for label in (*RIVALS, *run.pick((), ("SABRE (ours)", "tMondrian (ours)"))):
            points.append(Point(label, beta, _entry(run, label, _close(own.t))[0].beta, PANELS["a"]))
    return points


def _grid(run: Run) -> dict[str, list[Entry]]:
    given = run.pick((1, 2, 4), (0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8))
    close = run.pick((0.05, 0.1, 0.2), (0.01, *PAPERS_T, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.11, 0.15, 0.2, 0.25))
    found = {label: [_entry(run, label, f"beta-likeness:{beta}") for beta in given] for label in (BUREL, OURS["burel"])}
    return found | {label: [_entry(run, label, _close(t)) for t in close] for label in RIVALS}


def _t_at_most(run: Run, grid: dict[str, list[Entry]]) -> list[Point]:
    def nearest(entries: Sequence[Entry], t: float) -> Entry | None:
        return _largest([each for each in entries if each[0].t <= t + 5e-4], lambda each: each[0].t)

    chosen = run.pick((0.1, 0.2), PAPERS_T)
    found = [(label, t, nearest(entries, t)) for label, entries in grid.items() for t in chosen]
    return [Point(label, t, each[0].beta, PANELS["b"]) for label, t, each in found if each is not None]


def _largest(entries: Sequence[Entry], key: Callable[[Entry], float]) -> Entry | None:
    return max(entries, key=key, default=None)


def _same_loss(run: Run, grid: dict[str, list[Entry]]) -> list[Point]:
    points = []
    for most in run.pick((0.95, 0.99), (0.28, 0.3, 0.35, 0.4, 0.45)):
        own = _largest([each for each in grid[BUREL] if each[1] <= most + 1e-3], lambda each: -each[0].beta)
        if own is None:
            continue
        points.append(Point(BUREL, most, own[0].beta, PANELS["c"]))
        for label in RIVALS:
            near = [each for each in grid[label] if own[1] <= each[1] <= own[1] + 0.1]
            other = _largest(near, lambda each: -each[1])
            if other is not None:
                points.append(Point(label, most, other[0].beta, PANELS["c"]))
        ours = _largest([each for each in grid[OURS["burel"]] if each[1] <= own[1]], lambda each: -each[0].beta)
        if ours is not None:
            points.append(Point(OURS["burel"], most, ours[0].beta, PANELS["c"]))
    return points


# The table of section 7


def section_7(run: Run) -> None:
    rows, found = list[list[object]](), dict[int, Levels]()
    counts = table_of(run.tables, 3, people(run)).counts
    ways = {beta: _ways(counts, BetaLikeness(beta).caps(counts)) for beta in betas(run)}
    for beta in betas(run):
        for label in (BUREL, OURS["burel"]):
            each = levels(released(run.tables, label, 3, people(run), f"beta-likeness:{beta}")[0])
            rows.append([label, beta, each.t, each.average_t, each.l, each.average_l, each.groups])
            if label == BUREL:
                found[beta] = each
    header = ["method", "beta", "t", "average t", "l", "average l", "groups"]
    text = (
        "t by the ordered distance, l is 1 / the largest share of a group; averages are over groups. The paper has "
        "(t, average t, l, average l): "
        + "; ".join(f"beta {beta}: {' '.join(map(str, SECTION_7[beta]))}" for beta in betas(run))
        + "."
    )
    run.numbers("section-7", "Section 7: t and l that beta-likeness brings", header, rows, text=text)
    why = _why(ways)
    _claim(run, "t", {b: (each.t, SECTION_7[b][0]) for b, each in found.items()}, why)
    _claim(run, "average t", {b: (each.average_t, SECTION_7[b][1]) for b, each in found.items()}, why)
    _claim(run, "l", {b: (each.l, SECTION_7[b][2]) for b, each in found.items()}, why)
    _claim(run, "average l", {b: (each.average_l, SECTION_7[b][3]) for b, each in found.items()}, why)


def _claim(run: Run, what: str, pairs: dict[int, tuple[float, float]], why: str) -> None:
    """As printed: to a hundredth for t, within a twentieth for l."""
    near = [abs(ours - paper) <= (0.0101 if "t" in what else 0.05 * paper) for ours, paper in pairs.values()]
    same = verdict(near)
    printed = ", ".join(f"{paper:g}" for _, paper in pairs.values())
    run.claim(
        f"Section 7, {what}",
        paper=f"{what} of BUREL for beta {', '.join(map(str, pairs))}: {printed}.",
        found=", ".join(f"{ours:.3f}" if "t" in what else f"{ours:.1f}" for ours, _ in pairs.values()) + ".",
        same=same,
        why="" if same == "same" else why,
    )


def _ways(counts: Ints, limits: Limits) -> tuple[int, int]:
    """How many groups come of the fewest buckets, filled from the rarest value on and from the most frequent."""
    left = dp_partition(counts, limits, strict=True)
    right = _from_the_right(counts, limits, np.concatenate(left))
    return len(bi_split(left, counts, limits)), len(bi_split(right, counts, limits))


def _from_the_right(counts: Ints, limits: Limits, order: Ints) -> list[Ints]:
    """As few buckets, the last one as long as it may be, then the one before it."""
    buckets, n = list[list[int]](), int(counts.sum())
    for value in order[::-1].tolist():
        joined = [value, *buckets[-1]] if buckets else []
        if joined and int(counts[joined].sum()) < limits.ceiling[value] * n:
            buckets[-1] = joined
        else:
            buckets.append([value])
    return [np.array(bucket) for bucket in buckets[::-1]]


def _why(ways: dict[int, tuple[int, int]]) -> str:
    alike = [str(beta) for beta, (left, right) in ways.items() if left == right]
    others = [f"{left:,} or {right:,} at beta = {beta}" for beta, (left, right) in ways.items() if left != right]
    if not others:
        return ""
    one = f"At beta = {' and '.join(alike)} there is one way to make the fewest buckets. " if alike else ""
    return (
        f"{one}Elsewhere there are several, and the number of groups depends on the one that is taken: "
        f"{', '.join(others)}, filled from the rarest value on, as written, or from the most frequent. Which one the "
        "paper's program takes is not known."
    )
