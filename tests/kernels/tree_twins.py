"""How groups come about from buckets, in the most obvious way."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from oneoff.kernels.limits import BY_RANK
from oneoff.kernels.shares import STRICT
from oneoff.models import Limits
from oneoff.table import Table

__all__ = ["allowed", "halves", "hands", "labels_of", "nearest", "paper_loss", "shuffled", "slow_buckets"]

Shares = list[int]


def slow_buckets(counts: list[int], caps: Limits, slack: float) -> list[list[int]]:
    """Values by ceiling, put together as long as there is room under the lowest one; not across sets."""
    total, made = sum(counts), list[list[int]]()
    for v in caps.ordered(total).limits[BY_RANK].tolist():
        if counts[v] and made and _joins(made[-1], v, counts, caps, slack):
            made[-1].append(v)
        elif counts[v]:
            made.append([v])
    return made


def _joins(bucket: list[int], v: int, counts: list[int], caps: Limits, slack: float) -> bool:
    head, total = bucket[0], sum(counts)
    if caps.floor is not None and (caps.floor[v] > 0 or caps.floor[head] > 0):
        return False
    if any((low <= v < high) != (low <= head < high) for low, high, _ in caps.sets):
        return False
    inside = Fraction(sum(counts[w] for w in [*bucket, v]), total)
    if slack == STRICT:
        return inside < min(Fraction(1), caps.ceiling[head])
    room = caps.up_to(total).ceiling[head]
    return slack < np.inf and inside * (1 + Fraction(slack)) <= room


def allowed(heads: list[int], group: Shares, caps: Limits) -> bool:
    """May a group take so many from each bucket, when everybody of a bucket counts as its head?"""
    size = sum(group)
    if size == 0 or size < caps.least_size:
        return False
    for v, x in zip(heads, group, strict=True):
        low = 0 if caps.floor is None else caps.floor[v]
        if not low <= Fraction(x, size) <= caps.ceiling[v]:
            return False
    for low, high, cap in caps.sets:
        if Fraction(sum(x for v, x in zip(heads, group, strict=True) if low <= v < high), size) > cap:
            return False
    return True


def halves(sizes: Shares, keeps: Callable[[Shares], bool], either: bool) -> list[Shares]:
    """Halves of halves, as long as both sides keep the promise."""
    for in_turn in (False, True) if either else (False,):
        odd, left = 0, []
        for x in sizes:
            odd += x % 2
            left.append(x // 2 + int(in_turn and x % 2 == 1 and odd % 2 == 1))
        right = [x - y for x, y in zip(sizes, left, strict=True)]
        if keeps(left) and keeps(right):
            return halves(left, keeps, either) + halves(right, keeps, either)
    return [sizes]


def hands(heads: list[int], sizes: Shares, caps: Limits) -> list[Shares]:
    """As many groups as possible, dealt like cards, bucket by bucket."""
    people = sum(sizes)
    for many in range(people, 0, -1):
        fewest, largest = people // many, -(-people // many)
        high, low = [-(-x // many) for x in sizes], [x // many for x in sizes]
        floor = caps.floor or (Fraction(0),) * caps.values
        fits = fewest >= caps.least_size and all(
            x <= caps.ceiling[v] * fewest and y >= floor[v] * largest for v, x, y in zip(heads, high, low, strict=True)
        )
        for first, last, cap in caps.sets:
            inside = sum(x for v, x in zip(heads, sizes, strict=True) if first <= v < last)
            fits = fits and -(-inside // many) <= cap * fewest
        if fits or many == 1:
            break
    dealt, card = [[0] * len(sizes) for _ in range(many)], 0
    for b, x in enumerate(sizes):
        for _ in range(x):
            dealt[card % many][b] += 1
            card += 1
    return dealt


def nearest(which: list[int], shares: np.ndarray, seeds: list[int]) -> list[int]:
    """The same by looking at everybody who is still free."""
    group = [-1] * len(which)
    for g, row in enumerate(shares.tolist()):
        seed = next(p for p in seeds if group[p] < 0)
        for bucket, many in enumerate(row):
            free = [p for p in range(len(which)) if group[p] < 0 and which[p] == bucket]
            for p in sorted(free, key=lambda p: (abs(p - seed), p))[:many]:
                group[p] = g
    return group


def shuffled(people: int, chance: np.ndarray) -> list[int]:
    order = list(range(people))
    for p in range(people - 1):
        other = p + int(chance[p] * (people - p))
        order[p], order[other] = order[other], order[p]
    return order


def paper_loss(table: Table, rows: np.ndarray) -> float:
    """Equations 2 and 3 of paper 001, summed over attributes, from labels."""
    total = 0.0
    for j, attribute in enumerate(table.quasi):
        shown = {attribute.labels[code] for code in table.codes[rows, j]}
        if len(shown) == 1:
            continue
        if attribute.hierarchy is not None:
            paths = {path[0]: path for path in attribute.hierarchy.rows()}
            level = next(h for h in range(attribute.hierarchy.height + 1) if len({paths[v][h] for v in shown}) == 1)
            top = paths[next(iter(shown))][level]
            total += sum(path[level] == top for path in paths.values()) / len(paths)
        elif attribute.kind == "numeric":
            total += (max(shown) - min(shown)) / (attribute.labels[-1] - attribute.labels[0])
        elif attribute.kind == "ordered":
            places = [attribute.labels.tolist().index(value) for value in shown]
            total += (max(places) - min(places)) / (attribute.size - 1)
        else:
            total += 1.0
    return total


def labels_of(line: np.ndarray, group: list[int], label: np.ndarray, base: int) -> None:
    """Write down the group of everybody of a leaf that begins at `base`."""
    for p, row in enumerate(line.tolist()):
        label[row] = base + group[p]
