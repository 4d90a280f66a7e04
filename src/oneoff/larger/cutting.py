"""Blocks: the top of the tree of cuts, from counts over all rows, until every piece fits a worker.

A cut is decided from how often each code of each column occurs among the people of a node, and where several are worth
trying from what their sides reach, by the very rule of the loop that cuts a table in memory, so that blocks are nodes
of the tree that this loop would make. All nodes of a level are counted in one pass. No sensitive value is looked at
where the rule is one of quasi-identifiers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from oneoff.engines.waist import Engine, Frame, Report
from oneoff.larger.header import Header
from oneoff.table.arrays import Flags, Ints, offsets

__all__ = ["Cutting", "Route", "Split", "cut_blocks"]

_MOST_COUNTS = 6_000_000  # of codes at nodes that are counted in one pass


class Split(NamedTuple):
    """The column a node is cut on, and which of its codes go to the first side."""

    column: int
    left: Flags


class Sides(NamedTuple):
    """What the two sides of cuts reach, [cut, side, column]: lowest and highest code, and how many different ones."""

    low: Ints
    high: Ints
    distinct: Ints


class Cutting(Protocol):
    """A rule of cuts.

    by_value   counts are wanted by sensitive value: [code, value] of each column; else [code, 1]
    sets       columns of which it matters how many codes a side has, and not the lowest and highest
    """

    @property
    def by_value(self) -> bool: ...
    @property
    def sets(self) -> Flags: ...

    def proposals(self, counts: Sequence[Ints]) -> list[Split]:
        """Cuts worth trying of a node in which the codes of each column occur so often; the first of equals wins."""
        ...

    def best(self, proposals: Sequence[Split], people: Ints, size: int, sides: Sides) -> int:
        """Which of several: `people` of the first side of each, of `size` in all."""
        ...


@dataclass(frozen=True, eq=False)
class Route:
    """Where the rows of a coded batch go: down the tree to the block at its end.

    nodes   as the loop wants them (`kernels.routing`); left: flags of all cuts, one after the other
    block   of every node without a cut, -1 for others
    """

    quasi: int
    nodes: Ints
    left: Flags
    block: Ints

    def at_nodes(self, batch: pa.RecordBatch) -> Ints:
        from oneoff.kernels.routing import route

        found: Ints = route(_codes(batch, self.quasi), self.nodes, self.left)
        return found

    def __call__(self, batch: pa.RecordBatch) -> Ints:
        return self.block[self.at_nodes(batch)]


def _codes(batch: pa.RecordBatch, quasi: int) -> Any:
    return np.stack([np.asarray(batch[f"q{j}"]) for j in range(quasi)], axis=1).astype(np.int32)


@dataclass
class _Tree:
    """A tree that grows; the node of each row is found by its cuts."""

    widths: Sequence[int]
    nodes: list[list[int]] = field(default_factory=lambda: [[-1, 0, 0, 0]])
    flags: list[Flags] = field(default_factory=list)

    def cut(self, node: int, split: Split) -> tuple[int, int]:
        first = len(self.nodes)
        self.nodes[node] = [split.column, sum(map(len, self.flags)), first, first + 1]
        self.flags.append(split.left)
        self.nodes += [[-1, 0, 0, 0], [-1, 0, 0, 0]]
        return first, first + 1

    def leaves(self) -> list[int]:
        """Ends of the tree from left to right, which is the order of pieces in a table that is cut at once."""
        found, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            column, _, first, second = self.nodes[node]
            if column < 0:
                found.append(node)
            else:
                waiting += [second, first]
        return found

    def route(self, blocks: Sequence[int]) -> Route:
        block = np.full(len(self.nodes), -1, dtype=np.int64)
        block[list(blocks)] = np.arange(len(blocks))
        flags = np.concatenate([*self.flags, np.zeros(1, dtype=np.bool_)])
        return Route(len(self.widths), np.array(self.nodes, dtype=np.int64), flags, block)


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts the codes of a batch at some nodes: [place, code of all columns, value].

    values   how many sensitive values there are, where they are to be told apart
    """

    route: Route
    place: Ints
    places: int
    begin: Ints
    values: int | None

    def __call__(self, batch: pa.RecordBatch) -> Ints:
        from oneoff.kernels.routing import counts_at, pairs_at

        node, codes = self.route.at_nodes(batch), _codes(batch, self.route.quasi)
        found: Ints
        if self.values is None:
            found = counts_at(codes, node, self.place, self.begin, self.places)[:, :, None]
        else:
            own = np.asarray(batch["v"]).astype(np.int32)
            found = pairs_at(codes, own, node, self.place, self.begin, self.places, self.values)
        return found


@dataclass(frozen=True, eq=False)
class Reached:
    """What both sides of proposed cuts reach in a batch: lowest and highest codes, and sets of codes."""

    route: Route
    first: Ints
    column: Ints
    left: Flags
    set_begin: Ints

    def __call__(self, batch: pa.RecordBatch) -> tuple[Ints, Ints, Flags]:
        from oneoff.kernels.topcuts import extents_at

        node, codes = self.route.at_nodes(batch), _codes(batch, self.route.quasi)
        found: tuple[Ints, Ints, Flags] = extents_at(codes, node, self.first, self.column, self.left, self.set_begin)
        return found


