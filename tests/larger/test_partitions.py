"""The same release, byte for byte, however a table is divided: into files, or into partitions of a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneoff.engines import TextFormat, engine
from oneoff.engines.waist import Workers
from oneoff.larger.header import Reading
from oneoff.larger.publishing import Settings, publish_large
from tests.engines.sessions import NEEDS_SPARK
from tests.larger.tables import ROLES, in_files, people, public_digest, published

PEOPLE, MOST = 3000, 1000
SAME = [("k-anonymity:10", "mondrian"), ("beta-likeness:3+k-anonymity:10", "tallies")]


@pytest.mark.slow
@NEEDS_SPARK
@pytest.mark.parametrize(("promise", "method"), SAME)
def test_partitions_of_a_dataframe_change_nothing(spark: Any, tmp_path: Path, promise: str, method: str) -> None:
    source = in_files(people(PEOPLE), tmp_path / "rows", 3)
    published(source, tmp_path / "local", promise, method, most=MOST)
    known = public_digest(tmp_path / "local")
    settings = Settings(promise, method, {}, seed=1, most=MOST, overwrite=True)
    with engine("spark", Workers(2)) as running:
        for number in (1, 3, 8):
            frame = spark.read.parquet(f"file://{source}").repartition(number)
            assert frame.rdd.getNumPartitions() == number
            made = publish_large(running, frame, tmp_path / "spark", Reading(ROLES), TextFormat(), settings)
            assert made.blocks > 2
            assert public_digest(tmp_path / "spark") == known, number
