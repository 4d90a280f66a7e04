"""Bucket settings (paper 002, sections 3.4 and 4): how many buckets of which sizes, and who may be in them.

o_i   people with value i        S_j, b_j   size and number of the buckets of kind j        c_ij = floor(f'_i S_j)
A setting is valid if people can be divided so that every kind is full and none of its buckets breaks a ceiling. For one
kind that is o_i <= c_ij b_j for all i and sum o_i = S_j b_j (Lemma 2), because people dealt round robin are spread as
evenly as can be. Everything here is a function of counts and ceilings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oneoff.errors import Defect
from oneoff.models import Limits
from oneoff.table.arrays import Ints, offsets

__all__ = ["Setting", "divide", "one_bucket"]


@dataclass(frozen=True, eq=False)
class Setting:
    """size[j] and number[j] of the buckets of kind j; people[i, j] with value i go there.

    excess   at most this much more loss than the least possible, as a share of it; None where that is not known
    """

    size: Ints
    number: Ints
    people: Ints
    excess: float | None = None

    @cached_property
    def loss(self) -> int:
        """Equation 2: the sum of (size - 1)^2 over all buckets."""
        return int((self.number * (self.size - 1) ** 2).sum())

    @property
    def buckets(self) -> int:
        return int(self.number.sum())

    def check(self, counts: Ints, limits: Limits) -> None:
        """Refuse a setting that loses somebody or breaks a ceiling: exact, before anybody is dealt."""
        if (self.people < 0).any() or not np.array_equal(self.people.sum(axis=1), counts):
            raise Defect("a bucket setting does not hold everybody")
        if not np.array_equal(self.people.sum(axis=0), self.size * self.number):
            raise Defect("a bucket setting is not full")
        for j in range(len(self.size)):
            if (self.people[:, j] > limits.most(int(self.size[j])) * self.number[j]).any():
                raise Defect("a bucket setting breaks a ceiling")

    def without_empty(self) -> Setting:
        used = self.number > 0
        return Setting(self.size[used], self.number[used], self.people[:, used], self.excess)


def one_bucket(counts: Ints) -> Setting:
    """Everybody together: valid whenever anything is."""
    return Setting(np.array([counts.sum()]), np.array([1]), counts.reshape(-1, 1).copy())


def divide(counts: Ints, limits: Limits, sizes: tuple[int, int], numbers: tuple[int, int]) -> Setting:
    """Record Partition (Algorithm 1) for a valid setting of two sizes, by counts and in one go.

    The first kind gets what it can hold of every value; what is too much moves on to the second, from values that have
    room there and people here. (The algorithm as written forgets the second condition.)
    """
    (first, second), (b1, b2) = sizes, numbers
    here = np.minimum(limits.most(first) * b1, counts)
    excess = int(here.sum()) - first * b1
    movable = here - np.maximum(0, counts - limits.most(second) * b2)
    if excess < 0 or (movable < 0).any() or int(movable.sum()) < excess:
        raise Defect("a bucket setting that is not valid was to be filled")
    below = offsets(movable)
    here = here - np.diff(np.minimum(below, excess))
    people = np.stack([here, counts - here], axis=1)
    return Setting(np.array([first, second]), np.array([b1, b2]), people).without_empty()
