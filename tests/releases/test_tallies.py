"""Column tallies and plain rows: what they hold, that they are read back, and that wrong ones are found out."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import BadValue, DamagedRelease, Defect
from oneoff.models import Counts, KAnonymity
from oneoff.plans import Partition
from oneoff.releases import ColumnTallies, Generalized, generalize
from oneoff.releases.folder import load_release
from oneoff.releases.tallies import tallies_of
from oneoff.releases.together import overlap
from oneoff.table import Hierarchy, Table
from oneoff.table.read import read_table
from oneoff.utility import query_errors, random_queries
from tests.tables import tables

pytestmark = pytest.mark.usefixtures("without_pictures")


def grouped(table: Table, groups: int, seed: int, **options: Any) -> Generalized:
    """A release of random groups."""
    rng = np.random.default_rng(seed)
    group = np.unique(rng.integers(0, groups, table.rows), return_inverse=True)[1].astype(np.int32)
    return generalize(table, Partition(group), KAnonymity(1), method="by hand", against="reader", rng=rng, **options)


def counted(table: Table, release: Generalized, j: int) -> list[Counter[int]]:
    """Slowly: the codes of every group."""
    assert release.links is not None
    found = [Counter[int]() for _ in range(release.boxes)]
    for person, box in enumerate(release.box[release.links].tolist()):
        found[box][int(table.codes[person, j])] += 1
    return found


# --- the noun


@given(tables(), st.integers(1, 6), st.integers(0, 1000))
def test_tallies_are_those_of_a_slow_count(table: Table, groups: int, seed: int) -> None:
    release = grouped(table, groups, seed)
    assert release.tallies is not None
    for j, counts in enumerate(release.tallies.columns):
        expected = [sorted(each.items()) for each in counted(table, release, j)]
        entries = list(zip(counts.owner.tolist(), counts.value.tolist(), counts.count.tolist(), strict=True))
        assert entries == [(g, code, many) for g, each in enumerate(expected) for code, many in each]
        holds = np.arange(table.quasi[j].size) % 2 == 0
        people = [sum(many for code, many in each if code % 2 == 0) for each in expected]
        assert release.tallies.people(j, holds).tolist() == people


@pytest.mark.parametrize(
    ("start", "value", "count", "said"),
    [
        ([0, 2, 3], [0, 1, 1], [2, 1, 1], "does not sum up"),
        ([0, 2, 3], [0, 1, 1], [1, 0, 2], "counts nobody"),
        ([0, 3, 3], [0, 1, 2], [1, 1, 0], "lacks a group"),
        ([0, 2], [0, 1], [1, 1], "lacks a group"),
        ([0, 2, 3], [1, 0, 1], [1, 1, 2], "out of order"),
        ([0, 2, 3], [1, 1, 1], [1, 1, 2], "twice"),
        ([0, 2, 3], [0, 3, 1], [1, 1, 2], "outside its domain"),
        ([0, 2, 3], [-1, 1, 1], [1, 1, 2], "outside its domain"),
    ],
)
def test_tallies_that_cannot_be_are_refused(start: list[int], value: list[int], count: list[int], said: str) -> None:
    counts = Counts(*(np.array(part, dtype=np.int64) for part in (start, value, count)))
    with pytest.raises(Defect, match=said):
        ColumnTallies((counts,), np.array([2, 2]), (3,))


# --- the files


@given(table=tables(), groups=st.integers(1, 6), seed=st.integers(0, 1000))
def test_what_is_written_is_read_back(
    table: Table, groups: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    release = grouped(table, groups, seed)
    folder = release.write(tmp_path_factory.mktemp("tallies") / "out", csv=True)
    back = load_release(folder)
    assert isinstance(back, Generalized)
    assert back.tallies is not None
    for mine, theirs in zip(release.quasi, back.quasi, strict=True):
        assert mine.labels.tolist() == theirs.labels.tolist()
    for mine, theirs in zip(release.tallies.columns, back.tallies.columns, strict=True):  # type: ignore[union-attr]
        assert (mine.start.tolist(), mine.value.tolist()) == (theirs.start.tolist(), theirs.value.tolist())
        assert mine.count.tolist() == theirs.count.tolist()
    assert back.microdata().equals(release.microdata())
    assert back.microdata(seed=seed).equals(release.microdata(seed=seed))
    assert back.to_arrow().equals(release.to_arrow())


def test_the_file_is_sorted_by_what_it_shows(tmp_path: Path) -> None:
    frame = pa.table({"sex": list("FMFM"), "age": [9, 10, 10, 33], "s": list("abab")})
    release = grouped(read_table(frame, quasi="sex,age", sensitive="s"), 1, 0)
    rows = pq.read_table(release.write(tmp_path / "out") / "public" / "columns.parquet").to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (0, "sex", "F", 2), (0, "sex", "M", 2), (0, "age", "9", 1), (0, "age", "10", 2), (0, "age", "33", 1),
    ]  # fmt: skip


TYPES: dict[str, list[Any]] = {
    "integer": [-5, 3, 3, 2**60],
    "number": [0.1, 1e-300, 2.0, 2.0],
    "date": [dt.date(2020, 1, 1), dt.date(1969, 12, 31), dt.date(2020, 1, 1), dt.date(2021, 5, 5)],
    "time": [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1), dt.datetime(2022, 1, 1), dt.datetime(2022, 1, 1)],
    "moment": [dt.datetime(2020, 1, 1, 3, 4, 5, 6), *(dt.datetime(2021, 1, day) for day in (1, 2, 2))],
    "boolean": [True, False, True, True],
    "text": ["", "1", "a,b", "a,b"],
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("numeric_as", ["range", "set"])
def test_values_come_back_with_their_type(name: str, numeric_as: str, tmp_path: Path) -> None:
    frame = pa.table({"q": TYPES[name], "s": list("abab")})
    table = read_table(frame, quasi="q", sensitive="s", na=[])
    release = grouped(table, 2, 3, numeric_as=numeric_as)
    back = load_release(release.write(tmp_path / "out", csv=True))
    assert isinstance(back, Generalized)
    assert back.quasi[0].labels.dtype == table.quasi[0].labels.dtype
    assert sorted(back.microdata()["q"].to_pylist()) == sorted(TYPES[name])


def test_numbers_under_a_hierarchy_stay_numbers(tmp_path: Path) -> None:
    tree = Hierarchy.from_rows([["1111", "11**", "*"], ["1122", "11**", "*"], ["unknown", "other", "*"]])
    frame = pa.table({"zip": [1111, 1122, 1122, 1111], "s": list("abab")})
    table = read_table(frame, quasi="zip", sensitive="s", hierarchies={"zip": tree})
    back = load_release(grouped(table, 2, 3).write(tmp_path / "out"))
    assert isinstance(back, Generalized)
    assert sorted(back.microdata()["zip"].to_pylist()) == [1111, 1111, 1122, 1122]
    assert back.count("zip = 1122").count == 2


@pytest.fixture
def release(people: Table) -> Generalized:
    made = oneoff.anonymize(people, "k-anonymity:5", method="mondrian", seed=1)
    assert isinstance(made, Generalized)
    return replace(made, private_half=dict)


def forged(public: Path, name: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Change a file, and the hashes as a cheat would."""
    old = pq.read_table(public / name)
    pq.write_table(pa.Table.from_pylist(change(old.to_pylist()), old.schema), public / name)
    described = json.loads((public / "release.json").read_text())
    described["files"][name] = hashlib.sha256((public / name).read_bytes()).hexdigest()
    (public / "release.json").write_text(json.dumps(described))


