"""The loss of paper 001 (equations 2 to 5): what the boxes of groups lose, for `burel` and `sabre`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.space import KIND, LEAVES, OFFSET, RANGE, SET, leaves_under

__all__ = ["average_loss", "information_loss", "loss_of_node"]


@njit(cache=True)
def information_loss(space: Any, a: int, low: int, high: int) -> float:
    """Equations 2 and 3 of paper 001 for codes from low to high; plain categories are a flat tree."""
    if low == high:
        return 0.0
    kind, offset = space.attribute[a, KIND], space.attribute[a, OFFSET]
    if kind == RANGE:
        return space.position[offset + high] - space.position[offset + low]
    if kind == SET:
        return 1.0
    return leaves_under(space, a, low, high) / space.attribute[a, LEAVES]


@njit(cache=True)
def loss_of_node(space: Any, local: Any, group: Any, people: int, box: Any, size: Any) -> float:
    """People times loss, summed over groups; box[2a] and box[2a + 1] are lowest and highest codes of groups."""
    d = local.shape[1]
    for g in range(people):
        size[g] = 0
    for p in range(people):
        g = group[p]
        for a in range(d):
            code = local[p, a]
            if size[g] == 0:
                box[2 * a, g] = box[2 * a + 1, g] = code
            else:
                box[2 * a, g], box[2 * a + 1, g] = min(box[2 * a, g], code), max(box[2 * a + 1, g], code)
        size[g] += 1
    total = 0.0
    for g in range(people):
        if size[g] > 0:
            for a in range(d):
                total += size[g] * information_loss(space, a, np.int64(box[2 * a, g]), np.int64(box[2 * a + 1, g]))
    return total


def average_loss(codes: Any, space: Any, group: Any) -> float:
    """AIL (equation 5 of paper 001) of groups numbered from 0."""
    n, d = codes.shape
    box, size = np.empty((2 * d, n), np.int32), np.empty(n, np.int32)
    return float(loss_of_node(space, codes, group, n, box, size)) / (n * d)
