"""Blocks: the top of the tree of cuts, from counts over all rows, until every piece fits a worker.

A cut is decided from how often each code of each column occurs among the people of a node, by the very rule of the loop
that cuts a table in memory, so that blocks are nodes of the tree that this loop would make. All nodes of a level are
counted in one pass. No sensitive value is looked at where the rule is one of quasi-identifiers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
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


class Cutting(Protocol):
    """A rule of cuts."""

    def split(self, counts: Sequence[Ints]) -> Split | None:
        """How to cut a node in which the codes of each column occur so often; None for not at all."""
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
    """Counts the codes of a batch at some nodes: [place, code of all columns]."""

    route: Route
    place: Ints
    places: int
    begin: Ints

    def __call__(self, batch: pa.RecordBatch) -> Ints:
        from oneoff.kernels.routing import counts_at

        node = self.route.at_nodes(batch)
        found: Ints = counts_at(_codes(batch, self.route.quasi), node, self.place, self.begin, self.places)
        return found


def added(one: Ints, other: Ints) -> Ints:
    one += other
    return one


def cut_blocks(
    engine: Engine, coded: Frame, header: Header, cutting: Cutting, most: int, report: Report | None = None
) -> tuple[Route, Ints]:
    """Cut nodes with more people than `most` for as long as the rule allows; the way to blocks, and people in each."""
    widths = [attribute.size for attribute in header.quasi]
    begin, tree = offsets(widths), _Tree(widths)
    people = {0: header.rows}
    known = {0: np.concatenate(header.margins[: len(widths)])}  # of nodes that were not cut yet
    frontier = [0]
    say = report or (lambda share: None)
    while frontier:
        say(1 - sum(people[node] for node in frontier) / header.rows)
        counted = known or _counted(engine, coded, tree, frontier, begin)
        known = {}
        following: list[int] = []
        for node in frontier:
            split = cutting.split(np.split(counted[node], begin[1:-1])) if people[node] > most else None
            if split is None:
                continue
            sides = tree.cut(node, split)
            inside = counted[node][begin[split.column] : begin[split.column + 1]]
            first = int(inside[split.left].sum())
            people[sides[0]], people[sides[1]] = first, people.pop(node) - first
            following += sides
        frontier = [node for node in following if people[node] > most]
    leaves = tree.leaves()
    return tree.route(leaves), np.array([people[node] for node in leaves], dtype=np.int64)


def _counted(engine: Engine, coded: Frame, tree: _Tree, frontier: Sequence[int], begin: Ints) -> dict[int, Ints]:
    """The counts of all these nodes, some of them in each pass."""
    step = max(1, _MOST_COUNTS // int(begin[-1]))
    found: dict[int, Ints] = {}
    for i in range(0, len(frontier), step):
        some = frontier[i : i + step]
        place = np.full(len(tree.nodes), -1, dtype=np.int64)
        place[some] = np.arange(len(some))
        counts = engine.reduce(coded, Counted(tree.route([]), place, len(some), begin), added)
        assert counts is not None
        found |= dict(zip(some, counts, strict=True))
    return found
