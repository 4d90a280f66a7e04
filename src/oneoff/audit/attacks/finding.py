"""What an attack found out: how often it is right about people in the release, beside what it knows of others.

A rate alone says little. Two things stand beside it: how often somebody is right who always names the most frequent
value, and how often the same attacker is right about people outside the release. What she knows of these comes from
what the table shows of people like them. Only the difference is what being in the table costs a person.

Where people have several rows, every row is guessed about by itself, and a person is found out when any of her rows is:
rates, intervals, baselines and people outside are all counted so. Between equals a guess is drawn for each row anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.attacks.attacker import People, Scene
from oneoff.audit.attacks.rates import FEWEST, Difference, Rate, difference
from oneoff.card import card
from oneoff.table import Attribute
from oneoff.table.arrays import Codes, Flags, Floats, Ints

__all__ = ["BY_PERSON", "ByValue", "Finding", "Guesses", "above_ceiling", "best_guess", "compared", "with_baseline"]

NO_CONTROL = (
    "no people outside the release were given, so nobody can tell what of this rate comes from the person's own record "
    "and what from people like them: --hold-out 0.1 when publishing, or --control TABLE"
)


_BEATEN = "this attack does not beat its baseline"
_ALL = slice(None)
BY_PERSON = "a person is counted as found out when any of her rows is; other figures count rows"


@dataclass(frozen=True, eq=False)
class Guesses:
    """What was guessed about some people, and whether it is right.

    row      their rows in the table they are from
    guess    the value named (a code of the release); -1 where none was
    belief   how sure the attacker is of it
    true     the value they have; -1 for one that the release does not know
    right    1 or 0, or the probability with which a guess between equals is right
    person   whose each row is, where somebody has several; None where every row is a person
    """

    row: Ints
    guess: Codes
    belief: Floats
    true: Codes
    right: Floats
    person: Ints | None = None

    @cached_property
    def rate(self) -> Rate:
        return self.rate_of(self.right)

    def of_value(self, value: int) -> Rate:
        """Of the people who have the value: it is named in a row that has it."""
        return self.rate_of(self.right, self.true == value)

    def rate_of(self, right: Floats | Flags, some: Flags | slice = _ALL) -> Rate:
        """Of any guesses about some of these rows, by person: right when any of them is."""
        right = np.asarray(right, dtype=np.float64)[some]
        if self.person is None:
            return Rate(float(right.sum()), len(right))
        whose = np.unique(self.person[some], return_inverse=True)[1]
        wrong = np.ones(int(whose.max()) + 1 if len(whose) else 0)
        np.multiply.at(wrong, whose, 1 - right)
        return Rate(float((1 - wrong).sum()), len(wrong))

    def people_where(self, some: Flags) -> int:
        """How many people have a row of these."""
        return int(some.sum()) if self.person is None else len(np.unique(self.person[some]))


@dataclass(frozen=True)
class ByValue:
    """The people who have one value."""

    value: str
    inside: Rate
    outside: Rate | None

    def as_dict(self) -> dict[str, Any]:
        outside = None if self.outside is None else self.outside.as_dict()
        return {"value": self.value} | self.inside.as_dict() | {"outside": outside}


@dataclass(frozen=True, eq=False)
class Finding:
    """How often an attack on a release is right.

    attack      its name in the catalog
    claim       what is tried, as the subject of a sentence that goes on with "is right"
    inside      people of the release; outside: people who are not in it, None where there are none to compare with
    baseline    how often somebody is right about the same people who does not look: `baseline_is` says how
    people      in the release; fewer are tried where that would take long
    sensitive   what is guessed; None where the guess is who somebody is
    figures     what else was measured, by name
    column      which of several sensitive columns was guessed; empty where there is one
    warnings    what a reader of the rate must know
    """

    attack: str
    claim: str
    inside: Guesses
    outside: Guesses | None
    baseline: float
    people: int
    sensitive: Attribute | None
    baseline_is: str = "always naming the most frequent value"
    figures: Mapping[str, float | int | str | None] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    column: str = ""

    @property
    def name(self) -> str:
        """The attack, and what it guesses where several columns could be guessed."""
        return f"{self.attack} ({self.column})" if self.column else self.attack

    @property
    def rate(self) -> Rate:
        return self.inside.rate

    @property
    def control(self) -> Rate | None:
        return None if self.outside is None else self.outside.rate

    @property
    def difference(self) -> Difference | None:
        """What being in the table costs: how much more often she is right about people who are in it."""
        return None if self.control is None else difference(self.rate, self.control)

    @property
    def beats_baseline(self) -> bool:
        low = self.rate.share if self.rate.interval is None else self.rate.interval[0]
        return low > self.baseline

    @cached_property
    def values(self) -> tuple[ByValue, ...]:
        """By the value people have; values that nobody looked at has are left out."""
        if self.sensitive is None:
            return ()
        occurring = np.unique(self.inside.true[self.inside.true >= 0]).tolist()
        labels, outside = self.sensitive.labels, self.outside
        return tuple(
            ByValue(str(labels[v]), self.inside.of_value(v), None if outside is None else outside.of_value(v))
            for v in occurring
        )

    def per_person(self) -> dict[str, npt.NDArray[Any]]:
        """For every person tried: the row of the table, the guess, the belief in it, and whether it is right; where
        people have several rows, for every row, with whose it is."""
        found = self.inside
        columns: dict[str, npt.NDArray[Any]] = {"row": found.row, "guess": found.guess}
        columns |= {"belief": found.belief, "right": found.right}
        return columns if found.person is None else columns | {"person": found.person}

    def brief(self) -> str:
        """The rates alone, for one line of a verdict: "names the value of" ..."""
        rate, more, control = _percent(self.rate.share), self.difference, self.control
        if more is None or control is None:
            return f"{rate} of people rightly; {self.baseline_is}, that of {_percent(self.baseline)}"
        return f"{rate} of people in it, and of {_percent(control.share)} outside: being in it adds {more.text()}"

    def sentence(self) -> str:
        return f"{self.claim} is right about {self._tried()}{self._compared()}; {self._without_looking()}."

    def _tried(self) -> str:
        tried, among = self.rate.tried, "" if self.rate.tried == self.people else f", of {self.people:,} in the release"
        return f"{_sure(self.rate)} of {tried:,} people{among}"

    def _compared(self) -> str:
        control, more = self.control, self.difference
        if control is None or more is None:
            return ""
        return f", and about {_sure(control)} of {control.tried:,} outside it: being in it adds {more.text()}"

    def _without_looking(self) -> str:
        beaten = "" if self.beats_baseline else ", no less often"
        return f"{self.baseline_is} is right about {_percent(self.baseline)}{beaten}"

    def _repr_html_(self) -> str:
        outside = "nobody to compare with" if self.control is None else _sure(self.control)
        rows = [("right about people inside", _sure(self.rate)), ("outside", outside)]
        rows += [("without looking", f"{_percent(self.baseline)}: {self.baseline_is}")]
        return card(f"Attack: {self.attack}", [*rows, *(("warning", each) for each in self.warnings)], self.sentence())

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON with stable keys; single people are not in it."""
        more = self.difference
        return {
            "attack": self.attack,
            **self.rate.as_dict(),
            "people": self.people,
            "sampled": self.rate.tried < self.people,
            "baseline": self.baseline,
            "baseline_is": self.baseline_is,
            "beats_baseline": self.beats_baseline,
            "outside": None if self.control is None else self.control.as_dict(),
            "difference": None if more is None else more.amount,
            "difference_interval": None if more is None else more.as_dict()["interval"],
            "values": [each.as_dict() for each in self.values],
            "figures": dict(self.figures),
            "sentence": self.sentence(),
            "warnings": list(self.warnings),
            "column": self.column or None,
        }


