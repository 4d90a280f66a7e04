"""Buckets: records show a bucket instead of a value; how often each value occurs in a bucket is a second table, as in
Anatomy (paper 002).

Who is in the table is not hidden: a record is anybody's who has these quasi-identifiers. Counting takes the people of
a bucket to have its values with equal probabilities (section 3.2); the variance is that of drawing without replacement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oneoff.errors import RoleConflict, listing
from oneoff.models import Counts, Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Partition
from oneoff.releases.amounts import Amounts
from oneoff.releases.estimate import Estimate, between, estimated
from oneoff.releases.exact import Exact, ValuesShown
from oneoff.releases.predicate import Condition
from oneoff.releases.published import of_people
from oneoff.table import Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints, offsets

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Bucketized", "bucketize"]

_CHANCE = "who of a bucket has which of its values has nothing to do with quasi-identifiers"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Bucketized(Exact):
    """Record r has codes[r] and is one of bucket[r]; bucket b holds the values of entries start[b] to start[b + 1].

    shares   the second table: how many people of each bucket have each value
    """

    form: ClassVar[str] = "bucketized"

    bucket: Codes
    shares: Counts

    @property
    def buckets(self) -> int:
        return self.shares.groups

    def shown_counts(self) -> Ints:
        return np.bincount(self.shares.value, self.shares.count, len(self.counts)).astype(np.int64)

    def _shape(self) -> str:
        return f"{self.buckets} buckets"

    @cached_property
    def people_in_bucket(self) -> Ints:
        return np.bincount(self.bucket, minlength=self.buckets).astype(np.int64)

    def values_shown(self) -> ValuesShown:
        shares = self.shares
        return ValuesShown(self.bucket, shares.start, shares.value, shares.count / shares.size[shares.owner])

    def _tables(self) -> dict[str, Callable[[], pyarrow.Table]]:
        return {"qit.parquet": self.to_arrow, "sat.parquet": self.sensitive_table}

    def _records(self) -> pyarrow.Table:
        """The published columns: quasi-identifiers and buckets."""
        import pyarrow as pa

        return pa.table(self._quasi_columns() | {"bucket": pa.array(self.bucket)})

    def sensitive_table(self) -> pyarrow.Table:
        """The second table: bucket, value, count."""
        import pyarrow as pa

        from oneoff.releases.columns import shown

        assert self.sensitive is not None
        bucket = pa.array(self.shares.owner.astype(np.int32))
        values = shown(self.sensitive, self.shares.value)
        return pa.table({"bucket": bucket, self.sensitive.name: values, "count": pa.array(self.shares.count)})

    def describe_form(self) -> dict[str, Any]:
        return {"quasi": self._describe_quasi(), "buckets": self.buckets}

    @classmethod
    def assemble(
        cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pyarrow.Table]
    ) -> Bucketized:
        from oneoff.releases.columns import read_exact, whole_numbers

        frame = frames["qit.parquet"]
        quasi, codes = read_exact(described["quasi"], frame)
        bucket = whole_numbers(frame, "bucket", frame.num_rows).astype(np.int32)
        shares = _read_shares(frames["sat.parquet"], common, int(described["buckets"]))
        if not np.array_equal(np.bincount(bucket, minlength=shares.groups), shares.size):
            raise ValueError("the two tables disagree about how many people a bucket has")
        return Bucketized(**common, quasi=quasi, codes=codes, bucket=bucket, shares=shares)

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        shares = self.shares
        meant = np.bincount(self.bucket[self.meant(asked)], minlength=self.buckets)
        with_value = np.bincount(shares.owner, weights=shares.count * wanted[shares.value], minlength=shares.groups)
        share = with_value / shares.size
        drawn = meant * share * (1 - share) * (shares.size - meant) / np.maximum(shares.size - 1, 1)
        return _by_chance(estimated(float(meant @ share), math.sqrt(float(drawn.sum())), float(meant.sum())))

    def _total(self, asked: Sequence[Condition], wanted: Floats, of: Amounts | None) -> Estimate:
        """The values of a bucket are dealt to its people by chance: the variance of a sum of products is known."""
        each, least, most = self.amounts(asked, wanted, of)
        shares, size = self.shares, self.shares.size
        first, second = (np.bincount(self.bucket, each**power, self.buckets) / size for power in (1, 2))
        amount = wanted[shares.value]
        mean, square = (np.bincount(shares.owner, shares.count * amount**power) / size for power in (1, 2))
        drawn = size**2 / np.maximum(size - 1, 1) * np.maximum((second - first**2) * (square - mean**2), 0)
        return _by_chance(between(float((size * first) @ mean), math.sqrt(float(drawn.sum())), least, most))


def _by_chance(found: Estimate) -> Estimate:
    """Where chance has a say, the interval rests on who of a bucket has which of its values being chance alone."""
    return replace(found, provided=_CHANCE) if found.error else found


def _read_shares(frame: pyarrow.Table, common: dict[str, Any], buckets: int) -> Counts:
    from oneoff.releases.columns import read_values, whole_numbers

    owner, count = whole_numbers(frame, "bucket", frame.num_rows), whole_numbers(frame, "count")
    value = read_values(common["sensitive"], frame).astype(np.int64)
    if (count < 1).any() or (np.diff(owner * len(common["counts"]) + value) <= 0).any():
        raise ValueError("sat.parquet lists a value of a bucket twice, out of order or without people")
    if set(owner.tolist()) != set(range(buckets)):
        raise ValueError("the two tables disagree about how many people a bucket has")
    return Counts(offsets(np.bincount(owner, minlength=buckets)), value, count)


def bucketize(
    table: Table, partition: Partition, model: Model, *, method: str, against: Adversary, rng: np.random.Generator
) -> Bucketized:
    """Publish who is in which bucket and which values a bucket has, buckets and records in random order."""
    _refuse_names(table)
    person = rng.permutation(table.rows)
    bucket = rng.permutation(partition.groups).astype(np.int32)[partition.group]
    return Bucketized(
        **of_people(table, person),
        method=method,
        model=model,
        against=against,
        codes=table.codes[person],
        bucket=bucket[person],
        shares=Counts.of_groups(bucket, table.values),
    )


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
