"""How much one person may move anybody's odds: what a promise allows, and what of it is asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from oneoff.errors import BadValue, MethodMismatch, listing
from oneoff.models import Model, prior_of
from oneoff.table import Table

__all__ = ["LEAST_EPSILON", "allowed_epsilon", "divided", "lowered"]

LEAST_EPSILON = 0.05  # below, noise drowns everything
_STEPS = 10_000  # of epsilon that a part of it is a whole number of


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


def divided(epsilon: float, values: Mapping[str, int], shares: Any = None) -> dict[str, float]:
    """The part of epsilon for the counts of each column, which together are no more than epsilon.

    values   how many each column has. By default parts grow with the fourth root of them: errors are foretold to grow
             with m^0.36 and to fall with eps^0.35 (`oneoff.auto`), so that their sum is least for parts like m^0.27
    shares   other proportions, as a mapping or as `diag:3,stay:2`
    """
    weight = {name: many**0.25 for name, many in values.items()} if shares is None else _weights(shares, list(values))
    whole = math.fsum(weight.values())
    steps = {name: math.floor(epsilon * each / whole * _STEPS) for name, each in weight.items()}
    if sum(Fraction(each / _STEPS) for each in steps.values()) > Fraction(epsilon):  # where rounding has it so
        steps[max(steps, key=lambda name: steps[name])] -= 1
    parts = {name: each / _STEPS for name, each in steps.items()}
    least = min(parts, key=lambda name: parts[name])
    if parts[least] < LEAST_EPSILON:
        raise MethodMismatch(
            f"there is too little epsilon for the counts of {len(parts)} columns: noise would drown those of {least!r} "
            f"(epsilon {parts[least]:.3g} of {epsilon:.3g})",
            allowed=f"an epsilon of at least {LEAST_EPSILON} for each",
            got=", ".join(f"{name} {part:.3g}" for name, part in parts.items()),
            hint="a weaker promise, fewer sensitive columns, or --option shares=... that gives it more",
        )
    return parts


def _weights(given: Any, names: list[str]) -> dict[str, float]:
    """Proportions by column, one for each."""
    pairs = (
        given.items() if isinstance(given, Mapping) else [each.rpartition(":")[::2] for each in str(given).split(",")]
    )
    try:
        found = {str(name).strip(): float(share) for name, share in pairs}
    except (TypeError, ValueError):
        found = {}
    if found.keys() == set(names) and all(0 < share < math.inf for share in found.values()):
        return {name: found[name] for name in names}
    raise BadValue(
        "shares of epsilon are not usable",
        allowed=f"a positive number for each of {listing(names)}, e.g. {','.join(f'{name}:1' for name in names)}",
        got=repr(given),
    )
