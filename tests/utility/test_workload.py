"""Random count queries: the truth by counting, estimates by the obvious loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue
from oneoff.releases import Generalized, Published
from oneoff.table import Table
from oneoff.utility import workload
from oneoff.utility.counting import people_meant
from oneoff.utility.standard import overall_counts
from oneoff.utility.workload import (
    Predicates,
    Workload,
    estimated_counts,
    prefix_queries,
    query_errors,
    random_queries,
)
from tests.tables import examples, tables


def wanted(queries: Workload, q: int, i: int) -> list[int]:
    """The codes that query q asks for in its column i, which is -1 for the value."""
    if queries.inside is not None:
        return np.flatnonzero(queries.inside[q, i]).tolist()
    return list(range(queries.low[q, i], queries.high[q, i] + 1))


def question(queries: Workload, q: int, table: Table) -> dict[str, list[object]]:
    """Query q as a recipient would write it."""
    columns = queries.columns[int(queries.subset[q])]
    assert table.sensitive is not None
    asked = {table.quasi[j]: wanted(queries, q, i) for i, j in enumerate(columns)}
    asked[table.sensitive] = wanted(queries, q, -1)
    return {attribute.name: attribute.labels[codes].tolist() for attribute, codes in asked.items()}


def truth(queries: Workload, q: int, table: Table) -> int:
    meant = np.isin(table.values, wanted(queries, q, -1))
    for i, j in enumerate(queries.columns[int(queries.subset[q])]):
        meant &= np.isin(table.codes[:, j], wanted(queries, q, i))
    return int(meant.sum())


MADE = (
    (
        "mondrian",
        "k-anonymity:2",
        {"numeric_as": "set"},
    ),  # so that "evenly spread" is the same in both ways of counting
    ("mondrian", "k-anonymity:2", {"numeric_as": "set", "columns": "box"}),
    ("perturbation", "beta-likeness:1", {}),
    ("baseline", "beta-likeness:1", {}),
)


@examples(60)
@given(tables(), st.integers(0, 1000), st.sampled_from(("intervals", "sets")), st.data())
def test_errors_are_those_of_one_question_at_a_time(
    table: Table, seed: int, predicates: Predicates, data: st.DataObject
) -> None:
    assume(table.sensitive is not None)
    attributes, rng = data.draw(st.integers(1, len(table.quasi))), np.random.default_rng(seed)
    queries = random_queries(table, 12, attributes=attributes, selectivity=0.3, predicates=predicates, rng=rng)
    exact = [truth(queries, q, table) for q in range(len(queries))]
    assert people_meant(table.codes, table.values, queries)[:, 1].tolist() == exact
    assume(any(exact))
    for method, guarantee, options in MADE:
        try:
            release: Published = oneoff.anonymize(table, guarantee, method=method, seed=seed, **options)
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


def test_queries_are_as_long_as_their_selectivity_says() -> None:
    table = oneoff.read_table(oneoff.sample(500, seed=1), quasi=["age", "gender"], sensitive="occupation")
    queries = random_queries(table, 50, attributes=1, selectivity=0.25, rng=np.random.default_rng(1))
    sizes = np.array([[table.quasi[j[0]].size, table.counts.size] for j in queries.columns])[queries.subset]
    assert (queries.high - queries.low + 1 == np.maximum(1, np.rint(sizes * 0.5))).all()
    assert (queries.low >= 0).all()
    assert (queries.high < sizes).all()


def test_impossible_workloads_are_refused() -> None:
    table = oneoff.read_table(oneoff.sample(50, seed=1), quasi=["age", "gender"], sensitive="occupation")
    for wrong in (
        {"attributes": 3},
        {"attributes": 0},
        {"selectivity": 0.0},
        {"selectivity": 2.0},
        {"predicates": "regions"},
    ):
        with pytest.raises(BadValue):
            random_queries(table, 5, rng=np.random.default_rng(1), **wrong)  # type: ignore[arg-type]
    lonely = oneoff.read_table(oneoff.sample(50, seed=1), quasi=["age", "gender"])
    with pytest.raises(BadValue, match="sensitive"):
        random_queries(lonely, 5, rng=np.random.default_rng(1))


def test_sets_are_as_large_as_their_selectivity_says_and_any_values() -> None:
    table = oneoff.read_table(oneoff.sample(500, seed=1), quasi=["age", "gender"], sensitive="occupation")
    rng = np.random.default_rng(1)
    queries = random_queries(table, 400, attributes=1, selectivity=0.25, predicates="sets", rng=rng)
    assert queries.inside is not None
    sizes = np.array([[table.quasi[j[0]].size, table.counts.size] for j in queries.columns])[queries.subset]
    assert (queries.inside.sum(axis=2) == np.ceil(sizes / 2)).all()
    assert (queries.high + 1 == sizes).all()
    code = np.arange(queries.inside.shape[2])
    assert not queries.inside[code >= sizes[:, :, None]].any()
    often = queries.inside[:, -1, : table.counts.size].mean(axis=0)
    assert np.abs(often - 0.5).max() < 0.1  # every value as often as another
    first = random_queries(table, 5, predicates="sets", attributes=2, rng=np.random.default_rng(2))
    again = random_queries(table, 5, predicates="sets", attributes=2, rng=np.random.default_rng(2))
    assert np.array_equal(np.asarray(first.inside), np.asarray(again.inside))


def test_sets_that_are_intervals_are_answered_as_intervals_are() -> None:
    """By every kind of release, more queries than are done at once."""
    table = oneoff.read_table(oneoff.sample(300, seed=1), quasi=["age", "gender", "marital"], sensitive="occupation")
    queries = random_queries(table, 600, attributes=2, selectivity=0.3, rng=np.random.default_rng(1))
    widths = [[table.quasi[j].size for j in each] + [len(table.counts)] for each in queries.columns]
    sizes = np.array(widths)[queries.subset]
    code = np.arange(sizes.max() + 1)
    inside = (code >= queries.low[:, :, None]) & (code <= queries.high[:, :, None])
    sets = Workload(queries.columns, queries.subset, np.zeros_like(sizes), sizes - 1, inside)
    meant = people_meant(table.codes, table.values, queries)
    assert np.array_equal(people_meant(table.codes, table.values, sets), meant)
    assert overall_counts(table, sets, meant[:, 0]) == pytest.approx(overall_counts(table, queries, meant[:, 0]))
    for method, guarantee, options in (*MADE, *OTHERS):
        release = oneoff.anonymize(table, guarantee, method=method, seed=1, **options)
        found, expected = (estimated_counts(release, table, each) for each in (sets, queries))
        assert expected.sum() > 0
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-4), method


OTHERS = (
    ("mondrian", "beta-likeness:2", {}),  # ranges of ages
    ("mondrian", "beta-likeness:2", {"columns": "box"}),
    ("tallies", "beta-likeness:2", {}),
    ("exact-size", "f-privacy:theta=8,base=0.02", {}),
    ("mutual-cover", "delta-probability:0.5", {}),
)


def test_a_set_of_numbers_means_none_between_them() -> None:
    """People who do not exist may have ages that nobody has."""
    people = polars.DataFrame({"age": [20, 21, 37, 40, 60, 75] * 30, "ill": ["no", "yes", "yes"] * 60})
    table = oneoff.read_table(people, quasi=["age"], sensitive="ill")
    release = oneoff.anonymize(table, "beta-likeness:2", method="privbayes", seed=1)
    rng = np.random.default_rng(1)
    queries = random_queries(table, 30, attributes=1, selectivity=0.3, predicates="sets", rng=rng)
    assert release.sensitive is not None
    assert not np.isin(release.quasi[0].labels, table.quasi[0].labels).all()
    own, ill = release.quasi[0].labels[release.codes[:, 0]], release.sensitive.labels[release.values]
    for q, found in enumerate(estimated_counts(release, table, queries).tolist()):
        asked = question(queries, q, table)
        assert found == np.sum(np.isin(own, asked["age"]) & np.isin(ill, asked["ill"]))


def test_sets_of_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = oneoff.read_table(oneoff.sample(50, seed=1), quasi=["age", "gender"], sensitive="occupation")
    monkeypatch.setattr(workload, "_MOST_MARKS", 100)
    with pytest.raises(BadValue, match="too many values for sets"):
        random_queries(table, 5, predicates="sets", attributes=1, rng=np.random.default_rng(1))


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
