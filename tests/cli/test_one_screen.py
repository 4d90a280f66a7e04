"""What a command prints unasked fits one screen and answers a board; `--verbose` prints the rest."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow.csv
import pytest

from oneoff.table.sample import sample
from tests.command_line import Answer, oneoff

LINES, COLUMNS = 24, 110
QUASI = "age,gender,education,country"
RUNS = {
    "one promise": ("beta-likeness:3",),
    "many promises": ("k-anonymity:4+l-diversity:3+beta-likeness:9+delta-disclosure:3+t-closeness:0.9",),
    "attacks": ("l-diversity:3", "--method", "packing"),
    "no groups": ("l-diversity:3", "--method", "heterogeneous", "--option", "randomize=permute"),
    "no groups, blind": ("k-anonymity:4", "--method", "freeform"),
    "buckets": ("l-diversity:3", "--method", "anatomy"),
    "drawn values": ("l-diversity:3", "--method", "perturbation"),
    "noisy counts": ("beta-likeness:3+k-anonymity:4", "--method", "tallies", "--option", "field_size=100"),
    "single columns": ("delta-probability:0.25+l-diversity:3", "--method", "mutual-cover"),
    "whole records": ("delta-probability:0.25", "--method", "mutual-cover", "--option", "joint=true"),
}


@pytest.fixture(scope="module")
def people_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    pyarrow.csv.write_csv(sample(300, seed=1), path)
    return path


def one_screen(answer: Answer, paths: Path) -> bool:
    lines = answer.out.splitlines()
    wide = [line for line in lines if len(line) > COLUMNS and str(paths) not in line]
    return len(lines) <= LINES and not wide


@pytest.mark.parametrize("run", RUNS)
def test_one_screen(run: str, people_csv: Path, tmp_path: Path) -> None:
    guarantee, *method = RUNS[run]
    out = tmp_path / "out"
    roles = ("--quasi", QUASI, "--sensitive", "occupation", "--guarantee", guarantee, "--seed", 1, "--out", out)
    made = oneoff("anonymize", people_csv, *roles, *method)
    assert made.status == 0, made.err
    assert one_screen(made, tmp_path), made.out
    assert made.out.startswith("The promise holds")
    assert "\nWhat it costs: A typical count is off by " in made.out
    assert "\nProbability of recognising a person" in made.out
    assert f"Written: {out}/public (to hand out) and {out}/private (to keep)." in made.out
    for command in ("audit", "verify", "utility"):
        brief = oneoff(command, out)
        assert one_screen(brief, tmp_path), brief.out
        full = oneoff(command, out, "--verbose")
        assert full.status == brief.status
        assert len(full.out) >= len(brief.out) - 40, "never less than without it, but for the hint that there is more"
        assert full.out.splitlines()[0] == brief.out.splitlines()[0]


def test_every_promise_is_told_in_words(people_csv: Path, tmp_path: Path) -> None:
    roles = ("--quasi", QUASI, "--sensitive", "occupation", "--out", tmp_path / "out")
    answer = oneoff("anonymize", people_csv, *roles, "--guarantee", "k-anonymity:4+l-diversity:3", "--overwrite")
    assert "k-anonymity 4: kept (" in answer.out
    assert "l-diversity 3: kept (" in answer.out
    assert "That is, nobody's value can be guessed with a probability above 1/3" in " ".join(answer.out.split())


def test_a_broken_promise_fits_too_and_counts_people(people_csv: Path, tmp_path: Path) -> None:
    answer = oneoff("check", people_csv, "--quasi", QUASI, "--sensitive", "occupation", "--guarantee", "l-diversity:3")
    assert answer.status == 1
    assert one_screen(answer, tmp_path)
    shown = " ".join(answer.out.split())
    assert "l-diversity 3: BROKEN (1 reached; " in shown
    assert "people are above it)" in shown
    assert "is certain, because all of their group share it." in shown


def test_what_is_withheld_fits_too(people_csv: Path, tmp_path: Path) -> None:
    roles = ("--quasi", QUASI, "--sensitive", "occupation", "--guarantee", "l-diversity:3", "--seed", 1)
    walk = ("--method", "heterogeneous", "--out", tmp_path / "out")
    answer = oneoff("anonymize", people_csv, *roles, *walk)
    assert answer.status == 1
    assert one_screen(answer, tmp_path)
    assert answer.out.startswith("The promise DOES NOT hold")
    assert "\nThe public half was withheld: " in answer.out


def test_verbose_has_all_measures(people_csv: Path, tmp_path: Path) -> None:
    roles = ("--quasi", QUASI, "--sensitive", "occupation", "--guarantee", "k-anonymity:4", "--out", tmp_path / "out")
    full = oneoff("anonymize", people_csv, *roles, "--verbose").out
    assert "What the records reach of every known promise" in full
    assert "How easily people are recognised" in full
    assert "looks at quasi-identifiers only" in " ".join(full.split()), "why this method"
    assert "--verbose" not in full


def test_a_table_of_many_columns(tmp_path: Path) -> None:
    columns = [f"q{j}" for j in range(40)]
    table = pl.DataFrame({name: [(i * (j + 3)) % 7 for i in range(60)] for j, name in enumerate(columns)})
    table.with_columns(s=pl.Series(["a", "b", "c"] * 20)).write_csv(tmp_path / "t.csv")
    roles = (
        "--quasi",
        ",".join(columns),
        "--sensitive",
        "s",
        "--guarantee",
        "k-anonymity:3",
        "--out",
        tmp_path / "out",
    )
    assert one_screen(oneoff("anonymize", tmp_path / "t.csv", *roles), tmp_path)
    brief, full = oneoff("utility", tmp_path / "out"), oneoff("utility", tmp_path / "out", "--verbose")
    assert one_screen(brief, tmp_path)
    assert "and 25 attributes that lose less" in brief.out
    assert all(f"  {name} " in full.out for name in columns)


def test_demo_fits(tmp_path: Path) -> None:
    assert one_screen(oneoff("demo", "--rows", 400, "--out", tmp_path / "demo"), tmp_path)
    answer = oneoff("demo", "--rows", 400, "--out", tmp_path / "other", "--verbose")
    assert "What the records reach of every known promise" in answer.out
