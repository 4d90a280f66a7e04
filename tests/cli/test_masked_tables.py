"""Mutual cover on real tables through the command line: from the file to what a recipient sees and an auditor finds."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from tests.cli.test_commands import SUMMARY, VERDICT
from tests.cli.test_groups import options
from tests.command_line import Answer, oneoff

QUASI = {
    "adult": "sex,age,relationship,marital-status,race,education,hours-per-week",
    "kdd_census_income_test": "sex,age,marital stat,race,education,weeks worked in year",
    "atus_respondents": "sex,age,edu,race,marital,hh_size,work_hrs_week",
}
SENSITIVE = {
    "adult": "fnlwgt",
    "kdd_census_income_test": "detailed occupation recode",
    "atus_respondents": "weekly_earn",
}
PROMISE = {
    "adult": "delta-probability:1/6+l-diversity:10",
    "kdd_census_income_test": "delta-probability:0.2+beta-likeness:6",
    "atus_respondents": "delta-probability:0.1+l-diversity:12",
}
ROWS = {"adult": 6000, "kdd_census_income_test": 1500, "atus_respondents": 6000}


def publish(name: str, folder: Path, out: Path, *more: object) -> Answer:
    return oneoff(
        "anonymize", folder / f"{name}.parquet", "--rows", ROWS[name], "--missing", "drop", "--quasi", QUASI[name],
        "--sensitive", SENSITIVE[name], "--guarantee", PROMISE[name], "--method", "mutual-cover", "--seed", 1,
        "--out", out, *more, "--json",
    )  # fmt: skip


def original(name: str, folder: Path) -> pl.DataFrame:
    raw = pl.read_parquet(folder / f"{name}.parquet").head(ROWS[name])
    raw = raw.select([*QUASI[name].split(","), SENSITIVE[name]]).drop_nulls()
    return raw.with_columns(pl.col(pl.Float32).cast(pl.Float64))


def highest_probability(out: Path) -> Fraction:
    """Definition 5 by a query on the private half alone, in whole numbers."""
    cover = pl.read_parquet(out / "private" / "cover.parquet")
    worst = Fraction(0)
    for j in range(cover.width - 1):
        rows = cover.group_by(pl.col(f"row_{j}").alias("row")).agg(pl.len().alias("people"), pl.col("group").first())
        entries = pl.read_parquet(out / "private" / f"table_{j}.parquet").join(rows, on="row")
        columns = entries.group_by("group", "code").agg(
            pl.col("weight").max().alias("most"), (pl.col("weight") * pl.col("people")).sum().alias("all")
        )
        worst = max([worst, *(Fraction(a, b) for a, b in columns.select("most", "all").iter_rows())])
    return worst


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "adult" else pytest.mark.slow) for name in QUASI],
)
@pytest.mark.parametrize("more", [{}, {"diverse": "true"}, {"joint": "true"}])
def test_from_file_to_recipient(name: str, more: dict[str, str], data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = publish(name, data_dir, out, *options(**more), "--seed", 1)
    assert answer.status == 0, answer.err
    assert set(answer.json) >= SUMMARY
    assert answer.json["holds"]
    assert answer.json["stands_against"] == ("insider" if "joint" in more else "black box")
    shown, raw = pl.read_parquet(out / "public" / "data.parquet"), original(name, data_dir)
    assert shown.columns == raw.columns
    assert {path.name for path in (out / "public").iterdir()} == {
        "data.parquet", "release.json", "README.md", "report.html",
    }  # fmt: skip
    # sensitive values are those of the table, in another order; no value was made up
    assert sorted(shown[SENSITIVE[name]].cast(pl.String)) == sorted(raw[SENSITIVE[name]].cast(pl.String))
    assert shown[SENSITIVE[name]].cast(pl.String).to_list() != raw[SENSITIVE[name]].cast(pl.String).to_list()
    for column in QUASI[name].split(","):
        assert shown[column].dtype.is_numeric() == raw[column].dtype.is_numeric()
        assert set(shown[column].cast(pl.String)) <= set(raw[column].cast(pl.String))
    delta = Fraction(PROMISE[name].partition("+")[0].partition(":")[2])
    if "joint" not in more:
        assert Fraction(0) < highest_probability(out) <= delta
    audited, verified = oneoff("audit", out, "--json"), oneoff("verify", out / "public", "--json")
    assert (audited.status, verified.status) == (0, 1), "a recipient cannot tell, and is told so"
    assert set(audited.json) >= VERDICT
    assert audited.json["masked"] == json.loads((out / "private" / "verdict.json").read_text())["masked"]
    assert audited.json["masked"]["carried"] in ((None,) if "joint" in more else (True,) if more else (True, False))
    assert answer.json["utility"]["masking"]["unchanged"] > 0.3
    asked = oneoff("query", out / "public", "age between 30 and 39", "--json")
    assert asked.json["count"] == shown.filter(pl.col("age").is_between(30, 39)).height


@pytest.mark.slow
def test_who_breaks_delta_is_withheld(data_dir: Path, tmp_path: Path) -> None:
    """Algorithm 3 of the paper as it stands: the audit counts it in, and nothing goes out."""
    out = tmp_path / "out"
    answer = publish("adult", data_dir, out, *options(randomize_unchanged="true"))
    assert answer.status == 1
    assert answer.json["holds"] is False
    assert not (out / "public").exists()
    assert "column" in (out / "private" / "verdict.json").read_text()
    again = publish("adult", data_dir, out, *options(randomize_unchanged="true"), "--even-if-broken", "--overwrite")
    assert again.status == 1
    assert (out / "public" / "data.parquet").is_file()


@pytest.mark.slow
def test_compare_and_what_cannot_be_done(data_dir: Path, tmp_path: Path) -> None:
    quasi = QUASI["adult"].replace("age,", "")
    roles = (
        data_dir / "adult.parquet", "--rows", 3000, "--missing", "drop", "--quasi", quasi, "--sensitive", "age",
    )  # fmt: skip
    methods = (
        "--method",
        "mutual-cover",
        "--method",
        "mutual-cover:joint=true",
        "--method",
        "mondrian:columns=box",
        "--seed",
        1,
    )
    answer = oneoff("compare", *roles, "--guarantee", "delta-probability:0.2+l-diversity:5", *methods, "--json")
    assert answer.status == 0, answer.err
    found = answer.json["methods"]
    assert [row["form"] for row in found] == ["masked", "masked", "generalized"]
    assert [row["against"] for row in found] == ["black box", "insider", "reader"]
    assert all(row["holds"] and row["query_error"] is not None for row in found)
    assert found[0]["query_error"] < found[2]["query_error"], "single values answer better than ranges"
    assert found[0]["recognised"] > found[2]["recognised"], "and say more about who is who"
    assert found[1]["recognised"] <= 0.2, "which joint bounds for whole records"
    assert found[0]["iloss"] < found[1]["iloss"]
    for promise, said in {
        "delta-probability:0.0001": "delta-probability:",
        "delta-probability:0": "0 < delta <= 1",
        "delta-probability:2": "0 < delta <= 1",
        "delta-probability:0.2+l-diversity:60": "l-diversity:",
        "l-diversity:5": "mutual-cover needs delta-probability",
    }.items():
        out = tmp_path / "no"
        refused = oneoff("anonymize", *roles, "--guarantee", promise, "--method", "mutual-cover", "--out", out)
        assert refused.status == 2
        assert said in refused.err
        assert not out.exists()
