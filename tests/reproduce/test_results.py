"""The results that are kept: every figure has its claims, and pages are what the records say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from oneoff.reproduce import PAPERS, experiment
from oneoff.reproduce.harness import read_record
from oneoff.reproduce.pages import write_index, write_results

KEPT = Path(__file__).resolve().parents[2] / "experiments"
FIGURES = {
    "000-heterogeneous": range(2, 12),
    "001-beta-likeness": range(2, 10),
    "002-bucketization": range(3, 8),
    "003-mutual-cover": range(2, 9),
    "004-ring": range(9, 16),
}


@pytest.mark.parametrize("name", PAPERS)
def test_every_part_was_measured_on_the_real_tables(name: str) -> None:
    for part in experiment(name).parts:
        record = read_record(KEPT / name / f"{part}.json")
        assert record["full"], part
        assert record["people"] == "real tables", part
        for section in record["sections"]:
            assert (KEPT / name / f"{section.name}.csv").is_file(), section.name
            for ending in ("png", "svg") if section.picture else ():
                assert (KEPT / name / f"{section.picture}.{ending}").is_file(), section.picture


@pytest.mark.parametrize("name", PAPERS)
def test_every_figure_has_a_claim_and_every_claim_an_end(name: str) -> None:
    claims = [claim for part in experiment(name).parts for claim in read_record(KEPT / name / f"{part}.json")["claims"]]
    named = {int(number) for claim in claims for number in _numbers(claim.figure)}
    assert set(FIGURES[name]) <= named
    for claim in claims:
        assert claim.same in ("same", "in part", "not the same")
        assert re.search(r"\d", claim.found) or claim.same == "same", claim
        assert claim.paper.endswith("."), claim
        assert claim.found.endswith("."), claim
        assert "nan" not in claim.found.split(), claim


def _numbers(figure: str) -> list[str]:
    """Figure 4(a), Figures 5, 6, Figures 2 to 4 (its ends)."""
    return re.findall(r"\d+", figure) if figure.startswith("Figure") or "Figure" in figure else []


def test_pages_are_what_the_records_say(tmp_path: Path) -> None:
    """`oneoff reproduce` writes them anew each time; nobody edits them by hand."""
    for name in PAPERS:
        shutil.copytree(KEPT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.png", "*.svg"))
        page = write_results(experiment(name), tmp_path / name)
        assert page.read_text() == (KEPT / name / "results.md").read_text(), name
    assert write_index(tmp_path).read_text() == (KEPT / "README.md").read_text()


def test_nothing_else_is_kept() -> None:
    for name in PAPERS:
        used = {"results.md"}
        for part in experiment(name).parts:
            record = read_record(KEPT / name / f"{part}.json")
            used |= {f"{part}.json"} | {
                f"{section.name}.{ending}" for section in record["sections"] for ending in ("csv", "png", "svg")
            }
        assert {path.name for path in (KEPT / name).iterdir()} <= used, name
