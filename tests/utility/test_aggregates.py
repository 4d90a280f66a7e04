"""Random sums and counts: truth, estimates and bounds by the obvious loops."""

from __future__ import annotations

import datetime as dt
import json
import operator as op
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue
from oneoff.models import KAnonymity
from oneoff.plans import Channel, Partition
from oneoff.publish import publish
from oneoff.releases import (
    Bucketized,
    Generalized,
    Masked,
    Nodes,
    Perturbed,
    Published,
    Ranges,
    bucketize,
    generalize,
    perturb,
)
from oneoff.table import Hierarchy, Table
from oneoff.table.read import read_table
from oneoff.utility import aggregates
from oneoff.utility import generalized as boxes
from oneoff.utility.aggregates import Aggregates, RelativeErrors, aggregate_errors, random_aggregates
from tests.tables import examples, tables

Answer = tuple[float, float, float]  # estimate, lower and upper bound
MADE = {"method": "by hand", "against": "reader"}


def masked(table: Table, codes: np.ndarray) -> Masked:
    """Everybody in their own place, with these quasi-identifiers."""
    return Masked(
        method="by hand", model=KAnonymity(1), quasi=table.quasi, codes=codes.astype(np.int32),
        sensitive=table.sensitive, values=table.values, counts=table.counts, links=np.arange(table.rows),
    )  # fmt: skip


def releases(table: Table, seed: int) -> list[Published]:
    """Every form of release, from random groups, channels and codes."""
    rng = np.random.default_rng(seed)
    groups = np.unique(rng.integers(0, 5, table.rows), return_inverse=True)[1].astype(np.int32)
    partition, size = Partition(groups), len(table.counts)
    codes = np.where(rng.random(table.codes.shape) < 0.5, rng.permuted(table.codes, axis=0), table.codes)
    return [
        generalize(table, partition, KAnonymity(1), rng=rng, **MADE),
        generalize(table, partition, KAnonymity(1), rng=rng, columns="box", **MADE),
        generalize(table, partition, KAnonymity(1), rng=rng, columns="box", numeric_as="set", **MADE),
        bucketize(table, partition, KAnonymity(1), rng=rng, **MADE),
        perturb(table, Channel(1 + 3 * np.eye(size, dtype=np.int64)), KAnonymity(1), rng=rng, **MADE),
        masked(table, codes),
    ]


# --- slow twins ------------------------------------------------------------------------------------------------------


def fits(record: list[int], predicates: list[tuple[int, np.ndarray]]) -> bool:
    return all(bool(allowed[record[j]]) for j, allowed in predicates)


def numbers_of(table: Table) -> list[float]:
    assert table.sensitive is not None
    numeric = table.sensitive.kind == "numeric"
    return [float(label) if numeric else 0.0 for label in table.sensitive.labels.tolist()]


def from_records(codes: np.ndarray, adds: list[float], predicates: list[tuple[int, np.ndarray]]) -> float:
    return sum(add for record, add in zip(codes.tolist(), adds, strict=True) if fits(record, predicates))


def shown_codes(release: Generalized, j: int, box: int) -> list[int]:
    """What a box shows of an attribute; a leaf that nobody has is -1."""
    cells, attribute = release.cells[j], release.quasi[j]
    if isinstance(cells, Ranges):
        return list(range(int(cells.low[box]), int(cells.high[box]) + 1))
    if isinstance(cells, Nodes):
        assert attribute.hierarchy is not None
        level = int(cells.level[box])
        name = attribute.hierarchy.label(level, int(cells.node[box]))
        leaves = [path[0] for path in attribute.hierarchy.rows() if path[level] == name]
        labels = attribute.labels.tolist()
        return [labels.index(leaf) if leaf in labels else -1 for leaf in leaves]
    return cells.code[cells.start[box] : cells.start[box + 1]].tolist()