def _first(rows: list[dict[str, Any]], name: str, **change: Any) -> list[dict[str, Any]]:
    """The first entry of a column with something else in it."""
    place = next(i for i, row in enumerate(rows) if row["column"] == name)
    return [row | change if i == place else row for i, row in enumerate(rows)]


def _moved(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One person more with one value of a group, one fewer with the next."""
    place = next(
        i for i, row in enumerate(rows[:-1])
        if row["count"] > 1 and (row["group"], row["column"]) == (rows[i + 1]["group"], rows[i + 1]["column"])
    )  # fmt: skip
    rows[place]["count"] -= 1
    rows[place + 1]["count"] += 1
    return rows


WRONG_TALLIES: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "a person more": lambda rows: _first(rows, "gender", count=99),
    "nobody": lambda rows: _first(rows, "gender", count=0),
    "a value outside a range": lambda rows: _first(rows, "age", value="3"),
    "a value outside a set": lambda rows: _first(rows, "country", value="Atlantis"),
    "no number": lambda rows: _first(rows, "age", value="young"),
    "another column": lambda rows: _first(rows, "age", column="agee"),
    "another group": lambda rows: _first(rows, "age", group=10**6),
    "an entry left out": lambda rows: rows[1:],
    "another order": lambda rows: rows[::-1],
    "columns before groups": lambda rows: sorted(rows, key=lambda row: row["column"]),
    "other counts than the rows": _moved,
}


@pytest.mark.parametrize("change", WRONG_TALLIES)
def test_wrong_tallies_are_damage(change: str, release: Generalized, tmp_path: Path) -> None:
    public = release.write(tmp_path / "out") / "public"
    assert oneoff.verify(public).holds
    forged(public, "columns.parquet", WRONG_TALLIES[change])
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)


def _swapped(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The value of the first row replaced by another one."""
    other = next(row[name] for row in rows if row[name] != rows[0][name])
    return [rows[0] | {name: other}, *rows[1:]]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[1:],
        lambda rows: [*rows, rows[0]],
        lambda rows: _swapped(rows, "age"),
        lambda rows: _swapped(rows, "occupation"),
        lambda rows: [rows[0] | {"age": 3}, *rows[1:]],
    ],
    ids=["fewer", "more", "age", "value", "unknown"],
)
def test_plain_rows_of_other_people_are_damage(change: Any, release: Generalized, tmp_path: Path) -> None:
    public = release.write(tmp_path / "out") / "public"
    forged(public, "microdata.parquet", change)
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)


