"""The profile of a table, against slow twins that count row by row and against known facts of real tables."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadValue, EmptyTable, RoleConflict, UnknownColumn
from oneoff.table import classes as module
from oneoff.table.profile import Profile, profile
from oneoff.table.read import read_table
from oneoff.table.sample import SAMPLE_ROLES, sample

NAMES = ("a", "b", "c")
Row = tuple[Any, ...]

values = st.tuples(
    st.none() | st.integers(0, 3),
    st.none() | st.sampled_from(["x", "y", "z"]),
    st.none() | st.sampled_from([0.0, -0.0, 1.5]),
    st.none() | st.sampled_from(["flu", "cold", "none"]),
)
tables = st.lists(values, min_size=1, max_size=40)


def frame_of(rows: list[Row]) -> pa.Table:
    types = (pa.int64(), pa.string(), pa.float64(), pa.string())
    columns = zip(*rows, strict=True)
    named = zip((*NAMES, "s"), columns, types, strict=True)
    return pa.table({name: pa.array(column, type=kind) for name, column, kind in named})


@pytest.fixture(params=[2**62, 10])
def radix(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with keys that fit, once with a limit so low that keys are ranked again before every column."""
    monkeypatch.setattr(module, "_LARGEST", request.param)


@pytest.fixture
def people() -> pa.Table:
    """Six people: two alike, one whose missing age makes her unique, one unique, and two alike with one disease."""
    return pa.table(
        {
            "age": [30, 30, None, 41, 52, 52],
            "sex": ["F", "F", "F", "M", "M", "M"],
            "disease": ["flu", "cold", "flu", "flu", "cough", "cough"],
        }
    )


# --- slow twins ------------------------------------------------------------------------------------------------------


def slow_unique(keys: list[Any]) -> int:
    return sum(1 for count in Counter(keys).values() if count == 1)


def slow_bars(counts: Counter[Any]) -> Iterator[tuple[int, int | None, int, int]]:
    edges = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, None]
    for low, following in pairwise(edges):
        assert low is not None
        inside = [n for n in counts.values() if n >= low and (following is None or n < following)]
        yield low, None if following is None else following - 1, len(inside), sum(inside)


@pytest.mark.usefixtures("radix")
@pytest.mark.parametrize("threshold", [2, 5])
def test_classes_and_risks_against_counting(threshold: int) -> None:
    @given(tables)
    def law(rows: list[Row]) -> None:
        keys = [row[:3] for row in rows]
        counts = Counter(keys)
        found = profile(frame_of(rows), quasi=NAMES, sensitive="s", threshold=threshold).quasi
        assert found is not None
        assert found.combinations == len(counts)
        assert found.unique_people == slow_unique(keys)
        assert found.unique_share == pytest.approx(slow_unique(keys) / len(rows))
        assert (found.smallest_class, found.largest_class) == (min(counts.values()), max(counts.values()))
        bars = [bar for bar in slow_bars(counts) if bar[0] <= max(counts.values())]
        assert [(bar.least, bar.most, bar.classes, bar.people) for bar in found.sizes] == bars
        risks = [1 / counts[key] for key in keys]
        at_risk = sum(1 for key in keys if counts[key] < threshold)
        assert found.prosecutor.highest == pytest.approx(max(risks))
        assert found.prosecutor.average == pytest.approx(sum(risks) / len(risks))
        assert (found.prosecutor.people_at_risk, found.prosecutor.share_at_risk) == (at_risk, at_risk / len(rows))
        assert found.journalist == found.prosecutor
        assert found.marketer == pytest.approx(len(counts) / len(rows))

    law()


@pytest.mark.usefixtures("radix")
def test_effects_of_columns_against_counting() -> None:
    @given(tables)
    def law(rows: list[Row]) -> None:
        found = profile(frame_of(rows), quasi=NAMES).quasi
        assert found is not None
        total = slow_unique([row[:3] for row in rows])
        for effect in found.effects:
            j = NAMES.index(effect.name)
            without = slow_unique([row[:j] + row[j + 1 : 3] for row in rows])
            alone = slow_unique([row[j] for row in rows])
            assert (effect.unique_without, effect.unique_alone, effect.effect) == (without, alone, total - without)
        assert [e.effect for e in found.effects] == sorted((e.effect for e in found.effects), reverse=True)
        assert sorted(e.name for e in found.effects) == list(NAMES)

    law()


