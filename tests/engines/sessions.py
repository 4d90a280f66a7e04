"""Engines by name, for tests that run on all of them; one session of Spark serves all tests of a process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

__all__ = ["NEEDS_SPARK", "engine_name", "spark"]

_LACKING = [name for name, there in (("pyspark", find_spec("pyspark")), ("Java", shutil.which("java"))) if not there]
NEEDS_SPARK = pytest.mark.skipif(bool(_LACKING), reason=f"needs {' and '.join(_LACKING)}: see CONTRIBUTING.md")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session that is there when an engine is asked for: all engines of these tests share it."""
    from oneoff.engines.spark.session import session
    from oneoff.engines.waist import Workers

    settings = (
        ("master", "local[2]"),
        ("spark.sql.shuffle.partitions", "2"),
        ("spark.driver.memory", "512m"),
    )
    with session(Workers(2, scratch=str(tmp_path_factory.mktemp("spark")), settings=settings)) as made:
        yield made


@pytest.fixture(params=["local", pytest.param("spark", marks=NEEDS_SPARK)])
def engine_name(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)
