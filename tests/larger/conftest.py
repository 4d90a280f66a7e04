"""Releases in parts are made once for all modules here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.larger.releases import KINDS, PEOPLE, released
from tests.larger.tables import in_files, people


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table that they are made of, in three files."""
    return in_files(people(PEOPLE), tmp_path_factory.mktemp("original") / "rows", 3)


@pytest.fixture(scope="session")
def releases(original: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind; nobody changes it."""
    place = tmp_path_factory.mktemp("releases")
    return {kind: released(kind, place, original) for kind in KINDS}
