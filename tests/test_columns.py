"""Columns as they come, through the command line and back: orders, dates, codes, truth values, missing values."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import oneoff
from tests.command_line import oneoff as command

ORDER = ["Poor", "Fair", "Good", "Very good", "Excellent"]
METHODS = {  # one for each kind of release, and both without groups
    "mondrian": "l-diversity:2",
    "transversal": "l-diversity:2",
    "ring": "k-anonymity:3",
    "tallies": "l-diversity:1.2",
    "exact-size": "l-diversity:1.5",
    "perturbation": "l-diversity:1.5",
    "mutual-cover": "delta-probability:0.5+l-diversity:1.5",
    "privbayes": "l-diversity:1.5",
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as a clinic would export it."""
    rng = np.random.default_rng(5)
    many = 160
    path = tmp_path_factory.mktemp("columns") / "people.csv"
    frame = pl.DataFrame(
        {
            "health": [ORDER[i] for i in rng.integers(0, 5, many)],
            "born": [f"{1950 + i // 4}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(many)],
            "zip": [f"{'0' if i % 3 else '9'}8{i % 7}0{i % 5}" for i in range(many)],
            "weight": [None if i % 10 == 0 else 50 + i % 40 for i in range(many)],
            "smoker": ["true" if x else "false" for x in rng.random(many) < 0.4],
            "disease": [["flu", "cold", "gout", "burn"][i] for i in rng.integers(0, 4, many)],
        }
    )
    frame.write_csv(path)
    return path


def _asked(release: Any, frame: pl.DataFrame, where: str, truth: pl.Expr) -> None:
    """A certain interval has the truth inside."""
    found = release.count(where)
    assert not found.certain or found.low <= frame.filter(truth).height <= found.high


@pytest.mark.parametrize("method", METHODS)
def test_every_kind_of_column_comes_back(method: str, people: Path, tmp_path: Path, without_pictures: None) -> None:
    """Published, loaded from the public half, counted and judged again."""
    out = tmp_path / "out"
    answer = command(
        "anonymize", str(people), "--quasi", "health,born,zip,weight,smoker", "--sensitive", "disease",
        "--guarantee", METHODS[method], "--method", method, "--seed", "1", "--out", str(out),
        "--ordered", "health=" + ",".join(ORDER), "--dates", "born=quarter", "--prefix", "zip", "--missing", "category",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    release = oneoff.load_release(out / "public")
    kinds = {attribute.name: attribute.kind for attribute in release.quasi}
    assert kinds | {"zip": ""} == {
        "health": "ordered", "born": "ordered", "zip": "", "weight": "ordered", "smoker": "categorical",
    }  # fmt: skip
    assert release.quasi[0].labels.tolist() == ORDER
    frame = pl.read_csv(people, schema_overrides={"zip": pl.String, "smoker": pl.String})
    _asked(release, frame, "health between 'Fair' and 'Good'", pl.col("health").is_in(["Fair", "Good"]))
    _asked(release, frame, "health >= 'Very good'", pl.col("health").is_in(["Very good", "Excellent"]))
    _asked(release, frame, "born <= '1959-Q4'", pl.col("born") < "1960")
    _asked(release, frame, "weight between 60 and 69.5", pl.col("weight").is_between(60, 69))
    _asked(release, frame, "weight = '(missing)'", pl.col("weight").is_null())
    _asked(release, frame, "smoker = true and disease = 'flu'",
           (pl.col("smoker") == "true") & (pl.col("disease") == "flu"))  # fmt: skip
    assert command("audit", str(out)).status == 0
    assert command("verify", str(out / "public")).status == (0 if method not in ("ring", "mutual-cover") else 1)


def test_what_a_spreadsheet_shows(people: Path, tmp_path: Path, without_pictures: None) -> None:
    out = tmp_path / "out"
    given = [
        "anonymize",
        str(people),
        "--quasi",
        "health,weight",
        "--guarantee",
        "k-anonymity:8",
        "--method",
        "hilbert",
    ]
    given += ["--seed", "1", "--out", str(out), "--csv", "--ordered", "health=" + ",".join(ORDER)]
    assert command(*given, "--missing", "category").status == 0
    rows = list(csv.DictReader((out / "public" / "data.csv").read_text().splitlines()))
    allowed = {f"[{low}, {high}]" for i, low in enumerate(ORDER) for high in ORDER[i:]}
    assert {row["health"] for row in rows} <= allowed
    assert all(row["weight"].removesuffix(" or (missing)").startswith(("[", "(missing)")) for row in rows)
    assert any("(missing)" in row["weight"] for row in rows)
    table = oneoff.read_table(people, quasi=["health", "weight"], ordered={"health": ORDER}, missing="category")
    shown = pl.read_parquet(out / "public" / "data.parquet")
    links = pl.read_parquet(out / "private" / "links.parquet")
    assert set(shown.columns) == {"health_min", "health_max", "weight_min", "weight_max", "group"}
    assert len(links) == table.rows


def test_the_release_says_the_order_and_a_wrong_one_is_found_out(people: Path, tmp_path: Path) -> None:
    table = oneoff.read_table(people, quasi=["health"], sensitive="disease", ordered={"health": ORDER})
    for columns in ("box", "tally"):
        release = oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1, columns=columns)
        public = release.write(tmp_path / columns) / "public"
        described = json.loads((public / "release.json").read_text())
        assert described["quasi"][0]["order"] == ORDER
        assert (described["quasi"][0]["kind"], described["quasi"][0]["shown_as"]) == ("ordered", "ordered range")
        for order in (ORDER[1:], [*ORDER, "Poor"], [*ORDER, "Dead"], 3):
            described["quasi"][0]["order"] = order
            (public / "release.json").write_text(json.dumps(described))
            with pytest.raises(oneoff.errors.DamagedRelease):
                oneoff.load_release(public)


def test_a_job_repeats_it(people: Path, tmp_path: Path, without_pictures: None) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        f"""input = "{people}"
        guarantee = "k-anonymity:5"
        quasi = ["health", "born", "zip", "weight"]
        output = "out"
        method = "mondrian"
        prefix = ["zip"]
        seed = 3
        missing = "drop"
        [ordered]
        health = ["Poor", "Fair", "Good", "Very good", "Excellent"]
        [dates]
        born = "year"
        [hierarchies]
        weight = "interval:5,10"
        """
    )
    assert command("anonymize", str(job)).status == 0
    repeated = tmp_path / "out" / "private" / "job.toml"
    assert 'weight" = "interval:5,10"' in repeated.read_text()
    again = command("anonymize", str(repeated), "--out", str(tmp_path / "again"), "--seed", "3")
    assert again.status == 0, again.err
    first, second = (pl.read_parquet(tmp_path / name / "public" / "data.parquet") for name in ("out", "again"))
    assert first.equals(second)
    assert first["born_min"].dtype == pl.Int64


