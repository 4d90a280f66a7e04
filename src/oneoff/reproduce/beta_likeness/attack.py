"""Section 7: how often naive Bayes (equations 15 to 17) names the value of people in releases of BUREL."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import oneoff
from oneoff.releases import Published
from oneoff.reproduce.beta_likeness.releases import BUREL, OURS, betas, people, table_of, verdict
from oneoff.reproduce.harness import Point, Run
from oneoff.table import Table

__all__ = ["naive_bayes"]

VARIANTS = {BUREL: "paper", OURS["burel"]: "best"}
EVERYTHING, COMMONEST = "the table itself", "most frequent value"


class Rates(NamedTuple):
    """In percent: people whose value is named, and people of whom the most frequent one is named."""

    right: float
    commonest: float


def _rates(run: Run, release: Any, table: Table, seed: int) -> Rates:
    """Of many people the attack tries a sample, another one for each seed."""
    (found,) = oneoff.attack(release, table, "bayes", laplace=False, most=run.pick(1_500, 40_000), seed=seed)
    named = 100 * float(np.mean(found.inside.guess == table.counts.argmax()))
    return Rates(100 * found.rate.share, named)


def _release(table: Table, beta: int, variant: str, seed: int) -> Published:
    return oneoff.anonymize(table, f"beta-likeness:{beta}", method="burel", variant=variant, seed=seed)


def naive_bayes(run: Run) -> None:
    table, draws = table_of(run.tables, 3, people(run)), run.pick(1, 2)
    points, named = list[Point](), dict[tuple[str, int], float]()
    least = 100 * float(table.counts.max()) / table.rows
    for label, variant in VARIANTS.items():
        for beta in betas(run):
            found = [_rates(run, _release(table, beta, variant, s), table, s) for s in range(draws)]
            points.append(Point.of(label, beta, [each.right for each in found]))
            named[label, beta] = float(np.mean([each.commonest for each in found]))
            run.say(f"naive Bayes, {label}, beta {beta}: {points[-1].y:.2f} %")
    plain = run.tables.data / "census_sal500k.parquet" if run.tables.data is not None else None
    if plain is not None:
        whole = _rates(run, plain, table, 0).right
        points += [Point(EVERYTHING, beta, whole) for beta in betas(run)]
    points += [Point(COMMONEST, beta, least) for beta in betas(run)]
    text = f"Classic naive Bayes, the mean of {draws} draws of each release; of each a sample of people is tried."
    y = "right about so many percent"
    run.lines("naive-bayes", "Section 7: naive Bayes", points, x="beta", y=y, text=text)
    rates = {label: [p.y or 0.0 for p in points if p.series == label] for label in (*VARIANTS, EVERYTHING)}
    ours = f"{min(rates[OURS['burel']]):.2f} to {max(rates[OURS['burel']]):.2f} % with ours"
    table_rate = f", {rates[EVERYTHING][0]:.2f} % from the table itself" if rates[EVERYTHING] else ""
    run.claim(
        "Section 7, naive Bayes",
        paper="the rate stays remarkably close to the share of the most frequent value.",
        found=f"{', '.join(f'{rate:.2f}' for rate in rates[BUREL])} % with BUREL where {least:.2f} % have the most "
        f"frequent value; {ours}{table_rate}.",
        same=verdict(rate <= least + 1 for rate in rates[BUREL]),
        why="Close is taken to be within a point.",
    )
    mostly = [named[BUREL, beta] > 50 for beta in betas(run)]
    run.claim(
        "Section 7, naive Bayes, value named",
        paper="most of the time the most frequent value is named.",
        found=f"of {', '.join(f'{named[BUREL, beta]:.0f}' for beta in betas(run))} % of the people with BUREL.",
        same=verdict(mostly),
        why="" if all(mostly) else "Other guesses are hardly better than that one, so the rate does not show it.",
    )
