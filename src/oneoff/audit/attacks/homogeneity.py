"""Homogeneity: where all among whom a person is have one value, it is the person's (Machanavajjhala et al. 2006)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.audit.attacks.attacker import People, Scene
from oneoff.audit.attacks.crowds import crowd_inside, crowd_outside
from oneoff.audit.attacks.finding import Finding, Guesses, best_guess, compared
from oneoff.releases import Published
from oneoff.table.arrays import Floats

__all__ = ["homogeneity", "homogeneous_groups"]

_CLAIM = "Naming a value where everybody a person is shown with has the same one"
_CERTAIN = 1 - 1e-9


def homogeneity(scene: Scene) -> Finding:
    """Guess only where nothing is left to guess; people about whom there is no guess count as not found."""
    inside = _certain(scene.inside.take(scene.anyone), crowd_inside(scene))
    others = crowd_outside(scene)
    outside = None if others is None else _certain(*others)
    found = compared(scene, "homogeneity", _CLAIM, inside, outside, figures=_figures(inside))
    return replace(found, baseline=0.0, baseline_is="naming nobody's value", warnings=_without_baseline(found))


def _certain(people: People, shares: Floats) -> Guesses:
    guesses = best_guess(people, shares)
    sure = guesses.belief >= _CERTAIN
    return replace(guesses, guess=np.where(sure, guesses.guess, -1), right=np.where(sure, guesses.right, 0.0))


def _figures(inside: Guesses) -> dict[str, float | int | str | None]:
    sure = inside.guess >= 0
    return {"certain": inside.people_where(sure), "wrong": inside.people_where(sure & (inside.right == 0))}


def _without_baseline(found: Finding) -> tuple[str, ...]:
    return tuple(warning for warning in found.warnings if "baseline" not in warning)


def homogeneous_groups(release: Published) -> str:
    """What the release alone tells: groups in which everybody has one value."""
    group, values = getattr(release, "group", None), getattr(release, "values", None)
    if group is None or values is None or release.sensitive is None:
        return ""
    size = np.bincount(group)
    pairs = np.unique(np.stack((group, values)), axis=1)[0]
    alike = np.bincount(pairs, minlength=len(size)) == 1
    people, among = int(size[alike].sum()), int((size > 0).sum())
    where = f"{int(alike.sum()):,} of {among:,} groups in which all have one value"
    who = "people" if release.persons is None else f"rows (of {release.persons:,} people)"
    return f"Homogeneity: {people:,} of {release.rows:,} {who} are in {where}."