@pytest.mark.usefixtures("radix")
def test_sensitive_column_against_counting() -> None:
    @given(tables)
    def law(rows: list[Row]) -> None:
        (found,) = profile(frame_of(rows), quasi=NAMES, sensitive="s").sensitive
        counts = Counter(row[3] for row in rows)
        assert found.values == len(counts.keys() - {None})
        assert found.missing == counts[None]
        assert found.most_common_share == max(counts.values()) / len(rows)
        assert found.least_common_share == min(n for n in counts.values() if n) / len(rows)
        assert counts[found.most_common] == max(counts.values())
        assert counts[found.least_common] == min(n for n in counts.values() if n)
        assert found.largest_l == pytest.approx(len(rows) / max(counts.values()))
        inside = {key: Counter(row[3] for row in rows if row[:3] == key) for key in {row[:3] for row in rows}}
        levels = [sum(c.values()) / max(c.values()) for c in inside.values()]
        assert found.smallest_l == pytest.approx(min(levels))
        assert found.disclosed_people == sum(sum(c.values()) for c in inside.values() if len(c) == 1)

    law()


@given(tables)
def test_columns_against_counting(rows: list[Row]) -> None:
    found = profile(frame_of(rows), quasi=NAMES, sensitive="s")
    assert found.rows == len(rows)
    for j, column in enumerate(found.columns):
        counts = Counter(row[j] for row in rows)
        present = {value: n for value, n in counts.items() if value is not None}
        assert (column.distinct, column.missing) == (len(present), counts[None])
        assert column.unique_share == pytest.approx(sum(1 for n in counts.values() if n == 1) / len(rows))
        assert column.top_share == pytest.approx(max(present.values(), default=0) / len(rows))


@given(tables, st.lists(values, max_size=40))
def test_journalist_against_counting_a_population(rows: list[Row], others: list[Row]) -> None:
    everyone = rows + others
    random.Random(len(everyone)).shuffle(everyone)
    found = profile(frame_of(rows), quasi=NAMES, population=frame_of(everyone)).quasi
    assert found is not None
    alike = Counter(row[:3] for row in everyone)
    risks = [1 / alike[row[:3]] for row in rows]
    at_risk = sum(1 for row in rows if alike[row[:3]] < 5)
    assert found.journalist.highest == pytest.approx(max(risks))
    assert found.journalist.average == found.marketer == pytest.approx(sum(risks) / len(risks))
    assert found.journalist.people_at_risk == at_risk
    assert (found.population_rows, found.uncovered) == (len(everyone), 0)


@given(tables.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_shuffled_rows_change_nothing(both: tuple[list[Row], list[Row]]) -> None:
    as_they_are, shuffled = (frame_of(rows) for rows in both)
    assert profile(shuffled, quasi=NAMES, sensitive="s") == profile(as_they_are, quasi=NAMES, sensitive="s")
    assert profile(shuffled) == profile(as_they_are)


def test_ties_are_broken_by_text_not_by_order() -> None:
    for order in (["b", "a", "c", "c", "d", "d"], ["d", "c", "a", "b", "c", "d"]):
        (found,) = profile(pa.table({"disease": order})).sensitive
        assert (found.most_common, found.least_common) == ("c", "a")


def test_more_columns_than_fit_in_one_number() -> None:
    """Nine columns of 256 codes: in 64 bits the first would be shifted out, and two people would become one."""
    names = [f"q{j}" for j in range(9)]
    rows = [[i] * 9 for i in range(255)] + [[1] + [0] * 8, [254] * 9]
    found = profile(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), quasi=names).quasi
    assert found is not None
    assert (found.combinations, found.unique_people) == (256, 255)
    without = {effect.name: effect.unique_without for effect in found.effects}
    assert without == {"q0": 253} | dict.fromkeys(names[1:], 255)


