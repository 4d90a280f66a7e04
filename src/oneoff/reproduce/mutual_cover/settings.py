"""The tables, promises and ways of the experiments with mutual cover, and what is made of them, once each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import oneoff
from oneoff.audit.recognition import Recognition, recognition
from oneoff.errors import UnreachableGuarantee
from oneoff.mechanisms.masking import mutual_cover
from oneoff.models import Model, parse
from oneoff.models.adversary import Adversary
from oneoff.plans import Cover
from oneoff.releases import Masked, Published, mask
from oneoff.reproduce.harness import Run
from oneoff.reproduce.tables import Tables
from oneoff.table import Table
from oneoff.utility import AggregateErrors, Aggregates, aggregate_errors, masking, random_aggregates

__all__ = [
    "ALGORITHM_3", "JOINT", "MEDIAN", "OURS", "PAPER", "People", "Setting", "answered", "answered_by",
    "compared", "deltas", "diversities", "draws", "everybody", "looked_up", "looked_up_in", "lost", "plan", "reachable",
]  # fmt: skip

PAPER = "as the paper: medians, Algorithm 3"
ALGORITHM_3 = "Algorithm 3, cuts by loss"
OURS = "without Algorithm 3, cuts by loss"
MEDIAN = "without Algorithm 3, medians"
JOINT = "joint"
OPTIONS: dict[str, dict[str, Any]] = {
    PAPER: {"randomize_unchanged": True, "cuts": "median"},
    ALGORITHM_3: {"randomize_unchanged": True},
    MEDIAN: {"cuts": "median"},
    OURS: {},
    JOINT: {"joint": True},
}


class Source(NamedTuple):
    """Where a table comes from; `above` keeps people whose sensitive number is above it."""

    file: str
    quasi: tuple[str, ...]
    numeric: tuple[str, ...]
    sensitive: str
    above: int | None = None


SOURCES = {
    "ADULT": Source(
        "adult",
        ("sex", "age", "relationship", "marital-status", "race", "education", "hours-per-week"),
        ("age", "hours-per-week"),
        "fnlwgt",
    ),
    "KDD": Source(
        "kdd_census_income_test",
        (
            "sex", "age", "detailed household summary in household", "marital stat", "race", "education",
            "weeks worked in year",
        ),
        ("age", "weeks worked in year"),
        "wage per hour",
        above=0,
    ),
    "ATUS": Source(
        "atus_respondents",
        ("sex", "age", "edu", "race", "marital", "hh_size", "work_hrs_week"),
        ("age", "hh_size", "work_hrs_week"),
        "weekly_earn",
    ),
}  # fmt: skip
GENERATED = ("gender", "age", "marital", "race", "education", "workclass")
ROWS = 40_152  # people of the paper


class People(NamedTuple):
    """A table by its name, with at most so many people."""

    tables: Tables
    name: str
    rows: int

    @property
    def table(self) -> Table:
        return _table(self)


@cache
def _table(people: People) -> Table:
    """Complete rows, so many of them drawn by chance where there are more."""
    if people.tables.data is None:
        return _generated(people.rows)
    import polars as pl

    source = SOURCES[people.name]
    frame = people.tables.frame(source.file)
    if source.above is not None:
        frame = frame.filter(pl.col(source.sensitive) > source.above)
    frame = frame.select([*source.quasi, source.sensitive]).drop_nulls()
    if frame.height > people.rows:
        frame = frame.sample(people.rows, seed=0)
    return oneoff.read_table(
        frame,
        quasi=source.quasi,
        sensitive=source.sensitive,
        numeric=[*source.numeric, source.sensitive],
        categorical=[quasi for quasi in source.quasi if quasi not in source.numeric],
    )


def _generated(rows: int) -> Table:
    """Generated people, with a salary that grows with age and differs for nearly everybody."""
    import polars as pl

    frame = pl.DataFrame(oneoff.sample(rows, seed=1))
    noise = np.random.default_rng(1).integers(0, 900, rows)
    frame = frame.with_columns(salary=pl.col("age") * 10 + pl.Series(noise)).select([*GENERATED, "salary"])
    categorical = [name for name in GENERATED if name != "age"]
    return oneoff.read_table(
        frame, quasi=GENERATED, sensitive="salary", numeric=["age", "salary"], categorical=categorical
    )


def everybody(run: Run) -> list[People]:
    """The tables of an experiment."""
    names = list(SOURCES) if run.tables.real else ["generated"]
    return [People(run.tables, name, run.pick(400, ROWS)) for name in names]


def deltas(run: Run) -> tuple[Fraction, ...]:
    return tuple(Fraction(1, k) for k in run.pick((5, 10), (5, 6, 7, 8, 10)))


def diversities(run: Run) -> tuple[int, ...]:
    return run.pick((10, 20), (10, 12, 15, 18, 20))


def draws(run: Run) -> int:
    """How often is drawn from the same groups and tables; the paper does it ten times."""
    return run.pick(2, 10)


@dataclass(frozen=True)
class Setting:
    """A promise for people, and how it is kept; diversity is l, or None without a promise about sensitive values."""

    people: People
    delta: Fraction
    diversity: int | None = 10
    way: str = PAPER

    @property
    def table(self) -> Table:
        return self.people.table

    @property
    def model(self) -> Model:
        diverse = "" if self.diversity is None else f"+l-diversity:{self.diversity}"
        return parse(f"delta-probability:{self.delta}{diverse}").bind(self.table.sensitive)

    def draw(self, number: int = 0) -> Masked:
        """Groups and tables stay the same; only what is drawn from them differs."""
        against = Adversary.INSIDER if self.way == JOINT else Adversary.BLACK_BOX
        rng = np.random.default_rng(100 + number)
        return mask(self.table, plan(self), self.model, method="mutual-cover", against=against, rng=rng)

    def draws(self, number: int) -> Iterator[Masked]:
        return (self.draw(each) for each in range(number))


@cache
def plan(setting: Setting) -> Cover:
    rng = np.random.default_rng(1)
    return mutual_cover(setting.table, setting.model, **OPTIONS[setting.way], rng=rng)


@cache
def compared(people: People, method: str, diversity: int, cuts: str = "") -> Published:
    """A release of Mondrian or Anatomy: boxes alone, as papers have them, unless cuts are "tally"."""
    options: dict[str, Any] = {"cuts": cuts, "columns": "box"} if cuts not in ("", "tally") else {}
    return oneoff.anonymize(people.table, f"l-diversity:{diversity}", method=method, seed=1, **options)


def reachable(people: People, wanted: tuple[int, ...]) -> list[int]:
    """The l that the table can keep."""
    return [diversity for diversity in wanted if not _refused(people, diversity)]


@cache
def _refused(people: People, diversity: int) -> bool:
    try:
        compared(people, "mondrian", diversity, "median")
    except UnreachableGuarantee:
        return True
    return False


@cache
def looked_up(setting: Setting, number: int) -> list[Recognition]:
    """What somebody finds who matches, in each of so many draws."""
    return [_recognized(release, setting.table) for release in setting.draws(number)]


@cache
def looked_up_in(people: People, diversity: int, cuts: str) -> Recognition:
    """The same in a release of Mondrian."""
    return _recognized(compared(people, "mondrian", diversity, cuts), people.table)


def _recognized(release: Published, table: Table) -> Recognition:
    return recognition(release, table, rng=np.random.default_rng(0))


@cache
def lost(setting: Setting, number: int) -> list[float]:
    """ILoss per person in each draw."""
    return [float(masking(release, setting.table).iloss or 0) for release in setting.draws(number)]


@cache
def _queries(people: People, number: int) -> Aggregates:
    rng = np.random.default_rng(7)
    return random_aggregates(people.table, number, attributes=4, rng=rng)


@cache
def answered(setting: Setting, number: int, queries: int) -> list[AggregateErrors]:
    asked = _queries(setting.people, queries)
    return [aggregate_errors(release, setting.table, asked) for release in setting.draws(number)]


@cache
def answered_by(people: People, method: str, diversity: int, cuts: str, queries: int) -> AggregateErrors:
    return aggregate_errors(compared(people, method, diversity, cuts), people.table, _queries(people, queries))
