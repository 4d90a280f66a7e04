"""One group at a time, against all of them at once (which `tests.models.test_rule` compares with the promises)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.rules import allows, allows_groups
from oneoff.models import Counts, DistinctLDiversity
from tests.tables import models, tables


@given(st.data(), st.integers(0, 3))
def test_zeros_and_wider_working_space_change_no_verdict(data: st.DataObject, wider: int) -> None:
    table = data.draw(tables(most=20))
    model = data.draw(st.one_of(models(table), st.just(DistinctLDiversity(2))))
    rule, many = model.rule(table.counts, table.rows), len(table.counts)
    rows = data.draw(st.lists(st.integers(0, table.rows - 1), min_size=1, max_size=table.rows, unique=True))
    count = np.bincount(table.values[rows], minlength=many + wider)
    sparse = Counts.of(count[:many])
    expected = bool(allows_groups(rule, sparse.start, sparse.value, sparse.count)[0])
    present = np.flatnonzero(count)
    assert allows(rule, count, present, len(present), len(rows)) == expected
    mixed = np.random.default_rng(1).permutation(many)
    assert allows(rule, count, mixed, many, len(rows)) == expected
