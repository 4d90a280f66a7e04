"""Who might try to learn something, from the weakest to the strongest; and what a method claims about them.

Every sentence about an adversary is here, so that verdict, pages and the command line say the same of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from oneoff.models.identity import DeltaProbability, KAnonymity
from oneoff.models.model import Model

__all__ = ["IDENTITY", "LEARNT", "Adversary", "Claim"]

IDENTITY = frozenset({KAnonymity.name, DeltaProbability.name})  # promises for which no sensitive value matters


class Adversary(StrEnum):
    """Somebody a promise is kept against. The value is what releases and JSON say; whoever is stronger comes later."""

    NOBODY = "nobody"
    BLACK_BOX = "black box"
    READER = "reader"
    GRAPH = "graph"
    PRIOR = "prior"
    INSIDER = "insider"
    ANYONE = "anyone"

    @property
    def rank(self) -> int:
        """Whoever has a higher one is harder to hold off."""
        return list(Adversary).index(self)

    @property
    def sentence(self) -> str:
        """Who it is, to be read after "against"."""
        return _WORDS[self].sentence

    @property
    def briefly(self) -> str:
        """The same where it is about the method rather than about a release."""
        return _WORDS[self].briefly or _WORDS[self].sentence

    @property
    def meaning(self) -> str:
        """What a steward may rely on when the promise holds against them."""
        return _WORDS[self].meaning

    @property
    def unchecked(self) -> str:
        """What it leaves open."""
        return _WORDS[self].unchecked

    def left_open(self, claimed: Adversary) -> str:
        """What a check against this adversary leaves open, when the method claims to stand against `claimed`.

        Who is held off by a claim is no longer among those of whom nothing was checked.
        """
        beyond = _WORDS[self].beyond
        return claimed.unchecked if beyond is not None and claimed.rank >= beyond.rank else self.unchecked


@dataclass(frozen=True)
class Claim:
    """Who a method stands against, for some promises or with some option.

    A method has an ordered list of them, and the first that applies counts; where none does it stands against nobody.

    promises   those that may be among what is to be kept; any by default
    option     the name of an option and the value it must have, or several of which it must have one
    """

    adversary: Adversary
    promises: frozenset[str] | None = None
    option: tuple[str, str | bool | tuple[str, ...]] | None = None

    @property
    def always(self) -> bool:
        return self.promises is None and self.option is None

    def applies(self, model: Model, options: Mapping[str, Any]) -> bool:
        """Is it about a release that was made for this promise and with these options?"""
        names = {part.name for part in model.parts()}
        served = self.promises is None or names <= self.promises
        return served and (self.option is None or options.get(self.option[0]) in self._values())

    def condition(self) -> str:
        """When it applies, to be read after the adversary."""
        promises = "" if self.promises is None else f" for {', '.join(sorted(self.promises))}"
        values = " or ".join(str(value).lower() for value in self._values())
        return promises + ("" if self.option is None else f" with {self.option[0]}={values}")

    def _values(self) -> tuple[str | bool, ...]:
        """Those that the option may have."""
        if self.option is None:
            return ()
        return self.option[1] if isinstance(self.option[1], tuple) else (self.option[1],)


LEARNT = (
    "Who learns from a release in groups what people with such quasi-identifiers are like can tell members of a group "
    "apart, and knows more than its shares say: with a ceiling of 20 % (l-diversity:5) such a model named 30 to 34 % "
    "of the values of people in two census tables, and 15 to 25 % of those of people outside. Tallies bound that "
    "difference."
)


@dataclass(frozen=True)
class _Words:
    """beyond: the weakest adversary who could make use of what is left open."""

    sentence: str
    meaning: str
    unchecked: str
    briefly: str = ""
    beyond: Adversary | None = None


_WORDS = {
    Adversary.NOBODY: _Words(
        sentence="nobody who knows the method: they may conclude more than is promised",
        meaning="It means: counts keep the promise, and that is all there is to it.",
        unchecked="Somebody who knows how the groups were formed (an insider) can conclude more.",
        beyond=Adversary.INSIDER,
    ),
    Adversary.BLACK_BOX: _Words(
        sentence="somebody who matches people on one column at a time and knows neither groups nor probabilities",
        briefly="a black box only: somebody who matches people on one column at a time and knows neither the hidden "
        "groups nor the probabilities",
        meaning="It means: a value of one column can be traced to nobody with more than the promised probability. This "
        "was worked out exactly from the probabilities that values were drawn with. It is not so for several columns "
        "together, and it rests on groups and probabilities staying secret: recipients get a table that looks like the "
        "original, and no word of who covered for whom.",
        unchecked="Somebody who knows, or works out, which people covered for one another and with which probabilities "
        "concludes much more from several columns together; how much is said on this page.",
        beyond=Adversary.READER,
    ),
    Adversary.READER: _Words(
        sentence="a reader who has the release and knows everybody's quasi-identifiers",
        briefly="a reader, who has the release and everybody's quasi-identifiers but does not know how it was made",
        meaning="It means: even then, nobody's record can be told from the others of its group, and what can be "
        "concluded about a person is what the mix of values in that group gives away. This was counted in the records "
        "that go out, group by group, not estimated.",
        unchecked="Somebody who also knows how the groups were formed (an insider) might conclude more; that was not "
        "checked.",
        beyond=Adversary.INSIDER,
    ),
    Adversary.GRAPH: _Words(
        sentence="a reader who also knows which people each record covers, and takes them to be equally likely",
        meaning="It means: even then, any of the records that cover a person may be the person's, and what can be "
        "concluded about a person is what the mix of values in these records gives away. This was counted in the "
        "records that go out, person by person, not estimated.",
        unchecked="Somebody who can rule out some of the records that cover a person, because they know the method or "
        "the values of some people, might conclude more; that was not checked.",
        beyond=Adversary.INSIDER,
    ),
    Adversary.PRIOR: _Words(
        sentence="somebody who knows everybody's quasi-identifiers, the matrix of probabilities and how common each "
        "value is, and looks at one record alone",
        meaning="It means: whose record is whose may be plain to see, but the value it shows was drawn by chance. What "
        "can be concluded from it was worked out exactly, for every value that can be shown and all it can stand for.",
        unchecked="Somebody who puts all records together can conclude more: the totals of all values follow from the "
        "matrix, and many people with the same quasi-identifiers show how values are spread among them; the promise "
        "bounds neither.",
        beyond=Adversary.ANYONE,
    ),
    Adversary.INSIDER: _Words(
        sentence="somebody who knows the table without its sensitive values, the method, and who exchanged with whom",
        briefly="somebody who knows how the release was made",
        meaning="It means: everybody in a hidden group is as likely as anybody else in it to be behind a record, so "
        "nobody is with more than the promised probability. Nothing has to stay secret for that but who drew what.",
        unchecked="Somebody who knows the sensitive values of other people can rule these out; that was not checked.",
        beyond=Adversary.ANYONE,
    ),
    Adversary.ANYONE: _Words(
        sentence="anyone, whatever they know, everybody else's values included",
        meaning="It means: even who knows all about everybody else learns no more about a person than was promised.",
        unchecked="What is true of all people alike is there to be seen, and it is meant to be.",
    ),
}
