"""Some parts of a release, drawn by chance, as a release by itself: for what looks at a sample of people anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oneoff.errors import BadValue
from oneoff.job import Job
from oneoff.larger.beside import look_beside
from oneoff.releases import InParts, Published
from oneoff.table import Table
from oneoff.table.arrays import Ints

__all__ = ["Drawn", "drawn_people"]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Some parts together, with the prior of all; their people in the table, where that is at hand.

    said   how many people of how many these are
    """

    release: Published
    table: Table | None
    said: str


def drawn_people(release: InParts, job: Job | None, most: int, seed: int) -> Drawn:
    """So many parts as have that many people, in the order of their number."""
    rows = np.array([part["rows"] for part in release.described["parts"]])
    order = np.random.default_rng(seed).permutation(len(rows))  # noqa: TID251 - which people are looked at
    enough = int(np.searchsorted(np.cumsum(rows[order]), most)) + 1
    chosen = sorted(order[:enough].tolist())
    some = release.some(chosen)
    said = (
        f"looked at {some.rows:,} of {release.rows:,} people, in {len(chosen):,} of {release.parts:,} parts of the "
        f"release, drawn by chance (seed {seed})"
    )
    if job is None:
        return Drawn(some, None, said)
    seen = look_beside(release, job, _people, wanted=chosen)
    problems = [each.problem for each in seen.parts if each.problem]
    if problems:
        raise BadValue(
            f"the release cannot be attacked beside this table: part {problems[0]}",
            allowed="the table that was published, as it was then",
            hint="oneoff audit names all that does not fit",
        )
    tables = [each.found for each in seen.parts if each.found is not None]
    return Drawn(replace(some, links=_links(release, chosen)), _together(tables), said)


def _people(part: Published, table: Table | None) -> Table | None:
    return table


def _together(tables: Sequence[Table]) -> Table:
    first = tables[0]
    kept = None if first.kept is None else np.concatenate([each.kept for each in tables if each.kept is not None])
    codes, values = (np.concatenate([getattr(each, name) for each in tables]) for name in ("codes", "values"))
    return replace(first, codes=codes, values=values, kept=kept)


def _links(release: InParts, chosen: Sequence[int]) -> Ints:
    """The record of everybody, or their cell, among those of the chosen parts."""
    has = [release.described["parts"][number] for number in chosen]
    before = np.cumsum([0, *(part.get("cells", part["rows"]) for part in has)])
    places = [release.places(number) for number in chosen]
    found = [each.record + first for each, first in zip(places, before.tolist(), strict=False) if each is not None]
    return np.concatenate(found)
