"""Rows in groups: everybody in exactly one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oneoff.errors import OneoffError

__all__ = ["Partition"]


@dataclass(frozen=True, eq=False)
class Partition:
    """group[i] is the group of row i, numbered from 0 without gaps; notes are what a steward should know about them."""

    group: npt.NDArray[np.int32]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.group.ndim != 1 or len(self.group) == 0 or int(self.group.min()) < 0 or (self.size == 0).any():
            raise OneoffError("groups are not numbered from 0 without gaps")
        self.group.flags.writeable = False

    @cached_property
    def size(self) -> npt.NDArray[np.int64]:
        """People in each group."""
        return np.bincount(self.group).astype(np.int64)

    @property
    def groups(self) -> int:
        return len(self.size)

    @cached_property
    def members(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(start, rows): the rows of group g are rows[start[g] : start[g + 1]], in ascending order."""
        start = np.concatenate(([0], np.cumsum(self.size)))
        return start, np.argsort(self.group, kind="stable")
