"""What an audit says: a verdict on every promise of the guarantee, against whom, and the worst case of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.audit.attack import Attack
from oneoff.audit.attacks.finding import Finding
from oneoff.audit.exposure import MaskedView
from oneoff.audit.knowing import Knowing
from oneoff.audit.reader import ReaderView
from oneoff.audit.witness import Witness
from oneoff.card import card
from oneoff.models.adversary import Adversary
from oneoff.table.classes import Risk

__all__ = ["PartVerdict", "Verdict", "tightest"]


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class PartVerdict:
    """One promise of the guarantee: kept or not, the level reached, how many people are in groups that break it.

    name   what it is called here, where the name of the guarantee alone would say too much; otherwise empty
    """

    guarantee: str
    sentence: str
    holds: bool
    level: float
    people_above: int
    witness: Witness
    name: str = ""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What was checked, against whom, and what came out.

    groups     None for a release without groups
    holds      every promise is kept by every group, and the records are the table's people
    worst      the highest belief relative to what is allowed: the belief of `witness`
    certain    people whose value is certain, because all of their group share it; some promises allow that
    reader     for a release without groups judged with its graph: what somebody sees who has only the boxes
    problems   why the records cannot be trusted (lost rows, values outside their range ...); empty when they can
    stands_against   who the method says it stands against; empty when no method is known
    masked     for a masked release: who can be named behind a value or a record
    epsilon    where the verdict is about anyone: the logarithm of how much one person's value can change anybody's odds
    remarks    what a reader of the verdict must know about its meaning, in sentences
    suppressed   people who were left out as outliers, where whoever judges knows that they were
    persons    people who are in the release; None where every row is one
    provided   what must be so for the verdict to be true, where the files alone cannot show it
    learned    what somebody finds out who learns from the release itself, inside it and outside; worked out when it is
               first asked for, and None where there is no table to compare guesses with
    attacks    what attacks by somebody who knows the method found; run on releases that stand against nobody
    columns    where several columns are sensitive: the verdict on each, or on several as one; all else is of the worst
    column     which of these that is; empty where there is one
    knowing    where several columns are sensitive: what knowing one of them tells about another, which is not promised
    flags      by "above" and "certain": the people concerned, where they are known
    """

    guarantee: str
    holds: bool
    worst: float
    witness: Witness
    parts: tuple[PartVerdict, ...]
    levels: dict[str, float]
    rows: int
    groups: int | None
    people_above: int
    certain: int
    against: Adversary
    risk_after: Risk
    risk_before: Risk | None = None
    problems: tuple[str, ...] = ()
    reader: ReaderView | None = None
    stands_against: Adversary | Literal[""] = ""
    attacks: tuple[Attack, ...] = ()
    masked: MaskedView | None = None
    epsilon: float | None = None
    remarks: tuple[str, ...] = ()
    provided: str = ""
    suppressed: int = 0
    persons: int | None = None
    columns: Mapping[str, Verdict] = field(default_factory=dict)
    column: str = ""
    knowing: tuple[Knowing, ...] = ()
    flags: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict, repr=False)
    _people: dict[str, npt.NDArray[Any]] = field(default_factory=dict, repr=False)
    _learn: Callable[[], Finding | None] = field(default=_nothing, repr=False)

    @property
    def learned(self) -> Finding | None:
        return self._learn()

    @staticmethod
    def of_parts(guarantee: str, parts: tuple[PartVerdict, ...], problems: tuple[str, ...], **more: Any) -> Verdict:
        """The promise is kept when all its parts are, and nothing speaks against the records."""
        witness = tightest(parts)
        return Verdict(
            guarantee=guarantee,
            holds=all(part.holds for part in parts) and not problems,
            worst=witness.belief,
            witness=witness,
            parts=parts,
            problems=problems,
            **more,
        )

    def per_person(self) -> dict[str, npt.NDArray[Any]]:
        """For every person, in the order of the table (or of the records, when there is no table): the size of the
        group, the belief nearest to or furthest above its ceiling, that ceiling, and the belief in the person's
        own value."""
        return self._people

    def without_people(self) -> Verdict:
        """Without what is known about single people."""
        return replace(self, _people={}, flags={}, _learn=_nothing)

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        if self.unjudged:
            return f"The promise CANNOT be checked: {'; '.join(self.problems)}."
        if self.problems:
            return f"The promise DOES NOT hold as far as can be checked: {self.problems[0]}."
        subject = "The promise DOES NOT hold" if not self.holds else "The promise holds"
        subject += f", provided that {self.provided}," if self.provided and self.holds else ""
        found = f"against {self.against.sentence}: {self.witness.sentence()}."
        if self.by_count_only:
            return f"{subject} by count {found} {self._by_count()}{self._left_out()}"
        if self.holds and self.masked is not None and self.masked.promise == "column":
            return f"{subject} for single columns {found} {self.masked.headline()}{self._left_out()}"
        insider = Adversary.INSIDER
        if self.holds and self.stands_against == insider != self.against:
            found = f"{found} The method keeps it also against {insider.briefly}."
        return f"{subject} {found}{self._left_out()}"

    def _left_out(self) -> str:
        """How many outliers went; as what they lose is no promise's concern, it is said with every verdict."""
        if not self.suppressed:
            return ""
        whole = (self.persons or self.rows) + self.suppressed
        verb = "person" if whole == 1 else "people"
        share = f"{100 * self.suppressed / whole:.2g}%"
        were = "was" if self.suppressed == 1 else "were"
        return f" {self.suppressed:,} of {whole:,} {verb} ({share}) {were} left out, chosen by quasi-identifiers alone."

    def _repr_html_(self) -> str:
        rows = [(part.guarantee, f"{'kept' if part.holds else 'BROKEN'}: {part.sentence}") for part in self.parts]
        return card("The promise holds" if self.holds else "The promise DOES NOT hold", rows, self.sentence())

    @property
    def unjudged(self) -> bool:
        """Nothing at all could be measured, which is not the same as a promise that is broken."""
        return bool(self.problems) and not self.levels

    @property
    def by_count_only(self) -> bool:
        """The counts keep the promise, but the method does not stand against somebody who knows how it works."""
        return self.holds and self.stands_against == Adversary.NOBODY

    def _by_count(self) -> str:
        who = Adversary.INSIDER.briefly.capitalize()
        beyond = [attack.ratio for attack in self.attacks if attack.exceeds]
        if not beyond:
            return f"{who} may conclude more: the method does not stand against them."
        return f"{who} concludes more: such guesses are right up to {max(beyond):.1f} times as often as it allows."

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON with stable keys; an infinite level is null, and so is every figure where nothing was counted."""
        return self._figures() | ({} if not self.unjudged else self._no_figures())

    def _no_figures(self) -> dict[str, Any]:
        """What takes the place of figures that nobody computed."""
        unknown = {"holds": None, "level": None, "people_above": None, "witness": None}
        return {
            **dict.fromkeys(("worst", "witness", "people_above", "certain", "risk_after")),
            "parts": [asdict(part) | unknown for part in self.parts],
        }

    def _figures(self) -> dict[str, Any]:
        return {
            "guarantee": self.guarantee,
            "holds": self.holds,
            "worst": _finite(self.worst),
            "witness": _plain(self.witness),
            "checked_against": str(self.against),
            "rows": self.rows,
            "groups": self.groups,
            "people_above": self.people_above,
            "certain": self.certain,
            "parts": [
                asdict(part) | {"level": _finite(part.level), "witness": _plain(part.witness)} for part in self.parts
            ],
            "levels": {name: _finite(level) for name, level in self.levels.items()},
            "risk_before": None if self.risk_before is None else self.risk_before.as_dict(),
            "risk_after": self.risk_after.as_dict(),
            "reader": None if self.reader is None else self.reader.as_dict(),
            "stands_against": str(self.stands_against),
            "learned": None if self.learned is None else self.learned.as_dict(),
            "attacks": [attack.as_dict() for attack in self.attacks],
            "masked": None if self.masked is None else self.masked.as_dict(),
            "epsilon": None if self.epsilon is None else _finite(self.epsilon),
            "remarks": list(self.remarks),
            "suppressed": self.suppressed,
            "problems": list(self.problems),
            "column": self.column or None,
            "knowing": [each.as_dict() for each in self.knowing],
            "columns": {name: each.as_dict() for name, each in self.columns.items()},
        }


def _finite(level: float) -> float | None:
    return None if math.isinf(level) else float(level)


def _plain(witness: Witness) -> dict[str, Any]:
    return asdict(witness) | {"belief": _finite(witness.belief)}


def tightest(parts: Sequence[PartVerdict]) -> Witness:
    """The worst case of the promise that is broken, or nearest to breaking."""
    return max(parts, key=lambda part: (not part.holds, part.witness.strain)).witness
