"""README.md of a release in parts is the guide of any release: made of what is public, and what it says to do works."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest

import oneoff
from oneoff.auto import foretold_of
from oneoff.releases import InParts
from oneoff.report.guide import guide_of, readme
from oneoff.utility import expected_errors
from tests.larger.releases import KINDS, PEOPLE


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_its_lines_can_be_run(kind: str, releases: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    public = releases[kind] / "public"
    text = (public / "README.md").read_text()
    python = blocks(text, "python")
    assert len(python) == 5
    monkeypatch.chdir(public)
    for block in python:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, "README.md", "exec"), {})
        assert out.getvalue().strip()
    asked = re.search(r"release\.count\((.*)\)", python[0])
    assert asked is not None
    assert oneoff.load_release(".").count(eval(asked[1])).count >= 0
    assert len(blocks(text, "sh")) >= 2
    assert "| age | quasi-identifier |" in text


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_anybody_can_make_it_again(kind: str, releases: dict[str, Path]) -> None:
    """So it says nothing that the other files do not say; how far counts are off in truth is for the steward."""
    release = oneoff.load_release(releases[kind])
    assert isinstance(release, InParts)
    public = releases[kind] / "public"
    tables = {re.sub(r"-\d+\.", ".", path.name): path for path in public.glob("*-00000.parquet")}
    columns = {name: pl.read_parquet_schema(path) for name, path in tables.items()}
    guide = guide_of(
        release, {n: list(c) for n, c in columns.items()}, expected_errors(release), foretold_of(release), ()
    )
    assert readme(guide) == (public / "README.md").read_text()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_steward_gets_a_report(kind: str, releases: dict[str, Path]) -> None:
    """Of what was counted in all parts; what takes single people is left out."""
    private = releases[kind] / "private"
    page, numbers = (private / "report.html").read_text(), json.loads((private / "report.json").read_text())
    assert f"{PEOPLE:,} people" in page
    assert numbers["about"]["rows"] == PEOPLE
    assert numbers["group_sizes"] is None
    lost = json.loads((private / "summary.json").read_text())["utility"]
    assert numbers["counts"]["median"] == lost["count_error"]["median"]
    columns = numbers["shape"]["columns"]
    assert len(columns) == 8
    for column in columns:
        assert sum(column["before"]) == pytest.approx(1)
        assert sum(column["after"]) == pytest.approx(1)
        assert column["distance"] == 0 or kind in ("boxes", "perturbed", "masked", "tallied")
    assert not any("(report.html)" in each for each in numbers["next"])
    assert "report.html" not in (releases[kind] / "public" / "README.md").read_text()
