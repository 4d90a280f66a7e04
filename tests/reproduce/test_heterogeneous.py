"""Paper 000 in small, on generated people: every part leaves numbers, pictures and claims; and its own arithmetic."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from oneoff.reproduce.harness import Point
from oneoff.reproduce.heterogeneous import EXPERIMENT
from oneoff.reproduce.heterogeneous.methods import at, redrawn
from oneoff.reproduce.heterogeneous.queries import COVERED, EVEN, _verdict
from oneoff.reproduce.tables import Tables


@pytest.mark.slow
def test_every_part_leaves_numbers_pictures_and_claims(tmp_path: Path) -> None:
    claims = EXPERIMENT.run(EXPERIMENT.parts, tmp_path, tables=Tables(), full=False, seed=1, verbose=False)
    assert {claim.same for claim in claims} <= {"same", "in part", "not the same"}
    assert all("nan" not in claim.found for claim in claims)
    said = " ".join(claim.figure for claim in claims)
    assert all(f"Figure {number}" in said or f"Figures {number}" in said for number in range(2, 12))
    assert all(
        name in said for name in ("Table 1", "Table 3", "Tables 4 to 6", "Tables 7 to 9", "Table 10", "Theorem 7")
    )
    for part in EXPERIMENT.parts:
        assert (tmp_path / f"{part}.json").is_file()
    pictures = {path.stem for path in tmp_path.glob("*.png")}
    assert pictures == {path.stem for path in tmp_path.glob("*.svg")}
    assert pictures <= {path.stem for path in tmp_path.glob("*.csv")}
    assert {"figure-2", "figure-4b-5b", "figure-6", "figure-8a", "figure-9c", "figure-10c", "figure-11c"} <= pictures


def test_worked_examples_come_out_as_printed(tmp_path: Path) -> None:
    """But for a match of Table 1 and a bucket of Table 7, which do not fit the rest of the paper."""
    claims = EXPERIMENT.run(["tables"], tmp_path, tables=Tables(), full=False, seed=1, verbose=False)
    found = {claim.figure: claim for claim in claims}
    assert "8 of 8 pairs of ranges" in found["Table 1"].found
    assert "7 of 8 lists of matches" in found["Table 1"].found
    assert found["Table 3"].same == found["Tables 4 to 6"].same == "same"
    assert found["Tables 7 to 9"].found == "1, 2/3, 5/7; 2 of 3 as printed."


def test_redrawn_values_follow_zipf() -> None:
    people = Tables().census_occ(2000)
    even, skewed = redrawn(people, 0.0, 1), redrawn(people, 0.9, 1)
    assert np.array_equal(even.codes, people.codes)
    assert even.counts.max() < 80
    expected = 2000 / sum(r**-0.9 for r in range(1, 51))
    assert skewed.counts[0] == pytest.approx(expected, rel=0.2)


def test_a_claim_on_errors_asks_for_what_a_recipient_can_do() -> None:
    def points(even: float, covered: float) -> list[Point]:
        return [Point(series, 1, y, panel) for series, panel, y in (
            ("HG", EVEN, even), ("HG", COVERED, covered), ("P", EVEN, 10.0), ("P", COVERED, 10.0))]  # fmt: skip

    assert _verdict(points(5, 5), [1], "P") == "same"
    assert _verdict(points(5, 5), [1], "P", 3) == "in part"
    assert _verdict(points(20, 5), [1], "P") == "in part"
    assert _verdict(points(20, 20), [1], "P") == "not the same"
    assert math.isnan(at(points(1, 1), "Q", 1))
