"""Verdict and losses as plain lines for a terminal; the first line is the answer."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unicodedata import combining, east_asian_width

from oneoff.audit import Verdict
from oneoff.audit.attacks.finding import Finding
from oneoff.models.adversary import LEARNT, Adversary
from oneoff.report.words import (
    level_text,
    meaning_of,
    percent,
    plain,
    promise_row,
    readable_utility,
    readable_verdict,
    risk_rows,
    without_boxes,
)
from oneoff.utility import Utility

__all__ = [
    "adversary_lines",
    "brief_outcome_lines",
    "brief_verdict_lines",
    "grid",
    "outcome_lines",
    "utility_lines",
    "verdict_lines",
]

_BAR = 30
_FEW = 3  # problems or promises on one screen


def outcome_lines(outcome: Mapping[str, Any], verdict: Verdict, utility: Utility) -> list[str]:
    """The page after a release was made; `outcome` is `Outcome.as_dict()`."""
    return [*verdict_lines(verdict), "", *utility_lines(utility), "", *_made(outcome)]


def verdict_lines(verdict: Verdict) -> list[str]:
    """The verdict in a sentence, then promises, levels and risk."""
    return list(_verdict(readable_verdict(verdict)))


def utility_lines(utility: Utility, most: int | None = None) -> list[str]:
    """What the release loses, with a bar for each attribute, or for the `most` that lose most."""
    return list(_utility(readable_utility(utility), most))


def brief_outcome_lines(outcome: Mapping[str, Any], verdict: Verdict, utility: Utility) -> list[str]:
    """The same page for a board, on one screen: is the promise kept, and what does it cost?"""
    cost = f"What it costs: {readable_utility(utility).sentence()}"
    return [*brief_verdict_lines(verdict), "", cost, f"{_made_with(outcome)}."]


def brief_verdict_lines(verdict: Verdict) -> list[str]:
    """The verdict in a sentence, then each promise in words and how easily people are recognised."""
    return list(_brief(readable_verdict(verdict)))


def _brief(verdict: Verdict) -> Iterator[str]:
    yield verdict.sentence()
    if verdict.unjudged:
        return
    yield from _problems(verdict, _FEW)
    first = 2 if verdict.knowing else 1  # the others with all that was measured
    yield from [remark for remark in verdict.remarks if remark != LEARNT][:first]
    yield ""
    yield from itertools.islice(_promised(verdict), _FEW)
    if len(verdict.parts) > _FEW:
        yield f"And {len(verdict.parts) - _FEW} promises more."
    if verdict.certain:
        yield _certain(verdict)
    yield _recognised(verdict)
    if verdict.learned is not None:
        value = repr(verdict.learned.column) if verdict.learned.column else "the value"
        yield f"Who learns from the release itself names {value} of {verdict.learned.brief()}."


def _promised(verdict: Verdict) -> Iterator[str]:
    for part in verdict.parts:
        name, promised, level, above, kept = promise_row(part)
        people = f"; {above} {_unit(verdict)} are above it" if part.people_above else ""
        yield f"{name} {promised}: {kept} ({level} reached{people}). That is, {plain(part.sentence, 200)}."


def _recognised(verdict: Verdict) -> str:
    """The most exposed person, and everybody on average."""
    before, after = verdict.risk_before, verdict.risk_after
    highest, average = percent(after.highest), percent(after.average)
    if before is not None:
        highest += f" (before: {percent(before.highest)})"
        average += f" (before: {percent(before.average)})"
    return f"Probability of recognising a person{_by_whom(verdict)}: at most {highest}, on average {average}."


def adversary_lines() -> list[str]:
    """What it means to stand against somebody, for all that a method can name."""
    named = sorted(set(Adversary) - {Adversary.GRAPH}, key=lambda who: -who.rank)  # the graph is one of checks only
    said = (f"  {who + ':':<11}{who.sentence}" for who in named)
    return ["Who that is:", *(line for text in said for line in textwrap.wrap(text, 118, subsequent_indent=" " * 13))]


def _verdict(verdict: Verdict) -> Iterator[str]:
    yield verdict.sentence()
    if verdict.unjudged:
        return
    yield from _problems(verdict)
    yield from verdict.remarks
    yield ""
    yield from _promises(verdict)
    if verdict.knowing:
        yield ""
        yield "What knowing one sensitive column of a person tells about another, of which nothing is promised:"
        yield from (f"  - {each.sentence()}" for each in verdict.knowing)
    if verdict.attacks:
        yield ""
        yield from _attacks(verdict)
    if verdict.learned is not None:
        yield ""
        yield from _learned(verdict.learned)
    if verdict.masked is not None:
        yield ""
        yield "Who is behind a record:"
        yield from (f"  - {sentence}" for sentence in verdict.masked.sentences())
    yield ""
    yield from _levels(verdict)
    yield ""
    yield from _risk(verdict)


def _problems(verdict: Verdict, most: int | None = None) -> Iterator[str]:
    if verdict.problems:
        yield ""
        yield "The records cannot be trusted, whatever their groups look like:"
        yield from (f"  - {problem}" for problem in verdict.problems[:most])


def _certain(verdict: Verdict) -> str:
    if verdict.persons is not None:
        rows = "1 row" if verdict.certain == 1 else f"{verdict.certain:,} rows"
        return f"The value of {rows} is certain, because all rows of the group share it."
    return f"The value of {_people(verdict.certain)} is certain, because all of their group share it."


def _unit(verdict: Verdict) -> str:
    """What groups were counted in: promises about persons are judged by persons, these figures are of rows."""
    return "people" if verdict.persons is None else "rows"


def _promises(verdict: Verdict) -> Iterator[str]:
    rows = f"{verdict.rows:,} rows of {_people(verdict.persons or 0)}"
    everybody = _people(verdict.rows) if verdict.persons is None else rows
    above = "nobody" if not verdict.people_above else _people(verdict.people_above)
    if verdict.people_above and verdict.persons is not None:
        above = f"{verdict.people_above:,} rows"
    crowd = "cell" if verdict.against is Adversary.ANYONE else "group"
    where = f"in {verdict.groups:,} {crowd}{'s' * (verdict.groups != 1)} of" if verdict.groups else "in the records of"
    yield f"What was promised, and what was found {where} {everybody} in all: {above} above a limit."
    header = ("promise", "promised", "reached", f"{_unit(verdict)} above", "")
    yield from grid([header, *(promise_row(part) for part in verdict.parts)], right=(1, 2, 3))
    if verdict.reader is not None:
        yield verdict.reader.sentence()
    if verdict.certain:
        yield f"  {_certain(verdict)}"
    yield from (
        f"  {part.name or part.guarantee.partition(':')[0]}: {plain(part.sentence, 200)}." for part in verdict.parts
    )


def _attacks(verdict: Verdict) -> Iterator[str]:
    yield "What somebody finds out who also knows how groups are made, tried on this very release:"
    yield from (f"  - {attack.sentence()}" for attack in verdict.attacks)


def _learned(finding: Finding) -> Iterator[str]:
    about = f" (of {finding.column!r}, most)" if finding.column else ""
    yield (
        "What somebody finds out who learns from the release itself which values go with which quasi-identifiers"
        f"{about}:"
    )
    yield f"  - {finding.sentence()}"
    yield from (f"  - {warning[:1].upper()}{warning[1:]}." for warning in finding.warnings)


def _levels(verdict: Verdict) -> Iterator[str]:
    where = "hidden groups" if verdict.masked is not None else "records"
    legend = "none: not at any level; + higher is safer, - lower is safer"
    yield f"What the {where} reach of every known promise ({legend}):"
    rows = []
    for name, level in verdict.levels.items():
        meaning = meaning_of(name, masked=verdict.masked is not None)
        sign = "+" if meaning.larger_is_safer else "-"
        rows.append((name, level_text(level, meaning.larger_is_safer), sign, meaning.text))
    yield from grid(rows, right=(1,))


def _risk(verdict: Verdict) -> Iterator[str]:
    before = verdict.risk_before
    if before is None:
        yield "How easily people are recognised (without the table, the risk before is not known):"
    else:
        yield (
            f"How easily people are recognised{_by_whom(verdict)}: the most exposed person with a probability of "
            f"{percent(before.highest)} before and {percent(verdict.risk_after.highest)} after."
        )
    yield from grid(
        [("", "before", "after"), *risk_rows(before, verdict.risk_after, masked=verdict.masked is not None)],
        right=(1, 2),
    )


def _by_whom(verdict: Verdict) -> str:
    """Of masked records, before by their looks, and after by somebody who knows the secrets."""
    return "" if verdict.masked is None else " (after: by somebody who knows hidden groups and probabilities)"


def _utility(utility: Utility, most: int | None) -> Iterator[str]:
    yield f"What it costs: {utility.sentence()}"
    losses = [] if without_boxes(utility) else sorted(utility.per_attribute.items(), key=lambda item: -item[1])
    if utility.masking is not None and losses:
        yield "How far values moved (numbers: of their range; categories: the share that changed, or up the hierarchy):"
    yield from grid([(name, _bar(loss), percent(loss)) for name, loss in losses[:most]], right=(2,))
    if most is not None and len(losses) > most:
        yield f"  and {len(losses) - most:,} attributes that lose less"
    yield from (f"  {text}" for text in _other_measures(utility))


def _other_measures(utility: Utility) -> Iterator[str]:
    """The variants are not comparable with one another, so each says what it counts."""
    if utility.masking is not None or without_boxes(utility):
        return
    if utility.gcp_set is not None:
        yield f"Counting values instead of widths (GCP, set variant): {percent(utility.gcp_set)}."
    if utility.ail is not None:
        yield f"Average information loss (AIL): {percent(utility.ail)}."
    if utility.average_class_size is not None and utility.discernibility is not None:
        yield (
            f"A group has {utility.average_class_size:,.1f} people on average; "
            f"squared group sizes add up to {utility.discernibility:,} (discernibility)."
        )


def _made(outcome: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_made_with(outcome)} ({plain(outcome['reason'], 400)})."
    if outcome.get("suppressed"):
        yield f"{_people(outcome['suppressed'])} were left out."
    if outcome.get("held_out"):
        yield f"{_people(outcome['held_out'])} were held out by chance: the release says nothing of them."
    yield from (f"Notice: {plain(notice, 300)}" for notice in outcome.get("notices", ()))


def _made_with(outcome: Mapping[str, Any]) -> str:
    return f"Made with {plain(outcome['method'])} in {outcome['seconds']:.1f} s"


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def _bar(share: float) -> str:
    """A bar of ASCII, which every terminal and every pager shows; the smallest loss above nothing is visible."""
    filled = min(_BAR, max(round(share * _BAR), 1 if share > 0 else 0))
    return "#" * filled + "." * (_BAR - filled)


def grid(rows: Sequence[Sequence[str]], right: Sequence[int]) -> Iterator[str]:
    """Aligned columns, also where letters are two cells wide."""
    widths = [max(map(_cells, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = []
        for j, (cell, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - _cells(cell))
            padded.append(gap + cell if j in right else cell + gap)
        yield ("  " + "  ".join(padded)).rstrip()


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
