"""Boxes that grow inside blocks: every assignment against all others."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneoff.kernels.freeform import grow_blocks
from oneoff.kernels.matching import GREEDY, HUNGARIAN, SORT_GREEDY
from oneoff.mechanisms.space import space_of
from oneoff.table import Table
from tests.tables import tables
from tests.twins import box_loss


@settings(max_examples=60)
@given(tables(most=8), st.sampled_from([HUNGARIAN, GREEDY, SORT_GREEDY]), st.data())
def test_every_assignment_lets_boxes_grow_least(table: Table, matcher: int, data: st.DataObject) -> None:
    n = table.rows
    order = np.array(data.draw(st.permutations(range(n))))
    start = np.array([0, n // 2, n]) if n > 5 else np.array([0, n])  # at most five people in a block
    blocks = [order[first:last].tolist() for first, last in pairwise(start)]
    k = data.draw(st.integers(1, min(map(len, blocks))))
    cover = np.full((n, k), -1)
    for b in range(len(blocks)):
        grow_blocks(table.codes, space_of(table), order, start, b, b + 1, matcher, cover)
    assert cover[:, 0].tolist() == list(range(n)), "oneself in front"
    assert all(len(set(row)) == k for row in cover.tolist()), "never a pair twice"
    for people in blocks:
        for t in range(1, k):
            assert sorted(cover[people, t].tolist()) == sorted(people)
            grown = {
                (i, p): box_loss(table, np.array([*cover[i, :t], p]))
                for i in people
                for p in set(people) - {*cover[i, :t]}
            }
            reached = sum(grown[i, int(cover[i, t])] for i in people)
            least = min(
                sum(grown[pair] for pair in pairs)
                for pairs in (list(zip(people, chosen, strict=True)) for chosen in permutations(people))
                if all(pair in grown for pair in pairs)
            )
            if matcher == HUNGARIAN:
                assert reached == pytest.approx(least, abs=1e-5)
            else:
                assert reached >= least - 1e-5