def test_what_travels_with_a_value_travels_in_plain_rows_too(tmp_path: Path) -> None:
    frame = pa.table({"age": [1, 2, 3, 4], "s": list("abcd"), "visit": [2001, None, 2003, 2004]})
    table = read_table(frame, quasi="age", sensitive="s", keep="visit")
    made = oneoff.anonymize(table, "k-anonymity:4", seed=1)
    public = made.write(tmp_path / "out") / "public"
    back = load_release(public)
    assert isinstance(back, Generalized)
    for rows in (back.microdata(), back.microdata(seed=3)):
        pairs = set(zip(rows["s"].to_pylist(), rows["visit"].to_pylist(), strict=True))
        assert pairs == {("a", 2001), ("b", None), ("c", 2003), ("d", 2004)}
        assert rows.column_names == ["age", "s", "visit"]
    forged(public, "microdata.parquet", lambda rows: [
        row | {"visit": rows[i - 1]["visit"]} for i, row in enumerate(rows)
    ])  # fmt: skip
    with pytest.raises(DamagedRelease):
        load_release(public)


def test_a_file_that_is_not_described_is_damage(people: Table, release: Generalized, tmp_path: Path) -> None:
    boxes = oneoff.anonymize(people, "k-anonymity:5", method="mondrian", seed=1, columns="box")
    public = boxes.write(tmp_path / "out") / "public"
    pq.write_table(release.microdata(), public / "microdata.parquet")
    forged(public, "microdata.parquet", lambda rows: rows)
    with pytest.raises(DamagedRelease, match=r"does not describe microdata\.parquet"):
        load_release(public)


def test_a_release_that_is_older_than_tallies_is_read(people: Table, tmp_path: Path) -> None:
    boxes = oneoff.anonymize(people, "k-anonymity:5", method="mondrian", seed=1, columns="box")
    public = boxes.write(tmp_path / "out") / "public"
    described = json.loads((public / "release.json").read_text())
    assert described.pop("columns") == "box"
    (public / "release.json").write_text(json.dumps(described))
    assert oneoff.verify(public).holds
    (public / "release.json").write_text(json.dumps(described | {"columns": "tally"}))
    with pytest.raises(DamagedRelease):
        oneoff.verify(public)


# --- on and off


def test_boxes_alone_are_what_they_were(people: Table, release: Generalized, tmp_path: Path) -> None:
    boxes = oneoff.anonymize(people, "k-anonymity:5", method="mondrian", seed=1, columns="box")
    assert boxes.to_arrow().equals(release.to_arrow()), "tallies do not change the records"
    assert {path.name for path in (boxes.write(tmp_path / "out") / "public").iterdir()} == {
        "data.parquet", "release.json", "README.md", "report.html",
    }  # fmt: skip
    assert isinstance(boxes, Generalized)
    with pytest.raises(BadValue, match=r"no plain rows.*column tallies.*columns=\"box\""):
        boxes.microdata()


