"""The experiments of paper 003, in small and on generated people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oneoff.reproduce import experiment
from oneoff.reproduce.tables import Tables

DRAWN = {
    "figure-2", "figure-3", "figure-3-without", "figure-4", "figure-4-without", "figure-5a", "figure-5b", "figure-6a",
    "figure-6b", "figure-7a", "figure-7a-mean", "figure-7b", "figure-7c", "figure-8a", "figure-8b",
    "figure-8-identity", "insider",
}  # fmt: skip


@pytest.mark.slow
def test_every_part_leaves_numbers_pictures_and_claims(tmp_path: Path) -> None:
    found = experiment("003")
    claims = found.run(found.parts, tmp_path, tables=Tables(), full=False, seed=1, verbose=False)
    assert {claim.same for claim in claims} <= {"same", "in part", "not the same"}
    for part in found.parts:
        record = json.loads((tmp_path / f"{part}.json").read_text())
        assert record["claims"], part
        assert all((tmp_path / f"{section['name']}.csv").is_file() for section in record["sections"]), part
    for name in DRAWN:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()
    worked = {claim.figure: claim for claim in claims if claim.figure in ("Figure 1(b)", "Figure 1(c)", "Example 1")}
    assert [claim.same for claim in worked.values()] == ["same"] * 3
    assert "28 to 33 and 35 to 41" in worked["Figure 1(c)"].found
    assert next(claim for claim in claims if claim.figure == "Figure 2").same == "same"
