"""Time and memory of a measurement."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["SLICE", "Figures", "clock", "peak_mb"]

Figures = dict[str, Any]
SLICE = 2_000  # rows of the warm-up


@contextmanager
def clock() -> Iterator[Figures]:
    """CPU seconds of all threads and wall seconds of what happens inside."""
    figures: Figures = {}
    cpu, wall = time.process_time(), time.perf_counter()
    yield figures
    figures |= {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def peak_mb(who: int = resource.RUSAGE_SELF) -> float:
    """The most memory the process ever held: interpreter, libraries, tables and all."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(who).ru_maxrss / unit
