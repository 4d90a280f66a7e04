"""Figures 14 and 15 of paper 004: loss and time for l-diversity, occupation sensitive."""

from __future__ import annotations

from oneoff.models import LDiversity
from oneoff.reproduce.harness import Run
from oneoff.reproduce.ring.series import DIVERSITY, Curves, domains_of, made, verdict
from oneoff.reproduce.tables import resampled
from oneoff.table import Table

__all__ = ["figure_14", "figure_15"]

_HOW = (
    "The captions of Figures 14 and 15 are exchanged in the paper; the text has it as here. Anatomy's buckets are "
    "shown as groups, mean of three draws; one draw of the others. Seconds are of the method alone."
)


def figure_14(run: Run) -> None:
    """Over the number of quasi-identifiers, l = 5."""
    curves, l = Curves(), run.pick(3, 5)  # noqa: E741
    for d in run.pick((2, 3, 5), (2, 3, 4, 5, 6, 7)):
        _measure(run, curves, d, run.tables.census_occ(run.pick(800, None), quasi=d), l)
    _draw(run, "figure-14", "quasi-identifiers", curves, f"CENSUS, 100,000 people, l = {l}")
    size = curves.at("NH", 2, "people_in_part")
    run.claim(
        "Section 7.4",
        paper="NH has large parts, 11.2 people on average at l = 5 and two quasi-identifiers.",
        found=f"{size:.1f} people at l = {l} and two quasi-identifiers.",
        same=verdict(11.2 / 1.5 < size < 11.2 * 1.5),
        why="Within a factor of one and a half. All parts that hold a value twice are divided here.",
    )


def figure_15(run: Run) -> None:
    """Over l, three quasi-identifiers."""
    curves = Curves()
    table = run.tables.census_occ(run.pick(800, None), quasi=3)
    for l in run.pick((2, 3, 4), (2, 3, 4, 5, 6, 7, 8, 9)):  # noqa: E741
        _measure(run, curves, l, table, l)
    _draw(run, "figure-15", "l", curves, "CENSUS, 100,000 people, d = 3")


def _measure(run: Run, curves: Curves, x: float, table: Table, l: int) -> None:  # noqa: E741
    run.say(f"{x:g}")
    domains, small = domains_of(table), resampled(table, min(table.rows, 400), 0)
    for way in DIVERSITY:
        made(way, small, LDiversity(2), {}, run.seed)  # compiled and warm
        for draw in range(3 if "AT" in way.curves else 1):
            curves.add(x, made(way, table, LDiversity(l), domains, run.seed + draw))


def _draw(run: Run, name: str, x: str, curves: Curves, title: str) -> None:
    figure = name.replace("figure-", "Figure ")
    y = "GCP (sets, nominal domains)"
    run.lines(f"{name}a", f"{figure}(a): loss on {title}", curves.points("gcp"), x=x, y=y, log_y=True, text=_HOW)
    times = curves.points("seconds")
    run.lines(f"{name}b", f"{figure}(b): time on {title}", times, x=x, y="CPU seconds", log_y=True)
    nh, hs, at = (curves.of(each) for each in ("NH", "HS", "AT"))
    over_hs, over_at = ([a / b for a, b in zip(other, nh, strict=True)] for other in (hs, at))
    run.claim(
        f"{figure}(a)",
        paper="NH loses less than HS and AT by a large factor.",
        found=f"HS loses {min(over_hs):.1f} to {max(over_hs):.1f} times what NH does, AT {min(over_at):.1f} to "
        f"{max(over_at):.1f} times.",
        same=verdict(min(over_hs) > 1.5, min(over_at) > 1.5),
        why="Large: one and a half or more everywhere.",
    )
    apart = [a / b for a, b in zip(at, hs, strict=True)]
    run.claim(
        f"{figure}(a)",
        paper="HS is about as bad as AT, because its groups do not follow the quasi-identifiers.",
        found=f"AT loses {min(apart):.1f} to {max(apart):.1f} times what HS does.",
        same=verdict(min(apart) > 0.5, max(apart) < 2),
        why="About: within a factor of two everywhere.",
    )
    fastest = [min(curves.of(each, "seconds")) for each in ("AT", "NH", "HS")]
    total = {each: sum(curves.of(each, "seconds")) for each in ("AT", "NH", "HS")}
    run.claim(
        f"{figure}(b)",
        paper="All are efficient, and AT is the fastest everywhere.",
        found=f"All places together: AT {total['AT']:.2f} s, HS {total['HS']:.2f} s, NH {total['NH']:.2f} s; at best "
        f"{fastest[0]:.3f}, {fastest[2]:.3f} and {fastest[1]:.3f} s.",
        same=verdict(
            all(a <= b for a, b in zip(curves.of("AT", "seconds"), curves.of("HS", "seconds"), strict=True)),
            all(a <= b for a, b in zip(curves.of("AT", "seconds"), curves.of("NH", "seconds"), strict=True)),
        ),
    )
