"""Generated people in files, and what is asked of a release in parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from oneoff.engines import Engine, TextFormat, engine
from oneoff.engines.waist import Workers
from oneoff.larger.header import Reading
from oneoff.larger.publishing import LargeOutcome, Settings, publish_large
from oneoff.table.sample import SAMPLE_ROLES, sample

ROLES: dict[str, Any] = dict(SAMPLE_ROLES)


def people(rows: int = 6000, seed: int = 1) -> pl.DataFrame:
    return (
        pl.from_arrow(sample(rows, seed=seed)) if not isinstance(sample(1), pl.DataFrame) else sample(rows, seed=seed)
    )


def in_files(frame: pl.DataFrame, folder: Path, files: int = 3, kind: str = "parquet") -> Path:
    """The rows of a table, file after file."""
    folder.mkdir(parents=True)
    edges = np.linspace(0, len(frame), files + 1).astype(int)
    for i, (first, last) in enumerate(pairwise(edges)):
        part = frame.slice(first, last - first)
        if kind == "parquet":
            part.write_parquet(folder / f"part-{i:03}.parquet")
        else:
            part.write_csv(folder / f"part-{i:03}.csv")
    return folder


def published(
    source: Path, out: Path, guarantee: str, method: str = "auto", *, workers: int = 1, most: int = 1500,
    roles: dict[str, Any] | None = None, seed: int | None = 1, name: str = "local", **options: Any,
) -> LargeOutcome:  # fmt: skip
    settings = Settings(guarantee, method, options, seed=seed, most=most, overwrite=True)
    with running(name, workers) as made:
        return publish_large(made, source, out, Reading(roles or ROLES), TextFormat(), settings)


_THERE: dict[int, Engine] = {}
_ENDS = ExitStack()


@contextmanager
def running(name: str, workers: int) -> Iterator[Engine]:
    """An engine. Workers of this machine stay for the next table: starting them takes longer than a small table."""
    if name != "local":
        with engine(name, Workers(workers)) as made:
            yield made
        return
    if workers not in _THERE:
        _THERE[workers] = _ENDS.enter_context(engine(name, Workers(workers)))
    yield _THERE[workers]


def stop() -> None:
    """What stays, goes: when all tests are done (tests/conftest.py)."""
    _THERE.clear()
    _ENDS.close()


def public_digest(out: Path) -> str:
    """Of all files of the public half, byte for byte."""
    found = hashlib.sha256()
    for path in sorted((out / "public").iterdir()):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def described(out: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((out / "public" / "release.json").read_text())
    return made


def rows_of(out: Path, name: str) -> pl.DataFrame:
    """All pieces of a public file together."""
    return pl.read_parquet(out / "public" / f"{name}-*.parquet")
