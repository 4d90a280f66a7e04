"""What every promise can do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from oneoff.errors import BadGuarantee, BadValue
from oneoff.models.counts import Counts, CountsLike, Prior, PriorLike
from oneoff.models.limits import ANYBODY, Limits
from oneoff.models.numbers import Number, number, number_text
from oneoff.models.odds import coarse, epsilon_of_limits
from oneoff.models.rule import Rule, RuleDraft
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Floats
from oneoff.table.classes import look_alikes

__all__ = ["CapModel", "Level", "Model", "exact_maximum", "parameter"]

Level = int | float | Fraction


class Model(ABC):
    """A promise: a frozen dataclass of its parameters.

    name             how its spec string begins
    parameter_name   the field that a level is compared with
    larger_is_safer  True for k and l, False for beta, t, delta, c, theta
    about            "values" (what a person has) or "identity" (who a record is)
    needs_prior      False when a group can be judged without the whole table
    """

    name: ClassVar[str]
    parameter_name: ClassVar[str]
    larger_is_safer: ClassVar[bool] = False
    about: ClassVar[str] = "values"
    needs_prior: ClassVar[bool] = True

    def spec(self) -> str:
        """The promise as text; parsing it gives the promise back. Those of several parameters write their own."""
        return f"{self.name}:{number_text(Fraction(self.parameter()))}"

    @abstractmethod
    def sentence(self) -> str:
        """The promise in one plain sentence."""

    @abstractmethod
    def failing(self, counts: Counts, prior: Prior) -> Flags:
        """Which groups break the promise, decided exactly."""

    @abstractmethod
    def scores(self, counts: Counts, prior: Prior) -> Floats:
        """The level of each group to float accuracy, to find the worst one and to draw."""

    @abstractmethod
    def worst_level(self, counts: Counts, prior: Prior) -> Level:
        """The level all groups reach together."""

    def parameter(self) -> Level:
        """The number a level is compared with."""
        value: Level = getattr(self, self.parameter_name)
        return value

    def at(self, level: Level) -> Self:
        """The same promise with this level as its parameter."""
        return replace(self, **{self.parameter_name: level})  # type: ignore[type-var]  # each is a dataclass

    @abstractmethod
    def tighten(self, draft: RuleDraft) -> None:
        """Add this promise to a rule for the compiled loops."""

    def holds(self, counts: CountsLike, prior: PriorLike | None = None) -> bool:
        """Does every group keep the promise? Counts: a vector or a matrix with a row for each group."""
        return not self.failing(*self._arguments(counts, prior)).any()

    def level(self, counts: CountsLike, prior: PriorLike | None = None) -> Level:
        """The strongest parameter all groups keep; infinite when no parameter would do."""
        return self.worst_level(*self._arguments(counts, prior))

    def caps(self, prior: PriorLike) -> Limits | None:
        """The ceilings on belief this promise stands for, or None when it is not made of ceilings."""
        return None

    def epsilon(self, prior: Prior) -> float:
        """The most by which the logarithm of anybody's odds about a value may move (see `models.odds`).

        Infinite for a promise that is not about values, 0 for one that is not made of ceilings.
        """
        return math.inf if self.about == "identity" else 0.0

    def public_epsilon(self, prior: Prior) -> float:
        """An epsilon to publish: no larger, and coarse where it follows from the shares of values."""
        return self.epsilon(prior)

    def unprotected(self, prior: Prior) -> tuple[int, ...]:
        """Values the promise leaves open although it sounds as if it protected them: worth telling who makes it."""
        return ()

    def bind(self, sensitive: Attribute | None) -> Model:
        """The promise with what it needs to know about the sensitive column filled in."""
        if sensitive is None and self.about == "values":
            raise BadGuarantee(
                f"{self.spec()} protects a sensitive value, but no sensitive column was named",
                allowed="a sensitive column, or a promise about identity such as k-anonymity:10",
                hint="name it with sensitive='...' or --sensitive",
            )
        return self

    def rule(self, prior: PriorLike, largest: int) -> Rule:
        """The promise as arrays, for groups of at most `largest` people."""
        draft = RuleDraft(Prior.of(prior), largest)
        self.tighten(draft)
        return draft.freeze()

    def limits(self, prior: PriorLike, people: int) -> Limits:
        """Ceilings and least size together, for groups of at most so many people; ANYBODY where values play no part."""
        draft = RuleDraft(Prior.of(prior), people)
        self.tighten(draft)
        return (draft.limits or ANYBODY).with_least_size(draft.least_size).up_to(people)

    def parts(self) -> tuple[Model, ...]:
        """The single promises this one is joined from."""
        return (self,)

    def says_of(self, name: str) -> bool:
        """Is anything promised about that one of several sensitive columns?"""
        return True

    def for_column(self, name: str) -> Model:
        """What is promised about one of several sensitive columns: the same for all, unless it says so."""
        return self

    def _arguments(self, counts: CountsLike, prior: PriorLike | None) -> tuple[Counts, Prior]:
        table = Counts.of(counts)
        if prior is None:
            if self.needs_prior:
                raise BadValue(f"{self.spec()} compares groups with the whole table: its prior is needed")
            return table, Prior((1,) * (int(table.value.max()) + 1))
        whole = Prior.of(prior)
        if int(table.value.max()) >= whole.values:
            raise BadValue(
                "counts have more values than the prior",
                allowed=f"{whole.values} values",
                got=f"{int(table.value.max()) + 1} values",
            )
        return table, whole

    def __str__(self) -> str:
        return self.spec()


class CapModel(Model):
    """A promise that is nothing but ceilings (and floors) on belief."""

    epsilon_from_shares: ClassVar[bool] = True  # or does the same one do, whatever the shares are?

    @abstractmethod
    def exact_caps(self, prior: Prior) -> Limits:
        """The ceilings for this prior."""

    def caps(self, prior: PriorLike) -> Limits:
        return self.exact_caps(Prior.of(prior))

    def epsilon(self, prior: Prior) -> float:
        return epsilon_of_limits(self.exact_caps(prior), prior)

    def public_epsilon(self, prior: Prior) -> float:
        return coarse(self.epsilon(prior)) if self.epsilon_from_shares else self.epsilon(prior)

    def failing(self, counts: Counts, prior: Prior) -> Flags:
        return self.exact_caps(prior).failing(counts)

    def tighten(self, draft: RuleDraft) -> None:
        draft.add(self.exact_caps(draft.prior))


def parameter(given: Number, name: str, *, least: Number | None = None, most: Number | None = None) -> Fraction:
    """A parameter within its bounds, or an error that says them."""
    value = number(given, name)
    low, high = (None if bound is None else number(bound) for bound in (least, most))
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = [f"at least {least}"] * (least is not None) + [f"at most {most}"] * (most is not None)
        nearest = low if low is not None and value < low else high
        hint = "" if nearest is None else f"{number_text(nearest)} is the nearest that is possible"
        raise BadGuarantee(f"{name} is out of bounds", allowed=" and ".join(bounds), got=str(given), hint=hint)
    return value


def exact_maximum(counts: Counts, score: Floats, exact: Callable[[int, int, int], Fraction]) -> Fraction:
    """The exact maximum of a quotient over all entries.

    Floats find the entries that could be it; those are compared as fractions of (value, count, group size).
    """
    top = float(score.max())
    near = np.flatnonzero(score >= top - 1e-9 * max(1.0, abs(top)))
    value, count, size = counts.value[near], counts.count[near], counts.size[counts.owner[near]]
    one_of_each = np.unique(look_alikes([value, count, size]), return_index=True)[1]
    return max(exact(int(value[i]), int(count[i]), int(size[i])) for i in one_of_each)


def maximum_by_group(counts: Counts, entries: Floats) -> Floats:
    """The largest entry of each group."""
    return np.maximum.reduceat(entries, counts.start[:-1])


def shares(counts: Counts) -> Floats:
    """The share of its group each entry has."""
    return counts.count / counts.size[counts.owner]


def prior_shares(counts: Counts, prior: Prior) -> Floats:
    """The share of the whole table each entry's value has."""
    return np.array([float(share) for share in prior.shares])[counts.value]


INFINITE = math.inf
