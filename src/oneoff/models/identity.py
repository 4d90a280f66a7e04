"""Promises about who a record belongs to.

k-anonymity (Sweeney 2002): everybody shares the published quasi-identifiers with at least k-1 others.
delta-probability (mutual cover, Li et al.): nobody is the origin of a published value with probability above delta;
in a group of equals that probability is one over the size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from oneoff.errors import BadGuarantee
from oneoff.models.counts import Counts, Prior
from oneoff.models.model import Level, Model, parameter
from oneoff.models.numbers import Number, number, number_text
from oneoff.models.rule import RuleDraft
from oneoff.table.arrays import Flags, Floats

__all__ = ["DeltaProbability", "KAnonymity"]


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every group has at least k people."""

    k: int

    name = "k-anonymity"
    parameter_name = "k"
    needs_prior = False
    larger_is_safer = True
    about = "identity"

    def __post_init__(self) -> None:
        k = parameter(self.k, "k of k-anonymity", least=1)
        if k.denominator != 1:
            raise BadGuarantee("k of k-anonymity is not whole", allowed="a whole number >= 1", got=str(self.k))
        object.__setattr__(self, "k", int(k))

    def sentence(self) -> str:
        return f"everybody is one of at least {self.k} people who look the same on the quasi-identifiers"

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        flags: Flags = counts.size < self.k
        return flags

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return counts.size.astype(np.float64)

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return int(counts.size.min())

    def at(self, level: Level) -> Self:
        return super().at(int(level))

    def tighten(self, draft: RuleDraft) -> None:
        draft.least_size = max(draft.least_size, self.k)


def _probability(given: Number) -> Fraction:
    """A delta within its bounds, or an error that says them and what may have been meant."""
    allowed = "above 0 and at most 1 (0 < delta <= 1), such as 0.2 or 1/5"
    try:
        value = number(given, "delta of delta-probability")
    except BadGuarantee as error:
        raise BadGuarantee(error.what, allowed=allowed, got=error.got, hint=_share(given) or error.hint) from None
    if 0 < value <= 1:
        return value
    whole = value > 1 and value.denominator == 1
    hint = f"delta is a probability: one of {value} people is delta-probability:1/{value}" if whole else ""
    raise BadGuarantee("delta of delta-probability is out of bounds", allowed=allowed, got=str(given), hint=hint)


def _share(given: Number) -> str:
    """What somebody meant who wrote a percentage."""
    text = str(given).strip()
    try:
        share = number(text[:-1]) / 100 if text.endswith("%") else Fraction(0)
    except BadGuarantee:
        return ""
    return f"write it as {number_text(share)}" if 0 < share <= 1 else ""


@dataclass(frozen=True)
class DeltaProbability(Model):
    """Nobody is the origin of a published record with probability above delta."""

    delta: Fraction

    name = "delta-probability"
    parameter_name = "delta"
    needs_prior = False
    about = "identity"

    def __init__(self, delta: Number) -> None:
        object.__setattr__(self, "delta", _probability(delta))

    def sentence(self) -> str:
        return f"nobody is recognised as the origin of a record with a probability above {float(self.delta):.4g}"

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        flags: Flags = counts.size < self.least_size
        return flags

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return 1.0 / counts.size

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return Fraction(1, int(counts.size.min()))

    def tighten(self, draft: RuleDraft) -> None:
        draft.least_size = max(draft.least_size, self.least_size)

    @property
    def least_size(self) -> int:
        return math.ceil(1 / self.delta)
