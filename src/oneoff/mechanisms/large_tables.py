"""Random output tables by HiGHS: those with many rows, and all of them where that is asked for.

With s_j as a variable of its own the program of `output_tables` has two nonzeros in each of its inequalities. Small
tables are stacked block by block, so that HiGHS is called once for many. In large ones not every pair of row and column
is tried. Of numbers, person i may show v_j only when at most 1/delta people lie strictly between v_i and v_j (the
band); of categories the neighbours in the same sense, and the most common one may give to and take from all. No proof
is known that the band loses nothing, so it is checked each time: prices u_i of the rows bound the cost of all tables
from below as soon as no bundle of people has a gain under them. Bundles that have one are let in and the program is
solved again; lowering all prices by the largest gain that is left in the end gives the bound that is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.errors import OneoffError
from oneoff.plans.cover import TOTAL
from oneoff.table.distance import Ground, apart

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from oneoff.mechanisms.output_tables import Limits, Shapes, Sparse

__all__ = ["solve_large"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_STACKED = 20_000  # variables solved at once
_FULL = 40_000  # pairs of a table that is solved with all of them
_ROUNDS = 5
_CLOSE = 1e-6  # a gap that is none


class _Program(NamedTuple):
    """One table: the pairs of row and column that may have a probability, and their distance.

    code, people, kind   of every row, `kind` being its sensitive value; columns: the code of every column
    """

    row: Ints
    column: Ints
    distance: Floats
    code: Ints
    people: Ints
    kind: Ints
    columns: Ints

    @property
    def full(self) -> bool:
        return len(self.row) == len(self.people) * len(self.columns)


def solve_large(shapes: Shapes, ground: Ground, limits: Limits, average: int) -> tuple[Sparse, Floats, Floats, float]:
    """Tables of these shapes with their costs, what was put aside for rounding, and the greatest gap to the least cost.

    The gap is a share of the cost.
    """
    from oneoff.mechanisms.output_tables import Sparse

    programs = [_program(shapes, t, ground, limits) for t in range(shapes.many)]
    parts, cost, aside, gap = [], np.zeros(shapes.many), np.zeros(shapes.many), 0.0
    for stack in _stacks(programs):
        if programs[stack[0]].full:
            found = _highs([programs[t] for t in stack], limits, average)
            chances = np.split(found[0], np.cumsum([len(programs[t].row) for t in stack])[:-1])
        else:
            programs[stack[0]], chance, lost = _widened(programs[stack[0]], ground, limits)
            chances, gap = [chance], max(gap, lost)
        for t, chance in zip(stack, chances, strict=True):
            row, column, weight, aside[t] = _whole(programs[t], chance, limits)
            parts.append(Sparse(np.full(len(row), t), row, column, weight))
            moved = apart(ground, programs[t].code[row], programs[t].columns[column])
            cost[t] = float((programs[t].people[row] * moved) @ weight) / TOTAL
    return Sparse(*(np.concatenate(column) for column in zip(*parts, strict=True))), cost, aside, gap


def _program(shapes: Shapes, t: int, ground: Ground, limits: Limits) -> _Program:
    rows = shapes.rows[shapes.row_start[t] : shapes.row_start[t + 1]]
    columns = shapes.columns[shapes.column_start[t] : shapes.column_start[t + 1]]
    code, people, kind = rows.T
    if len(rows) * len(columns) <= _FULL or limits.ceilings is not None:
        row, column = (each.ravel() for each in np.indices((len(rows), len(columns))))
    else:
        row, column = _band(code, people, columns, ground, limits)
    return _Program(row, column, apart(ground, code[row], columns[column]), code, people, kind, columns)


def _band(code: Ints, people: Ints, columns: Ints, ground: Ground, limits: Limits) -> tuple[Ints, Ints]:
    """Pairs between which at most 1/delta people lie. Without ceilings, every row has a column of its own."""
    order = np.argsort(code)
    before = np.concatenate(([0], np.cumsum(people[order])))
    reach, place = int(1 / limits.delta), np.arange(len(order))
    low = np.searchsorted(before[1:], before[place] - reach)
    high = np.minimum(np.searchsorted(before[:-1], before[place + 1] + reach, side="right"), len(order))
    length = high - low
    row = np.repeat(place, length)
    column = np.arange(len(row)) - np.repeat(np.cumsum(length) - length - low, length)
    pairs = order[row] * len(columns) + order[column]
    if not len(ground.position):
        common = int(np.argmax(people))
        to_it, from_it = np.arange(len(order)) * len(columns) + common, common * len(columns) + np.arange(len(order))
        pairs = np.concatenate([pairs, to_it, from_it])
    found, other = np.divmod(np.unique(pairs), len(columns))
    return found, other


def _stacks(programs: list[_Program]) -> Iterator[list[int]]:
    """Tables that are solved together: small ones in a row, any other by itself."""
    stack: list[int] = []
    size = 0
    for t, program in enumerate(programs):
        if stack and (size + len(program.row) > _STACKED or not program.full):
            yield stack
            stack, size = [], 0
        stack.append(t)
        size += len(program.row)
        if not program.full:
            yield stack
            stack, size = [], 0
    if stack:
        yield stack


def _highs(programs: list[_Program], limits: Limits, average: int) -> tuple[Floats, Floats]:
    """(probabilities of all pairs, price of every row): the mean of some tables with the least cost."""
    from scipy.optimize import linprog

    equal, within = _constraints(programs, limits)
    pairs, people = sum(len(each.row) for each in programs), np.concatenate([each.people for each in programs])
    cost = np.zeros(equal.shape[1])
    cost[:pairs] = np.concatenate([each.people[each.row] * each.distance for each in programs])
    target = np.concatenate([np.ones(len(people)), np.zeros(equal.shape[0] - len(people))])
    noise, tables, price, best = np.random.default_rng(0), [], np.zeros(len(people)), 0.0
    for turn in range(average):
        bent = cost + (turn > 0) * 1e-5 * noise.random(len(cost)) * cost
        answer = linprog(bent, A_ub=within, b_ub=np.zeros(within.shape[0]), A_eq=equal, b_eq=target, method="highs-ds")
        if answer.status != 0:
            raise OneoffError(f"the solver gave up on a random output table: {answer.message}")
        if turn == 0:
            best, price = float(answer.fun), answer.eqlin.marginals[: len(people)] / people
        if float(cost @ answer.x) <= best + 1e-7 * max(best, float(cost.max())):
            tables.append(np.maximum(answer.x[:pairs], 0.0))
    return np.mean(tables, axis=0), price


def _constraints(programs: list[_Program], limits: Limits) -> tuple[csr_array, csr_array]:
    """equal @ (p, s) = (1, 0) and within @ (p, s) <= 0, table by table; all p come before all s."""
    from scipy.sparse import block_diag, bmat, coo_array, eye_array

    rows, sums, shown, kinds, room = [], [], [], [], []
    bounds = np.array([float(c) for c in limits.ceilings or ()])
    for each in programs:
        pair, many = np.arange(len(each.row)), len(each.columns)
        people = each.people[each.row].astype(np.float64)
        rows.append(coo_array((np.ones(len(pair)), (each.row, pair)), shape=(len(each.people), len(pair))))
        sums.append(coo_array((people, (each.column, pair)), shape=(many, len(pair))))
        part = np.full(len(pair), float(limits.delta))
        shown.append(coo_array((part, (pair, each.column)), shape=(len(pair), many)))
        if limits.ceilings is not None:
            found, where = np.unique(each.kind[each.row] * many + each.column, return_inverse=True)
            kinds.append(coo_array((people, (where, pair)), shape=(len(found), len(pair))))
            entry = (bounds[found // many], (np.arange(len(found)), found % many))
            room.append(coo_array(entry, shape=(len(found), many)))
    shows = sum(len(each.columns) for each in programs)
    equal = bmat([[block_diag(rows), None], [block_diag(sums), -eye_array(shows)]], format="csr")
    blocks = [[eye_array(sum(len(each.row) for each in programs)), -block_diag(shown)]]
    if limits.ceilings is not None:
        blocks.append([block_diag(kinds), -block_diag(room)])
    return equal, bmat(blocks, format="csr")


def _widened(program: _Program, ground: Ground, limits: Limits) -> tuple[_Program, Floats, float]:
    """The table with the pairs that prices asked for, its probabilities, and how far it is from the best at most."""
    for turn in range(_ROUNDS):
        chance, price = _highs([program], limits, 1)
        cost = float((program.people[program.row] * program.distance) @ chance)
        gain, row, column = _gains(program, ground, limits, price)
        lost = gain * float(program.people.sum())
        if lost <= _CLOSE * cost or turn == _ROUNDS - 1:
            break
        many = len(program.columns)
        pairs = np.unique(np.concatenate([program.row * many + program.column, row * many + column]))
        row, column = np.divmod(pairs, many)
        away = apart(ground, program.code[row], program.columns[column])
        program = program._replace(row=row, column=column, distance=away)
    return program, chance, 0.0 if lost <= _CLOSE * cost else lost / cost


def _gains(program: _Program, ground: Ground, limits: Limits, price: Floats) -> tuple[float, Ints, Ints]:
    """The greatest gain of a bundle of any column, and the pairs that all bundles with a gain are made of."""
    most, scale = program.people * float(limits.delta), float(program.distance.max())
    greatest, rows, columns = 0.0, [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for j, code in enumerate(program.columns.tolist()):
        each = price - apart(ground, program.code, np.full(len(most), code))
        order = np.argsort(-each, kind="stable")
        filled = np.minimum(np.cumsum(most[order]), 1.0)
        part = np.diff(filled, prepend=0.0)
        gain = float(part @ each[order])
        greatest = max(greatest, gain)
        if gain > 1e-12 * scale:
            rows.append(order[part > 0])
            columns.append(np.full(len(rows[-1]), j))
    return greatest, np.concatenate(rows), np.concatenate(columns)


def _whole(program: _Program, chance: Floats, limits: Limits) -> tuple[Ints, Ints, Ints, float]:
    """(row, column, weight): whole weights that keep delta and the ceilings exactly, and what was put aside for it.

    The solver keeps limits to seven digits. Whoever has too much of a column gives some back; what is given back, and a
    little of everything so that all have some, goes to the column nearest to all, where it is nearly equal.
    """
    many = len(program.columns)
    delta = float(limits.delta) * (1 - 1e-9)
    for _ in range(200):
        shown = np.bincount(program.column, program.people[program.row] * chance, minlength=many)
        within = np.minimum(chance, delta * shown[program.column])
        settled = np.abs(chance - within).max() < 1e-16
        chance = np.where(shown[program.column] < 1e-7, 0.0, within)
        if settled:
            break
    nearest = _nearest(program)
    for aside in (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0):
        weight = np.floor(chance * ((1 - aside) * TOTAL)).astype(np.int64)
        left = np.full(len(program.people), TOTAL, dtype=np.int64)
        np.subtract.at(left, program.row, weight)
        everybody = np.arange(len(left))
        row, column = (
            np.concatenate([program.row, everybody]),
            np.concatenate([program.column, nearest + 0 * everybody]),
        )
        pairs, place = np.unique(row * many + column, return_inverse=True)
        together = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(together, place, np.concatenate([weight, left]))
        used = together > 0
        row, column, together = pairs[used] // many, pairs[used] % many, together[used]
        if (left >= 0).all() and _kept(program, row, column, together, limits):
            return row, column, together, aside
    raise OneoffError("a group is too small for its random output table: a defect, nothing was published")


def _nearest(program: _Program) -> int:
    """A column near to all: of those that next to everybody may show, the nearest; otherwise the one in the middle."""
    shows = np.bincount(program.column, program.people[program.row], minlength=len(program.columns))
    away = np.bincount(program.column, program.people[program.row] * program.distance, minlength=len(program.columns))
    if shows.max() == program.people.sum():
        return int(np.argmin(np.where(shows == shows.max(), away, np.inf)))
    order = np.argsort(program.code)
    return int(order[np.searchsorted(np.cumsum(program.people[order]), program.people.sum() / 2)])


def _kept(program: _Program, row: Ints, column: Ints, weight: Ints, limits: Limits) -> bool:
    """Nobody has more than delta of a column, and no sensitive value more than its ceiling of it; in whole numbers."""
    many = len(program.columns)
    mass = weight * program.people[row]
    everybody = np.zeros(many, dtype=np.int64)
    likeliest = everybody.copy()
    np.add.at(everybody, column, mass)
    np.maximum.at(likeliest, column, weight)
    bounds = limits.as_array().tolist()
    tests = [(likeliest.tolist(), everybody.tolist(), *bounds[0])]
    if limits.ceilings is not None:
        for s in np.unique(program.kind).tolist():
            part = np.zeros(many, dtype=np.int64)
            chosen = program.kind[row] == s
            np.add.at(part, column[chosen], mass[chosen])
            tests.append((part.tolist(), everybody.tolist(), *bounds[1 + s]))
    return all(
        a * below <= above * b for parts, wholes, above, below in tests for a, b in zip(parts, wholes, strict=True)
    )
