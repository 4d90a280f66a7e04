"""A generated table about people who do not exist: for the demo, the tests and the benchmarks.

Each row is drawn along a small story: age, gender and race first; country given race; education given age; workclass
given education and age; marital status given age and gender; and at the end the occupation, given education, gender
and workclass. Every share below was made up to look like a census of workers. No row or count comes from real data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, nearest, whole_number
from oneoff.table.arrays import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SAMPLE_ROLES", "sample"]

Shape = Literal["skewed", "uniform", "zipf"]

_QUASI = ("age", "gender", "education", "marital", "race", "workclass", "country")

SAMPLE_ROLES: Mapping[str, Any] = MappingProxyType(
    {"quasi": _QUASI, "sensitive": "occupation", "identifiers": ("person",)}
)
"""The roles of the sample's columns: `read_table(sample(), **SAMPLE_ROLES)`."""

_SHAPES = ("skewed", "uniform", "zipf")
_MOST_VALUES = 1000
_SKEW = 35.0  # how many times the most common occupation outnumbers the rarest: 7.2 % and 0.2 % with fifty values

_AGES = np.arange(16, 94)
_FREQUENT = 0.02
_BANDS = tuple(f"{10 * band}-{10 * band + 10}K" for band in range(8))
_GENDERS = ("Female", "Male")
_FEMALE_SHARE = 0.47

# The number in front keeps the levels in order where text is sorted.
_EDUCATION = {
    "01 No schooling": 0.6,
    "02 Nursery school": 0.1,
    "03 Grades 1 to 4": 0.3,
    "04 Grades 5 and 6": 0.8,
    "05 Grades 7 and 8": 1.4,
    "06 Grade 9": 1.0,
    "07 Grade 10": 1.6,
    "08 Grade 11": 1.8,
    "09 Grade 12, no diploma": 2.2,
    "10 High school diploma": 30.0,
    "11 Less than a year of college": 7.5,
    "12 Some college": 17.0,
    "13 Associate degree": 8.5,
    "14 Bachelor's degree": 17.0,
    "15 Master's degree": 6.0,
    "16 Professional degree": 1.9,
    "17 Doctorate": 1.0,
}
_YOUNGEST = (0, 0, 0, 0, 0, 0, 0, 0, 16, 17, 17, 18, 19, 20, 22, 23, 25)  # age at which a level can be reached

_MARITAL = ("Married", "Spouse absent", "Separated", "Divorced", "Widowed", "Never married")

_RACES = {
    "White": 80.0,
    "Black": 11.0,
    "Native": 0.9,
    "Chinese": 1.0,
    "Japanese": 0.4,
    "Other Asian": 2.4,
    "Other race": 3.6,
    "Two races": 1.4,
    "Three or more races": 0.3,
}

