"""Compiled loops on all cores: threads around loops that let go of the interpreter.

Numba can do this itself, but then takes three times as long to compile, which everybody feels on first use.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

__all__ = ["spread"]


def spread(run: Callable[[int, int], object], many: int) -> None:
    """Call run(first, last) for slices that make up range(many); they must not touch each other's results.

    The result does not depend on the number of threads, because every item is done by itself.
    """
    workers = min(many, _cores())
    if workers < 2:
        run(0, many)
        return
    slices = min(many, 8 * workers)
    edges = [many * i // slices for i in range(slices + 1)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, edges[:-1], edges[1:]))


def _cores() -> int:
    """Cores this process may use, or what NUMBA_NUM_THREADS says."""
    asked = os.environ.get("NUMBA_NUM_THREADS", "")
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(int(asked), allowed)) if asked.isdecimal() else allowed
