"""Promises as the page offers them: a title in plain words, a slider, and what they mean for this table.

What they mean is the library's: its sentences, and its ceilings on belief for the prior of the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from oneoff.errors import OneoffError
from oneoff.models import Model, PerColumn, parse
from oneoff.models.adversary import Adversary
from oneoff.models.counts import Prior
from oneoff.models.spec import parts_of
from oneoff.report.patient import patient_sentence
from oneoff.studio.named import names_file

__all__ = ["KINDS", "Ceiling", "Kind", "Meaning", "joined_text", "meaning_of", "split_text"]


@dataclass(frozen=True)
class Kind:
    """A promise of one number.

    stops    of the slider, from the weakest to the strongest
    common   shown at once, and not among others
    """

    name: str
    title: str
    about: str
    symbol: str
    stops: tuple[str, ...]
    default: str
    common: bool = False
    larger_is_safer: bool = False
    of_values: bool = True

    def reachable(self, strongest: str | None) -> tuple[str, ...]:
        """The stops that this table can keep; all of them where that is not known."""
        if strongest is None:
            return self.stops
        limit = Fraction(parse(strongest).parameter())
        kept = [stop for stop in self.stops if (Fraction(stop) <= limit) == self.larger_is_safer
                or Fraction(stop) == limit]  # fmt: skip
        return tuple(kept) or self.stops[:1]


_FACTORS = ("10", "8", "6", "5", "4", "3", "2.5", "2", "1.5", "1", "0.75", "0.5", "0.25", "0.1")
KINDS = (
    Kind("k-anonymity", "Nobody stands out",
         "Everybody looks like several others in what is handed out, so nobody can be pointed at.",
         "People who look alike, at least",
         ("2", "3", "4", "5", "7", "10", "12", "15", "20", "25", "30", "50", "75", "100", "200", "500"),
         "10", common=True, larger_is_safer=True, of_values=False),
    Kind("beta-likeness", "Nobody learns much more about you than about anybody",
         "What is handed out makes no value of yours more than so many times more likely than it is of anybody: 3 "
         "means at most 4 times as likely. Of common values less, so that nothing becomes certain.",
         "Times more likely, at most (beta)", _FACTORS, "3", common=True),
    Kind("l-diversity", "Nobody can be sure",
         "Whoever guesses a value of yours is right at most once in so many times, whatever the value is.",
         "Right at most once in",
         ("1.1", "1.25", "1.5", "2", "3", "4", "5", "6", "8", "10", "15", "20", "30", "50"), "3", common=True,
         larger_is_safer=True),
    Kind("t-closeness", "Any few are mixed as all are",
         "Among people who look alike the values are spread nearly as in the whole table: 0 would be exactly so.",
         "Distance, at most (t)",
         ("0.5", "0.4", "0.3", "0.25", "0.2", "0.15", "0.1", "0.05", "0.02"), "0.2", common=True),
    Kind("basic-beta-likeness", "The same, but common values may become certain",
         "As beta-likeness, without its second half.", "Times more likely, at most (beta)", _FACTORS, "3"),
    Kind("two-sided-beta-likeness", "Nor much less likely",
         "As beta-likeness, and no value becomes much less likely either.", "Times more likely, at most (beta)",
         _FACTORS, "3"),
    Kind("delta-disclosure", "Nothing becomes much more or less likely",
         "All values are protected by the same factor, up and down.", "Delta, at most",
         ("3", "2", "1.5", "1", "0.75", "0.5", "0.25", "0.1"), "1"),
    Kind("distinct-l-diversity", "Several different values",
         "People who look alike have at least so many different values.", "Values, at least",
         ("2", "3", "4", "5", "6", "8", "10", "15", "20"), "3", larger_is_safer=True),
    Kind("entropy-l-diversity", "As mixed as so many values",
         "People who look alike are as mixed as so many equally common values.", "Values, at least",
         ("1.1", "1.5", "2", "3", "4", "5", "6", "8", "10", "15"), "3", larger_is_safer=True),
    Kind("delta-probability", "Nobody can say that a row is yours",
         "The chance to be right about whose a row is stays below this.", "Chance, at most",
         ("0.5", "1/3", "0.25", "0.2", "0.1", "0.05", "0.02", "0.01"), "0.2", of_values=False),
)  # fmt: skip
_BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True)
class Ceiling:
    """What may be believed of one value: its share in the table, and at most by each promise and by all together."""

    which: str
    label: str
    share: float
    each: tuple[float | None, ...]
    most: float

    @property
    def times(self) -> float:
        return self.most / self.share if self.share else 0.0


@dataclass(frozen=True)
class Meaning:
    """What a guarantee means for a table.

    columns    of each sensitive column: its name, the promises that bound single values, ceilings of the rarest and the
               commonest value, and of all where they are few
    beyond     promises that no release of this table keeps, with the strongest that one does
    """

    guarantee: str
    sentence: str
    columns: tuple[tuple[str, tuple[str, ...], tuple[Ceiling, ...], tuple[Ceiling, ...]], ...]
    beyond: tuple[tuple[str, str], ...]
    open: tuple[str, ...]


def joined_text(chosen: Mapping[str, str], extra: str) -> str:
    """The guarantee that ticked promises and a text beside them come to."""
    return "+".join([*(f"{name}:{value}" for name, value in chosen.items()), *([extra] if extra else [])])


def split_text(guarantee: str) -> tuple[dict[str, str], str]:
    """The promises of a guarantee that have a slider, and the rest as text."""
    try:
        model = parse(guarantee)
    except OneoffError:
        return {}, guarantee
    if isinstance(model, PerColumn):
        return {}, guarantee
    chosen, rest = {}, []
    for text in parts_of(guarantee):
        spec = (
            text.strip() if names_file(text) else parse(text).spec()
        )  # which has the name of a file without its folder
        name, _, value = spec.partition(":")
        if name in _BY_NAME and name not in chosen and re.fullmatch(r"[\d./]+", value):
            chosen[name] = value
        else:
            rest.append(spec)
    return chosen, "+".join(rest)


def meaning_of(guarantee: str, table: Mapping[str, Any], known: Sequence[str]) -> Meaning:
    """What it means for a table of which `work.look.read_roles` told; known: the quasi-identifiers."""
    model = parse(guarantee)
    hidden = [each["name"] for each in table["sensitive"]]
    columns = tuple(_column(model, each) for each in table["sensitive"])
    beyond = [(part.spec(), table["strongest"].get(part.name)) for part in model.parts()]
    return Meaning(
        guarantee=model.spec(),
        sentence=patient_sentence(model, known, hidden, Adversary.READER),
        columns=tuple(each for each in columns if each[1]),
        beyond=tuple((spec, best) for spec, best in beyond if best and _is_stronger(spec, best)),
        open=tuple(dict.fromkeys(label for each in table["sensitive"] for label in _left_open(model, each))),
    )


def _is_stronger(spec: str, best: str) -> bool:
    asked, most = parse(spec), parse(best)
    one, other = Fraction(asked.parameter()), Fraction(most.parameter())
    return one > other if asked.larger_is_safer else one < other


def _own_parts(model: Model, name: str) -> list[Model]:
    own = model.for_column(name) if model.says_of(name) else model
    return [part for part in own.parts() if part.about == "values" and not isinstance(part, PerColumn)]


def _column(
    model: Model, column: Mapping[str, Any]
) -> tuple[str, tuple[str, ...], tuple[Ceiling, ...], tuple[Ceiling, ...]]:
    prior = Prior(tuple(column["counts"]), column["people"])
    bounding = [(part.spec(), caps) for part in _own_parts(model, column["name"]) if (caps := _caps(part, prior))]
    if not bounding:
        return column["name"], (), (), ()

    def ceiling(which: str, value: int) -> Ceiling:
        each = tuple(float(min(caps[value], Fraction(1))) for _, caps in bounding)
        return Ceiling(which, column["labels"][value], float(prior.shares[value]), each, min(each))

    there = [value for value, count in enumerate(prior.count) if count]
    by_count = sorted(there, key=lambda value: (prior.count[value], column["labels"][value]))
    ends = (ceiling("rarest", by_count[0]), ceiling("most common", by_count[-1]))
    return column["name"], tuple(spec for spec, _ in bounding), ends, tuple(ceiling("", v) for v in by_count[::-1][:60])


def _caps(part: Model, prior: Prior) -> tuple[Fraction, ...] | None:
    try:
        limits = part.caps(prior)
    except OneoffError:  # one that wants more of the column than its counts
        return None
    return None if limits is None else limits.ceiling


def _left_open(model: Model, column: Mapping[str, Any]) -> list[str]:
    """Values that the promise leaves open although it sounds as if it protected them."""
    prior = Prior(tuple(column["counts"]), column["people"])
    found: set[int] | None = None
    for part in _own_parts(model, column["name"]):
        own = set(part.unprotected(prior))
        found = own if found is None else found & own
    return [column["labels"][value] for value in sorted(found or ())]
