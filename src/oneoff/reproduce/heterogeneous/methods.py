"""The methods and tables of the curves of paper 000.

HG, SG and GR are heterogeneous with the paper's three matchers and its own randomization, NH is ring as its paper has
it, BUREL as published; what is called ours stands beside them. Beta-likeness is Definition 4 of the paper, which is
basic-beta-likeness here and gives PrivBayes its epsilon = ln(1 + beta).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import oneoff
from oneoff.errors import UnreachableGuarantee
from oneoff.releases import Published
from oneoff.reproduce.harness import Point, Run, timed
from oneoff.table import Attribute, Table

__all__ = [
    "BUREL", "HETEROGENEOUS", "METHODS", "NH", "at", "beta", "curve", "data_sets", "diversity", "losses", "redrawn",
    "released", "warm",
]  # fmt: skip

NH, BUREL = "NH", "BUREL (paper)"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "HG": ("heterogeneous", {"matcher": "hungarian"}),
    "SG": ("heterogeneous", {"matcher": "sort-greedy"}),
    "GR": ("heterogeneous", {"matcher": "greedy"}),
    "HG threshold": ("heterogeneous", {"matcher": "hungarian", "threshold": True}),
    "HG in parts": ("heterogeneous", {"matcher": "hungarian", "partition": 1_000}),
    "SG in parts": ("heterogeneous", {"matcher": "sort-greedy", "partition": 1_000}),
    "GR in parts": ("heterogeneous", {"matcher": "greedy", "partition": 1_000}),
    NH: ("ring", {"partition": "lexicographic", "swaps": 0}),
    BUREL: ("burel", {"variant": "paper"}),
    "PrivBayes": ("privbayes", {}),
    "burel (ours)": ("burel", {}),
    "permute (ours)": ("heterogeneous", {"randomize": "permute"}),
    "transversal (ours)": ("transversal", {}),
    "tallies (ours)": ("tallies", {}),
}
HETEROGENEOUS = ("HG", "SG", "GR")
_VALUES = 50  # of the sensitive column that is redrawn
_NOMINAL = {"age": 79, "gender": 2, "education": 17, "marital": 6, "race": 9, "workclass": 10, "country": 83}


def diversity(l: float) -> str:  # noqa: E741 - the paper's name
    return f"l-diversity:{l:g}"


def beta(given: float) -> str:
    return f"basic-beta-likeness:{given:g}"


def released(table: Table, promise: str, series: str, seed: int, **more: Any) -> Published | None:
    """None where the table cannot keep the promise, or a random part of it cannot."""
    method, options = METHODS[series]
    try:
        return oneoff.anonymize(table, promise, method=method, seed=seed, **options, **more)
    except UnreachableGuarantee:
        return None


def data_sets(run: Run, rows: int, quasi: int = 7) -> dict[str, Table]:
    """CENSUS, and its quasi-identifiers with values drawn evenly or by Zipf's law."""
    census = run.tables.census_occ(rows, quasi)
    return {
        "CENSUS": census,
        "Uniform": redrawn(census, 0.0, run.seed),
        "Zipfian, theta = .5": redrawn(census, 0.5, run.seed),
    }


def redrawn(table: Table, theta: float, seed: int) -> Table:
    """The same people with one of fifty values each, the r-th with a probability proportional to r^-theta."""
    share = np.arange(1, _VALUES + 1) ** -theta
    drawn = np.random.default_rng(seed).choice(_VALUES, table.rows, p=share / share.sum())
    labels, values = np.unique(drawn, return_inverse=True)
    return replace(table, sensitive=Attribute("value", "categorical", labels), values=values.astype(np.int32))


def losses(run: Run, table: Table, promise: str, series: str, x: float, panel: str, **more: Any) -> Point:
    """GCP with ranges of numbers, of the paper's domains where these are its tables; one draw."""
    run.say(f"{series}, {panel}, {promise}, {table.rows:,} people")
    release = released(table, promise, series, run.seed, **more)
    return Point(series, x, None if release is None else gcp(run, release), panel)


def gcp(run: Run, release: Published) -> float:
    domains = {name: size for name, size in _NOMINAL.items() if name in {a.name for a in release.quasi}}
    found = oneoff.utility(release, domains=domains if run.tables.real else None).gcp
    assert found is not None
    return found


def curve(run: Run, table: Table, promise: str, series: str, x: float, **more: Any) -> tuple[float | None, float]:
    """GCP and CPU seconds."""
    run.say(f"{series}, {x:g}, {promise}, {table.rows:,} people")
    release, seconds = timed(lambda: released(table, promise, series, run.seed, **more))
    return None if release is None else gcp(run, release), seconds


def warm(table: Table, promise: str, methods: Iterable[str]) -> None:
    """Let everything be compiled that will be timed."""
    few = table.take(np.arange(min(400, table.rows)))
    for series in methods:
        released(few, promise, series, 1)


def at(points: Sequence[Point], series: str, x: float, panel: str | None = None) -> float:
    """What was measured there; not a number where nothing was."""
    found = [p.y for p in points if p.series == series and p.x == x and panel in (None, p.panel)]
    return float("nan") if not found or found[0] is None else found[0]
