"""Random output tables by HiGHS: those with many rows, and all of them where that is asked for.

With s_j as a variable of its own the program of `output_tables` has two nonzeros in each of its inequalities. Small
tables are stacked block by block, so that HiGHS is called once for many. Large ones are solved with some pairs of row
and column only (`programs`), and prices u_i of the rows bound the cost of all tables from below as soon as no bundle of
people has a gain under them. Bundles that have one are let in and the program is solved again; lowering all prices by
the largest gain that is left in the end gives the bound that is reported.

Tables beyond that are divided into pieces before they come here (`table_pieces`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.mechanisms.masking.programs import Program
from oneoff.mechanisms.masking.rounding import whole_weights
from oneoff.mechanisms.masking.shapes import UNKNOWN, Answer, ColumnLimits, Shapes, Sparse, TableProblem, joined
from oneoff.table.arrays import Floats, Ints
from oneoff.table.distance import Metric, distance

if TYPE_CHECKING:
    from scipy.sparse import coo_array, csr_array

__all__ = ["solve_large"]

_STACKED = 20_000  # variables solved at once
_MUCH = 1e-3  # put aside for rounding: the cost is then no longer nearly the least
_ROUNDS = 8
_PRECISE = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
_CLOSE = 1e-5  # a gap that is none
_ROOM = 1e-7  # part of every limit that is left for rounding


def solve_large(shapes: Shapes, problem: TableProblem, report: Callable[[float], None]) -> Answer:
    """Tables of these shapes."""
    programs = [Program.of(*shapes.one(t), problem) for t in range(shapes.tables)]
    found: list[tuple[Ints, Answer]] = []
    for stack in _stacks(programs):
        solved, lost = _solve_stack([programs[t] for t in stack], problem)
        report((stack[-1] + 1) / len(programs))
        for t, (program, probability) in zip(stack, solved, strict=True):
            found.append((np.array([t]), _rounded(program, probability, problem, lost)))
    return joined(found)


def _rounded(program: Program, probability: Floats, problem: TableProblem, lost: float) -> Answer:
    """The table of a program whose probabilities are known."""
    weights, reserve = whole_weights(program, probability, problem.limits)
    moved = distance(problem.metric, program.code[weights.row], program.columns[weights.column])
    cost = float(moved @ weights.weight) / problem.limits.total
    gap = max(lost, UNKNOWN if reserve > _MUCH else 0.0)
    return Answer(Sparse(np.zeros_like(weights.row), *weights), np.array([cost]), np.array([reserve]), gap)


Solved = list[tuple[Program, Floats]]  # programs, maybe with other pairs than they came with, and their probabilities


def _solve_stack(programs: list[Program], problem: TableProblem) -> tuple[Solved, float]:
    """Probabilities for the pairs of some tables, and how far these may be from the best."""
    first = programs[0]
    no_choice = problem.limits.leaves_no_choice(first.everybody)
    if len(programs) > 1 or (first.full and not no_choice):
        found = _highs(programs, problem.limits, problem.average)
        if found is not None:
            probabilities = np.split(found[0], np.cumsum([len(each.row) for each in programs])[:-1])
            return list(zip(programs, probabilities, strict=True)), 0.0
    if len(programs) > 1:  # not all of them together
        each = [_solve_stack([program], problem) for program in programs]
        return [solved[0] for solved, _ in each], max(lost for _, lost in each)
    widened = None if first.full else _widened(first, problem.metric, problem.limits)
    if widened is not None:
        program, probability, lost = widened
        return [(program, probability)], lost
    same = first.with_one_column(problem.metric)
    return [(same, np.ones(len(first.people)))], 0.0 if no_choice else UNKNOWN


def _stacks(programs: list[Program]) -> Iterator[list[int]]:
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


def _highs(programs: list[Program], limits: ColumnLimits, average: int) -> tuple[Floats, Floats] | None:
    """(probabilities of all pairs, price of every row): the mean of some tables with the least cost; None if there are
    none with these pairs, or the solver cannot tell."""
    equal, within = _constraints(programs, limits)
    pairs, people = sum(len(each.row) for each in programs), np.concatenate([each.people for each in programs])
    cost = np.zeros(equal.shape[1])
    cost[:pairs] = np.concatenate([each.people[each.row] * each.distance for each in programs])
    first = _least(cost, equal, within, len(people))
    if first is None:
        return None
    best, tables = float(first.fun), [first.x]
    noise = np.random.default_rng(0)  # noqa: TID251 - the same in every run: a search, not a draw
    noise.random(len(cost))  # the first needs none, and yet has its turn: tables stay what they always were
    for _ in range(average - 1 if pairs <= _STACKED else 0):  # a large one takes long, and leaves enough to chance
        again = _least(cost + 1e-5 * noise.random(len(cost)) * cost, equal, within, len(people))
        if again is None:
            break
        if float(cost @ again.x) <= best + 1e-7 * max(best, float(cost.max())):
            tables.append(again.x)
    probability = np.mean([np.maximum(each[:pairs], 0.0) for each in tables], axis=0)
    return probability, first.eqlin.marginals[: len(people)] / people


def _least(cost: Floats, equal: csr_array, within: csr_array, rows: int) -> Any:
    """What HiGHS says about the program of `_constraints`; None where it says that there is no table, or nothing."""
    from scipy.optimize import linprog

    target, room = np.zeros(equal.shape[0]), np.zeros(within.shape[0])
    target[:rows] = 1
    for options in (_PRECISE, {}, {"presolve": False}):  # it sometimes cannot be that precise
        answer = linprog(
            cost, A_ub=within, b_ub=room, A_eq=equal, b_eq=target, method="highs-ds", options=options
        )  # fmt: skip
        if answer.status in (0, 2):
            break
    return answer if answer.status == 0 else None


def _constraints(programs: list[Program], limits: ColumnLimits) -> tuple[csr_array, csr_array]:
    """equal @ (p, s) = (1, 0) and within @ (p, s) <= 0, table by table; all p come before all s."""
    from scipy.sparse import block_diag, bmat, eye_array

    rows, sums, shown = zip(*(_of_columns(each, limits) for each in programs), strict=True)
    pairs, shows = sum(len(each.row) for each in programs), sum(len(each.columns) for each in programs)
    equal = bmat([[block_diag(rows), None], [block_diag(sums), -eye_array(shows)]], format="csr")
    blocks = [[eye_array(pairs), -block_diag(shown)]]
    if limits.ceilings is not None:
        kinds, room = zip(*(_of_kinds(each, limits) for each in programs), strict=True)
        blocks.append([block_diag(kinds), -block_diag(room)])
    return equal, bmat(blocks, format="csr")


def _of_columns(program: Program, limits: ColumnLimits) -> tuple[coo_array, coo_array, coo_array]:
    """What adds up the pairs of every row, what adds up the people of every column, and delta of each column."""
    from scipy.sparse import coo_array

    pair, many = np.arange(len(program.row)), len(program.columns)
    people = program.people[program.row].astype(np.float64)
    delta = np.full(len(pair), _tightened(program, limits)[0])
    return (
        coo_array((np.ones(len(pair)), (program.row, pair)), shape=(len(program.people), len(pair))),
        coo_array((people, (program.column, pair)), shape=(many, len(pair))),
        coo_array((delta, (pair, program.column)), shape=(len(pair), many)),
    )


def _of_kinds(program: Program, limits: ColumnLimits) -> tuple[coo_array, coo_array]:
    """What adds up the people with each sensitive value in every column, and the ceilings of these."""
    from scipy.sparse import coo_array

    pair, many = np.arange(len(program.row)), len(program.columns)
    people = program.people[program.row].astype(np.float64)
    found, where = np.unique(program.kind[program.row] * many + program.column, return_inverse=True)
    ceiling = _tightened(program, limits)[1 + found // many]
    return (
        coo_array((people, (where, pair)), shape=(len(found), len(pair))),
        coo_array((ceiling, (np.arange(len(found)), found % many)), shape=(len(found), many)),
    )


def _tightened(program: Program, limits: ColumnLimits) -> Floats:
    """Limits with some room for the solver's tolerance and for rounding; but what the whole group has is allowed."""
    bounds = limits.as_floats()
    share = np.bincount(program.kind, program.people, minlength=len(bounds) - 1) / program.everybody
    least = np.concatenate([[1 / program.everybody], share])
    return np.asarray(np.maximum(bounds * (1 - _ROOM), (bounds + least) / 2))


