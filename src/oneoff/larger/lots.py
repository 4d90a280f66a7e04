"""Lots: which parts of a release, which of their groups and which people are looked at, everybody as likely as anybody.

Parts are hit by points that lie evenly among all people, from a place drawn by chance: a large part is hit more often
than a small one, and every hit brings the same number of people. So a sample is spread over all of the release, though
few of its parts are read. Inside a part groups are taken in short runs, for neighbours say more together, and evenly
among large and small ones: some groups have thousands of people, and whether one is in it would decide the rest.
"""

from __future__ import annotations

import numpy as np

from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["drawn_groups", "drawn_rows", "shares_of_parts"]

_RUN = 4  # groups beside each other


def shares_of_parts(rows: Ints, wanted: int, points: int, rng: np.random.Generator) -> Floats:
    """[part]: the share of its people that is to be taken, 0 for a part that is not read; `wanted` people are expected.

    rows    people in each part
    points  parts that are hit, at most; small parts count as one with their neighbours until they are enough for a hit
    """
    total = int(rows.sum())
    if 2 * wanted >= total:
        return np.full(len(rows), min(1.0, wanted / total))
    stretch = _stretches(rows, 2 * wanted / points)
    size = np.bincount(stretch, rows)
    at = (np.arange(points) + rng.random()) * total / points
    hits = np.bincount(np.searchsorted(np.cumsum(size), at, side="right"), minlength=len(size))
    share: Floats = (hits * wanted / points / size)[stretch]
    return share


def _stretches(rows: Ints, least: float) -> Ints:
    """[part]: the number of its stretch of neighbouring parts, each of which has at least so many people."""
    found, many, number = [], 0, 0
    for size in rows.tolist():
        found.append(number)
        many += size
        if many >= least:
            many, number = 0, number + 1
    return np.minimum(
        np.array(found, dtype=np.int64), max(number - 1, 0)
    )  # what is left at the end goes with those before


def drawn_groups(size: Ints, share: float, rng: np.random.Generator) -> Flags:
    """[group]: is it taken? Each with the probability `share`; large and small ones as often as there are.

    size   people in each group
    """
    if share >= 1:
        return np.ones(len(size), dtype=np.bool_)
    run = (np.arange(len(size)) + rng.integers(_RUN)) // _RUN
    people = np.bincount(run, size)
    order = np.lexsort((rng.random(len(people)), people))
    taken = np.empty(len(people), dtype=np.bool_)
    taken[order] = (np.arange(len(order)) + rng.random() / share) % (1 / share) < 1
    found: Flags = taken[run]
    return found


def drawn_rows(rows: int, share: float, rng: np.random.Generator) -> Ints:
    """People of a part, each with the probability `share`."""
    if share >= 1:
        return np.arange(rows)
    many = max(1, int(rows * share + rng.random()))
    return np.sort(rng.choice(rows, many, replace=False))
