"""What several test modules share: where the real tables are, and small random tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from oneoff.table import Table

# The suite draws the same tables every time, so that one commit has one answer. `make explore` draws fresh ones, and more.
settings.register_profile("explore", deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("oneoff", settings.get_profile("explore"), max_examples=60, derandomize=True)
settings.load_profile("oneoff")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real tables, beside the checkout or where ONEOFF_DATA points; never part of the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ONEOFF_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"the real tables are not at {folder}: set ONEOFF_DATA to run the tests that need them")
    return folder


@pytest.fixture(scope="session")
def people() -> Table:
    """A small generated table with every kind of quasi-identifier."""
    from oneoff.table.read import read_table
    from oneoff.table.sample import SAMPLE_ROLES, sample

    return read_table(sample(600, seed=3), **SAMPLE_ROLES)