# --- real tables -----------------------------------------------------------------------------------------------------

CENSUS = "age,gender,education,marital,race,workclass,country"
FACTS = [
    ("adult", "age,workclass,education,marital-status,race,sex,native-country", 16_960, 11_763),
    ("census_sal500k", CENSUS, 87_796, 55_201),
    ("census_occ100k", CENSUS, 30_811, 20_999),
    ("atus_respondents", "age,sex,race,state,edu,marital,citizen", 89_384, 56_938),
    (
        "kdd_census_income_test",
        "age,sex,race,education,marital stat,class of worker,country of birth self",
        27_094,
        18_478,
    ),
    ("coil2000", "MAANTHUI,MGEMOMV,MGEMLEEF,MOSHOOFD", 225, 55),
    ("covid_mexico_2020", "AGE,SEX,MEDICAL_UNIT,USMER,PATIENT_TYPE,PREGNANT", 8_061, 1_315),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "quasi", "combinations", "singles"), FACTS, ids=[fact[0] for fact in FACTS])
def test_known_facts(data_dir: Path, name: str, quasi: str, combinations: int, singles: int) -> None:
    found = profile(data_dir / f"{name}.parquet", quasi=quasi)
    assert found.quasi is not None
    assert (found.quasi.combinations, found.quasi.unique_people) == (combinations, singles)
    assert sum(bar.people for bar in found.quasi.sizes) == found.rows


def test_sensitive_facts_of_adult(data_dir: Path) -> None:
    (found,) = profile(data_dir / "adult.parquet", quasi=FACTS[0][1], sensitive="occupation").sensitive
    assert (found.values, found.missing) == (14, 2809)
    assert (found.most_common, found.least_common) == ("Prof-specialty", "Armed-Forces")
    assert round(100 * found.most_common_share, 2) == 12.64
    assert round(100 * found.least_common_share, 3) == 0.031
    assert found.largest_l == pytest.approx(48_842 / 6172)


def test_suggestions_for_adult(data_dir: Path) -> None:
    suggested = {c.name: c.suggested_role for c in profile(data_dir / "adult.parquet").columns}
    quasi = {"age", "workclass", "education", "marital-status", "race", "sex", "native-country", "relationship"}
    assert {name for name in quasi if suggested[name] != "quasi"} == set()
    assert suggested["occupation"] == suggested["income"] == "sensitive"
    assert suggested["fnlwgt"] == "weight"


# --- missing values, kinds and sources -------------------------------------------------------------------------------


def test_missing_is_a_class_of_its_own(people: pa.Table) -> None:
    found = profile(people, quasi=["age", "sex"], sensitive="disease")
    assert found.rows == 6
    assert found.quasi is not None
    assert (found.quasi.combinations, found.quasi.unique_people) == (4, 2)
    assert found.columns[0].missing == 1
    assert found.sensitive[0].disclosed_people == 4


def test_nan_is_missing_and_minus_zero_is_zero() -> None:
    frame = pa.table({"x": pa.array([float("nan"), None, 0.0, -0.0, 1.0])})
    (column,) = profile(frame, quasi="x").columns
    assert (column.distinct, column.missing, column.unique_share, column.top_share) == (2, 2, 0.2, 0.4)


