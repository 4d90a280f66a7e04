"""What masked records lose: how far values moved (paper 003, section 5.2), and what became of their distributions.

iloss      per person, the sum over quasi-identifiers of the distance between true and shown value (see table.distance);
           the paper prints the sum over all people, and |D_A| there is the range or the height of the tree here
unchanged  the part of the cells that show the true value; by chance, so it is no leak by itself
marginal   total variation distance between the published and the original distribution of a column, 0 to 1
pairwise   the same for two columns at a time, with the sensitive one among them
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue
from oneoff.releases import Masked
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints
from oneoff.table.distance import displacement

__all__ = ["Masking", "masking"]


@dataclass(frozen=True)
class Masking:
    """What was lost by masking; None where it takes to know whose record is whose, or where there is no pair.

    per_attribute       the mean distance values of each quasi-identifier moved; iloss is their sum
    unchanged           part of the cells that show the true value
    unchanged_records   part of the people with all quasi-identifiers true
    marginal_distance   of each quasi-identifier
    """

    iloss: float | None
    per_attribute: dict[str, float] | None
    unchanged: float | None
    unchanged_records: float | None
    marginal_distance: dict[str, float]
    marginal_mean: float
    marginal_max: float
    pairwise_mean: float | None
    pairwise_max: float | None

    def sentence(self) -> str:
        columns = f"The distribution of a column is {self.marginal_mean:.2%} off on average"
        pairs = "" if self.pairwise_mean is None else f", that of a pair of columns {self.pairwise_mean:.2%}"
        if self.iloss is None or self.unchanged is None or self.unchanged_records is None:
            return f"{columns}{pairs} (total variation)."
        return (
            f"{self.unchanged:.2%} of the values are the true ones, and {self.unchanged_records:.2%} of the people "
            f"have only true ones; what the values of a person moved adds up to {self.iloss:.3f} (ILoss). "
            f"{columns}{pairs} (total variation)."
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def masking(release: Masked, table: Table) -> Masking:
    """Compare masked records with the table they were made from."""
    if release.rows != table.rows or len(release.quasi) != len(table.quasi):
        raise BadValue(
            "the release is not one of this table",
            allowed=f"{release.rows:,} people with {len(release.quasi)} quasi-identifiers, as in the release",
            got=f"{table.rows:,} with {len(table.quasi)}",
        )
    shown = [*release.codes_in(table).T]
    true = [*table.codes.T]
    single = [_total_variation(shown[j], true[j], attribute.size) for j, attribute in enumerate(table.quasi)]
    sizes = [attribute.size for attribute in table.quasi]
    if table.sensitive is None:
        pairs = _pairwise(shown, true, sizes)
    else:
        pairs = _pairwise([*shown, release.values], [*true, table.values], [*sizes, table.sensitive.size])
    iloss, far, cells, records = (None,) * 4 if release.links is None else _moved(release.links, shown, table)
    return Masking(
        iloss=iloss,
        per_attribute=far,
        unchanged=cells,
        unchanged_records=records,
        marginal_distance={a.name: distance for a, distance in zip(table.quasi, single, strict=True)},
        marginal_mean=float(np.mean(single)),
        marginal_max=max(single),
        pairwise_mean=float(np.mean(pairs)) if pairs else None,
        pairwise_max=max(pairs, default=None),
    )


def _moved(links: Ints, shown: list[Codes], table: Table) -> tuple[float, dict[str, float], float, float]:
    """iloss, per_attribute, unchanged and unchanged_records: person by person."""
    record = np.stack(shown, axis=1)[links]
    same = record == table.codes
    far = {a.name: float(displacement(a, record[:, j], table.codes[:, j]).mean()) for j, a in enumerate(table.quasi)}
    return sum(far.values()), far, float(same.mean()), float(same.all(axis=1).mean())


def _pairwise(shown: list[Codes], true: list[Codes], sizes: list[int]) -> list[float]:
    """The distance of every two columns, taken as one column of pairs."""

    def paired(columns: list[Codes], i: int, j: int) -> Ints:
        return columns[i].astype(np.int64) * sizes[j] + columns[j]

    every_two = combinations(range(len(sizes)), 2)
    return [_total_variation(paired(shown, i, j), paired(true, i, j), sizes[i] * sizes[j]) for i, j in every_two]


def _total_variation(first: npt.NDArray[Any], second: npt.NDArray[Any], size: int) -> float:
    """The total variation distance of two columns of codes below `size`."""
    if size > 8 * len(first) + 1_000_000:  # too many cells to count them all: only those that occur
        codes = np.unique(np.concatenate((first, second)), return_inverse=True)[1]
        first, second, size = codes[: len(first)], codes[len(first) :], int(codes.max()) + 1
    shares = [np.bincount(each, minlength=size) / len(each) for each in (first, second)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