def best_guess(people: People, beliefs: Floats) -> Guesses:
    """The most likely value of each of the people; between equally likely ones the guess is drawn, so to speak."""
    top = beliefs.max(axis=1)
    equals = beliefs >= top[:, None] * (1 - 1e-9)
    own = people.values >= 0
    hit = np.zeros(len(top))
    hit[own] = equals[own, people.values[own]] / equals[own].sum(axis=1)
    return Guesses(people.row, beliefs.argmax(axis=1).astype(np.int32), top, people.values, hit, people.person)


def above_ceiling(scene: Scene, beliefs: Floats, chance: Floats | float = 0.0) -> float | None:
    """The share of people of whom some value is believed above its ceiling, by more than `chance` may explain.

    None where the promise has no ceilings."""
    limits = None if scene.release is None else scene.release.model.caps(scene.release.counts)
    if limits is None or len(beliefs) == 0 or len(limits.ceiling) != beliefs.shape[1]:
        return None
    ceilings = np.array([float(ceiling) for ceiling in limits.ceiling])
    return float((beliefs > ceilings + np.maximum(chance, 1e-9)).any(axis=1).mean())


def compared(scene: Scene, attack: str, claim: str, inside: Guesses, outside: Guesses | None, **more: Any) -> Finding:
    """What came of guesses about values, beside the most frequent value, with what must be said about it."""
    common = int(np.bincount(np.maximum(scene.inside.values, 0)).argmax())
    baseline = inside.rate_of(inside.true == common).share
    warnings = tuple(more.pop("warnings", ()))
    finding = Finding(
        attack, claim, inside, outside, baseline, scene.people, scene.view.sensitive, warnings=warnings, **more
    )
    return _warned(finding, scene)


def with_baseline(finding: Finding, baseline: float, baseline_is: str) -> Finding:
    """The same beside something else than the most frequent value."""
    said = [warning for warning in finding.warnings if not warning.startswith(_BEATEN)]
    found = replace(finding, baseline=baseline, baseline_is=baseline_is)
    if not found.beats_baseline:
        said.append(f"{_BEATEN}: {baseline_is} does as well")
    return replace(found, warnings=tuple(said))


def _warned(finding: Finding, scene: Scene) -> Finding:
    said = [*finding.warnings, *([] if scene.table.person is None else [BY_PERSON])]
    if finding.rate.tried < FEWEST:
        said.append(f"{finding.rate.tried} people are too few for an interval: the rate may be chance")
    if not finding.beats_baseline:
        said.append(f"{_BEATEN}: {finding.baseline_is} does as well")
    if scene.control is None:
        said.append(NO_CONTROL)
    elif finding.control is not None and finding.control.tried < FEWEST:
        said.append(f"the control has {finding.control.tried} people, too few for an interval")
    return replace(finding, warnings=tuple(said))


def _sure(rate: Rate) -> str:
    between = "" if rate.interval is None else f" ({_percent(rate.interval[0])} to {_percent(rate.interval[1])})"
    return f"{_percent(rate.share)}{between}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
