"""Sums, means and shares, from whatever can be counted: how numbers that a release tells are put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oneoff.errors import BadValue
from oneoff.releases.estimate import CONFIDENCE, Estimate
from oneoff.releases.predicate import Condition
from oneoff.table import Attribute
from oneoff.table.arrays import Floats
from oneoff.table.table import MISSING_LABEL

__all__ = ["Amounts", "added", "by_value", "mean_of", "numbers_of", "share_of"]

_MOST_BINS = 200  # of a column that is added up value by value
_STEPS = 40  # halvings, to find the ends of a mean
_NAN = math.nan


@dataclass(frozen=True, eq=False)
class Amounts:
    """each[c] is what somebody with code c of this quasi-identifier counts for: the number, less `shift`."""

    column: int
    each: Floats
    shift: float = 0.0


def numbers_of(attribute: Attribute) -> Floats:
    """The values of a column as numbers, nan for a missing one."""
    labels = attribute.labels
    if labels.dtype.kind in "iuf":
        return labels.astype(np.float64)
    try:
        if labels.dtype.kind not in "OU" or all(label == MISSING_LABEL for label in labels.tolist()):
            raise ValueError
        return np.array([_NAN if label == MISSING_LABEL else float(label) for label in labels.tolist()])
    except ValueError:
        raise BadValue(
            f"{attribute.name!r} holds no numbers that could be added up",
            allowed="a column of numbers",
            got=f"values such as {str(labels[0])[:40]!r}" if len(labels) else "no values",
            hint="count people, or ask for a share of them",
        ) from None


def added(parts: Sequence[Estimate], most: float | None = None) -> Estimate:
    """The sum over disjoint questions. How errors go together is not known, so they add up: never too little."""
    if len(parts) == 1:
        return parts[0]
    raw, low, high = (math.fsum(getattr(each, name) for each in parts) for name in ("raw", "low", "high"))
    errors = [each.error for each in parts]
    error = None if None in errors else math.fsum(each or 0.0 for each in errors)
    certain, weighted = all(each.certain for each in parts), any(each.weighted for each in parts)
    if error is not None and not certain:
        low, high = max(raw - CONFIDENCE * error, low), min(raw + CONFIDENCE * error, high)
    if most is not None:
        low, high = min(low, most), min(high, most)
    low, high = min(low, high), max(low, high)
    names = tuple(dict.fromkeys(name for each in parts for name in each.independent))
    provided = next((each.provided for each in parts if each.provided), "")
    return Estimate(min(max(raw, low), high), raw, error, low, high, certain, weighted, names, provided=provided)


def by_value(column: str, numbers: Floats, labels: Any, count: Callable[[Condition], Estimate]) -> Estimate:
    """A sum over people as one over values: what each of them is, times how many people have it."""
    parts = [_times(count(condition), *ends) for condition, ends in _bins(column, numbers, labels)]
    if not parts:
        return Estimate(0.0, 0.0, None, 0.0, 0.0, True)
    known = ~np.isnan(numbers)  # nobody counts twice: no sum is beyond that of all people with the same number
    most = count(Condition(column, among=tuple(labels[known].tolist()))).high
    found, ends = (
        added(parts),
        (most * min(0.0, float(numbers[known].min())), most * max(0.0, float(numbers[known].max()))),
    )
    low, inside, high = (min(max(each, ends[0]), ends[1]) for each in (found.low, found.count, found.high))
    return replace(found, low=low, count=inside, high=high)


def _bins(column: str, numbers: Floats, labels: Any) -> Iterator[tuple[Condition, tuple[float, float, float]]]:
    """Values, or some of them together where there are too many, with their mean, the least and the largest."""
    known = np.flatnonzero(~np.isnan(numbers))
    order = known[np.argsort(numbers[known], kind="stable")]
    for some in np.array_split(order, min(_MOST_BINS, len(order))) if len(order) else ():
        values = numbers[some]
        yield Condition(column, among=tuple(labels[some].tolist())), (float(values.mean()), values[0], values[-1])


def _times(count: Estimate, mean: float, least: float, largest: float) -> Estimate:
    ends = [end * number for end in (count.low, count.high) for number in (least, largest)]
    raw, low, high = mean * count.raw, float(min(ends)), float(max(ends))
    error = None if count.error is None else max(abs(least), abs(largest)) * count.error
    return replace(count, count=min(max(raw, low), high), raw=raw, error=error, low=low, high=high)


def mean_of(
    people: Estimate, sums: Callable[[Sequence[float]], list[Estimate]], ends: tuple[float, float], at_once: int = 1
) -> Estimate:
    """The mean of a number over some people, when sums([m]) is the sum of what everybody's number is beyond m, and so
    many of these are looked at together.

    With standard errors: to the first order, the error of the mean is that of the sum beyond it, for each person.
    Without: the true mean is a number beyond which the sum can be nothing.
    """

    def less(beyond: float) -> Estimate:
        return sums([beyond])[0]

    total = less(0.0)
    if people.high <= 0 or people.raw <= 0:
        low, high = ends if people.high > 0 else (_NAN, _NAN)
        return replace(total, count=_NAN, raw=_NAN, error=None, low=low, high=high)
    raw = total.raw / people.raw
    mean = min(max(raw, ends[0]), ends[1])
    if total.error is not None:
        error = (less(mean).error or 0.0) / people.raw
        low, high = max(mean - CONFIDENCE * error, ends[0]), min(mean + CONFIDENCE * error, ends[1])
        return replace(total, count=mean, raw=raw, error=error, low=low, high=high)
    high = _furthest(lambda at: [each.high >= 0 for each in sums(at)], *ends, at_once)
    low = _furthest(lambda at: [each.low <= 0 for each in sums(at)], *ends[::-1], at_once)
    return replace(total, count=min(max(mean, low), high), raw=raw, low=low, high=high)


def _furthest(possible: Callable[[Sequence[float]], list[bool]], near: float, far: float, at_once: int = 1) -> float:
    """Up to where a mean is possible, which it is near by; rather a little further than not as far. So many places
    between are looked at together, in as many steps as it takes to come as near as with halvings."""
    if possible([far])[0]:
        return far
    for _ in range(math.ceil(_STEPS / math.log2(at_once + 1))):
        between = [near + (far - near) * i / (at_once + 1) for i in range(1, at_once + 1)]
        beyond = (*possible(between), False).index(False)
        near, far = (near, *between)[beyond], (*between, far)[beyond]
    return far


def share_of(inside: Estimate, others: Estimate) -> Estimate:
    """How many of some people are inside, when the others of them are not.

    With standard errors, to the first order: moving one person changes the share by the part of those on the other
    side. Without: the fewest inside beside the most others, and the other way round.
    """
    whole = inside.raw + others.raw
    if whole <= 0 or inside.high + others.high <= 0:
        return replace(inside, count=_NAN, raw=_NAN, error=None, low=0.0, high=1.0, quantity="share")
    raw, error = inside.raw / whole, None
    part = min(max(raw, 0.0), 1.0)
    low, high = _part(inside.low, others.high), _part(inside.high, others.low)
    if inside.error is not None and others.error is not None:
        error = ((1 - part) * inside.error + part * others.error) / whole
    certain = inside.certain and others.certain
    if error is not None and not certain:
        low, high = max(part - CONFIDENCE * error, 0.0), min(part + CONFIDENCE * error, 1.0)
    names = tuple(dict.fromkeys((*inside.independent, *others.independent)))
    made = Estimate(min(max(part, low), high), raw, error, low, high, certain)
    provided = inside.provided or others.provided
    return replace(made, weighted=inside.weighted, independent=names, provided=provided, quantity="share")


def _part(one: float, other: float) -> float:
    return one / (one + other) if one + other > 0 else 0.0
