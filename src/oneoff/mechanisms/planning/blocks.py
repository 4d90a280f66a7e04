"""Blocks: a table cut along quasi-identifiers only, into parts that are anonymized on their own.

No sensitive value of the table is looked at here. Where to cut is a function of everybody's quasi-identifiers and of
what is public; so blocks tell nobody anything, however well the adversary knows the algorithm.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, UnreachableGuarantee, listing
from oneoff.mechanisms.task import Task
from oneoff.randomness import secret_generator
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Flags, Ints

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["Block", "Cut", "Tree", "column_names", "cut_blocks", "listed_blocks", "refuse_ineligible"]


_SMALLER_SIDE = 0.3  # share of a block that each side of a cut must have


@dataclass(frozen=True, eq=False)
class Cut:
    """left[code]: does a person with this code of that column go to the first side? `edge` is the last such code."""

    column: int
    left: Flags
    edge: int

    def first(self, codes: npt.NDArray[np.integer[Any]]) -> Flags:
        side: Flags = self.left[codes[:, self.column]]
        return side


@dataclass(frozen=True, eq=False)
class Block:
    """People, and in words how they were cut out; `known` are the public people who would be among them.

    region   all people whom the cuts alone put there, those in question or not; depth is how many cuts that are
    """

    rows: Ints
    where: str = "everybody"
    known: Ints | None = None
    region: Ints | None = None
    depth: int = 0


@dataclass(frozen=True, eq=False)
class Tree:
    """Blocks in the order they came about: cut number i replaced block parent[i] by the blocks 2i+1 and 2i+2."""

    blocks: tuple[Block, ...]
    parent: tuple[int, ...] = ()

    def leaves(self, cuts: int | None = None) -> list[int]:
        """The numbers of the blocks after so many cuts; after all of them by default."""
        cuts = len(self.parent) if cuts is None else cuts
        gone = set(self.parent[:cuts])
        return [b for b in range(2 * cuts + 1) if b not in gone]


def cut_blocks(
    table: Table,
    space: Space,
    *,
    rows: Ints | None = None,
    region: Ints | None = None,
    most_blocks: int | None = None,
    size: int | None = None,
    columns: Sequence[str] | None = None,
    multiple: int = 1,
    rng: np.random.Generator | None = None,
    known: Codes | None = None,
    suits: Callable[[Block], bool] | None = None,
) -> Tree:
    """Halve the largest block again and again, by the best of the median cuts over the columns.

    The best cut leaves people on each side most alike: the expected loss of two random people of the same side is
    least. A side has at least three tenths of the block, and at least `size` people.

    rows          the people; everybody by default
    region        people whose quasi-identifiers decide where to cut; the same by default
    most_blocks   stop at so many
    columns       cut on these only
    multiple      the first side of each cut has a multiple of so many people: a few, drawn by chance from those next
                  to the cut, change sides
    known         quasi-identifiers of public people, who are sent down the tree as well
    suits         only make cuts both sides of which suit; it sees quasi-identifiers and public people, nothing else
    """
    chosen, round_off = (
        _columns(table, columns),
        partial(_rounded, multiple=multiple, rng=rng or secret_generator()),
    )
    rows = np.arange(table.rows) if rows is None else rows
    everybody = Block(rows, known=None if known is None else np.arange(len(known)), region=region)
    blocks, parent = [everybody], list[int]()
    waiting = [(-len(rows), 0)]
    while waiting and (most_blocks is None or len(parent) + 1 < most_blocks):
        _, number = heapq.heappop(waiting)
        sides = _best_sides(table, space, blocks[number], chosen, size or 1, known, suits, round_off)
        if sides is None:
            continue
        for side in sides:
            heapq.heappush(waiting, (-len(side.rows), len(blocks)))
            blocks.append(side)
        parent.append(number)
    return Tree(tuple(blocks), tuple(parent))


def _best_sides(
    table: Table,
    space: Space,
    block: Block,
    columns: list[int],
    size: int,
    known: Codes | None,
    suits: Callable[[Block], bool] | None,
    round_off: Callable[[Cut, Codes, Flags], Flags],
) -> tuple[Block, Block] | None:
    codes = table.codes[block.rows if block.region is None else block.region]
    cuts = [_median_cut(table.quasi[j], codes[:, j], j) for j in columns]
    least = max(size, int(np.ceil(_SMALLER_SIDE * len(codes))))
    ranked = []
    for cut in cuts:
        first = cut.first(codes)
        if least <= int(first.sum()) <= len(codes) - least:
            loss = sum(_pair_loss(table, space, codes[side]) * int(side.sum()) for side in (first, ~first))
            ranked.append((loss, cut.column, cut))
    people = table.codes[block.rows]
    for _, _, cut in sorted(ranked, key=lambda entry: entry[:2]):
        first = cut.first(people)
        rounded = round_off(cut, people, first)
        sides = _sides(table, block, cut, rounded if int(rounded.sum()) >= size else first, known)
        if suits is None or (suits(sides[0]) and suits(sides[1])):
            return sides
    return None


def _rounded(cut: Cut, codes: Codes, first: Flags, *, multiple: int, rng: np.random.Generator) -> Flags:
    """Let a few people at the edge of the first side change over, so that it has a multiple."""
    over = int(first.sum()) % multiple
    edge = np.flatnonzero(first & (codes[:, cut.column] == cut.edge))
    if over == 0 or len(edge) <= over:
        return first
    rounded = first.copy()
    rounded[rng.choice(edge, over, replace=False)] = False
    return rounded


def _sides(table: Table, block: Block, cut: Cut, first: Flags, known: Codes | None) -> tuple[Block, Block]:
    attribute, made = table.quasi[cut.column], []
    for side, flags in ((first, cut.left), (~first, ~cut.left)):
        where = _words(attribute, table.codes[block.rows[side], cut.column])
        public = None
        if known is not None and block.known is not None:
            public = block.known[flags[known[block.known, cut.column]]]
        region = block.region
        if region is not None:
            region = region[flags[table.codes[region, cut.column]]]
        name = where if block.where == "everybody" else f"{block.where}, {where}"
        made.append(Block(block.rows[side], name, public, region, block.depth + 1))
    return made[0], made[1]


def _median_cut(attribute: Attribute, codes: Codes, column: int) -> Cut:
    """Numbers and trees by their order, categories the most common first: where the halves are most equal."""
    count = np.bincount(codes, minlength=attribute.size)
    ordered = attribute.has_order or attribute.hierarchy is not None
    order = np.arange(attribute.size) if ordered else np.argsort(-count, kind="stable")
    below = np.cumsum(count[order])
    last = int(np.argmin(np.abs(2 * below - len(codes))))
    left = np.zeros(attribute.size, dtype=np.bool_)
    left[order[: last + 1]] = True
    return Cut(column, left, int(order[last]))


def refuse_ineligible(task: Task, blocks: Sequence[Block], hint: Callable[[], str]) -> None:
    """A block that breaks the promise as one group breaks it in any groups."""
    bad = [block for block in blocks if not task.limits.allows(task.counts(block.rows))]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise UnreachableGuarantee(
            f"a block cannot keep {task.model.spec()} by itself: {bad[0].where}: {_why(task, bad[0].rows)}{more}",
            allowed="blocks that each keep the promise",
            got=f"{len(blocks)} blocks, {len(bad)} of them ineligible",
            hint=hint(),
        )


def _why(task: Task, rows: Ints) -> str:
    """What these people have too much or too little of."""
    counts, most = task.counts(rows), task.limits.most(len(rows))
    worst = int(np.argmax(counts - most))
    if counts[worst] <= most[worst]:
        return f"its {len(rows)} people are too few, or have too little of some value"
    label = "anything" if task.table.sensitive is None else task.table.sensitive.labels[worst]
    return f"{int(counts[worst])} of its {len(rows)} people have {label!s}, at most {int(most[worst])} may"


def _pair_loss(table: Table, space: Space, codes: Codes) -> float:
    """What two people drawn at random lose together, summed over the attributes."""
    total = 0.0
    for j, attribute in enumerate(table.quasi):
        share = np.bincount(codes[:, j], minlength=attribute.size) / len(codes)
        if attribute.has_order or attribute.hierarchy is not None:
            below = np.cumsum(share)[:-1]
            total += 2 * float((below * (1 - below) * np.diff(attribute.scaled)).sum())
        else:
            total += (1 - float((share**2).sum())) * float(space.unit[j])
    return total


def _words(attribute: Attribute, codes: Codes) -> str:
    """How a side would be described to the steward."""
    present = np.unique(codes)
    labels = attribute.labels[present]
    if attribute.has_order:
        return f"{attribute.name} {labels[0]} to {labels[-1]}" if len(present) else f"no {attribute.name}"
    shown = listing([str(label) for label in labels[:4]])
    return f"{attribute.name} in {shown}{' ...' if len(present) > 4 else ''}"


def _columns(table: Table, names: Sequence[str] | None) -> list[int]:
    known = [attribute.name for attribute in table.quasi]
    unknown = [name for name in names or [] if name not in known]
    if unknown:
        raise BadValue(
            f"blocks cannot be cut on {listing(map(repr, unknown))}",
            allowed=f"quasi-identifiers: {', '.join(known)}",
            got=", ".join(names or []),
        )
    return [known.index(name) for name in names] if names else list(range(len(known)))


def listed_blocks(table: Table, cuts: Mapping[str, Sequence[Any]]) -> list[Block]:
    """Blocks from a list of cuts: for numbers the highest value of each part but the last, for categories the parts.

    {"age": [29, 49], "sex": [["F"], ["M"]]} makes the blocks of all combinations that occur. A category that no part
    names belongs to one more part.
    """
    cell = np.zeros(table.rows, dtype=np.int64)
    for name, parts in cuts.items():
        j = _columns(table, [name])[0]
        part = _parts(table.quasi[j], parts)
        cell = cell * (int(part.max()) + 1) + part[table.codes[:, j]]
    where = np.unique(cell, return_inverse=True)[1]
    members = np.split(np.argsort(where, kind="stable"), np.cumsum(np.bincount(where))[:-1])
    return [Block(rows, _cell_words(table, rows, cuts)) for rows in members]


def _parts(attribute: Attribute, parts: Sequence[Any]) -> Ints:
    """The number of the part of every code."""
    if attribute.kind == "numeric":
        try:
            edges = np.array(sorted(parts)).astype(attribute.labels.dtype)
        except (TypeError, ValueError):
            raise BadValue(
                f"the cuts of {attribute.name!r} are not numbers",
                allowed="a list of numbers",
                got=listing(map(repr, parts)),
            ) from None
        return np.searchsorted(edges, attribute.labels, side="left").astype(np.int64)
    part = np.full(attribute.size, len(parts), dtype=np.int64)
    for number, labels in enumerate(parts):
        names = [labels] if isinstance(labels, str) else [str(label) for label in labels]
        part[np.isin(attribute.labels.astype(str), names)] = number
    if parts and (part == len(parts)).all():
        raise BadValue(
            f"the cuts of {attribute.name!r} name no category that occurs",
            allowed=f"lists of its categories, such as {listing([repr(str(x)) for x in attribute.labels[:3]])}",
            got=listing(map(repr, parts)),
        )
    return part


def _cell_words(table: Table, rows: Ints, cuts: Mapping[str, Sequence[Any]]) -> str:
    chosen = [(attribute, j) for j, attribute in enumerate(table.quasi) if attribute.name in cuts]
    return ", ".join(_words(attribute, table.codes[rows, j]) for attribute, j in chosen)


def column_names(given: str | Sequence[str] | None) -> list[str] | None:
    if given is None:
        return None
    return [name.strip() for name in given.replace("+", ",").split(",")] if isinstance(given, str) else list(given)
