"""Real tables through the command line, as a steward would publish them; skipped where they are not at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import oneoff
from tests.command_line import oneoff as shell

pytestmark = pytest.mark.slow  # whole tables

ADULT = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
CENSUS = ["age", "gender", "education", "marital", "race", "workclass", "country"]
CODES = "gender,marital,race,workclass,country"
COIL = ["MAANTHUI", "MGEMOMV", "MGEMLEEF", "MOSHOOFD"]


@pytest.fixture
def adult(data_dir: Path) -> tuple[str, ...]:
    """The arguments that read ADULT without the rows that lack a value."""
    source = str(data_dir / "adult.parquet")
    return (source, "--quasi", ",".join(ADULT), "--sensitive", "occupation", "--missing", "drop")


def shares(records: pl.DataFrame, sensitive: str) -> pl.DataFrame:
    """For every group and value, the share of the value in the group and in the whole table."""
    whole = records.group_by(sensitive).len("all").with_columns(prior=pl.col("all") / records.height)
    counted = records.group_by("group", sensitive).len("n").with_columns(size=pl.col("n").sum().over("group"))
    return counted.join(whole, on=sensitive).with_columns(share=pl.col("n") / pl.col("size"))


def records_of(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "public" / "data.parquet")


# --- ADULT -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "guarantee", "most"),
    [
        ("auto", "k-anonymity:10", 0.03),
        ("auto", "t-closeness:0.3", 0.2),
        ("auto", "k-anonymity:10+l-diversity:4+t-closeness:0.4", 0.2),
        ("mondrian", "l-diversity:3", 0.06),
        ("mondrian", "beta-likeness:2", 0.32),
        ("mondrian", "delta-disclosure:1", 0.75),
        ("transversal", "l-diversity:3", 0.05),
        ("transversal", "beta-likeness:2", 0.5),
        ("transversal", "delta-disclosure:1", 1.0),
        ("transversal", "k-anonymity:10+l-diversity:4", 0.14),
    ],
)
def test_adult_keeps_every_kind_of_promise(
    method: str, guarantee: str, most: float, adult: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    answer = shell(
        "anonymize", *adult, "--guarantee", guarantee, "--method", method, "--seed", 1, "--out", out, "--json"
    )
    assert answer.status == 0, answer.err
    assert answer.json["holds"]
    assert answer.json["rows"] == 45_222
    assert answer.json["gcp"] <= most
    assert "dropped 3620 of 48842 rows with missing values" in answer.err
    verified = shell("verify", out / "public", "--json")
    assert verified.status == 0
    assert verified.json["levels"] == answer.json["levels"]
    assert shell("audit", out).status == 0


@pytest.mark.parametrize(
    ("guarantee", "most"),
    [("beta-likeness:3+k-anonymity:10", 0.045), ("l-diversity:4", 0.06), ("delta-disclosure:1", 0.07)],
)
def test_adult_is_counted_well_by_default(guarantee: str, most: float, adult: tuple[str, ...], tmp_path: Path) -> None:
    """What a typical count is off by, where the overall distribution is off by 0.12; to the digit in no draw."""
    out = tmp_path / "out"
    answer = shell("anonymize", *adult, "--guarantee", guarantee, "--seed", 1, "--out", out, "--json")
    assert answer.status == 0, answer.err
    assert (answer.json["method"], answer.json["stands_against"]) == ("tallies", "anyone")
    assert answer.json["count_error"]["median"] <= most < answer.json["count_error"]["overall_median"]
    assert "off by about" in answer.json["reason"]
    assert shell("verify", out / "public").status == shell("audit", out).status == 0


def test_adult_counted_independently(adult: tuple[str, ...], tmp_path: Path) -> None:
    """Group sizes, shares and distances by a query on the published file, without any of our own code."""
    out = tmp_path / "out"
    guarantee = "k-anonymity:10+l-diversity:3+basic-beta-likeness:9+t-closeness:0.5"
    assert shell("anonymize", *adult, "--guarantee", guarantee, "--seed", 1, "--out", out).status == 0
    found = shares(records_of(out), "occupation")
    assert found["size"].min() >= 10
    assert found["share"].max() <= 1 / 3
    assert (found["share"] / found["prior"]).max() <= 10
    # a value a group lacks adds its prior to the distance: 1 - sum of the priors that are there
    distance = found.group_by("group").agg(
        t=((pl.col("share") - pl.col("prior")).abs().sum() + 1 - pl.col("prior").sum()) / 2
    )
    assert distance["t"].max() <= 0.5 + 1e-9
    raw = pl.read_parquet(adult[0]).drop_nulls([*ADULT, "occupation"])
    assert sorted(records_of(out)["occupation"]) == sorted(raw["occupation"].cast(pl.String))


def test_adult_with_its_hierarchies(adult: tuple[str, ...], data_dir: Path, tmp_path: Path) -> None:
    trees = {name: data_dir / "hierarchies" / "adult" / f"{name}.csv" for name in ADULT[1:]}
    options = [text for name, path in trees.items() for text in ("--hierarchy", f"{name}={path}")]
    out = tmp_path / "out"
    answer = shell("anonymize", *adult, *options, "--guarantee", "k-anonymity:10", "--seed", 1, "--out", out, "--json")
    assert answer.status == 0, answer.err
    assert answer.json["count_error"]["median"] <= 0.02
    assert answer.json["gcp"] <= 0.08
    records = records_of(out)
    for name, path in trees.items():
        known = {cell for line in path.read_text().splitlines()[1:] for cell in line.split(",")}
        assert set(records[name]) <= known
    for command, status in (("verify", 0), ("audit", 0), ("utility", 0)):
        assert shell(command, out).status == status
    quasi = "age_min,age_max," + ",".join(ADULT[1:])
    judged = shell(
        "check", out / "public" / "data.parquet", "--quasi", quasi, "--guarantee", "k-anonymity:10", "--json"
    )
    assert judged.json["holds"], "people with equal boxes are together, so groups are no smaller"


def test_adult_loses_little(data_dir: Path) -> None:
    """The subset the literature uses, 30,162 people."""
    frame = pl.read_parquet(data_dir / "adult.parquet").filter(pl.col("split") == "train").drop_nulls()
    table = oneoff.read_table(frame, quasi=ADULT, sensitive="occupation")
    assert table.rows == 30_162
    losses = {}
    for method in ("mondrian", "hilbert"):
        release = oneoff.anonymize(table, "k-anonymity:10", method=method, seed=1)
        assert oneoff.audit(release, table).holds
        losses[method] = oneoff.utility(release, table).gcp
    assert losses["mondrian"] <= 0.035
    assert losses["mondrian"] < losses["hilbert"] <= 0.04


def test_adult_before_it_is_published(adult: tuple[str, ...]) -> None:
    profiled = shell("profile", adult[0], "--quasi", adult[2], "--sensitive", "occupation", "--json").json
    assert profiled["rows"] == 48_842
    raw = shell("check", adult[0], "--quasi", adult[2], "--guarantee", "k-anonymity:2", "--json")
    assert raw.status == 1
    assert round(raw.json["risk_after"]["unique"] * 48_842) == raw.json["people_above"] > 11_000


# --- CENSUS ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sensitive", "rows", "most"),
    [("occ100k", "occupation", 100_000, 0.011), ("sal500k", "salary", 500_000, 0.006)],
)
def test_census_from_file_to_recipient(
    name: str, sensitive: str, rows: int, most: float, data_dir: Path, tmp_path: Path
) -> None:
    source, out = data_dir / f"census_{name}.parquet", tmp_path / "out"
    roles = ("--quasi", ",".join(CENSUS), "--categorical", CODES, "--sensitive", sensitive)
    seed = tmp_path / "seed"
    seed.write_text("1")
    answer = shell(
        "anonymize", source, *roles, "--guarantee", "k-anonymity:10", "--seed-file", seed, "--out", out, "--json"
    )
    assert answer.status == 0, answer.err
    assert (answer.json["rows"], answer.json["holds"], answer.err) == (rows, True, "")
    assert answer.json["count_error"]["median"] <= most

    verified, audited = (shell(command, out, "--json").json for command in ("verify", "audit"))
    assert verified["holds"]
    assert audited["holds"]
    assert audited["problems"] == []
    assert audited["risk_before"]["unique"] > 0.1 > audited["risk_after"]["unique"] == 0
    assert shell("utility", out, "--json").json["gcp"] == pytest.approx(answer.json["gcp"])
    data = out / "public" / "data.parquet"
    check = ("check", data, "--quasi", "group", "--sensitive", sensitive, "--guarantee")
    assert shell(*check, "k-anonymity:10", "--json").json["levels"] == verified["levels"]
    assert shell(*check, "k-anonymity:11").status == 1

    records = records_of(out)
    assert records.group_by("group").len()["len"].min() == 10
    boxes = records.select(pl.exclude(sensitive)).group_by("group").agg(pl.all().n_unique())
    assert set(boxes.select(pl.exclude("group").max()).row(0)) == {1}, "a group shows one box"
    raw = pl.read_parquet(source)
    assert sorted(records[sensitive]) == sorted(raw[sensitive])
    assert not np.array_equal(records[sensitive].to_numpy(), raw[sensitive].to_numpy()), "rows are shuffled"


@pytest.mark.parametrize(
    ("method", "guarantee", "most"),
    [
        ("auto", "t-closeness:0.1,ordered", 0.22),
        ("mondrian", "l-diversity:5", 0.06),
        ("mondrian", "beta-likeness:3", 0.27),
        ("mondrian", "delta-disclosure:1", 0.8),
        ("transversal", "l-diversity:5", 0.06),
        ("transversal", "beta-likeness:3", 0.3),
        ("transversal", "delta-disclosure:1", 0.95),
    ],
)
def test_census_keeps_promises_about_values(
    method: str, guarantee: str, most: float, data_dir: Path, tmp_path: Path
) -> None:
    roles = (
        "--quasi",
        ",".join(CENSUS),
        "--categorical",
        CODES,
        "--sensitive",
        "occupation",
        "--numeric",
        "occupation",
    )
    source, out = data_dir / "census_occ100k.parquet", tmp_path / "out"
    options = ("--guarantee", guarantee, "--method", method, "--seed", 1, "--out", out, "--json")
    answer = shell("anonymize", source, *roles, *options)
    assert answer.status == 0, answer.err
    assert answer.json["gcp"] <= most
    found = shares(records_of(out), "occupation")
    gain = found["share"] / found["prior"]
    if guarantee == "l-diversity:5":
        assert found["share"].max() <= 0.2
    if guarantee == "beta-likeness:3":
        assert (gain - (-found["prior"].log()).clip(upper_bound=3.0)).max() <= 1 + 1e-9
    if guarantee == "delta-disclosure:1":
        assert found.group_by("group").len()["len"].min() == 50, "every value is in every group"
        assert gain.log().abs().max() < 1
    assert shell("verify", out).status == 0


# --- COIL 2000 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "guarantee", "most"),
    [
        ("auto", "k-anonymity:10", 0.05),
        ("mondrian", "l-diversity:5", 0.3),
        ("mondrian", "k-anonymity:5+beta-likeness:4", 0.5),
        ("auto", "l-diversity:5", 0.3),
        ("auto", "k-anonymity:5+beta-likeness:4", 0.5),
    ],
)
def test_coil(method: str, guarantee: str, most: float, data_dir: Path, tmp_path: Path) -> None:
    """One quasi-identifier is decided by the sensitive value, so diversity costs much."""
    roles = ("--quasi", ",".join(COIL), "--categorical", "MOSTYPE,MOSHOOFD", "--sensitive", "MOSTYPE")
    source, out = data_dir / "coil2000.parquet", tmp_path / "out"
    options = ("--guarantee", guarantee, "--method", method, "--seed", 1, "--out", out, "--json")
    answer = shell("anonymize", source, *roles, *options)
    assert answer.status == 0, answer.err
    assert answer.json["rows"] == 9_822
    assert answer.json["gcp"] <= most
    assert "dropped 82 column(s)" in answer.err
    assert len(answer.err) < 600, "a notice does not list all of them"
    for command, status in (("verify", 0), ("audit", 0), ("utility", 0)):
        assert shell(command, out).status == status


# --- which parameter? -------------------------------------------------------------------------------------------------


def test_a_sweep_of_adult_says_what_beta_costs(adult: tuple[str, ...]) -> None:
    given = ("--guarantee", "beta-likeness:0.5,4+k-anonymity:10", "--methods", "tallies", "--target", "occupation",
             "--model", "logistic", "--workload", "sets", "--rows", 12000, "--seed", 1, "--json")  # fmt: skip
    found = shell("sweep", *adult, *given).json
    strict, loose = found["points"]
    assert strict["holds"]
    assert loose["holds"]
    for name in ("count_error", "workload_error"):
        assert strict[name]["mean"] > loose[name]["mean"]
    assert strict["count_error"]["mean"] < found["overall_error"]
    assert found["overall"]["accuracy"] < strict["accuracy"]["mean"] < loose["accuracy"]["mean"]
    assert loose["accuracy"]["mean"] > found["original"]["accuracy"] - 0.04
    assert abs(loose["added"]["mean"]) < 0.04


# --- several sensitive columns ---------------------------------------------------------------------------------------


def test_adult_with_two_sensitive_columns(adult: tuple[str, ...], tmp_path: Path) -> None:
    """Noisy counts of both: what verify adds up, what counts of each are off by, what each alone would cost."""
    two = [each if each != "occupation" else "occupation,income" for each in adult]
    promise = ("--guarantee", "beta-likeness:3+k-anonymity:10", "--seed", 1)
    answer = shell("anonymize", *two, *promise, "--out", tmp_path / "out", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["method"] == "tallies"
    errors = {name: each["count_error"] for name, each in answer.json["columns"].items()}
    assert errors["occupation"]["median"] < 0.045
    assert errors["income"]["median"] < 0.04
    for each in errors.values():
        assert each["median"] < each["overall_median"] / 3
    verified = shell("verify", tmp_path / "out" / "public", "--json")
    assert verified.status == 0
    assert verified.json["epsilon"] < 1.3863
