"""What an attack on a release found out, and what an attacker knows before it.

An attacker knows everybody's quasi-identifiers, everybody's group, the sensitive values of each group (but not whose
they are), the promise, and how groups are made. An attack makes guesses from that alone; whether they are right is
looked up afterwards.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.models import Counts, Model, Prior
from oneoff.plans import Partition
from oneoff.releases import Generalized
from oneoff.table import Table
from oneoff.table.arrays import Codes, Floats, Ints
from oneoff.table.classes import look_alikes
from oneoff.table.space import space_of

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["Attack", "AttackerView", "Made", "attacker_view"]

_SINGLE = {"groups": "group", "people": "person", "rows": "row"}


@dataclass(frozen=True)
class Attack:
    """How often the guesses of an attack are right, beside what the promise allows.

    claim     the guess in words, as the subject of a sentence
    tried     groups or people looked at, rows where people have several; `subject` says which
    guesses   those about which a guess was made
    hits      right guesses; a guess between equals counts with the probability that it is right, maybe a fraction
    allowed   the ceiling on belief in the guessed value, on average over the guesses
    expected  the share of the guessed value in its group, on average: how often guesses are right by counts alone
    """

    name: str
    claim: str
    subject: str
    tried: int
    guesses: int
    hits: float
    allowed: float
    expected: float

    @property
    def hit_rate(self) -> float:
        return self.hits / self.guesses if self.guesses else 0.0

    @property
    def ratio(self) -> float:
        """How many times as often as allowed the guesses are right; at most 1 keeps the promise."""
        return self.hit_rate / self.allowed if self.guesses else 0.0

    @property
    def error(self) -> float:
        """A rough standard error of the hit rate: as if guesses were independent, never zero."""
        share = (self.hits + 1) / (self.guesses + 2)
        return math.sqrt(share * (1 - share) / (self.guesses + 2))

    @property
    def exceeds(self) -> bool:
        """More right guesses than the promise allows, by more than chance explains: five or more, and beyond three
        standard errors of guesses that are right exactly as often as allowed."""
        if self.hits < 5:
            return False
        deviation = math.sqrt(self.allowed * (1 - self.allowed) / self.guesses)
        return self.hit_rate - self.allowed > 3 * deviation

    def sentence(self) -> str:
        if not self.guesses:
            return f"{self.claim} gives no guess worth making ({_number(self.tried, self.subject)} looked at)."
        preposition = "in" if self.subject == "groups" else "for"
        made = f"{preposition} {_percent(self.hit_rate)} of {_number(self.guesses, self.subject)}"
        if self.guesses < self.tried:
            made += f" (of {self.tried:,} looked at)"
        return f"{self.claim} is right {made}; the promise allows {_percent(self.allowed)}: {self._comparison()}."

    def _comparison(self) -> str:
        if self.ratio <= 1:
            return "no more than that"
        if self.hits < 5:
            return "too few right guesses to tell more from chance"
        times = f"{self.ratio:.1f} times as much" if self.ratio >= 1.05 else "hardly more"
        return times if self.exceeds else f"{times}, which may be chance"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON with stable keys."""
        rates = {"hit_rate": self.hit_rate, "ratio": self.ratio, "error": self.error, "exceeds": self.exceeds}
        return asdict(self) | rates | {"sentence": self.sentence()}


@dataclass(frozen=True, eq=False)
class Made:
    """The guesses of an attack, one by one.

    row, value   about whom, and what; of members equally far the first stands for all
    right        1 or 0, or the probability with which a guess between equals is right
    belief       how sure the attacker is
    ceiling, share   of the value: what the promise allows, and how common it is in the group
    tried        groups or people looked at
    """

    row: Ints
    value: Ints
    right: Floats
    belief: Floats
    ceiling: Floats
    share: Floats
    tried: int

    def attack(self, name: str, claim: str, subject: str) -> Attack:
        """All of them together."""
        some = len(self.row) > 0
        return Attack(
            name=name,
            claim=claim,
            subject=subject,
            tried=self.tried,
            guesses=len(self.row),
            hits=float(self.right.sum()),
            allowed=float(self.ceiling.mean()) if some else 1.0,
            expected=float(self.share.mean()) if some else 0.0,
        )


def _number(count: int, subject: str) -> str:
    return f"{count:,} {subject}" if count != 1 else f"1 {_SINGLE[subject]}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


@dataclass(frozen=True, eq=False)
class AttackerView:
    """What an attacker sees, as arrays.

    group[i]     the group of person i; start, rows: the people of each group, one group after the other
    counts       the values each group holds; prior, ceiling, limits: of each value
    answer[i]    the value of person i, which no attack may look at before its guesses are made
    """

    codes: Codes
    space: Space
    group: Ints
    start: Ints
    rows: Ints
    counts: Counts
    prior: Ints
    ceiling: Floats
    limits: Ints
    answer: Codes

    def share(self, group: Ints, value: Ints) -> Floats:
        """The share of a value in a group that holds it."""
        width = len(self.prior)
        entry = np.searchsorted(self.counts.owner * width + self.counts.value, group * width + value)
        shares: Floats = self.counts.count[entry] / self.counts.size[group]
        return shares


def attacker_view(release: Generalized, table: Table, model: Model) -> AttackerView | None:
    """What the attacker sees, or None where there is nothing to attack: no groups, or a promise without ceilings."""
    limits = None if release.sensitive is None else model.caps(release.counts)
    if release.group is None or release.links is None or limits is None:
        return None
    answer = release.values[release.links]
    group = look_alikes([release.group])[release.links]
    start, rows = Partition(group.astype(np.int32)).members
    counts = Counts.of_groups(group, answer)
    return AttackerView(
        codes=table.codes,
        space=space_of(table, _numeric_as(release)),
        group=group,
        start=start,
        rows=rows,
        counts=counts,
        prior=release.counts,
        ceiling=np.clip([float(ceiling) for ceiling in limits.ceiling], 1e-12, 1.0),
        limits=model.rule(Prior(tuple(release.counts.tolist())), counts.largest).limits,
        answer=answer,
    )


def _numeric_as(release: Generalized) -> str:
    """Whether numbers are published as sets: what the release shows decides how loss is counted."""
    ways = {cells.shown_as for attribute, cells in release.shown if attribute.has_order}
    return "set" if "set" in ways else "range"