def from_boxes(release: Generalized, adds: list[float], predicates: list[tuple[int, np.ndarray]]) -> Answer:
    estimate = low = high = 0.0
    for box, add in zip(release.box.tolist(), adds, strict=True):
        part, inside = 1.0, True
        for j, allowed in predicates:
            shown = shown_codes(release, j, box)
            good = [code for code in shown if code >= 0 and allowed[code]]
            part *= len(good) / len(shown)
            inside = inside and len(good) == len(shown)
        estimate += part * add
        low += add if inside else (min(add, 0) if part else 0)
        high += add if inside else (max(add, 0) if part else 0)
    return estimate, low, high


def from_tallies(
    release: Generalized, table: Table, adds: list[float], predicates: list[tuple[int, np.ndarray]]
) -> Answer:
    """Group by group, from the true quasi-identifiers of its people, column by column."""
    assert release.links is not None
    found = np.zeros(3)
    for box in range(release.boxes):
        people = np.flatnonzero(release.box[release.links] == box)
        having = [sum(bool(allowed[code]) for code in table.codes[people, j].tolist()) for j, allowed in predicates]
        numbers = sorted(adds[value] for value in table.values[people].tolist())
        size = len(people)
        possible = range(max(0, sum(having) - (len(having) - 1) * size), min(having) + 1)
        found += (
            sum(numbers) * np.prod([many / size for many in having]),
            min(sum(numbers[:many]) for many in possible),
            max(sum(numbers[size - many :]) for many in possible),
        )
    return found[0], found[1], found[2]


def from_buckets(
    release: Bucketized, table: Table, numbers: list[float], predicates: list[tuple[int, np.ndarray]]
) -> Answer:
    """Bucket by bucket, from the true values of its people."""
    assert release.links is not None
    found = np.zeros(3)
    for bucket in range(release.buckets):
        meant = [r for r in np.flatnonzero(release.bucket == bucket) if fits(release.codes[r].tolist(), predicates)]
        people = np.flatnonzero(release.bucket[release.links] == bucket)
        inside = sorted(numbers[value] for value in table.values[people])
        c = len(meant)
        found += c * sum(inside) / len(inside), sum(inside[:c]), sum(inside[len(inside) - c :])
    return found[0], found[1], found[2]


def from_perturbed(release: Perturbed, numbers: list[float], predicates: list[tuple[int, np.ndarray]]) -> float:
    histogram = np.zeros(len(numbers))
    for record, value in zip(release.codes.tolist(), release.values.tolist(), strict=True):
        histogram[value] += fits(record, predicates)
    people = histogram.sum()
    rebuilt = float(np.array(numbers) @ np.linalg.inv(release.channel.matrix) @ histogram)
    return min(max(rebuilt, people * min(numbers)), people * max(numbers))


def answer(
    release: Published, table: Table, adds: list[float], predicates: list[tuple[int, np.ndarray]]
) -> tuple[float, float | None, float | None]:
    """What a release says about the sum of what each value adds."""
    match release:
        case Generalized() if release.tallies is not None:
            return from_tallies(release, table, adds, predicates)
        case Generalized():
            return from_boxes(release, [adds[v] for v in release.values], predicates)
        case Bucketized():
            return from_buckets(release, table, adds, predicates)
        case Perturbed():
            return from_perturbed(release, adds, predicates), None, None
    assert isinstance(release, Masked)
    return from_records(release.codes, [adds[v] for v in release.values], predicates), None, None


def slow_errors(release: Published, table: Table, queries: Aggregates, adds: list[float]) -> RelativeErrors | None:
    errors, widths = [], []
    for q in range(len(queries)):
        predicates = queries.predicates(q)
        actual = from_records(table.codes, [adds[v] for v in table.values], predicates)
        if actual <= 0:
            continue
        estimate, low, high = answer(release, table, adds, predicates)
        errors.append(abs(estimate - actual) / actual)
        if low is not None and high is not None:
            assert low - 1e-9 <= actual <= high + 1e-9
            widths.append((high - low) / actual)
    if not errors:
        return None
    mean_width, median_width = (float(np.mean(widths)), float(np.median(widths))) if widths else (None, None)
    return RelativeErrors(len(errors), float(np.mean(errors)), float(np.median(errors)), mean_width, median_width)