def test_a_release_without_its_job_is_judged_by_the_table(people: Path, tmp_path: Path, without_pictures: None) -> None:
    table = oneoff.read_table(
        people, quasi=["health", "born"], sensitive="disease", ordered={"health": ORDER}, dates={"born": "month"}
    )
    oneoff.anonymize(table, "k-anonymity:5", method="mondrian", seed=1).write(tmp_path / "out")
    found = command("audit", str(tmp_path / "out"), "--table", str(people), "--json")
    assert (found.status, found.json["holds"]) == (0, True)
    coarse = oneoff.read_table(people, quasi=["born"], sensitive="disease", dates={"born": "year"})
    oneoff.anonymize(coarse, "k-anonymity:5", method="mondrian", seed=1).write(tmp_path / "years")
    years = command("audit", str(tmp_path / "years"), "--table", str(people), "--dates", "born=year", "--json")
    assert (years.status, years.json["holds"]) == (0, True)


@pytest.mark.parametrize("method", ["mondrian", "hilbert", "transversal", "burel", "ring", "tallies"])
def test_an_order_is_as_good_as_numbers_in_its_place(method: str) -> None:
    """The same table with 0, 1, 2 ... instead of categories: the same records, the same loss, the same answers."""
    rng = np.random.default_rng(2)
    rank, age = rng.permutation(np.arange(120) % 5), rng.integers(20, 60, 120)
    disease = [["flu", "cold", "gout"][i] for i in rng.permutation(np.arange(120) % 3)]
    named = pl.DataFrame({"x": [ORDER[i] for i in rank], "age": age, "d": disease})
    numbered = named.with_columns(x=pl.Series(rank))
    promise = "k-anonymity:4" if method == "ring" else "l-diversity:2" if method != "tallies" else "l-diversity:1.2"
    found = []
    for frame, given in ((named, {"ordered": {"x": ORDER}}), (numbered, {})):
        table = oneoff.read_table(frame, quasi=["x", "age"], sensitive="d", **given)
        release = oneoff.anonymize(table, promise, method=method, seed=1)
        asked = "x between 'Fair' and 'Good'" if given else "x between 1 and 2"
        gcp = oneoff.utility(release, table).gcp
        found.append((release.values.tolist(), release.count(f"{asked} and age < 40"), gcp))
    assert found[0] == found[1]


@pytest.mark.parametrize("values", [[True, False], ["yes", "no"], ["TRUE", "FALSE"], [1, 0]])
@pytest.mark.parametrize("method", ["mondrian", "tallies", "exact-size", "perturbation"])
def test_truth_values(method: str, values: list[Any], tmp_path: Path) -> None:
    """As a quasi-identifier and as the sensitive column."""
    frame = pl.DataFrame(
        {"q": values * 60, "age": [20 + i % 30 for i in range(120)], "s": (values + values[::-1]) * 30}
    )
    table = oneoff.read_table(frame, quasi=["q", "age"], sensitive="s")
    release = oneoff.anonymize(table, "l-diversity:1.2", method=method, seed=1)
    loaded = oneoff.load_release(release.write(tmp_path / "out") / "public")
    asked = {"yes": "= 'yes'", "1": "= 1"}.get(str(values[0]), "= true")
    for column in ("q", "s"):
        assert loaded.count(f"{column} {asked}").count == pytest.approx(release.count(f"{column} {asked}").count)
    assert loaded.count(f"q {asked}").count == pytest.approx(60)
    assert oneoff.audit(loaded).holds


def test_decimal_commas_from_file_to_count(tmp_path: Path, without_pictures: None) -> None:
    path = tmp_path / "x.csv"
    path.write_text("bmi;d\n" + "".join(f"{20 + i % 9},{i % 10};{'ab'[i % 2]}\n" for i in range(60)))
    given = [
        "anonymize",
        str(path),
        "--quasi",
        "bmi",
        "--sensitive",
        "d",
        "--guarantee",
        "k-anonymity:4",
        "--decimal",
        ",",
    ]
    assert command(*given, "--method", "mondrian", "--out", str(tmp_path / "out"), "--csv", "--seed", "1").status == 0
    release = oneoff.load_release(tmp_path / "out" / "public")
    assert (release.quasi[0].kind, release.quasi[0].labels.dtype.kind) == ("numeric", "f")
    assert release.count("bmi < 24.05").count == pytest.approx(sum(20 + i % 9 + i % 10 / 10 < 24.05 for i in range(60)))
