"""Figures 5 to 7: what BUREL loses and how long it takes, beside Mondrian made to keep beta-likeness."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import oneoff
from oneoff.reproduce.beta_likeness.releases import (
    BUREL,
    COMPETITORS,
    OURS,
    ail,
    betas,
    people,
    released,
    verdict,
)
from oneoff.reproduce.harness import Point, Run

__all__ = ["figure_5", "figure_6", "figure_7", "others"]

LABELS = (BUREL, *COMPETITORS, *OURS.values())
LOSS, TIME = "(a) AIL", "(b) CPU seconds"
Case = tuple[float, int, int, str]  # x, quasi-identifiers, people, promise
Taken = dict[tuple[str, float], float]


def _measured(run: Run, name: str, title: str, x: str, cases: Sequence[Case], text: str) -> tuple[Taken, Taken]:
    """AIL and CPU seconds by method and x; every release is checked."""
    points = list[Point]()
    for at, quasi, rows, promise in cases:
        for label in LABELS:
            release, seconds = released(run.tables, label, quasi, rows, promise)
            assert oneoff.audit(release).holds
            points.append(Point(label, at, ail(run.tables, label, quasi, rows, promise), LOSS))
            points.append(Point(label, at, seconds, TIME))
            run.say(f"{name}, {x} {at}: {label} {points[-2].y:.4f}, {seconds:.1f} s")
    boxes = "LMondrian and DMondrian cut at the median as the paper's do; ours tries every cut and takes the best."
    run.lines(name, title, sorted(points, key=lambda p: p.panel), x=x, y="", text=f"{text} {boxes}")
    lost, took = ({(p.series, p.x): p.y or 0.0 for p in points if p.panel == panel} for panel in (LOSS, TIME))
    return lost, took


def _line(values: Taken, label: str) -> list[float]:
    return [y for (series, _), y in values.items() if series == label]


def _least(values: Taken) -> list[bool]:
    """Is BUREL's the least, at each x?"""
    others = [_line(values, label) for label in COMPETITORS]
    return [own <= min(other) for own, *other in zip(_line(values, BUREL), *others, strict=True)]


def _said(values: Taken, digits: int = 3) -> str:
    return "; ".join(
        f"{label} {' '.join(f'{y:.{digits}f}' for y in _line(values, label))}" for label in (BUREL, *COMPETITORS)
    )


def _where(values: Taken) -> str:
    at = [x for series, x in values if series == BUREL]
    won = [f"{x:g}" for x, best in zip(at, _least(values), strict=True) if best]
    return ", ".join(won) or "none"


def figure_5(run: Run) -> None:
    cases: list[Case] = [(beta, 3, people(run), f"beta-likeness:{beta}") for beta in betas(run)]
    lost, took = _measured(
        run, "figure-5", "Loss and time by beta", "beta", cases, "Three quasi-identifiers: age, gender, education."
    )
    own = _line(lost, BUREL)
    falls = all(a >= b for a, b in pairwise(own))
    run.claim(
        "Figure 5(a)",
        paper="BUREL loses about half of what LMondrian and DMondrian do, at every beta; loss falls as beta rises.",
        found=f"{_said(lost)}. BUREL loses least at beta = {_where(lost)}; its loss "
        f"{'falls' if falls else 'does not fall steadily'}. Ours: "
        f"{' '.join(f'{y:.3f}' for y in _line(lost, OURS['burel']))}.",
        same=verdict([*_least(lost), falls]) if any(_least(lost)) else "not the same",
        why="" if all(_least(lost)) else "The fewest buckets leave hardly any room to divide groups as beta grows.",
    )
    run.claim(
        "Figure 5(b)",
        paper="BUREL takes about half the time of LMondrian and DMondrian.",
        found=f"{_said(took, 2)} CPU seconds; BUREL is fastest at beta = {_where(took)}.",
        same=verdict(_least(took)),
    )


def figure_6(run: Run) -> None:
    cases: list[Case] = [(q, q, people(run), "beta-likeness:4") for q in run.pick((2, 4), (1, 2, 3, 4, 5))]
    text = "beta = 4; age, gender, education, marital, workclass, in this order."
    lost, took = _measured(run, "figure-6", "Loss and time by quasi-identifiers", "quasi-identifiers", cases, text)
    rises = [line[0] < line[-1] for line in (_line(lost, label) for label in (BUREL, *COMPETITORS))]
    run.claim(
        "Figure 6(a)",
        paper="loss rises with the number of quasi-identifiers, and BUREL's is the lowest.",
        found=f"{_said(lost)}: it {'rises' if all(rises) else 'does not rise everywhere'}; BUREL's is the lowest at "
        f"{_where(lost)}.",
        same=verdict([all(rises), all(_least(lost))]),
        why="" if all(_least(lost)) else "As in figure 5(a), at beta = 4.",
    )
    run.claim(
        "Figure 6(b)",
        paper="BUREL is the fastest.",
        found=f"{_said(took, 2)} CPU seconds; BUREL is fastest at {_where(took)}.",
        same=verdict(_least(took)),
    )


def figure_7(run: Run) -> None:
    sizes = run.pick((800, 1_500), (100_000, 200_000, 300_000, 400_000, 500_000))
    cases: list[Case] = [(n, 3, n, "beta-likeness:4") for n in sizes]
    text = "beta = 4, three quasi-identifiers; random parts of the table."
    lost, took = _measured(run, "figure-7", "Loss and time by people", "people", cases, text)
    own = _line(lost, BUREL)
    steady = max(own) < 1.5 * min(own)
    grows = [line[0] < line[-1] for line in (_line(took, label) for label in (BUREL, *COMPETITORS))]
    run.claim(
        "Figure 7(a)",
        paper="the number of people has no clear effect on loss, and BUREL's is the lowest.",
        found=f"{_said(lost)}: BUREL's changes by a factor of {max(own) / min(own):.2f} and is the lowest at "
        f"{_where(lost)}.",
        same=verdict([steady, all(_least(lost))]),
        why="" if all(_least(lost)) else "As in figure 5(a), at beta = 4.",
    )
    run.claim(
        "Figure 7(b)",
        paper="time grows with the number of people, and BUREL is the fastest.",
        found=f"{_said(took, 2)} CPU seconds; BUREL is fastest at {_where(took)}.",
        same=verdict([all(grows), all(_least(took))]),
    )


def others(run: Run) -> None:
    """What it costs to stand against an insider, and what is saved where nobody is to be stood against."""
    labels = (*OURS.values(), *run.pick((), ("transversal", "packing")))
    points = [
        Point(label, beta, ail(run.tables, label, 3, people(run), f"beta-likeness:{beta}"))
        for label in labels
        for beta in betas(run)
    ]
    text = "The methods of figure 5 that are ours, transversal (against an insider) and packing (against nobody)."
    run.lines("others", "AIL of our methods (not in the paper)", points, x="beta", y="AIL", log_y=True, text=text)
