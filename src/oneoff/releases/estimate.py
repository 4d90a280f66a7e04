"""How many people, as far as a release can tell: an estimate with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.card import card
from oneoff.table.arrays import Flags, Floats

__all__ = ["CONFIDENCE", "Estimate", "between", "estimated", "reconstruct", "together"]

CONFIDENCE = 1.959963984540054  # standard errors on either side that hold 95 %


@dataclass(frozen=True)
class Estimate:
    """How many people, as far as a release can tell.

    count       between 0 and the people who can be meant
    raw         before it was put between these: unbiased, so sums of many of these are too
    error       standard error; None where the spread inside a record's ranges is not known
    low, high   an interval for the true number: certain for generalized records, 95 % otherwise
    certain     is it? Where there is a standard error as well, `likely` is narrower
    weighted    weights were added up, not people
    independent   columns that were taken to have nothing to do with each other inside a cell; the interval holds
                however they go together
    provided    what the interval takes for granted, where that is more than chance: it holds "if ..."
    quantity    what it is, where it is no number of people: "sum of stay", "mean of stay", "share"
    least, most   what the true number cannot be beyond, whatever chance did, where chance did anything
    """

    count: float
    raw: float
    error: float | None
    low: float
    high: float
    certain: bool
    weighted: bool = False
    independent: tuple[str, ...] = ()
    quantity: str = ""
    least: float = field(default=0.0, repr=False, compare=False)
    most: float = field(default=math.inf, repr=False, compare=False)
    provided: str = ""

    @property
    def value(self) -> float:
        """The same as `count`, for what is no count."""
        return self.count

    def __repr__(self) -> str:
        return f"<{self.sentence()}>"

    @property
    def likely(self) -> tuple[float, float]:
        """The interval of 95 %, which is inside the certain one where both are known."""
        if not self.certain or self.error is None:
            return self.low, self.high
        reach = CONFIDENCE * self.error
        return max(self.count - reach, self.low), min(self.count + reach, self.high)

    def sentence(self) -> str:
        sure = "certainly" if self.certain else "with 95 % confidence"
        about = f"about {self.shown(self.count)}{self._unit()}"
        between = f"{sure} between {self.shown(self.low)} and {self.shown(self.high)}"
        if self.likely != (self.low, self.high):
            low, high = map(self.shown, self.likely)
            between = f"with 95 % confidence between {low} and {high}, {between}"
        if self.independent:
            names = " and ".join(map(repr, self.independent))
            return (
                f"{about}, if {names}, which were not counted together, have nothing to do with each other inside a "
                f"cell; however they go together, {between}"
            )
        return f"{about}; {between}{f', if {self.provided}' * bool(self.provided)}"

    def shown(self, number: float) -> str:
        """A number as it is printed: shares in per cent, means to four digits."""
        if math.isnan(number):
            return "nothing"
        if self.quantity == "share":
            return f"{100 * number:.1f} %"
        return f"{number:,.4g}" if self.quantity.startswith("mean") and abs(number) < 1000 else f"{number:,.1f}"

    def _unit(self) -> str:
        weight = " by weight" if self.weighted else ""
        return f", the {self.quantity}{weight}" if self.quantity else f" people{weight}"

    def _repr_html_(self) -> str:
        error = "not known" if self.error is None else self.shown(self.error)
        return card(f"{self.shown(self.count)}{self._unit()}", [("standard error", error)], self.sentence())

    def as_dict(self) -> dict[str, Any]:
        return {
            **({"quantity": self.quantity, "value": self.count} if self.quantity else {"count": self.count}),
            "raw": self.raw,
            "standard_error": self.error,
            "low": self.low,
            "high": self.high,
            "certain": self.certain,
            **({"likely": list(self.likely)} if self.certain and self.error is not None else {}),
            **({"weighted": True} if self.weighted else {}),
            **({"independent": list(self.independent)} if self.independent else {}),
            **({"provided": self.provided} if self.provided else {}),
        }


def estimated(raw: float, error: float, most: float) -> Estimate:
    """From an unbiased number with its standard error: never fewer than none, never more than can be meant."""
    ends = (raw - CONFIDENCE * error, raw + CONFIDENCE * error)
    inside, low, high = (min(max(x, 0.0), most) for x in (raw, *ends))
    return Estimate(inside, raw, error, low, high, False, most=most)


def between(raw: float, error: float, least: float, most: float) -> Estimate:
    """From an unbiased sum with its standard error, when it cannot be less than one number or more than another."""
    ends = (raw - CONFIDENCE * error, raw + CONFIDENCE * error)
    inside, low, high = (min(max(x, least), most) for x in (raw, *ends))
    return Estimate(inside, raw, error, low, high, False, least=least, most=most)


def together(parts: Sequence[Estimate]) -> Estimate:
    """The sum over parts of a release: chance worked in each by itself, so variances add up; certain bounds do, too."""
    raw, low, high = (math.fsum(getattr(each, name) for each in parts) for name in ("raw", "low", "high"))
    if any(each.error is None for each in parts):
        return Estimate(min(max(raw, low), high), raw, None, low, high, all(each.certain for each in parts))
    error = math.sqrt(math.fsum((each.error or 0.0) ** 2 for each in parts))
    if all(each.certain for each in parts):
        return Estimate(min(max(raw, low), high), raw, error, low, high, True)
    bounds = [(each.low, each.high) if each.certain else (each.least, each.most) for each in parts]
    return between(raw, error, *(math.fsum(ends) for ends in zip(*bounds, strict=True)))


def reconstruct(shown: npt.NDArray[np.integer[Any]], matrix: Floats, wanted: Flags) -> Estimate:
    """How many of some people have a wanted value, when so many of them show each value (paper 001, section 5).

    What they show is led back through the channel: unbiased, with a standard error. The variance of b'e with b = sum of
    the wanted rows of the inverse channel is estimated by sum e b^2 - b'e.
    """
    if wanted.all():  # everybody is meant, whatever they show
        people = float(shown.sum())
        return estimated(people, 0.0, people)
    weights = np.linalg.solve(matrix.T, wanted.astype(np.float64))
    raw = float(weights @ shown)
    error = math.sqrt(max(float((weights**2) @ shown) - raw, 0.0))
    return estimated(raw, error, float(shown.sum()))
