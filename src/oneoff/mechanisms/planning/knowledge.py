"""What is public about how sensitive values go with quasi-identifiers, and what may be planned with it.

Public people come from a table that is out already, or from the released part of this one. They say which values have
similar people, so that buckets can be made to look alike, and how values will be spread over a block before anybody
looks. Nothing here sees a sensitive value that is not public.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from oneoff.mechanisms.planning.blocks import Block
from oneoff.mechanisms.planning.buckets import pack
from oneoff.models import Limits
from oneoff.table import Table
from oneoff.table.arrays import Codes, Flags, Floats, Ints, offsets

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["TELLING", "Knowledge", "learn", "of_table", "pack_alike"]


_SHRINK = 30.0  # people of the whole public that every value's picture is mixed with
_DOUBT = 4.0  # standard deviations that a predicted share must stay below its ceiling
_ROUNDS = 20  # of expectation and maximization
_STEPS = 60_000  # exchanges tried when values are put together, three times over
TELLING = 100  # members of a group above which it says next to nothing about who has which value
_FEW = 20  # people in a bucket below which it does not matter what values it has


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Public people: their codes, and that person[e] has value[e] with probability weight[e]."""

    codes: Codes
    person: Ints
    value: Ints
    weight: Floats

    def picture(self, table: Table) -> Floats:
        """[value, code] the share of people with each code among those who have the value, for all attributes.

        Mixed with a few people of any value, because some values have few.
        """
        counted, many = self._count(table, np.ones(len(self.codes), dtype=np.bool_))
        marks = _offsets(table)
        for j in range(len(table.quasi)):
            column = counted[:, marks[j] : marks[j + 1]]
            column += _SHRINK * column.sum(axis=0) / max(column.sum(), 1e-12)
        return counted / (many + _SHRINK)[:, None]

    def picture_of(self, table: Table, block: Block, whole: Floats) -> Floats:
        """Likewise for the public people of a block, mixed with a few from the whole picture."""
        if block.known is None:
            return whole
        inside = np.zeros(len(self.codes), dtype=np.bool_)
        inside[block.known] = True
        counted, many = self._count(table, inside)
        return (counted + _SHRINK * whole) / (many + _SHRINK)[:, None]

    def _count(self, table: Table, inside: Flags) -> tuple[Floats, Floats]:
        """[value, code] expected people inside with the value and the code; and people with each value."""
        chosen, values = inside[self.person], len(table.counts)
        value, weight, person = self.value[chosen], self.weight[chosen], self.person[chosen]
        columns = []
        for j, attribute in enumerate(table.quasi):
            key = value * attribute.size + self.codes[person, j]
            counted = np.bincount(key, weights=weight, minlength=values * attribute.size)
            columns.append(counted.reshape(values, attribute.size))
        return np.concatenate(columns, axis=1), np.bincount(value, weights=weight, minlength=values).astype(np.float64)

    def foretells(self, table: Table, limits: Limits, block: Block) -> bool:
        """Will the block keep every ceiling? Only if it would also with four standard deviations of bad luck."""
        assert block.known is not None
        if len(block.known) == 0:
            return False
        inside = np.zeros(len(self.codes), dtype=np.bool_)
        inside[block.known] = True
        share, variance = self._counted(table, inside)
        ceiling = limits.rows[0] / limits.rows[1]
        near = np.clip(np.maximum(share, ceiling / 2), 0.0, 0.5)
        doubt = np.sqrt(near * (1 - near) * (variance + 1 / len(block.rows)))
        protected = (table.counts > 0) & (ceiling < 1)
        return bool((share + _DOUBT * doubt <= ceiling)[protected].all())

    def _counted(self, table: Table, inside: Flags) -> tuple[Floats, float]:
        """The share of every value among the public people inside, and its variance relative to a single person's."""
        chosen = inside[self.person]
        many = np.bincount(self.value[chosen], weights=self.weight[chosen], minlength=len(table.counts))
        people = float(many.sum())
        return (many + _SHRINK * table.counts / table.rows) / (people + _SHRINK), 1 / max(people, 1e-9)


def of_table(table: Table, public: Table) -> Knowledge:
    """Public people in the codes of the table; who has a value or a category that the table lacks is left out.

    A number that the table lacks becomes the next one it has.
    """
    assert table.sensitive is not None
    assert public.sensitive is not None
    columns = []
    for attribute in table.quasi:
        other, given = public.column(attribute.name)
        if attribute.kind == "numeric":
            near = np.searchsorted(attribute.labels, other.labels)
            columns.append(np.minimum(near, attribute.size - 1)[given])
        else:
            columns.append(_translated(attribute.labels, other.labels)[given])
    value = _translated(table.sensitive.labels, public.sensitive.labels)[public.values]
    codes = np.stack(columns, axis=1)
    usable = (codes >= 0).all(axis=1) & (value >= 0)
    many = int(usable.sum())
    return Knowledge(codes[usable].astype(np.int32), np.arange(many), value[usable], np.ones(many))


