"""Beliefs after a random channel, compared exactly with what a promise allows.

joint[v, i] is the weight of "has i and shows v" in whole numbers of any size; whoever sees v on a record, and nothing
else, believes i with joint[v, i] / sum of joint[v].

Who also sees all other records and knows the exact totals n_i can believe more. Let Z_i be the sum, over all ways to
give the others n_1, .., n_i - 1, .. values, of the probability of what they show. To change the value of one of the n_u
others with u into i leads from a way of Z_i to one of Z_u, and multiplies its probability by Q(y | i) / Q(y | u) for
what that person shows, at least by the least such ratio r(i, u). Each way of Z_i has n_u such changes, and n_i of them
end in each way of Z_u, so n_i Z_u >= r(i, u) n_u Z_i. Seeing v, the belief in i is Q(v | i) Z_i / sum_u Q(v | u) Z_u,
and therefore at most n_i Q(v | i) / sum_u n_u Q(v | u) r(i, u), with r(i, i) = 1 (`highest_with_totals`). With two
values that is reached, when all others show the other value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.models.limits import Limits
from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["breaking", "highest_with_totals"]


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


def highest_with_totals(matrix: Floats, counts: Ints) -> Floats:
    """[v, i]: what the belief in i is at most for somebody who sees v, all other records, and knows the totals."""
    highest = np.zeros(matrix.shape)
    seen = matrix @ counts > 0
    for i in np.flatnonzero(counts).tolist():
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(matrix > 0, matrix[:, i][:, None] / matrix, np.inf).min(axis=0)
        others = matrix @ (counts * np.where(counts > 0, ratio, 0.0))
        highest[seen, i] = matrix[seen, i] * counts[i] / np.maximum(others[seen], 1e-300)
    return np.minimum(highest, 1.0)


def _terms(fractions: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    tops, bottoms = zip(*((fraction.numerator, fraction.denominator) for fraction in fractions), strict=True)
    return np.array(tops, dtype=object), np.array(bottoms, dtype=object)