_HOME = "United States"
_REGIONS = {
    "latin": "Mexico,Cuba,El Salvador,Dominican Republic,Guatemala,Colombia,Honduras,Peru,Ecuador,Nicaragua,Brazil,"
    "Argentina,Panama,Chile,Venezuela,Costa Rica,Bolivia,Uruguay",
    "caribbean": "Jamaica,Haiti,Trinidad and Tobago,Guyana,Barbados,Belize",
    "europe": "Germany,United Kingdom,Canada,Italy,Poland,Russia,Ukraine,France,Portugal,Ireland,Greece,Romania,Spain,"
    "Netherlands,Hungary,Australia,Sweden,Czechia,Austria,Lithuania,Switzerland,Bulgaria,Norway,Belgium,Denmark,"
    "New Zealand,Finland",
    "china": "China,Taiwan,Hong Kong",
    "japan": "Japan",
    "asia": "Philippines,India,Vietnam,South Korea,Pakistan,Thailand,Laos,Cambodia,Indonesia,Bangladesh,Malaysia,"
    "Sri Lanka,Nepal",
    "levant": "Iran,Israel,Turkey,Lebanon,Iraq,Syria",
    "africa": "Nigeria,Ethiopia,Egypt,Ghana,Kenya,South Africa,Liberia,Morocco",
}
_COUNTRIES = (_HOME, *(name for names in _REGIONS.values() for name in names.split(",")))
_ORIGINS = {  # percent of each race by region of birth; the rest were born at home
    "White": {"europe": 2.2, "latin": 2.4, "levant": 0.5, "africa": 0.2, "asia": 0.1, "caribbean": 0.05},
    "Black": {"caribbean": 5.0, "africa": 3.0, "latin": 1.0, "europe": 0.4},
    "Native": {"latin": 5.0, "europe": 0.5},
    "Chinese": {"china": 62.0, "asia": 8.0, "latin": 0.6, "europe": 0.5},
    "Japanese": {"japan": 36.0, "latin": 1.5, "asia": 0.5},
    "Other Asian": {"asia": 72.0, "caribbean": 2.0, "africa": 1.0, "europe": 1.0, "levant": 0.5},
    "Other race": {"latin": 42.0, "caribbean": 1.5, "europe": 0.5},
    "Two races": {"latin": 10.0, "europe": 4.0, "asia": 4.0, "levant": 3.0, "caribbean": 2.0, "africa": 1.0},
    "Three or more races": {"asia": 5.0, "latin": 5.0, "caribbean": 2.0, "europe": 1.0},
}

_WORKCLASS = {
    "Private company": 78.0,
    "Nonprofit": 5.0,
    "Local government": 7.0,
    "State government": 5.0,
    "Federal government": 3.0,
    "Self-employed": 6.5,
    "Own incorporated business": 3.0,
    "Family business, unpaid": 0.3,
    "Armed forces": 0.5,
}
_SECTORS = {  # how much likelier an occupation is in some workclasses than in the others
    "any": {},
    "trade": {"Self-employed": 3.0, "Own incorporated business": 2.0},
    "public": {"Local government": 9.0, "State government": 8.0, "Federal government": 6.0, "Nonprofit": 2.0},
    "care": {"Nonprofit": 6.0, "Local government": 2.0, "State government": 2.0},
    "owner": {"Own incorporated business": 7.0, "Self-employed": 4.0, "Family business, unpaid": 2.0},
    "land": {"Self-employed": 12.0, "Family business, unpaid": 40.0, "Own incorporated business": 3.0},
    "uniform": {"Armed forces": 400.0, "Federal government": 6.0},
    "firm": {"Local government": 0.2, "State government": 0.2, "Federal government": 0.3, "Nonprofit": 0.4},
}

