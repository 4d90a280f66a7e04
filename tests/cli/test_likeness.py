"""The methods of paper 001 on real tables through the command line; skipped where the tables are not at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import oneoff

FEW = "age,workclass,education,sex"


@pytest.fixture
def tables(data_dir: Path) -> dict[str, tuple[object, ...]]:
    census = ("--quasi", "age,gender,education", "--numeric", "age,education", "--categorical", "gender")
    return {
        "adult": (data_dir / "adult.parquet", "--missing", "drop", "--quasi", FEW, "--sensitive", "occupation"),
        "census": (data_dir / "census_sal500k.parquet", *census, "--sensitive", "salary"),
    }


@pytest.mark.parametrize(
    ("table", "method", "guarantee", "most"),
    [
        ("adult", "burel", "beta-likeness:3", 0.18),
        ("adult", "lmondrian", "beta-likeness:3", 0.23),
        ("adult", "dmondrian", "beta-likeness:3", 0.95),
        ("adult", "burel", "two-sided-beta-likeness:4", 0.95),
        ("census", "burel", "beta-likeness:4+k-anonymity:20", 0.12),
        ("census", "sabre", "t-closeness:0.2", 0.25),
        ("census", "tmondrian", "t-closeness:0.2", 0.45),
    ],
)
def test_groups_keep_their_promise_and_lose_little(
    table: str, method: str, guarantee: str, most: float, tables: dict[str, tuple[object, ...]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = (*tables[table], "--rows", 8_000, "--guarantee", guarantee, "--method", method, "--seed", 1)
    found = oneoff("anonymize", *arguments, "--out", out, "--json").json
    assert (found["holds"], found["method"], found["stands_against"]) == (True, method, "reader")
    assert found["gcp"] <= most
    assert oneoff("verify", out / "public").status == 0
    assert oneoff("audit", out).status == 0


@pytest.mark.parametrize("table", ["adult", "census"])
def test_perturbed_values_of_real_people_verify_and_are_all_there(
    table: str, tables: dict[str, tuple[object, ...]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = (*tables[table], "--guarantee", "beta-likeness:4", "--rows", 40_000)
    found = oneoff("anonymize", *arguments, "--method", "perturbation", "--seed", 1, "--out", out, "--json").json
    assert (found["holds"], found["stands_against"], found["gcp"]) == (True, "anyone", 0)
    assert oneoff("verify", out / "public").status == 0
    assert oneoff("query", out, "age >= 0", "--json").json["count"] == found["rows"]
