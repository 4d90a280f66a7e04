"""Beliefs after a random channel, compared exactly with what a promise allows.

joint[v, i] is the weight of "has i and shows v" in whole numbers of any size; whoever sees v believes i with
joint[v, i] / sum of joint[v].
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.models.limits import Limits
from oneoff.table.arrays import Flags

__all__ = ["breaking"]


def breaking(joint: npt.NDArray[Any], limits: Limits) -> Flags:
    """flags[v, i]: seeing v makes i, or a set it is in, more likely than allowed; or less, under a floor."""
    seen = joint.sum(axis=1)[:, None]
    top, bottom = _terms([min(ceiling, 1) for ceiling in limits.ceiling])
    flags = joint * bottom > top * seen
    if limits.floor is not None:
        top, bottom = _terms(limits.floor)
        flags |= joint * bottom < top * seen
    for low, high, ceiling in limits.sets:
        together = joint[:, low:high].sum(axis=1, keepdims=True)
        flags[:, low:high] |= together * ceiling.denominator > ceiling.numerator * seen
    answer: Flags = flags.astype(np.bool_)
    return answer


def _terms(fractions: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    tops, bottoms = zip(*((fraction.numerator, fraction.denominator) for fraction in fractions), strict=True)
    return np.array(tops, dtype=object), np.array(bottoms, dtype=object)
