"""Every person under a generalization of its own: which people a record could be, and whose value it shows.

This is the generalization graph of papers 000 and 004. Record j belongs to person j and generalizes the
quasi-identifiers of its cover, a few people with j among them; it shows the sensitive value of one of them, its
carrier. Every person is covered as often as it covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect
from oneoff.table.arrays import Ints, Ragged

__all__ = ["Links"]


@dataclass(frozen=True, eq=False)
class Links:
    """Record j covers the people member[start[j] : start[j + 1]] and shows the value of person carrier[j].

    carrier   a permutation of the people, carrier[j] one of those that record j covers
    """

    start: Ints
    member: Ints
    carrier: Ints

    def __post_init__(self) -> None:
        n = len(self.carrier)
        if len(self.start) != n + 1 or n == 0:
            raise Defect("the covers of the records do not fit together")
        if (self.covers.lengths < 1).any() or int(self.member.min()) < 0 or int(self.member.max()) >= n:
            raise Defect("a record covers nobody, or somebody who does not exist")
        if not np.array_equal(np.sort(self.carrier), np.arange(n)):
            raise Defect("a person's value is shown by no record, or by two")
        covered = np.zeros(n, dtype=np.bool_)
        covered[self.record[self.member == self.carrier[self.record]]] = True
        if not covered.all():
            raise Defect("a record shows the value of somebody it does not cover")
        for array in (self.start, self.member, self.carrier):
            array.flags.writeable = False

    @staticmethod
    def of_matrix(cover: npt.NDArray[np.integer], carrier: npt.NDArray[np.integer]) -> Links:
        """From a regular graph: row j lists the people that record j covers."""
        n, width = cover.shape
        start = np.arange(0, n * width + 1, width, dtype=np.int64)
        return Links(start, cover.ravel().astype(np.int64), carrier.astype(np.int64))

    @property
    def rows(self) -> int:
        return len(self.carrier)

    @cached_property
    def covers(self) -> Ragged:
        """The people that every record covers."""
        return Ragged(self.start, self.member)

    @property
    def record(self) -> Ints:
        """The record of every entry of `member`."""
        return self.covers.owner

    @cached_property
    def matches(self) -> Ragged:
        """The records that cover every person."""
        entries = Ragged.of_owners(self.member, self.rows)
        return Ragged(entries.start, self.record[entries.items])