def test_dictionaries_with_unused_doubled_and_missing_entries() -> None:
    dictionary = pa.array(["unused", "a", "a", None, "b"])
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array([1, 2, None], pa.int8()), dictionary),
        pa.DictionaryArray.from_arrays(pa.array([3, 4], pa.int8()), dictionary),
    ]
    (column,) = profile(pa.table({"x": pa.chunked_array(chunks)}), quasi="x").columns
    assert (column.distinct, column.missing, column.unique_share, column.top_share) == (2, 2, 0.2, 0.4)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, 2], "integer"),
        ([0.5, None, 2.5], "decimal"),
        (["a", None, "b"], "text"),
        ([dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)], "date"),
        ([dt.datetime(2020, 1, 1), None, dt.datetime(2021, 1, 1)], "date"),
        ([True, None, False], "boolean"),
        ([dt.time(1), None, dt.time(2)], "other"),
    ],
)
def test_kinds(values: list[Any], kind: str) -> None:
    (column,) = profile(pa.table({"x": values}), quasi="x", sensitive=None).columns
    assert (column.kind, column.distinct, column.missing) == (kind, 2, 1)


def test_text_views_keep_their_missing_values() -> None:
    frame = pa.table({"x": pa.array(["a", None, "b", "a"], pa.string_view())})
    (column,) = profile(frame, quasi="x").columns
    assert (column.distinct, column.missing, column.kind) == (2, 1, "text")


def test_a_column_of_nothing() -> None:
    found = profile(pa.table({"age": pa.nulls(3), "sex": ["F", "M", "M"]}), sensitive="age")
    assert found.columns[0].missing == 3
    (sensitive,) = found.sensitive
    assert (sensitive.values, sensitive.most_common, sensitive.largest_l) == (0, None, 1.0)


def test_a_list_column_is_refused_by_name() -> None:
    with pytest.raises(BadValue, match="'visits'"):
        profile(pa.table({"age": [1, 2], "visits": [[1], [2, 3]]}))


def test_every_source_gives_the_same_profile(people: pa.Table, tmp_path: Path) -> None:
    frame = pl.from_arrow(people)
    assert isinstance(frame, pl.DataFrame)
    frame.write_csv(tmp_path / "people.csv")
    frame.write_parquet(tmp_path / "people.parquet")
    wanted = profile(people, quasi=["age", "sex"], sensitive="disease")
    for source in (frame, tmp_path / "people.csv", tmp_path / "people.parquet", str(tmp_path / "people.csv")):
        assert profile(source, quasi=["age", "sex"], sensitive="disease") == wanted
    pandas = pd.DataFrame(people.to_pydict()).astype({"age": "Int64"})
    assert profile(pandas, quasi="age, sex", sensitive="disease") == wanted


def test_a_table_brings_its_roles(people: pa.Table) -> None:
    table = read_table(people, quasi=["age", "sex"], sensitive="disease", missing="category")
    found = profile(table)
    wanted = profile(people, quasi=["age", "sex"], sensitive="disease")
    assert found.quasi == wanted.quasi
    assert found.sensitive == wanted.sensitive
    assert [column.role for column in found.columns] == ["quasi", "quasi", "sensitive"]
    assert found.columns[0].missing == 1
    assert found.notices == table.notices


def test_roles_named_for_a_table_replace_its_own(people: pa.Table) -> None:
    table = read_table(people, quasi=["sex"], sensitive="disease", keep=["age"])
    found = profile(table, quasi=["age"])
    assert found.quasi is not None
    assert found.quasi.columns == ("age",)
    assert [column.role for column in found.columns] == [None, "sensitive", "quasi"]
    assert found.columns[2].missing == 1


def test_dropped_rows_of_a_table_are_told(people: pa.Table) -> None:
    found = profile(read_table(people, quasi=["age", "sex"], sensitive="disease", missing="drop"))
    assert found.rows == 5
    assert any("1 of 6 rows" in notice for notice in found.notices)


