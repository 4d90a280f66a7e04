"""Roles that are proposed, and the command line that is printed: it runs, and its promise holds."""

from __future__ import annotations

import datetime as dt
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import oneoff
from tests.command_line import oneoff as run

WORDS = ["pain", "left", "knee", "since", "march", "after", "fall", "stairs", "house", "doctor", "sees", "nothing"]


def visits(rows: int = 400, seed: int = 1) -> pl.DataFrame:
    """Visits to a hospital: people with several rows, dates, free text, an order, codes and a weight."""
    rng = np.random.default_rng(seed)
    day = dt.date(2019, 1, 1)
    zips = rng.integers(10_000, 99_999, 300)
    return pl.DataFrame(
        {
            "patient_nbr": rng.integers(1, rows // 2, rows),
            "encounter_id": np.arange(rows) + 10_000,
            "first_name": rng.choice(["Ann", "Bea", "Cem"], rows),
            "birth_date": [dt.date(1940, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 20_000, rows)],
            "admitted": [(day + dt.timedelta(int(d))).strftime("%d.%m.%Y") for d in rng.integers(0, 500, rows)],
            "sex": rng.choice(["F", "M"], rows),
            "zip": [str(z) for z in np.resize(zips, rows)],
            "age_group": rng.choice(["18-24", "25-39", "40-64", "65+"], rows),
            "health": rng.choice(["poor", "fair", "good"], rows),
            "notes": [" ".join(rng.permutation(WORDS)[:8]) for _ in range(rows)],
            "diagnosis": rng.choice(["flu", "cold", "asthma", "HIV"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "wage": rng.normal(2000, 500, rows).round(2),
            "samplingWeight": rng.uniform(0.5, 900, rows).round(3),
            "code": ["x"] * rows,
        }
    )


def proposed(frame: Any, **given: Any) -> dict[str, Any]:
    return {each.column: each for each in oneoff.profile(frame, **given).roles}


def test_every_column_of_a_hospital_gets_a_role_and_a_reason() -> None:
    roles = proposed(visits())
    assert {name: each.role for name, each in roles.items()} == {
        "patient_nbr": "person", "encounter_id": "identifier", "first_name": "identifier", "birth_date": "quasi",
        "admitted": "quasi", "sex": "quasi", "zip": "quasi", "age_group": "quasi", "health": "quasi",
        "notes": "identifier", "diagnosis": "sensitive", "wage": "none", "samplingWeight": "weight", "code": "none",
    }  # fmt: skip
    assert all(each.reason.endswith(".") for each in roles.values())
    options = {name: each.option for name, each in roles.items() if each.option}
    assert options == {
        "birth_date": ("--dates", "birth_date=year"),
        "admitted": ("--dates", "admitted=month"),
        "zip": ("--prefix", "zip"),
        "age_group": ("--ordered", "age_group=18-24,25-39,40-64,65+"),
        "health": ("--ordered", "health=poor,fair,good"),
    }
    assert "free text" in roles["notes"].reason
    assert "several rows" in roles["patient_nbr"].reason


def test_the_command_says_all_of_it() -> None:
    said = shlex.split(oneoff.profile(visits()).command("my people.csv", ["--rows", "100"]))
    assert said[:3] == ["oneoff", "anonymize", "my people.csv"]
    named = dict(zip(said[3::2], said[4::2], strict=False))
    assert named["--quasi"] == "birth_date,admitted,sex,zip,age_group,health"
    assert (named["--sensitive"], named["--person"], named["--weight"]) == (
        "diagnosis",
        "patient_nbr",
        "samplingWeight",
    )
    assert named["--identifiers"] == "encounter_id,first_name,notes"
    assert named["--guarantee"] == "k-anonymity:5+beta-likeness:3"
    assert (named["--rows"], named["--out"]) == ("100", "out")


def test_roles_that_were_named_stay_and_no_others_join_them() -> None:
    roles = proposed(visits(), quasi="sex,wage", sensitive="health")
    assert {name for name, each in roles.items() if each.role == "quasi"} == {"sex", "wage"}
    assert [name for name, each in roles.items() if each.role == "sensitive"] == ["health"]
    assert roles["health"].option == ("--ordered", "health=poor,fair,good")


def test_a_number_with_many_values_is_protected_in_ranges() -> None:
    frame = visits().select("sex", "age_group", "wage")
    assert proposed(frame)["wage"].option == ("--bins", "10")


def test_a_code_beside_its_label_is_not_taken_twice() -> None:
    frame = pl.DataFrame({"region": ["a", "b", "c"] * 20, "region_code": [1, 2, 3] * 20, "state": [1, 2, 3, 3] * 15})
    roles = proposed(frame)
    assert [roles[name].role for name in frame.columns] == ["quasi", "none", "quasi"]
    assert "same" in roles["region_code"].reason


def test_a_repeating_name_is_nobodys_number() -> None:
    frame = pl.DataFrame({"surname": ["x", "y", "z"] * 40, "age": list(range(60)) * 2, "disease": ["a", "b"] * 60})
    assert proposed(frame)["surname"].role == "identifier"
    assert "--rows-are-people" in oneoff.profile(frame).arguments
    assert proposed(frame.with_columns(pid=pl.Series([1, 2] * 60)))["pid"].role == "person"


@pytest.mark.parametrize("frame", [{"age": [1, 2, 3]}, {"x": ["same"] * 40}], ids=["few people", "no quasi"])
def test_nothing_is_proposed_where_nothing_can_be(frame: dict[str, Any]) -> None:
    found = oneoff.profile(pl.DataFrame(frame))
    assert found.command() == found.as_dict()["command"] == ""


def test_names_that_no_command_line_can_have_are_left_out() -> None:
    frame = pl.DataFrame({"age, years": list(range(40)), "sex": ["F", "M"] * 20})
    roles = proposed(frame)
    assert (roles["age, years"].role, roles["sex"].role) == ("none", "quasi")


# --- the command that is printed runs --------------------------------------------------------------------------------


def carried_out(source: Path, folder: Path, *more: str) -> dict[str, Any]:
    """Profile a file, run the command as it is printed, and return what it says."""
    told = run("profile", source, "--json", *more).json
    said = shlex.split(told["command"])
    assert said[:3] == ["oneoff", "anonymize", str(source)]
    said[said.index("--out") + 1] = str(folder)
    done = run(*said[1:], "--json")
    assert done.status == 0, done.err
    found: dict[str, Any] = done.json
    return found


def with_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("sex", "diagnosis", "birth_date")
    )


FRAMES = {
    "visits": visits,
    "with gaps": lambda: with_gaps(visits()),
    "one sensitive number": lambda: visits().select("sex", "age_group", "wage"),
    "no sensitive column": lambda: visits().select("sex", "age_group", "birth_date", "first_name"),
    "small": lambda: visits(40).drop("patient_nbr"),
    "sample": lambda: pl.from_arrow(oneoff.sample(600, seed=2)),
    "sample with people of several rows": lambda: pl.from_arrow(oneoff.sample(900, seed=2, rows_per_person=3)),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_runs_and_its_promise_holds(name: str, suffix: str, tmp_path: Path) -> None:
    frame, source = FRAMES[name](), tmp_path / f"people of {suffix}.{suffix}"
    frame.write_csv(source) if suffix == "csv" else frame.write_parquet(source)
    found = carried_out(source, tmp_path / "out")
    assert found["holds"]
    assert run("verify", tmp_path / "out" / "public").status == 0


TABLES = (
    "adult", "atus_respondents", "census_occ100k", "census_sal500k", "coil2000", "covid_mexico_2020",
    "kdd_census_income_test",
)  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_the_command_runs_on_real_tables(name: str, data_dir: Path, tmp_path: Path) -> None:
    assert carried_out(data_dir / f"{name}.parquet", tmp_path / "out", "--rows", "2000")["holds"]


def test_the_page_names_the_file_and_how_it_is_read(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    visits().select("sex", "age_group", "diagnosis").write_csv(source, separator=";")
    page = run("profile", source, "--delimiter", ";").out
    last = page.strip().splitlines()[-1].strip()
    assert last.startswith(f"oneoff anonymize {source} --quasi sex,age_group --sensitive diagnosis")
    assert "--delimiter ';'" in last
    assert "What to run next" in page


def test_a_column_of_a_kind_with_private_ones_is_private() -> None:
    """An abbreviation says nothing, but its values are those of DIABETES and COPD; two values are no kind."""
    answers, ages = ["yes", "no", "unknown", "no", "no"] * 12, [*range(20, 80)]
    frame = pl.DataFrame({"AGE": ages, "DIABETES": answers, "COPD": answers[::-1], "INMSUPR": answers,
                          "PANEL": ["yes", "no"] * 30, "UNIT": ["a", "b", "c"] * 20})  # fmt: skip
    roles = {each.column: each for each in oneoff.profile(frame).roles}
    assert "same values as DIABETES and COPD" in oneoff.profile(frame).columns[3].reason
    assert roles["INMSUPR"].role == "none"
    assert roles["PANEL"].role == roles["UNIT"].role == "quasi"
