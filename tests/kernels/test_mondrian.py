"""The loop of Mondrian against a slow obvious twin: the same cuts, and so the same groups with the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from oneoff.kernels.mondrian import DONE, GROUPS, MEDIAN, NODES, RELAXED, TIES, cut, working_space
from oneoff.kernels.space import KIND, SET, in_units, span_loss
from oneoff.mechanisms.partitioning import mondrian
from oneoff.mechanisms.space import lexicographic, space_of
from oneoff.models import BetaLikeness, Counts, DistinctLDiversity, KAnonymity, LDiversity, Model, Prior, TCloseness
from oneoff.table import Table
from tests.tables import examples, tables

Rows = list[int]
Split = tuple[Rows, Rows]


@dataclass(frozen=True, eq=False)
class Twin:
    """Mondrian by lists of rows; `tie` places rows that are alike, `thorough` is the size up to which all is tried."""

    table: Table
    model: Model
    relaxed: bool
    thorough: int
    tie: list[int]

    @cached_property
    def space(self) -> Any:
        return space_of(self.table)

    @cached_property
    def least(self) -> int:
        return self.model.rule(self.table.counts, self.table.rows).least_size

    def groups(self) -> list[int]:
        group, made = [-1] * self.table.rows, 0
        stack = [list(range(self.table.rows))]
        while stack:
            rows = stack.pop()
            split = self.best(rows, False) or (self.best(rows, True) if self.relaxed else None)
            if split is None:
                for row in rows:
                    group[row] = made
                made += 1
            else:
                stack += split
        return group

    def best(self, rows: Rows, through_ties: bool) -> Split | None:
        """The split with the least loss of all that are worth trying, the first of equal ones."""
        best, least = None, self.loss(rows) - 1e-12 if through_ties else float("inf")
        for j in range(len(self.table.quasi)):
            for left in self.candidates(rows, j, through_ties):
                split = [r for r in rows if r in left], [r for r in rows if r not in left]
                loss = self.loss(*split)
                if loss < least:
                    best, least = split, loss
        return best

    def candidates(self, rows: Rows, j: int, through_ties: bool) -> list[set[int]]:
        """The people on the left side of each cut of attribute j that is worth trying."""
        codes = [int(self.table.codes[r, j]) for r in rows]
        order = self.order(codes, j)
        if len(order) == 1:
            return []
        pieces = [[r for r, c in zip(rows, codes, strict=True) if c == code] for code in order]
        if through_ties:
            pieces = [[r] for piece in pieces for r in sorted(piece, key=self.tie.__getitem__)]
        stride = max(1, len(pieces) // TIES) if through_ties else 1
        allowed = [i for i in range(1, len(pieces)) if (i - len(pieces) // 2) % stride == 0 and self.fits(pieces, i)]
        before = {i: sum(map(len, pieces[:i])) for i in allowed}
        if len(rows) > self.thorough and allowed:
            chosen = [min(allowed, key=lambda i: abs(2 * before[i] - len(rows)))]
            if not through_ties:
                chosen.append(min(allowed, key=lambda i: self.own_loss(order, i, before[i], len(rows), j)))
            allowed = list(dict.fromkeys(i for i in chosen))
        return [{r for piece in pieces[:i] for r in piece} for i in allowed]

    def order(self, codes: list[int], j: int) -> list[int]:
        """Numbers and trees by code, plain categories the most common first."""
        plain = self.space.attribute[j, KIND] == SET
        return sorted(set(codes), key=lambda code: (-codes.count(code) if plain else 0, code))

    def fits(self, pieces: list[Rows], i: int) -> bool:
        """Both sides keep the promise."""
        sides = [[r for piece in part for r in piece] for part in (pieces[:i], pieces[i:])]
        return all(len(side) >= self.least and self.keeps(side) for side in sides)

    def keeps(self, rows: Rows) -> bool:
        counts = np.bincount(self.table.values[rows], minlength=len(self.table.counts))
        return not self.model.failing(Counts.of(counts), Prior.of(self.table.counts)).any()

    def own_loss(self, order: list[int], i: int, at: int, size: int, j: int) -> float:
        """People times loss of one attribute on both sides."""
        first = at * span_loss(self.space, j, order[0], order[i - 1], i)
        return float(first + (size - at) * span_loss(self.space, j, order[i], order[-1], len(order) - i))

    def loss(self, *parts: Rows) -> float:
        """People times loss, attribute by attribute: the order in which the loop adds."""
        total = 0.0
        for j in range(len(self.table.quasi)):
            for rows in parts:
                codes = self.table.codes[rows, j]
                total += len(rows) * span_loss(self.space, j, int(codes.min()), int(codes.max()), len(set(codes)))
        return total


class MedianTwin(Twin):
    """Algorithm 2 of paper 003: the widest attribute, behind its median; the next one where that is not allowed."""

    def best(self, rows: Rows, through_ties: bool) -> Split | None:
        for j in sorted(range(len(self.table.quasi)), key=lambda j: (-self.width(rows, j), self.table.quasi[j].size)):
            codes = self.table.codes[rows, j].tolist()
            order = self.order(codes, j)
            places = [order.index(code) for code in codes]
            median = sorted(places)[(len(rows) - 1) // 2]
            if median == max(places):
                median -= 1
            small = [r for r, place in zip(rows, places, strict=True) if place <= median]
            big = [r for r, place in zip(rows, places, strict=True) if place > median]
            if small and big and self.fits([small, big], 1):
                return small, big
        return None

    def width(self, rows: Rows, j: int) -> int:
        """Normalized, in whole numbers."""
        codes = self.table.codes[rows, j]
        return in_units(span_loss(self.space, j, int(codes.min()), int(codes.max()), len(set(codes.tolist()))))


MODELS = st.sampled_from(
    [
        KAnonymity(1),
        KAnonymity(3),
        LDiversity(2),
        LDiversity("3/2"),
        DistinctLDiversity(2),
        BetaLikeness(1),
        TCloseness("0.4"),
    ]
)


@examples(150)
@given(
    table=tables(),
    model=MODELS,
    relaxed=st.booleans(),
    effort=st.sampled_from([("fast", 0), ("balanced", 64)]),
    seed=st.integers(0, 99),
)
def test_cuts_are_those_of_the_twin(
    table: Table, model: Model, relaxed: bool, effort: tuple[Any, int], seed: int
) -> None:
    assume(model.holds(Counts.of(table.counts), table.counts))
    tie = np.argsort(lexicographic(table, np.random.default_rng(seed))).tolist()
    twin = Twin(table, model, relaxed, effort[1], tie)
    cuts: Any = "relaxed" if relaxed else "strict"
    made = mondrian(table, model, cuts=cuts, effort=effort[0], rng=np.random.default_rng(seed))
    assert made.group.tolist() == twin.groups()


@examples(150)
@given(table=tables(), model=MODELS)
def test_median_cuts_are_those_of_the_twin(table: Table, model: Model) -> None:
    assume(model.holds(Counts.of(table.counts), table.counts))
    assert mondrian(table, model, cuts="median").group.tolist() == MedianTwin(table, model, False, 0, []).groups()


@examples(40)
@given(table=tables(), model=MODELS, budget=st.sampled_from([1, 10, 2**40]), median=st.booleans())
def test_cuts_may_be_interrupted(table: Table, model: Model, budget: int, median: bool) -> None:
    """Called until nothing is left to cut, with ties in the order of the table."""
    assume(model.holds(Counts.of(table.counts), table.counts))
    n, space, rule = table.rows, space_of(table), model.rule(table.counts, table.rows)
    work = working_space(table.values, np.arange(n), len(space.position), len(table.counts))
    codes, group, stack = table.codes.copy(), np.full(n, -1, np.int32), np.zeros((n + 2, 2), np.int64)
    stack[0], cursor, calls = (0, n), np.array([1, 0, 0, 0]), 0
    while cursor[NODES] > 0:
        cut(
            codes,
            np.empty_like(codes),
            space,
            rule,
            stack,
            cursor,
            group,
            work,
            MEDIAN if median else RELAXED,
            64,
            budget,
        )
        calls += 1
    assert group.tolist() == (MedianTwin if median else Twin)(table, model, not median, 64, list(range(n))).groups()
    assert cursor[GROUPS] == group.max() + 1
    assert cursor[DONE] == n
    assert calls == 1 if budget > n * n else calls >= group.max() + 1 or budget > 1
