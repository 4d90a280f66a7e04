"""What buckets are still good for: quasi-identifiers as they are, and the values of a bucket for all of its people.

For aggregates, the people meant are known, and have the mean value of their bucket; they cannot have less than its
least values, nor more than its greatest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.releases import Bucketized
from oneoff.table import Table
from oneoff.table.arrays import Floats
from oneoff.utility.aggregates import Aggregates, Answers, columns_of, matching
from oneoff.utility.counting import from_records
from oneoff.utility.loss import Utility, Yardsticks, nothing_blurred
from oneoff.utility.shape import Columns, of_columns

__all__ = ["answer", "as_rows", "estimate", "measure"]

estimate = from_records


def measure(release: Bucketized, table: Table | None, by: Yardsticks) -> Utility:
    loss = int(((release.people_in_bucket - 1) ** 2).sum())
    return replace(nothing_blurred(release), msbs=loss / max(release.rows - 1, 1), bucket_loss=loss)


def as_rows(release: Bucketized, rng: np.random.Generator) -> Columns:
    """The values of a bucket are dealt to its people, as anybody may."""
    values = np.empty(release.rows, dtype=np.int32)
    values[np.lexsort((rng.random(release.rows), release.bucket))] = np.repeat(
        release.shares.value, release.shares.count
    )
    return of_columns(release, release.codes, values)


def answer(release: Bucketized, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    shares = release.shares
    values = np.repeat(numbers[shares.value], shares.count)  # bucket by bucket, ascending in each
    last = np.cumsum(shares.size)
    first = last - shares.size
    below = np.concatenate(([0.0], np.cumsum(values)))
    mean = (below[last] - below[first]) / shares.size
    found = np.empty((3, len(queries), 2))
    for q, meant in enumerate(matching(columns_of(release, table), queries)):
        people = np.bincount(release.bucket[meant], minlength=release.buckets)
        least, greatest = below[first + people] - below[first], below[last] - below[last - people]
        found[:, q, 0] = people.sum()
        found[:, q, 1] = people @ mean, least.sum(), greatest.sum()
    return Answers(*found)
