"""Paper 001 in small: every part leaves its numbers, its picture and what it says of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from oneoff.mechanisms.partitioning.burel import dp_partition
from oneoff.models import BetaLikeness
from oneoff.reproduce.beta_likeness import EXPERIMENT
from oneoff.reproduce.beta_likeness.closeness import _from_the_right
from oneoff.reproduce.beta_likeness.releases import verdict
from oneoff.reproduce.harness import Same
from oneoff.reproduce.tables import Tables

DRAWN = {f"figure-{number}" for number in range(4, 10)} | {"naive-bayes"}


@pytest.mark.slow
def test_every_part_in_small(tmp_path: Path) -> None:
    claims = EXPERIMENT.run(EXPERIMENT.parts, tmp_path, tables=Tables(), full=False, seed=1, verbose=False)
    for name in DRAWN:
        for ending in ("csv", "png", "svg", "json"):
            assert (tmp_path / f"{name}.{ending}").stat().st_size > 0
    assert (tmp_path / "section-7.csv").stat().st_size > 0
    assert {claim.same for claim in claims} <= set(get_args(Same))
    figures = " ".join(claim.figure for claim in claims)
    assert all(f"Figure {number}" in figures for number in range(3, 10))
    assert {claim.same for claim in claims if "Example" in claim.figure} == {"same"}


@pytest.mark.parametrize("beta", [1, 2, 3, 5])
def test_filled_from_either_end_buckets_are_as_few(beta: int) -> None:
    counts = np.array([2, 3, 3, 3, 4, 4, 7, 9, 9, 12, 30])
    limits = BetaLikeness(beta).caps(counts)
    left = dp_partition(counts, limits, strict=True)
    right = _from_the_right(counts, limits, np.concatenate(left))
    assert len(left) == len(right)
    assert sorted(np.concatenate(right).tolist()) == list(range(len(counts)))
    for bucket in right:
        held, least = int(counts[bucket].sum()), min(limits.ceiling[v] for v in bucket.tolist())
        assert len(bucket) == 1 or held < least * counts.sum()


def test_all_some_or_none_of_a_claim() -> None:
    assert [verdict(each) for each in ([True], [True, False], [False], [])] == [
        "same",
        "in part",
        "not the same",
        "not the same",
    ]
