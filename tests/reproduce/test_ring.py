"""The experiments of paper 004 in small: every part leaves numbers, pictures where it draws, and claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneoff.reproduce.harness import read_record
from oneoff.reproduce.ring import EXPERIMENT
from oneoff.reproduce.ring.examples import RING, assignments
from oneoff.reproduce.tables import Tables

WORKED = ("Tables 2, 3", "Table 4, Figure 1", "Figure 2", "Section 5.2", "Figures 5, 6", "Section 5.3", "Section 6")


@pytest.mark.slow
@pytest.mark.parametrize("part", list(EXPERIMENT.parts))
def test_every_part_in_small(part: str, tmp_path: Path) -> None:
    claims = EXPERIMENT.run([part], tmp_path, tables=Tables(), full=False, seed=1, verbose=False)
    assert claims
    assert all(claim.same in ("same", "in part", "not the same") for claim in claims)
    assert all("nan" not in claim.found for claim in claims)
    record = read_record(tmp_path / f"{part}.json")
    assert record["sections"]
    for section in record["sections"]:
        assert (tmp_path / f"{section.name}.csv").stat().st_size > 0
        if section.picture:
            assert (tmp_path / f"{section.picture}.png").is_file()
            assert (tmp_path / f"{section.picture}.svg").is_file()
    if part == "examples":
        assert all(claim.same == "same" for claim in claims if claim.figure in WORKED)


def test_the_ring_of_figure_5_has_thirteen_assignments() -> None:
    assert len(assignments(RING)) == 13