def same(found: RelativeErrors | None, expected: RelativeErrors | None) -> bool:
    if found is None or expected is None:
        return found is expected
    numbers = found.mean, found.median, found.mean_width or 0.0, found.median_width or 0.0
    wanted = expected.mean, expected.median, expected.mean_width or 0.0, expected.median_width or 0.0
    alike = found.queries == expected.queries and (found.mean_width is None) == (expected.mean_width is None)
    return alike and numbers == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@examples(80)
@given(tables(most=25), st.integers(0, 1000), st.integers(1, 4))
def test_errors_are_those_of_one_query_at_a_time(table: Table, seed: int, attributes: int) -> None:
    queries = random_aggregates(table, 8, attributes=attributes, rng=np.random.default_rng(seed))
    for release in releases(table, seed):
        count = slow_errors(release, table, queries, [1.0] * len(table.counts))
        if count is None:
            with pytest.raises(BadValue, match="no query has an answer"):
                aggregate_errors(release, table, queries)
            continue
        found = aggregate_errors(release, table, queries)
        assert found.asked == 8
        assert same(found.count, count), release.form
        assert same(found.sum, slow_errors(release, table, queries, numbers_of(table))), release.form


# --- by hand ---------------------------------------------------------------------------------------------------------


def salaries(numbers: list[float]) -> Table:
    frame = pa.table({"age": [20, 30, 40, 50], "city": ["A", "A", "B", "C"], "salary": numbers})
    return read_table(frame, quasi="age,city", sensitive="salary", numeric="salary")


def asking(ages: list[int], cities: list[int] | None = None) -> Aggregates:
    """One query about these codes."""
    named = np.array([[True, cities is not None]])
    city = np.zeros((0, 3), dtype=bool) if cities is None else np.isin(np.arange(3), cities)[None]
    return Aggregates(named, (np.isin(np.arange(4), ages)[None], city))


GROUPS = Partition(np.array([0, 0, 0, 1], dtype=np.int32))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_boxes_by_hand() -> None:
    table = salaries([10, 20, 30, 40])
    release = generalize(table, GROUPS, KAnonymity(1), rng=rng(), columns="box", **MADE)
    young = aggregate_errors(release, table, asking([0, 1]))
    # two of the three ages of the first box: 2 people and 2/3 of 60, for 2 people with 30; bounds are 0 and the box
    assert young.count == RelativeErrors(1, pytest.approx(0), pytest.approx(0), 3 / 2, 3 / 2)
    assert young.sum == RelativeErrors(
        1, pytest.approx(1 / 3), pytest.approx(1 / 3), pytest.approx(2), pytest.approx(2)
    )
    not_thirty = aggregate_errors(release, table, asking([0, 2, 3], [1, 2]))
    # 2 people with 70; the second box is inside, of the first 2/3 by age and 1/2 by city: 1 + 3/3 people, 40 + 60/3
    assert not_thirty.count == RelativeErrors(1, pytest.approx(0), pytest.approx(0), 3 / 2, 3 / 2)
    assert not_thirty.sum is not None
    assert not_thirty.sum.mean == pytest.approx(10 / 70)
    assert not_thirty.sum.mean_width == pytest.approx(60 / 70)


def test_bounds_of_boxes_hold_for_negative_numbers() -> None:
    table = salaries([-10, 20, -30, 40])
    release = generalize(table, GROUPS, KAnonymity(1), rng=rng(), columns="box", **MADE)
    found = aggregate_errors(release, table, asking([1, 3]))
    # 60 in truth: 40 for certain, and between -40 and 20 of the first box; 1/3 of its -20 is expected
    assert found.sum is not None
    assert found.sum.mean_width == pytest.approx(60 / 60)
    assert found.sum.mean == pytest.approx(abs(40 - 20 / 3 - 60) / 60)
    lost = aggregate_errors(release, table, asking([0, 2]))
    assert lost.sum is None, "the sum is below 0"
    assert lost.count.queries == 1


