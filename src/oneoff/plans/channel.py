"""What chance may make of every sensitive value: the transition probabilities of a perturbation.

Probabilities are integers over a common total, so that what is drawn, what is published and what is audited are the
same numbers to the last digit.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect
from oneoff.table.arrays import Codes, Floats, Ints, Ragged

__all__ = ["Channel"]

_MOST = 2**62
_ROUNDING = 1e-12  # more than a logarithm here can be off, relative to its size


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

    @cached_property
    def even(self) -> bool:
        """Every value is kept with one and the same probability, and otherwise replaced by any alike?

        Then two numbers say all of it, and neither is about any value.
        """
        kept, others = np.diag(self.weight), self.weight[~np.eye(self.values, dtype=np.bool_)]
        return bool((kept == kept[0]).all() and (others == others[:1]).all() and (others < kept[0]).all())

    @cached_property
    def epsilon(self) -> float:
        """The logarithm of how much more likely a value is shown with one true value than with another, from above."""
        most, least = self.weight.max(axis=1), self.weight.min(axis=1)
        if (most > 0).any() and (least[most > 0] == 0).any():
            return math.inf if self.values > 1 else 0.0
        ratios = (most[most > 0].astype(np.float64) / least[most > 0]).max()
        return float(np.log(ratios) * (1 + _ROUNDING))

    def joint(self, counts: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """joint[v, i]: people with value i, times the weight with which they show v; exact, as Python integers."""
        exact: npt.NDArray[Any] = self.weight.astype(object) * counts.astype(object)
        return exact

    def draw(self, values: npt.NDArray[np.integer[Any]], rng: np.random.Generator | None = None) -> Codes:
        """What everybody shows, each drawn on its own.

        rng   draw from this generator, for a run that can be repeated; by default the operating system draws
        """
        shown = np.empty(len(values), dtype=np.int32)
        people = Ragged.of_owners(values, self.values)
        for i in np.flatnonzero(people.lengths).tolist():
            number = len(people[i])
            dice = _from_system(self.total, number) if rng is None else rng.integers(0, self.total, number)
            shown[people[i]] = np.searchsorted(np.cumsum(self.weight[:, i]), dice, side="right")
        return shown


def _from_system(total: int, number: int) -> Ints:
    """Whole numbers below `total`, all equally likely, that nobody can foretell: what is too large is drawn again."""
    found = np.empty(0, dtype=np.int64)
    while len(found) < number:
        words = np.frombuffer(secrets.token_bytes(8 * (number - len(found))), dtype=np.uint64)
        words = words >> np.uint64(64 - total.bit_length())
        found = np.concatenate([found, words[words < total].astype(np.int64)])
    return found
