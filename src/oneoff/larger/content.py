"""A digest of the rows of a table that does not depend on their order.

Every row is hashed and the hashes are added up, twice over with different constants: 128 bits that tell two tables
apart by accident, though not against somebody who makes them alike on purpose, which a steward has no reason to do.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oneoff.engines.waist import PLACE

__all__ = ["content_of", "joined_content"]

_SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_WORD = 1 << 64


def content_of(batch: pa.RecordBatch) -> tuple[int, int]:
    """Of the coded rows of a batch."""
    columns = [np.asarray(batch[name]).astype(np.uint64) for name in batch.schema.names if name not in PLACE]
    one, two = (int(_hashes(columns, seed).sum(dtype=np.uint64)) for seed in _SEEDS)
    return one, two


def joined_content(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return (one[0] + other[0]) % _WORD, (one[1] + other[1]) % _WORD


def _hashes(columns: list[np.ndarray], seed: int) -> np.ndarray:
    found = np.full(len(columns[0]), seed, dtype=np.uint64)
    for column in columns:
        found = (found ^ column) * np.uint64(_MIX[0])
        found ^= found >> np.uint64(29)
    found *= np.uint64(_MIX[1])
    return found ^ (found >> np.uint64(32))
