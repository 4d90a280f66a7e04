"""A sort that compiles in a moment: numpy's takes longer to compile than all of our loops together."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["order_within", "sort_codes", "sort_ints"]

_SCANNED = 16  # codes that are looked at in the time it takes to sort one


@njit(cache=True)
def sort_ints(a: Any, n: int) -> None:
    """Sort a[:n] in place, ascending (heap sort; insertion sort for the short ones)."""
    if n <= 32:
        for i in range(1, n):
            x = a[i]
            j = i
            while j > 0 and a[j - 1] > x:
                a[j] = a[j - 1]
                j -= 1
            a[j] = x
        return
    for root in range(n // 2 - 1, -1, -1):
        _sift(a, root, n)
    for end in range(n - 1, 0, -1):
        x = a[0]
        a[0] = a[end]
        a[end] = x
        _sift(a, 0, end)


@njit(cache=True)
def sort_codes(codes: Any, n: int, count: Any) -> None:
    """The same for the codes c that occur, count[c] times each: where they lie close together, by looking at all from
    the lowest to the highest."""
    low, high = codes[0], codes[0]
    for i in range(n):
        low, high = min(low, codes[i]), max(high, codes[i])
    if high - low > _SCANNED * n:
        sort_ints(codes, n)
        return
    found = 0
    for c in range(low, high + 1):
        if count[c] > 0:
            codes[found] = c
            found += 1


@njit(cache=True)
def _sift(a: Any, root: int, n: int) -> None:
    """Let a[root] sink to its place in the heap a[:n]."""
    x = a[root]
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and a[child + 1] > a[child]:
            child += 1
        if a[child] <= x:
            break
        a[root] = a[child]
        root = child
    a[root] = x


@njit(cache=True)
def order_within(start: Any, key: Any, order: Any) -> None:
    """order[start[g] .. start[g + 1]] are the places of slice g by their keys, equal ones as they stand. For short
    slices: it inserts."""
    for g in range(len(start) - 1):
        for i in range(start[g], start[g + 1]):
            j = i
            while j > start[g] and key[order[j - 1]] > key[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
