"""How easily a person is recognised among those who look the same."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Risk", "risk_of_classes"]


@dataclass(frozen=True)
class Risk:
    """Chances of recognising somebody, from the sizes of the classes of look-alikes.

    highest      the worst person's chance (prosecutor model: the target is known to be in the file)
    average      the mean over people (marketer model: classes / people)
    unique       share of people who are alone in their class
    small        share of people in classes of fewer than 5
    """

    highest: float
    average: float
    unique: float
    small: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def risk_of_classes(size: npt.NDArray[np.int64]) -> Risk:
    """From the number of people in each class."""
    people = int(size.sum())
    return Risk(
        highest=1.0 / int(size.min()),
        average=len(size) / people,
        unique=int(size[size == 1].sum()) / people,
        small=int(size[size < 5].sum()) / people,
    )