# Fifty occupations from common to rare: name, usual education level (1..17), lean to women (+) or men (-), sector.
_JOBS = (
    ("Office clerk", 11, 1.2, "any"),
    ("Shop assistant", 10, 0.3, "firm"),
    ("Manager", 14, -0.3, "owner"),
    ("School teacher", 15, 1.0, "public"),
    ("Truck driver", 9, -1.8, "firm"),
    ("Nurse", 13, 1.8, "care"),
    ("Production worker", 9, -0.3, "firm"),
    ("Cook", 9, 0.0, "firm"),
    ("Sales representative", 13, -0.4, "firm"),
    ("Cleaner", 8, 0.3, "any"),
    ("Construction labourer", 8, -2.2, "trade"),
    ("Accountant", 14, 0.4, "trade"),
    ("Cashier", 10, 0.9, "firm"),
    ("Warehouse worker", 9, -1.0, "firm"),
    ("Secretary", 12, 2.2, "any"),
    ("Software developer", 14, -1.0, "firm"),
    ("Waiter", 10, 0.7, "firm"),
    ("Car mechanic", 10, -2.2, "trade"),
    ("Care assistant", 10, 1.7, "care"),
    ("Engineer", 15, -1.3, "any"),
    ("Carpenter", 9, -2.2, "trade"),
    ("Childcare worker", 11, 2.2, "care"),
    ("Machine operator", 9, -0.8, "firm"),
    ("Bookkeeper", 12, 1.5, "trade"),
    ("Security guard", 11, -0.8, "any"),
    ("Electrician", 11, -2.2, "trade"),
    ("Hairdresser", 11, 1.5, "trade"),
    ("Gardener", 8, -1.4, "trade"),
    ("Social worker", 14, 1.1, "care"),
    ("Insurance agent", 13, 0.2, "owner"),
    ("Farmer", 9, -1.0, "land"),
    ("Lawyer", 16, -0.5, "owner"),
    ("Police officer", 13, -1.3, "public"),
    ("Estate agent", 13, 0.3, "owner"),
    ("Physician", 16, -0.5, "care"),
    ("Welder", 9, -2.2, "firm"),
    ("Laboratory technician", 14, 0.3, "any"),
    ("Designer", 14, 0.3, "trade"),
    ("Plumber", 10, -2.3, "trade"),
    ("Postal worker", 11, -0.3, "public"),
    ("Bank teller", 12, 1.5, "firm"),
    ("University lecturer", 17, -0.1, "public"),
    ("Soldier", 12, -1.4, "uniform"),
    ("Firefighter", 12, -2.2, "public"),
    ("Journalist", 14, 0.1, "any"),
    ("Pharmacist", 16, 0.2, "firm"),
    ("Dentist", 16, -0.7, "owner"),
    ("Librarian", 15, 1.4, "public"),
    ("Pilot", 14, -1.9, "firm"),
    ("Musician", 13, -0.4, "trade"),
)


def sample(
    rows: int = 10_000,
    *,
    seed: int = 0,
    sensitive: Shape = "skewed",
    values: int = 50,
    theta: float = 1.0,
    person: bool = True,
    rows_per_person: float = 1.0,
    income: bool = False,
    weights: bool = False,
) -> pa.Table:
    """Generate a census-like table of `rows` people with seven quasi-identifiers and a sensitive occupation.

    sensitive  "skewed": occupations from 7 % down to 0.2 % that go with education, gender and workclass;
               "uniform": every occupation equally likely; "zipf": the r-th with a share proportional to 1 / r^theta.
               The last two are drawn independently of everything else.
    values     how many occupations there are (a small table need not show them all)
    person     whether to add the identifier column `person`, a unique text
    rows_per_person   how many rows a person has on average, most of them one and some very many; then `person` repeats,
               with the same quasi-identifiers and often, not always, the same occupation
    income     whether to add a second sensitive column, in eight bands that go with education and age
    weights    whether to add `weight`, as of a survey that asked more of some people than of others: it goes with age,
               gender, education and race, and a little with nothing

    The same arguments give the same table, and the quasi-identifiers depend on `rows` and `seed` alone.
    """
    _check(rows, seed, sensitive, values, theta, rows_per_person)
    rng = np.random.Generator(np.random.PCG64(seed))  # noqa: TID251 - nobody of these exists
    people = _people(rng, rows)
    if sensitive == "skewed":
        job = _fitting_jobs(rng, people, values)
    else:
        job = _draw(rng, _independent_shares(sensitive, values, theta), rows)
    owner = np.arange(rows)
    if rows_per_person > 1:
        owner = _owners(rng, rows, rows_per_person)
        people, job = _shared(rng, people, job, owner)
    bands = _incomes(rng, people) if income else None
    weight = _survey_weights(rng, people) if weights else None
    return _as_arrow(people, job, _job_names(values), owner if person else None, bands, weight)


