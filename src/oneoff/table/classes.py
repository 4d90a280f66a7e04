"""Who looks the same, and how easily a person is recognised among those who do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SMALL", "Risk", "look_alikes", "risk_of_classes"]

SMALL = 5  # a class of fewer people is small, as statistics offices commonly see it

_LARGEST = 2**62
_ALL_CLASSES = 1_000_000  # a table of so many possible classes is always cheap


def look_alikes(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
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


def _dense(number: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    top = int(number.max(initial=0)) + 1
    if top <= 4 * len(number) + _ALL_CLASSES:  # a table of all possible classes is cheaper than sorting
        used = np.zeros(top, dtype=np.bool_)
        used[number] = True
        place = np.cumsum(used) - 1
        return place[number], int(place[-1]) + 1
    found, dense = np.unique(number, return_inverse=True)
    return dense, len(found)


@dataclass(frozen=True)
class Risk:
    """Chances of recognising somebody among the people who look the same: one over their number.

    highest         the worst person's chance (prosecutor: the target is known to be in the file)
    average         the mean over people (marketer: classes / people)
    unique          share of people who look like nobody else
    small           share of people who hide among fewer than 5
    people_at_risk  people who hide among fewer than a threshold somebody chose, so their chance is above 1/threshold
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


def risk_of_classes(
    size: npt.NDArray[np.int64], alike: npt.NDArray[np.int64] | None = None, threshold: int = SMALL
) -> Risk:
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
