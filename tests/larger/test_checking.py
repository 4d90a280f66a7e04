"""A folder of any tool's output is judged as the same rows in one file are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import oneoff
from oneoff.audit import Verdict
from oneoff.engines import TextFormat
from oneoff.engines.waist import Workers
from oneoff.errors import BadValue, OneoffError
from oneoff.larger.checking import check_files
from tests.command_line import oneoff as shell
from tests.larger.tables import in_files


def masked(rows: int = 3000, seed: int = 5) -> pl.DataFrame:
    """What another tool may have written: ranges as texts, a number, a missing value here and there, and stars."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows) < 0.02
    age = np.where(hidden, "*", rng.choice(["[20-30]", "[30-40]", "[40-90]"], rows))
    place = np.where(hidden, "*", rng.choice(["10*", "11*", "2**"], rows, p=[0.5, 0.3, 0.2]))
    illness = rng.choice(["flu", "gout", "cold", "none"], rows, p=[0.1, 0.2, 0.3, 0.4]).tolist()
    frame = pl.DataFrame({"age": age, "zip": place, "children": rng.integers(0, 3, rows), "illness": illness})
    return frame.with_columns(
        illness=pl.when(pl.int_range(pl.len()) % 97 == 0).then(None).otherwise("illness"),
        children=pl.when(pl.int_range(pl.len()) % 501 == 0).then(None).otherwise("children"),
    )


def same(one: Verdict, other: Verdict) -> None:
    own, known = one.as_dict(), other.as_dict()
    for name in (
        "holds",
        "worst",
        "rows",
        "groups",
        "people_above",
        "certain",
        "remarks",
        "checked_against",
        "problems",
    ):
        assert own[name] == known[name], name
    assert own["levels"] == pytest.approx(known["levels"])
    for name in ("risk_after",):
        assert own[name] == pytest.approx(known[name])
    for part, judged in zip(own["parts"], known["parts"], strict=True):
        for name in ("holds", "level", "people_above"):
            assert part[name] == pytest.approx(judged[name]), name
        assert part["witness"]["belief"] == pytest.approx(judged["witness"]["belief"])


PROMISES = ["k-anonymity:5", "k-anonymity:60", "l-diversity:3", "beta-likeness:2", "t-closeness:0.3+k-anonymity:2"]


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("most", [150, 100_000])
def test_the_verdict_is_that_of_one_file(promise: str, most: int, tmp_path: Path) -> None:
    frame = masked()
    source = in_files(frame, tmp_path / "rows", 4)
    quasi = ["age", "zip", "children"]
    whole = oneoff.check(frame, quasi=quasi, sensitive="illness", guarantee=promise)
    own = check_files(source, quasi=quasi, sensitive="illness", guarantee=promise, workers=Workers(1), most=most)
    same(own, whole)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_numbers_in_texts_are_numbers(kind: str, tmp_path: Path) -> None:
    """1, 1.0 and 01.00 are one number where all texts are numbers, in whatever file each stands."""
    texts = ["1", "1.0", "2.50", "2.5", "3", "3.000"] * 40
    frame = pl.DataFrame({"q": texts, "s": ["a", "b", "a", "b", "b", "a"] * 40})
    source = in_files(frame, tmp_path / "rows", 3, kind)
    frame.write_csv(tmp_path / "one.csv")
    one: Any = frame if kind == "parquet" else tmp_path / "one.csv"
    own = check_files(source, quasi="q", sensitive="s", guarantee="l-diversity:2", workers=Workers(1), most=50)
    known = oneoff.check(one, quasi="q", sensitive="s", guarantee="l-diversity:2")
    same(own, known)
    assert own.groups == (6 if kind == "parquet" else 3)


def test_without_a_sensitive_column_identity_is_judged(tmp_path: Path) -> None:
    frame = masked().drop("illness")
    source = in_files(frame, tmp_path / "rows", 2)
    own = check_files(source, quasi="age,zip", guarantee="k-anonymity:5", workers=Workers(1), most=500)
    same(own, oneoff.check(frame, quasi="age,zip", guarantee="k-anonymity:5"))


def test_the_door_and_the_command_take_a_folder(tmp_path: Path) -> None:
    source = in_files(masked(400), tmp_path / "rows", 2, "csv")
    found = oneoff.check(str(source), quasi="age,zip", sensitive="illness", guarantee="k-anonymity:2")
    answer = shell("check", source, "--quasi", "age,zip", "--sensitive", "illness", "--guarantee", "k-anonymity:2")
    assert answer.status == (0 if found.holds else 1), answer.err
    assert found.sentence().split(":")[0] in " ".join(answer.out.split())


def test_what_is_not_served_in_folders_is_refused(tmp_path: Path) -> None:
    source = in_files(masked(100), tmp_path / "rows", 2)
    for more in ({"prior": {"flu": 3}}, {"person": "zip"}, {"sensitive": ["illness", "children"]}):
        with pytest.raises(OneoffError):
            oneoff.check(source, quasi="age", guarantee="k-anonymity:2", **{"sensitive": "illness", **more})
    lists = in_files(pl.DataFrame({"age": [[1, 2], [3]], "s": ["a", "b"]}), tmp_path / "lists", 2)
    with pytest.raises(BadValue, match="column of lists"):
        check_files(lists, quasi="age", sensitive="s", guarantee="k-anonymity:1", text=TextFormat())
