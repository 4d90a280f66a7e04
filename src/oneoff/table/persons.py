"""Rows and persons, where somebody has several rows: how many there are of whom, and what goes out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneoff.errors import whole_number
from oneoff.table.arrays import Codes, Flags, Ints
from oneoff.table.table import Table

__all__ = ["at_most", "persons_in", "persons_with_value"]


def at_most(table: Table, most: int, rng: np.random.Generator) -> Flags:
    """Which rows to publish so that nobody has more than so many, drawn by chance."""
    most = whole_number(most, "most_rows", least=1, hint="it is how many rows of a person are published")
    chosen = np.ones(table.rows, dtype=np.bool_)
    if table.person is None or table.rows_per_person <= most:
        return chosen
    shuffled = rng.permutation(table.rows)
    along = shuffled[np.argsort(table.person[shuffled], kind="stable")]
    begin = np.flatnonzero(np.diff(table.person[along], prepend=-1))
    place = np.arange(table.rows) - np.repeat(begin, np.diff(np.append(begin, table.rows)))
    chosen[along[place >= most]] = False
    return chosen


def persons_in(group: Sequence[int] | Ints | Codes, person: Ints | None) -> Ints:
    """How many persons every group counts for: so many that nobody has a larger part of its rows than one of them.

    No more than there are different persons in it, and as many where all have equally many rows.
    """
    where = np.asarray(group, dtype=np.int64)
    rows = np.bincount(where)
    if person is None:
        return rows
    pairs, many = np.unique(where * (int(person.max()) + 1) + person, return_counts=True)
    most = np.zeros(len(rows), dtype=np.int64)
    np.maximum.at(most, pairs // (int(person.max()) + 1), many)
    return rows // np.maximum(most, 1)


def persons_with_value(table: Table) -> Ints:
    """How many persons have each sensitive value in any of their rows; they need not add up to all persons."""
    if table.person is None:
        return table.counts
    width = len(table.counts)
    pairs = np.unique(table.person * width + table.values)
    return np.bincount(pairs % width, minlength=width).astype(np.int64)
