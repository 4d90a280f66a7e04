"""The learned model on real tables: figures measured before there was an attack, and what being in the table costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import oneoff

pytestmark = pytest.mark.slow  # thousands of people

QUASI = ["age", "gender", "education", "marital", "race", "workclass", "country"]
ROLES = {"quasi": QUASI, "sensitive": "occupation", "numeric": ["age", "education"]}


@pytest.fixture(scope="module")
def occupations(data_dir: Path) -> list[oneoff.Table]:
    """10,000 people, and as many others."""
    frame = pl.read_parquet(data_dir / "census_occ100k.parquet")
    order = np.random.default_rng(0).permutation(frame.height)
    return [oneoff.read_table(frame[rows], **ROLES) for rows in (order[:10_000], order[10_000:20_000])]


@pytest.mark.parametrize(
    ("method", "inside", "outside"),
    [
        ("mondrian", 0.230, 0.134),
        ("burel", 0.255, 0.138),
        ("packing", 0.249, 0.145),
        ("transversal", 0.310, 0.139),
        ("exact-size", 0.409, 0.119),
    ],
)
def test_groups_tell_more_of_those_in_them(occupations, method, inside, outside):
    table, others = occupations
    release = oneoff.anonymize(table, "l-diversity:5", method=method, seed=0)
    finding = oneoff.attack(release, table, "learned", control=others)["learned"]
    assert finding.rate.share == pytest.approx(inside, abs=0.02)
    assert finding.control.share == pytest.approx(outside, abs=0.02)
    assert finding.difference.interval[0] > 0.05


def test_noisy_counts_cost_nobody_much(occupations):
    table, others = occupations
    release = oneoff.anonymize(table, "l-diversity:5", method="tallies", seed=0)
    finding = oneoff.attack(release, table, "learned", control=others)["learned"]
    assert finding.difference.amount <= 0.02
