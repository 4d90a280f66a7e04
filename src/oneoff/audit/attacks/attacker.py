"""Who attacks, and what she has in front of her.

An attack may look at everything a `Scene` has but the values of the people it guesses about: `table.values` and
`control.values` are the answers, with which guesses are compared once they are made (`finding.compared`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oneoff.audit.attacks.view import View
from oneoff.errors import BadValue
from oneoff.releases import Published
from oneoff.table import Table
from oneoff.table.arrays import Codes, Flags, Ints, offsets

__all__ = ["MOST_PEOPLE", "Attacker", "People", "Scene", "people_of", "some_people"]

MOST_PEOPLE = 10_000  # guessed about, and as many outside
_PART = 50  # people of one group at most: of thousands who look the same, few tell as much as all
_LARGER = 4  # times as many rows are looked at where whole groups must be
_MOST_BELIEFS = 4_000_000  # held in memory: people times values


@dataclass(frozen=True)
class Attacker:
    """What an adversary knows beside the release.

    columns        the quasi-identifiers of everybody that she knows; None: all of them
    knows_links    the share of people whose true record she knows
    knows_values   the share of people whose sensitive value she knows
    knows_method   does she know how the release was made (but not what chance did)?
    knows          of several sensitive columns, those whose value she knows of everybody
    """

    columns: tuple[str, ...] | None = None
    knows_links: float = 0.0
    knows_values: float = 0.0
    knows_method: bool = True
    knows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("knows_links", "knows_values"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                raise BadValue(f"{name} is not a share of people", allowed="0 to below 1", got=str(share))
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "knows", tuple(self.knows))

    def as_dict(self) -> dict[str, Any]:
        columns = None if self.columns is None else list(self.columns)
        return asdict(self) | {"columns": columns, "knows": list(self.knows)}


@dataclass(frozen=True, eq=False)
class People:
    """Some people: codes[i, j] in the columns of the table, values[i] in those of the release; -1 for unknown ones.

    row      their rows in the table they are from
    person   whose each row is, where somebody has several; None where every row is a person
    """

    row: Ints
    codes: Codes
    values: Codes
    person: Ints | None = None

    def take(self, chosen: Ints | Flags) -> People:
        person = None if self.person is None else self.person[chosen]
        return People(self.row[chosen], self.codes[chosen], self.values[chosen], person)


@dataclass(frozen=True, eq=False)
class Scene:
    """A release, the people of its table, others who are not in it, and who attacks.

    table     the people of the release, row by row as its links count them
    control   people who are not in it; None where there are none to compare with
    release   None for a file of another tool
    earlier   another release of the same people, where there is one
    most      how many people are guessed about at most, or rows where people have several
    everybody how many people the release is about, where those of the table are some of them
    options   of single attacks, such as {"model": "trees"}
    """

    view: View
    table: Table
    attacker: Attacker = Attacker()
    control: Table | None = None
    release: Published | None = None
    earlier: Published | None = None
    most: int = MOST_PEOPLE
    seed: int = 0
    everybody: int | None = None
    options: Mapping[str, Any] | None = None

    def option(self, name: str, default: Any) -> Any:
        return (self.options or {}).get(name, default)

    def rng(self) -> np.random.Generator:
        """The same draws on every run: which people are looked at is no secret."""
        return np.random.default_rng(self.seed)

    @property
    def people(self) -> int:
        """How many people the release is about."""
        return self.table.people if self.everybody is None else self.everybody

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The places of the quasi-identifiers she knows."""
        if self.attacker.columns is None:
            return tuple(range(len(self.view.quasi)))
        return tuple(self.table.place(name) for name in self.attacker.columns)

    @property
    def knows_groups(self) -> bool:
        """Who knows all quasi-identifiers of a person finds the person's group."""
        return len(self.columns) == len(self.view.quasi)

    @cached_property
    def inside(self) -> People:
        """Everybody in the release."""
        return people_of(self.table, self.view)

    @cached_property
    def outside(self) -> People | None:
        """Those of the control who are looked at."""
        if self.control is None:
            return None
        others = people_of(self.control, self.view)
        return others.take(some_people(self.control, self._most, self.rng()))

    @property
    def _most(self) -> int:
        return max(1, min(self.most, _MOST_BELIEFS // max(1, self.view.sensitive.size)))

    @cached_property
    def known(self) -> Flags:
        """People of whom she knows the value already: those it was told of, or whose record she knows."""
        told = 1 - (1 - self.attacker.knows_links) * (1 - self.attacker.knows_values)
        drawn = np.random.default_rng([self.seed, 1]).random(self.table.people) < told
        return drawn if self.table.person is None else drawn[self.table.person]

    @cached_property
    def sample(self) -> Ints:
        """Rows that are looked at: whole groups by chance, all of them where they are few; of persons who have several
        rows, all groups in which they are."""
        rows, group = self.table.rows, self.view.group
        if rows <= self._most:
            return np.arange(rows)
        if group is None or not self.knows_groups:
            return some_people(self.table, self._most, self.rng())
        return self._whole_groups(group) if self.table.person is None else self._groups_of_persons(group)

    def _groups_of_persons(self, group: Ints) -> Ints:
        """Whole groups in which those who are guessed about are with all their rows."""
        together = (group >= 0) & np.isin(group, group[self._persons])
        together[self._persons] = True
        return np.flatnonzero(together)

    @cached_property
    def _persons(self) -> Ints:
        """All rows of so many persons that their groups are not too large to look at, even if no two share one."""
        group = self.view.group
        if self.table.rows <= self._most or group is None or not self.knows_groups:
            return self.sample
        size = np.bincount(group + 1)[group + 1]
        return some_people(self.table, max(1, _LARGER * self._most // max(1, round(float(size.mean())))), self.rng())

    def _whole_groups(self, group: Ints) -> Ints:
        """Groups until there are enough people; of one that is large a part by chance, or a few groups would be most of
        the sample. Everybody is as likely as anybody else. They lie evenly among all, as neighbours are often alike."""
        rng, owner = self.rng(), group - int(group.min())
        mixed = rng.permutation(len(owner))
        order = mixed[np.argsort(owner[mixed], kind="stable")]
        size = np.bincount(owner)
        pieces = -(-size // _PART)
        mine = owner[order]
        place = np.arange(len(order)) - offsets(size)[mine]
        part = offsets(pieces)[mine] + place * pieces[mine] // size[mine]
        some = min(int(pieces.sum()), math.ceil(self._most * int(pieces.sum()) / len(order)))
        chosen = ((np.arange(some) + rng.random()) * int(pieces.sum()) / some).astype(np.int64)
        return np.sort(order[np.isin(part, chosen)])

    @cached_property
    def anyone(self) -> Ints:
        """People to guess about by chance, for attacks that need no whole groups."""
        some = some_people(self.table, self._most, self.rng())
        return some[~self.known[some]]

    @cached_property
    def targets(self) -> Ints:
        """Those of the sample whom she has to guess about; of persons those for whose sake it was drawn."""
        return self.sample[self.asked]

    @cached_property
    def asked(self) -> Flags:
        """Which rows of the sample these are."""
        free = ~self.known[self.sample]
        return free if self.table.person is None else free & np.isin(self.sample, self._persons)


def some_people(table: Table, most: int, rng: np.random.Generator) -> Ints:
    """Rows of people drawn by chance, ascending, at most so many; persons with all their rows, and one at least."""
    if table.rows <= most:
        return np.arange(table.rows)
    if table.person is None:
        return np.sort(rng.choice(table.rows, most, replace=False))
    order = rng.permutation(table.people)
    last = np.searchsorted(np.cumsum(np.bincount(table.person)[order]), most, side="right")
    return np.flatnonzero(np.isin(table.person, order[: max(1, int(last))]))


def people_of(table: Table, view: View) -> People:
    """The people of a table in the codes of a view; -1 for what it has never seen."""
    columns = []
    for attribute in view.quasi:
        own, codes = table.column(attribute.name)
        columns.append(own.codes_in(attribute)[codes])
    assert table.sensitive is not None
    values = table.sensitive.codes_in(view.sensitive)[table.values]
    return People(np.arange(table.rows), np.stack(columns, axis=1), values, table.person)
