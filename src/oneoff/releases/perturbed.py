"""Perturbed values: every record shows a sensitive value that a published channel drew from the true one (paper 001).

Who is in the table is not hidden: a record is anybody's who has these quasi-identifiers. Counting leads what people
show back through the channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.plans import Channel
from oneoff.releases.estimate import Estimate, reconstruct
from oneoff.releases.exact import Exact, ValuesShown
from oneoff.releases.predicate import Condition
from oneoff.releases.published import of_people
from oneoff.table import Table
from oneoff.table.arrays import Codes, Flags

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Perturbed", "perturb"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Perturbed(Exact):
    """codes[r, j] is the true code of record r in quasi-identifier j, values[r] what chance made of its value."""

    form: ClassVar[str] = "perturbed"

    values: Codes
    channel: Channel

    def _shape(self) -> str:
        return f"{self.channel.values} values perturbed"

    def values_shown(self) -> ValuesShown:
        return ValuesShown.one_each(self.values, len(self.counts))

    def to_arrow(self) -> pyarrow.Table:
        import pyarrow as pa

        from oneoff.releases.columns import shown

        assert self.sensitive is not None
        return pa.table(self._quasi_columns() | {self.sensitive.name: shown(self.sensitive, self.values)})

    def describe_form(self) -> dict[str, Any]:
        weights = [[int(weight) for weight in row] for row in self.channel.weight]
        return {"quasi": self._describe_quasi(), "channel": {"total": self.channel.total, "weights": weights}}

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
        return Perturbed(**common, quasi=quasi, codes=codes, values=values, channel=Channel(weight))

    def _count(self, asked: Sequence[Condition], wanted: Flags) -> Estimate:
        shown = np.bincount(self.values[self.meant(asked)], minlength=len(wanted))
        return reconstruct(shown, self.channel.matrix, wanted)


def perturb(
    table: Table, channel: Channel, model: Model, *, method: str, against: Adversary, rng: np.random.Generator
) -> Perturbed:
    """Draw a value for everybody, and publish the records in random order."""
    person = rng.permutation(table.rows)
    values = channel.draw(table.values, rng)[person]
    return Perturbed(
        **of_people(table, person),
        method=method,
        model=model,
        against=against,
        codes=table.codes[person],
        values=values,
        channel=channel,
    )