# --- roles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("name", "identifier"),
        ("SSN", "identifier"),
        ("e-mail", "identifier"),
        ("PhoneNumber", "identifier"),
        ("patientId", "identifier"),
        ("last_name", "identifier"),
        ("id", "identifier"),
        ("Disease", "sensitive"),
        ("primary diagnosis", "sensitive"),
        ("famincome", "sensitive"),
        ("occupation", "sensitive"),
        ("religion", "sensitive"),
        ("hourly_wage", "sensitive"),
        ("disease_name", "sensitive"),
        ("age", "quasi"),
        ("nativeCountry", "quasi"),
        ("country_name", "quasi"),
        ("date of birth", "quasi"),
        ("zip5", "quasi"),
        ("marital-status", "quasi"),
    ],
)
def test_suggestions_by_name(name: str, role: str) -> None:
    frame = pa.table({name: [f"v{i % 150}" for i in range(450)]})  # counts alone would suggest no role
    (column,) = profile(frame).columns
    assert column.suggested_role == role
    assert column.reason.endswith(".")


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([f"v{i}" for i in range(300)], "identifier"),
        (list(range(300)), "identifier"),
        ([None] * 250 + list(range(50)), "identifier"),
        ([i / 7 for i in range(300)], "none"),
        ([i % 150 for i in range(300)], "none"),
        ([i % 60 for i in range(300)], "quasi"),
        ([7] * 300, "none"),
        ([None] * 300, "none"),
        ([None] * 200 + [7] * 100, "quasi"),
        ([1, 2, 3], "quasi"),
    ],
    ids=["texts", "numbers", "present", "measures", "many", "modest", "same", "nothing", "present-or-not", "tiny"],
)
def test_suggestions_by_counts(values: list[Any], role: str) -> None:
    (column,) = profile(pa.table({"trace": values})).columns  # "race" inside a word is no hint
    assert column.suggested_role == role
    assert column.role is None


def test_suggested_roles_are_used_where_none_are_named(people: pa.Table) -> None:
    found = profile(people)
    assert found.quasi is not None
    assert (found.quasi.columns, found.quasi.suggested) == (("age", "sex"), True)
    assert [(column.name, column.suggested) for column in found.sensitive] == [("disease", True)]
    named = profile(people, quasi="disease", sensitive="sex")
    assert named.quasi is not None
    assert (named.quasi.columns, named.quasi.suggested) == (("disease",), False)
    assert [(column.name, column.suggested) for column in named.sensitive] == [("sex", False)]


def test_no_quasi_identifier_at_all() -> None:
    found = profile(pa.table({"disease": ["flu", "flu", "cold"]}))
    assert found.quasi is None
    assert (found.sensitive[0].smallest_l, found.sensitive[0].disclosed_people) == (None, None)


def test_names_are_checked(people: pa.Table) -> None:
    with pytest.raises(UnknownColumn, match="did you mean 'age'"):
        profile(people, quasi=["aeg"])
    with pytest.raises(UnknownColumn, match="'illness'"):
        profile(people, sensitive="illness")
    with pytest.raises(RoleConflict, match="'sex'"):
        profile(people, quasi=["age", "sex"], sensitive="sex")
    with pytest.raises(RoleConflict, match="twice"):
        profile(people, quasi=["age", "age"])
    for empty in ([], ""):
        with pytest.raises(BadValue, match="quasi= names no column"):
            profile(people, quasi=empty)


@pytest.mark.parametrize("threshold", [1, 0, 2.5, True, "5", None])
def test_bad_thresholds_are_refused(people: pa.Table, threshold: Any) -> None:
    with pytest.raises(BadValue, match="threshold"):
        profile(people, threshold=threshold)


def test_nothing_to_profile() -> None:
    with pytest.raises(EmptyTable):
        profile(pa.table({"age": pa.array([], pa.int64())}))


# --- population ------------------------------------------------------------------------------------------------------


def test_a_population_that_lacks_people_does_not_hide_them(people: pa.Table) -> None:
    population = pa.table({"sex": ["F"] * 4 + ["M"] * 5, "age": [30.0] * 4 + [52.0] * 5, "other": range(9)})
    found = profile(people, quasi=["age", "sex"], population=population).quasi
    assert found is not None
    assert found.uncovered == 2
    assert found.journalist.highest == 1.0
    assert found.journalist.average == pytest.approx((2 / 4 + 1 + 1 + 2 / 5) / 6)
    assert found.journalist.people_at_risk == 4
    assert found.prosecutor.average == pytest.approx(4 / 6)


