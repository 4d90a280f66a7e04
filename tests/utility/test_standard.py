"""The standard workload: what it asks, by hand; its errors, against counting one question at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import oneoff
from oneoff.errors import BadValue, OneoffError
from oneoff.releases import Published
from oneoff.table import Table
from oneoff.utility import CountErrors, Workload, count_errors, counting, standard, standard_queries
from oneoff.utility.standard import overall_counts
from oneoff.utility.workload import estimated_counts
from tests.tables import tables

KEYS = ["queries", "median", "mean", "overall_median", "overall_mean"]


def question(queries: Workload, q: int, table: Table) -> dict[str, list[object]]:
    """Query q as a recipient would write it."""
    low, high = queries.low[q], queries.high[q]
    asked = [(table.quasi[j], low[i], high[i]) for i, j in enumerate(queries.columns[int(queries.subset[q])])]
    if table.sensitive is not None:
        asked.append((table.sensitive, low[-1], high[-1]))
    return {attribute.name: attribute.labels[a : b + 1].tolist() for attribute, a, b in asked}


def people(table: Table, asked: dict[str, list[object]]) -> int:
    """How many there are, row by row."""
    rows = [
        {attribute.name: label for (attribute, _), label in zip(table.columns(), labels, strict=True)}
        for labels in zip(*(attribute.decode(codes).tolist() for attribute, codes in table.columns()), strict=True)
    ]
    return sum(all(row[name] in labels for name, labels in asked.items()) for row in rows)


# --- what is asked


def test_250_queries_of_each_kind() -> None:
    table = oneoff.read_table(oneoff.sample(500, seed=1), **oneoff.table.sample.SAMPLE_ROLES)
    queries = standard_queries(table)
    sizes = [attribute.size for attribute in table.quasi]
    assert len(queries) == 1000
    for q in range(1000):
        columns, share = queries.columns[q], (0.1, 0.02)[q // 250 % 2]
        assert len(set(columns)) == len(columns) == (2 if q < 500 else 3)
        for size, a, b in [
            *zip([sizes[j] for j in columns], queries.low[q], queries.high[q], strict=False),
            (len(table.counts), queries.low[q, -1], queries.high[q, -1]),
        ]:
            assert 0 <= a <= b < size
            assert b - a + 1 == max(1, round(size * share ** (1 / (len(columns) + 1))))
    named = np.bincount([j for columns in queries.columns for j in columns], minlength=len(sizes))
    assert named.min() > 0.8 * 2500 / len(sizes), "every column is as likely as any other"


@pytest.mark.parametrize(("quasi", "sensitive"), [(["age"], "occupation"), (["age", "gender"], None), (["age"], None)])
def test_fewer_columns_and_no_sensitive_one(quasi: list[str], sensitive: str | None) -> None:
    table = oneoff.read_table(oneoff.sample(500, seed=1), quasi=quasi, sensitive=sensitive)
    queries = standard_queries(table)
    assert len(queries) == 1000
    assert set(queries.columns) == {tuple(range(len(quasi)))}
    length = queries.high - queries.low + 1
    asked = len(quasi) + (sensitive is not None)
    assert sorted(set(length[:, 0].tolist())) == sorted(
        {round(table.quasi[0].size * s ** (1 / asked)) for s in (0.1, 0.02)}
    )
    if sensitive is None:
        assert not queries.high[:, -1].any(), "the one value there is"


def test_queries_depend_on_domains_only() -> None:
    table = oneoff.read_table(oneoff.sample(300, seed=3), **oneoff.table.sample.SAMPLE_ROLES)
    shuffled = replace(table, values=np.random.default_rng(1).permutation(table.values))
    first, again = standard_queries(table), standard_queries(shuffled)
    assert first.columns == again.columns
    assert np.array_equal(first.low, again.low)
    assert np.array_equal(first.high, again.high)


# --- how far answers are off


MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "mondrian": (
        "k-anonymity:2",
        {"numeric_as": "set"},
    ),  # "evenly spread" then means the same to both ways of counting
    "freeform": ("k-anonymity:2", {"numeric_as": "set"}),
    "tallies": ("beta-likeness:2", {"field_size": 2}),
    "perturbation": ("beta-likeness:2", {}),
    "anatomy": ("l-diversity:1.5", {}),
    "mutual-cover": ("delta-probability:1/2", {}),
}
BETWEEN = ("mondrian", "tallies")  # their counts are put between bounds afterwards


@pytest.mark.parametrize("method", MADE)
@settings(max_examples=12)
@given(table=tables())
def test_errors_are_those_of_one_question_at_a_time(method: str, table: Table) -> None:
    promise, options = MADE[method]
    try:
        release = oneoff.anonymize(table, promise, method=method, seed=1, **options)
    except OneoffError:
        return
    found, queries = count_errors(release, table), standard_queries(table)
    some = np.random.default_rng(table.rows).integers(0, 1000, 12)
    questions = [question(queries, q, table) for q in some]
    truths = [people(table, asked) for asked in questions]
    assert counting.people_meant(table.codes, table.values, queries)[some, 1].tolist() == truths
    by_hand = [getattr(release.count(asked), "raw" if method in BETWEEN else "count") for asked in questions]
    estimates = estimated_counts(release, table, queries)
    assert estimates[some] == pytest.approx(by_hand, rel=1e-5, abs=1e-5)
    truth = counting.people_meant(table.codes, table.values, queries)[:, 1]
    errors = [abs(estimate - true) / true for estimate, true in zip(estimates, truth, strict=True) if true]
    assert (found.queries, found.median, found.mean) == pytest.approx(
        (len(errors), np.median(errors), np.mean(errors)), abs=1e-6
    )
    assert found.spread[50] == found.median
    assert (found.spread[0], found.spread[-1]) == pytest.approx((min(errors), max(errors)), abs=1e-6)


@pytest.fixture
def tiny() -> Table:
    """Four people in a 2 x 2 of a quasi-identifier and values, but for one."""
    frame = {"q": ["a", "a", "b", "b"], "s": ["u", "u", "u", "v"]}
    return oneoff.read_table(pl.DataFrame(frame), quasi=["q"], sensitive="s")


def test_the_other_end_by_hand(tiny: Table) -> None:
    """Every query asks for one of two codes and one of two values (2 x .1^(1/2) and 2 x .02^(1/2) are below 1.5)."""
    release = oneoff.anonymize(tiny, "k-anonymity:4", method="mondrian", seed=1)
    queries = standard_queries(tiny)
    cells = queries.low[:, [0, -1]]
    assert np.array_equal(queries.high[:, [0, -1]], cells)
    truth, overall = np.array([[2, 0], [1, 1]]), np.array([[1.5, 0.5], [1.5, 0.5]])
    found = count_errors(release, tiny)
    asked = cells[truth[cells[:, 0], cells[:, 1]] > 0]
    assert found.queries == len(asked) < 1000, "nobody has a and v"
    by_hand = [abs(overall[q, s] - truth[q, s]) / truth[q, s] for q, s in asked]
    assert set(by_hand) == {0.25, 0.5}
    assert found.overall_median == np.median(by_hand)
    assert found.overall_mean == pytest.approx(np.mean(by_hand))
    assert (found.median, found.mean) == (found.overall_median, found.overall_mean), "one group of all says no more"


def test_the_other_end_without_a_sensitive_column() -> None:
    frame = {"x": ["a", "a", "a", "b"], "y": ["u", "u", "v", "v"]}
    table = oneoff.read_table(pl.DataFrame(frame), quasi=["x", "y"])
    queries = standard_queries(table)
    meant = counting.people_meant(table.codes, table.values, queries)[:, 0]
    independent = np.array([[3 * 2, 3 * 2], [1 * 2, 1 * 2]]) / 4
    assert overall_counts(table, queries, meant) == pytest.approx(independent[queries.low[:, 0], queries.low[:, 1]])
    assert meant.tolist() == np.array([[2, 1], [0, 1]])[queries.low[:, 0], queries.low[:, 1]].tolist()
    found = count_errors(oneoff.anonymize(table, "k-anonymity:2", method="mondrian", seed=1), table)
    assert "only the overall distribution of each column" in found.sentence()
    together = count_errors(oneoff.anonymize(table, "k-anonymity:4", method="mondrian", seed=1), table)
    assert (together.median, together.mean) == (together.overall_median, together.overall_mean)


def test_the_overall_distribution_as_a_release_is_the_other_end(people: Table) -> None:
    found = count_errors(oneoff.anonymize(people, "beta-likeness:1", method="baseline", seed=1), people)
    assert (found.median, found.mean) == (found.overall_median, found.overall_mean)
    assert found.spread == found.overall_spread
    assert found.median > 0


def test_the_table_itself_is_the_first_end(people: Table) -> None:
    """Everybody alone in a group is told as they are."""
    found = count_errors(oneoff.anonymize(people, "k-anonymity:1", method="mondrian", seed=1), people)
    assert (found.median, found.mean) == (0, 0)
    assert found.overall_median > 0


def test_one_table_one_workload_for_all_methods_and_seeds(people: Table) -> None:
    made = [
        oneoff.anonymize(people, "l-diversity:2", method=method, seed=seed)
        for method, seed in [("mondrian", 1), ("mondrian", 2), ("anatomy", 3), ("perturbation", 4)]
    ]
    found = [count_errors(release, people) for release in made]
    assert len({(each.queries, each.overall_median, each.overall_mean) for each in found}) == 1


def test_blocks_change_nothing(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [
        oneoff.anonymize(people, "beta-likeness:3", method="burel", seed=1),
        oneoff.anonymize(people, "k-anonymity:3", method="mondrian", seed=1, columns="box"),
        oneoff.anonymize(people, "l-diversity:2", method="tallies", seed=1, field_size=40),
    ]
    whole = [count_errors(release, people) for release in made]
    monkeypatch.setattr(counting, "_MOST_CELLS", 5000)
    assert [count_errors(release, people) for release in made] == whole


def test_read_back_it_is_the_same(people: Table, tmp_path: Path) -> None:
    for i, (method, promise, options) in enumerate(
        [
            ("mondrian", "k-anonymity:3", {}),
            ("mondrian", "k-anonymity:3", {"columns": "box"}),
            ("tallies", "l-diversity:2", {"field_size": 40}),
            ("anatomy", "l-diversity:2", {}),
            ("perturbation", "l-diversity:2", {}),
            ("mutual-cover", "delta-probability:1/3", {}),
        ]
    ):
        release: Published = oneoff.anonymize(people, promise, method=method, seed=1, **options)
        folder = release.write(tmp_path / str(i))
        assert count_errors(oneoff.load_release(folder), people) == count_errors(release, people), method


# --- tables of all shapes


def test_hundreds_of_columns() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({f"q{j}": rng.integers(0, 4, 60) for j in range(300)} | {"s": rng.integers(0, 3, 60)})
    table = oneoff.read_table(frame, quasi=frame.columns[:-1], sensitive="s")
    found = count_errors(oneoff.anonymize(table, "k-anonymity:6", method="mondrian", seed=1), table)
    assert 0 < found.queries <= 1000


def test_categories_without_end() -> None:
    rng = np.random.default_rng(1)
    columns = {f"q{j}": rng.permutation(100_000).astype(str) for j in range(2)}
    table = oneoff.read_table(
        pl.DataFrame(columns | {"s": rng.integers(0, 5, 100_000)}), quasi=["q0", "q1"], sensitive="s"
    )
    for options in ({}, {"columns": "box"}):
        found = count_errors(oneoff.anonymize(table, "k-anonymity:500", method="mondrian", seed=1, **options), table)
        assert found.queries == 1000
        assert 0 < found.median < 0.2


def test_one_person() -> None:
    table = oneoff.read_table(pl.DataFrame({"q": [1], "s": ["x"]}), quasi=["q"], sensitive="s")
    found = count_errors(oneoff.anonymize(table, "k-anonymity:1", method="mondrian"), table)
    assert found.as_dict() == {"queries": 1000, "median": 0, "mean": 0, "overall_median": 0, "overall_mean": 0}


# --- where it cannot be asked


def test_what_cannot_be_asked_is_told(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    release = oneoff.anonymize(people, "k-anonymity:3", method="mondrian", seed=1)
    alone = oneoff.utility(release)
    assert alone.count_error is None
    assert alone.uncounted == "how far counts are off cannot be measured without the table"
    assert alone.sentence().startswith("How far counts are off cannot be measured without the table. On average")
    nobody = standard_queries(people)
    monkeypatch.setattr(standard, "standard_queries", lambda table: replace(nobody, low=nobody.high + 1))
    with pytest.raises(BadValue, match="none of the test counts means anybody"):
        count_errors(release, people)
    assert "none of the test counts" in oneoff.utility(release, people).uncounted


def test_another_table_gives_no_figure(people: Table) -> None:
    assert people.sensitive is not None
    release = oneoff.anonymize(people, "k-anonymity:3", method="mondrian", seed=1)
    others = {
        "people": people.take(np.arange(people.rows - 1)),
        "order": replace(people, quasi=people.quasi[::-1], codes=people.codes[:, ::-1]),
        "values": replace(people, sensitive=replace(people.sensitive, labels=people.sensitive.labels[::-1])),
    }
    for which, other in others.items():
        measured = oneoff.utility(release, other)
        assert measured.count_error is None, which
        assert "not one of this table" in measured.uncounted


# --- what is said


def test_keys_and_sentence() -> None:
    errors = CountErrors(987, 0.017, 0.031, 0.082, 0.096, (0.0, 0.017, 1.0), (0.0, 0.082, 2.0))
    assert list(errors.as_dict()) == KEYS
    assert errors.sentence() == (
        "A typical count is off by 1.70% (median of 987 test counts; the mean is 3.10%); somebody who knew everybody's "
        "quasi-identifiers but only the overall distribution of values would be off by 8.20%."
    )
    assert replace(errors, median=0.1).sentence().endswith("would be off by less: 8.20%.")


def test_utility_leads_with_it(people: Table) -> None:
    measured = oneoff.utility(oneoff.anonymize(people, "k-anonymity:3", method="mondrian", seed=1), people)
    assert measured.count_error is not None
    told = measured.as_dict()
    assert list(told)[:3] == ["count_error", "uncounted", "gcp"]
    assert told["count_error"] == measured.count_error.as_dict()
    assert told["uncounted"] == ""
    assert measured.sentence().startswith(f"{measured.count_error.sentence()} On average a published value spans")
