"""Loss measures of a generalized table. All lie between 0 (nothing blurred) and 1 unless said otherwise.

gcp       Global Certainty Penalty in the range variant of paper 000 (section 2): a number costs (max - min) / (U - L),
          a category (values shown - 1) / (domain - 1); mean over people and attributes
gcp_set   the set variant of paper 004 (Definition 8): (values shown - 1) / (domain - 1) for all attributes
ail       Average Information Loss of paper 001 (equations 2-5): a category costs leaves(a) / leaves(H) for the lowest
          common ancestor a of what is shown, 0 for a single value; without a hierarchy the tree is flat
discernibility, average_class_size   sum of squared group sizes; people per group
The variants differ and are not comparable with one another; a figure always says which one it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, UnknownColumn, listing, nearest
from oneoff.models import Counts
from oneoff.releases import Bucketized, Cells, Generalized, Masked, Perturbed, Published, Tallied, of_kind
from oneoff.releases.noise import variance
from oneoff.table import Attribute, Hierarchy, Table
from oneoff.table.arrays import Floats
from oneoff.utility.masking import Masking, masking

__all__ = ["MEASURES", "Utility", "Yardsticks", "utility"]


@dataclass(frozen=True)
class Utility:
    """What was lost; None where a measure does not apply to this release.

    gcp           None for masked values, which are single ones but not the true ones: see iloss

    retention     of perturbed values: the share that is expected to be the true one
    value_error   of perturbed values: the error to be expected in a reconstructed number of people with a value (root
                  mean square), relative to the average number
    msbs          of buckets: the mean squared bucket size of paper 002 (equation 1), bucket_loss / (people - 1)
    bucket_loss   of buckets: the sum of (size - 1)^2 (equation 2)
    iloss         of ranges and of masked values: what a person loses in all quasi-identifiers together (paper 003)
    masking       of masked values: how far they moved (per_attribute has that, too) and what became of distributions
    per_attribute   empty where it is not known how far masked values moved: without the table, or without the links
    """

    gcp: float | None
    gcp_set: float | None
    ail: float | None
    discernibility: int | None
    average_class_size: float | None
    per_attribute: dict[str, float]
    retention: float | None = None
    value_error: float | None = None
    msbs: float | None = None
    bucket_loss: int | None = None
    iloss: float | None = None
    masking: Masking | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def sentence(self) -> str:
        if self.gcp is not None and self.value_error is not None and self.retention is None:
            return (
                f"On average people of a cell span {self.gcp:.2%} of a domain (GCP), and how often each value occurs "
                f"in a cell is shown; the number of all people with a value is off by about {self.value_error:.2%} of "
                "the average one."
            )
        if self.retention is not None and self.value_error is not None:
            return (
                f"Quasi-identifiers are shown as they are; {self.retention:.2%} of the sensitive values are the true "
                f"ones, and a reconstructed number of people with a value is off by {self.value_error:.2%} on average."
            )
        if self.msbs is not None:
            return (
                "Quasi-identifiers are shown as they are; the mean squared bucket size (MSBS) is "
                f"{self.msbs:.1f}, and would be 0 with everybody alone in a bucket."
            )
        if self.masking is not None:
            return self.masking.sentence()
        if self.gcp is None:
            return "Quasi-identifiers are masked; how far their values moved cannot be measured without the table."
        if not any(self.per_attribute.values()):
            return "Quasi-identifiers are shown as they are (GCP 0)."
        worst = max(self.per_attribute, key=lambda name: self.per_attribute[name])
        return (
            f"On average a published value spans {self.gcp:.2%} of its domain (GCP); "
            f"{worst!r} is blurred most, {self.per_attribute[worst]:.2%}."
        )


def utility(
    release: Published,
    table: Table | None = None,
    *,
    domains: Mapping[str, int] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Utility:
    """Measure a release.

    table        the original, needed for masked releases, and for gcp_set of one that was read back from its folder
    domains      domain sizes to use instead of those that occur, e.g. the nominal ones of the literature
    hierarchies  for ail, where the release itself was made without them
    """
    by = Yardsticks(domains or {}, hierarchies or {})
    _check_names(release, [*by.domains, *by.hierarchies])
    return of_kind(MEASURES, release, "there is no measure of")(release, table, by)


@dataclass(frozen=True)
class Yardsticks:
    """What to measure blur by, where the release itself does not say: domain sizes and hierarchies by column."""

    domains: Mapping[str, int]
    hierarchies: Mapping[str, Hierarchy]


def _generalized(release: Generalized, table: Table | None, by: Yardsticks) -> Utility:
    """What every box blurs, weighted with its people."""
    weight, shown, sizes = release.people_in_box / release.rows, release.shown, by.domains
    by_attribute = {a.name: float(weight @ _range_loss(a, c, sizes.get(a.name))) for a, c in shown}
    sets = [_set_loss(_domain(a, table), a, c, sizes.get(a.name)) for a, c in shown]
    averages = [weight @ _information_loss(a, c, by.hierarchies.get(a.name)) for a, c in shown]
    group = None if release.group is None else np.bincount(release.group)
    group = None if group is None else group[group > 0]
    return Utility(
        gcp=float(np.mean(list(by_attribute.values()))),
        gcp_set=None if any(x is None for x in sets) else float(np.mean([weight @ x for x in sets if x is not None])),
        ail=float(np.mean(averages)),
        discernibility=None if group is None else int((group.astype(np.int64) ** 2).sum()),
        average_class_size=None if group is None else release.rows / len(group),
        per_attribute=by_attribute,
        iloss=sum(by_attribute.values()),
    )


def _nothing(release: Published) -> Utility:
    """Nothing is blurred where quasi-identifiers are shown as they are."""
    return Utility(0.0, 0.0, 0.0, None, None, {attribute.name: 0.0 for attribute in release.quasi})


def _bucketized(release: Bucketized, table: Table | None, by: Yardsticks) -> Utility:
    loss = int(((release.people_in_bucket - 1) ** 2).sum())
    return replace(_nothing(release), msbs=loss / max(release.rows - 1, 1), bucket_loss=loss)


def _perturbed(release: Perturbed, table: Table | None, by: Yardsticks) -> Utility:
    people, matrix = release.counts / release.rows, release.channel.matrix
    inverse = np.linalg.inv(matrix)
    variance = (inverse**2).sum(axis=0) @ (matrix @ people) - 1  # of all reconstructed counts, for each person
    error = float(np.sqrt(max(variance, 0.0) * len(people) / release.rows))
    return replace(_nothing(release), retention=float(np.diag(matrix) @ people), value_error=error)


def _masked(release: Masked, table: Table | None, by: Yardsticks) -> Utility:
    """Single values, but not the true ones: what they lose is how far they moved, which the table tells."""
    unknown = Utility(None, None, None, None, None, {})
    if table is None:
        return unknown
    moved = masking(release, table)
    return replace(unknown, per_attribute=moved.per_attribute or {}, iloss=moved.iloss, masking=moved)


def _tallied(release: Tallied, table: Table | None, by: Yardsticks) -> Utility:
    """What cells blur is what their people do not have in common; counts of values are off by their noise."""
    size, rows = release.tallies.size, release.rows
    blurred = {
        attribute.name: float(size @ _spread(attribute, counts) / rows)
        for attribute, counts in zip(release.quasi, release.tallies.columns, strict=True)
    }
    off = math.sqrt(variance(release.epsilon) * release.fields) / (rows / len(release.counts))
    return Utility(
        gcp=float(np.mean(list(blurred.values()))),
        gcp_set=None,
        ail=None,
        discernibility=int((size**2).sum()),
        average_class_size=rows / len(size),
        per_attribute=blurred,
        iloss=sum(blurred.values()),
        value_error=off,
    )


def _spread(attribute: Attribute, counts: Counts) -> Floats:
    """How much of its domain each cell spans: numbers by width, categories by how many of them occur."""
    low, high = counts.value[counts.start[:-1]], counts.value[counts.start[1:] - 1]
    if attribute.kind == "numeric":
        return np.asarray(attribute.scaled[high] - attribute.scaled[low])
    return (counts.distinct - 1) / max(attribute.size - 1, 1)


MEASURES: dict[str, Callable[[Any, Table | None, Yardsticks], Utility]] = {
    "generalized": _generalized,
    "perturbed": _perturbed,
    "bucketized": _bucketized,
    "masked": _masked,
    "tallied": _tallied,
}


def _check_names(release: Published, names: list[str]) -> None:
    known = [attribute.name for attribute in release.quasi]
    for name in names:
        if name not in known:
            raise UnknownColumn(
                f"{name!r} is not a quasi-identifier of the release", allowed=listing(known), hint=nearest(name, known)
            )


def _range_loss(attribute: Attribute, cells: Cells, size: int | None) -> Floats:
    ends = None if attribute.kind == "categorical" else cells.ends()
    if ends is None:
        return _count_loss(cells.values_shown(attribute), size or _leaves(attribute))
    part: Floats = attribute.scaled[ends[1]] - attribute.scaled[ends[0]]
    return part if size is None else _ratio(part * attribute.span, size - 1)


def _set_loss(domain: Attribute | None, attribute: Attribute, cells: Cells, size: int | None) -> Floats | None:
    """None when a range was read back and the values that occur inside it are not known."""
    if cells.complete:
        return _count_loss(cells.values_shown(attribute), size or _leaves(attribute))
    if domain is None:
        return None
    return _count_loss(cells.values_shown(attribute, domain), size or domain.size)


def _domain(attribute: Attribute, table: Table | None) -> Attribute | None:
    """The attribute with all values that occur: from the table, or the release's own when it was never written."""
    return None if table is None else table.attribute(attribute.name)


def _information_loss(attribute: Attribute, cells: Cells, tree: Hierarchy | None) -> Floats:
    """Leaves under the lowest common ancestor of what a box shows; without a hierarchy the tree is flat."""
    own = attribute.hierarchy
    if own is not None and tree is not None:
        raise BadValue(f"{attribute.name!r} was released with a hierarchy of its own", allowed="no other one")
    along = tree if own is None else own
    if along is not None:
        under = cells.leaves_under(attribute, along)
        return np.where(under > 1, under / along.leaf_count, 0.0)
    if attribute.kind == "numeric":
        return _range_loss(attribute, cells, None)
    return (cells.values_shown(attribute) > 1).astype(np.float64)


def _leaves(attribute: Attribute) -> int:
    return attribute.size if attribute.hierarchy is None else attribute.hierarchy.leaf_count


def _count_loss(shown: npt.NDArray[Any], size: int) -> Floats:
    return _ratio((shown - 1).astype(np.float64), size - 1)


def _ratio(part: Floats, whole: float) -> Floats:
    """A constant attribute cannot lose anything."""
    return part / whole if whole > 0 else np.zeros(len(part))
