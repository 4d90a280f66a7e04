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

from oneoff.errors import BadValue
from oneoff.releases.estimate import CONFIDENCE, Estimate
from oneoff.releases.regression import regression
from oneoff.releases.tallies import ColumnTallies
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints
from oneoff.table.persons import persons_in

__all__ = ["ROUNDING", "CellWeights", "Fit", "doubt", "fitted", "mean_among", "read_weights", "weighed", "weights_of"]

_DIGITS = 6  # of a mean
ROUNDING = 10.0 ** (1 - _DIGITS) / 2  # of a mean, as a part of it
_MOST_CELLS = 5_000  # that weights are fitted to; of more, some are taken together
_UNSURE = 0.5  # part of what the fit moves a mean by that may be wrong: measured, as is the next number
_ALIKE = 0.3  # part of what the fit leaves of means of cells that those who are meant have in common


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


def weights_of(table: Table, cell: Codes | Ints) -> CellWeights | None:
    """The means of cells that are numbered from 0 without gaps, rounded to so many digits."""
    weight = table.weight
    if weight is None:
        return None
    size, alone = np.bincount(cell), persons_in(cell, table.person) < 2
    if alone.any():
        raise BadValue(
            "somebody's own weight would be published",
            allowed="groups or cells of at least two people, to take means of",
            got=f"{int(alone.sum()):,} in which one person has more than half of the rows",
            hint="add k-anonymity to the promise, such as +k-anonymity:5, or leave the weight out",
        )
    mean = np.bincount(cell, weight.each) / size
    inside = float(((weight.each - mean[cell]) ** 2).sum())
    likely = float((size - 1) @ mean**2)
    spread = math.sqrt(inside / likely) if inside > 0 and likely > 0 else 0.0
    return CellWeights(weight.name, np.char.mod(f"%.{_DIGITS}g", mean).astype(np.float64), float(f"{spread:.3g}"))


def read_weights(described: dict[str, Any] | None, mean: Floats) -> CellWeights | None:
    return None if described is None else CellWeights(str(described["name"]), mean, float(described["spread"]))


@dataclass(frozen=True, eq=False)
class Fit:
    """How much more than others somebody weighs who has each code of each column, as the means of cells tell.

    beyond   the standard deviation of means that neither this nor chance accounts for, as a part of them
    """

    effect: tuple[Floats, ...]
    beyond: float


def fitted(weights: CellWeights, quasi: Sequence[Attribute], tallies: ColumnTallies) -> Fit:
    """A sum over columns, by the regression that fits shares of values."""
    usual = float(tallies.size @ weights.mean) / float(tallies.size.sum())
    if usual <= 0:
        return Fit(tuple(np.zeros(width) for width in tallies.widths), 0.0)
    field = np.arange(tallies.groups) % _MOST_CELLS
    people = np.bincount(field, tallies.size)
    sums = np.bincount(field, tallies.size * weights.mean) / usual
    noise = weights.spread**2 / float(np.mean(1 / people))
    made = regression(quasi, tallies, field, sums[:, None], noise)
    beyond = float(people @ made.left[:, 0] ** 2 - len(people) * weights.spread**2) / float(people.sum())
    return Fit(tuple(effect[:, 0] * usual for effect in made.effect), math.sqrt(max(beyond, 0.0)))


def mean_among(weights: CellWeights, fit: Fit, tallies: ColumnTallies, asked: Mapping[int, Flags]) -> Floats:
    """The mean weight of those people of every cell who have a code that is asked for in each of these columns."""
    mean = weights.mean.copy()
    for j, holds in asked.items():
        counts, first = tallies.columns[j], tallies.columns[j].start[:-1]
        more = counts.count * fit.effect[j][counts.value]
        people, inside = (np.add.reduceat(each * holds[counts.value], first) for each in (counts.count, more))
        shift = inside / np.maximum(people, 1) - np.add.reduceat(more, first) / tallies.size
        mean += np.where(people > 0, shift, 0.0)
    return np.clip(mean, 0.0, None)


def doubt(weights: CellWeights, fit: Fit, size: Ints, each: Floats, meant: Floats | Ints) -> float:
    """The variance of what so many people of each cell weigh, when they are taken to weigh each[c].

    Who they are is as good as drawn from the cell. Where those who are meant weigh more than others for a reason that
    the fit does not know, they do so in many cells alike, and it does not even out.
    """
    chance = meant * (size - meant) / np.maximum(size - 1, 1) * (weights.spread * each) ** 2
    chance = chance + (ROUNDING * meant * each) ** 2
    moved = _UNSURE * float(meant @ (each - weights.mean))
    alike = _ALIKE * fit.beyond * float((meant * each) @ np.sqrt(np.clip(1 - meant / size, 0, 1)))
    return float(chance.sum()) + moved**2 + alike**2


def weighed(
    weights: CellWeights, fit: Fit, size: Ints, each: Floats, meant: tuple[Floats, Floats | Ints, Floats | Ints]
) -> Estimate:
    """What people weigh of whom so many are meant in each cell: about, at least and at most."""
    whole, (raw, low, high) = size * weights.mean, (float(people @ each) for people in meant)
    below, above = (CONFIDENCE * math.sqrt(doubt(weights, fit, size, each, people)) for people in meant[1:])
    high = min(high + above, float(whole[meant[2] > 0].sum()) * (1 + ROUNDING))
    low = min(max(low - below, 0.0), high)
    return Estimate(min(max(raw, low), high), raw, None, low, high, False, weighted=True)
