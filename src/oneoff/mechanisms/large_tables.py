"""Random output tables by HiGHS: those with many rows, and all of them where that is asked for.

With s_j as a variable of its own the program of `output_tables` has two nonzeros in each of its inequalities. Small
tables are stacked block by block, so that HiGHS is called once for many. In large ones not every pair of row and column
is tried. Of numbers, person i may show v_j only when at most 1/delta people lie strictly between v_i and v_j (the
band); of categories the neighbours in the same sense, and the most common one may give to and take from all. No proof
is known that the band loses nothing, so it is checked each time: prices u_i of the rows bound the cost of all tables
from below as soon as no bundle of people has a gain under them. Bundles that have one are let in and the program is
solved again; lowering all prices by the largest gain that is left in the end gives the bound that is reported.

Tables beyond that are divided into pieces before they come here (`table_pieces`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.table.distance import Ground, apart

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from oneoff.mechanisms.output_tables import Limits, Shapes, Sparse

__all__ = ["UNKNOWN", "solve_large", "too_many_pairs"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_STACKED = 20_000  # variables solved at once
_FULL = 4_000  # pairs of a table that is solved with all of them
_MOST_PAIRS = 60_000  # of a table that is solved in one piece
_WITH_CEILINGS = 40_000  # the same, where there are ceilings, which make it much harder
_FULL_WITH_CEILINGS = 12_000  # of one with ceilings that is solved with all of them
_LITTLE = 1e-5  # put aside for rounding, so that people who share a row are equal
_MUCH = 1e-3  # put aside for rounding: the cost is then no longer nearly the least
UNKNOWN = 1.0  # a gap of which nothing is known
_ROUNDS = 8
_PRECISE = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
_CLOSE = 1e-5  # a gap that is none
_ROOM = 1e-7  # part of every limit that is left for rounding


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


class _Weights(NamedTuple):
    """Entries of a table in whole numbers; the weight is that of all people of the row together."""

    row: Ints
    column: Ints
    weight: Ints


def solve_large(
    shapes: Shapes, ground: Ground, limits: Limits, average: int, report: Callable[[float], None]
) -> tuple[Sparse, Floats, Floats, float]:
    """Tables of these shapes with their costs, what was put aside for rounding, and the greatest gap to the least cost.

    The gap is a share of the cost.
    """
    from oneoff.mechanisms.output_tables import Sparse

    programs = [_program(shapes, t, ground, limits) for t in range(shapes.many)]
    parts, cost, aside, gap = [], np.zeros(shapes.many), np.zeros(shapes.many), 0.0
    for stack in _stacks(programs):
        chances, lost = _solve_stack(programs, stack, ground, limits, average)
        gap = max(gap, lost)
        report((stack[-1] + 1) / len(programs))
        for t, chance in zip(stack, chances, strict=True):
            program = programs[t]
            found, aside[t] = _whole(program, chance, limits)
            moved = apart(ground, program.code[found.row], program.columns[found.column])
            cost[t] = float(moved @ found.weight) / limits.total
            gap = max(gap, UNKNOWN if aside[t] > _MUCH else 0.0)
            parts.append(Sparse(np.full(len(found.row), t), *found))
    return Sparse(*(np.concatenate(column) for column in zip(*parts, strict=True))), cost, aside, gap


def too_many_pairs(rows: Ints, columns: Ints, ground: Ground, limits: Limits) -> bool:
    """Would a table with these rows and columns take too long to solve as a whole?"""
    pairs = len(rows) * len(columns)
    if limits.ceilings is not None:
        return pairs > _WITH_CEILINGS
    if pairs > _MOST_PAIRS:
        pairs = len(_band(rows[:, 0], rows[:, 1], columns, ground, _reach(limits))[0])
    return pairs > _MOST_PAIRS


def _solve_stack(
    programs: list[_Program], stack: list[int], ground: Ground, limits: Limits, average: int
) -> tuple[list[Floats], float]:
    """Probabilities of the pairs of some tables, and how far they may be from the best; pairs may become others."""
    first = programs[stack[0]]
    if len(stack) > 1 or (first.full and not limits.leaves_no_choice(int(first.people.sum()))):
        found = _highs([programs[t] for t in stack], limits, average)
        if found is not None:
            return np.split(found[0], np.cumsum([len(programs[t].row) for t in stack])[:-1]), 0.0
    if len(stack) > 1:  # not all of them together
        each = [_solve_stack(programs, [t], ground, limits, average) for t in stack]
        return [chances[0] for chances, _ in each], max(lost for _, lost in each)
    if not first.full:
        widened = _widened(first, ground, limits)
        if widened is not None:
            programs[stack[0]], chance, lost = widened
            return [chance], lost
    programs[stack[0]] = _with_pairs(first, ground, *_all_to_one(first, ground))
    no_choice = limits.leaves_no_choice(int(first.people.sum()))
    return [np.ones(len(first.people))], 0.0 if no_choice else UNKNOWN


def _reach(limits: Limits) -> float:
    """So many people may lie between a person and what they show."""
    tightest = min([limits.delta, *(limits.ceilings or ())])
    return 1 / float(max(tightest, limits.delta / 16))


def _program(shapes: Shapes, t: int, ground: Ground, limits: Limits) -> _Program:
    rows, columns = shapes.one(t)
    code, people, kind = rows.T
    if len(code) * len(columns) <= (_FULL if limits.ceilings is None else _FULL_WITH_CEILINGS):
        row, column = (each.ravel() for each in np.indices((len(code), len(columns))))
    else:
        row, column = _band(code, people, columns, ground, _reach(limits))
    return _Program(row, column, apart(ground, code[row], columns[column]), code, people, kind, columns)


def _band(code: Ints, people: Ints, columns: Ints, ground: Ground, reach: float) -> tuple[Ints, Ints]:
    """Pairs of row and column between whose values so many people lie at most."""
    order = np.argsort(columns)
    own = np.searchsorted(columns[order], code)  # the place of each row's own value among the ordered columns
    shown = np.bincount(own, people, minlength=len(columns))
    before = np.concatenate(([0.0], np.cumsum(shown)))
    low = np.searchsorted(before[1:], before[own] - reach)
    high = np.minimum(np.searchsorted(before[:-1], before[own + 1] + reach, side="right"), len(columns))
    length = high - low
    row = np.repeat(np.arange(len(code)), length)
    pairs = [row * len(columns) + order[np.arange(len(row)) - np.repeat(np.cumsum(length) - length - low, length)]]
    if not len(ground.position):
        common = int(np.argmax(shown))  # gives to all, and takes from all
        giver = np.flatnonzero(own == common)
        pairs.append(np.arange(len(code)) * len(columns) + order[common])
        pairs.append((giver[:, None] * len(columns) + np.arange(len(columns))).ravel())
    found, other = np.divmod(np.unique(np.concatenate(pairs)), len(columns))
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


def _highs(programs: list[_Program], limits: Limits, average: int) -> tuple[Floats, Floats] | None:
    """(probabilities of all pairs, price of every row): the mean of some tables with the least cost; None if there are
    none with these pairs, or the solver cannot tell."""
    from scipy.optimize import linprog

    equal, within = _constraints(programs, limits)
    pairs, people = sum(len(each.row) for each in programs), np.concatenate([each.people for each in programs])
    cost = np.zeros(equal.shape[1])
    cost[:pairs] = np.concatenate([each.people[each.row] * each.distance for each in programs])
    target = np.concatenate([np.ones(len(people)), np.zeros(equal.shape[0] - len(people))])
    noise, tables, price, best = np.random.default_rng(0), [], np.zeros(len(people)), 0.0
    for turn in range(average if pairs <= _STACKED else 1):  # a large one takes long, and leaves enough to chance
        bent = cost + (turn > 0) * 1e-5 * noise.random(len(cost)) * cost
        for options in (_PRECISE, {}, {"presolve": False}):  # it sometimes cannot be that precise
            answer = linprog(
                bent, A_ub=within, b_ub=np.zeros(within.shape[0]), A_eq=equal, b_eq=target, method="highs-ds",
                options=options,
            )  # fmt: skip
            if answer.status in (0, 2):
                break
        if answer.status != 0 and turn == 0:
            return None
        if answer.status != 0:
            break
        if turn == 0:
            best, price = float(answer.fun), answer.eqlin.marginals[: len(people)] / people
        if float(cost @ answer.x) <= best + 1e-7 * max(best, float(cost.max())):
            tables.append(np.maximum(answer.x[:pairs], 0.0))
    return np.mean(tables, axis=0), price


def _constraints(programs: list[_Program], limits: Limits) -> tuple[csr_array, csr_array]:
    """equal @ (p, s) = (1, 0) and within @ (p, s) <= 0, table by table; all p come before all s."""
    from scipy.sparse import block_diag, bmat, coo_array, eye_array

    rows, sums, shown, kinds, room = [], [], [], [], []
    for each in programs:
        bounds = _tightened(each, limits)
        pair, many = np.arange(len(each.row)), len(each.columns)
        people = each.people[each.row].astype(np.float64)
        rows.append(coo_array((np.ones(len(pair)), (each.row, pair)), shape=(len(each.people), len(pair))))
        sums.append(coo_array((people, (each.column, pair)), shape=(many, len(pair))))
        part = np.full(len(pair), bounds[0])
        shown.append(coo_array((part, (pair, each.column)), shape=(len(pair), many)))
        if limits.ceilings is not None:
            found, where = np.unique(each.kind[each.row] * many + each.column, return_inverse=True)
            kinds.append(coo_array((people, (where, pair)), shape=(len(found), len(pair))))
            entry = (bounds[1 + found // many], (np.arange(len(found)), found % many))
            room.append(coo_array(entry, shape=(len(found), many)))
    shows = sum(len(each.columns) for each in programs)
    equal = bmat([[block_diag(rows), None], [block_diag(sums), -eye_array(shows)]], format="csr")
    blocks = [[eye_array(sum(len(each.row) for each in programs)), -block_diag(shown)]]
    if limits.ceilings is not None:
        blocks.append([block_diag(kinds), -block_diag(room)])
    return equal, bmat(blocks, format="csr")


def _tightened(program: _Program, limits: Limits) -> Floats:
    """Limits with some room for the solver's tolerance and for rounding; but what the whole group has is allowed."""
    everybody = program.people.sum()
    bounds = limits.as_floats()
    share = np.bincount(program.kind, program.people, minlength=len(bounds) - 1) / everybody
    least = np.concatenate([[1 / everybody], share])
    return np.asarray(np.maximum(bounds * (1 - _ROOM), (bounds + least) / 2))


