"""The one idea: a ceiling on what anyone may believe about anyone, for each sensitive value.

A promise is a ceiling c_v for every value v (delta-disclosure adds a floor): after seeing the release, nobody may
believe "this person has v" with a probability above c_v. In a group of equals the belief is the share of v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from oneoff.models.counts import Counts
from oneoff.models.numbers import fraction_above, fraction_below

__all__ = ["Caps"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Caps:
    """Exact ceilings (and floors, where the promise has them) on the belief in each value."""

    ceiling: tuple[Fraction, ...]
    floor: tuple[Fraction, ...] | None = None

    def ratios(self, largest: int) -> tuple[Ints, Ints]:
        """Ceilings as numerator and denominator, exact for every group of at most `largest` people."""
        small = {cap: fraction_below(min(cap, Fraction(1)), largest) for cap in set(self.ceiling)}
        return _columns([small[cap] for cap in self.ceiling])

    def floor_ratios(self, largest: int) -> tuple[Ints, Ints]:
        """Floors likewise; all zero when there are none."""
        floors = self.floor or (Fraction(0),) * len(self.ceiling)
        small = {bound: fraction_above(bound, largest) for bound in set(floors)}
        return _columns([small[bound] for bound in floors])

    def most(self, value: int, size: int) -> int:
        """How many people of a group of that size may have the value."""
        cap = min(self.ceiling[value], Fraction(1))
        return cap.numerator * size // cap.denominator

    def failing(self, counts: Counts) -> npt.NDArray[np.bool_]:
        """Which groups break a ceiling or a floor."""
        size = counts.size[counts.owner]
        over, under = self.ratios(counts.largest), self.floor_ratios(counts.largest)
        bad = counts.count * over[1][counts.value] > over[0][counts.value] * size
        if self.floor is None:
            return counts.any_by_group(bad)
        bad |= counts.count * under[1][counts.value] < under[0][counts.value] * size
        needed = under[0] > 0
        present = np.bincount(counts.owner[needed[counts.value]], minlength=counts.groups)
        absent: npt.NDArray[np.bool_] = present < needed.sum()
        return counts.any_by_group(bad) | absent

    def minimum(self, other: Caps) -> Caps:
        """Both promises at once: the lower ceiling and the higher floor."""
        ceiling = tuple(min(a, b) for a, b in zip(self.ceiling, other.ceiling, strict=True))
        floors = [floor for floor in (self.floor, other.floor) if floor is not None]
        if not floors:
            return Caps(ceiling)
        return Caps(ceiling, tuple(max(bounds) for bounds in zip(*floors, strict=True)))


def _columns(fractions: Sequence[Fraction]) -> tuple[Ints, Ints]:
    numerators = np.array([fraction.numerator for fraction in fractions], dtype=np.int64)
    return numerators, np.array([fraction.denominator for fraction in fractions], dtype=np.int64)