def test_tallies_by_hand() -> None:
    table = salaries([10, 20, 30, 40])
    release = generalize(table, GROUPS, KAnonymity(1), rng=rng(), **MADE)
    young = aggregate_errors(release, table, asking([0, 1]))
    # two of the first three people, whoever they are: 2/3 of 60, and between 10 + 20 and 20 + 30; 30 in truth
    assert young.count == RelativeErrors(1, pytest.approx(0), pytest.approx(0), 0, 0)
    assert young.sum == RelativeErrors(
        1, pytest.approx(1 / 3), pytest.approx(1 / 3), pytest.approx(20 / 30), pytest.approx(20 / 30)
    )
    not_thirty = aggregate_errors(release, table, asking([0, 2, 3], [1, 2]))
    # 2 people with 70: the last, and of the first three 2 by age and 1 by city, so 0 or 1 of them, 2/9 x 3 expected
    assert not_thirty.count == RelativeErrors(1, pytest.approx(1 / 6), pytest.approx(1 / 6), 1 / 2, 1 / 2)
    assert not_thirty.sum is not None
    assert not_thirty.sum.mean == pytest.approx(abs(40 + 60 * 2 / 9 - 70) / 70)
    assert not_thirty.sum.mean_width == pytest.approx(30 / 70)


def test_bounds_of_tallies_hold_for_negative_numbers() -> None:
    table = salaries([-10, 20, -30, 40])
    release = generalize(table, GROUPS, KAnonymity(1), rng=rng(), **MADE)
    found = aggregate_errors(release, table, asking([1, 3]))
    # 60 in truth: 40 for certain, and one of -30, -10 and 20
    assert found.sum is not None
    assert found.sum.mean_width == pytest.approx(50 / 60)


def test_buckets_by_hand() -> None:
    table = salaries([10, 20, 30, 40])
    release = bucketize(table, GROUPS, KAnonymity(1), rng=rng(), **MADE)
    found = aggregate_errors(release, table, asking([0, 1, 3]))
    # three people with 70: two of the first bucket (mean 20; 30 to 50) and the one of the second
    assert found.count == RelativeErrors(1, 0, 0, 0, 0)
    assert found.sum is not None
    assert found.sum.mean == pytest.approx(10 / 70)
    assert found.sum.mean_width == pytest.approx(20 / 70)


def test_perturbed_sums_are_led_back_and_kept_possible() -> None:
    table = salaries([10, 10, 40, 40])
    half = Channel(np.array([[3, 1], [1, 3]], dtype=np.int64))
    release = perturb(table, half, KAnonymity(1), rng=rng(), **MADE)
    assert release.links is not None
    shown = np.array([0, 1, 1, 1], dtype=np.int32)  # of everybody, in the order of the table
    object.__setattr__(release, "values", shown[np.argsort(release.links)])
    found = aggregate_errors(release, table, asking([0, 1, 2, 3]))
    # 1 and 3 shown are led back to 0 and 4 people: 160 for 100
    assert found.sum == RelativeErrors(1, pytest.approx(0.6), pytest.approx(0.6))
    assert found.count == RelativeErrors(1, 0, 0)
    old = aggregate_errors(release, table, asking([2, 3]))
    assert old.sum is not None
    assert old.sum.mean == pytest.approx(0), "led back, these two would have 110; they cannot have more than 80"


def test_masked_records_are_taken_as_they_are() -> None:
    table = salaries([10, 20, 30, 40])
    codes = table.codes.copy()
    codes[0, 0] = 3  # the person of 20 shows 50
    found = aggregate_errors(masked(table, codes), table, asking([2, 3], [0, 2]))
    # the person of 50 in C with 40; shown is also the one of 20 in A with 10
    assert found.count == RelativeErrors(1, 1, 1)
    assert found.sum == RelativeErrors(1, pytest.approx(0.25), pytest.approx(0.25))
    assert "1 of 1 COUNT queries is 100.00% in the median" in found.sentence()
    assert "of 1 SUM queries it is 25.00% in the median and 25.00% in the mean." in found.sentence()