@pytest.mark.parametrize(("method", "promise"), [("freeform", "k-anonymity:3"), ("heterogeneous", "l-diversity:3")])
def test_a_record_with_a_box_of_its_own_has_no_tally(method: str, promise: str, people: Table, tmp_path: Path) -> None:
    made = oneoff.anonymize(people, promise, method=method, seed=1)
    assert isinstance(made, Generalized)
    assert made.tallies is None
    folder = made.write(tmp_path / "out", even_if_broken=True)
    described = json.loads((folder / "public" / "release.json").read_text())
    assert not {"columns", "microdata"} & described.keys()
    with pytest.raises(BadValue, match=r"no plain rows.*no groups"):
        made.microdata()
    with pytest.raises(BadValue, match=f"{method} has no option 'columns'"):
        oneoff.anonymize(people, promise, method=method, columns="box")


def test_only_two_forms_are_known(people: Table) -> None:
    with pytest.raises(BadValue, match=r"unknown form for columns; allowed: tally, box; got: 'rows'"):
        oneoff.anonymize(people, "k-anonymity:5", columns="rows")


# --- plain rows


@given(tables(), st.integers(1, 4), st.integers(0, 1000))
def test_plain_rows_have_the_columns_of_the_table(table: Table, groups: int, seed: int) -> None:
    release = grouped(table, groups, seed)
    for rows in (release.microdata(), release.microdata(seed=seed)):
        for attribute, codes in table.columns():
            assert Counter(rows[attribute.name].to_pylist()) == Counter(attribute.decode(codes).tolist())
        assert rows.column_names == [attribute.name for attribute, _ in table.columns()]


