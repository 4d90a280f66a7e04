"""Who goes into which group, when it is known how many each takes from every bucket (for `burel` and `sabre`)."""

from __future__ import annotations

from typing import Any

from numba import njit

from oneoff.kernels.nodes import ASSIGNED, AT, BEGIN, GROUP, GROUP_MANY, LAST, NEXT, OF, QUOTA, SEED, SIZE, TAKES, WHICH

__all__ = ["retrieve"]


@njit(cache=True)
def retrieve(buckets: int, people: int, groups: int, chance: Any, work: Any) -> None:
    """Every group takes its share of each bucket from the people nearest to a random person who is still free.

    Nearest by place on the curve. Free people of a bucket are found by union-find in both directions.
    """
    work[BEGIN, 0] = 0
    for b in range(buckets):
        work[BEGIN, b + 1] = work[BEGIN, b] + work[SIZE, b]
        work[QUOTA, b] = work[BEGIN, b]
    for p in range(people):
        b = work[WHICH, p]
        work[AT, work[QUOTA, b]] = p
        work[QUOTA, b] += 1
        work[ASSIGNED, p] = -1
        work[NEXT, p], work[LAST, p + 1] = p, p + 1  # LAST is shifted by one, so that 0 means none
    work[NEXT, people], work[LAST, 0] = people, 0
    for p in range(people - 1):
        other = p + int(chance[p] * (people - p))
        work[SEED, p], work[SEED, other] = work[SEED, other], work[SEED, p]
    turn = 0
    for g in range(groups):
        while work[ASSIGNED, work[SEED, turn]] >= 0:
            turn += 1
        for e in range(work[GROUP, g], work[GROUP, g] + work[GROUP_MANY, g]):
            _take_nearest(work[SEED, turn], work[OF, e], work[TAKES, e], g, work)


@njit(cache=True)
def _take_nearest(seed: int, bucket: int, many: int, group: int, work: Any) -> None:
    begin, end = work[BEGIN, bucket], work[BEGIN, bucket + 1]
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if work[AT, middle] < seed:
            low = middle + 1
        else:
            high = middle
    after = _find(work[NEXT], low)
    before = _find(work[LAST], low) - 1
    for _ in range(many):
        if before < begin or (after < end and work[AT, after] - seed < seed - work[AT, before]):
            taken = after
            work[NEXT, taken], work[LAST, taken + 1] = taken + 1, taken
            after = _find(work[NEXT], taken)
        else:
            taken = before
            work[NEXT, taken], work[LAST, taken + 1] = taken + 1, taken
            before = _find(work[LAST], taken + 1) - 1
        work[ASSIGNED, work[AT, taken]] = group


@njit(cache=True)
def _find(parent: Any, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
