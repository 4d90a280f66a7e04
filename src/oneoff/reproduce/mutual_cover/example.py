"""Figures 1 and 2: ten people, their groups, and the random output table of all of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

import oneoff
from oneoff.mechanisms.masking.output_tables import random_output_tables
from oneoff.mechanisms.masking.shapes import ColumnLimits
from oneoff.plans.cover import TOTAL
from oneoff.reproduce.harness import Run
from oneoff.table import Table
from oneoff.table.arrays import Codes, Floats
from oneoff.table.distance import Metric

__all__ = ["figure_1", "figure_2"]

NAMES = ("Daphne", "Helen", "Dean", "Rachel", "Neil", "Dave", "Ella", "Bill", "Tina", "Louis")
AGES = (28, 29, 29, 32, 33, 35, 39, 39, 40, 41)
DISEASES = (
    "Flu", "Hepatitis", "Bronchitis", "Gastritis", "Pneumonia", "Pneumonia", "Gastritis", "Cancer", "Flu", "Bronchitis",
)  # fmt: skip
TWO_ANONYMOUS = (0, 0, 1, 1, 2, 2, 3, 3, 4, 4)  # Figure 1(b)
LEAST = {"1/2": 5.0, "2/5": 5.8, "1/3": 19 / 3, "1/4": 12.5, "1/5": 15.0, "1/10": 43.0}  # by another solver
PRINTED = {"Daphne": 0.358924, "Helen": 0.679462, "Dean": 0.679462}  # Figure 2: with which probability they show 29


def _people() -> Table:
    import polars as pl

    frame = pl.DataFrame({"age": AGES, "disease": DISEASES})
    return oneoff.read_table(frame, quasi=["age"], sensitive="disease", numeric=["age"])


def figure_1(run: Run) -> None:
    table = _people()
    release = oneoff.anonymize(table, "l-diversity:5", method="mondrian", cuts="median", seed=1)
    rows = sorted(release.to_polars().select(["age_min", "age_max"]).unique().rows())
    alike = _alike(table)
    level = float(oneoff.audit(release, table).levels["l-diversity"])
    run.numbers("figure-1", "Figure 1: groups of ten people", ["ages", "people"], [
        [f"{low} to {high}", sum(low <= age <= high for age in AGES)] for low, high in rows
    ], text="5-diversity by cuts at medians (Algorithm 2), from the ten people of the paper.")  # fmt: skip
    run.claim(
        "Figure 1(b)",
        paper="2-anonymous groups can give a disease away: in the third both people have pneumonia.",
        found=f"in {alike} of the 5 printed groups all people have the same disease.",
        same="same" if alike == 1 else "not the same",
    )
    run.claim(
        "Figure 1(c)",
        paper="two 5-diverse groups, of the ages 28 to 33 and 35 to 41.",
        found=f"{' and '.join(f'{low} to {high}' for low, high in rows)}, and l is {level:g} in both.",
        same="same" if rows == [(28, 33), (35, 41)] and level == 5 else "not the same",
    )


def _alike(table: Table) -> int:
    """The printed 2-anonymous groups in which all people have the same disease."""
    groups = np.array(TWO_ANONYMOUS)
    return sum(len(set(table.values[groups == g].tolist())) == 1 for g in range(5))


def _table_of(delta: Fraction) -> tuple[Floats, float, float]:
    """The random output table of the ten people: probabilities, cost, and the likeliest origin of a value."""
    values, code = np.unique(np.array(AGES), return_inverse=True)
    metric = Metric(values.astype(np.float64), np.zeros((0, 0), dtype=np.int64))
    group: Codes = np.zeros(len(AGES), dtype=np.int32)
    made, solved = random_output_tables(code.astype(np.int32), group, group, metric, ColumnLimits(delta))
    columns = made.columns(group)
    probability = np.zeros((len(AGES), len(values)))
    for i, row in enumerate(made.row.tolist()):
        entries = slice(int(made.start[row]), int(made.start[row + 1]))
        probability[i, made.code[entries]] = made.weight[entries] / TOTAL
    return probability, solved.cost, float((columns.likeliest / columns.everybody).max())


def figure_2(run: Run) -> None:
    half, cost, worst = _table_of(Fraction(1, 2))
    ages = sorted(set(AGES))
    cells = [
        (f"{name} ({age})", str(shown), float(half[i, j]))
        for i, (name, age) in enumerate(zip(NAMES, AGES, strict=True))
        for j, shown in enumerate(ages)
    ]
    text = (
        "Ten people in one group. Only ages that occur are needed as columns. There are many tables with the least "
        "cost; this one is the mean of four of them."
    )
    run.heat("figure-2", "Figure 2: a random output table, delta = 1/2", cells, x="age shown", y="person", text=text)
    lines = [(delta, least, *_table_of(Fraction(delta))[1:], float(Fraction(delta))) for delta, least in LEAST.items()]
    header = ["delta", "least cost known", "cost here", "likeliest origin of a value", "allowed"]
    run.numbers("figure-2-costs", "Least costs for other delta", header, lines)
    run.claim(
        "Figure 2",
        paper="a table for delta = 1/2 whose probabilities times years moved add up to 5.000001.",
        found=f"{cost:.6f}, and no age is one person's with more than {worst:.6f}.",
        same="same" if abs(cost - 5) < 1e-4 and worst <= 0.5 else "not the same",
        why="" if abs(cost - 5) < 1e-4 else "Another cost.",
    )
    _example_1(run, half[:, ages.index(29)])


def _example_1(run: Run, shows: Floats) -> None:
    printed = _recognised(list(PRINTED.values()), 2)
    others = [float(p) for i, p in enumerate(shows) if p > 0 and i != NAMES.index("Dean")]
    ours = _recognised([*others, float(shows[NAMES.index("Dean")])], len(others))
    run.claim(
        "Example 1",
        paper="Dean is recognised by his age with .381, from the table of Figure 2.",
        found=f"{printed:.4f} from the printed table, {ours:.4f} from ours.",
        same="same" if abs(printed - 0.381) < 0.001 else "not the same",
        why="The paper adds up three rounded numbers." if round(printed, 3) != 0.381 else "",
    )


def _recognised(shows: list[float], who: int) -> float:
    """The chance to pick somebody by their value when these people show it with these probabilities: all of those who
    do are equally likely to be picked."""
    found = 0.0
    for drawn in product((False, True), repeat=len(shows)):
        if drawn[who]:
            found += prod(p if shown else 1 - p for p, shown in zip(shows, drawn, strict=True)) / sum(drawn)
    return found