def test_mean_and_median_are_told_apart_and_widths_are_said() -> None:
    errors = RelativeErrors(7, 0.5, 0.25, 2.0, 1.5)
    text = aggregates.AggregateErrors(9, errors, None).sentence()
    assert text == (
        "The relative error of 7 of 9 COUNT queries is 25.00% in the median and 50.00% in the mean "
        "(bounds 150.00% and 200.00% apart)."
    )


# --- what cannot be added up -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values", [list("wxyz"), [dt.date(2020, 1, day) for day in (1, 2, 3, 4)], [0, 0, 0, 0]], ids=["text", "date", "0"]
)
def test_only_numbers_have_a_sum(values: list[object]) -> None:
    table = read_table(pa.table({"age": [1, 2, 3, 4], "s": values}), quasi="age", sensitive="s")
    found = aggregate_errors(masked(table, table.codes), table, random_aggregates(table, 20, rng=rng()))
    assert found.sum is None
    assert found.count.mean == 0
    assert json.loads(json.dumps(found.as_dict()))["sum"] is None


def test_a_table_without_sensitive_column_is_counted() -> None:
    table = read_table(pa.table({"age": [1, 2, 3, 4]}), quasi="age")
    asked = Aggregates(np.array([[True]]), (np.array([[True, False, False, False]]),))
    for columns, width in (("box", 4), ("tally", 0)):
        release = publish(table, "k-anonymity:4", method="mondrian", seed=0, options={"columns": columns}).release
        found = aggregate_errors(release, table, asked)
        assert found.sum is None
        assert found.count == RelativeErrors(1, pytest.approx(0), pytest.approx(0), width, width)


def test_sums_that_are_zero_but_for_rounding_are_left_out() -> None:
    table = salaries([0.1, 0.2, -0.3, 5.0])
    assert sum([0.1, 0.2, -0.3]) > 0, "what this is about"
    assert aggregate_errors(masked(table, table.codes), table, asking([0, 1, 2])).sum is None


def test_the_greatest_numbers_can_be_added_up() -> None:
    table = salaries([1.7e308, 1.6e308, -1.5e308, 1.5e308])
    one = Partition(np.zeros(4, dtype=np.int32))
    for columns, width in (("box", 6.3), ("tally", 3.3)):  # of two people: between 0 and 3.3
        release = generalize(table, one, KAnonymity(1), rng=rng(), columns=columns, **MADE)  # type: ignore[arg-type]
        found = aggregate_errors(release, table, asking([0, 1]))
        assert found.sum is not None
        assert found.sum.mean == pytest.approx(0.5), "all have 3.3e308, and so have these two of four"
        assert found.sum.mean_width == pytest.approx(width / 3.3)


# --- random queries --------------------------------------------------------------------------------------------------


def test_categories_are_sets_of_every_size(people: Table) -> None:
    queries = random_aggregates(people, 600, attributes=2, rng=rng())
    assert len(queries) == 600
    assert (queries.named.sum(axis=1) == 2).all()
    seen = 0
    for allowed, named, attribute in zip(queries.allowed, queries.named.T, people.quasi, strict=True):
        assert allowed.shape == (named.sum(), attribute.size)
        assert len(allowed) > 0
        if attribute.kind == "categorical":
            seen += 1
            assert set(allowed.sum(axis=1).tolist()) == set(range(1, attribute.size + 1))
            assert allowed.any(axis=0).all()
            assert not allowed[allowed.sum(axis=1) == 1].all(axis=0).any(), "not always the same value"
    assert seen


def test_numbers_are_compared_in_six_ways_with_every_value() -> None:
    table = read_table(pa.table({"age": [10, 20, 70], "s": [1, 2, 3]}), quasi="age", sensitive="s")
    many = 3600
    found = Counter(map(tuple, random_aggregates(table, many, rng=rng()).allowed[0].tolist()))
    ways: list[Callable[[int, int], bool]] = [op.gt, op.lt, op.eq, op.ge, op.le, op.ne]
    expected = Counter(tuple(way(code, value) for code in range(3)) for way in ways for value in range(3))
    assert found.keys() == expected.keys()
    for predicate, probabilities in expected.items():
        mean = many * probabilities / 18
        assert abs(found[predicate] - mean) < 5 * mean**0.5


