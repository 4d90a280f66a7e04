"""Who looks the same, and how easily a person is recognised among those who do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.table.arrays import Codes, Ints

__all__ = ["SMALL", "Classes", "Risk", "look_alikes", "risk_of_classes"]

SMALL = 5  # a class of fewer people is small, as statistics offices commonly see it

_LARGEST = 2**62
_ALL_CLASSES = 1_000_000  # a table of so many possible classes is always cheap


def look_alikes(columns: Sequence[npt.NDArray[Any]]) -> Ints:
    """The class of every row, numbered from 0 without gaps; columns are arrays of codes >= 0.

    The columns are the digits of a number with mixed radix; whenever the next one might not fit in 64 bits the
    numbers so far are replaced by their ranks.
    """
    number = np.zeros(len(columns[0]), dtype=np.int64)
    classes = 1
    for codes in columns:
        width = int(codes.max(initial=0)) + 1
        if classes * width >= _LARGEST:
            number, classes = _dense(number)
        number = number * width + codes
        classes *= width
    return _dense(number)[0]


def _dense(number: Ints) -> tuple[Ints, int]:
    top = int(number.max(initial=0)) + 1
    if top <= 4 * len(number) + _ALL_CLASSES:  # a table of all possible classes is cheaper than sorting
        used = np.zeros(top, dtype=np.bool_)
        used[number] = True
        place = np.cumsum(used) - 1
        return place[number], int(place[-1]) + 1
    found, dense = np.unique(number, return_inverse=True)
    return dense, len(found)


@dataclass(frozen=True, eq=False)
class Classes:
    """The people who share the values of some columns.

    codes[j][c]  code of class c in column j
    members[i]   class of row i
    counts[c]    people in class c
    """

    codes: tuple[Codes, ...]
    members: Ints
    counts: Ints

    @staticmethod
    def of(columns: Sequence[Codes]) -> Classes:
        members = look_alikes(columns)
        counts = np.bincount(members)
        someone = np.empty(len(counts), dtype=np.int64)
        someone[members] = np.arange(len(members))  # whoever is written last: all members have the same codes
        return Classes(tuple(codes[someone] for codes in columns), members, counts)

    @property
    def unique(self) -> int:
        """People who look like nobody else."""
        return int((self.counts == 1).sum())

    def unique_without(self, left_out: int) -> int:
        """The same when one column is left out: only the distinct classes need to be merged again."""
        others = [codes for j, codes in enumerate(self.codes) if j != left_out]
        if not others:
            return int(len(self.members) == 1)
        return int((np.bincount(look_alikes(others), weights=self.counts) == 1).sum())

    def most_common(self, codes: Codes) -> Ints:
        """How often the most common code of another column occurs in each class."""
        pairs = look_alikes([self.members, codes])
        counts = np.bincount(pairs)
        owner = np.empty(len(counts), dtype=np.int64)
        owner[pairs] = self.members
        most = np.zeros(len(self.counts), dtype=np.int64)
        np.maximum.at(most, owner, counts)
        return most


@dataclass(frozen=True)
class Risk:
    """Probabilities of recognising somebody among the people who look the same: one over their number.

    highest         the worst person's probability (prosecutor: the target is known to be in the file)
    average         the mean over people (marketer: classes / people)
    unique          share of people who look like nobody else
    small           share of people who hide among fewer than 5
    people_at_risk  people who hide among fewer than a threshold somebody chose, so theirs is above 1/threshold
    share_at_risk   their share
    """

    highest: float
    average: float
    unique: float
    small: float
    people_at_risk: int
    share_at_risk: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def risk_of_classes(size: Ints, alike: Ints | None = None, threshold: int = SMALL) -> Risk:
    """The risk of people in classes of that size.

    alike      how many look like the people of each class wherever they are searched for; the class itself unless given
    threshold  who hides among fewer people than this is at risk
    """
    people = int(size.sum())
    hidden = size if alike is None else alike
    at_risk = int(size[hidden < threshold].sum())
    return Risk(
        highest=1 / int(hidden.min()),
        average=len(size) / people if alike is None else float((size / alike).sum() / people),
        unique=int(size[hidden == 1].sum()) / people,
        small=int(size[hidden < SMALL].sum()) / people,
        people_at_risk=at_risk,
        share_at_risk=at_risk / people,
    )
