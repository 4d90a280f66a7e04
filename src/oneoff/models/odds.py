"""How far one person's own value may move anybody's odds, so that a promise about beliefs is kept.

Let a release be such that changing one person's value changes the probability of every outcome by a factor of at most
e^eps. Then, whatever somebody knew before, everybody else's values included, the odds of "this person has v" move by at
most that factor. So a belief that began at p ends at most at e^eps p / (1 - p + e^eps p), and at least at
p / (p + e^eps (1 - p)). A ceiling c is kept when eps <= ln(odds(c) / odds(p)), a floor f when eps <= ln(odds(p) /
odds(f)), with odds(x) = x / (1 - x). The same holds for the belief that a person has one of several values.

`ENHANCED` is what does for the ceiling (1 - ln p) p, whatever p is: the minimum over p of
ln(odds((1 - ln p) p) / odds(p)) = ln((1 - ln p)(1 - p) / (1 - p + p ln p)), which lies near p = 0.1664.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from oneoff.models.counts import Prior
from oneoff.models.limits import Limits

__all__ = ["ENHANCED", "coarse", "epsilon_of_limits", "highest_belief", "lowest_belief"]

ENHANCED = 1.470387
_MOST = 700.0  # its exponential is still a number, and as good as infinite
_ROUNDING = 1e-12  # more than the logarithms of this file can be off, relative to their size


def highest_belief(p: float, epsilon: float) -> float:
    """What a belief of p can become."""
    gain = math.exp(min(epsilon, _MOST))
    return gain * p / (1 - p + gain * p)


def lowest_belief(p: float, epsilon: float) -> float:
    """The same for a belief that falls."""
    return 1 - highest_belief(1 - p, epsilon)


def coarse(epsilon: float) -> float:
    """A whole number of hundredths, from below: what follows from the shares should not give them away."""
    return max(0, math.floor(epsilon * 100 - _ROUNDING)) / 100 if math.isfinite(epsilon) else epsilon


def epsilon_of_limits(limits: Limits, prior: Prior) -> float:
    """The largest eps that keeps these ceilings and floors for beliefs that begin at these shares, from below.

    Infinite where nothing is bounded, and 0 where a share has reached its ceiling: then nothing may be learnt.
    """
    least = min(_factors(limits, prior), default=None)
    if least is None:
        return math.inf
    return math.log(least) * (1 - _ROUNDING) if least > 1 else 0.0


def _factors(limits: Limits, prior: Prior) -> Iterator[Fraction]:
    """By how much the odds of each value, or of each set of them, may grow or fall; nobody believes what nobody has."""
    floors = limits.floor or (Fraction(0),) * limits.values
    for p, ceiling, floor in zip(prior.shares, limits.ceiling, floors, strict=True):
        yield from _rise(p, ceiling)
        if floor > 0 and p < 1:
            yield _ratio(p, floor)
    for low, high, ceiling in limits.sets:
        yield from _rise(sum(prior.shares[low:high], Fraction(0)), ceiling)


def _rise(p: Fraction, ceiling: Fraction) -> Iterator[Fraction]:
    if p > 0 and ceiling < 1:
        yield _ratio(ceiling, p)


def _ratio(more: Fraction, less: Fraction) -> Fraction:
    """odds(more) / odds(less)."""
    return more * (1 - less) / ((1 - more) * less)
