"""Counts about quasi-identifiers alone: what cells tell of how columns go together inside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.kernels.together import add_seen
from oneoff.models import Counts
from oneoff.releases import ColumnTallies, Generalized, Tallied
from oneoff.releases.dealing import shuffled_columns
from oneoff.releases.estimate import CONFIDENCE
from oneoff.releases.tallies import meant_between, tallies_of
from oneoff.releases.together import _levels as levels_of
from oneoff.releases.together import _neighbours, _steps, counted, overlap, together_in
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Floats
from oneoff.table.read import read_table
from tests.tables import tables

Holds = Mapping[int, Flags]


def asked(quasi: tuple[Attribute, ...], columns: int, rng: np.random.Generator) -> dict[int, Flags]:
    """A random question: a range of codes, or half of them, of so many columns."""
    found = {}
    for j in rng.choice(len(quasi), columns, replace=False).tolist():
        size = quasi[j].size
        holds = np.zeros(size, dtype=np.bool_)
        first, width = int(rng.integers(size)), int(rng.integers(1, max(2, size // 2 + 1)))
        holds[np.arange(first, first + width) % size if quasi[j].has_order else rng.permutation(size)[:width]] = True
        found[j] = holds
    return found


def true(codes: Codes, holds: Holds) -> int:
    return int(np.logical_and.reduce([flags[codes[:, j]] for j, flags in holds.items()]).sum())


def shuffled_error(tallies: ColumnTallies, holds: Holds) -> float:
    """The standard error if columns had nothing to do with each other inside cells."""
    shares = [tallies.people(j, flags) / tallies.size for j, flags in holds.items()]
    return float(np.sqrt(overlap(shares, shares, tallies.size).sum()))


def questions_of(table: Table, number: int) -> list[dict[int, Flags]]:
    rng = np.random.default_rng(7)
    return [asked(table.quasi, 2 + i % 2, rng) for i in range(number)]


def correlated(rows: int) -> Table:
    """Three numbers of which each follows the one before closely, and a value."""
    rng = np.random.default_rng(2)
    first = rng.normal(size=rows)
    second = first + 0.3 * rng.normal(size=rows)
    columns = [first, second, second + 0.3 * rng.normal(size=rows)]
    frame = {name: np.clip(np.rint(12 * x), -30, 30).astype(int) for name, x in zip("abc", columns, strict=True)}
    return read_table(pa.table(frame | {"s": rng.integers(0, 5, rows)}), quasi="a,b,c", sensitive="s")


def of_groups(table: Table, k: int) -> Generalized:
    made = oneoff.anonymize(table, f"k-anonymity:{k}", seed=1)
    assert isinstance(made, Generalized)
    return made


def test_intervals_hold_where_columns_go_together_inside_cells() -> None:
    table = correlated(8000)
    release = of_groups(table, 80)
    assert release.tallies is not None
    held, narrow = [], []
    for holds in questions_of(table, 300):
        raw, error = counted(release.quasi, release.tallies, holds)
        off = abs(true(table.codes, holds) - raw)
        held.append(off <= CONFIDENCE * error + 1e-9)
        narrow.append(off <= CONFIDENCE * shuffled_error(release.tallies, holds) + 1e-9)
    assert np.mean(narrow) < 0.85, "or this table shows nothing"
    assert np.mean(held) >= 0.93


@pytest.mark.slow
def test_estimates_are_right_on_average_where_columns_are_shuffled(people: Table) -> None:
    """And errors are those of shuffling, or a little more: nothing goes together there, and neighbours show that."""
    tallies = of_groups(people, 10).tallies
    assert tallies is not None
    rng, questions = np.random.default_rng(3), questions_of(people, 40)
    drawn = [shuffled_columns(tallies, rng)[1] for _ in range(400)]
    told = np.array([counted(people.quasi, tallies, holds) for holds in questions])
    truth = np.array([[true(codes, holds) for codes in drawn] for holds in questions])
    off = (truth - told[:, :1]) / np.maximum(told[:, 1:], 1e-9)
    some = told[:, 1] > 0.5
    assert some.sum() > 20
    assert np.abs(off[some].mean(axis=1)).max() < 5 / np.sqrt(len(drawn))
    assert (np.abs(off[some]) <= CONFIDENCE).mean() >= 0.95


def test_shuffled_columns_are_seen_to_be_shuffled() -> None:
    """Cells of people whose columns have nothing to do with each other: errors are hardly wider than chance."""
    rng = np.random.default_rng(5)
    frame = pa.table({name: rng.integers(0, 20, 6000) for name in "abcs"})
    release = of_groups(read_table(frame, quasi="a,b,c", sensitive="s"), 10)
    assert release.tallies is not None
    found = [
        (counted(release.quasi, release.tallies, holds)[1], shuffled_error(release.tallies, holds))
        for holds in questions_of(read_table(frame, quasi="a,b,c", sensitive="s"), 60)
    ]
    ratio = [error / chance for error, chance in found if chance > 0.5]
    assert len(ratio) > 30
    assert 1 < float(np.median(ratio)) < 1.35


def test_what_is_wrong_is_what_a_slow_count_finds(people: Table) -> None:
    """Of neighbours taken together: what their tallies make of two properties, less what single cells make of them."""
    tallies = of_groups(people, 10).tallies
    assert tallies is not None
    levels = levels_of(people.quasi, tallies, np.random.default_rng(0))
    (first, *_), below, above = _steps(levels, 0, 2), levels[0], levels[1]
    ends = [*above.begin.tolist(), len(below.size)]
    for block in range(len(above.size)):
        cells = range(ends[block], ends[block + 1])
        size = sum(float(below.size[c]) for c in cells)
        one, other = (sum(float(below.size[c] * below.shares[j][c, 4]) for c in cells) for j in (0, 2))
        apart = sum(float(below.size[c] * below.shares[0][c, 4] * below.shares[2][c, 4]) for c in cells)
        assert first.wrong[block, 4] == pytest.approx(one * other / size - apart, abs=1e-9)
        assert above.size[block] == pytest.approx(size)


def seen(people: float, one: Floats, other: Floats) -> Floats:
    found = np.zeros((3, len(one)))
    add_seen(people, one, other, 1.0, found)
    return found


def test_chance_is_the_variance_of_shuffled_cells() -> None:
    size, one, other = np.array([4.0, 9.0]), np.array([[0.5], [1 / 3]]), np.array([[0.25], [2 / 3]])
    _, chance, room = np.stack([seen(*each) for each in zip(size, one, other, strict=True)], axis=1)
    assert chance[:, 0] == pytest.approx(overlap([one[:, 0], other[:, 0]], [one[:, 0], other[:, 0]], size))
    assert room[:, 0] ** 2 / (size - 1) == pytest.approx(chance[:, 0])


def test_neighbours_are_blocks_in_blocks(people: Table) -> None:
    tallies = of_groups(people, 5).tallies
    assert tallies is not None
    order, begins = _neighbours(people.quasi, tallies, np.random.default_rng(0))
    assert sorted(order.tolist()) == list(range(tallies.groups))
    members = np.diff([*begins[0].tolist(), tallies.groups])
    assert members.min() >= 2
    assert members.mean() < 4
    sizes = [tallies.groups, *map(len, begins)]
    assert all(one > 1.5 * other for one, other in pairwise(sizes))


def renumbered(tallies: ColumnTallies, new: Codes) -> ColumnTallies:
    """The same cells under other numbers: cell c is called new[c]."""
    columns = []
    for counts in tallies.columns:
        order = np.lexsort((counts.value, new[counts.owner]))
        owner = new[counts.owner][order]
        start = np.searchsorted(owner, np.arange(tallies.groups + 1))
        columns.append(Counts(start, counts.value[order], counts.count[order]))
    return ColumnTallies(tuple(columns), tallies.size[np.argsort(new)], tallies.widths)


def test_the_numbers_of_cells_say_nothing(people: Table) -> None:
    tallies = of_groups(people, 5).tallies
    assert tallies is not None
    other = renumbered(tallies, np.random.default_rng(1).permutation(tallies.groups).astype(np.int32))
    for holds in questions_of(people, 10):
        raw, error = counted(people.quasi, tallies, holds)
        again = counted(people.quasi, other, holds)
        assert again[0] == pytest.approx(raw)
        assert again[1] == pytest.approx(error, rel=0.1), "cells that look the same may be joined in another order"


@given(tables(), st.integers(1, 4), st.integers(0, 1000))
def test_any_cells_tell_something(table: Table, groups: int, seed: int) -> None:
    """One cell, cells of one person, columns of one value: errors are numbers, and one column is exact."""
    rng = np.random.default_rng(seed)
    cell = np.unique(rng.integers(0, groups, table.rows), return_inverse=True)[1].astype(np.int32)
    tallies = tallies_of(table.quasi, table.codes, cell)
    found = together_in(table.quasi, tallies)
    assert found is together_in(table.quasi, tallies)
    assert all(np.isfinite(each).all() and (each >= 0).all() for each in (found.alike, found.apart))
    for columns in range(1, len(table.quasi) + 1):
        holds = asked(table.quasi, columns, rng)
        raw, error = counted(table.quasi, tallies, holds)
        assert np.isfinite(error)
        if columns == 1:
            assert raw == pytest.approx(true(table.codes, holds))
            assert error == 0


# --- releases


def labelled(quasi: tuple[Attribute, ...], holds: Holds) -> dict[str, list[object]]:
    return {quasi[j].name: quasi[j].labels[flags].tolist() for j, flags in holds.items()}


def ends(tallies: ColumnTallies, holds: Holds) -> tuple[float, float]:
    terms = [tallies.people(j, flags) for j, flags in holds.items()]
    low, high = (float(end.sum()) for end in meant_between([tallies.size, *terms], tallies.size))
    return low, high


def test_intervals_stay_inside_what_can_be(people: Table) -> None:
    noisy = oneoff.anonymize(people, "beta-likeness:3+k-anonymity:10", method="tallies", seed=1)
    assert isinstance(noisy, Tallied)
    groups = of_groups(people, 10)
    assert groups.tallies is not None
    for holds in questions_of(people, 60):
        where = labelled(people.quasi, holds)
        low, high = ends(noisy.tallies, holds)
        found = noisy.count(where)
        assert low - 1e-9 <= found.low <= found.count <= found.high <= high + 1e-9
        assert found.raw == pytest.approx(found.count), "it is a share of each cell"
        found = groups.count(where)
        assert (found.low, found.high) == ends(groups.tallies, holds)
        assert found.error is not None
        assert found.low <= found.likely[0] <= found.count <= found.likely[1] <= found.high


def test_counts_of_people_are_what_the_fit_makes_of_them(people: Table) -> None:
    """Who asks about no value gets the number that the counts of fields add up to."""
    noisy = oneoff.anonymize(people, "beta-likeness:3+k-anonymity:10", method="tallies", seed=1)
    assert isinstance(noisy, Tallied)
    everybody = np.ones(len(noisy.counts), dtype=np.bool_)
    for holds in questions_of(people, 20):
        raw, spread = noisy._estimate(holds, everybody, np.ones(noisy.tallies.groups))
        told, error = counted(people.quasi, noisy.tallies, holds)
        assert told == pytest.approx(raw)
        assert error == pytest.approx(np.sqrt(spread))


def test_only_groups_cut_by_quasi_identifiers_say_how_far_counts_are_likely_off(people: Table) -> None:
    where = "age between 30 and 49 and gender = 'Female'"
    release = of_groups(people, 10)
    assert release.count(where).error is not None
    values = people.sensitive
    assert values is not None
    assert release.count(f"{where} and occupation = '{values.labels[0]}'").error is None
    assert replace(release, method="hilbert").count(where).error is None, "its neighbours are not those of cuts"
    assert oneoff.anonymize(people, "l-diversity:3", method="mondrian", seed=1).count(where).error is None


def test_certain_intervals_stay_certain_beside_likely_ones(people: Table) -> None:
    release = of_groups(people, 5)
    either = release.count("age < 30 and marital = 'Divorced' or age > 50 and marital = 'Married'")
    assert either.certain
    assert either.error is not None
    assert either.low <= either.likely[0] < either.count < either.likely[1] <= either.high
    assert either.likely != (either.low, either.high)
    parts = [
        release.count(f"age {asked}") for asked in ("< 30 and marital = 'Divorced'", "> 50 and marital = 'Married'")
    ]
    assert (either.low, either.high) == (sum(each.low for each in parts), sum(each.high for each in parts))
    assert either.error == pytest.approx(sum(each.error or 0.0 for each in parts)), "as if all erred alike"
    share = release.share("age < 30", among="marital = 'Never married'")
    assert share.certain
    assert share.low <= share.likely[0] < share.count < share.likely[1] <= share.high
    assert "with 95 % confidence between" in share.sentence()
    assert "certainly between" in share.sentence()
    assert share.as_dict()["likely"] == list(share.likely)


# --- real tables


def held(codes: Codes, quasi: tuple[Attribute, ...], tallies: ColumnTallies, columns: int) -> tuple[float, float]:
    """How often intervals hold the truth, and how often those that suppose shuffled columns do."""
    rng, found = np.random.default_rng(11), []
    for _ in range(300):
        holds = asked(quasi, columns, rng)
        raw, error = counted(quasi, tallies, holds)
        off = abs(true(codes, holds) - raw)
        found.append([off <= CONFIDENCE * each + 1e-9 for each in (error, shuffled_error(tallies, holds))])
    told: Floats = np.mean(found, axis=0)
    return float(told[0]), float(told[1])


CENSUS = "age,gender,education,marital,race,workclass,country"
COVID = "AGE,SEX,MEDICAL_UNIT,USMER,PATIENT_TYPE,PREGNANT"
COIL = "MAANTHUI,MGEMOMV,MGEMLEEF,MOSHOOFD"


@pytest.mark.slow
@pytest.mark.parametrize("k", [10, 25])
@pytest.mark.parametrize(("file", "quasi", "sensitive", "numeric"), [
    ("census_occ100k", CENSUS, "occupation", "age,education"),
    ("covid_mexico_2020", COVID, "CLASIFFICATION_FINAL", "AGE"),
    ("coil2000", COIL, "CARAVAN", "MAANTHUI,MGEMOMV"),
])  # fmt: skip
def test_intervals_hold_on_real_tables(
    file: str, quasi: str, sensitive: str, numeric: str, k: int, data_dir: Path
) -> None:
    """None of these decided how wide intervals are; that there is `Together.apart` at all was learnt from COIL."""
    import polars as pl

    frame = pl.read_parquet(data_dir / f"{file}.parquet", columns=[*quasi.split(","), sensitive]).drop_nulls()
    frame = frame.sample(min(len(frame), 40_000), seed=1)
    rest = [name for name in quasi.split(",") if name not in numeric.split(",")]
    table = read_table(frame, quasi=quasi, sensitive=sensitive, numeric=numeric.split(","), categorical=rest)
    release = of_groups(table, k)
    assert release.tallies is not None
    for columns in (2, 3, 4):
        now, before = held(table.codes, table.quasi, release.tallies, columns)
        assert now >= 0.92
        assert now >= before
