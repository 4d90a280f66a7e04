"""The one idea: a ceiling on what anyone may believe about anyone, for each sensitive value.

A promise is a ceiling c_v for every value v (delta-disclosure adds a floor): after seeing the release, nobody may
believe "this person has v" with a probability above c_v. In a group of equals the belief is the share of v. Sets of
neighbouring values may have ceilings too: on the belief "this person has one of these".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Exact ceilings (and floors, where the promise has them) on the belief in each value.

    sets   (low, high, c): the value codes low <= v < high together have at most the share c of a group
    """

    ceiling: tuple[Fraction, ...]
    floor: tuple[Fraction, ...] | None = None
    sets: tuple[tuple[int, int, Fraction], ...] = ()

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

    def set_ratios(self, largest: int) -> list[tuple[int, int, int, int]]:
        """Sets with their ceilings likewise: low, high, numerator, denominator."""
        small = [(low, high, fraction_below(min(cap, Fraction(1)), largest)) for low, high, cap in self.sets]
        return [(low, high, cap.numerator, cap.denominator) for low, high, cap in small]

    def failing(self, counts: Counts) -> npt.NDArray[np.bool_]:
        """Which groups break a ceiling or a floor."""
        top, bottom = self.ratios(counts.largest)
        over = counts.count * bottom[counts.value] > top[counts.value] * counts.size[counts.owner]
        failing = counts.any_by_group(over)
        if self.floor is not None:
            failing |= self._below_floor(counts)
        for node, caps in self.layers():
            failing |= caps.failing(counts.merged(node))
        return failing

    def layers(self) -> Iterator[tuple[Ints, Caps]]:
        """The ceilings on sets as ceilings on coarser values: for each layer, which value becomes which, and the caps.

        Sets that do not overlap share a layer, so a hierarchy needs no more layers than it has levels. The values
        before, between and behind the sets of a layer are not bounded by it: their ceiling is 1.
        """
        waiting = sorted(self.sets)
        while waiting:
            layer, later, end = [], [], 0
            for low, high, cap in waiting:
                if low < end:
                    later.append((low, high, cap))
                    continue
                layer += [(end, low, Fraction(1)), (low, high, cap)]
                end = high
            layer = [part for part in [*layer, (end, len(self.ceiling), Fraction(1))] if part[0] < part[1]]
            node = np.repeat(np.arange(len(layer)), [high - low for low, high, _ in layer])
            yield node, Caps(tuple(cap for _, _, cap in layer))
            waiting = later

    def minimum(self, other: Caps) -> Caps:
        """Both promises at once: the lower ceiling and the higher floor."""
        ceiling = tuple(min(a, b) for a, b in zip(self.ceiling, other.ceiling, strict=True))
        floors = [floor for floor in (self.floor, other.floor) if floor is not None]
        floor = tuple(max(bounds) for bounds in zip(*floors, strict=True)) if floors else None
        lowest: dict[tuple[int, int], Fraction] = {}
        for low, high, cap in (*self.sets, *other.sets):
            lowest[low, high] = min(cap, lowest.get((low, high), cap))
        return Caps(ceiling, floor, tuple((*ends, cap) for ends, cap in lowest.items()))

    def _below_floor(self, counts: Counts) -> npt.NDArray[np.bool_]:
        """Which groups have too few people with some value, or none."""
        top, bottom = self.floor_ratios(counts.largest)
        under = counts.count * bottom[counts.value] < top[counts.value] * counts.size[counts.owner]
        needed = top > 0
        present = np.bincount(counts.owner[needed[counts.value]], minlength=counts.groups)
        absent: npt.NDArray[np.bool_] = present < needed.sum()
        return counts.any_by_group(under) | absent


def _columns(fractions: Sequence[Fraction]) -> tuple[Ints, Ints]:
    numerators = np.array([fraction.numerator for fraction in fractions], dtype=np.int64)
    return numerators, np.array([fraction.denominator for fraction in fractions], dtype=np.int64)
