"""People of a release in parts, drawn by chance, with what it shows of them: for what looks at a sample anyway.

Where a release has groups, whole groups are drawn, and those of them that are drawn are the release that is looked at:
ten times as many people as are guessed about, for there must be something to learn from. Other kinds are looked at in
whole parts, whose people are drawn one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oneoff.errors import BadValue
from oneoff.job import Job
from oneoff.larger.beside import people_beside
from oneoff.larger.lots import drawn_groups, drawn_rows, shares_of_parts
from oneoff.releases import InParts, Published
from oneoff.releases.private import Places
from oneoff.releases.thinned import Kept, groups_of
from oneoff.table import Table
from oneoff.table.arrays import Floats, Ints, offsets

__all__ = ["Drawn", "drawn_people"]

_SHOWN = 10  # times as many people as are guessed about are in what is looked at
_POINTS = 16  # places that are looked at, at most: a part each, or small ones beside each other
_WHOLE = 2_000_000  # people in parts that are read whole, about


@dataclass(frozen=True, eq=False)
class Drawn:
    """Some groups or parts together, with the prior of all; people of theirs in the table, where that is at hand.

    said   how many people of how many these are
    """

    release: Published
    table: Table | None
    said: str


def drawn_people(release: InParts, job: Job | None, most: int, seed: int) -> Drawn:
    """About so many people to guess about, and what the release shows of them and of others."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - which people are looked at
    rows = np.array([part["rows"] for part in release.described["parts"]])
    thin = groups_of(release.part(0)) is not None
    points = _POINTS if thin else int(np.clip(_WHOLE // rows.mean(), 2, _POINTS))
    share = shares_of_parts(rows, most * _SHOWN if thin else most, points, rng)
    return _by_groups(release, job, share, rng) if thin else _by_people(release, job, share, rng)


def _by_groups(release: InParts, job: Job | None, share: Floats, rng: np.random.Generator) -> Drawn:
    kept = {}
    for number in np.flatnonzero(share).tolist():
        owner = groups_of(release.part(number))
        assert owner is not None
        kept[number] = Kept(owner, drawn_groups(np.bincount(owner), float(share[number]), rng))
    kept = {number: each for number, each in kept.items() if each.groups.any()} or _one_group(kept, rng)
    some = release.thinned(kept)
    said = f"{some.rows:,} of {release.rows:,} people, in whole groups out of {_parts(release, kept)}"
    if job is None:
        return Drawn(some, None, said)
    fresh = {number: np.cumsum(each.records) - 1 for number, each in kept.items()}
    places = {number: _places(release, number) for number in kept}
    people = {number: np.flatnonzero(kept[number].records[each.record]) for number, each in places.items()}
    record = [fresh[number][places[number].record[people[number]]] for number in sorted(kept)]
    return _beside_rows(release, job, some, people, record, [len(each) for each in record], said)


def _one_group(kept: Mapping[int, Kept], rng: np.random.Generator) -> dict[int, Kept]:
    """Where groups are so few that none was drawn."""
    number = int(rng.choice(sorted(kept)))
    owner = kept[number].owner
    return {number: Kept(owner, np.arange(len(kept[number].groups)) == rng.choice(owner))}


def _by_people(release: InParts, job: Job | None, share: Floats, rng: np.random.Generator) -> Drawn:
    chosen = np.flatnonzero(share).tolist()
    some = release.some(chosen)
    has = [release.described["parts"][number] for number in chosen]
    people = {
        number: drawn_rows(part["rows"], float(share[number]), rng) for number, part in zip(chosen, has, strict=True)
    }
    many = sum(map(len, people.values()))
    said = f"{many:,} of {release.rows:,} people, beside all records of {_parts(release, chosen)}"
    if job is None:
        return Drawn(some, None, said)
    record = [_places(release, number).record[people[number]] for number in chosen]
    return _beside_rows(release, job, some, people, record, [part.get("cells", part["rows"]) for part in has], said)


def _parts(release: InParts, chosen: Collection[int]) -> str:
    return f"{len(chosen):,} of {release.parts:,} parts of the release, drawn by chance"


def _places(release: InParts, number: int) -> Places:
    places = release.places(number)
    assert places is not None
    return places


def _beside_rows(
    release: InParts, job: Job, some: Published, people: Mapping[int, Ints], record: Sequence[Ints],
    has: Sequence[int], said: str,
) -> Drawn:  # fmt: skip
    """With the rows of these people, whose records are numbered from 0 in each part; a part has so many."""
    seen = people_beside(release, job, people)
    problems = [f"part {each.part:05}: {each.problem}" for each in seen.parts if each.problem]
    if problems:
        raise BadValue(
            f"the release cannot be attacked beside this table: {problems[0]}",
            allowed="the table that was published, as it was then",
            hint="oneoff audit names all that does not fit",
        )
    before = offsets(has)[:-1].tolist()
    links = np.concatenate([each + first for each, first in zip(record, before, strict=True)])
    tables = [each.found for each in seen.parts if each.found is not None]
    return Drawn(replace(some, links=links), _together(tables), said)


def _together(tables: Sequence[Table]) -> Table:
    first = tables[0]
    kept = None if first.kept is None else np.concatenate([each.kept for each in tables if each.kept is not None])
    codes, values = (np.concatenate([getattr(each, name) for each in tables]) for name in ("codes", "values"))
    return replace(first, codes=codes, values=values, kept=kept)
