"""How much one person may move anybody's odds: what a promise allows, and what of it is asked for."""

from __future__ import annotations

import math

from oneoff.errors import BadValue, MethodMismatch
from oneoff.models import Model, prior_of
from oneoff.table import Table

__all__ = ["LEAST_EPSILON", "allowed_epsilon", "lowered"]

LEAST_EPSILON = 0.05  # below, noise drowns everything


def allowed_epsilon(table: Table, model: Model, totals: str) -> float:
    """By how much a value may move the logarithm of anybody's odds; half of that who knows the totals can use twice."""
    whole = model.public_epsilon(prior_of(table))
    allowed = whole / (2 if totals == "known" else 1)
    if allowed >= LEAST_EPSILON:
        return allowed
    unless = "totals=unknown, " if whole >= LEAST_EPSILON else ""
    raise MethodMismatch(
        f"{model.spec()} leaves no room for counts of values: noise would drown them (epsilon {allowed:.3g})",
        allowed=f"a promise whose epsilon is at least {LEAST_EPSILON}",
        got=model.spec(),
        hint=f"{unless}a weaker promise, or a method that makes groups: transversal, burel, mondrian",
    )


def lowered(given: float, allowed: float) -> float:
    """Less than is allowed, for more noise."""
    usable = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
    if usable and LEAST_EPSILON <= given <= allowed:
        return float(given)
    raise BadValue(
        "epsilon is not usable",
        allowed=f"from {LEAST_EPSILON} to {allowed:.6g}, which is what the promise allows",
        got=repr(given),
    )
