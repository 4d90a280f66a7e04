"""Groups in the form in which people change places, against sets of codes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.chunks import chunk_of, unit
from oneoff.kernels.space import UNIT, place
from oneoff.mechanisms.space import space_of
from oneoff.models import BetaLikeness
from oneoff.models.limits import ANYBODY
from oneoff.table import Table
from tests.tables import tables


@given(tables(most=16), st.booleans(), st.sampled_from(["range", "set"]), st.data())
def test_a_chunk_says_the_same_as_its_table(table: Table, by_value: bool, shown_as: str, data: st.DataObject) -> None:
    group = np.array(data.draw(st.lists(st.integers(0, 3), min_size=table.rows, max_size=table.rows)))
    member, start = np.argsort(group, kind="stable"), np.searchsorted(np.sort(group), np.arange(5))
    groups = np.array(data.draw(st.permutations(range(4)))[: data.draw(st.integers(1, 4))])
    space, d = space_of(table, shown_as), len(table.quasi)
    limits = (BetaLikeness(1).caps(table.counts) if by_value else ANYBODY).up_to(table.rows).rows
    values = table.values if by_value else np.zeros_like(table.values)
    chunk = chunk_of(table.codes, values, space, limits, start, member, groups)

    rows = [member[start[g] : start[g + 1]] for g in groups]
    people = np.concatenate(rows)
    assert chunk.first.tolist() == np.cumsum([0, *map(len, rows)]).tolist()
    what = [*table.codes.T, values]
    used = [sorted(set(column[people].tolist())) for column in what]
    assert chunk.span.tolist() == np.cumsum([0, *map(len, used)]).tolist()
    for a, column in enumerate(what):
        meant = [used[a][number - chunk.span[a]] for number in chunk.code[:, a].tolist()]
        assert meant == column[people].tolist()
    for a in range(d):
        numbers = slice(chunk.span[a], chunk.span[a + 1])
        assert chunk.means[numbers].tolist() == [place(space, a, code) for code in used[a]]
    for i, (first, last) in enumerate(zip(chunk.first[:-1], chunk.first[1:], strict=True)):
        assert chunk.count[i].tolist() == np.bincount(chunk.code[first:last].ravel(), minlength=chunk.span[-1]).tolist()
    of_value = limits[:4, used[d]]
    assert np.array_equal(chunk.limits[:, chunk.span[d] : chunk.span[d + 1]], of_value)
    others = np.delete(chunk.limits, np.arange(chunk.span[d], chunk.span[d + 1]), axis=1)
    assert (others.T == [1, 1, 0, 1]).all(), "no ceiling and no floor"
    assert chunk.box.shape == (4, len(groups), d)


@given(tables(most=6))
def test_one_more_category_costs_a_part_of_the_unit(table: Table) -> None:
    space = space_of(table)
    for a, attribute in enumerate(table.quasi):
        leaves = attribute.size if attribute.hierarchy is None else 8
        assert abs(unit(space, a) - UNIT / max(leaves - 1, 1)) <= 0.5