def _check(
    rows: object, seed: object, sensitive: object, values: object, theta: object, rows_per_person: object
) -> None:
    whole_number(rows, "rows", least=1)
    whole_number(seed, "seed", least=0)
    whole_number(values, "values", least=1, most=_MOST_VALUES)
    if sensitive not in _SHAPES:
        hint = nearest(str(sensitive), _SHAPES)
        allowed = ", ".join(_SHAPES)
        raise BadValue("the sample has no such sensitive column", allowed=allowed, got=repr(sensitive), hint=hint)
    for name, given, least in (("theta", theta, 0), ("rows_per_person", rows_per_person, 1)):
        number = isinstance(given, int | float | np.number) and not isinstance(given, bool)
        if not number or not least <= float(given) < math.inf:  # type: ignore[arg-type]
            raise BadValue(f"{name} cannot be used", allowed=f"a number of at least {least}", got=repr(given))


# ---------------------------------------------------------------------------------------------------------- drawing


def _draw(rng: np.random.Generator, weights: Floats, rows: int) -> Ints:
    """`rows` independent codes with shares proportional to `weights`."""
    return _draw_given(rng, weights[None, :], np.zeros(rows, dtype=np.int64))


def _draw_given(rng: np.random.Generator, weights: Floats, given: Ints) -> Ints:
    """A code for every row, with shares proportional to `weights[given[row]]`.

    The cumulative shares of all contexts are laid end to end, context c between c and c + 1, so that one binary
    search serves every row.
    """
    contexts, size = weights.shape
    ladder = np.cumsum(weights, axis=1)
    ladder = ladder / ladder[:, -1:] + np.arange(contexts)[:, None]
    found = np.searchsorted(ladder.ravel(), given + rng.random(len(given)), side="right")
    return np.asarray(np.minimum(found - given * size, size - 1))  # a draw next to 1 may round up into the next context


def _people(rng: np.random.Generator, rows: int) -> dict[str, Ints]:
    """The codes of the quasi-identifiers, in the order in which they depend on each other."""
    age = _draw(rng, _age_weights(), rows)
    gender = _draw(rng, np.array([_FEMALE_SHARE, 1 - _FEMALE_SHARE]), rows)
    race = _draw(rng, _shares(_RACES), rows)
    country = _draw_given(rng, _country_weights(), race)
    education = _draw_given(rng, _education_weights(), age)
    marital = _draw_given(rng, _marital_weights(), age * len(_GENDERS) + gender)
    workclass = _draw_given(rng, _workclass_weights(), education * len(_AGES) + age)
    return {
        "age": age,
        "gender": gender,
        "education": education,
        "marital": marital,
        "race": race,
        "workclass": workclass,
        "country": country,
    }


def _fitting_jobs(rng: np.random.Generator, people: Mapping[str, Ints], values: int) -> Ints:
    """Occupations that go with education, gender and workclass, and still have the wanted shares overall."""
    sizes = (len(_EDUCATION), len(_GENDERS), len(_WORKCLASS))
    context = np.ravel_multi_index((people["education"], people["gender"], people["workclass"]), sizes)
    occurring, given = np.unique(context, return_inverse=True)
    education, gender, workclass = np.unravel_index(occurring, sizes)
    weights = _job_weights(education, gender, workclass, values)
    weights = _with_margin(weights, np.bincount(given) / len(given), _skewed_shares(values))
    return _draw_given(rng, weights, given)


def _with_margin(weights: Floats, context_shares: Floats, target: Floats) -> Floats:
    """Scale the columns until a person of random context has value v with probability target[v] (by fitting)."""
    scaled = weights * target
    for _ in range(50):
        scaled = scaled / scaled.sum(axis=1, keepdims=True)
        scaled *= target / (context_shares @ scaled)
    return scaled


# --------------------------------------------------------------------------------------------------- made-up shares


def _shares(weights: Mapping[str, float]) -> Floats:
    return np.array(list(weights.values()))


def _rise(x: npt.NDArray[Any], middle: float | npt.NDArray[Any], width: float) -> Floats:
    """From 0 to 1 around `middle`."""
    return np.asarray(1 / (1 + np.exp(-(x - middle) / width)))


def _age_weights() -> Floats:
    """Workers: few below twenty, a plateau to fifty, a long thin tail."""
    return _rise(_AGES, 19.5, 2.0) * (1.0 - _rise(_AGES, 58.5, 5.0)) + 0.12 * np.exp(-(((_AGES - 60) / 14) ** 2))