def test_a_population_smaller_than_a_class_does_not_raise_its_risk(people: pa.Table) -> None:
    found = profile(people, quasi=["sex"], population=pa.table({"sex": ["F", "M", "M", "M", "M"]})).quasi
    assert found is not None
    assert found.uncovered == 3
    assert found.journalist.average == pytest.approx((3 / 3 + 3 / 4) / 6)


def test_a_population_with_other_combinations_of_the_same_values() -> None:
    table = pa.table({"age": [30, 40], "sex": ["M", "F"]})
    population = pa.table({"age": [30, 30, 30], "sex": ["F", "M", "M"]})
    found = profile(table, quasi=["age", "sex"], population=population).quasi
    assert found is not None
    assert (found.uncovered, found.journalist.people_at_risk) == (1, 2)
    assert found.journalist.average == pytest.approx((1 / 2 + 1) / 2)


def test_a_table_and_its_own_file_as_population(people: pa.Table, tmp_path: Path) -> None:
    pl.DataFrame(people).write_csv(tmp_path / "all.csv")
    table = read_table(people, quasi=["sex"], sensitive="disease")
    for population in (tmp_path / "all.csv", people, table):
        found = profile(table, population=population).quasi
        assert found is not None
        assert found.journalist == found.prosecutor
        assert (found.population_rows, found.uncovered) == (6, 0)


def test_populations_that_cannot_be_searched(people: pa.Table) -> None:
    with pytest.raises(UnknownColumn, match="'sex'"):
        profile(people, quasi=["age", "sex"], population=people.select(["age"]))
    with pytest.raises(BadValue, match="not the same thing"):
        profile(people, quasi=["age"], population=pa.table({"age": ["30", "41"]}))
    with pytest.raises(BadValue, match="nobody in the population"):
        profile(people, quasi=["sex"], population=pa.table({"sex": ["female", "male"]}))
    with pytest.raises(BadValue, match="only be searched by quasi-identifiers"):
        profile(people.select(["disease"]), population=people)


# --- what comes out --------------------------------------------------------------------------------------------------


def test_as_dict_is_plain_json_with_stable_keys(people: pa.Table) -> None:
    plain = profile(people, quasi=["age", "sex"], sensitive="disease", population=people).as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert list(plain) == ["rows", "columns", "quasi", "sensitive", "notices", "roles", "command"]
    assert set(plain["roles"][0]) == {"column", "role", "reason", "option"}
    assert set(plain["quasi"]) == {
        "columns",
        "suggested",
        "combinations",
        "unique_people",
        "unique_share",
        "smallest_class",
        "largest_class",
        "sizes",
        "threshold",
        "prosecutor",
        "journalist",
        "marketer",
        "population_rows",
        "uncovered",
        "effects",
    }
    for attacker in ("prosecutor", "journalist"):
        risk = ["highest", "average", "unique", "small", "people_at_risk", "share_at_risk"]
        assert list(plain["quasi"][attacker]) == risk
    assert set(plain["quasi"]["effects"][0]) == {"name", "unique_alone", "unique_without", "effect"}
    assert set(plain["columns"][0]) == {
        "name",
        "kind",
        "distinct",
        "missing",
        "unique_share",
        "top_share",
        "role",
        "suggested_role",
        "reason",
    }
    assert set(plain["sensitive"][0]) == {
        "name",
        "suggested",
        "values",
        "missing",
        "most_common",
        "most_common_share",
        "least_common",
        "least_common_share",
        "largest_l",
        "smallest_l",
        "disclosed_people",
    }
    assert plain["quasi"]["sizes"][0] == {"least": 1, "most": 1, "classes": 2, "people": 2}


def test_the_sample_gets_the_roles_it_was_made_for() -> None:
    found: Profile = profile(sample(2000))
    suggested = {column.name: column.suggested_role for column in found.columns}
    assert found.quasi is not None
    assert found.quasi.columns == SAMPLE_ROLES["quasi"]
    assert suggested["person"] == "identifier"
    assert [column.name for column in found.sensitive] == ["occupation"]
