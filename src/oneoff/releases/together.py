"""How columns go together inside cells, as far as what lies between cells tells.

Tallies say of each column who is in a cell, never who combines what, so that estimates take columns to be independent
inside it. How wrong that is cannot be seen inside a cell. It can be seen one step up: when neighbouring cells are taken
together, what the tallies of all of them make of a question differs from what the single cells make of it, and both are
public. `together_in` tries that with many questions about two columns, taking two, four and eight neighbours together.

Of two properties a cell with n people has `room` for n sd(one) sd(other) more people who have both, or fewer, than if
they were independent. What is found is by which part of their room columns are wrong, beyond chance: alike in all
cells, where errors add up, and apart in each, where they do not. Inside cells it is taken to be as between neighbours.
docs/explanation/counting.md has what came of that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from oneoff.models import Counts
from oneoff.releases.tallies import ColumnTallies
from oneoff.table import Attribute
from oneoff.table.arrays import Codes, Flags, Floats, Ints, offsets
from oneoff.table.axes import axes_of

__all__ = ["BEYOND", "Together", "counted", "overlap", "together_in"]

BEYOND = 1.2  # columns go together more inside cells than between neighbours: of variances, measured, as is the next
_HALF = 0.5  # of what differs from one block of neighbours to the next differs from one cell to the next
_STEPS = (2, 4, 8)  # cells that are taken together
_MOST_CELLS = 16_000  # that are looked at
_PROPERTIES = 20  # that are tried of each column
_USUAL = 0.003  # the square of a usual part of the room
_SHRUNK = 0.1  # of what all pairs of columns tell together counts for each of them


@dataclass(frozen=True, eq=False)
class Together:
    """alike[i, j] and apart[i, j]: squares of the part of their room by which columns i and j are wrong, in all cells
    alike and in each cell apart from the others."""

    alike: Floats
    apart: Floats

    def variance(
        self, columns: Sequence[int], means: Sequence[Floats], squares: Sequence[Floats], size: Ints, each: Floats
    ) -> float:
        """Of how many people have a property in each of these columns, where one of cell c counts for each[c].

        means, squares   of what the codes of a column count for in each cell: both the part who have the property
        """
        found, people = float((overlap(means, squares, size) * each**2).sum()), size * np.abs(each)
        spread = [np.sqrt(np.maximum(square - mean**2, 0.0)) for mean, square in zip(means, squares, strict=True)]
        for a, b in combinations(range(len(columns)), 2):
            room = _product([people, spread[a], spread[b], *(each for i, each in enumerate(means) if i not in (a, b))])
            pair = columns[a], columns[b]
            found += float(self.alike[pair] * np.abs(room).sum() ** 2 + self.apart[pair] * (room * room).sum())
        return found


def counted(quasi: Sequence[Attribute], tallies: ColumnTallies, holds: Mapping[int, Flags]) -> tuple[float, float]:
    """How many people have one of these codes in each of these columns, and the standard error of that."""
    size = tallies.size
    shares = [tallies.people(j, codes) / size for j, codes in holds.items()]
    raw = float(_product([size, *shares]).sum())
    if len(shares) < 2:
        return raw, 0.0
    found = together_in(quasi, tallies).variance(list(holds), shares, shares, size, np.ones(len(size)))
    return raw, math.sqrt(BEYOND * found)


def overlap(means: Sequence[Floats], squares: Sequence[Floats], size: Ints | Floats) -> Floats:
    """The variance of how many people of each cell have several properties at once, drawn independently; or of a sum
    over these, where codes count for these means and squares."""
    if len(means) < 2:
        return np.zeros(len(size))
    one, less = _product([size, *squares]), np.maximum(size - 1, 1)  # everybody with themselves, then with others
    pairs = zip(means, squares, strict=True)
    others = _product([size * (size - 1), *((size * mean * mean - square) / less for mean, square in pairs)])
    found: Floats = np.maximum(one + others - _product([size, *means]) ** 2, 0)
    return found


def _product(factors: Sequence[Floats | Ints]) -> Floats:
    """Of arrays, one by one: np.prod would copy them all before."""
    found: Floats = reduce(np.multiply, factors[1:], factors[0].astype(np.float64, copy=False))
    return found


_KNOWN: WeakKeyDictionary[ColumnTallies, Together] = WeakKeyDictionary()


def together_in(quasi: Sequence[Attribute], tallies: ColumnTallies) -> Together:
    """What the cells of a release tell, found once."""
    if tallies not in _KNOWN:
        _KNOWN[tallies] = _found(quasi, tallies)
    return _KNOWN[tallies]


def _found(quasi: Sequence[Attribute], tallies: ColumnTallies) -> Together:
    rng = np.random.default_rng(0)  # noqa: TID251 - the questions that are tried are no secret
    levels, columns = _levels(quasi, tallies, rng), len(quasi)
    alike, apart = np.zeros((2, columns, columns)), np.zeros((2, columns, columns))
    for i, j in combinations(range(columns), 2):
        steps = _steps(levels, i, j)
        alike[:, i, j] = alike[:, j, i] = np.sum([_alike(step) for step in steps], axis=0)
        apart[:, i, j] = apart[:, j, i] = _apart(steps[0])
    return Together(_pooled(*alike), _HALF * _pooled(*apart))


def _alike(step: Step) -> tuple[float, float]:
    """Of all blocks together: what is wrong beyond chance, and the room for it. Squares; what chance says more about
    counts for less."""
    wrong, chance, room = (part.sum(axis=0) for part in step)
    trust = 1 / (np.maximum(chance, 0) + _USUAL * room**2 + 1)
    return float(trust @ (wrong**2 - np.maximum(chance, 0))), float(trust @ room**2)


def _apart(step: Step) -> tuple[float, float]:
    """The same of every block by itself."""
    wrong, chance, room = step
    return float((wrong**2 - np.maximum(chance, 0)).sum()), float((room**2).sum())


def _pooled(wrong: Floats, room: Floats) -> Floats:
    """[column, column]: the part of the room, a little nearer to that of all pairs where there is little room."""
    pairs = max(len(room) * (len(room) - 1), 1)
    if room.sum() <= 0:
        return np.full(room.shape, _USUAL)
    mean, few = max(float(wrong.sum() / room.sum()), 0.0), _SHRUNK * float(room.sum()) / pairs
    found: Floats = np.maximum((wrong + few * mean) / (room + few), _SHRUNK * mean)
    return found


# --- neighbours, and what is wrong when they are taken together


class Level(NamedTuple):
    """Cells, or blocks of neighbours, with so many people, of whom shares[column][block, property] have a property;
    begin says which of the level before are in each."""

    size: Floats
    shares: list[Floats]
    begin: Ints


class Step(NamedTuple):
    """[block, property]: by how much the block is wrong, what chance would make of that (a variance), and the room for
    it that its parts do not have."""

    wrong: Floats
    chance: Floats
    room: Floats


def _steps(levels: Sequence[Level], i: int, j: int) -> list[Step]:
    """From each level to the next, for the properties of two columns."""
    from oneoff.kernels.together import taken_together

    return [
        Step(*taken_together(*_of_columns(below, i, j), above.begin, *_of_columns(above, i, j)))
        for below, above in pairwise(levels)
    ]


def _of_columns(level: Level, i: int, j: int) -> tuple[Floats, Floats, Floats]:
    return level.size, level.shares[i], level.shares[j]


def _levels(quasi: Sequence[Attribute], tallies: ColumnTallies, rng: np.random.Generator) -> list[Level]:
    """The cells in an order in which neighbours are together, then two, four and eight of them as one."""
    order, begins = _neighbours(quasi, tallies, rng)
    size = tallies.size[order].astype(np.float64)
    taken = ColumnTallies(tuple(counts.take(order) for counts in tallies.columns), tallies.size[order], tallies.widths)
    shares = [
        np.stack([taken.people(j, _property(attribute, rng)) / size for _ in range(_PROPERTIES)], axis=1)
        for j, attribute in enumerate(quasi)
    ]
    levels = [Level(size, shares, np.arange(len(size)))]
    for begin in begins:
        people = np.add.reduceat(size, begin)
        shares = [np.add.reduceat(each * size[:, None], begin, axis=0) / people[:, None] for each in shares]
        size = people
        levels.append(Level(size, shares, begin))
    return levels


def _property(attribute: Attribute, rng: np.random.Generator) -> Flags:
    """Some codes next to each other where they have an order, any codes where not."""
    holds = np.zeros(attribute.size, dtype=np.bool_)
    if attribute.has_order and attribute.size > 2:
        width = max(1, round(attribute.size * rng.uniform(0.05, 0.6)))
        first = int(rng.integers(attribute.size - width + 1))
        holds[first : first + width] = True
    else:
        holds[rng.choice(attribute.size, int(rng.integers(1, max(2, attribute.size // 2 + 1))), replace=False)] = True
    return holds


def _neighbours(
    quasi: Sequence[Attribute], tallies: ColumnTallies, rng: np.random.Generator
) -> tuple[Ints, list[Ints]]:
    """An order of cells, and where blocks of two begin in it, where blocks of four among these, and so on.

    Cells are cut as people are, each by its commonest or its middle codes. Of very many cells some blocks are taken.
    """
    from oneoff.kernels.trees import cut_tree

    codes = np.stack([_typical(tallies, j, quasi[j].has_order) for j in range(len(quasi))], axis=1)
    counts = [np.bincount(each.value, each.count, width) for each, width in _columns(tallies)]
    axes, begin = axes_of(quasi, counts), offsets(tallies.widths)
    row, nodes = np.arange(len(codes), dtype=np.int32), np.array([0, len(codes)])
    blocks = []
    for least in reversed(_STEPS):
        nodes = cut_tree(codes, axes[0], begin, axes[1], row, nodes, least)
        blocks.append(np.repeat(np.arange(len(nodes) - 1), np.diff(nodes)))
    widest = blocks[0]
    some = rng.permutation(widest[-1] + 1)[: max(1, (widest[-1] + 1) * _MOST_CELLS // len(codes))]
    taken = np.isin(widest, some)
    return row[taken].astype(np.int64), _begins([block[taken] for block in reversed(blocks)])


def _begins(blocks: Sequence[Ints]) -> list[Ints]:
    """Where the blocks of each level begin among those of the level before."""
    found, level = [], np.arange(len(blocks[0]))
    for block in blocks:
        first = np.flatnonzero(np.diff(block, prepend=-1))
        found.append(np.searchsorted(level, first))
        level = first
    return found


def _columns(tallies: ColumnTallies) -> list[tuple[Counts, int]]:
    return list(zip(tallies.columns, tallies.widths, strict=True))


def _typical(tallies: ColumnTallies, j: int, has_order: bool) -> Codes:
    """The code in the middle of each cell, or the commonest one."""
    counts = tallies.columns[j]
    first = counts.start[:-1]
    if has_order:
        until = np.cumsum(counts.count)
        below = 2 * (until - (until - counts.count)[first][counts.owner]) < tallies.size[counts.owner]
        return counts.value[first + np.add.reduceat(below, first, dtype=np.int64)].astype(np.int32)
    order = np.lexsort((counts.value, -counts.count, counts.owner))
    return counts.value[order[first]].astype(np.int32)
