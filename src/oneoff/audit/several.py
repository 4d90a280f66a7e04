"""Several sensitive columns are judged one by one; here is what is said of all of them together.

The promise about each column is against somebody who knows neither its value nor those of the others. What knowing one
column tells about another stands beside the verdict (`Knowing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from oneoff.audit.attacks.finding import Finding
from oneoff.audit.knowing import Knowing, said_of
from oneoff.audit.levels import weakest
from oneoff.audit.verdict import PartVerdict, Verdict, tightest
from oneoff.models.adversary import IDENTITY

__all__ = ["of_columns"]


def of_columns(guarantee: str, verdicts: Mapping[str, Verdict], knowing: tuple[Knowing, ...] = ()) -> Verdict:
    """One verdict of those on single columns: it holds when all of them do, and names the worst column."""
    worst = max(verdicts, key=lambda name: _badness(verdicts[name]))
    each, parts = verdicts.values(), tuple(_parts(verdicts))
    return replace(
        verdicts[worst],
        guarantee=guarantee,
        holds=all(one.holds for one in each),
        worst=tightest(parts).belief,
        witness=tightest(parts),
        parts=parts,
        levels=weakest([one.levels for one in each]),
        people_above=_people(verdicts, "above", max(one.people_above for one in each)),
        certain=_people(verdicts, "certain", max(one.certain for one in each)),
        problems=_once(text for one in each for text in one.problems),
        attacks=tuple(
            replace(attack, name=f"{attack.name} ({name})") for name, one in verdicts.items() for attack in one.attacks
        ),
        remarks=_once([*said_of(knowing), *_in_turn([one.remarks for one in each])]),
        knowing=knowing,
        provided=" and ".join(_once(one.provided for one in each if one.provided)),
        columns=dict(verdicts),
        column=worst,
        _people=_most_strained(verdicts),
        _learn=cache(partial(_most_learned, verdicts)),
    )


def _badness(verdict: Verdict) -> tuple[bool, bool, float]:
    about_values = [part for part in verdict.parts if part.guarantee.partition(":")[0] not in IDENTITY]
    return bool(verdict.problems), not verdict.holds, tightest(about_values or verdict.parts).strain


def _parts(verdicts: Mapping[str, Verdict]) -> Iterator[PartVerdict]:
    """What is promised about who somebody is, once; then what is promised about each column, under its name."""
    for place, (name, verdict) in enumerate(verdicts.items()):
        for part in verdict.parts:
            if part.guarantee.partition(":")[0] in IDENTITY:
                yield from [part] if place == 0 else []
            else:
                called = f"{name}: {part.name or part.guarantee.partition(':')[0]}"
                yield replace(part, name=called, witness=replace(part.witness, column=name))


def _in_turn(remarks: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """The first of every column, then the second: what is said last of each stays last."""
    for texts in zip_longest(*remarks, fillvalue=""):
        yield from (text for text in texts if text)


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _people(verdicts: Mapping[str, Verdict], what: str, most: int) -> int:
    """How many people are concerned in any of the columns; as many as in the worst where that is all we know."""
    flags = [verdict.flags.get(what) for verdict in verdicts.values()]
    known = [each for each in flags if each is not None]
    return int(np.logical_or.reduce(known).sum()) if len(known) == len(flags) else most


def _most_strained(verdicts: Mapping[str, Verdict]) -> dict[str, npt.NDArray[np.generic]]:
    """Everybody by the column in which they are nearest to a ceiling, or furthest above it."""
    people = [verdict.per_person() for verdict in verdicts.values()]
    if not all("belief" in each and "cap" in each for each in people):
        return dict(people[0])
    with np.errstate(divide="ignore"):
        strain = np.stack([each["belief"] / each["cap"] for each in people])
    nearest, row = strain.argmax(axis=0), np.arange(strain.shape[1])
    return {name: np.stack([each[name] for each in people])[nearest, row] for name in people[0]}


def _most_learned(verdicts: Mapping[str, Verdict]) -> Finding | None:
    """Of the column about which being in the release tells most."""
    learned = [(name, each.learned) for name, each in verdicts.items()]
    found = [replace(finding, column=name) for name, finding in learned if finding is not None]
    return max(found, key=_gained, default=None)


def _gained(finding: Finding) -> float:
    more = finding.difference
    return finding.rate.share - finding.baseline if more is None else more.amount
