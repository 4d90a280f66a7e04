"""Weights of a survey in a release: the mean of every group or cell, and one number for how far people are from it.

Everybody of a cell still shows the same. What weights inside a cell go with is fitted to the published means (by the
regression that fits shares of values), so that who is meant by a question need not weigh what the cell does on average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneoff.releases.estimate import CONFIDENCE, Estimate
from oneoff.releases.regression import regression
from oneoff.releases.tallies import ColumnTallies
from oneoff.table import Attribute
from oneoff.table.arrays import Codes, Flags, Floats, Ints
from oneoff.table.weights import Weight

__all__ = ["CellWeights", "effects", "mean_among", "read_weights", "varying", "weighed", "weights_of"]

_DIGITS = 6  # of a mean
_MOST_CELLS = 5_000  # that weights are fitted to; of more, some are taken together


@dataclass(frozen=True, eq=False)
class CellWeights:
    """mean[c] is the mean weight of the people of cell c.

    name     of the column
    spread   the standard deviation of weights inside a cell, as a part of its mean: one number for all cells
    """

    name: str
    mean: Floats
    spread: float

    def __post_init__(self) -> None:
        numbers = np.append(self.mean, self.spread)
        if not (np.isfinite(numbers) & (numbers >= 0)).all():
            raise ValueError("mean weights and their spread are finite numbers, and not below 0")
        self.mean.flags.writeable = False

    def refuse_other(self, shown: Floats, size: Ints) -> None:
        """Plain rows must have the mean weights of the people they were drawn from."""
        if not np.array_equal(np.sort(shown), np.sort(np.repeat(self.mean, size))):
            raise ValueError("microdata.parquet has other weights than the groups or cells it was drawn from")

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "spread": self.spread}


def weights_of(weight: Weight | None, cell: Codes | Ints) -> CellWeights | None:
    """The means of cells that are numbered from 0 without gaps, rounded to so many digits."""
    if weight is None:
        return None
    size = np.bincount(cell)
    mean = np.bincount(cell, weight.each) / size
    inside = float(((weight.each - mean[cell]) ** 2).sum())
    likely = float((size - 1) @ mean**2)
    spread = math.sqrt(inside / likely) if inside > 0 and likely > 0 else 0.0
    return CellWeights(weight.name, np.char.mod(f"%.{_DIGITS}g", mean).astype(np.float64), float(f"{spread:.3g}"))


def read_weights(described: dict[str, Any] | None, mean: Floats) -> CellWeights | None:
    return None if described is None else CellWeights(str(described["name"]), mean, float(described["spread"]))


def effects(weights: CellWeights, quasi: Sequence[Attribute], tallies: ColumnTallies) -> tuple[Floats, ...]:
    """How much more than others somebody weighs who has each code of each column, as the means of cells tell."""
    usual = float(tallies.size @ weights.mean) / float(tallies.size.sum())
    if usual <= 0:
        return tuple(np.zeros(width) for width in tallies.widths)
    field = np.arange(tallies.groups) % _MOST_CELLS
    people = np.bincount(field, tallies.size)
    sums = np.bincount(field, tallies.size * weights.mean) / usual
    noise = weights.spread**2 / float(np.mean(1 / people))
    fitted = regression(quasi, tallies, field, sums[:, None], noise)
    return tuple(effect[:, 0] * usual for effect in fitted.effect)


def mean_among(
    weights: CellWeights, effect: Sequence[Floats], tallies: ColumnTallies, asked: Mapping[int, Flags]
) -> Floats:
    """The mean weight of those people of every cell who have a code that is asked for in each of these columns."""
    mean = weights.mean.copy()
    for j, holds in asked.items():
        counts, first = tallies.columns[j], tallies.columns[j].start[:-1]
        more, meant = counts.count * effect[j][counts.value], counts.count * holds[counts.value]
        people = np.add.reduceat(meant, first)
        inside = np.add.reduceat(more * holds[counts.value], first)
        mean += np.where(people > 0, inside / np.maximum(people, 1) - np.add.reduceat(more, first) / tallies.size, 0.0)
    return np.clip(mean, 0.0, None)


def varying(size: Ints | Floats, meant: Ints | Floats, deviation: Floats) -> Floats:
    """The variance of what so many people of each cell weigh together, drawn from it by chance."""
    found: Floats = meant * (size - meant) / np.maximum(size - 1, 1) * deviation**2
    return found


def weighed(
    weights: CellWeights, size: Ints, each: Floats, meant: Floats, least: Ints | Floats, most: Ints | Floats
) -> Estimate:
    """What people weigh of whom so many are meant in each cell: about, at least and at most; each weighs each[cell]."""
    raw, whole = float(meant @ each), size * weights.mean
    below, above = (CONFIDENCE * math.sqrt(varying(size, end, weights.spread * each).sum()) for end in (least, most))
    low = max(float(least @ each) - below, float(whole[least >= size].sum()))
    high = min(float(most @ each) + above, float(whole[most > 0].sum()))
    return Estimate(min(max(raw, low), high), raw, None, low, high, False, weighted=True)
