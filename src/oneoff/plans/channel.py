"""What chance may make of every sensitive value: the transition probabilities of a perturbation.

Probabilities are integers over a common total, so that what is drawn, what is published and what is audited are the
same numbers to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect
from oneoff.table.arrays import Codes, Floats, Ints, Ragged

__all__ = ["Channel"]

_MOST = 2**62


@dataclass(frozen=True, eq=False)
class Channel:
    """A person with value i is published with value v with probability weight[v, i] / total."""

    weight: Ints

    def __post_init__(self) -> None:
        square = self.weight.ndim == 2 and self.weight.shape[0] == self.weight.shape[1] > 0
        if not square or (self.weight < 0).any():
            raise Defect("a channel needs a square matrix of whole numbers that are not negative")
        sums = self.weight.astype(object).sum(axis=0)
        if len(set(sums.tolist())) != 1 or not 0 < int(sums[0]) < _MOST:
            raise Defect("the columns of a channel do not have the same sum")
        self.weight.flags.writeable = False

    @property
    def values(self) -> int:
        return len(self.weight)

    @cached_property
    def total(self) -> int:
        return int(self.weight[:, 0].sum())

    @cached_property
    def matrix(self) -> Floats:
        """The probabilities, a column for each true value."""
        return self.weight / self.total

    def joint(self, counts: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """joint[v, i]: people with value i, times the weight with which they show v; exact, as Python integers."""
        exact: npt.NDArray[Any] = self.weight.astype(object) * counts.astype(object)
        return exact

    def draw(self, values: npt.NDArray[np.integer[Any]], rng: np.random.Generator) -> Codes:
        """What everybody shows, each drawn on its own."""
        shown = np.empty(len(values), dtype=np.int32)
        people = Ragged.of_owners(values, self.values)
        for i in np.flatnonzero(people.lengths).tolist():
            dice = rng.integers(0, self.total, len(people[i]))
            shown[people[i]] = np.searchsorted(np.cumsum(self.weight[:, i]), dice, side="right")
        return shown
