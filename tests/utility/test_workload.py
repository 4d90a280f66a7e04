"""Random count queries: the truth by counting, estimates by the obvious loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue
from oneoff.releases import Generalized, Published
from oneoff.table import Table
from oneoff.utility.counting import people_meant
from oneoff.utility.workload import Workload, estimated_counts, prefix_queries, query_errors, random_queries
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


# --- how the people of a box lie in it


def with_multiplicity(release: Generalized, table: Table, queries: Workload, q: int) -> float:
    """Record by record: the shares of those it covers who have a wanted code, multiplied over the columns."""
    assert release.graph is not None
    total = 0.0
    for record, value in enumerate(release.values):
        if not queries.low[q, -1] <= value <= queries.high[q, -1]:
            continue
        covered = table.codes[release.graph.covers[record]]
        part = 1.0
        for i, j in enumerate(queries.columns[int(queries.subset[q])]):
            part *= np.mean([queries.low[q, i] <= code <= queries.high[q, i] for code in covered[:, j]])
        total += part
    return total


@pytest.mark.parametrize("method", ["heterogeneous", "ring", "freeform"])
def test_multiplicity_is_counted_record_by_record(method: str) -> None:
    table = oneoff.read_table(oneoff.sample(40, seed=3), quasi=["age", "gender", "education"], sensitive="occupation")
    promise = "k-anonymity:4" if method == "freeform" else "l-diversity:3"
    release = oneoff.anonymize(table, promise, method=method, seed=1)
    assert isinstance(release, Generalized)
    queries = random_queries(table, 30, attributes=2, selectivity=0.3, rng=np.random.default_rng(2))
    found = estimated_counts(release, table, queries, spread="multiplicity")
    assert found.tolist() == pytest.approx([with_multiplicity(release, table, queries, q) for q in range(30)])
    even = estimated_counts(release, table, queries, spread="even")
    assert even.tolist() == estimated_counts(release, table, queries).tolist(), "all that the public half allows"
    assert not np.allclose(even, found)
    public = replace(release, graph=None)
    with pytest.raises(BadValue, match="is not known"):
        estimated_counts(public, table, queries, spread="multiplicity")
    with pytest.raises(BadValue, match="is not known"):
        estimated_counts(release, table.take(np.arange(30)), queries, spread="multiplicity")


def test_multiplicity_is_the_same_when_read_back(tmp_path: Path) -> None:
    """Records with equal boxes become one box then; whom they cover differs."""
    table = oneoff.read_table(oneoff.sample(60, seed=3), quasi=["gender", "education"], sensitive="occupation")
    release = oneoff.anonymize(table, "k-anonymity:3", method="freeform", seed=1)
    release.write(tmp_path / "out")
    back = oneoff.load_release(tmp_path / "out", private=True)
    assert isinstance(back, Generalized)
    assert back.boxes < back.rows
    queries = random_queries(table, 20, attributes=2, selectivity=0.3, rng=np.random.default_rng(2))
    found = [estimated_counts(each, table, queries, spread="multiplicity").tolist() for each in (release, back)]
    assert found[0] == pytest.approx(found[1], abs=1e-5)


def test_column_tallies_are_the_multiplicity_of_groups() -> None:
    table = oneoff.read_table(oneoff.sample(200, seed=3), quasi=["age", "gender", "education"], sensitive="occupation")
    queries = random_queries(table, 50, attributes=2, selectivity=0.3, rng=np.random.default_rng(2))
    tallied, boxed = (
        oneoff.anonymize(table, "k-anonymity:5", method="mondrian", columns=columns, seed=1)
        for columns in ("tally", "box")
    )
    by_tally, by_box = (estimated_counts(release, table, queries).tolist() for release in (tallied, boxed))
    assert estimated_counts(tallied, table, queries, spread="multiplicity").tolist() == by_tally
    assert estimated_counts(tallied, table, queries, spread="even").tolist() == by_box != by_tally
    with pytest.raises(BadValue, match="is not known"):
        query_errors(boxed, table, queries, spread="multiplicity")
    with pytest.raises(BadValue, match="no such spread"):
        query_errors(boxed, table, queries, spread="odd")  # type: ignore[arg-type]
    exact = oneoff.anonymize(table, "l-diversity:2", method="anatomy", seed=1)
    with pytest.raises(BadValue, match="not spread over the boxes"):
        query_errors(exact, table, queries, spread="even")


# --- prefix queries


WIDE = ["education", "age", "gender", "marital"]


def test_prefix_queries_ask_up_to_a_code_and_for_single_ones() -> None:
    table = oneoff.read_table(oneoff.sample(300, seed=3), quasi=[*WIDE, "race"], sensitive="occupation")
    queries = prefix_queries(table, 4000, prefix="education", equal=WIDE[1:], rng=np.random.default_rng(1))
    assert queries.columns == ((0, 1, 2, 3),)
    assert (queries.low[:, 0] == 0).all()
    assert set(queries.high[:, 0]) == set(range(table.quasi[0].size)), "every code, the last one too"
    assert (queries.low[:, 1:-1] == queries.high[:, 1:-1]).all()
    for i in (1, 2, 3):
        assert set(queries.low[:, i]) == set(range(table.quasi[i].size))
    assert (queries.low[:, -1] == 0).all()
    assert (queries.high[:, -1] == len(table.counts) - 1).all()


def test_prefix_queries_of_unknown_columns_are_refused() -> None:
    table = oneoff.read_table(oneoff.sample(50, seed=1), quasi=["age", "gender"], sensitive="occupation")
    lonely = oneoff.read_table(oneoff.sample(50, seed=1), quasi=["age", "gender"])
    rng = np.random.default_rng(1)
    for people, prefix, equal in ((table, "race", ["age"]), (table, "age", ["age"]), (lonely, "age", ["gender"])):
        with pytest.raises(BadValue, match="once each"):
            prefix_queries(people, 5, prefix=prefix, equal=equal, rng=rng)


@pytest.mark.parametrize(
    "method",
    ["tallies", "transversal", "mondrian", "heterogeneous", "two-size", "perturbation", "privbayes", "mutual-cover"],
)
def test_the_whole_domain_is_no_condition(method: str) -> None:
    """A query whose interval has all values is answered as one that does not name the value."""
    table = oneoff.read_table(
        oneoff.sample(150, seed=3), quasi=WIDE, sensitive="occupation", categorical=["education", "gender", "marital"]
    )
    promise = "delta-probability:0.9" if method == "mutual-cover" else "beta-likeness:4"
    release = oneoff.anonymize(table, promise, method=method, seed=1)
    queries = prefix_queries(table, 40, prefix="education", equal=["gender", "marital"], rng=np.random.default_rng(2))
    found = estimated_counts(release, table, queries)
    without = []
    for q in range(len(queries)):
        asked = question(queries, q, table)
        del asked["occupation"]
        without.append(release.count(asked).count)
    assert any(without)
    assert found.tolist() == pytest.approx(without, abs=1e-4)
