"""Similarity: different values may be near each other, and naming their neighbourhood says enough (Li et al. 2007).

Neighbours are the numbers of a stretch of a tenth of the range of all, or the values under one node of the hierarchy
one level above them. A promise that counts each value by itself says nothing about this.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.audit.attacks.attacker import People, Scene
from oneoff.audit.attacks.crowds import crowd_inside, crowd_outside
from oneoff.audit.attacks.finding import Finding, Guesses, compared
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Floats

__all__ = ["neighbourhoods", "similarity", "without_neighbours"]

WIDTH = 0.1  # of the range of all numbers
_CLAIM = (
    "Naming the neighbourhood of values (a tenth of the range, or a node of the hierarchy) most frequent among the "
    "people somebody is shown with"
)


def similarity(scene: Scene) -> Finding:
    """Option: width, the part of the range of numbers that counts as near."""
    near = neighbourhoods(scene.view.sensitive, scene.option("width", WIDTH))
    inside = _guessed(scene.inside.take(scene.anyone), crowd_inside(scene), near)
    others = crowd_outside(scene)
    outside = None if others is None else _guessed(*others, near)
    found = compared(scene, "similarity", _CLAIM, inside, outside, figures={"neighbourhoods": len(near)})
    common = int((scene.view.totals @ near.T).argmax())
    baseline = inside.rate_of(near[common, np.maximum(inside.true, 0)]).share
    return _against(found, baseline)


def _against(found: Finding, baseline: float) -> Finding:
    again = replace(found, baseline=baseline, baseline_is="always naming the most frequent neighbourhood")
    said = [warning for warning in found.warnings if "baseline" not in warning]
    if not again.beats_baseline:
        said.append(f"this attack does not beat its baseline: {again.baseline_is} does as well")
    return replace(again, warnings=tuple(said))


def _guessed(people: People, shares: Floats, near: Flags) -> Guesses:
    """The neighbourhood with the largest share; it is told by its first value."""
    mass = shares @ near.T
    best = mass.argmax(axis=1)
    right = near[best, np.maximum(people.values, 0)] & (people.values >= 0)
    return Guesses(
        people.row,
        near[best].argmax(axis=1).astype(np.int32),
        mass.max(axis=1),
        people.values,
        right.astype(np.float64),
        people.person,
    )


def neighbourhoods(sensitive: Attribute, width: float) -> Flags:
    """[neighbourhood, value]."""
    if sensitive.hierarchy is not None:
        parents = [tuple(map(str, row))[1:2] for row in sensitive.hierarchy.rows()]
        leaf = {str(row[0]): parent for row, parent in zip(sensitive.hierarchy.rows(), parents, strict=True)}
        of = [leaf[str(label)] for label in sensitive.labels]
        return np.array([[mine == parent for mine in of] for parent in dict.fromkeys(of)])
    at = sensitive.scaled
    return (at[None, :] >= at[:, None]) & (at[None, :] <= at[:, None] + width * (1 + 1e-12))


def without_neighbours(scene: Scene) -> str:
    """Why there are none, where there are none."""
    sensitive = scene.view.sensitive
    if sensitive.hierarchy is None and not sensitive.has_order:
        return "the sensitive values have neither an order nor a hierarchy"
    return "values are too many to look at all neighbourhoods" if sensitive.size > 5000 else ""