def _widened(program: _Program, ground: Ground, limits: Limits) -> tuple[_Program, Floats, float] | None:
    """The table with the pairs that prices asked for, its probabilities, and how far it is from the best at most."""
    many, turn = len(program.columns), 0
    while True:
        found = _highs([program], limits, 1)
        if found is None and program.full:
            return None
        if found is None:  # too few pairs for the ceilings
            row, column = (each.ravel() for each in np.indices((len(program.people), many)))
            program = _with_pairs(program, ground, row, column)
            continue
        turn += 1
        chance, price = found
        cost = float((program.people[program.row] * program.distance) @ chance)
        gain, row, column = _gains(program, ground, limits, price)
        lost = gain * float(program.people.sum())
        if lost <= _CLOSE * cost or turn == _ROUNDS or program.full:
            return program, chance, 0.0 if lost <= _CLOSE * cost or program.full else lost / cost
        pairs = np.unique(np.concatenate([program.row * many + program.column, row * many + column]))
        program = _with_pairs(program, ground, *np.divmod(pairs, many))


def _all_to_one(program: _Program, ground: Ground) -> tuple[Ints, Ints]:
    """Everybody with the column nearest to all."""
    cost = [float(program.people @ apart(ground, program.code, np.full_like(program.code, c))) for c in program.columns]
    everybody = np.arange(len(program.people))
    return everybody, np.full(len(everybody), int(np.argmin(cost)))


