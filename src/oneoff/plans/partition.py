"""Rows in groups: everybody in exactly one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oneoff.errors import Defect
from oneoff.table.arrays import Codes, Ints, Ragged

__all__ = ["Partition"]


@dataclass(frozen=True, eq=False)
class Partition:
    """group[i] is the group of row i, numbered from 0 without gaps; notes are what a steward should know about them."""

    group: Codes
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.group.ndim != 1 or len(self.group) == 0 or int(self.group.min()) < 0 or (self.size == 0).any():
            raise Defect("groups are not numbered from 0 without gaps")
        self.group.flags.writeable = False

    @cached_property
    def size(self) -> Ints:
        """People in each group."""
        return np.bincount(self.group).astype(np.int64)

    @property
    def groups(self) -> int:
        return len(self.size)

    @cached_property
    def members(self) -> Ragged:
        """The rows of every group, in ascending order."""
        return Ragged.of_owners(self.group)
