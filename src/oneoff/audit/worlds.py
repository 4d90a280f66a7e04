"""Worlds: who has which sensitive value, all of them, and what is left to believe after a release. Nothing is rounded.

Before a release all worlds with the known counts of values are equally likely. A method turns a world into outcomes:
how likely each is, what an insider sees of the way it was made, and the groups. Only then are values looked up: a
release is the members of each group and its values, in no order.

Worlds spread the values over the whole table. Somebody who knows the counts of each block beforehand is no stronger:
a release shows them, so only worlds that agree on them are left, and those are still equally likely.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from math import factorial, lcm, prod

import numpy as np

from oneoff.table.arrays import Ints

__all__ = [
    "Groups", "Learned", "Method", "Outcome", "Release", "Sets", "World", "arrangements", "believed", "insider",
    "number_of_worlds", "released",
]  # fmt: skip

World = tuple[int, ...]  # the value of every person
Sets = tuple[tuple[int, ...], ...]  # disjoint sets of people, in an order that follows from the sets alone
Groups = tuple[Sets, ...]  # of every level
Release = tuple[tuple[tuple[tuple[int, ...], tuple[int, ...]], ...], ...]  # (members, values) of each group, by level
Outcome = tuple[Fraction, Hashable, Groups]  # probability, what else is seen, groups
Method = Callable[[World], Iterable[Outcome]]


def number_of_worlds(counts: Sequence[int]) -> int:
    """How many there are in which value v has counts[v] people."""
    return factorial(sum(counts)) // prod(map(factorial, counts))


def arrangements(counts: Sequence[int]) -> Iterator[World]:
    """All distinct ways to put the number v in counts[v] of sum(counts) places."""
    places, found = range(sum(counts)), [0] * sum(counts)

    def place(v: int, free: tuple[int, ...]) -> Iterator[World]:
        if v == len(counts):
            yield tuple(found)
            return
        for chosen in combinations(free, counts[v]):
            for i in chosen:
                found[i] = v
            yield from place(v + 1, tuple(i for i in free if i not in chosen))

    return place(0, tuple(places))


def released(groups: Groups, world: World) -> Release:
    return tuple(tuple((group, tuple(sorted(world[i] for i in group))) for group in level) for level in groups)


def believed(worlds: Mapping[World, Fraction], values: int) -> list[list[Fraction]]:
    """[person][value]: what is believed when the worlds are so likely, up to a common factor."""
    weight, everything, _ = _weights(worlds, values)
    return [[Fraction(each, everything) for each in row] for row in weight.tolist()]


@dataclass(frozen=True)
class Learned:
    """What an insider may come to believe.

    highest   the largest belief in any value of anybody, after any release that can happen
    over      how far a belief exceeds its ceiling at most; not above 0 when the promise is kept
    gap       how far a belief differs from the share of the value in the person's group at most
    certain   the probability that the value of a person is known for sure
    """

    highest: Fraction
    over: Fraction
    gap: Fraction
    certain: Fraction


def insider(
    method: Method, counts: Sequence[int], ceilings: Sequence[Fraction], where: Callable[[Groups], bool] | None = None
) -> Learned:
    """Run the method on all worlds, and turn the probabilities of releases round. Nothing is rounded.

    where   look at these releases only
    """
    seen: dict[Hashable, dict[World, Fraction]] = {}
    shown: dict[Hashable, Release] = {}
    for world in arrangements(counts):
        for probability, structure, groups in method(world):
            if where is None or where(groups):
                release = released(groups, world)
                key = structure, release
                shown[key], worlds = release, seen.setdefault(key, {})
                worlds[world] = worlds[world] + probability if world in worlds else probability
    assert seen, "the method releases nothing"
    return _learned(seen, shown, ceilings)


def _learned(
    seen: dict[Hashable, dict[World, Fraction]], shown: dict[Hashable, Release], ceilings: Sequence[Fraction]
) -> Learned:
    highest, over, gap, certain, total = Fraction(0), Fraction(-1), Fraction(0), Fraction(0), Fraction(0)
    for key, worlds in seen.items():
        weight, everything, unit = _weights(worlds, len(ceilings))
        count, size = _shares(shown[key], len(ceilings))
        for v, most in enumerate(weight.max(axis=0).tolist()):
            highest, over = (
                max(highest, Fraction(most, everything)),
                max(over, Fraction(most, everything) - ceilings[v]),
            )
        for i, v in np.argwhere(weight * size[:, None] != count * everything).tolist():
            gap = max(gap, abs(Fraction(int(weight[i, v]), everything) - Fraction(int(count[i, v]), int(size[i]))))
        certain += everything * unit * Fraction(int((weight == everything).sum()), len(weight))
        total += everything * unit
    return Learned(highest, over, gap, certain / total)


def _weights(worlds: Mapping[World, Fraction], values: int) -> tuple[Ints, int, Fraction]:
    """weight[i, v]: how much the worlds weigh in which person i has v; what all weigh; the unit they are weighed in."""
    scale = lcm(*(probability.denominator for probability in worlds.values()))
    each = np.array([p.numerator * (scale // p.denominator) for p in worlds.values()], dtype=np.int64)
    inside = np.array(list(worlds))[:, :, None] == np.arange(values)
    return (each[:, None, None] * inside).sum(axis=0), int(each.sum()), Fraction(1, scale)


def _shares(release: Release, values: int) -> tuple[Ints, Ints]:
    """count[i, v]: how often v occurs in the group of person i; and how large that group is."""
    rows = sum(len(members) for level in release for members, _ in level)
    count, size = np.zeros((rows, values), dtype=np.int64), np.zeros(rows, dtype=np.int64)
    for members, inside in chain(*release):
        for i in members:
            size[i] = len(members)
            for v in inside:
                count[i, v] += 1
    return count, size
