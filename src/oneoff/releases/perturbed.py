"""Perturbed values: every record shows a sensitive value that a published channel drew from the true one (paper 001).

Who is in the table is not hidden: a record is anybody's who has these quasi-identifiers. Counting leads what people
show back through the channel. Where the channel treats all values alike, nothing else is said about them: the totals
are estimates, which anybody could make from the records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Channel
from oneoff.releases.amounts import Amounts
from oneoff.releases.estimate import Estimate, between, reconstruct
from oneoff.releases.exact import Exact, ValuesShown
from oneoff.releases.noise import people_near
from oneoff.releases.predicate import Condition
from oneoff.releases.published import of_people
from oneoff.table import Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Perturbed", "counts_led_back", "estimated_counts", "perturb"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Perturbed(Exact):
    """codes[r, j] is the true code of record r in quasi-identifier j, values[r] what chance made of its value."""

    form: ClassVar[str] = "perturbed"

    values: Codes
    channel: Channel

    def error_of(self, shown: Ints, described: Mapping[str, Any] | None = None) -> Floats:
        """Of counts led back through a channel that treats all values alike."""
        if self.prior_is_exact or self.channel.values == 1:
            return super().error_of(shown)
        kept, other = self.channel.matrix[0, :2]
        error: Floats = np.sqrt(shown * (1 - shown / shown.sum())) / (kept - other)
        return error

    def shown_counts(self) -> Ints:
        return np.bincount(self.values, minlength=len(self.counts)).astype(np.int64)

    def _shape(self) -> str:
        return f"{self.channel.values} values perturbed"

    def led_back(self, belief: Floats) -> Floats:
        """Through the channel; what would be less than nothing is nothing."""
        true = np.maximum(np.linalg.solve(self.channel.matrix, belief.T).T, 1e-12)
        return np.asarray(true / true.sum(axis=1, keepdims=True), dtype=np.float64)

    def values_shown(self) -> ValuesShown:
        return ValuesShown.one_each(self.values, len(self.counts))

    def _records(self) -> pyarrow.Table:
        import pyarrow as pa

        from oneoff.releases.columns import shown

        assert self.sensitive is not None
        return pa.table(self._quasi_columns() | {self.sensitive.name: shown(self.sensitive, self.values)})

    def describe_form(self) -> dict[str, Any]:
        weights = [[int(weight) for weight in row] for row in self.channel.weight]
        estimated = {} if self.prior_is_exact else {"prior_is": "estimated"}
        channel = {"total": self.channel.total, "weights": weights}
        return {"quasi": self._describe_quasi(), "channel": channel} | estimated

    @classmethod
    def assemble(
        cls, common: dict[str, Any], described: dict[str, Any], frames: Mapping[str, pyarrow.Table]
    ) -> Perturbed:
        from oneoff.releases.columns import read_exact, read_values

        frame, sensitive = frames["data.parquet"], common["sensitive"]
        quasi, codes = read_exact(described["quasi"], frame)
        weight = np.array(described["channel"]["weights"], dtype=np.int64)
        if sensitive is None or len(weight) != sensitive.size:
            raise ValueError("the channel does not fit the sensitive values")
        values = read_values(sensitive, frame)
        return Perturbed(
            **common,
            prior_is_exact=described.get("prior_is") != "estimated",
            quasi=quasi,
            codes=codes,
            values=values,
            channel=Channel(weight),
        )

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        shown = np.bincount(self.values[self.meant(asked)], minlength=len(wanted))
        return reconstruct(shown, self.channel.matrix, wanted)

    def _total(self, asked: Sequence[Condition], wanted: Floats, of: Amounts | None) -> Estimate:
        """As `reconstruct`, for people who count for different amounts; those with a true value v add up the variance
        of what its channel shows, squared amounts times (E b^2 - (E b)^2)."""
        each, least, most = self.amounts(asked, wanted, of)
        back, squared = np.linalg.solve(self.channel.matrix.T, np.stack([wanted, wanted**2], axis=1)).T
        sums, squares = (np.bincount(self.values, each**power, len(wanted)) for power in (1, 2))
        return between(float(back @ sums), math.sqrt(max(float((back**2 - squared) @ squares), 0.0)), least, most)


def estimated_counts(values: Codes, channel: Channel) -> Ints:
    """People with each value, as far as what all of them show can tell."""
    return counts_led_back(np.bincount(values, minlength=channel.values), channel)


def counts_led_back(shown: Ints, channel: Channel) -> Ints:
    """The same from how many people show each value."""
    return people_near(np.linalg.solve(channel.matrix, shown).astype(np.float64), int(shown.sum()))


def perturb(
    table: Table,
    channel: Channel,
    model: Model,
    *,
    method: str,
    against: Adversary,
    rng: np.random.Generator,
    seeded: bool = False,
) -> Perturbed:
    """Draw a value for everybody, and publish the records in random order.

    seeded   values drawn by `rng`, for a run that can be repeated by whoever has the seed
    """
    person = rng.permutation(table.rows)
    values = channel.draw(table.values, rng if seeded else None)[person]
    people = of_people(table, person)
    if against is Adversary.ANYONE:
        people |= {"counts": estimated_counts(values, channel), "prior_is_exact": False}
    return Perturbed(
        **people,
        method=method,
        model=model,
        against=against,
        codes=table.codes[person],
        values=values,
        channel=channel,
    )