def _education_weights() -> Floats:
    """[age, level]: nobody holds a degree too young, pupils are still in school, older cohorts left it earlier."""
    level = np.arange(len(_EDUCATION))
    reached = np.clip((_AGES[:, None] - np.array(_YOUNGEST)) / 4, 0, 1)
    older = np.clip(_AGES[:, None] - 45, 0, 40) / 40
    in_school = np.where((level >= 6) & (level <= 8), 12 * (_AGES[:, None] < 19), 0) + 1
    return np.asarray(_shares(_EDUCATION) * reached * np.exp(-0.22 * older * (level - 9)) * in_school)


def _marital_weights() -> Floats:
    """[age and gender, status]"""
    age, female = (x.ravel() for x in np.meshgrid(_AGES, [1.0, 0.0], indexing="ij"))
    married = 0.72 * _rise(age, 27 - 1.5 * female, 3.5)
    once = _rise(age, 33, 4.5)
    widowed = (0.25 + 0.6 * female) * np.exp((age - 78) / 9)
    single = 0.07 + 1.2 * (1 - _rise(age, 25, 4.0))
    return np.column_stack([married, 0.02 + 0 * age, 0.03 * once, (0.13 + 0.05 * female) * once, widowed, single])


def _country_weights() -> Floats:
    """[race, country]: within a region the countries follow in order of size."""
    weights = np.zeros((len(_RACES), len(_COUNTRIES)))
    for r, race in enumerate(_RACES):
        origins = _ORIGINS[race]
        shares = [_region_shares(names.split(",")) * origins.get(region, 0.0) for region, names in _REGIONS.items()]
        weights[r] = np.concatenate([[100.0 - sum(origins.values())], *shares])
    return weights


def _region_shares(names: Sequence[str]) -> Floats:
    falling = 1 / np.arange(1, len(names) + 1) ** 1.4
    return np.asarray(falling / falling.sum())


def _workclass_weights() -> Floats:
    """[education and age, workclass]"""
    level, age = (x.ravel() for x in np.meshgrid(np.arange(len(_EDUCATION)) - 9, _AGES, indexing="ij"))
    schooled = np.exp(0.18 * level)
    tilt = {
        "Nonprofit": schooled,
        "Local government": schooled,
        "State government": schooled,
        "Federal government": np.exp(0.10 * level) * _rise(age, 24, 3.0),
        "Self-employed": np.exp((age - 42) / 28),
        "Own incorporated business": np.exp(0.10 * level + (age - 42) / 28) * _rise(age, 26, 3.0),
        "Family business, unpaid": np.exp(np.abs(age - 45) / 18),
        "Armed forces": 2.5 * (1 - _rise(age, 34, 4.0)) * (level >= 0),
    }
    plain = np.ones(len(age))
    return np.column_stack([share * tilt.get(name, plain) for name, share in _WORKCLASS.items()])


def _skewed_shares(values: int) -> Floats:
    """A geometric fall from the most common to the rarest: close to what occupation codes look like in a census."""
    falling = _SKEW ** (-np.arange(values) / max(values - 1, 1))
    return np.asarray(falling / falling.sum())


def _independent_shares(sensitive: Shape, values: int, theta: float) -> Floats:
    exponent = float(theta) if sensitive == "zipf" else 0.0
    return np.asarray(np.arange(1, values + 1, dtype=np.float64) ** -exponent)


