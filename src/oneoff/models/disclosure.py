"""delta-disclosure privacy (Brickell and Shmatikov 2008): |ln(q_v / p_v)| < delta for every value and group.

Every value must occur in every group, no more than e^delta and no less than e^-delta times its usual share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oneoff.errors import BadGuarantee
from oneoff.models.counts import Counts, Prior
from oneoff.models.limits import Limits
from oneoff.models.model import INFINITE, CapModel, Level, maximum_by_group, parameter, prior_shares, shares
from oneoff.models.numbers import Number, exp_below
from oneoff.table.arrays import Floats

__all__ = ["DeltaDisclosure"]

_STRICT = 1 + 1e-12
_ROUNDING = 1e-15  # of a logarithm of a quotient of shares
_ANYTHING = Fraction(200)  # e^200 times as likely: no table of people tells this from a larger delta


@dataclass(frozen=True)
class DeltaDisclosure(CapModel):
    """The logarithm of the belief in any value moves by less than delta."""

    delta: Fraction

    name = "delta-disclosure"
    parameter_name = "delta"

    def __init__(self, delta: Number) -> None:
        value = parameter(delta, "delta of delta-disclosure")
        if value <= 0:
            raise BadGuarantee("delta of delta-disclosure is not positive", allowed="delta > 0", got=str(delta))
        object.__setattr__(self, "delta", value)

    def sentence(self) -> str:
        factor = math.exp(float(min(self.delta, _ANYTHING)))
        return f"nobody's value becomes {factor:.3g} times as likely, or as unlikely, as in the whole table"

    def exact_caps(self, prior: Prior) -> Limits:
        # e^delta is irrational for a rational delta > 0, so < and <= are the same here
        factor = exp_below(min(self.delta, _ANYTHING))
        shrink = 1 / factor
        return Limits(
            tuple(min(Fraction(1), factor * p) for p in prior.shares), tuple(shrink * p for p in prior.shares)
        )

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        with np.errstate(divide="ignore"):
            moved = np.abs(np.log(shares(counts) / prior_shares(counts, prior)))
        absent = counts.distinct < sum(count > 0 for count in prior.count)
        return np.where(absent, INFINITE, maximum_by_group(counts, moved))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        worst = float(self.scores(counts, prior).max())
        return INFINITE if math.isinf(worst) else max(worst * _STRICT + _ROUNDING, 1e-12)
