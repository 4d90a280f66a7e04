"""Methods that publish buckets, on real tables through the command line: from the file to what a recipient counts."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.test_commands import SUMMARY, VERDICT
from tests.cli.test_groups import QUASI, ROWS, SENSITIVE, options, publish, roles
from tests.command_line import oneoff

THETA = {"census_occ100k": "f-privacy:theta=4,base=0.02", "adult": "f-privacy:theta=3,base=0.02"}
METHODS = ["exact-size", "multi-size", "two-size"]


def two_tables(out: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    return pl.read_parquet(out / "public" / "qit.parquet"), pl.read_parquet(out / "public" / "sat.parquet")


def original(name: str, folder: Path) -> pl.DataFrame:
    raw = pl.read_parquet(folder / f"{name}.parquet").head(ROWS[name])
    return raw.select([*QUASI[name].split(","), SENSITIVE[name]]).drop_nulls()


def ceilings_are_kept(qit: pl.DataFrame, sat: pl.DataFrame, sensitive: str, theta: int) -> bool:
    """By a query on the published files alone, in whole numbers: 50 count n <= size (50 theta people + n)."""
    n = qit.height
    people = sat.group_by(sensitive).agg(people=pl.col("count").sum())
    size = qit.group_by("bucket").agg(size=pl.len().cast(pl.Int64))
    found = sat.join(people, on=sensitive).join(size, on="bucket")
    over = 50 * pl.col("count").cast(pl.Int64) * n > pl.col("size") * (50 * theta * pl.col("people") + n)
    return found.filter(over).is_empty()


@pytest.mark.parametrize("name", [pytest.param("census_occ100k", marks=pytest.mark.slow), "adult"])
@pytest.mark.parametrize("method", [*METHODS, "bucketization"])
def test_from_file_to_recipient(name: str, method: str, data_dir: Path, tmp_path: Path) -> None:
    out, guarantee, sensitive = tmp_path / "out", THETA[name], SENSITIVE[name]
    answer = publish(name, data_dir, out, guarantee, "--method", method, "--seed", 1)
    assert answer.status == 0, answer.err
    assert set(answer.json) >= SUMMARY
    assert answer.json["method"] == ("exact-size" if method == "bucketization" else method)
    assert (answer.json["holds"], answer.json["stands_against"], answer.json["gcp"]) == (True, "insider", 0.0)
    if method in ("exact-size", "bucketization"):
        assert any("(proven)" in notice for notice in answer.json["notices"])
    qit, sat = two_tables(out)
    raw = original(name, data_dir)
    quasi = QUASI[name].split(",")
    assert qit.select(quasi).cast(pl.String).sort(quasi).equals(raw.select(quasi).cast(pl.String).sort(quasi))
    shown = dict(sat.group_by(pl.col(sensitive).cast(pl.String)).agg(pl.col("count").sum()).iter_rows())
    assert shown == dict(raw.group_by(pl.col(sensitive).cast(pl.String)).len().iter_rows())
    assert ceilings_are_kept(qit, sat, sensitive, int(guarantee[16]))
    verified, audited = oneoff("verify", out / "public", "--json"), oneoff("audit", out, "--json")
    assert (verified.status, audited.status) == (0, 0)
    assert set(verified.json) >= VERDICT
    assert verified.json["levels"] == audited.json["levels"] == answer.json["levels"]
    assert "private" not in json.dumps(sorted(path.name for path in (out / "public").iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize("choice", [(), options(choice="blocks", block_size=2000)])
def test_a_recipient_counts(choice: tuple[str, ...], data_dir: Path, tmp_path: Path) -> None:
    out, raw = tmp_path / "out", original("census_occ100k", data_dir)
    more = ("--method", "exact-size", "--seed", 2, *choice)
    assert publish("census_occ100k", data_dir, out, "f-privacy:theta=8,base=0.02", *more).status == 0
    often = raw["occupation"].value_counts(sort=True)["occupation"].head(5).to_list()
    wanted = ", ".join(map(str, often))
    answer = oneoff("query", out / "public", f"age < 40 and gender = 1 and occupation in ({wanted})", "--json")
    assert answer.status == 0, answer.err
    truth = raw.filter((pl.col("age") < 40) & (pl.col("gender") == 1) & pl.col("occupation").is_in(often)).height
    assert abs(answer.json["count"] - truth) < 4 * answer.json["standard_error"]
    everybody = oneoff("query", out / "public", "age < 40", "--json").json
    assert everybody["low"] == everybody["high"] == raw.filter(pl.col("age") < 40).height


@pytest.mark.slow
def test_compare_shows_how_much_buckets_lose(data_dir: Path) -> None:
    arguments = (
        "compare", *roles("census_occ100k", data_dir), "--guarantee", "f-privacy:theta=8,base=0.02",
        "--method", "exact-size", "--method", "multi-size", "--method", "two-size",
        "--method", "two-size:search=loss", "--method", "exact-size:choice=blocks,block_size=2000",
        "--seed", 1,
    )  # fmt: skip
    answer = oneoff(*arguments, "--json")
    assert answer.status == 0, answer.err
    found = answer.json["methods"]
    assert [row["against"] for row in found] == ["insider"] * 5
    assert all(row["holds"] for row in found)
    assert {(row["form"], row["gcp"]) for row in found} == {("bucketized", 0.0)}
    best, several, two, same, near = (row["query_error"] for row in found)
    assert max(best, several) < 1.2 * two, "the fewer sizes, the larger the buckets, the less a recipient can tell"
    assert same == two, "both searches find the same sizes, and the seed is the same"
    assert near < best, "buckets of similar people tell more about groups of people"
    shown = oneoff(*arguments, "--rows", 1_000).out
    assert all(method in shown for method in METHODS)


def test_anatomy_says_who_serves_ceilings_that_differ(data_dir: Path, tmp_path: Path) -> None:
    guarantee = "f-privacy:theta=2,base=0.02"
    answer = publish("census_occ100k", data_dir, tmp_path / "out", guarantee, "--method", "anatomy")
    assert answer.status == 2
    assert list(tmp_path.iterdir()) == []
    assert "exact-size" in answer.json["error"]["hint"]
    assert publish("census_occ100k", data_dir, tmp_path / "out", "l-diversity:5", "--method", "anatomy").status == 0
    qit, sat = two_tables(tmp_path / "out")
    assert sat["count"].max() == 1
    assert set(qit.group_by("bucket").len()["len"]) <= {5, 6}


def test_a_block_that_cannot_keep_the_promise_is_named(data_dir: Path, tmp_path: Path) -> None:
    more = ("--method", "exact-size", *options(choice="blocks", block_size=30))
    answer = publish("census_occ100k", data_dir, tmp_path / "out", "f-privacy:theta=2,base=0.02", *more)
    assert answer.status == 2
    assert list(tmp_path.iterdir()) == []
    error = answer.json["error"]
    assert error["code"] == "unreachable-guarantee"
    assert error["what"].startswith("a block cannot keep f-privacy:theta=2,base=0.02 by itself: ")
    assert "choice=random" in error["hint"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"choice": "hilbert"}, "unknown way to choose people"),
        ({"max_size": "many"}, "the largest bucket, max_size, is not usable"),
        ({"max_size": 0}, "the largest bucket, max_size, is not usable"),
        ({"search": "full"}, "search"),
        ({"block_size": 500}, "there are no blocks"),
    ],
)
def test_options_that_cannot_be_used(given: dict[str, object], said: str, data_dir: Path, tmp_path: Path) -> None:
    more = ("--method", "exact-size", *options(**given))
    answer = publish("adult", data_dir, tmp_path / "out", THETA["adult"], *more)
    assert answer.status == 2
    assert said in answer.json["error"]["what"]
