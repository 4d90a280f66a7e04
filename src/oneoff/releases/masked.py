"""Masked microdata: records look like those of the original table, but chance chose their quasi-identifiers.

Every record has the columns and types of the table and the true sensitive value of its person. Which people covered for
one another, and with which probabilities, is not part of what goes out (paper 003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from oneoff.models import Model
from oneoff.plans import Cover
from oneoff.releases.published import Published, with_values
from oneoff.table import Attribute, Table

__all__ = ["Masked", "mask"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Masked(Published):
    """codes[r, j] is what record r shows of quasi-identifier j, values[r] the sensitive value of its person.

    kept[r]  codes of the columns that travel with the sensitive value
    cover    private: how the quasi-identifiers were drawn
    """

    form: ClassVar[str] = "masked"

    codes: npt.NDArray[np.int32]
    values: npt.NDArray[np.int32]
    keep: tuple[Attribute, ...] = ()
    kept: npt.NDArray[np.int32] | None = None
    cover: Cover | None = None

    @property
    def rows(self) -> int:
        return len(self.values)

    def _shape(self) -> str:
        return "masked"


def mask(table: Table, cover: Cover, model: Model, *, method: str, against: str, rng: np.random.Generator) -> Masked:
    """Draw quasi-identifiers for everybody, and publish the records in random order."""
    codes = _exchanged(table, cover, rng) if cover.joint else _drawn(table, cover, rng)
    person = rng.permutation(table.rows)
    shared = with_values(table, person)
    return Masked(**shared, method=method, model=model, against=against, codes=codes[person], cover=cover)


def _exchanged(table: Table, cover: Cover, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Within every group, all quasi-identifiers of one person go to another at random."""
    group = cover.partition.group
    taker, giver = np.argsort(group, kind="stable"), np.lexsort((rng.random(table.rows), group))
    codes = np.empty_like(table.codes)
    codes[taker] = table.codes[giver]
    return codes


def _drawn(table: Table, cover: Cover, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    codes = np.stack([each.draw(rng) for each in cover.tables], axis=1)
    if cover.redraw is not None:
        _redraw(table, cover, codes, rng)
    return codes


def _redraw(table: Table, cover: Cover, codes: npt.NDArray[np.int32], rng: np.random.Generator) -> None:
    """Algorithm 3: who came out unchanged gets another value of the group in one quasi-identifier.

    The paper draws a quasi-identifier and a value again and again until something changed; `redraw` has the chances
    with which that ends at each quasi-identifier, and all other values of the group are then equally likely.
    """
    assert cover.redraw is not None
    group = cover.partition.group
    odds = cover.redraw[group]
    unchanged = np.flatnonzero((codes == table.codes).all(axis=1) & (odds.sum(axis=1) > 0))
    ends = np.cumsum(odds[unchanged], axis=1)
    chosen = (rng.integers(0, ends[:, -1])[:, None] >= ends).sum(axis=1)
    for j in range(len(cover.tables)):
        people = unchanged[chosen == j]
        if len(people):
            codes[people, j] = _another(table.codes[:, j], group, people, rng)


def _another(
    code: npt.NDArray[np.int32], group: npt.NDArray[np.int32], people: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """For each of these people one of the other values that occur in the group, with equal chances."""
    width = int(code.max()) + 1
    key = np.unique(group.astype(np.int64) * width + code)
    start = np.searchsorted(key, np.arange(int(group.max()) + 2) * width)
    first, many = start[group[people]], np.diff(start)[group[people]]
    own = np.searchsorted(key, group[people].astype(np.int64) * width + code[people]) - first
    place = rng.integers(0, many - 1)
    place += place >= own
    return np.asarray(key[first + place] % width, dtype=np.int32)
