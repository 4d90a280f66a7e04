"""l-diversity (Machanavajjhala et al. 2006) in four readings.

l-diversity:5              no value has a share above 1/5 of a group: the ceiling c_v = 1/l, the reading of our papers
distinct-l-diversity:5     every group holds at least 5 different values
entropy-l-diversity:5      -sum q_v ln q_v >= ln 5 in every group
recursive-l-diversity:c=3,l=4   r_1 < c (r_l + r_{l+1} + ... + r_m), r_i the i-th largest count of the group
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Self

import numpy as np

from oneoff.errors import BadGuarantee
from oneoff.models.counts import Counts, Prior
from oneoff.models.limits import Limits
from oneoff.models.model import (
    INFINITE,
    CapModel,
    Level,
    Model,
    exact_maximum,
    maximum_by_group,
    parameter,
    shares,
)
from oneoff.models.numbers import Number, number_text
from oneoff.models.rule import RuleDraft
from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["DistinctLDiversity", "EntropyLDiversity", "LDiversity", "RecursiveLDiversity"]


def _whole(given: Number, name: str) -> int:
    value = parameter(given, name, least=1)
    if value.denominator != 1:
        raise BadGuarantee(f"{name} is not whole", allowed="a whole number >= 1", got=str(given))
    return int(value)


@dataclass(frozen=True)
class LDiversity(CapModel):
    """No value has a share above 1/l of any group."""

    l: Fraction  # noqa: E741 - the name the papers use

    name = "l-diversity"
    parameter_name = "l"
    needs_prior = False
    larger_is_safer = True

    def __init__(self, l: Number) -> None:  # noqa: E741
        object.__setattr__(self, "l", parameter(l, "l of l-diversity", least=1))

    def sentence(self) -> str:
        return f"nobody's value can be guessed with a probability above 1/{number_text(self.l)}"

    def exact_caps(self, prior: Prior) -> Limits:
        return Limits((1 / self.l,) * prior.values)

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return 1.0 / maximum_by_group(counts, shares(counts))

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return 1 / exact_maximum(counts, shares(counts), lambda value, count, size: Fraction(count, size))


@dataclass(frozen=True)
class DistinctLDiversity(Model):
    """Every group holds at least l different values."""

    l: int  # noqa: E741

    name = "distinct-l-diversity"
    parameter_name = "l"
    needs_prior = False
    larger_is_safer = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", _whole(self.l, "l of distinct-l-diversity"))

    def sentence(self) -> str:
        return f"every group of look-alikes holds at least {self.l} different values"

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        flags: Flags = counts.distinct < self.l
        return flags

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        return counts.distinct.astype(np.float64)

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        return int(counts.distinct.min())

    def at(self, level: Level) -> Self:
        return super().at(int(level))

    def tighten(self, draft: RuleDraft) -> None:
        draft.least_distinct = max(draft.least_distinct, self.l)


@dataclass(frozen=True)
class EntropyLDiversity(Model):
    """The values of every group are as varied as l equally frequent ones."""

    l: Fraction  # noqa: E741

    name = "entropy-l-diversity"
    parameter_name = "l"
    needs_prior = False
    larger_is_safer = True

    def __init__(self, l: Number) -> None:  # noqa: E741
        object.__setattr__(self, "l", parameter(l, "l of entropy-l-diversity", least=1))

    def sentence(self) -> str:
        return f"the values of every group are as varied as {number_text(self.l)} equally frequent ones"

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        gap = np.log(self.scores(counts, prior)) - self._log()
        flags: Flags = gap < 0
        close = np.abs(gap) < 1e-9  # too close for floats
        # all values equally often (exactly: the product is whole over size): as varied as they are many
        natural = close & (maximum_by_group(counts, shares(counts)) * counts.distinct < 1 + 1e-12)
        flags[natural] = counts.distinct[natural] < math.ceil(self.l)
        for group in np.flatnonzero(close & ~natural):  # decide in integers
            flags[group] = not self._exactly_enough(counts.count[counts.start[group] : counts.start[group + 1]])
        return flags

    def _exactly_enough(self, count: Ints) -> bool:
        """size^size >= l^size * prod count^count, the inequality without logarithms; only shares matter to it."""
        terms = (count // np.gcd.reduce(count)).tolist()
        size = sum(terms)
        if size <= 2000:
            product = math.prod(c**c for c in terms)
            return bool((size * self.l.denominator) ** size >= self.l.numerator**size * product)
        with localcontext() as context:
            context.prec = 80
            used = sum((c * Decimal(c).ln() for c in terms), Decimal(0))
            bound = size * (Decimal(self.l.numerator).ln() - Decimal(self.l.denominator).ln())
            return bool(size * Decimal(size).ln() - used - bound > Decimal("1e-60"))

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        q = shares(counts)
        return np.asarray(np.exp(-np.add.reduceat(q * np.log(q), counts.start[:-1])), dtype=np.float64)

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        lowest = float(self.scores(counts, prior).min())
        for candidate in (round(lowest, 6), lowest * (1 - 1e-12)):
            if candidate >= 1 and not EntropyLDiversity(candidate).failing(counts, prior).any():
                return candidate
        return 1

    def tighten(self, draft: RuleDraft) -> None:
        # only a whole l has a natural tie (l values equally often); any other bound is moved away from all of them
        bound = self._log() if self.l.denominator == 1 else self._log() + 1e-12
        draft.least_entropy = max(draft.least_entropy, bound)

    def _log(self) -> float:
        try:
            return math.log(self.l)
        except OverflowError:
            return math.log(self.l.numerator) - math.log(self.l.denominator)


@dataclass(frozen=True)
class RecursiveLDiversity(Model):
    """(c, l)-diversity: the most common value of a group stays below c times the tail from the l-th on."""

    c: Fraction
    l: int  # noqa: E741

    name = "recursive-l-diversity"
    parameter_name = "c"
    needs_prior = False

    def __init__(self, c: Number, l: Number) -> None:  # noqa: E741
        value = parameter(c, "c of recursive-l-diversity")
        if value <= 0:
            raise BadGuarantee("c of recursive-l-diversity is not positive", allowed="c > 0", got=str(c))
        object.__setattr__(self, "c", value)
        object.__setattr__(self, "l", _whole(l, "l of recursive-l-diversity"))

    def spec(self) -> str:
        return f"{self.name}:c={number_text(self.c)},l={self.l}"

    def sentence(self) -> str:
        return (
            f"in every group the most common value is rarer than {number_text(self.c)} times "
            f"all values from the {_ordinal(self.l)} most common on"
        )

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        first, tail = self._first_and_tail(counts)
        exact = [bool(a * self.c.denominator >= self.c.numerator * b) for a, b in _pairs(first, tail)]
        return np.array(exact, dtype=np.bool_)

    def scores(self, counts: Counts, prior: Prior) -> Floats:
        first, tail = self._first_and_tail(counts)
        with np.errstate(divide="ignore"):
            return first / tail

    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        """The inequality is strict, so the level lies just above the largest quotient."""
        worst = float(self.scores(counts, prior).max())
        return INFINITE if math.isinf(worst) else worst * (1 + 1e-12)

    def tighten(self, draft: RuleDraft) -> None:
        draft.recursive.append((self.c, self.l))

    def _first_and_tail(self, counts: Counts) -> tuple[Ints, Ints]:
        order = np.lexsort((-counts.count, counts.owner))
        ranked = counts.count[order]
        rank = np.arange(len(ranked)) - counts.start[:-1][counts.owner]
        tail = np.where(rank >= self.l - 1, ranked, 0)
        return ranked[counts.start[:-1]], np.add.reduceat(tail, counts.start[:-1])


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def _pairs(first: Ints, tail: Ints) -> list[tuple[int, int]]:
    return list(zip(first.tolist(), tail.tolist(), strict=True))
