"""Functions for workers, which find them by the name of their module."""

from __future__ import annotations

import gc
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SCHEMA = pa.schema([("x", pa.int64()), ("twice", pa.int64())])


def total(batch: pa.RecordBatch) -> int:
    return int(pc.sum(batch["x"]).as_py() or 0)


def add(one: int, other: int) -> int:
    return one + other


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch([batch["x"], pc.multiply(batch["x"], 2)], schema=SCHEMA)


def by_rest(batch: pa.RecordBatch) -> Any:
    """Into three blocks by the rest of a division; multiples of seven go nowhere."""
    x = np.asarray(batch["x"])
    return np.where(x % 7 == 0, -1, x % 3)


def sorted_rows(block: int, rows: pa.Table) -> list[int]:
    return sorted(rows["twice"].to_pylist())


@dataclass(frozen=True)
class DiesOnce:
    """Kills its own process the first time that it sees a block."""

    folder: str

    def __call__(self, block: int, rows: pa.Table) -> list[int]:
        mark = Path(self.folder) / f"seen-{block}"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sorted_rows(block, rows)


def dies(block: int, rows: pa.Table) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def complains(batch: pa.RecordBatch) -> int:
    from oneoff.errors import BadValue

    raise BadValue("no good", allowed="good", got="bad", hint="be good")


def threads() -> tuple[int, int, int]:
    """Of polars, Arrow and our own loops, in the process that is asked."""
    import polars

    from oneoff.kernels.threads import _cores

    return polars.thread_pool_size(), pa.cpu_count(), _cores()


def looked_through(batch: pa.RecordBatch) -> dict[int, list[int]]:
    """What the collector of garbage leaves alone in the process that has this batch."""
    return {os.getpid(): [gc.get_freeze_count()]}


def each_process(one: dict[int, list[int]], other: dict[int, list[int]]) -> dict[int, list[int]]:
    return {process: one.get(process, []) + other.get(process, []) for process in one.keys() | other.keys()}
