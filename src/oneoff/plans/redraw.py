"""How those are changed who came out unchanged (paper 003, Algorithm 3).

The paper draws a quasi-identifier by its extent in the group and a value from the range of the group, again and again
until something changed. Here the odds say with which probabilities that ends, so that nothing is drawn in vain and the
audit knows them exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect
from oneoff.table import Attribute
from oneoff.table.arrays import Codes, Flags, Ints, Ragged

__all__ = ["MOST_COLUMNS", "Redraw", "drawn_from"]

MOST_COLUMNS = 8  # that may be changed at once: the products of more odds are beyond 64 bits, or the odds too coarse


@dataclass(frozen=True, eq=False)
class Redraw:
    """A set of quasi-identifiers is changed with a probability in proportion to the product of their odds.

    odds     [group, j]: of quasi-identifier j; 0 where the group has no other value of it
    columns  how many are changed at once; all that have odds, where these are fewer
    """

    odds: Ints
    columns: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.columns <= MOST_COLUMNS:
            raise Defect("nobody is changed in so many columns")
        if (self.odds < 0).any() or float(_products(self.odds.astype(np.float64), self.columns).max()) >= 2**62:
            raise Defect("the odds of changing a column are negative, or too large to be multiplied exactly")
        self.odds.flags.writeable = False

    @cached_property
    def many(self) -> Ints:
        """[group]: how many quasi-identifiers are changed; 0 where all people look the same."""
        return np.asarray(np.minimum((self.odds > 0).sum(axis=1), self.columns), dtype=np.int64)

    @cached_property
    def products(self) -> Ints:
        """[j, r, group]: the products of r odds of quasi-identifiers j, j + 1, ..., summed over all ways to choose."""
        return _products(self.odds, self.columns)

    def whole(self, group: int) -> int:
        """The products of all sets that may be changed, summed: what a product is to be divided by."""
        return int(self.products[0, self.many[group], group])

    def of_column(self, group: int, j: int) -> int:
        """The same for the sets that j belongs to."""
        others = np.delete(self.odds[group], j)[None]
        return int(self.odds[group, j]) * int(_products(others, self.columns)[0, max(self.many[group] - 1, 0), 0])

    def choose(self, group: Codes, rng: np.random.Generator) -> Flags:
        """[i, j]: is quasi-identifier j of somebody in group[i] changed? Exactly with the probabilities above."""
        left, chosen = self.many[group].copy(), np.zeros((len(group), self.odds.shape[1]), dtype=np.bool_)
        for j in range(self.odds.shape[1]):
            open_ = np.flatnonzero(left > 0)
            where, more = group[open_], left[open_]
            with_j = self.odds[where, j] * self.products[j + 1, more - 1, where]
            taken = open_[rng.integers(0, self.products[j, more, where]) < with_j]
            chosen[taken, j] = True
            left[taken] -= 1
        return chosen


def _products(odds: npt.NDArray[Any], columns: int) -> npt.NDArray[Any]:
    groups, width = odds.shape
    found = np.zeros((width + 1, columns + 1, groups), dtype=odds.dtype)
    found[:, 0] = 1
    for j in range(width - 1, -1, -1):
        found[j, 1:] = found[j + 1, 1:] + odds[:, j] * found[j + 1, :-1]
    return found


def drawn_from(attribute: Attribute, codes: Codes, group: Codes) -> Ragged:
    """The values each group draws from: of those with an order all of the table between the least and the greatest in
    the group, of others those that occur in it."""
    groups, size = int(group.max()) + 1, attribute.size
    if not attribute.has_order:
        key = np.unique(group.astype(np.int64) * size + codes)
        return Ragged(np.searchsorted(key, np.arange(groups + 1) * size), (key % size).astype(np.int32))
    low, high = np.full(groups, size), np.full(groups, -1)
    np.minimum.at(low, group, codes)
    np.maximum.at(high, group, codes)
    found = Ragged.of_lengths(high - low + 1, np.arange(int((high - low + 1).sum()), dtype=np.int32))
    return Ragged(found.start, (found.items + (low - found.start[:-1])[found.owner]).astype(np.int32))
