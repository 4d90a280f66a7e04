"""transversal, the default, and packing, which is asked for by name: real tables through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.test_commands import SUMMARY, VERDICT
from tests.command_line import Answer, oneoff

QUASI = {
    "census_occ100k": "age,gender,education,marital,race,workclass,country",
    "adult": "age,workclass,education,marital-status,race,sex,native-country",
    "coil2000": "MAANTHUI,MGEMOMV,MGEMLEEF,MOSHOOFD",
    "covid_mexico_2020": "AGE,SEX,MEDICAL_UNIT,USMER,PATIENT_TYPE,PREGNANT",
}
SENSITIVE = {
    "census_occ100k": "occupation",
    "adult": "occupation",
    "coil2000": "MOSTYPE",
    "covid_mexico_2020": "CLASIFFICATION_FINAL",
}
CATEGORICAL = {
    "census_occ100k": "gender,marital,race,workclass,country,occupation",
    "adult": "workclass",
    "coil2000": "MOSHOOFD,MOSTYPE",
    "covid_mexico_2020": "MEDICAL_UNIT,USMER,PATIENT_TYPE,CLASIFFICATION_FINAL",
}
ROWS = {"census_occ100k": 10_000, "adult": 12_000, "coil2000": 9_822, "covid_mexico_2020": 20_000}
FEWER = ("--rows", 2_500)  # where it is not about the table; the last one given counts
WARNING = "notice: packing keeps {} by count only"


def roles(name: str, folder: Path) -> tuple[object, ...]:
    """What reads a table, or the first part of a large one."""
    return (
        folder / f"{name}.parquet", "--rows", ROWS[name], "--missing", "drop", "--quasi", QUASI[name],
        "--sensitive", SENSITIVE[name], "--categorical", CATEGORICAL[name],
    )  # fmt: skip


def publish(name: str, folder: Path, out: Path, guarantee: str, *more: object) -> Answer:
    return oneoff("anonymize", *roles(name, folder), "--guarantee", guarantee, "--out", out, *more, "--json")


def options(**given: object) -> tuple[str, ...]:
    return tuple(text for name, value in given.items() for text in ("--option", f"{name}={value}"))


def records(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "public" / "data.parquet")


def assert_nobody_lost(name: str, folder: Path, out: Path) -> None:
    raw = pl.read_parquet(folder / f"{name}.parquet").head(ROWS[name])
    raw = raw.drop_nulls([*QUASI[name].split(","), SENSITIVE[name]])
    shown = records(out)
    assert sorted(shown[SENSITIVE[name]].cast(pl.String)) == sorted(raw[SENSITIVE[name]].cast(pl.String))
    age = next((column for column in ("age", "AGE") if column in raw.columns), None)
    if age is not None:
        ages = shown.select(pl.col(f"{age}_min").min(), pl.col(f"{age}_max").max()).row(0)
        assert ages == (raw[age].min(), raw[age].max())


def worst_share(out: Path, sensitive: str) -> float:
    """The largest share of a value in a group, by a query on the published file alone."""
    counted = records(out).group_by("group", sensitive).len("n").with_columns(size=pl.col("n").sum().over("group"))
    return float((counted["n"] / counted["size"]).max())  # type: ignore[arg-type]


# --- both, on every table --------------------------------------------------------------------------------------------

CASES = [
    ("census_occ100k", "l-diversity:10", 0.16, 0.10),
    ("census_occ100k", "basic-beta-likeness:3", 0.36, 0.20),
    ("adult", "l-diversity:3", 0.10, 0.06),
    ("adult", "k-anonymity:5+beta-likeness:3", 0.50, 0.25),
    ("coil2000", "l-diversity:5", 0.30, 0.25),
    ("covid_mexico_2020", "l-diversity:2", 0.10, 0.05),
    ("covid_mexico_2020", "k-anonymity:10+beta-likeness:2", 0.30, 0.15),
]


def apart(name: str, *more: object) -> object:
    """One table is for every day, the others for the whole suite."""
    return pytest.param(name, *more, marks=() if name == "coil2000" else pytest.mark.slow)


@pytest.mark.parametrize(("name", "guarantee", "most"), [apart(*case[:3]) for case in CASES])
def test_transversal_from_file_to_recipient(
    name: str, guarantee: str, most: float, data_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    answer = publish(name, data_dir, out, guarantee, "--method", "transversal", "--effort", "fast", "--seed", 1)
    assert answer.status == 0, answer.err
    assert set(answer.json) >= SUMMARY
    assert (answer.json["method"], answer.json["stands_against"]) == ("transversal", "insider")
    assert answer.json["holds"]
    assert answer.json["gcp"] <= most
    assert "by count only" not in answer.err
    assert_nobody_lost(name, data_dir, out)
    verified, audited = oneoff("verify", out / "public", "--json"), oneoff("audit", out, "--json")
    assert (verified.status, audited.status) == (0, 0)
    assert set(verified.json) >= VERDICT
    assert verified.json["levels"] == audited.json["levels"] == answer.json["levels"]
    assert (audited.json["stands_against"], audited.json["attacks"]) == ("insider", [])
    if guarantee.startswith("l-diversity"):
        assert worst_share(out, SENSITIVE[name]) <= 1 / int(guarantee.split(":")[1])


@pytest.mark.parametrize(("name", "guarantee", "most"), [apart(*case[:2], case[3]) for case in CASES])
def test_packing_from_file_to_recipient(name: str, guarantee: str, most: float, data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = publish(name, data_dir, out, guarantee, "--method", "packing", "--effort", "fast", "--seed", 1)
    assert answer.status == 0, answer.err
    assert set(answer.json) >= SUMMARY
    assert (answer.json["method"], answer.json["stands_against"]) == ("packing", "nobody")
    assert answer.json["holds"]
    assert answer.json["gcp"] <= most
    assert any(line.startswith(WARNING.format(guarantee)) for line in answer.err.splitlines())
    assert any(notice.startswith("packing keeps") for notice in answer.json["notices"])
    assert_nobody_lost(name, data_dir, out)
    verified = oneoff("verify", out / "public", "--json")
    assert verified.status == 0, "by count, which is all that a recipient can see"
    assert verified.json["levels"] == answer.json["levels"]
    verdict = json.loads((out / "private" / "verdict.json").read_text())
    assert verdict["stands_against"] == "nobody"
    assert {attack["name"] for attack in verdict["attacks"]} >= {"outlier", "swaps"}
    assert oneoff("audit", out, "--json").json["attacks"] == verdict["attacks"], "attacks draw nothing"
    if guarantee.startswith("l-diversity"):
        assert worst_share(out, SENSITIVE[name]) <= 1 / int(guarantee.split(":")[1])


@pytest.mark.slow
def test_packing_says_what_it_is_in_the_text_too(data_dir: Path, tmp_path: Path) -> None:
    guarantee = "basic-beta-likeness:3"
    answer = oneoff(
        "anonymize", *roles("census_occ100k", data_dir), "--guarantee", guarantee, "--method", "packing",
        "--effort", "fast", "--seed", 1, "--out", tmp_path / "out", "--verbose",
    )  # fmt: skip
    assert answer.status == 0
    assert WARNING.format(guarantee) in answer.err
    shown = " ".join(answer.out.split())
    assert "The promise holds by count against a reader" in shown
    assert "times as much" in shown, "a rare value stands out: the outlier attack is right far more often than allowed"


@pytest.mark.parametrize("method", ["transversal", "packing"])
def test_identity_alone_needs_no_warning(method: str, data_dir: Path, tmp_path: Path) -> None:
    answer = publish("coil2000", data_dir, tmp_path / "out", "k-anonymity:10", "--method", method, "--effort", "fast")
    assert answer.status == 0, answer.err
    assert "by count only" not in answer.err
    assert answer.json["stands_against"] == "insider"
    assert answer.json["levels"]["k-anonymity"] >= 10
    verdict = json.loads((tmp_path / "out" / "private" / "verdict.json").read_text())
    assert verdict["attacks"] == []


def test_compare_shows_both_and_whom_they_stand_against(data_dir: Path) -> None:
    arguments = (
        "compare", *roles("coil2000", data_dir), *FEWER, "--guarantee", "l-diversity:4", "--method", "mondrian",
        "--method", "transversal:effort=fast", "--method", "transversal:blocks=2", "--method", "packing:effort=fast",
        "--seed", 1,
    )  # fmt: skip
    found = oneoff(*arguments, "--json").json["methods"]
    assert [(row["method"], row["against"]) for row in found] == [
        ("mondrian", "reader"), ("transversal", "insider"), ("transversal", "insider"), ("packing", "nobody"),
    ]  # fmt: skip
    assert all(row["holds"] for row in found)
    assert found[3]["gcp"] < min(row["gcp"] for row in found[:3])
    assert "Least loss among those that also stand against an insider: transversal" in oneoff(*arguments).out


# --- blocks and what is public ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_blocks_and_public_tables_lose_less(data_dir: Path, tmp_path: Path) -> None:
    """Four blocks, named before looking; and the other 90,000 people of the same file as what is public."""
    everybody = pl.read_parquet(data_dir / "census_occ100k.parquet")
    everybody.slice(10_000, 20_000).write_parquet(tmp_path / "others.parquet")
    everybody.slice(30_000, 5_000).write_csv(tmp_path / "others.csv")
    some = options(blocks=4, block_on="age,country,race,marital")
    losses = {}
    for name, more in {
        "plain": options(pilot="false"),
        "blocks": some,
        "parquet": (*some, *options(public=tmp_path / "others.parquet")),
        "csv": (*some, *options(public=tmp_path / "others.csv")),
        "as many blocks as the others suggest": options(public=tmp_path / "others.parquet"),
    }.items():
        answer = publish(
            "census_occ100k", data_dir, tmp_path / name, "l-diversity:10", "--effort", "fast", "--seed", 1, *more
        )
        assert answer.status == 0, answer.err
        assert (answer.json["method"], answer.json["stands_against"]) == ("transversal", "insider")
        assert oneoff("verify", tmp_path / name / "public").status == 0
        losses[name] = answer.json["gcp"]
    assert losses["parquet"] < losses["blocks"] < losses["plain"]
    assert losses["csv"] < losses["blocks"]
    assert losses["as many blocks as the others suggest"] < losses["plain"]


@pytest.mark.slow
def test_an_earlier_release_and_a_list_of_cuts_are_public(data_dir: Path, tmp_path: Path) -> None:
    others = pl.read_parquet(data_dir / "census_occ100k.parquet").slice(10_000, 10_000)
    others.write_parquet(tmp_path / "census_occ100k.parquet")
    assert (
        publish("census_occ100k", tmp_path, tmp_path / "earlier", "l-diversity:5", "--method", "mondrian").status == 0
    )
    (tmp_path / "cuts.json").write_text('{"gender": [[1], [2]], "age": [35]}')
    (tmp_path / "cuts.toml").write_text('gender = [["1"], ["2"]]\nage = [35]\n')
    found = {}
    for public in ("earlier", "earlier/public", "cuts.json", "cuts.toml"):
        out = tmp_path / f"with {public.replace('/', ' ')}"
        more = ("--effort", "fast", "--seed", 1, *options(public=tmp_path / public))
        answer = publish("census_occ100k", data_dir, out, "l-diversity:5", *more)
        assert answer.status == 0, answer.err
        assert oneoff("verify", out / "public").status == 0
        found[public] = records(out)
    assert found["earlier"].equals(found["earlier/public"]), "only the public half is looked at"
    assert found["cuts.json"].equals(found["cuts.toml"])
    by_cuts = found["cuts.json"]
    assert by_cuts["gender"].list.len().max() == 1
    assert by_cuts.filter((pl.col("age_min") <= 35) & (pl.col("age_max") > 35)).is_empty()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("cuts.json", "{", "cannot be read"),
        ("cuts.json", "[1, 2]", "is no list of cuts"),
        ("cuts.json", '{"MAANTHUY": [3]}', "blocks cannot be cut on 'MAANTHUY'"),
        ("cuts.json", '{"MAANTHUI": ["many"]}', "the cuts of 'MAANTHUI' are not numbers"),
        ("cuts.toml", "MAANTHUI = ", "cannot be read"),
        ("people.csv", "MAANTHUI,MOSTYPE\n3,1\n", "there is no column 'MGEMOMV'"),
        ("nowhere.json", None, "there is no file"),
        ("nowhere.parquet", None, "there is no file"),
    ],
)
def test_public_information_that_cannot_be_used(
    name: str, text: str | None, said: str, data_dir: Path, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    answer = publish("coil2000", data_dir, tmp_path / "out", "l-diversity:3", *options(public=tmp_path / name))
    assert answer.status == 2
    assert not (tmp_path / "out").exists()
    assert said in answer.json["error"]["what"]


def test_cuts_and_numbers_of_blocks_contradict_each_other(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "cuts.json").write_text('{"MAANTHUI": [1]}')
    more = options(public=tmp_path / "cuts.json", blocks=2)
    answer = publish("coil2000", data_dir, tmp_path / "out", "l-diversity:3", *more)
    assert (answer.status, answer.json["error"]["what"]) == (2, "blocks are given twice")


@pytest.mark.parametrize("how", [options(blocks=32), options(block_size=200)])
def test_a_block_that_cannot_keep_the_promise_refuses_the_run(
    how: tuple[str, ...], data_dir: Path, tmp_path: Path
) -> None:
    """The message says which block and value, and what would have been eligible; nothing coarser is tried."""
    answer = publish("census_occ100k", data_dir, tmp_path / "out", "l-diversity:10", "--method", "transversal", *how)
    assert answer.status == 2
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.iterdir()) == []
    error = answer.json["error"]
    assert error["code"] == "unreachable-guarantee"
    assert error["what"].startswith("a block cannot keep l-diversity:10 by itself: ")
    assert "people have" in error["what"]
    assert "blocks=" in error["hint"]
    assert "private" in error["hint"]
    shown = oneoff(
        "anonymize", *roles("census_occ100k", data_dir), "--guarantee", "l-diversity:10", *how, "--out", tmp_path / "o"
    )
    assert (shown.status, shown.out) == (2, "")
    assert "error: a block cannot keep l-diversity:10 by itself" in shown.err


# --- effort ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["transversal", "packing"])
def test_more_sweeps_never_lose_more(method: str, data_dir: Path, tmp_path: Path) -> None:
    """The best of all sweeps so far is kept, so with one seed the loss can only fall."""
    alone = options(pilot="false") if method == "transversal" else ()
    losses = []
    for sweeps in (0, 1, 2, 5, 12):
        more = ("--method", method, "--seed", 3, *alone, *options(sweeps=sweeps))
        out = tmp_path / str(sweeps)
        losses.append(publish("coil2000", data_dir, out, "l-diversity:4", *more, *FEWER).json["gcp"])
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["transversal", "packing"])
def test_effort_and_seconds(method: str, data_dir: Path, tmp_path: Path) -> None:
    efforts = {"fast": ("--effort", "fast"), "best": ("--effort", "best"), "timed": options(seconds=0.5)}
    alone = options(pilot="false") if method == "transversal" else ()
    losses = []
    for name, more in efforts.items():
        given = ("--method", method, "--seed", 3, *alone, *more)
        answer = publish("coil2000", data_dir, tmp_path / name, "l-diversity:4", *given, *FEWER)
        assert answer.status == 0, answer.err
        assert answer.json["holds"]
        losses.append(answer.json["gcp"])
    assert losses[1] < losses[0]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["transversal", "packing"])
def test_the_number_of_threads_does_not_matter(
    method: str, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for threads in ("1", "2"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        more = ("--method", method, "--effort", "fast", "--seed", 9)
        assert publish("coil2000", data_dir, tmp_path / threads, "l-diversity:4", *more).status == 0
    one, two = ((tmp_path / threads / "public" / "data.parquet").read_bytes() for threads in "12")
    assert one == two
