"""Random output tables with the least cost (paper 003, section 4, `calculate_table`).

For the m people of a group and one quasi-identifier: find p_ij, the probability that person i shows v_j, such that

    sum_j p_ij = 1        p_ij <= delta * s_j,  s_j = sum_i p_ij        sum_i sum_j dis(v_i, v_j) p_ij is least

and, where ceilings c_s on the belief in sensitive values are carried into the table, sum_{i has s} p_ij <= c_s * s_j.
Reductions that lose nothing: people with equal values (and equal sensitive values, where these matter) share a row,
and a column for every value that occurs in the group is enough. A table exists whenever m * delta >= 1: all may show
the same. Chances are whole weights; where a limit is just what the group has, there may be no such weights that are
equal for all who share a row, and then theirs differ by one.

Small tables (most are) are solved by column generation in compiled code, each shape once (kernels.cover). Larger ones,
and all with solver="highs", go to HiGHS in batches; there numbers are restricted to the values between which at most
1/delta people lie, and prices prove afterwards that nothing was lost by it, or bound how much. Those beyond are divided
into pieces (table_pieces).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, OneoffError, UnreachableGuarantee
from oneoff.models.numbers import fraction_below
from oneoff.plans import RandomTable
from oneoff.plans.cover import LARGEST_GROUP, TOTAL
from oneoff.table.classes import look_alikes
from oneoff.table.distance import Ground

__all__ = ["Limits", "Shapes", "Solved", "Sparse", "dealt", "random_output_tables"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LARGEST = 10**9  # denominators of limits; those beyond are rounded down
_MOST_ROWS = 96  # of a table that is solved by column generation
_WITH_CEILINGS = 200  # the same, where there are ceilings: these slow HiGHS down more
_AT_ONCE = 4_000_000  # entries of full tables that are kept before they are made sparse


class Limits(NamedTuple):
    """delta, a ceiling for each sensitive value (None where these do not matter), and the sum of a person's weights."""

    delta: Fraction
    ceilings: tuple[Fraction, ...] | None = None
    total: int = TOTAL

    def as_array(self) -> Ints:
        """Numerators and denominators, rounded down to what 64 bits hold; delta first."""
        bounds = (self.delta, *(self.ceilings or (Fraction(1),)))
        parts = [fraction_below(min(bound, Fraction(1)), _LARGEST) for bound in bounds]
        return np.array([(part.numerator, part.denominator) for part in parts], dtype=np.int64)

    def as_floats(self) -> Floats:
        """The same as floats, for the solver."""
        return np.asarray(self.as_array() @ [1.0, 0.0] / (self.as_array() @ [0.0, 1.0]))

    def of_parts(self, many: int) -> Limits:
        """The same for people who are counted in so many parts."""
        return Limits(self.delta / many, self.ceilings, self.total // many)

    def leaves_no_choice(self, people: int) -> bool:
        """Are there so few that all must show the same?"""
        return self.delta * people <= 1


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


class Shapes(NamedTuple):
    """Rows (code, people, sensitive value) and columns (code) of the tables of some groups, one group after another."""

    rows: Ints
    row_start: Ints
    columns: Ints
    column_start: Ints

    @property
    def many(self) -> int:
        return len(self.row_start) - 1

    def one(self, t: int) -> tuple[Ints, Ints]:
        """Rows and columns of a table."""
        rows, columns = slice(*self.row_start[t : t + 2]), slice(*self.column_start[t : t + 2])
        return self.rows[rows], self.columns[columns]

    @property
    def entries(self) -> Ints:
        return np.diff(self.row_start) * np.diff(self.column_start)


class Sparse(NamedTuple):
    """Entries of tables, by table, row and column; row and column are counted inside the table.

    weight   of all people of the row together
    """

    table: Ints
    row: Ints
    column: Ints
    weight: Ints


def random_output_tables(
    code: npt.NDArray[np.int32],
    values: npt.NDArray[np.int32],
    group: npt.NDArray[np.int32],
    ground: Ground,
    limits: Limits,
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
    shapes, row_of_person = _shapes(code, values if limits.ceilings else None, group, ground)
    of_group, first = _alike(shapes, ground, plain=limits.ceilings is None)
    distinct = _take(shapes, first)
    sparse, cost, aside, gap = _solve(distinct, ground, limits, average, solver, report or (lambda share: None))
    large = int((np.diff(distinct.row_start) > _most_rows(solver, limits)).sum())
    table = _everywhere(shapes, of_group, sparse, distinct.many, row_of_person)
    solved = Solved(
        groups=shapes.many,
        shapes=distinct.many,
        cost=float(cost[of_group].sum()),
        large=large,
        gap=gap,
        same=int((aside[of_group] >= 1).sum()),
    )
    return table, solved


def _most_rows(solver: str, limits: Limits) -> int:
    """Of a table that is solved by column generation."""
    if solver != "columns":
        return 0
    return _MOST_ROWS if limits.ceilings is None else _WITH_CEILINGS


def _refuse_sizes(size: Ints, delta: Fraction) -> None:
    """In a group of m people somebody is the origin of a value with 1/m at least (Property 1)."""
    smallest, largest = int(size.min()), int(size.max())
    if largest > LARGEST_GROUP:
        raise BadValue(
            "a group has too many people for its chances to be added up exactly",
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


def _shapes(
    code: npt.NDArray[np.int32],
    values: npt.NDArray[np.int32] | None,
    group: npt.NDArray[np.int32],
    ground: Ground,
) -> tuple[Shapes, npt.NDArray[np.int32]]:
    """Everybody in a row of the table of their group."""
    width, kinds = int(code.max()) + 1, 1 if values is None else int(values.max()) + 1
    key = (group.astype(np.int64) * width + code) * kinds + (0 if values is None else values)
    found, row, people = np.unique(key, return_inverse=True, return_counts=True)
    where, own = found // (width * kinds), found // kinds % width
    if values is None and not len(ground.position) and not len(ground.ancestor):
        # categories that are all equally far apart: tables differ by how many people have each only
        order = np.lexsort((own, -people, where))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        own, people, row = own[order], people[order], place[row]
    rows = np.stack([own, people, found % kinds], axis=1)
    row_start = np.searchsorted(where, np.arange(int(where[-1]) + 2))
    if values is None:
        return Shapes(rows, row_start, own, row_start), row.astype(np.int32)
    columns = np.unique(found // kinds)
    column_start = np.searchsorted(columns // width, np.arange(int(where[-1]) + 2))
    return Shapes(rows, row_start, columns % width, column_start), row.astype(np.int32)


def _alike(shapes: Shapes, ground: Ground, plain: bool) -> tuple[Ints, Ints]:
    """(shape of every group, a group of every shape): groups whose tables differ in nothing but names share one."""
    first_code = shapes.rows[shapes.row_start[:-1], 0]
    many = np.diff(shapes.row_start)
    # numbers too close to tell apart are different columns all the same; without ceilings every row has its own
    signature = np.column_stack([shapes.rows, np.zeros(len(shapes.rows), np.int64) if plain else _own_columns(shapes)])
    if len(ground.position):
        offset = ground.position[shapes.rows[:, 0]] - np.repeat(ground.position[first_code], many)
        signature[:, 0] = np.rint(offset * 2**40)
    elif not len(ground.ancestor):  # equal or not is all that matters
        signature[:, 0] = 0 if plain else signature[:, 0] - np.repeat(first_code, many)
    text, width = np.ascontiguousarray(signature).tobytes(), signature.itemsize * signature.shape[1]
    seen: dict[bytes, int] = {}
    of_group = np.empty(shapes.many, dtype=np.int64)
    first: list[int] = []
    for g, (a, b) in enumerate(zip(shapes.row_start[:-1].tolist(), shapes.row_start[1:].tolist(), strict=True)):
        shape = seen.setdefault(text[a * width : b * width], len(first))
        if shape == len(first):
            first.append(g)
        of_group[g] = shape
    return of_group, np.array(first, dtype=np.int64)


def _own_columns(shapes: Shapes) -> Ints:
    """For every row, which column of its group, in the order of codes, shows its own value."""
    group = np.repeat(np.arange(shapes.many), np.diff(shapes.row_start))
    different = look_alikes([group, shapes.rows[:, 0]])
    return different - np.minimum.reduceat(different, shapes.row_start[:-1])[group]


def _take(shapes: Shapes, groups: Ints) -> Shapes:
    """Some of the shapes."""
    (row, row_start), (column, column_start) = (
        _slices(start, groups) for start in (shapes.row_start, shapes.column_start)
    )
    return Shapes(shapes.rows[row], row_start, shapes.columns[column], column_start)


def _slices(start: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """The items of the chosen slices, and where each begins among them."""
    length = np.diff(start)[chosen]
    new = np.concatenate(([0], np.cumsum(length)))
    return np.repeat(start[:-1][chosen] - new[:-1], length) + np.arange(int(new[-1])), new


def _solve(
    shapes: Shapes,
    ground: Ground,
    limits: Limits,
    average: int,
    solver: str,
    report: Callable[[float], None],
) -> tuple[Sparse, Floats, Floats, float]:
    """Tables and costs of all shapes, what was put aside for rounding, and how far large ones may be from the best."""
    from oneoff.mechanisms.large_tables import UNKNOWN, too_many_pairs
    from oneoff.mechanisms.table_pieces import in_pieces

    most, divided = _most_rows(solver, limits), np.zeros(shapes.many, dtype=np.bool_)
    for t in np.flatnonzero(np.diff(shapes.row_start) > most).tolist():
        divided[t] = too_many_pairs(*shapes.one(t), ground, limits)
    cost, aside, gap = np.zeros(shapes.many), np.zeros(shapes.many), 0.0
    parts: list[Sparse] = []
    whole, steps = np.flatnonzero(~divided), 1 + int(divided.sum())

    def so_far(done: int, share: float) -> None:
        report((done + share) / steps)

    if len(whole):
        part, cost[whole], aside[whole], gap = _solve_whole(
            _take(shapes, whole), ground, limits, average, solver, partial(so_far, 0)
        )
        parts.append(part._replace(table=whole[part.table]))
    for done, t in enumerate(np.flatnonzero(divided).tolist(), start=1):
        pieces = in_pieces(*shapes.one(t), ground, limits, most)
        found, costs, rest, lost = _solve_whole(
            pieces.shapes, ground, limits.of_parts(pieces.many), average, solver, partial(so_far, done)
        )
        part = pieces.together(found)
        parts.append(part._replace(table=part.table + t))
        cost[t], aside[t] = costs.sum() / pieces.many, rest.max()
        gap = max(gap, lost if pieces.many == 1 else UNKNOWN)
    joined = Sparse(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    order = np.lexsort((joined.column, joined.row, joined.table))
    return Sparse(*(column[order] for column in joined)), cost, aside, gap


def _solve_whole(
    shapes: Shapes,
    ground: Ground,
    limits: Limits,
    average: int,
    solver: str,
    report: Callable[[float], None],
) -> tuple[Sparse, Floats, Floats, float]:
    """Likewise, each table in one piece: small ones by column generation, the others by HiGHS."""
    from oneoff.mechanisms.large_tables import solve_large

    small = np.diff(shapes.row_start) <= _most_rows(solver, limits)
    cost, aside = np.zeros(shapes.many), np.zeros(shapes.many)
    parts: list[Sparse] = []
    todo = np.flatnonzero(~small).tolist()
    for some in _portions(np.flatnonzero(small), shapes.entries):
        part, found = _columns(_take(shapes, some), ground, limits, average)
        cost[some], aside[some] = found.T
        todo += some[aside[some] < 0].tolist()  # the simplex did not come to an end
        made = aside[some][part.table] >= 0
        parts.append(Sparse(some[part.table[made]], part.row[made], part.column[made], part.weight[made]))
        report(float(some[-1] + 1) / shapes.many)
    gap = 0.0
    if todo:
        large = np.array(sorted(todo), dtype=np.int64)
        done = 1 - len(large) / shapes.many
        part, cost[large], aside[large], gap = solve_large(
            _take(shapes, large), ground, limits, average, lambda share: report(done + (1 - done) * share)
        )
        parts.append(part._replace(table=large[part.table]))
    return Sparse(*(np.concatenate(column) for column in zip(*parts, strict=True))), cost, aside, gap


def _portions(chosen: Ints, entries: Ints) -> list[Ints]:
    """Slices whose full tables fit in memory together."""
    if not len(chosen):
        return []
    number = np.cumsum(entries[chosen]) // _AT_ONCE
    return np.split(chosen, np.flatnonzero(np.diff(number)) + 1)


def _columns(shapes: Shapes, ground: Ground, limits: Limits, average: int) -> tuple[Sparse, Floats]:
    """By column generation, on all cores."""
    from oneoff.kernels.cover import cover_shapes
    from oneoff.kernels.threads import spread

    out = np.concatenate(([0], np.cumsum(shapes.entries)))
    weight, found = np.zeros(int(out[-1]), dtype=np.int64), np.zeros((shapes.many, 2))
    bounds = limits.as_array()

    def run(first: int, last: int) -> None:
        cover_shapes(*shapes, out, *ground, bounds, average, limits.total, found, weight, first, last)

    spread(run, shapes.many)
    entry = np.flatnonzero(weight)
    table = np.searchsorted(out, entry, side="right") - 1
    row, column = np.divmod(entry - out[table], np.diff(shapes.column_start)[table])
    return Sparse(table, row, column, weight[entry]), found


def _everywhere(
    shapes: Shapes, of_group: Ints, sparse: Sparse, many: int, row_of_person: npt.NDArray[np.int32]
) -> RandomTable:
    """The table of every group, from that of its shape."""
    begin = np.searchsorted(sparse.table, np.arange(many + 1))
    entry, start = _slices(begin, of_group)
    group = np.repeat(np.arange(shapes.many), np.diff(start))
    if (sparse.column[entry] >= np.diff(shapes.column_start)[group]).any():
        raise OneoffError("a random output table shows what nobody in its group has: a defect, nothing was published")
    row = shapes.row_start[group] + sparse.row[entry]
    code = shapes.columns[shapes.column_start[group] + sparse.column[entry]]
    if len(np.unique(row)) < len(shapes.rows):
        raise OneoffError("a random output table has an empty row: a defect, nothing was published")
    return _divided(row, code, sparse.weight[entry], shapes.rows[:, 1], row_of_person)


def _divided(row: Ints, code: Ints, weight: Ints, people: Ints, row_of_person: npt.NDArray[np.int32]) -> RandomTable:
    """Chances from the weights of all people of a row together. Where these cannot be divided, each gets a row."""
    many = np.ones_like(people)
    odd = row[weight % people[row] != 0]
    many[odd] = people[odd]
    first = np.concatenate(([0], np.cumsum(many)))
    entry = np.repeat(np.arange(len(row)), many[row])
    turn = np.arange(len(entry)) - np.searchsorted(entry, entry)
    before = np.cumsum(weight) - weight
    before -= before[np.searchsorted(row, row)]
    part = dealt(before[entry], weight[entry], people[row[entry]], turn, turn + 1)
    whose = first[row[entry]] + turn
    used = np.argsort(whose, kind="stable")
    used = used[part[used] > 0]
    start = np.searchsorted(whose[used], np.arange(int(first[-1]) + 1))
    order = np.argsort(row_of_person, kind="stable")
    sharing = row_of_person[order]
    rank = np.arange(len(order)) - np.searchsorted(sharing, sharing)
    own = np.empty_like(row_of_person)
    own[order] = first[sharing] + np.where(many[sharing] > 1, rank, 0)
    return RandomTable(own, start, code[entry[used]].astype(np.int32), part[used])


def dealt(before: Ints, weight: Ints, people: Ints, first: Ints, last: Ints) -> Ints:
    """What of a weight is for the people first to last, when all people of a row take turns at its weights.

    before   what other columns took of the row already. Nobody gets more than one more than anybody else of a column,
             and all get the same altogether if it can be divided.
    """

    def taken(until: Ints, who: Ints) -> Ints:  # by the people below `who`, of the first so many
        return np.asarray(until // people * who + np.minimum(until % people, who))

    until = before + weight
    return np.asarray(taken(until, last) - taken(until, first) - taken(before, last) + taken(before, first))