def test_few_attributes_are_all_named(people: Table) -> None:
    table = salaries([1, 2, 3, 4])
    assert random_aggregates(table, 5, rng=rng()).named.all()
    assert random_aggregates(people, 5, rng=rng()).named.sum(axis=1).tolist() == [min(4, len(people.quasi))] * 5
    for wrong in ({"number": 0}, {"attributes": 0}):
        with pytest.raises(BadValue, match="nothing to ask"):
            random_aggregates(table, rng=rng(), **wrong)  # type: ignore[arg-type]


def test_the_same_generator_gives_the_same_queries(people: Table) -> None:
    first, again, other = (random_aggregates(people, 50, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first.allowed, again.allowed, strict=True))
    assert not np.array_equal(first.named, other.named)


# --- releases as they are made ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def staff() -> Table:
    frame = oneoff.sample(400, seed=5)
    frame = frame.append_column("pay", pa.array(np.random.default_rng(5).integers(-2, 12, 400) * 100))
    labels = sorted(map(str, set(frame["education"].to_pylist())), reverse=True)  # codes that do not ascend
    tree = Hierarchy.from_rows([label, f"half {place % 2}", "*"] for place, label in enumerate(labels))
    return read_table(frame, quasi="age,gender,education", sensitive="pay", hierarchies={"education": tree})


MADE_BY = [
    ("mondrian", "k-anonymity:5"),
    ("ring", "k-anonymity:5"),
    ("anatomy", "l-diversity:3"),
    ("perturbation", "beta-likeness:2"),
]


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(("method", "guarantee"), MADE_BY)
def test_releases_read_back_answer_the_same(method: str, guarantee: str, staff: Table, tmp_path: Path) -> None:
    release = publish(staff, guarantee, method=method, seed=1).release
    queries = random_aggregates(staff, 60, rng=rng())
    found = aggregate_errors(release, staff, queries)
    assert same(found.count, slow_errors(release, staff, queries, [1.0] * len(staff.counts)))
    assert same(found.sum, slow_errors(release, staff, queries, numbers_of(staff)))
    assert found.sum is not None
    assert found.sum.mean > 0
    back = aggregate_errors(oneoff.load_release(release.write(tmp_path / "out")), staff, queries)
    assert same(back.count, found.count)
    assert same(back.sum, found.sum)


def test_few_queries_at_a_time_make_no_difference(staff: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    release = publish(staff, "k-anonymity:5", method="mondrian", seed=1).release
    queries = random_aggregates(staff, 40, rng=rng())
    whole = aggregate_errors(release, staff, queries)
    monkeypatch.setattr(boxes, "_BLOCK", 3 * release.boxes)
    assert len(queries) > 3
    few = aggregate_errors(release, staff, queries)
    assert same(few.count, whole.count)
    assert same(few.sum, whole.sum)


def test_too_many_boxes_are_refused(staff: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    release = publish(staff, "k-anonymity:5", method="mondrian", seed=1).release
    monkeypatch.setattr(boxes, "MOST_CELLS", 10)
    with pytest.raises(BadValue, match="too many boxes"):
        aggregate_errors(release, staff, random_aggregates(staff, 5, rng=rng()))


def test_without_a_generator_queries_are_fresh() -> None:
    frame = pa.table({"x": list(range(50)), "y": list(range(50)), "s": list("ab") * 25})
    table = read_table(frame, quasi="x,y", sensitive="s")
    first, second = (random_aggregates(table, 40) for _ in range(2))
    assert len(first) == 40
    assert not np.array_equal(first.allowed[0], second.allowed[0])


def test_another_table_is_refused() -> None:
    table = read_table(pa.table({"x": [1, 2, 3, 4], "s": [1, 2, 3, 4]}), quasi="x", sensitive="s")
    other = read_table(pa.table({"x": [1, 2, 3, 4], "s": [1, 2, 3, 3]}), quasi="x", sensitive="s")
    with pytest.raises(BadValue, match="not one of this table"):
        aggregate_errors(masked(table, table.codes), other, random_aggregates(other, 5))