def test_plain_rows_stay_in_their_group_and_are_shuffled_there() -> None:
    n = 400
    frame = pa.table({"a": range(n), "b": range(n), "s": [f"{i // 200}" for i in range(n)]})
    table = read_table(frame, quasi="a,b", sensitive="s")
    partition = Partition((np.arange(n) // 200).astype(np.int32))
    made = {"method": "by hand", "against": "reader", "rng": np.random.default_rng(1)}
    release = generalize(table, partition, KAnonymity(1), **made)  # type: ignore[arg-type]
    draws = [release.microdata(seed) for seed in (None, 0, 1, 2)]
    for rows in draws:
        a, b, s = (rows[name].to_numpy(zero_copy_only=False) for name in ("a", "b", "s"))
        assert np.array_equal(a // 200, b // 200), "together only with people of the same group"
        assert np.array_equal(a // 200, s.astype(int))
        assert (a == b).sum() < 20, "one in expectation for each group"
        assert abs(np.corrcoef(a % 200, b % 200)[0, 1]) < 0.25
        assert (np.diff(a) > 0).sum() < 260, "rows are in random order"
    assert all(not one.equals(other) for i, one in enumerate(draws) for other in draws[:i])


def test_the_run_decides_which_rows_go_out(people: Table) -> None:
    one, again, other = (oneoff.anonymize(people, "k-anonymity:5", seed=seed) for seed in (1, 1, 2))
    assert all(isinstance(each, Generalized) for each in (one, again, other))
    assert one.microdata().equals(again.microdata())  # type: ignore[attr-defined]
    assert not one.microdata().equals(other.microdata())  # type: ignore[attr-defined]
    with pytest.raises(BadValue, match="seed"):
        one.microdata(seed="x")  # type: ignore[attr-defined]


# --- counting


@given(tables(), st.integers(1, 4), st.integers(0, 1000), st.data())
def test_estimates_are_those_of_a_slow_count(table: Table, groups: int, seed: int, data: st.DataObject) -> None:
    release = grouped(table, groups, seed)
    assert release.links is not None
    assert table.sensitive is not None
    asked = {
        a.name: data.draw(st.lists(st.sampled_from(a.labels.tolist()), min_size=1, unique=True))
        for a in (*table.quasi, table.sensitive)
        if data.draw(st.booleans()) or a is table.quasi[0]
    }
    holds = [np.isin(a.decode(codes), asked[a.name]) for a, codes in table.columns() if a.name in asked]
    estimate = low = high = 0.0
    for box in range(release.boxes):
        inside = release.box[release.links] == box
        size, having = int(inside.sum()), [int(each[inside].sum()) for each in holds]
        estimate += size * float(np.prod([many / size for many in having]))
        low += max(0, sum(having) - (len(having) - 1) * size)
        high += min(having)
    found = release.count(asked)
    assert found.raw == pytest.approx(estimate)
    assert (found.low, found.high) == (low, high)
    assert found.low <= found.count <= found.high
    assert found.low <= int(np.logical_and.reduce(holds).sum()) <= found.high


def test_conditions_on_one_column_are_counted_together(people: Table) -> None:
    release = oneoff.anonymize(people, "k-anonymity:8", seed=1)
    ages = people.quasi[0].decode(people.codes[:, 0])
    found = release.count("age > 30 and age <= 44 and age != 40")
    truth = int(((ages > 30) & (ages <= 44) & (ages != 40)).sum())
    assert (found.low, found.count, found.high) == (truth, pytest.approx(truth), truth)


def test_tallies_count_far_better_than_boxes() -> None:
    from oneoff.table.sample import SAMPLE_ROLES, sample

    table = read_table(sample(1000, seed=2), **SAMPLE_ROLES)
    queries = random_queries(table, 300, rng=np.random.default_rng(1))
    for method, promise in (("mondrian", "k-anonymity:10"), ("transversal", "beta-likeness:3")):
        errors = {
            columns: query_errors(
                oneoff.anonymize(table, promise, method=method, seed=1, columns=columns), table, queries
            )
            for columns in ("tally", "box")
        }
        assert errors["tally"].median < 0.3 * errors["box"].median
        assert errors["tally"].mean < 0.3 * errors["box"].mean


@pytest.mark.slow
def test_tallies_of_adult(data_dir: Path) -> None:
    """k-anonymity:10 by mondrian, 2,000 queries on three attributes, selectivity .1."""
    import polars as pl

    frame = pl.read_parquet(data_dir / "adult.parquet").filter(pl.col("split") == "train").drop_nulls()
    quasi = "age,workclass,education,marital-status,race,sex,native-country"
    table = read_table(frame, quasi=quasi, sensitive="occupation")
    assert table.rows == 30_162
    queries = random_queries(table, 2000, rng=np.random.default_rng(1))
    tally, box = (
        query_errors(
            oneoff.anonymize(table, "k-anonymity:10", method="mondrian", seed=1, columns=columns), table, queries
        )
        for columns in ("tally", "box")
    )
    assert (tally.median, tally.mean) == (pytest.approx(0.012, abs=0.004), pytest.approx(0.028, abs=0.01))
    assert (box.median, box.mean) == (pytest.approx(0.047, abs=0.015), pytest.approx(0.319, abs=0.1))


# --- the audit


def test_the_audit_finds_a_wrong_tally(people: Table, release: Generalized) -> None:
    assert oneoff.audit(release, people).problems == ()
    assert release.links is not None
    codes = people.codes.copy()
    box = release.box[release.links]
    one = int(np.flatnonzero(box == box[0])[0])
    other = next(i for i in np.flatnonzero(box == box[0]) if codes[i, 0] != codes[one, 0])
    codes[one, 0] = codes[other, 0]  # the box of the group stays, since its ends are not asked for
    wrong = replace(release, tallies=tallies_of(people.quasi, codes, box))
    verdict = oneoff.audit(wrong, people)
    assert not verdict.holds
    assert verdict.problems == ("the tallies of 'age' are not those of the people in the groups",)
    assert oneoff.audit(wrong).problems == (), "nobody can tell without the table"


def test_tallies_change_no_verdict(people: Table) -> None:
    """But what can be learnt from the release, which is more."""
    for promise in ("k-anonymity:5", "beta-likeness:2+k-anonymity:4", "t-closeness:0.3"):
        made = {
            columns: oneoff.anonymize(people, promise, method="mondrian", seed=1, columns=columns)
            for columns in ("tally", "box")
        }
        tally, box = (oneoff.audit(release, people).as_dict() | {"learned": None} for release in made.values())
        assert tally == box


@pytest.mark.parametrize("columns", [
    ([1, 1, 0, 0], [1, 0, 0, 1]),
    ([1, 1, 0, 0], [1, 0, 0, 1], [1, 1, 1, 1]),  # what everybody has leaves the others as they are
    ([1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0]),
    ([2, 5, 0, 1], [1, 1, 0, 0], [1, 1, 1, 0]),  # a sum of numbers
])  # fmt: skip
def test_how_many_have_several_properties_varies_as_all_orders_of_a_cell_say(columns: tuple[list[int], ...]) -> None:
    first, *others = (np.array(column) for column in columns)
    orders = [[column[list(order)] for order in permutations(range(4))] for column in others]
    sums = [int(np.prod([first, *each], axis=0).sum()) for each in product(*orders)]
    every = [column.astype(float) for column in (first, *others)]
    means, squares = ([np.array([np.mean(column**power)]) for column in every] for power in (1, 2))
    assert overlap(means, squares, np.array([4.0])) == pytest.approx(np.var(sums))