def _job_weights(education: Ints, gender: Ints, workclass: Ints, values: int) -> Floats:
    """[context, occupation]: how well each occupation goes with each context; jobs past the fiftieth repeat."""
    jobs = [_JOBS[v % len(_JOBS)] for v in range(values)]
    usual = np.array([job[1] - 1 for job in jobs])
    lean = np.array([job[2] for job in jobs])
    sector = np.array([[_SECTORS[job[3]].get(name, 1.0) for name in _WORKCLASS] for job in jobs])
    schooling = np.exp(-(((education[:, None] - usual) / 2.2) ** 2))
    # the small constant leaves every occupation possible for everyone: life is like that, and fitting needs it
    return np.asarray(
        (schooling + 0.002) * np.exp(lean * np.where(gender == 0, 0.6, -0.6)[:, None]) * sector.T[workclass]
    )


def _job_names(values: int) -> tuple[str, ...]:
    named = tuple(job[0] for job in _JOBS)[:values]
    return named + tuple(f"Occupation {v + 1}" for v in range(len(named), values))


def _owners(rng: np.random.Generator, rows: int, mean: float) -> Ints:
    """Whose every row is: one more row again and again with the same chance, and for one in fifty many more."""
    many = rng.geometric(1 / mean, rows)
    many = np.where(rng.random(rows) < _FREQUENT, many * 8, many)
    last = int(np.searchsorted(np.cumsum(many), rows))
    return np.repeat(np.arange(last + 1), many[: last + 1])[:rows]


def _shared(
    rng: np.random.Generator, people: Mapping[str, Ints], job: Ints, owner: Ints
) -> tuple[dict[str, Ints], Ints]:
    """All rows of a person look like the first; half of them have its occupation, too."""
    first = np.flatnonzero(np.diff(owner, prepend=-1))[owner]
    return {name: codes[first] for name, codes in people.items()}, np.where(rng.random(len(job)) < 0.5, job[first], job)


def _incomes(rng: np.random.Generator, people: Mapping[str, Ints]) -> Ints:
    """A band that rises with education and, up to fifty, with age."""
    age = _AGES[people["age"]]
    usual = 0.25 * people["education"] + 0.06 * (np.minimum(age, 50) - 30)
    return np.clip(np.rint(usual + rng.normal(0, 1.2, len(age))), 0, len(_BANDS) - 1).astype(np.int64)


def _survey_weights(rng: np.random.Generator, people: Mapping[str, Ints]) -> Floats:
    """Minorities and the old were asked more often, young men and people with little schooling answered less often."""
    age, minority = _AGES[people["age"]], people["race"] > 0
    usual = 900 - 450 * minority - 300 * _rise(age, 65, 3.0) + 500 * (1 - _rise(age, 28, 3.0)) * people["gender"]
    usual = (usual + 150) * np.where(people["education"] < 9, 1.5, 1.0)
    return np.round(usual * np.exp(rng.normal(-0.02, 0.2, len(age))), 1)


# ---------------------------------------------------------------------------------------------------------- writing


def _as_arrow(
    people: Mapping[str, Ints],
    job: Ints,
    jobs: Sequence[str],
    owner: Ints | None,
    bands: Ints | None,
    weight: Floats | None,
) -> pa.Table:
    import pyarrow as pa

    labels = {
        "gender": _GENDERS,
        "education": _EDUCATION,
        "marital": _MARITAL,
        "race": _RACES,
        "workclass": _WORKCLASS,
        "country": _COUNTRIES,
    }
    columns = {} if owner is None else {"person": _person_numbers(owner)}
    columns["age"] = pa.array(_AGES[people["age"]], type=pa.int64())
    columns |= {name: _texts(people[name], list(texts)) for name, texts in labels.items()}
    columns["occupation"] = _texts(job, jobs)
    if bands is not None:
        columns["income"] = _texts(bands, _BANDS)
    if weight is not None:
        columns["weight"] = pa.array(weight)
    return pa.table(columns)


def _texts(codes: Ints, labels: Sequence[str]) -> pa.DictionaryArray:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(labels, type=pa.string()))


def _person_numbers(owner: Ints) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = pc.cast(pa.array(owner + 1), pa.string())
    padded = pc.utf8_lpad(digits, max(6, len(str(len(owner)))), "0")
    return pc.binary_join_element_wise("P", padded, "")
