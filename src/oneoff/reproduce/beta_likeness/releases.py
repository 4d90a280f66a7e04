"""What the figures of paper 001 share: CENSUS with salaries, and its releases by the methods of the paper and ours."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import oneoff
from oneoff.models import BasicBetaLikeness, Counts, LDiversity, Prior, TCloseness
from oneoff.releases import Generalized, Published
from oneoff.reproduce.harness import Run, Same, timed
from oneoff.reproduce.tables import Tables, resampled
from oneoff.table import Table

__all__ = [
    "BETAS", "BUREL", "COMPETITORS", "OURS", "Levels", "ail", "betas", "levels", "people", "released", "table_of",
    "verdict",
]  # fmt: skip

BETAS = (1, 2, 3, 4, 5)
BUREL = "BUREL"
COMPETITORS = ("LMondrian", "DMondrian")
OURS = {"burel": "BUREL (ours)", "lmondrian": "LMondrian (ours)"}

_METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    BUREL: ("burel", {"variant": "paper"}),
    "LMondrian": ("lmondrian", {"cuts": "median"}),
    "DMondrian": ("dmondrian", {"cuts": "median"}),
    "tMondrian": ("tmondrian", {"cuts": "median"}),
    "SABRE": ("sabre", {"variant": "paper"}),
    "BUREL (ours)": ("burel", {}),
    "BUREL (ours), tallies": ("burel", {"columns": "tally"}),
    "LMondrian (ours)": ("lmondrian", {}),
    "tMondrian (ours)": ("tmondrian", {}),
    "SABRE (ours)": ("sabre", {}),
    "transversal": ("transversal", {}),
    "packing": ("packing", {}),
}
_WARM = {"beta-likeness": "beta-likeness:3", "t-closeness": "t-closeness:0.3,ordered"}


def people(run: Run) -> int:
    return run.pick(1_500, 500_000)


def betas(run: Run) -> tuple[int, ...]:
    return run.pick((2, 4), BETAS)


@cache
def table_of(tables: Tables, quasi: int, rows: int) -> Table:
    """A random part of CENSUS, or all of it."""
    whole = tables.census_sal(quasi) if tables.real else tables.census_sal(quasi, rows)
    return whole if rows >= whole.rows else resampled(whole, rows)


@lru_cache(maxsize=40)
def released(tables: Tables, label: str, quasi: int, rows: int, guarantee: str) -> tuple[Published, float]:
    """A release and its CPU seconds, compiling left out. Boxes say nothing else, as in the paper, but for tallies."""
    method, options = _METHODS[label]
    _warm(tables, label, guarantee.split(":")[0])
    return timed(lambda: _made(table_of(tables, quasi, rows), guarantee, method, options))


def _made(table: Table, guarantee: str, method: str, options: dict[str, Any]) -> Published:
    return oneoff.anonymize(table, guarantee, method=method, seed=1, **({"columns": "box"} | options))


@cache
def _warm(tables: Tables, label: str, promise: str) -> None:
    method, options = _METHODS[label]
    few = 20_000 if tables.real else 1_500  # of fewer real people some value might have nobody
    _made(table_of(tables, 3, few), _WARM[promise], method, options)


def ail(tables: Tables, label: str, quasi: int, rows: int, guarantee: str) -> float:
    found = oneoff.utility(released(tables, label, quasi, rows, guarantee)[0]).ail
    assert found is not None
    return found


class Levels(NamedTuple):
    """What the groups of a release reach: the largest gain of any value, and t and l at worst and on average."""

    beta: float
    t: float
    average_t: float
    l: float  # noqa: E741
    average_l: float
    groups: int


def levels(release: Published) -> Levels:
    """t by the ordered distance; averages over groups, as in the paper."""
    assert isinstance(release, Generalized)
    assert release.group is not None
    counts, prior = Counts.of_groups(release.group, release.values), Prior.of(release.counts)
    closeness = TCloseness(0, "ordered").scores(counts, prior)
    diversity = LDiversity(1).scores(counts, prior)
    return Levels(
        float(BasicBetaLikeness(0).worst_level(counts, prior)),
        float(closeness.max()),
        float(closeness.mean()),
        float(diversity.min()),
        float(diversity.mean()),
        len(counts.size),
    )


def verdict(held: Iterable[bool]) -> Same:
    """All, some or none of what a claim says."""
    found = list(held)
    return "not the same" if not any(found) else "same" if all(found) else "in part"
