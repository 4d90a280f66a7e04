"""A small release in parts of every kind, and what is done to damage it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from oneoff.engines import TextFormat
from oneoff.larger.header import Reading
from oneoff.larger.publishing import Settings, publish_large
from oneoff.releases.part_files import PartFiles
from tests.larger.tables import ROLES, in_files, people, running

KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "generalized": ("k-anonymity:5", "mondrian", {}),
    "boxes": ("k-anonymity:10", "mondrian", {"columns": "box"}),
    "tallied": ("beta-likeness:3+k-anonymity:5", "tallies", {}),
    "bucketized": ("l-diversity:3", "anatomy", {}),
    "perturbed": ("beta-likeness:3", "perturbation", {}),
    "masked": ("delta-probability:0.25", "mutual-cover", {}),
}
PEOPLE, BLOCK = 2500, 700


def released(kind: str, place: Path, source: Path | None = None, **more: Any) -> Path:
    promise, method, options = KINDS[kind]
    rows = source or in_files(people(PEOPLE), place / "rows", 3)
    settings = Settings(promise, method, options, seed=1, most=BLOCK, **more)
    with running("local", 1) as made:
        publish_large(made, rows, place / kind, Reading(ROLES), TextFormat(), settings)
    return place / kind


@contextmanager
def changed_description(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / "public" / "release.json"
    told = json.loads(path.read_text())
    yield told
    path.write_text(json.dumps(told))


def replaced(path: Path, frame: pl.DataFrame) -> None:
    """Another piece of a table, with a hash that fits."""
    schema = pq.read_schema(path)
    pq.write_table(frame.to_arrow().select(schema.names).cast(schema), path)
    with changed_description(path.parent.parent) as told:
        told["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often each part is read from now on."""
    often: Counter[int] = Counter()
    read = PartFiles.read

    def reading(files: PartFiles, part: int, *given: Any, **more: Any) -> Any:
        often[part] += 1
        return read(files, part, *given, **more)

    monkeypatch.setattr(PartFiles, "read", reading)
    return often
