"""Releases that show quasi-identifiers as they are and hide the sensitive value instead.

Perturbed    every record shows a sensitive value that a published channel drew from the true one (paper 001)
Bucketized   records show a bucket instead of a value; how often each value occurs in a bucket is a second table, as in
             Anatomy (paper 002)
Neither hides who is in the table: a record is anybody's who has these quasi-identifiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from oneoff.errors import RoleConflict, listing
from oneoff.models import Counts, Model
from oneoff.plans import Channel, Partition
from oneoff.releases.published import Published, of_people
from oneoff.table import Table

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Bucketized", "Perturbed", "bucketize", "perturb"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Perturbed(Published):
    """codes[r, j] is the true code of record r in quasi-identifier j, values[r] what chance made of its value."""

    form: ClassVar[str] = "perturbed"

    codes: npt.NDArray[np.int32]
    values: npt.NDArray[np.int32]
    channel: Channel

    @property
    def rows(self) -> int:
        return len(self.values)

    def _shape(self) -> str:
        return f"{self.channel.values} values perturbed"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Bucketized(Published):
    """Record r has codes[r] and is one of bucket[r]; bucket b holds the values of entries start[b] to start[b + 1].

    shares   the second table: how many people of each bucket have each value
    """

    form: ClassVar[str] = "bucketized"

    codes: npt.NDArray[np.int32]
    bucket: npt.NDArray[np.int32]
    shares: Counts

    @property
    def rows(self) -> int:
        return len(self.bucket)

    @property
    def buckets(self) -> int:
        return self.shares.groups

    def _shape(self) -> str:
        return f"{self.buckets} buckets"

    @cached_property
    def people_in_bucket(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.bucket, minlength=self.buckets).astype(np.int64)

    def sensitive_table(self) -> pyarrow.Table:
        """The second table: bucket, value, count."""
        from oneoff.releases.write import sensitive_table

        return sensitive_table(self)


def perturb(
    table: Table, channel: Channel, model: Model, *, method: str, against: str, rng: np.random.Generator
) -> Perturbed:
    """Draw a value for everybody, and publish the records in random order."""
    person = rng.permutation(table.rows)
    values = channel.draw(table.values, rng)[person]
    return Perturbed(
        **_shared(table, person), method=method, model=model, against=against, values=values, channel=channel
    )


def bucketize(
    table: Table, partition: Partition, model: Model, *, method: str, against: str, rng: np.random.Generator
) -> Bucketized:
    """Publish who is in which bucket and which values a bucket has, buckets and records in random order."""
    _refuse_names(table)
    person = rng.permutation(table.rows)
    renamed = rng.permutation(partition.groups).astype(np.int32)
    bucket = renamed[partition.group]
    shares = Counts.of_groups(bucket, table.values)
    return Bucketized(
        **_shared(table, person), method=method, model=model, against=against, bucket=bucket[person], shares=shares
    )


def _shared(table: Table, person: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Record r is that of person[r], under the quasi-identifiers of that person."""
    return of_people(table, person) | {"codes": table.codes[person]}


def _refuse_names(table: Table) -> None:
    """The two tables have columns of their own."""
    names = [attribute.name for attribute in (*table.quasi, *([table.sensitive] if table.sensitive else []))]
    taken = [name for name in names if name in ("bucket", "count")]
    if taken or table.sensitive is None or table.keep:
        raise RoleConflict(
            "the table cannot be published in buckets",
            allowed="a sensitive column, no columns to keep, and no column called 'bucket' or 'count'",
            got=listing(map(repr, taken or [attribute.name for attribute in table.keep] or ["no sensitive column"])),
            hint="rename or leave out the column",
        )
