"""Skewness: a person is taken to have the value most frequent among those with whom the person is (Li et al. 2007).

Nothing is learned; this is what a reader concludes from counts, and what promises about values are ceilings on.
"""

from __future__ import annotations

import numpy as np

from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.crowds import crowd_inside, crowd_outside
from oneoff.audit.attacks.finding import Finding, best_guess, compared
from oneoff.table.arrays import Floats

__all__ = ["skewness"]

_CLAIM = "Naming the value most frequent among the people somebody is shown with"


def skewness(scene: Scene) -> Finding:
    """Figures: how many times as likely as before a value becomes at most, and on average over people."""
    shares = crowd_inside(scene)
    inside = best_guess(scene.inside.take(scene.anyone), shares)
    others = crowd_outside(scene)
    outside = None if others is None else best_guess(*others)
    return compared(scene, "skewness", _CLAIM, inside, outside, figures=_figures(shares, scene.view.totals))


def _figures(shares: Floats, totals: Floats) -> dict[str, float | int | str | None]:
    before = totals / totals.sum()
    times = (shares / np.maximum(before, 1e-300)).max(axis=1) if len(shares) else np.ones(1)
    apart = np.abs(shares - before).sum(axis=1) / 2 if len(shares) else np.zeros(1)
    return {
        "largest_gain": float(times.max()),
        "mean_gain": float(times.mean()),
        "mean_distance": float(apart.mean()),  # total variation
    }
