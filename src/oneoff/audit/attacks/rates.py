"""How often guesses are right, how sure that is, and how far two such rates are apart.

Intervals are those of Wilson (1927) for a rate and of Newcombe (1998, method 10) for a difference; both hold for rates
near 0 and 1, too. They say how much another sample of people would differ, not how another draw of the method would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["FEWEST", "Difference", "Rate", "difference"]

FEWEST = 30  # people: of fewer nothing can be said
_Z = 1.959963984540054  # 95 %


@dataclass(frozen=True)
class Rate:
    """So many right guesses among those tried; a guess between equals counts with the probability that it is right."""

    hits: float
    tried: int

    @property
    def share(self) -> float:
        return self.hits / self.tried if self.tried else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 %; None where too few people were tried."""
        return None if self.tried < FEWEST else self._wilson()

    def _wilson(self) -> tuple[float, float]:
        n, p = self.tried, self.share
        middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z / (1 + _Z**2 / n) * math.sqrt(max(p * (1 - p), 0.0) / n + _Z**2 / (4 * n * n))
        return max(0.0, min(p, middle - half)), min(1.0, max(p, middle + half))

    def as_dict(self) -> dict[str, Any]:
        return {"rate": self.share, "interval": _listed(self.interval), "hits": self.hits, "tried": self.tried}


@dataclass(frozen=True)
class Difference:
    """One rate minus another; interval: 95 %, None where too few people were tried."""

    amount: float
    interval: tuple[float, float] | None

    def text(self) -> str:
        """In points: of a hundred people."""
        ends = "" if self.interval is None else f" ({100 * self.interval[0]:.1f} to {100 * self.interval[1]:.1f})"
        return f"{100 * self.amount:.1f}{ends} points"

    def as_dict(self) -> dict[str, Any]:
        return {"difference": self.amount, "interval": _listed(self.interval)}


def difference(one: Rate, other: Rate) -> Difference:
    """How much more often the first is right."""
    amount = one.share - other.share
    if one.interval is None or other.interval is None:
        return Difference(amount, None)
    (low, high), (other_low, other_high) = one.interval, other.interval
    below = math.hypot(one.share - low, other_high - other.share)
    above = math.hypot(high - one.share, other.share - other_low)
    return Difference(amount, (max(-1.0, amount - below), min(1.0, amount + above)))


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)
