"""Answers that wait for what all parts of a release say together come to what one release of all answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.kernels.queries import add_meant
from oneoff.releases import Tallied
from oneoff.table.sample import SAMPLE_ROLES
from oneoff.utility.standard import standard_queries
from oneoff.utility.tallied import closed, estimate, open_answers


def test_open_answers_closed_are_those_of_the_release() -> None:
    table = oneoff.read_table(oneoff.sample(20_000, seed=2), **SAMPLE_ROLES)
    release = oneoff.anonymize(table, "beta-likeness:3+k-anonymity:5", method="tallies", seed=1)
    assert isinstance(release, Tallied)
    assert release.fitted.solution.coefficient.any()
    queries = standard_queries(table)
    fields = release.unsolved(release.tallies.margins)
    said, beside = open_answers(release, fields, queries)
    assert np.abs(beside).max() > 0
    answers = closed(said, beside, release.fitted.learnt, queries)
    assert answers == pytest.approx(estimate(release, table, queries), rel=1e-5, abs=1e-3)


@given(st.integers(0, 2**32 - 1))
def test_whom_queries_mean_is_counted_as_by_the_obvious_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, widths = 5, (6, 4)
    counts = [rng.integers(0, 3, (cells, width)) for width in widths]
    for b in range(cells):  # every column counts the same people
        size = 1 + max(int(each[b].sum()) for each in counts)
        for each in counts:
            each[b, rng.integers(each.shape[1])] += size - each[b].sum()
    start, code, count, begin = [], [], [], 0
    for j, each in enumerate(counts):
        owner, own = np.nonzero(each)
        start.append(begin + np.searchsorted(owner, np.arange(cells + 1)))
        code.append(own + sum(widths[:j]))
        count.append(each[owner, own])
        begin += len(own)
    field = rng.integers(0, 3, cells)
    queries = np.full((4, 2 + 3 * 2), -1)
    low, high = np.zeros((4, 2), dtype=np.int64), np.tile(widths, (4, 1))
    for q in range(4):
        queries[q, :2] = 0, 1
        for at, j in enumerate(sorted(rng.choice(2, rng.integers(1, 3), replace=False).tolist())):
            ends = np.sort(rng.choice(widths[j] + 1, 2, replace=False))
            low[q, j], high[q, j] = ends
            queries[q, 2 + 3 * at : 5 + 3 * at] = j, sum(widths[:j]) + ends[0], sum(widths[:j]) + ends[1]
    meant, fields, codes = np.zeros((4, cells), np.float32), np.zeros((4, 3)), np.zeros((4, sum(widths)))
    add_meant(np.stack(start), np.concatenate(code), np.concatenate(count), field, queries, meant, fields, codes)
    for q in range(4):
        people, of_fields, beyond = np.zeros(cells), np.zeros(3), [np.zeros(width) for width in widths]
        for b in range(cells):
            size = counts[0][b].sum()
            part = [each[b, low[q, j] : high[q, j]].sum() / size for j, each in enumerate(counts)]
            people[b] = size * np.prod(part)
            of_fields[field[b]] += people[b]
            for j, each in enumerate(counts):
                inside = (np.arange(widths[j]) >= low[q, j]) & (np.arange(widths[j]) < high[q, j])
                beyond[j] += each[b] * inside * np.prod(part[:j] + part[j + 1 :]) - each[b] * np.prod(part)
        assert meant[q] == pytest.approx(people)
        assert fields[q] == pytest.approx(of_fields)
        assert codes[q] == pytest.approx(np.concatenate(beyond), abs=1e-9)
