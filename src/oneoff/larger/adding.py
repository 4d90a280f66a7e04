"""What is said of parts, added up to what is said of all: exact, for a promise is kept where every group keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from oneoff.audit import PartVerdict, Verdict
from oneoff.audit.levels import weakest
from oneoff.audit.verdict import tightest
from oneoff.table.classes import Risk
from oneoff.utility import Utility

__all__ = ["whole_utility", "whole_verdict"]


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


_MEANS = ("gcp", "gcp_set", "ail", "iloss", "msbs", "retention")


def whole_utility(parts: Sequence[Utility], rows: Sequence[int]) -> Utility:
    """Loss of all parts together: that of people adds up over people, squares of groups over groups."""
    first = parts[0]
    means: dict[str, Any] = {name: _mean([getattr(each, name) for each in parts], rows) for name in _MEANS}
    squares = [each.discernibility for each in parts]
    sizes = [each.average_class_size for each in parts]
    groups = [n / size for n, size in zip(rows, sizes, strict=True) if size]
    per_attribute = {
        name: _mean([each.per_attribute[name] for each in parts], rows) or 0.0 for name in first.per_attribute
    }
    return replace(
        first,
        **means,
        discernibility=None if None in squares else sum(each or 0 for each in squares),
        average_class_size=None if None in sizes else sum(rows) / sum(groups),
        per_attribute=per_attribute,
        value_error=_value_error(parts, rows),
    )


def _mean(values: Sequence[float | None], rows: Sequence[int]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.average(known, weights=rows)) if len(known) == len(rows) else None


def _value_error(parts: Sequence[Utility], rows: Sequence[int]) -> float | None:
    """Of the number of all people with a value, relative to the average one: errors of parts are independent."""
    known = [each.value_error for each in parts if each.value_error is not None]
    if len(known) < len(parts):
        return None
    return float(np.sqrt(((np.array(known) * np.array(rows)) ** 2).sum()) / sum(rows))