def _widened(program: Program, metric: Metric, limits: ColumnLimits) -> tuple[Program, Floats, float] | None:
    """The table with the pairs that prices asked for, its probabilities, and how far it is from the best at most."""
    turn = 0
    while True:
        found = _highs([program], limits, 1)
        if found is None and program.full:
            return None
        if found is None:  # too few pairs for the ceilings
            program = program.with_all_pairs(metric)
            continue
        turn += 1
        probability, price = found
        cost = float((program.people[program.row] * program.distance) @ probability)
        gain, row, column = _gains(program, metric, limits, price)
        lost = gain * float(program.everybody)
        if lost <= _CLOSE * cost or program.full:
            return program, probability, 0.0
        if turn == _ROUNDS:
            return program, probability, lost / cost
        program = program.with_more_pairs(metric, row, column)


def _gains(program: Program, metric: Metric, limits: ColumnLimits, price: Floats) -> tuple[float, Ints, Ints]:
    """The greatest gain of a bundle of any column, and the pairs that all bundles with a gain are made of."""
    delta, *ceilings = _tightened(program, limits).tolist()
    most, scale = (program.people * delta).tolist(), float(program.distance.max())
    greatest, rows, columns = 0.0, [], []
    for j, code in enumerate(program.columns.tolist()):
        each = price - distance(metric, program.code, np.full(len(most), code))
        gain, used = _bundle(each, most, ceilings, program.kind.tolist())
        greatest = max(greatest, gain)
        if gain > 1e-12 * scale:
            rows += used
            columns += [j] * len(used)
    return greatest, np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _bundle(each: Floats, most: list[float], ceilings: list[float], kind: list[int]) -> tuple[float, list[int]]:
    """The greatest gain of a unit of people, at most so much of everybody and of every sensitive value, and who has a
    part in it."""
    gain, left, room = 0.0, 1.0, ceilings.copy()
    used: list[int] = []
    for i in np.argsort(-each, kind="stable").tolist():
        part = min(most[i], room[kind[i]], left)
        if part > 0:
            used.append(i)
            gain += part * float(each[i])
            room[kind[i]] -= part
            left -= part
            if left <= 1e-12:
                break
    return gain, used
