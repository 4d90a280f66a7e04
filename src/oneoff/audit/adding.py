"""Verdicts on parts of a release, added up to the one on all of it: exact, for a promise is kept where every group,
cell or record keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from oneoff.audit.levels import weakest
from oneoff.audit.verdict import PartVerdict, Verdict, tightest
from oneoff.table.classes import Risk

__all__ = ["whole_verdict"]


def whole_verdict(parts: Sequence[Verdict]) -> Verdict:
    """The verdict on all parts together: the worst of each promise, and everybody who is concerned."""
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
