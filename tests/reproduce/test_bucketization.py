"""Paper 002 in small: every part leaves its numbers, its picture and what it says of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from oneoff.mechanisms.bucketization.two_size import two_sizes
from oneoff.reproduce.bucketization import EXPERIMENT
from oneoff.reproduce.bucketization.program import TooLong, two_sizes_by_program
from oneoff.reproduce.bucketization.settings import Task
from oneoff.reproduce.harness import Same
from oneoff.reproduce.tables import Tables

DRAWN = {"figure-3", "figure-4", "figure-5", "figure-6", "figure-7"}


@pytest.mark.slow
def test_every_part_in_small(tmp_path: Path) -> None:
    claims = EXPERIMENT.run(EXPERIMENT.parts, tmp_path, tables=Tables(), full=False, seed=1, verbose=False)
    for name in DRAWN:
        for ending in ("csv", "png", "svg", "json"):
            assert (tmp_path / f"{name}.{ending}").stat().st_size > 0
    assert {claim.same for claim in claims} <= set(get_args(Same))
    figures = " ".join(claim.figure for claim in claims)
    assert all(f"Figure {number}" in figures for number in range(3, 8))
    examples = {claim.figure: claim.same for claim in claims}
    assert examples["Tables 2-3, Example 2"] == examples["Table 4"] == examples["Example 3"] == "same"


@pytest.mark.parametrize("counts", [(40, 30, 20, 10), (9, 7, 5, 3, 2), (25, 1, 1, 1)])
def test_the_program_finds_what_two_sizes_finds(counts: tuple[int, ...]) -> None:
    task = Task(np.array(counts), theta=2, most=8)
    best = task.solve(two_sizes)
    found = task.solve(two_sizes_by_program)
    assert (best is None) == (found is None)
    if best is not None:
        assert found == pytest.approx(best.loss)
    with pytest.raises(TooLong, match="0 of"):
        task.solve(two_sizes_by_program, -1.0)
