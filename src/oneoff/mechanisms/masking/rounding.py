"""Probabilities that a solver found, as whole weights that keep every limit exactly.

The solver keeps limits to nine digits. What is too much is given back; that, and a little of everything so that all
have some, goes to the column nearest to all, where it is nearly equal.
"""

from __future__ import annotations

from math import lcm
from typing import NamedTuple

import numpy as np

from oneoff.mechanisms.masking.programs import Program
from oneoff.mechanisms.masking.shapes import ColumnLimits
from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["Weights", "whole_weights"]

_LITTLE = 1e-5  # put aside for rounding, so that people who share a row are equal


class Weights(NamedTuple):
    """Entries of a table in whole numbers; the weight is that of all people of the row together."""

    row: Ints
    column: Ints
    weight: Ints


def whole_weights(program: Program, probability: Floats, limits: ColumnLimits) -> tuple[Weights, float]:
    """Whole weights that keep delta and the ceilings exactly, and what was put aside for it.

    Those who share a row get the same, unless more than a little would have to be put aside for it.
    """
    nearest = _nearest(program)
    ways = [(_equal, 1.0)] if limits.ceilings is None else [(_equal, _LITTLE), (_exact, 1.0)]
    for rounded, most in ways:
        for reserve in (0.0, *(10.0**power for power in range(-9, 0)), 0.3):
            if reserve <= most:
                given = rounded(program, probability * ((1 - reserve) * limits.total), limits)
                found = _with_rest(program, given, nearest, limits.total)
                if found is not None and _kept(program, found, limits):
                    return found, reserve
    everybody = np.arange(len(program.people))
    return Weights(everybody, np.full_like(everybody, nearest), program.people * limits.total), 1.0


def _with_rest(program: Program, given: Weights, nearest: int, total: int) -> Weights | None:
    """With what everybody still lacks, in the column nearest to all; None when somebody has too much already."""
    left, many, everybody = program.people * total, len(program.columns), np.arange(len(program.people))
    np.subtract.at(left, given.row, given.weight)
    if (left < 0).any():
        return None
    pairs, place = np.unique(
        np.concatenate([given.row * many + given.column, everybody * many + nearest]), return_inverse=True
    )
    weight = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(weight, place, np.concatenate([given.weight, left]))
    return Weights(*np.divmod(pairs[weight > 0], many), weight[weight > 0])


def _equal(program: Program, wanted: Floats, limits: ColumnLimits) -> Weights:
    """Weights that can be divided by the people who share a row; nobody has more than delta of a column."""
    each = np.floor(wanted).astype(np.int64)
    people, delta = program.people[program.row], limits.as_array()[0].tolist()
    order = np.lexsort((-each, program.column))
    for part in np.split(order, np.flatnonzero(np.diff(program.column[order])) + 1):
        each[part] = np.minimum(each[part], _level(each[part].tolist(), people[part].tolist(), delta))
    return Weights(program.row, program.column, each * people)


def _level(weights: list[int], people: list[int], delta: list[int]) -> int:
    """The highest level such that nobody who is cut down to it has more than delta of the column. Weights descend."""
    top, rest = 0, sum(w * p for w, p in zip(weights, people, strict=True))
    for k, (weight, many) in enumerate(zip(weights, people, strict=True)):
        top, rest = top + many, rest - weight * many
        if delta[0] * top >= delta[1]:
            return weight
        level = delta[0] * rest // (delta[1] - delta[0] * top)
        if k + 1 == len(weights) or level >= weights[k + 1]:
            return level
    return 0