def joined(one: tuple[Ints, Ints, Flags], other: tuple[Ints, Ints, Flags]) -> tuple[Ints, Ints, Flags]:
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1]), one[2] | other[2]


def added(one: Ints, other: Ints) -> Ints:
    one += other
    return one


def cut_blocks(
    engine: Engine, coded: Frame, header: Header, cutting: Cutting, most: int, report: Report | None = None
) -> tuple[Route, Ints]:
    """Cut nodes with more people than `most` for as long as the rule allows; the way to blocks, and people in each."""
    top = _Top(engine, coded, header, cutting)
    tree, people, frontier = _Tree([attribute.size for attribute in header.quasi]), {0: header.rows}, [0]
    say = report or (lambda share: None)
    while frontier := [node for node in frontier if people[node] > most]:
        say(1 - sum(people[node] for node in frontier) / header.rows)
        counts = top.counts(tree, frontier)
        splits = top.splits(tree, {node: cutting.proposals(counts[node]) for node in frontier}, counts)
        frontier = []
        for node, split in splits.items():
            sides = tree.cut(node, split)
            first = _first_side(counts[node], split)
            people[sides[0]], people[sides[1]] = first, people.pop(node) - first
            frontier += sides
    leaves = tree.leaves()
    return tree.route(leaves), np.array([people[node] for node in leaves], dtype=np.int64)


def _first_side(counts: Sequence[Ints], split: Split) -> int:
    return int(counts[split.column][split.left].sum())


class _Top(NamedTuple):
    """What is asked of all rows while the top of the tree grows."""

    engine: Engine
    coded: Frame
    header: Header
    cutting: Cutting

    def counts(self, tree: _Tree, frontier: Sequence[int]) -> dict[int, list[Ints]]:
        """[code, value] of each column at all these nodes, some of them in each pass."""
        header, begin = self.header, offsets([attribute.size for attribute in self.header.quasi])
        values = len(header.counts) if self.cutting.by_value else None
        if values is None and frontier == [0]:  # known already
            return {0: [margin[:, None] for margin in header.margins[: len(header.quasi)]]}
        found: dict[int, list[Ints]] = {}
        for some in _in_steps(frontier, _MOST_COUNTS // (int(begin[-1]) * (values or 1))):
            place = np.full(len(tree.nodes), -1, dtype=np.int64)
            place[some] = np.arange(len(some))
            counted = Counted(tree.route([]), place, len(some), begin, values)
            counts = self.engine.reduce(self.coded, counted, added)
            assert counts is not None
            found |= {node: np.split(own, begin[1:-1]) for node, own in zip(some, counts, strict=True)}
        return found

    def splits(self, tree: _Tree, proposals: dict[int, list[Split]], counts: dict[int, list[Ints]]) -> dict[int, Split]:
        """The cut of every node that has one."""
        found = {node: own[0] for node, own in proposals.items() if own}
        several = [node for node, own in proposals.items() if len(own) > 1]
        for some in _in_steps(several, _MOST_COUNTS // self._widest()):
            tried = [(node, split) for node in some for split in proposals[node]]
            sides = self._sides(tree, tried)
            people = np.array([_first_side(counts[node], split) for node, split in tried])
            for node in some:
                own = np.array([i for i, (other, _) in enumerate(tried) if other == node])
                size = int(counts[node][0].sum())
                reached = Sides(sides.low[own], sides.high[own], sides.distinct[own])
                found[node] = proposals[node][self.cutting.best(proposals[node], people[own], size, reached)]
        return found

    def _widest(self) -> int:
        """About how many numbers are kept of a node while its cuts are compared."""
        sizes = np.array([attribute.size for attribute in self.header.quasi])
        of_a_cut = 2 * int(sizes[self.cutting.sets].sum()) + 4 * len(sizes) + int(sizes.max())
        return 2 * len(sizes) * of_a_cut

    def _sides(self, tree: _Tree, tried: Sequence[tuple[int, Split]]) -> Sides:
        sizes = np.array([attribute.size for attribute in self.header.quasi])
        left = np.zeros((len(tried), int(sizes.max())), dtype=np.bool_)
        for i, (_, split) in enumerate(tried):
            left[i, : len(split.left)] = split.left
        first = np.searchsorted([node for node, _ in tried], np.arange(len(tree.nodes) + 1))
        column, begin = np.array([split.column for _, split in tried]), offsets(np.where(self.cutting.sets, sizes, 0))
        reached = Reached(tree.route([]), first, column, left, begin)
        extents = self.engine.reduce(self.coded, reached, joined)
        assert extents is not None
        low, high, seen = extents
        distinct = np.stack([part.sum(axis=-1) for part in np.split(seen, begin[1:-1], axis=-1)], axis=-1)
        return Sides(low, high, distinct)


def _in_steps(nodes: Sequence[int], step: int) -> Iterator[list[int]]:
    step = max(1, step)
    yield from (list(nodes[i : i + step]) for i in range(0, len(nodes), step))