def _with_pairs(program: _Program, ground: Ground, row: Ints, column: Ints) -> _Program:
    away = apart(ground, program.code[row], program.columns[column])
    return program._replace(row=row, column=column, distance=away)


def _gains(program: _Program, ground: Ground, limits: Limits, price: Floats) -> tuple[float, Ints, Ints]:
    """The greatest gain of a bundle of any column, and the pairs that all bundles with a gain are made of."""
    delta, *ceilings = _tightened(program, limits).tolist()
    most, scale = (program.people * delta).tolist(), float(program.distance.max())
    kind = program.kind.tolist()
    greatest, rows, columns = 0.0, [], []
    for j, code in enumerate(program.columns.tolist()):
        each = price - apart(ground, program.code, np.full(len(most), code))
        gain, left, room, used = 0.0, 1.0, ceilings.copy(), []
        for i in np.argsort(-each, kind="stable").tolist():
            part = min(most[i], room[kind[i]], left)
            if part > 0:
                used.append(i)
                gain += part * float(each[i])
                room[kind[i]] -= part
                left -= part
                if left <= 1e-12:
                    break
        greatest = max(greatest, gain)
        if gain > 1e-12 * scale:
            rows += used
            columns += [j] * len(used)
    return greatest, np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _whole(program: _Program, chance: Floats, limits: Limits) -> tuple[_Weights, float]:
    """Whole weights that keep delta and the ceilings exactly, and what was put aside for it.

    The solver keeps limits to nine digits. What is too much is given back; that, and a little of everything so that all
    have some, goes to the column nearest to all, where it is nearly equal. Those who share a row get the same, unless
    more than a little would have to be put aside for it.
    """
    nearest = _nearest(program)
    ways = [(_equal, 1.0)] if limits.ceilings is None else [(_equal, _LITTLE), (_exact, 1.0)]
    for rounded, most in ways:
        for aside in (0.0, *(10.0**power for power in range(-9, 0)), 0.3):
            if aside <= most:
                given = rounded(program, chance * ((1 - aside) * limits.total), limits)
                found = _with_rest(program, given, nearest, limits.total)
                if found is not None and _kept(program, found, limits):
                    return found, aside
    everybody = np.arange(len(program.people))
    return _Weights(everybody, np.full_like(everybody, nearest), program.people * limits.total), 1.0


