"""What a recipient can count: how many people of the original table have given properties, estimated from a release.

generalized   people are taken to be spread evenly over what their record shows (paper 001, section 6.2); the interval
              is certain: records that must be meant, and those that can be
perturbed     the published counts, led back through the channel (section 5): unbiased, with a standard error. The
              variance of b'e with b = sum of the wanted rows of the inverse channel is estimated by sum e b^2 - b'e
masked        the records as they are; sensitive values are true, so only these give certain bounds
bucketized    people of a bucket are taken to have its values with equal chances (paper 002, section 3.2); the variance
              is that of drawing without replacement
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import OneoffError, UnknownColumn, listing, nearest
from oneoff.releases.cells import Nodes, Ranges, Sets
from oneoff.releases.exact import Bucketized, Perturbed
from oneoff.releases.generalized import Generalized
from oneoff.releases.masked import Masked
from oneoff.releases.predicate import Condition, Where, conditions
from oneoff.releases.published import Published
from oneoff.table import Attribute

__all__ = ["Estimate", "count", "reconstruct", "unknown_values"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_CONFIDENCE = 1.959963984540054  # standard errors on either side that hold 95 %


@dataclass(frozen=True)
class Estimate:
    """How many people, as far as a release can tell.

    count       between 0 and the people who can be meant
    raw         before it was put between these: unbiased, so sums of many of these are too
    error       standard error; None where the spread inside a record's ranges is not known
    low, high   an interval for the true number: certain for generalized records, 95 % otherwise
    certain     is it?
    """

    count: float
    raw: float
    error: float | None
    low: float
    high: float
    certain: bool

    def sentence(self) -> str:
        sure = "certainly" if self.certain else "with 95 % confidence"
        return f"about {self.count:,.1f} people; {sure} between {self.low:,.1f} and {self.high:,.1f}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "raw": self.raw,
            "standard_error": self.error,
            "low": self.low,
            "high": self.high,
            "certain": self.certain,
        }


def count(release: Published, where: Where) -> Estimate:
    """How many people of the table the release was made from have these properties."""
    asked = conditions(where)
    about_value = [each for each in asked if release.sensitive is not None and each.column == release.sensitive.name]
    about_person = [each for each in asked if each not in about_value]
    wanted = np.ones(len(release.counts), dtype=np.bool_)
    for each in about_value:
        assert release.sensitive is not None
        wanted &= each.holds(release.sensitive.labels)
    match release:
        case Generalized():
            return _from_boxes(release, about_person, wanted)
        case Perturbed():
            shown = np.bincount(release.values[_meant(release, about_person)], minlength=len(wanted))
            return reconstruct(shown, release.channel.matrix, wanted)
        case Bucketized():
            meant = np.bincount(release.bucket[_meant(release, about_person)], minlength=release.buckets)
            return _from_buckets(release, meant, wanted)
        case Masked():
            return _from_masked(release, about_person, wanted)
    raise OneoffError(f"nothing can be counted in a {type(release).__name__}")


def unknown_values(release: Published, where: Where) -> list[str]:
    """What to tell about categories in a question that no record shows: perhaps they were misspelt.

    Numbers are not told: that nobody has one is an answer, and a range does not say which ones occur inside it.
    """
    found = []
    for each in conditions(where):
        labels = _categories(release, each.column)
        for value in [] if labels is None else each.unknown(labels):
            hint = nearest(str(value), map(str, labels)) if labels is not None else ""
            found.append(f"no record shows {value!r} in {each.column!r}{'; ' * bool(hint)}{hint}")
    return found


def _categories(release: Published, name: str) -> npt.NDArray[Any] | None:
    """The categories a column of the release can show; None when it has numbers or dates."""
    if release.sensitive is not None and name == release.sensitive.name:
        attribute = release.sensitive
    else:
        attribute = release.quasi[_attribute(release, name)]
    labels = attribute.labels
    if isinstance(release, Generalized) and attribute.hierarchy is not None and attribute is not release.sensitive:
        labels = np.array(attribute.hierarchy.leaves, dtype=object)
    return labels if labels.dtype.kind in "OUb" else None


def _attribute(release: Published, name: str) -> int:
    names = [attribute.name for attribute in release.quasi]
    if name not in names:
        known = names if release.sensitive is None else [*names, release.sensitive.name]
        raise UnknownColumn(f"the release has no column {name!r}", allowed=listing(known), hint=nearest(name, known))
    return names.index(name)


def _meant(release: Perturbed | Bucketized | Masked, asked: Sequence[Condition]) -> Flags:
    """The records that show these quasi-identifiers."""
    meant = np.ones(release.rows, dtype=np.bool_)
    for each in asked:
        j = _attribute(release, each.column)
        meant &= each.holds(release.quasi[j].labels)[release.codes[:, j]]
    return meant


def reconstruct(shown: npt.NDArray[np.integer[Any]], matrix: Floats, wanted: Flags) -> Estimate:
    """How many of some people have a wanted value, when so many of them show each value (section 5)."""
    if wanted.all():  # everybody is meant, whatever they show
        people = float(shown.sum())
        return Estimate(people, people, 0.0, people, people, False)
    weights = np.linalg.solve(matrix.T, wanted.astype(np.float64))
    raw = float(weights @ shown)
    error = math.sqrt(max(float((weights**2) @ shown) - raw, 0.0))
    return _clipped(raw, error, float(shown.sum()))


def _clipped(raw: float, error: float, most: float) -> Estimate:
    ends = (raw - _CONFIDENCE * error, raw + _CONFIDENCE * error)
    inside, low, high = (min(max(x, 0.0), most) for x in (raw, *ends))
    return Estimate(inside, raw, error, low, high, False)


def _from_buckets(release: Bucketized, meant: npt.NDArray[np.int64], wanted: Flags) -> Estimate:
    shares = release.shares
    with_value = np.bincount(shares.owner, weights=shares.count * wanted[shares.value], minlength=shares.groups)
    share = with_value / shares.size
    raw = float(meant @ share)
    drawn = meant * share * (1 - share) * (shares.size - meant) / np.maximum(shares.size - 1, 1)
    return _clipped(raw, math.sqrt(float(drawn.sum())), float(meant.sum()))


def _from_masked(release: Masked, asked: Sequence[Condition], wanted: Flags) -> Estimate:
    """As published. How far records are from the truth is the steward's secret, so no interval can be given but the
    people with a wanted value, all or none of whom may be meant."""
    possible = wanted[release.values]
    shown = float((possible & _meant(release, asked)).sum())
    low, high = (0.0, float(possible.sum())) if asked else (shown, shown)
    return Estimate(shown, shown, None, low, high, True)


def _from_boxes(release: Generalized, asked: Sequence[Condition], wanted: Flags) -> Estimate:
    part = np.ones(release.boxes)
    for each in asked:
        j = _attribute(release, each.column)
        part *= _covered(each, release.quasi[j], release.cells[j])
    people = np.bincount(release.box[wanted[release.values]], minlength=release.boxes)
    raw = float(people @ part)
    low, high = float(people[part >= 1].sum()), float(people[part > 0].sum())
    return Estimate(raw, raw, None, low, high, True)


def _covered(asked: Condition, attribute: Attribute, cells: Ranges | Sets | Nodes) -> Floats:
    """The part of what each box shows for which the condition is true."""
    if isinstance(cells, Ranges):
        return asked.covered(attribute.labels[cells.low], attribute.labels[cells.high])
    if isinstance(cells, Sets):
        true = asked.holds(attribute.labels)[cells.code].astype(np.float64)
        return np.add.reduceat(true, cells.start[:-1]) / np.diff(cells.start)
    assert attribute.hierarchy is not None
    leaves = np.array(attribute.hierarchy.leaves, dtype=object)
    below = np.concatenate(([0.0], np.cumsum(asked.holds(leaves))))
    first, last = attribute.hierarchy.span(cells.level, cells.node)
    covered: Floats = (below[last + 1] - below[first]) / (last - first + 1)
    return covered
