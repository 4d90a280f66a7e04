"""The package itself, for executors that have all it needs and not it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneoff.errors import MissingPackage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ship"]

_WANTED = ("oneoff", "numpy", "numba", "scipy", "polars", "narwhals")


def ship(spark: SparkSession, scratch: Path) -> None:
    """Ask an executor what it lacks, and send it oneoff where that is all."""
    missing = _missing(spark)
    if missing == "oneoff":
        spark.sparkContext.addPyFile(str(_zipped(scratch)))
        missing = _missing(spark)
    if missing:
        raise MissingPackage(
            f"executors of Spark do not have {missing}",
            allowed="oneoff and all it needs in the Python of every executor",
            got=f"no module named {missing!r}",
            hint="install it there, or send an environment along with spark.archives; PYSPARK_PYTHON says which Python",
        )


def _missing(spark: SparkSession) -> str:
    from oneoff.engines.spark.failures import said
    from oneoff.engines.spark.job import mapped

    wanted = _WANTED

    def look(batches: Any) -> Iterator[Any]:  # runs where oneoff may not be
        from importlib.util import find_spec

        import pyarrow

        for name in wanted:
            try:
                there = find_spec(name) is not None
            except ModuleNotFoundError:
                there = False
            if not there:
                yield pyarrow.record_batch([pyarrow.array([name])], ["name"])
                return

    try:
        found = mapped(spark.range(0, 1, 1, 1), look, "name string").collect()
    except Exception as error:
        raise said(error) from None
    return "".join(row[0] for row in found)


def _zipped(scratch: Path) -> Path:
    """The package as it is here."""
    root, target = Path(__file__).parents[2], scratch / "oneoff.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                made.write(path, Path("oneoff") / path.relative_to(root))
    return target
