"""The generated sample: the domains, the shares and the correlations it promises, and repeatability."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import BadValue
from oneoff.table.read import read_table
from oneoff.table.sample import SAMPLE_ROLES, sample

QUASI = ["age", "gender", "education", "marital", "race", "workclass", "country"]


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return sample(100_000, seed=1)


def shares(table: pa.Table, column: str = "occupation") -> dict[str, float]:
    counted = table[column].combine_chunks().value_counts().to_pylist()
    return {entry["values"]: entry["counts"] / table.num_rows for entry in counted}


def texts(table: pa.Table, column: str) -> npt.NDArray[np.str_]:
    return np.array(table[column].to_pylist())


def test_columns_and_roles(people: pa.Table) -> None:
    assert people.column_names == ["person", *QUASI, "occupation"]
    assert dict(SAMPLE_ROLES) == {"quasi": tuple(QUASI), "sensitive": "occupation", "identifiers": ("person",)}
    assert all(people[name].null_count == 0 for name in people.column_names)


def test_the_sizes_of_the_domains(people: pa.Table) -> None:
    sizes = {name: len(shares(people, name)) for name in [*QUASI[1:], "occupation"]}
    assert sizes == {
        "gender": 2,
        "education": 17,
        "marital": 6,
        "race": 9,
        "workclass": 9,
        "country": 83,
        "occupation": 50,
    }
    ages = people["age"].to_numpy()
    assert ages.min() == 16
    assert ages.max() == 93


def test_education_sorts_in_order_of_level(people: pa.Table) -> None:
    levels = people["education"].combine_chunks().dictionary.to_pylist()
    assert levels == sorted(levels)


def test_every_person_has_an_own_number(people: pa.Table) -> None:
    assert len(set(people["person"].to_pylist())) == people.num_rows
    assert len({len(text) for text in people["person"].to_pylist()}) == 1


def test_skewed_occupations_have_the_promised_shares(people: pa.Table) -> None:
    found = sorted(shares(people).values())
    assert found[-1] == pytest.approx(0.072, abs=0.004)
    assert found[0] == pytest.approx(0.002, abs=0.0006)


def test_as_many_people_are_unique_as_in_a_census(people: pa.Table) -> None:
    codes = [people["age"].to_numpy(), *(people[name].combine_chunks().indices.to_numpy() for name in QUASI[1:])]
    _, counts = np.unique(np.column_stack(codes), axis=0, return_counts=True)
    assert 25_000 < len(counts) < 40_000
    assert 15_000 < (counts == 1).sum() < 30_000


def test_country_is_skewed_and_goes_with_race(people: pa.Table) -> None:
    assert 0.85 < shares(people, "country")["United States"] < 0.95
    born_there = texts(people, "country") == "China"
    chinese = texts(people, "race") == "Chinese"
    assert born_there[chinese].mean() > 0.2 > 20 * born_there[~chinese].mean()


def test_marital_status_goes_with_age(people: pa.Table) -> None:
    ages, marital = people["age"].to_numpy(), texts(people, "marital")
    assert (marital[ages < 20] == "Never married").mean() > 0.8
    assert (marital[(ages > 40) & (ages < 60)] == "Married").mean() > 0.6
    assert (marital[ages > 80] == "Widowed").mean() > 0.3


def test_education_goes_with_age_and_workclass(people: pa.Table) -> None:
    level = np.array([int(text[:2]) for text in people["education"].to_pylist()])
    ages, workclass = people["age"].to_numpy(), texts(people, "workclass")
    assert level[ages < 20].max() < 14
    assert level[ages > 75].mean() < level[(ages > 30) & (ages < 45)].mean() - 0.5
    assert level[workclass == "State government"].mean() > level[workclass == "Private company"].mean() + 0.5


def test_occupation_goes_with_education_gender_and_workclass(people: pa.Table) -> None:
    level = np.array([int(text[:2]) for text in people["education"].to_pylist()])
    job, workclass = texts(people, "occupation"), texts(people, "workclass")
    female = texts(people, "gender") == "Female"
    assert level[job == "Physician"].mean() > level[job == "Cleaner"].mean() + 4
    assert female[job == "Nurse"].mean() > 0.7
    assert female[job == "Electrician"].mean() < 0.2
    assert (job[workclass == "Armed forces"] == "Soldier").mean() > 20 * (job == "Soldier").mean()


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0, 2.0])
def test_zipf_shares(theta: float) -> None:
    found = sorted(shares(sample(100_000, sensitive="zipf", values=8, theta=theta)).values(), reverse=True)
    wanted = np.arange(1, 9) ** -theta
    np.testing.assert_allclose(found, wanted / wanted.sum(), atol=0.008)


def test_uniform_ignores_theta_and_everything_else() -> None:
    table = sample(100_000, sensitive="uniform", values=10, theta=3.0)
    np.testing.assert_allclose(list(shares(table).values()), 0.1, atol=0.005)
    assert table == sample(100_000, sensitive="uniform", values=10)
    women = texts(table, "occupation")[texts(table, "gender") == "Female"]
    _, counts = np.unique(women, return_counts=True)
    np.testing.assert_allclose(counts / len(women), 0.1, atol=0.008)


@pytest.mark.parametrize("values", [1, 2, 7, 50, 51, 120])
@pytest.mark.parametrize("shape", ["skewed", "uniform", "zipf"])
def test_any_number_of_values(shape: str, values: int) -> None:
    found = shares(sample(60_000, seed=3, sensitive=shape, values=values, theta=0.3))  # type: ignore[arg-type]
    assert len(found) == values
    if shape == "skewed" and values > 1:
        assert max(found.values()) / min(found.values()) == pytest.approx(35, rel=0.6)


@given(rows=st.integers(1, 60), seed=st.integers(0, 2**70), shape=st.sampled_from(["skewed", "uniform", "zipf"]))
def test_every_row_count_works_and_repeats(rows: int, seed: int, shape: str) -> None:
    table = sample(rows, seed=seed, sensitive=shape)  # type: ignore[arg-type]
    assert table.num_rows == rows
    assert table == sample(rows, seed=seed, sensitive=shape)  # type: ignore[arg-type]


def test_seeds_differ_and_only_the_sensitive_column_depends_on_its_shape() -> None:
    assert sample(100, seed=1).drop_columns("person") != sample(100, seed=2).drop_columns("person")
    skewed, uniform = sample(1000, seed=4), sample(1000, seed=4, sensitive="uniform")
    assert skewed.select(QUASI) == uniform.select(QUASI)
    assert skewed["occupation"] != uniform["occupation"]


def test_without_the_identifier_the_rest_is_the_same() -> None:
    assert sample(50, person=False) == sample(50).drop_columns("person")


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0},
        {"rows": -5},
        {"rows": 2.0},
        {"rows": True},
        {"rows": "10"},
        {"seed": -1},
        {"seed": None},
        {"values": 0},
        {"values": 1001},
        {"theta": -0.1},
        {"theta": math.nan},
        {"theta": math.inf},
        {"theta": "1"},
        {"theta": True},
        {"sensitive": "skewd"},
        {"sensitive": None},
    ],
    ids=str,
)
def test_bad_arguments_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadValue) as caught:
        sample(**wrong)  # type: ignore[arg-type]
    assert caught.value.allowed
    assert caught.value.got == repr(next(iter(wrong.values())))


def test_a_misspelt_shape_gets_a_hint() -> None:
    with pytest.raises(BadValue, match="did you mean 'skewed'"):
        sample(10, sensitive="skewd")  # type: ignore[arg-type]


def test_numpy_whole_numbers_are_whole_numbers() -> None:
    assert sample(np.int64(20), seed=np.int32(5)) == sample(20, seed=5)  # type: ignore[arg-type]


def test_the_roles_fit_the_reader() -> None:
    table = read_table(sample(500), **SAMPLE_ROLES)
    assert table.rows == 500
    assert [attribute.name for attribute in table.quasi] == QUASI
    assert table.sensitive is not None
    assert table.sensitive.name == "occupation"
