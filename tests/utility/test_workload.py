"""Random count queries: the truth by counting, estimates by the obvious loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue
from oneoff.releases import Published
from oneoff.table import Table
from oneoff.utility.counting import people_meant
from oneoff.utility.workload import Workload, query_errors, random_queries
from tests.tables import examples, tables


def question(queries: Workload, q: int, table: Table) -> dict[str, list[object]]:
    """Query q as a recipient would write it."""
    columns = queries.columns[int(queries.subset[q])]
    assert table.sensitive is not None
    attributes = [*(table.quasi[j] for j in columns), table.sensitive]
    low, high = queries.low[q], queries.high[q]
    return {a.name: a.labels[low[i] : high[i] + 1].tolist() for i, a in enumerate(attributes)}


def truth(queries: Workload, q: int, table: Table) -> int:
    meant = (table.values >= queries.low[q, -1]) & (table.values <= queries.high[q, -1])
    for i, j in enumerate(queries.columns[int(queries.subset[q])]):
        meant &= (table.codes[:, j] >= queries.low[q, i]) & (table.codes[:, j] <= queries.high[q, i])
    return int(meant.sum())


@examples(60)
@given(tables(), st.integers(0, 1000), st.data())
def test_errors_are_those_of_one_question_at_a_time(table: Table, seed: int, data: st.DataObject) -> None:
    assume(table.sensitive is not None)
    attributes = data.draw(st.integers(1, len(table.quasi)))
    queries = random_queries(table, 12, attributes=attributes, selectivity=0.3, rng=np.random.default_rng(seed))
    exact = [truth(queries, q, table) for q in range(len(queries))]
    assert people_meant(table.codes, table.values, queries)[:, 1].tolist() == exact
    assume(any(exact))
    for method, guarantee in (
        ("mondrian", "k-anonymity:2"),
        ("perturbation", "beta-likeness:1"),
        ("baseline", "beta-likeness:1"),
    ):
        try:
            release: Published = oneoff.anonymize(table, guarantee, method=method, seed=seed, **_sets(method))
        except oneoff.errors.OneoffError:
            continue
        errors = [
            abs(release.count(question(queries, q, table)).count - exact[q]) / exact[q]
            for q in range(len(queries))
            if exact[q]
        ]
        measured = query_errors(release, table, queries)
        assert measured.queries == len(errors)
        assert measured.median == pytest.approx(np.median(errors), abs=1e-5)
        assert measured.mean == pytest.approx(np.mean(errors), abs=1e-5)


def _sets(method: str) -> dict[str, str]:
    """Sets of numbers, so that "evenly spread" means the same to both ways of counting."""
    return {"numeric_as": "set"} if method == "mondrian" else {}


def test_queries_are_as_long_as_their_selectivity_says() -> None:
    table = oneoff.read_table(oneoff.sample(500, seed=1), quasi=["age", "gender"], sensitive="occupation")
    queries = random_queries(table, 50, attributes=1, selectivity=0.25, rng=np.random.default_rng(1))
    sizes = np.array([[table.quasi[j[0]].size, table.counts.size] for j in queries.columns])[queries.subset]
    assert (queries.high - queries.low + 1 == np.maximum(1, np.rint(sizes * 0.5))).all()
    assert (queries.low >= 0).all()
    assert (queries.high < sizes).all()


def test_impossible_workloads_are_refused() -> None:
    table = oneoff.read_table(oneoff.sample(50, seed=1), quasi=["age", "gender"], sensitive="occupation")
    for wrong in ({"attributes": 3}, {"attributes": 0}, {"selectivity": 0.0}, {"selectivity": 2.0}):
        with pytest.raises(BadValue):
            random_queries(table, 5, rng=np.random.default_rng(1), **wrong)  # type: ignore[arg-type]
    lonely = oneoff.read_table(oneoff.sample(50, seed=1), quasi=["age", "gender"])
    with pytest.raises(BadValue, match="sensitive"):
        random_queries(lonely, 5, rng=np.random.default_rng(1))
