"""The arrays that travel between rooms, and lists of different lengths kept in two of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect

__all__ = ["Codes", "Flags", "Floats", "Ints", "Ragged", "offsets"]

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def offsets(lengths: npt.ArrayLike) -> Ints:
    """Where lists of these lengths begin when they lie one after the other, and where the last one ends."""
    ends = np.cumsum(lengths, dtype=np.int64)
    return np.concatenate((np.zeros(1, dtype=np.int64), ends))


@dataclass(frozen=True, eq=False)
class Ragged:
    """Lists one after the other: list i is items[start[i] : start[i + 1]]. `start, items = ragged` takes it apart."""

    start: Ints
    items: npt.NDArray[Any]

    def __post_init__(self) -> None:
        if len(self.start) == 0 or int(self.start[0]) != 0 or int(self.start[-1]) != len(self.items):
            raise Defect("lists and the places where they begin do not fit together")

    @staticmethod
    def of_lengths(lengths: npt.ArrayLike, items: npt.NDArray[Any]) -> Ragged:
        return Ragged(offsets(lengths), items)

    @staticmethod
    def of_owners(owner: npt.NDArray[np.integer[Any]], lists: int | None = None) -> Ragged:
        """The places at which each number 0, 1, ... stands in `owner`, in ascending order."""
        lengths = np.bincount(owner, minlength=lists or 0)
        return Ragged(offsets(lengths), np.argsort(owner, kind="stable"))

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, i: int) -> npt.NDArray[Any]:
        return self.items[self.start[i] : self.start[i + 1]]

    def __iter__(self) -> Any:
        """(start, items), as the compiled loops want them."""
        return iter((self.start, self.items))

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.start)

    @cached_property
    def owner(self) -> Ints:
        """The list each item is in."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, order: npt.NDArray[np.integer[Any]]) -> Ragged:
        """The lists order[0], order[1], ...; some may be left out or come twice."""
        lengths = self.lengths[order]
        start = offsets(lengths)
        return Ragged(start, self.items[np.repeat(self.start[:-1][order] - start[:-1], lengths) + np.arange(start[-1])])
