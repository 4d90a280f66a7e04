"""Trees of groups: nodes that are divided again and again (what the loops of `burel` and `sabre` share).

Everything happens inside one leaf: a part of the table that keeps the promise as one group. Its people are numbered
along the Hilbert curve. A group is described sparsely by how many people it takes from which bucket; the description
of a group of g people lies in the first entries of a region of g entries, so a group can be divided in its own place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.losses import information_loss
from oneoff.kernels.space import ABOVE_ALL

__all__ = [
    "ASSIGNED",
    "AT",
    "BEFORE",
    "BEGIN",
    "BEST",
    "BUCKET",
    "COUNT",
    "GOES_LEFT",
    "GOES_RIGHT",
    "GROUP",
    "GROUP_MANY",
    "GROUP_SIZE",
    "HEAD",
    "HIGHEST_LEFT",
    "HIGHEST_RIGHT",
    "KEPT",
    "LAST",
    "LEFT",
    "LOWEST_LEFT",
    "LOWEST_RIGHT",
    "NEXT",
    "OF",
    "ORDER",
    "QUOTA",
    "ROWS",
    "SEED",
    "SIDE",
    "SIZE",
    "SPARE_OF",
    "SPARE_TAKES",
    "STACK",
    "STACK_MANY",
    "STACK_SIZE",
    "TAKES",
    "TOTAL",
    "WHICH",
    "axes_of",
    "branch",
    "enter",
    "find_boundary",
    "halve_buckets",
    "is_blurred",
    "make_children",
    "part_of",
    "plant",
    "pop_node",
    "room_for",
    "settle",
    "try_cut",
]

# Rows of the working space, one wide array: compile time grows with the number of arrays that are passed around.
COUNT, ORDER, BUCKET, BEFORE = 0, 1, 2, 3  # people with each value; values present by place, their bucket, the last try
HEAD, SIZE = 4, 5  # of each bucket: the value with its lowest ceiling, and how many people
WHICH, ASSIGNED, BEST, SEED = 6, 7, 8, 9  # of each person: bucket, group, best group so far; a random order
OF, TAKES = 10, 11  # regions: from which bucket, and how many
LEFT, SPARE_OF, SPARE_TAKES = 12, 13, 14  # a split that is being tried
STACK, STACK_SIZE, STACK_MANY = 15, 16, 17  # nodes still to split: region, people, entries
GROUP, GROUP_SIZE, GROUP_MANY = 18, 19, 20  # finished groups: region, people, entries
TOTAL = 21  # people of each set
AT, NEXT, LAST, BEGIN = 22, 23, 24, 25  # people bucket by bucket on the curve; nearest free ones; where buckets begin
QUOTA, SIDE, KEPT = 26, 27, 28  # people of each bucket that still go left; where each person goes; the best split
ROWS = 29

LOWEST_LEFT, HIGHEST_LEFT, LOWEST_RIGHT, HIGHEST_RIGHT = range(4)  # rows of `edge`: the codes of a cut
GOES_LEFT, GOES_RIGHT = LOWEST_LEFT, LOWEST_RIGHT  # of SIDE: the row with the lowest code there, next is the highest


@njit(cache=True)
def room_for(people: int, values: int, sets: int) -> Any:
    return np.zeros((ROWS, max(people, values, sets) + 2), np.int32)


@njit(cache=True)
def enter(codes: Any, rows: Any, local: Any, work: Any) -> None:
    """The people of a leaf, in one group: local[p] are the codes of person p."""
    for p in range(len(rows)):
        work[BEST, p], work[SEED, p] = 0, p
        for a in range(codes.shape[1]):
            local[p, a] = codes[rows[p], a]


@njit(cache=True)
def axes_of(sorted_by: Any, base: int, size: int, axes: Any) -> None:
    """axes[a] lists the people of a leaf by attribute a, as they are numbered in it."""
    for a in range(len(sorted_by)):
        for p in range(size):
            axes[a, p] = sorted_by[a, base + p] - base


@njit(cache=True)
def plant(buckets: int, people: int, work: Any) -> None:
    """The root of the tree: everybody."""
    for b in range(buckets):
        work[OF, b], work[TAKES, b] = b, work[SIZE, b]
    work[STACK, 0], work[STACK_SIZE, 0], work[STACK_MANY, 0] = 0, people, buckets


@njit(cache=True)
def pop_node(top: int, work: Any) -> tuple[int, int, int]:
    """Region, people and entries of a node; of one type, or callers would be compiled twice."""
    return np.int64(work[STACK, top]), np.int64(work[STACK_SIZE, top]), np.int64(work[STACK_MANY, top])


@njit(cache=True)
def make_children(region: int, many: int, left: int, top: int, people: int, work: Any) -> None:
    """Divide the description of a node as LEFT says, and put both sides on the stack, the left one on top."""
    for i in range(many):
        work[SPARE_OF, i], work[SPARE_TAKES, i] = work[OF, region + i], work[TAKES, region + i]
    first = np.int64(0)
    second = np.int64(0)
    for i in range(many):
        if work[LEFT, i] > 0:
            work[OF, region + first], work[TAKES, region + first] = work[SPARE_OF, i], work[LEFT, i]
            first += 1
    for i in range(many):
        if work[SPARE_TAKES, i] > work[LEFT, i]:
            place = region + left + second
            work[OF, place], work[TAKES, place] = work[SPARE_OF, i], work[SPARE_TAKES, i] - work[LEFT, i]
            second += 1
    work[STACK, top], work[STACK_SIZE, top], work[STACK_MANY, top] = region + left, people - left, second
    work[STACK, top + 1], work[STACK_SIZE, top + 1], work[STACK_MANY, top + 1] = region, left, first


@njit(cache=True)
def halve_buckets(region: int, many: int, in_turn: int, work: Any) -> int:
    """Put half of every bucket into LEFT; returns how many people that are.

    Odd ones go right; with 1 for `in_turn`, left and right in turn.
    """
    left, odd = np.int64(0), 0
    for i in range(many):
        x = work[TAKES, region + i]
        odd += x % 2
        work[LEFT, i] = x // 2 + in_turn * (x % 2) * (odd % 2)
        left += work[LEFT, i]
    return left


@njit(cache=True)
def branch(region: int, size: int, many: int, left: int, top: int, groups: int, work: Any) -> tuple[int, int]:
    """Divide a node as LEFT says or, when nobody goes left, make it a group; how many nodes wait, how many groups."""
    if left > 0:
        make_children(region, many, left, top, size, work)
        return top + 2, groups
    work[GROUP, groups], work[GROUP_SIZE, groups], work[GROUP_MANY, groups] = region, size, many
    return top, groups + 1


@njit(cache=True)
def settle(
    space: Any, local: Any, axes: Any, best: int, region: int, size: int, many: int, gone: int, top: int, edge: Any,
    work: Any,
) -> int:  # fmt: skip
    """Make the best cut, whose shares are KEPT, and put both sides on the stack; without one the node is a group."""
    if best < 0:
        for k in range(region, region + size):
            work[ASSIGNED, axes[0, k]] = region
        return top
    for i in range(many):
        work[LEFT, i] = work[KEPT, i]
    try_cut(space, local, axes, best, region, size, many, gone, edge, work)
    part_of(axes, local.shape[1], region, size, gone, work)
    make_children(region, many, gone, top, size, work)
    return top + 2


@njit(cache=True)
def find_boundary(local: Any, axes: Any, a: int, region: int, size: int, near: int) -> int:
    """How many people of a node come before the code of the one at this place; or with it, if that is the first."""
    code, at = local[axes[a, region + near], a], near
    while at > 0 and local[axes[a, region + at - 1], a] == code:
        at -= 1
    if at == 0:
        at = near
        while local[axes[a, region + at], a] == code:
            at += 1
    return at


@njit(cache=True)
def is_blurred(local: Any, axes: Any, region: int, size: int) -> bool:
    """Do the people of a node differ at all?"""
    blurred = False
    for a in range(local.shape[1]):
        blurred = blurred or local[axes[a, region], a] != local[axes[a, region + size - 1], a]
    return blurred


@njit(cache=True)
def try_cut(
    space: Any, local: Any, axes: Any, turn: int, region: int, size: int, many: int, left: int, edge: Any, work: Any
) -> float:
    """People times loss when each bucket sends its first ones by one attribute left; SIDE says who goes where.

    turn = 2 * attribute, plus 1 when the first ones are those with the highest codes.
    """
    a, d = turn // 2, local.shape[1]
    for i in range(many):
        work[QUOTA, work[OF, region + i]] = work[LEFT, i]
    for c in range(d):
        edge[LOWEST_LEFT, c], edge[LOWEST_RIGHT, c] = ABOVE_ALL, ABOVE_ALL
        edge[HIGHEST_LEFT, c], edge[HIGHEST_RIGHT, c] = -1, -1
    for k in range(size):
        p = axes[a, region + size - 1 - k] if turn % 2 else axes[a, region + k]
        b, side = work[WHICH, p], GOES_RIGHT
        if work[QUOTA, b] > 0:
            work[QUOTA, b] -= 1
            side = GOES_LEFT
        work[SIDE, p] = side
        for c in range(d):
            code = local[p, c]
            edge[side, c], edge[side + 1, c] = min(edge[side, c], code), max(edge[side + 1, c], code)
    loss = 0.0
    for c in range(d):
        loss += left * information_loss(space, c, edge[LOWEST_LEFT, c], edge[HIGHEST_LEFT, c])
        loss += (size - left) * information_loss(space, c, edge[LOWEST_RIGHT, c], edge[HIGHEST_RIGHT, c])
    return loss


@njit(cache=True)
def part_of(axes: Any, d: int, region: int, size: int, left: int, work: Any) -> None:
    """Put those who go left first, in the lists of all attributes, in the same order as they were."""
    for a in range(d):
        first, second = region, 0
        for k in range(region, region + size):
            p = axes[a, k]
            if work[SIDE, p] == GOES_LEFT:
                axes[a, first] = p
                first += 1
            else:
                work[SPARE_OF, second] = p
                second += 1
        for k in range(second):
            axes[a, region + left + k] = work[SPARE_OF, k]
