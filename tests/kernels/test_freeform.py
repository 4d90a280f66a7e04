"""Boxes that grow inside blocks: every assignment against all others."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.freeform import grow_blocks
from oneoff.kernels.matching import GREEDY, HUNGARIAN, SORT_GREEDY
from oneoff.mechanisms.space import space_of
from oneoff.table import Table
from tests.tables import examples, tables
from tests.twins import box_loss


def grown(table: Table, blocks: list[list[int]], k: int, matcher: int) -> npt.NDArray[np.int64]:
    """What every record covers: itself in front, k of its block, and everybody of the block k times."""
    start, cover = np.cumsum([0, *map(len, blocks)]), np.full((table.rows, k), -1)
    grow_blocks(table.codes, space_of(table), np.concatenate(blocks), start, 0, len(blocks), matcher, cover)
    assert cover[:, 0].tolist() == list(range(table.rows))
    assert all(len(set(row)) == k for row in cover.tolist())
    for people in blocks:
        assert all(sorted(cover[people, t].tolist()) == sorted(people) for t in range(k))
    return cover


def two_blocks(table: Table, seed: int) -> list[list[int]]:
    order = np.random.default_rng(seed).permutation(table.rows)
    return [block.tolist() for block in np.array_split(order, 2) if len(block)]


@examples(200)
@given(tables(most=10), st.integers(0, 99), st.integers(1, 5))
def test_boxes_grow_least_by_every_assignment(table: Table, seed: int, k: int) -> None:
    blocks = two_blocks(table, seed)
    k = min(k, *map(len, blocks))
    cover = grown(table, blocks, k, HUNGARIAN)
    for people in blocks:
        for t in range(1, k):
            allowed = {(i, p) for i in people for p in set(people) - {*cover[i, :t]}}
            loss = {(i, p): box_loss(table, np.array([*cover[i, :t], p])) for i, p in allowed}
            every = (list(zip(people, chosen, strict=True)) for chosen in permutations(people))
            least = min(sum(loss[pair] for pair in pairs) for pairs in every if allowed.issuperset(pairs))
            assert sum(loss[i, int(cover[i, t])] for i in people) == pytest.approx(least, abs=1e-5)


@pytest.mark.parametrize("matcher", [GREEDY, SORT_GREEDY])
def test_the_other_matchers_cover_everybody_as_often(people: Table, matcher: int) -> None:
    blocks = np.array_split(np.random.default_rng(1).permutation(people.rows), 20)
    grown(people, [block.tolist() for block in blocks], 7, matcher)
