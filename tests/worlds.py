"""Small tables and outcomes of draws for the insider who tries all worlds (`oneoff.audit.worlds`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate, chain, pairwise, product

import numpy as np

from oneoff.audit.worlds import Groups, Learned, Method, Outcome, Release, Sets, World, arrangements, insider, released
from oneoff.mechanisms.planning.levels import Level
from oneoff.table import Attribute, Table

__all__ = [
    "Buckets", "Groups", "Learned", "Method", "Outcome", "Release", "World", "arrangements", "fillings", "insider",
    "released", "some_people", "with_values",
]  # fmt: skip

Buckets = tuple[Sets, ...]  # of every level

LETTERS = np.array([*"abcdefghi"], dtype=object)


def some_people(kinds: str, rows: int, values: int, seed: int) -> Table:
    """Random quasi-identifiers, one for each letter: n a number, c a category with ties. All have the first value."""
    rng = np.random.default_rng(seed)
    quasi, codes = [], []
    for j, kind in enumerate(kinds):
        raw = rng.integers(0, 100, rows) if kind == "n" else rng.integers(0, 4, rows)
        used, code = np.unique(raw, return_inverse=True)
        name = f"q{j}"
        quasi.append(Attribute(name, "numeric", used) if kind == "n" else Attribute(name, "categorical", LETTERS[used]))
        codes.append(code.astype(np.int32))
    sensitive = Attribute("s", "categorical", LETTERS[:values])
    matrix = np.ascontiguousarray(np.stack(codes, axis=1))
    return Table(tuple(quasi), matrix, sensitive, np.zeros(rows, dtype=np.int32))


def with_values(table: Table, world: Sequence[int]) -> Table:
    return Table(table.quasi, table.codes, table.sensitive, np.array(world, dtype=np.int32))


def fillings(levels: Sequence[Level], people: Sequence[int], world: World) -> list[Buckets]:
    """Every way to draw people for the slots, all equally likely; afterwards buckets have no names."""
    first, ways = _ways(tuple(levels))
    own: dict[int, list[int]] = {value: [] for value in ways}
    for i in people:
        own[world[i]].append(i)
    options = [[list(zip(way, own[value], strict=True)) for way in some] for value, some in ways.items()]
    return [_without_names(first, chain(*choice)) for choice in product(*options)]


@cache
def _ways(levels: tuple[Level, ...]) -> tuple[list[int], dict[int, list[World]]]:
    """The number of each level's first bucket; and for every value all ways to spread its people over the buckets."""
    buckets = [slots for level in levels for slots in level.slots.tolist()]
    first = [0, *accumulate(len(level.slots) for level in levels)]
    values = sorted(set(chain(*buckets)))
    return first, {value: list(arrangements([slots.count(value) for slots in buckets])) for value in values}


def _without_names(first: list[int], placed: Iterable[tuple[int, int]]) -> Buckets:
    found: list[list[int]] = [[] for _ in range(first[-1])]
    for bucket, person in sorted(placed, key=_person):
        found[bucket].append(person)
    return tuple(tuple(sorted(map(tuple, found[a:b]))) for a, b in pairwise(first))


def _person(placed: tuple[int, int]) -> int:
    return placed[1]
