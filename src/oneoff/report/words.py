"""The words and numbers that the terminal page and the HTML page share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from oneoff.audit.verdict import PartVerdict, Verdict
from oneoff.card import plain
from oneoff.models.adversary import Adversary
from oneoff.table.classes import SMALL, Risk
from oneoff.utility import Utility

__all__ = [
    "LEVELS",
    "Meaning",
    "checked_against",
    "distinct",
    "left_open",
    "level_text",
    "meaning_of",
    "percent",
    "plain",
    "promise_row",
    "readable_utility",
    "readable_verdict",
    "risk_rows",
    "what_it_means",
    "without_boxes",
]

_WIDTH = 60


@dataclass(frozen=True)
class Meaning:
    """What the level of a promise says, in half a line, and which way is safer."""

    text: str
    larger_is_safer: bool = False


LEVELS: dict[str, Meaning] = {
    "k-anonymity": Meaning("people in the smallest group", True),
    "l-diversity": Meaning("one over the highest belief in any value", True),
    "distinct-l-diversity": Meaning("different values in the least varied group", True),
    "entropy-l-diversity": Meaning("as varied as this many equally common values", True),
    "recursive-l-diversity": Meaning("the most common value against all others of its group (c for l = 2)"),
    "basic-beta-likeness": Meaning("the largest gain in belief, relative to the share in the whole table"),
    "beta-likeness": Meaning("the same, where common values may gain less"),
    "two-sided-beta-likeness": Meaning("the same, where losses count like gains; none when a group lacks a value"),
    "hierarchy-beta-likeness": Meaning("the same as beta-likeness, also for whole branches of the hierarchy"),
    "delta-disclosure": Meaning("the largest move of belief, in logarithms; none when a group lacks a value"),
    "t-closeness": Meaning("the furthest a group's values are from the whole table's, 0 to 1"),
    "t-closeness,ordered": Meaning("the same, where near numbers count as near"),
    "t-closeness,hierarchical": Meaning("the same, where values of one branch count as near"),
}

_IN_BUCKETS = (
    "It means: whose record is whose may be plain to see, but what can be concluded about a person's value is what the "
    "mix of values in their bucket gives away. This was counted in the records that go out, bucket by bucket, not "
    "estimated."
)

_DRAWN = (
    "It means: whose record is whose may be plain to see, but the value it shows was drawn by chance; even who knows "
    "all about everybody else learns no more about a person from it than was promised."
)


def checked_against(verdict: Verdict) -> str:
    """Who the check plays, to be read after "against" or "plays"."""
    return verdict.against.sentence


def what_it_means(verdict: Verdict) -> str:
    """What a steward may rely on; where quasi-identifiers are shown as they are, only values are hidden."""
    who = verdict.against
    in_buckets = who is Adversary.READER and verdict.witness.place in ("bucket", "class")
    drawn = who is Adversary.ANYONE and verdict.groups is None
    return _IN_BUCKETS if in_buckets else _DRAWN if drawn else who.meaning


def left_open(verdict: Verdict) -> str:
    """What nobody looked at. Nobody is named here whom the verdict says to be held off."""
    if verdict.attacks:
        return f"{Adversary.NOBODY.unchecked} The attacks on this page were tried; there may be better ones."
    claimed = verdict.stands_against if verdict.holds else ""
    return verdict.against.left_open(claimed or Adversary.NOBODY)


def distinct(labels: Iterable[object], width: int = _WIDTH) -> list[str]:
    """Labels that can be shown and still told apart after the cut."""
    seen: dict[str, int] = {}
    shown = []
    for label in labels:
        text = plain(label, width)
        while text in seen:
            seen[text] += 1
            text = f"{text} ({seen[text]})"
        seen[text] = 1
        shown.append(text)
    return shown


def meaning_of(name: str, *, masked: bool) -> Meaning:
    """What a level says; of masked records, groups are hidden and only looks count for k."""
    if masked and name == "k-anonymity":
        return Meaning("records that look the same, where they are fewest", True)
    return LEVELS.get(name, Meaning(""))


def percent(share: float) -> str:
    """A share as percent that never rounds something to nothing, nor nearly all to all."""
    if 0 < share < 0.0001:
        return "<0.01%"
    return ">99.99%" if 0.9999 < share < 1 else f"{share:.2%}"


def level_text(level: float | None, larger_is_safer: bool) -> str:
    """A level to four digits, rounded to the weak side so that what is printed still holds."""
    if level is None or not math.isfinite(level):
        return "none"
    exact = Context(prec=12).create_decimal(repr(float(level)))  # sheds the noise of floating point
    last = min(0, max(exact.adjusted() - 3, -4))  # never coarser than whole numbers, never finer than 0.0001
    rounded = exact.quantize(Decimal(1).scaleb(last), ROUND_FLOOR if larger_is_safer else ROUND_CEILING)
    return f"{rounded:,f}".rstrip("0").rstrip(".") if last < 0 else f"{rounded:,f}"


def promise_row(part: PartVerdict) -> tuple[str, str, str, str, str]:
    """Name, what was promised, what was reached, how many people are above, kept or not."""
    name, _, promised = part.guarantee.partition(":")
    safer = name in LEVELS and LEVELS[name].larger_is_safer
    kept = "kept" if part.holds else "BROKEN"
    return part.name or name, plain(promised), level_text(part.level, safer), f"{part.people_above:,}", kept


def risk_rows(before: Risk | None, after: Risk, *, masked: bool = False) -> list[tuple[str, str, str]]:
    """What each probability is, before and after; of masked records, for somebody who knows groups and tables."""
    words = {
        "highest": "probability of recognising the most exposed person",
        "average": "probability of recognising a person, on average",
        "unique": "people who can be recognised for sure" if masked else "people who are alone in their group",
        "small": f"people with a probability above 1/{SMALL}" if masked else f"people in groups of fewer than {SMALL}",
    }
    past = {} if before is None else before.as_dict()
    return [
        (text, percent(past[name]) if past else "unknown", percent(after.as_dict()[name]))
        for name, text in words.items()
    ]


def readable_verdict(verdict: Verdict) -> Verdict:
    """The same verdict with labels and texts that can be shown."""
    value = verdict.witness.value
    witness = replace(verdict.witness, value=None if value is None else plain(value))
    problems = tuple(plain(problem, 300) for problem in verdict.problems)
    remarks = tuple(plain(remark, 500) for remark in verdict.remarks)
    return replace(verdict, witness=witness, problems=problems, remarks=remarks)


def readable_utility(utility: Utility) -> Utility:
    """The same losses under column names that can be shown."""
    losses = dict(zip(distinct(utility.per_attribute, 40), utility.per_attribute.values(), strict=True))
    return replace(utility, per_attribute=losses, uncounted=plain(utility.uncounted, 300))


def without_boxes(lost: Utility) -> bool:
    """Are quasi-identifiers shown as they are, whatever the table? Then nothing is blurred, and there are no bars."""
    return lost.retention is not None or lost.msbs is not None