def _with_rest(program: _Program, given: _Weights, nearest: int, total: int) -> _Weights | None:
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
    return _Weights(*np.divmod(pairs[weight > 0], many), weight[weight > 0])


def _equal(program: _Program, wanted: Floats, limits: Limits) -> _Weights:
    """Weights that can be divided by the people who share a row; nobody has more than delta of a column."""
    each = np.floor(wanted).astype(np.int64)
    people, delta = program.people[program.row], limits.as_array()[0].tolist()
    order = np.lexsort((-each, program.column))
    for part in np.split(order, np.flatnonzero(np.diff(program.column[order])) + 1):
        each[part] = np.minimum(each[part], _level(each[part].tolist(), people[part].tolist(), delta))
    return _Weights(program.row, program.column, each * people)


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


def _exact(program: _Program, wanted: Floats, limits: Limits) -> _Weights:
    """Weights of all people of a row together, as near to what is wanted as the limits of every column allow.

    Columns are whole multiples of the denominators of all limits, so that nothing is lost by rounding these; a ceiling
    that is just what the group has is used up in every column, since what is left must keep it too.
    """
    everybody, bounds = int(program.people.sum()), limits.as_array()
    mass = np.zeros((len(program.people), len(program.columns)))
    mass[program.row, program.column] = wanted * program.people[program.row]
    unit = lcm(*bounds[:, 1].tolist())
    unit = unit if unit < limits.total // 1_000 else everybody  # what the whole group has can be kept at least
    column = np.floor(mass.sum(axis=0) / unit).astype(np.int64) * unit
    most = program.people[:, None] * _share(column, bounds[0])
    kinds, kind = np.unique(program.kind, return_inverse=True)
    people = np.bincount(kind, program.people).astype(np.int64)
    ceiling = np.stack([_share(column, bounds[1 + s]) for s in kinds.tolist()])
    own = np.stack([np.floor(mass[kind == s].sum(axis=0)) for s in range(len(kinds))]).astype(np.int64)
    tight = people * bounds[1 + kinds, 1] >= everybody * bounds[1 + kinds, 0]
    own[tight] = ceiling[tight]
    order = np.argsort(tight, kind="stable")
    room = np.stack([most[kind == s].sum(axis=0) for s in range(len(kinds))])
    shown = np.empty_like(own)
    shown[order] = _filled(own[order], np.minimum(ceiling, room)[order], column)
    found = np.floor(mass).astype(np.int64)
    for s in range(len(kinds)):
        some = kind == s
        found[some] = _filled(found[some], most[some], shown[s])
    row, number = np.nonzero(found)
    return _Weights(row, number, found[row, number])


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


def _nearest(program: _Program) -> int:
    """A column near to all: of those that next to everybody may show, the nearest; otherwise the one in the middle."""
    shows = np.bincount(program.column, program.people[program.row], minlength=len(program.columns))
    away = np.bincount(program.column, program.people[program.row] * program.distance, minlength=len(program.columns))
    if shows.max() == program.people.sum():
        return int(np.argmin(np.where(shows == shows.max(), away, np.inf)))
    order = np.argsort(program.code)
    middle = order[np.searchsorted(np.cumsum(program.people[order]), program.people.sum() / 2)]
    return int(np.flatnonzero(program.columns == program.code[middle])[0])


def _kept(program: _Program, found: _Weights, limits: Limits) -> bool:
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
