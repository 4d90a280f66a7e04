"""Verdicts on parts of a release, added up to the one on all of it: exact, for a promise is kept where every group,
cell or record keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from oneoff.audit.attack import Attack
from oneoff.audit.exposure import MaskedView
from oneoff.audit.levels import weakest
from oneoff.audit.verdict import PartVerdict, Verdict, tightest
from oneoff.audit.witness import Witness
from oneoff.table.arrays import Ints
from oneoff.table.classes import Risk

__all__ = ["whole_verdict"]


def whole_verdict(parts: Sequence[Verdict], before: Ints, shown: Ints) -> Verdict:
    """The verdict on all parts together: the worst of each promise, and everybody who is concerned.

    before   people in earlier parts, where the numbers of groups of each part begin
    shown    records of all parts that show each value
    """
    parts = [
        _moved(each, partial(_numbered, first=number)) for each, number in zip(parts, before.tolist(), strict=True)
    ]
    whole = _added(parts)
    return _moved(whole, partial(_of_all, rows=whole.rows, shown=shown))


def _added(parts: Sequence[Verdict]) -> Verdict:
    first = parts[0]
    promises = tuple(_worst([each.parts[i] for each in parts]) for i in range(len(first.parts)))
    witness = tightest(promises)
    rows = [each.rows for each in parts]
    before = [each.risk_before for each in parts if each.risk_before is not None]
    return replace(
        first,
        holds=all(each.holds for each in parts),
        worst=witness.belief,
        witness=witness,
        parts=promises,
        levels=weakest([each.levels for each in parts]),
        rows=sum(rows),
        groups=None if first.groups is None else sum(each.groups or 0 for each in parts),
        people_above=sum(each.people_above for each in parts),
        certain=sum(each.certain for each in parts),
        problems=tuple(dict.fromkeys(problem for each in parts for problem in each.problems)),
        risk_after=_risk([each.risk_after for each in parts], rows),
        risk_before=_risk(before, rows) if len(before) == len(parts) else None,
        attacks=_attacks([attack for each in parts for attack in each.attacks]),
        masked=_masked([each.masked for each in parts], rows),
    )


def _worst(parts: Sequence[PartVerdict]) -> PartVerdict:
    worst = max(parts, key=lambda part: (not part.holds, part.witness.strain))
    return replace(worst, people_above=sum(part.people_above for part in parts))


def _risk(parts: Sequence[Risk], rows: Sequence[int]) -> Risk:
    """Shares of people are means over people, and people who look the same are all in one part."""

    def mean(of: Callable[[Risk], float]) -> float:
        return float(np.average([of(each) for each in parts], weights=rows))

    return Risk(
        highest=max(each.highest for each in parts),
        average=mean(lambda each: each.average),
        unique=mean(lambda each: each.unique),
        small=mean(lambda each: each.small),
        people_at_risk=sum(each.people_at_risk for each in parts),
        share_at_risk=mean(lambda each: each.share_at_risk),
    )


def _attacks(found: Sequence[Attack]) -> tuple[Attack, ...]:
    """The guesses in all parts by each attack."""
    by_name: dict[str, list[Attack]] = {}
    for each in found:
        by_name.setdefault(each.name, []).append(each)
    return tuple(map(_attack, by_name.values()))


def _attack(some: Sequence[Attack]) -> Attack:
    guesses = [each.guesses for each in some]

    def mean(name: str) -> float:
        values = [getattr(each, name) for each in some]
        return float(np.average(values, weights=guesses)) if sum(guesses) else values[0]

    return replace(
        some[0],
        tried=sum(each.tried for each in some),
        guesses=sum(guesses),
        hits=sum(each.hits for each in some),
        allowed=mean("allowed"),
        expected=mean("expected"),
    )


def _masked(views: Sequence[MaskedView | None], rows: Sequence[int]) -> MaskedView | None:
    """What all parts give away: means are over people. Who looks for a record in all parts finds it among no fewer than
    in its own, so what is said of that is at most too high."""
    known = [each for each in views if each is not None]
    if len(known) < len(views):
        return None
    share = np.array(rows) / sum(rows)

    def mean(values: Sequence[Any]) -> Any:
        return None if None in values else tuple((share @ np.array(values)).tolist())

    def of(noun: str, names: Sequence[str]) -> dict[str, Any]:
        nouns = [getattr(each, noun) for each in known]
        return {name: None if None in (v := [getattr(n, name) for n in nouns]) else float(share @ v) for name in names}

    first = known[0]
    matching = first.matching
    carried = [each.carried for each in known]
    return replace(
        first,
        columns=tuple(
            replace(some[0], delta=max(each.delta for each in some), holds=all(each.holds for each in some))
            for some in zip(*(each.columns for each in known), strict=True)
        ),
        carried=None if None in carried else all(carried),
        posterior=replace(
            first.posterior,
            **of("posterior", ("own", "best", "nearly", "certain")),
            highest=max(each.posterior.highest for each in known),
        ),
        belief=None if first.belief is None else replace(first.belief, **of("belief", ("own", "alone", "above"))),
        matching=replace(
            matching,
            people=sum(each.matching.people for each in known),
            exact=all(each.matching.exact for each in known),
            identity=mean([each.matching.identity for each in known]),
            attribute=mean([each.matching.attribute for each in known]),
            identity_covariance=_covariance([each.matching.identity_covariance for each in known], share),
            attribute_covariance=_covariance([each.matching.attribute_covariance for each in known], share),
        ),
    )


def _covariance(parts: Sequence[Any], share: Any) -> Any:
    """Of a mean of estimates that are independent; what is exact has none."""
    there = [weight**2 * np.array(each) for each, weight in zip(parts, share, strict=True) if each is not None]
    return tuple(map(tuple, np.sum(there, axis=0).tolist())) if there else None


def _moved(verdict: Verdict, move: Callable[[Witness], Witness]) -> Verdict:
    """With other witnesses."""
    parts = tuple(replace(part, witness=move(part.witness)) for part in verdict.parts)
    return replace(verdict, parts=parts, witness=move(verdict.witness))


def _numbered(witness: Witness, first: int) -> Witness:
    """With the published number of its group."""
    published = witness.place in ("group", "bucket", "cell") and witness.grouped and witness.subject != "odds"
    return replace(witness, group=witness.group + first) if published and witness.shown is None else witness


def _of_all(witness: Witness, rows: int, shown: Ints) -> Witness:
    """Where a crowd are everybody, or all records that show a value, it is not that of one part."""
    if witness.subject == "odds":  # noise of all counts is alike
        return replace(witness, people=rows)
    return witness if witness.shown is None else replace(witness, people=int(shown[witness.group]))
