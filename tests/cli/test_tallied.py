"""Noisy counts from the command line: options, what is refused and why, what is said of the release."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from oneoff.table.sample import sample
from tests.command_line import Answer, oneoff

ROLES = ("--quasi", "age,gender,education,race", "--sensitive", "occupation", "--method", "tallies")


@pytest.fixture(scope="module")
def people_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    pl.DataFrame(sample(1500, seed=1, values=6)).write_csv(path)
    return path


@pytest.fixture(scope="module")
def occupations(people_csv: Path) -> list[str]:
    return sorted(set(pl.read_csv(people_csv)["occupation"].to_list()))


def publish(source: Path, out: Path, *more: object, guarantee: str = "beta-likeness:3") -> Answer:
    return oneoff("anonymize", source, *ROLES, "--guarantee", guarantee, "--out", out, *more)


def domain(*values: str) -> tuple[str, str]:
    return "--option", f"domain={';'.join(values)}"


def test_a_domain_from_a_list_a_file_and_a_hierarchy(
    people_csv: Path, occupations: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = sorted([*occupations, "Wizard"])
    (tmp_path / "domain.csv").write_text("value\n" + "\n".join(every) + "\n")
    (tmp_path / "tree.csv").write_text("".join(f"{name};work;*\n" for name in every))
    monkeypatch.chdir(tmp_path)
    ways = {
        "list": domain(*every),
        "file": ("--option", "domain=domain.csv"),
        "hierarchy": ("--option", "domain=hierarchy", "--hierarchy", "occupation=tree.csv"),
    }
    for name, way in ways.items():
        answer = publish(people_csv, tmp_path / name, *way)
        assert answer.status == 0, answer.err
        described = json.loads((tmp_path / name / "public" / "release.json").read_text())
        assert sorted(described["sensitive"]["values"]) == every
        assert len(described["prior"]) == len(every)
        for command in ("audit", "verify", "utility"):
            assert oneoff(command, tmp_path / name).status == 0
        assert oneoff("query", tmp_path / name, "occupation = 'Wizard'").status == 0
    monkeypatch.chdir(tmp_path.parent)
    again = oneoff("anonymize", tmp_path / "file" / "private" / "job.toml", "--out", tmp_path / "again")
    assert again.status == 0, again.err


def test_a_domain_that_misses_values_names_them(people_csv: Path, occupations: list[str], tmp_path: Path) -> None:
    answer = publish(people_csv, tmp_path / "out", *domain(*occupations[2:], "Wizard"))
    assert answer.status == 2
    assert "misses values of 'occupation' that occur" in answer.err
    assert f"none of {occupations[0]}, {occupations[1]}" in answer.err
    assert not (tmp_path / "out").exists()
