"""Column delta-probability and ceilings in random output tables (paper 003, Definition 5), in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.models import Limits
from oneoff.plans import Cover, RandomTable
from oneoff.plans.cover import TOTAL, Columns
from oneoff.plans.redraw import drawn_from
from oneoff.table import Table
from oneoff.table.arrays import Ints
from oneoff.table.classes import look_alikes

__all__ = ["Failing", "carried", "failing_columns"]


@dataclass(frozen=True, eq=False)
class Failing:
    """The worst column of each quasi-identifier (group, code, exact probability), and the groups that break delta."""

    worst: tuple[tuple[int, int, Fraction], ...]
    groups: tuple[Ints, ...]


def failing_columns(cover: Cover, table: Table, delta: Fraction) -> Failing:
    """Definition 5, exactly, for every column of every table (or for every group, where records are exchanged)."""
    worst, groups = [], []
    if cover.joint:
        size = cover.partition.size
        least = int(np.argmin(size))
        few = np.flatnonzero(size.astype(object) * delta < 1)
        return Failing(((least, -1, Fraction(1, int(size[least]))),) * len(table.quasi), (few,) * len(table.quasi))
    for j, each in enumerate(cover.tables):
        found = _redrawn(cover, table, j) if cover.redraw is not None else each.columns(cover.partition.group)
        groups.append(np.unique(found.group[found.above(delta)]))
        place = _largest(found)
        reached = Fraction(int(found.likeliest[place]), int(found.everybody[place]))
        worst.append((int(found.group[place]), int(found.code[place]), reached))
    return Failing(tuple(worst), tuple(groups))


def _largest(columns: Columns) -> int:
    """Where the likeliest has the greatest part: by floats first, then exactly among those that are near."""
    ratio = np.asarray(columns.likeliest / columns.everybody, dtype=np.float64)
    near = np.flatnonzero(ratio >= ratio.max() * (1 - 1e-12)).tolist()
    return int(max(near[:10_000], key=lambda k: Fraction(int(columns.likeliest[k]), int(columns.everybody[k]))))


def _redrawn(cover: Cover, table: Table, j: int) -> Columns:
    """Columns of quasi-identifier j after Algorithm 3: group, code, everybody and the likeliest, in whole numbers.

    Somebody unchanged (probability U) is changed in j with probability odds / whole, to any of the K - 1 other values
    the group draws from. So p(v) grows by U odds / (whole (K - 1)), and p(own) falls by U odds / whole. All of it is in
    units of TOTAL^d * whole * (K - 1), which differ between groups only. People with one row and one value differ in U
    only; the one with the largest U is the likeliest of them to show another value, with the smallest to show theirs.
    Values that come up in this way only are all alike, and looked at once.
    """
    assert cover.redraw is not None
    each = cover.tables[j]
    alike = look_alikes([cover.partition.group, each.row, table.codes[:, j]])
    person, alike_people = np.unique(alike, return_index=True, return_counts=True)[1:]
    together, largest, smallest = _unchanged(cover, table, alike, person)
    start = np.searchsorted(cover.partition.group[person], np.arange(cover.partition.groups + 1)).tolist()
    own, scale = table.codes[person, j].tolist(), TOTAL ** (len(cover.tables) - 1)
    drawn, found = (
        drawn_from(table.quasi[j], table.codes[:, j], cover.partition.group),
        list[tuple[int, int, int, int]](),
    )
    for g in range(cover.partition.groups):
        some = range(start[g], start[g + 1])
        rows = {p: _row(each, int(person[p])) for p in some}
        within = set(drawn[g].tolist())
        told = {own[p] for p in some}.union(*rows.values())  # also those from elsewhere, if a table shows them
        values = sorted(told.union(sorted(within - told)[:1]))
        others, odds, again = len(within) - 1, cover.redraw.of_column(g, j), cover.redraw.whole(g)
        unit = scale * again * others if others else scale
        whole, most = dict.fromkeys(values, 0), dict.fromkeys(values, 0)
        for p in some:
            row, people = rows[p], int(alike_people[p])
            for v in values:
                weight = row.get(v, 0) * unit
                if others and v in within:
                    gain, change = (odds, largest[p]) if v != own[p] else (-odds * others, smallest[p])
                    whole[v] += people * weight + gain * together[p]
                    most[v] = max(most[v], weight + gain * change)
                else:
                    whole[v] += people * weight
                    most[v] = max(most[v], weight)
        found += [(g, v, whole[v], most[v]) for v in values if whole[v]]
    group, value, everybody, likeliest = zip(*found, strict=True)
    wide = [np.array(column, dtype=object) for column in (everybody, likeliest)]
    return Columns(np.array(group), np.array(value), wide[0], wide[1])


def _unchanged(cover: Cover, table: Table, alike: Ints, person: Ints) -> tuple[list[int], list[int], list[int]]:
    """Of the weights with which people come out unchanged: sum, largest and smallest of each class."""
    weight: npt.NDArray[Any] = np.ones(table.rows, dtype=object)
    for k, each in enumerate(cover.tables):
        weight = weight * each.weight_of(table.codes[:, k]).astype(object)
    together, largest, smallest = np.zeros(len(person), dtype=object), weight[person], weight[person]
    np.add.at(together, alike, weight)
    np.maximum.at(largest, alike, weight)
    np.minimum.at(smallest, alike, weight)
    return together.tolist(), largest.tolist(), smallest.tolist()


def _row(table: RandomTable, person: int) -> dict[int, int]:
    a, b = table.start[table.row[person]], table.start[table.row[person] + 1]
    return dict(zip(table.code[a:b].tolist(), table.weight[a:b].tolist(), strict=True))


def carried(cover: Cover, table: Table, limits: Limits) -> bool:
    """Do the people with a value make up at most its ceiling of every column?"""
    if limits.sets or limits.floor is not None or cover.redraw is not None:
        return False
    limit = [(min(ceiling, Fraction(1)).numerator, min(ceiling, Fraction(1)).denominator) for ceiling in limits.ceiling]
    kinds = len(limit)
    for each in cover.tables:
        people, inverse = np.unique(each.row.astype(np.int64) * kinds + table.values, return_inverse=True)
        many = np.bincount(inverse)
        length = np.diff(each.start)[people // kinds]
        entry = np.repeat(each.start[:-1][people // kinds], length) + _running(length)
        where = each.group_of_rows(cover.partition.group)[each.owner[entry]].astype(np.int64)
        width = int(each.code.max()) + 1
        column = where * width + each.code[entry]
        key, place = np.unique(column * kinds + np.repeat(people % kinds, length), return_inverse=True)
        part = np.zeros(len(key), dtype=np.int64)
        np.add.at(part, place, each.weight[entry] * np.repeat(many, length))
        first = np.flatnonzero(np.diff(key // kinds, prepend=-1))
        whole = np.repeat(np.add.reduceat(part, first), np.diff(np.append(first, len(key))))
        above, below = (np.array([limit[s][k] for s in (key % kinds).tolist()], dtype=object) for k in (0, 1))
        if (part.astype(object) * below > whole.astype(object) * above).any():
            return False
    return True


def _running(length: Ints) -> Ints:
    """0, 1, .. for every length, one after the other."""
    return np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