def _translated(own: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> Ints:
    """The own code of every label of another table, -1 for those unknown here."""
    known = {str(label): code for code, label in enumerate(own.tolist())}
    return np.array([known.get(str(label), -1) for label in other.tolist()], dtype=np.int64)


def learn(table: Table, released: list[tuple[Ints, Ints]]) -> Knowledge | None:
    """What groups that are out already tell: (members, values) of each level, both [groups, size], values unordered.

    Everybody's quasi-identifiers and the values of each group are known, who has which is not. Expectation and
    maximization: from a picture of every value, how likely is each of the group's values for each of its members
    (rows and columns of a group must add up); from these, better pictures. Only what is released goes in.

    Large groups are left out, since work and memory grow with their squares; None where there are no others.
    """
    people = np.concatenate([members.ravel() for members, _ in released])
    telling = [(level, first) for level, first in _numbered(released) if level[0].shape[1] <= TELLING]
    if not telling:
        return None
    levels = [level for level, _ in telling]
    entries = [_entries(members.shape, first) for (members, _), first in telling]
    person = np.concatenate([own for own, _ in entries])
    value = np.concatenate([np.repeat(shown, shown.shape[1], axis=0).ravel() for _, shown in levels])
    weight = np.concatenate([np.full(own.size, 1 / size) for own, size in entries])
    knowledge = Knowledge(table.codes[people], person, value, weight)
    ends = np.cumsum([own.size for own, _ in entries])[:-1]
    for _ in range(_ROUNDS):
        fit = np.split(_fit(table, knowledge), ends)
        shaped = [part.reshape(len(shown), shown.shape[1], -1) for part, (_, shown) in zip(fit, levels, strict=True)]
        knowledge = replace(knowledge, weight=np.concatenate([_balanced(part).ravel() for part in shaped]))
    return knowledge


def _numbered(released: list[tuple[Ints, Ints]]) -> list[tuple[tuple[Ints, Ints], int]]:
    """Each level with the number of its first person."""
    firsts = np.cumsum([0, *(members.size for members, _ in released)])
    return list(zip(released, firsts.tolist(), strict=False))


def _entries(shape: tuple[int, ...], first: int) -> tuple[Ints, int]:
    """For every group, member and value of the group: the number of the member; and the size."""
    groups, size = shape
    own = first + np.arange(groups * size)
    return np.repeat(own, size), size


def _fit(table: Table, knowledge: Knowledge) -> Floats:
    """How well each person fits the picture of each value that may be theirs (a product over the attributes)."""
    marks, picture = _offsets(table), np.log(knowledge.picture(table) + 1e-9)
    total = np.zeros(len(knowledge.person))
    for j in range(len(table.quasi)):
        total += picture[knowledge.value, marks[j] + knowledge.codes[knowledge.person, j]]
    return total


def _balanced(fit: Floats) -> Floats:
    """Probabilities [group, member, value] whose rows and columns add up to one (Sinkhorn's scaling)."""
    found: Floats = np.exp(fit - fit.max(axis=2, keepdims=True))
    for _ in range(4):
        found /= np.maximum(found.sum(axis=1, keepdims=True), 1e-12)
        found /= np.maximum(found.sum(axis=2, keepdims=True), 1e-12)
    return found


def _offsets(table: Table) -> Ints:
    return offsets([attribute.size for attribute in table.quasi])


def pack_alike(table: Table, space: Space, picture: Floats, counts: Ints, buckets: int) -> list[Ints]:
    """The values of each bucket, put together so that all buckets show similar people as far as is public.

    Starts from packing by size and exchanges values (annealing with a fixed course of chance). The loss foreseen is
    what no matching can avoid: for numbers the area between the buckets' lowest and highest distribution, for
    categories the excess of the largest count over the average; and one for everybody whom unequal sizes leave over.
    """
    from oneoff.kernels.planning import alike

    start = pack(counts, buckets)
    if counts.sum() < _FEW * buckets:
        return start
    home = np.full(len(counts), -1, dtype=np.int64)
    for bucket, values in enumerate(start):
        home[values] = bucket
    marks = _offsets(table)
    gaps = np.zeros(int(marks[-1]))
    numeric = np.zeros(int(marks[-1]), dtype=np.bool_)
    for j, attribute in enumerate(table.quasi):
        ordered = attribute.has_order or attribute.hierarchy is not None
        numeric[marks[j] : marks[j + 1]] = ordered
        gaps[marks[j] : marks[j + 1]] = np.append(np.diff(attribute.scaled), 0.0) if ordered else space.unit[j]
    shown = picture * counts[:, None]
    for j in range(len(table.quasi)):
        if numeric[marks[j]]:
            shown[:, marks[j] : marks[j + 1]] = np.cumsum(shown[:, marks[j] : marks[j + 1]], axis=1)
    present = np.flatnonzero(counts)
    found = alike(shown[present], counts[present], home[present], gaps, numeric, buckets, _STEPS)
    return [present[found == bucket] for bucket in range(buckets)]
