"""beta-likeness (Cao and Karras 2012): a group may raise the belief in a value only in proportion to its rarity.

basic      q_v <= (1 + beta) p_v                   (Definition 2)
enhanced   q_v <= (1 + min(beta, -ln p_v)) p_v     (Definition 3): also common values stay below certainty
with p_v the share of v in the whole table and q_v its share in a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oneoff.models.caps import Caps
from oneoff.models.counts import Counts, Prior
from oneoff.models.model import (
    INFINITE,
    CapModel,
    Floats,
    Level,
    exact_maximum,
    maximum_by_group,
    parameter,
    prior_shares,
    shares,
)
from oneoff.models.numbers import Number, log_below, number_text

__all__ = ["BasicBetaLikeness", "BetaLikeness"]


def _gain(counts: Counts, prior: Prior) -> Floats:
    """q/p - 1 for each entry; infinite for a value the whole table does not hold."""
    with np.errstate(divide="ignore"):
        return shares(counts) / prior_shares(counts, prior) - 1


def _exact_gain(counts: Counts, prior: Prior) -> Level:
    gain = _gain(counts, prior)
    if np.isinf(gain).any():
        return INFINITE
    total = prior.total
    worst = exact_maximum(counts, gain, lambda value, count, size: Fraction(count * total, size * prior.count[value]))
    return max(worst - 1, Fraction(0))


@dataclass(frozen=True)
class BasicBetaLikeness(CapModel):
    """No value is more than 1 + beta times as frequent in a group as in the whole table."""

    beta: Fraction

    name = "basic-beta-likeness"

    def __init__(self, beta: Number) -> None:
        object.__setattr__(self, "beta", parameter(beta, "beta of beta-likeness", least=0))

    def spec(self) -> str:
        return f"{self.name}:{number_text(self.beta)}"

    def sentence(self) -> str:
        return f"nobody's value becomes more than {number_text(1 + self.beta)} times as likely as in the whole table"

    def exact_caps(self, prior: Prior) -> Caps:
        return Caps(tuple(min(Fraction(1), (1 + self.beta) * p) for p in prior.shares))

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return maximum_by_group(counts, np.maximum(_gain(counts, prior), 0.0))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return _exact_gain(counts, prior)

    def parameter(self) -> Level:
        return self.beta

    def at(self, level: Level) -> BasicBetaLikeness:
        return BasicBetaLikeness(level)


@dataclass(frozen=True)
class BetaLikeness(CapModel):
    """Basic beta-likeness that also keeps common values from becoming certain."""

    beta: Fraction

    name = "beta-likeness"

    def __init__(self, beta: Number) -> None:
        object.__setattr__(self, "beta", parameter(beta, "beta of beta-likeness", least=0))

    def spec(self) -> str:
        return f"{self.name}:{number_text(self.beta)}"

    def sentence(self) -> str:
        return (
            f"nobody's value becomes more than {number_text(1 + self.beta)} times as likely as in the whole table, "
            "and common values less than that"
        )

    def exact_caps(self, prior: Prior) -> Caps:
        return _caps(prior, self.beta)

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        gain = np.maximum(_gain(counts, prior), 0.0)
        with np.errstate(divide="ignore"):
            hopeless = gain > -np.log(prior_shares(counts, prior)) + 1e-12
        return maximum_by_group(counts, np.where(hopeless, INFINITE, gain))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return INFINITE if _caps(prior, None).failing(counts).any() else _exact_gain(counts, prior)

    def parameter(self) -> Level:
        return self.beta

    def at(self, level: Level) -> BetaLikeness:
        return BetaLikeness(level)


def _caps(prior: Prior, beta: Fraction | None) -> Caps:
    """(1 + min(beta, -ln p)) p, worked out once for each count: there are far fewer of these than values."""

    def cap(p: Fraction) -> Fraction:
        return (1 + (_surprise(p) if beta is None else min(beta, _surprise(p)))) * p

    by_count = {count: cap(Fraction(count, prior.total)) for count in set(prior.count)}
    return Caps(tuple(by_count[count] for count in prior.count))


def _surprise(p: Fraction) -> Fraction:
    """-ln p, from below; a value that does not occur has cap zero whatever this says."""
    return log_below(1 / p) if p > 0 else Fraction(0)
