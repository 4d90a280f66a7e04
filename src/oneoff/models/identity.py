"""Promises about who a record belongs to.

k-anonymity (Sweeney 2002): everybody shares the published quasi-identifiers with at least k-1 others.
delta-probability (mutual cover, Li et al.): nobody is the origin of a published value with probability above delta;
in a group of equals that probability is one over the size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oneoff.errors import BadGuarantee
from oneoff.models.counts import Counts, Prior
from oneoff.models.model import Flags, Floats, Level, Model, parameter
from oneoff.models.numbers import Number, number_text
from oneoff.models.rule import RuleDraft

__all__ = ["DeltaProbability", "KAnonymity"]


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every group has at least k people."""

    k: int

    name = "k-anonymity"
    larger_is_safer = True
    about = "identity"

    def __post_init__(self) -> None:
        k = parameter(self.k, "k of k-anonymity", least=1)
        if k.denominator != 1:
            raise BadGuarantee("k of k-anonymity is not whole", allowed="a whole number >= 1", got=str(self.k))
        object.__setattr__(self, "k", int(k))

    def spec(self) -> str:
        return f"{self.name}:{self.k}"

    def sentence(self) -> str:
        return f"everybody is one of at least {self.k} people who look the same on the quasi-identifiers"

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        flags: Flags = counts.size < self.k
        return flags

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return counts.size.astype(np.float64)

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return int(counts.size.min())

    def parameter(self) -> Level:
        return self.k

    def at(self, level: Level) -> KAnonymity:
        return KAnonymity(int(level))

    def tighten(self, draft: RuleDraft) -> None:
        draft.least_size = max(draft.least_size, self.k)

    def _needs_prior(self) -> bool:
        return False


@dataclass(frozen=True)
class DeltaProbability(Model):
    """Nobody is the origin of a published record with probability above delta."""

    delta: Fraction

    name = "delta-probability"
    about = "identity"

    def __init__(self, delta: Number) -> None:
        value = parameter(delta, "delta of delta-probability", most=1)
        if value <= 0:
            raise BadGuarantee("delta of delta-probability is not positive", allowed="0 < delta <= 1", got=str(delta))
        object.__setattr__(self, "delta", value)

    def spec(self) -> str:
        return f"{self.name}:{number_text(self.delta)}"

    def sentence(self) -> str:
        return f"nobody is recognised as the origin of a record with a probability above {float(self.delta):.4g}"

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        flags: Flags = counts.size < self.least_size
        return flags

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return 1.0 / counts.size

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return Fraction(1, int(counts.size.min()))

    def parameter(self) -> Level:
        return self.delta

    def at(self, level: Level) -> DeltaProbability:
        return DeltaProbability(level)

    def tighten(self, draft: RuleDraft) -> None:
        draft.least_size = max(draft.least_size, self.least_size)

    def _needs_prior(self) -> bool:
        return False

    @property
    def least_size(self) -> int:
        return math.ceil(1 / self.delta)
