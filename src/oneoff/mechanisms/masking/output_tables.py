"""Random output tables with the least cost (paper 003, section 4, `calculate_table`).

For the m people of a group and one quasi-identifier: find p_ij, the probability that person i shows v_j, such that

    sum_j p_ij = 1        p_ij <= delta * s_j,  s_j = sum_i p_ij        sum_i sum_j dis(v_i, v_j) p_ij is least

and, where ceilings c_s on the belief in sensitive values are carried into the table, sum_{i has s} p_ij <= c_s * s_j.
Reductions that lose nothing: people with equal values (and equal sensitive values, where these matter) share a row,
and a column for every value that occurs in the group is enough. A table exists whenever m * delta >= 1: all may show
the same. Probabilities are whole weights; where a limit is just what the group has, there may be no such weights that
are equal for all who share a row, and then theirs differ by one.

Groups whose tables differ in nothing but names share one. Small tables (most are) are solved by column generation in
compiled code (small_tables). Larger ones, and all with solver="highs", go to HiGHS in batches (large_tables), and those
beyond are divided into pieces (table_pieces).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oneoff.errors import BadValue, Defect, UnreachableGuarantee
from oneoff.mechanisms.masking.shapes import Answer, ColumnLimits, Shapes, Sparse, TableProblem
from oneoff.mechanisms.masking.solving import solve
from oneoff.plans import RandomTable
from oneoff.plans.cover import LARGEST_GROUP
from oneoff.table.arrays import Codes, Ints, Ragged, offsets
from oneoff.table.classes import look_alikes
from oneoff.table.distance import Metric

__all__ = ["Solved", "dealt", "random_output_tables"]


@dataclass(frozen=True)
class Solved:
    """What became of the tables of one quasi-identifier.

    shapes     different tables among those of all groups
    cost       the sum of the distances people are to be moved
    large      tables too large for column generation; gap: how far these are from the least cost at most, as a share
    same       groups in which everybody shows the same only because a ceiling leaves no room for rounding
    """

    groups: int
    shapes: int
    cost: float
    large: int
    gap: float
    same: int


def random_output_tables(
    code: Codes,
    values: Codes,
    group: Codes,
    metric: Metric,
    limits: ColumnLimits,
    *,
    average: int = 4,
    solver: str = "columns",
    report: Callable[[float], None] | None = None,
) -> tuple[RandomTable, Solved]:
    """The tables of all groups for one quasi-identifier.

    code, values, group   of every person; values matter only with ceilings
    average               tables are the mean of so many that all have the least cost, which leaves more to chance
    """
    _refuse_sizes(np.bincount(group), limits.delta)
    problem = TableProblem(metric, limits, average, solver)
    shapes, row_of_person = _shapes(code, values if limits.ceilings else None, group, metric)
    of_group, first = _alike(shapes, metric, plain=limits.ceilings is None)
    distinct = shapes.take(first)
    answer = solve(distinct, problem, report or (lambda share: None))
    large = int((distinct.rows.lengths > problem.most_rows).sum())
    table = _everywhere(shapes, of_group, answer.entries, distinct.tables, row_of_person)
    return table, _summary(answer, of_group, large)


def _summary(answer: Answer, of_group: Ints, large: int) -> Solved:
    return Solved(
        groups=len(of_group),
        shapes=len(answer.cost),
        cost=float(answer.cost[of_group].sum()),
        large=large,
        gap=answer.gap,
        same=int((answer.reserve[of_group] >= 1).sum()),
    )


def _refuse_sizes(size: Ints, delta: Fraction) -> None:
    """In a group of m people somebody is the origin of a value with 1/m at least (Property 1)."""
    smallest, largest = int(size.min()), int(size.max())
    if largest > LARGEST_GROUP:
        raise BadValue(
            "a group has too many people for its probabilities to be added up exactly",
            allowed=f"groups of at most {LARGEST_GROUP:,} people",
            got=f"{largest:,}",
            hint="a weaker promise about sensitive values makes smaller groups; joint=true has no such limit",
        )
    if delta * smallest < 1:
        raise UnreachableGuarantee(
            f"a group has {smallest} people, who cannot cover for one another to {float(delta):.4g}",
            allowed=f"delta-probability:1/{smallest} or weaker, for these groups",
            got=f"delta-probability:{delta}",
            hint="larger groups",
        )


def _shapes(code: Codes, values: Codes | None, group: Codes, metric: Metric) -> tuple[Shapes, Codes]:
    """Everybody in a row of the table of their group."""
    width, kinds = int(code.max()) + 1, 1 if values is None else int(values.max()) + 1
    key = (group.astype(np.int64) * width + code) * kinds + (0 if values is None else values)
    found, row, people = np.unique(key, return_inverse=True, return_counts=True)
    where, own = found // (width * kinds), found // kinds % width
    if values is None and not len(metric.position) and not len(metric.ancestor):
        # categories that are all equally far apart: tables differ by how many people have each only
        order = np.lexsort((own, -people, where))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        own, people, row = own[order], people[order], place[row]
    rows = Ragged.of_lengths(np.bincount(where), np.stack([own, people, found % kinds], axis=1))
    if values is None:
        return Shapes(rows, Ragged(rows.start, own)), row.astype(np.int32)
    shown = np.unique(found // kinds)
    return Shapes(rows, Ragged.of_lengths(np.bincount(shown // width), shown % width)), row.astype(np.int32)


def _alike(shapes: Shapes, metric: Metric, plain: bool) -> tuple[Ints, Ints]:
    """(shape of every group, a group of every shape): groups whose tables differ in nothing but names share one."""
    signature = _signature(shapes, metric, plain)
    text, width = np.ascontiguousarray(signature).tobytes(), signature.itemsize * signature.shape[1]
    begin = (shapes.rows.start * width).tolist()
    seen: dict[bytes, int] = {}
    first: list[int] = []
    of_group = np.empty(shapes.tables, dtype=np.int64)
    for g in range(shapes.tables):
        shape = seen.setdefault(text[begin[g] : begin[g + 1]], len(first))
        if shape == len(first):
            first.append(g)
        of_group[g] = shape
    return of_group, np.array(first, dtype=np.int64)


def _signature(shapes: Shapes, metric: Metric, plain: bool) -> Ints:
    """The rows of all groups, with codes such that equal rows mean equal tables."""
    rows = shapes.rows
    # numbers too close to tell apart are different columns all the same; without ceilings every row has its own
    own = np.zeros(len(rows.items), np.int64) if plain else _own_columns(shapes)
    signature = np.column_stack([rows.items, own])
    code = rows.items[:, 0]
    first_code = code[rows.start[:-1]][rows.owner]
    if len(metric.position):
        signature[:, 0] = np.rint((metric.position[code] - metric.position[first_code]) * 2**40)
    elif not len(metric.ancestor):  # equal or not is all that matters
        signature[:, 0] = 0 if plain else code - first_code
    return signature


def _own_columns(shapes: Shapes) -> Ints:
    """For every row, which column of its group, in the order of codes, shows its own value."""
    rows = shapes.rows
    different = look_alikes([rows.owner, rows.items[:, 0]])
    return different - np.minimum.reduceat(different, rows.start[:-1])[rows.owner]


def _everywhere(shapes: Shapes, of_group: Ints, sparse: Sparse, tables: int, row_of_person: Codes) -> RandomTable:
    """The table of every group, from that of its shape."""
    order = np.lexsort((sparse.column, sparse.row, sparse.table))
    entries = Ragged(np.searchsorted(sparse.table[order], np.arange(tables + 1)), order).take(of_group)
    entry, group = entries.items, entries.owner
    if (sparse.column[entry] >= shapes.columns.lengths[group]).any():
        raise Defect("a random output table shows what nobody in its group has")
    row = shapes.rows.start[group] + sparse.row[entry]
    code = shapes.columns.items[shapes.columns.start[group] + sparse.column[entry]]
    if len(np.unique(row)) < len(shapes.rows.items):
        raise Defect("a random output table has an empty row")
    return _divided(row, code, sparse.weight[entry], shapes.rows.items[:, 1], row_of_person)


def _divided(row: Ints, code: Ints, weight: Ints, people: Ints, row_of_person: Codes) -> RandomTable:
    """Probabilities from the weights of all people of a row together. Where these cannot be divided, each has a row."""
    copies = np.ones_like(people)
    odd = row[weight % people[row] != 0]
    copies[odd] = people[odd]
    first = offsets(copies)
    entry = np.repeat(np.arange(len(row)), copies[row])
    turn = np.arange(len(entry)) - np.searchsorted(entry, entry)
    before = np.cumsum(weight) - weight
    before -= before[np.searchsorted(row, row)]
    part = dealt(before[entry], weight[entry], people[row[entry]], turn, turn + 1)
    whose = first[row[entry]] + turn
    used = np.argsort(whose, kind="stable")
    used = used[part[used] > 0]
    start = np.searchsorted(whose[used], np.arange(int(first[-1]) + 1))
    own = _rows_of_people(row_of_person, copies, first)
    return RandomTable(own, start, code[entry[used]].astype(np.int32), part[used])


def _rows_of_people(shared: Codes, copies: Ints, first: Ints) -> Codes:
    """Everybody's row when the shared row r became copies[r] rows from first[r] on, one for each of its people."""
    order = np.argsort(shared, kind="stable")
    sharing = shared[order]
    rank = np.arange(len(order)) - np.searchsorted(sharing, sharing)
    own = np.empty_like(shared)
    own[order] = first[sharing] + np.where(copies[sharing] > 1, rank, 0)
    return own


def dealt(before: Ints, weight: Ints, people: Ints, first: Ints, last: Ints) -> Ints:
    """What of a weight is for the people first to last, when all people of a row take turns at its weights.

    before   what other columns took of the row already. Nobody gets more than one more than anybody else of a column,
             and all get the same altogether if it can be divided.
    """

    def taken(until: Ints, who: Ints) -> Ints:  # by the people below `who`, of the first so many
        return np.asarray(until // people * who + np.minimum(until % people, who))

    until = before + weight
    return np.asarray(taken(until, last) - taken(until, first) - taken(before, last) + taken(before, first))