def _exact(program: Program, wanted: Floats, limits: ColumnLimits) -> Weights:
    """Weights of all people of a row together, as near to what is wanted as the limits of every column allow."""
    bounds = limits.as_array()
    mass = np.zeros((len(program.people), len(program.columns)))
    mass[program.row, program.column] = wanted * program.people[program.row]
    column = _whole_columns(mass.sum(axis=0), bounds, limits.total, program.everybody)
    most = program.people[:, None] * _share(column, bounds[0])
    kinds, kind = np.unique(program.kind, return_inverse=True)
    people = np.bincount(kind, program.people).astype(np.int64)
    tight = people * bounds[1 + kinds, 1] >= program.everybody * bounds[1 + kinds, 0]
    ceiling = np.stack([_share(column, bounds[1 + s]) for s in kinds.tolist()])
    shown = _shown_by_kinds(mass, most, column, kind, ceiling, tight)
    found = np.floor(mass).astype(np.int64)
    for s in range(len(kinds)):
        some = kind == s
        found[some] = _filled(found[some], most[some], shown[s])
    row, number = np.nonzero(found)
    return Weights(row, number, found[row, number])


def _whole_columns(wanted: Floats, bounds: Ints, total: int, everybody: int) -> Ints:
    """Multiples of the denominators of all limits, so that nothing is lost by rounding these."""
    unit = lcm(*bounds[:, 1].tolist())
    unit = unit if unit < total // 1_000 else everybody  # what the whole group has can be kept at least
    return np.floor(wanted / unit).astype(np.int64) * unit


def _shown_by_kinds(mass: Floats, most: Ints, column: Ints, kind: Ints, ceiling: Ints, tight: Flags) -> Ints:
    """[sensitive value, column]: how much of a column the people with each value have together.

    tight   a ceiling that is just what the group has is used up in every column, since what is left must keep it too
    """
    kinds = range(len(tight))
    own = np.stack([np.floor(mass[kind == s].sum(axis=0)) for s in kinds]).astype(np.int64)
    own[tight] = ceiling[tight]
    room = np.stack([most[kind == s].sum(axis=0) for s in kinds])
    order = np.argsort(tight, kind="stable")
    shown = np.empty_like(own)
    shown[order] = _filled(own[order], np.minimum(ceiling, room)[order], column)
    return shown


def _share(column: Ints, bound: Ints) -> Ints:
    """The part bound[0] / bound[1] of every column, rounded down; products may be beyond 64 bits."""
    above, below = bound.tolist()
    return np.array([each * above // below for each in column.tolist()], dtype=np.int64)


def _filled(wanted: Ints, most: Ints, total: Ints) -> Ints:
    """Near to what is wanted, at most so much, with these sums over rows."""
    found = np.minimum(wanted, most)
    room = most - found
    found = found + np.clip(total - found.sum(axis=0) - (np.cumsum(room, axis=0) - room), 0, room)
    over = np.clip(found.sum(axis=0) - total - (np.cumsum(found, axis=0) - found), 0, found)
    return np.asarray(found - over)


def _nearest(program: Program) -> int:
    """A column near to all: of those that next to everybody may show, the nearest; otherwise the one in the middle."""
    shows = np.bincount(program.column, program.people[program.row], minlength=len(program.columns))
    away = np.bincount(program.column, program.people[program.row] * program.distance, minlength=len(program.columns))
    if shows.max() == program.people.sum():
        return int(np.argmin(np.where(shows == shows.max(), away, np.inf)))
    order = np.argsort(program.code)
    middle = order[np.searchsorted(np.cumsum(program.people[order]), program.people.sum() / 2)]
    return int(np.flatnonzero(program.columns == program.code[middle])[0])


def _kept(program: Program, found: Weights, limits: ColumnLimits) -> bool:
    """Nobody has more than delta of a column, and no sensitive value more than its ceiling of it; in whole numbers."""
    many, kinds = len(program.columns), len(limits.ceilings or ())
    everybody, likeliest = np.zeros((2, many), dtype=np.int64)
    np.add.at(everybody, found.column, found.weight)
    each = -(-found.weight // program.people[found.row])  # of those who share a row, some may have one more
    np.maximum.at(likeliest, found.column, each)
    parts = np.zeros((kinds, many), dtype=np.int64)
    if kinds:
        np.add.at(parts, (program.kind[found.row], found.column), found.weight)
    return all(
        part * below <= above * whole
        for line, (above, below) in zip([likeliest, *parts], limits.as_array().tolist(), strict=False)
        for part, whole in zip(line.tolist(), everybody.tolist(), strict=True)
    )
