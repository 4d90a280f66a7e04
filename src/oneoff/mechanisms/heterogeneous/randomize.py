"""Which covered person's value a record shows: a random perfect matching of a regular generalization graph.

Papers 004 (section 5.2) and 000 (Theorem 3) want every person behind a record to be equally likely. They draw as many
disjoint perfect matchings as a record covers people and pick one, O(k n**2) for each by a backtracking walk. We halve
the graph instead wherever its degree is even and match by random walks where it is odd (Goel, Kapralov and Khanna 2013,
"Perfect matchings in O(n log n) time in regular bipartite graphs"), which is near linear. The papers' own walk is here,
too (`backtracking_matching`). Single edges are equally likely in all of them; which ones come together is not the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import Defect
from oneoff.table.arrays import Codes, Ints

__all__ = ["LARGEST_WALKED", "backtracking_matching", "disjoint_matchings", "random_matching"]

LARGEST_WALKED = 2000  # people in a part that `backtracking_matching` is meant for

Edges = Codes


def random_matching(cover: npt.NDArray[np.integer[Any]], rng: np.random.Generator) -> Ints:
    """The carrier of every record, one of those it covers: everybody is carried once, every edge drawn with 1/k.

    Every row of `cover` lists k different people and every person is listed k times. With an even degree half of the
    edges stay, each with probability 1/2. With an odd degree d some matching M is the answer with probability 1/d and
    leaves the graph otherwise. An edge that is in M with probability p is then drawn with p/d + (1-p) (1-1/d) / (d-1)
    = 1/d, whatever p is. The numbering of people and records has no influence on the distribution.
    """
    from oneoff.kernels.randomize import half, walk

    order, edges = _in_walking_order(cover, rng)
    while edges.shape[1] > 1:
        degree = edges.shape[1]
        if degree % 2 == 0:
            edges = half(edges, _stream(rng))
            continue
        slot = walk(edges, rng.permutation(len(edges)), _stream(rng))
        if rng.integers(degree) == 0:
            return _as_given(order, _taken(edges, slot))
        edges = _without(edges, slot)
    return _as_given(order, edges[:, 0])


def backtracking_matching(cover: npt.NDArray[np.integer[Any]], rng: np.random.Generator) -> Ints:
    """The same by the walks of paper 004, Figure 7: k disjoint assignments of each part, one of them drawn.

    Each begins with everybody's own record, closes one random cycle after the other, and steps back from dead ends.
    O(k n^2) for an assignment of n people, and (k + 1) / 2 of them on average.
    """
    from oneoff.kernels.randomize import backtracking, near_first

    _refuse_irregular(cover)
    edges = np.ascontiguousarray(cover, dtype=np.int32)
    n, k = edges.shape
    order = near_first(edges, np.arange(n))
    records = (np.argsort(edges.ravel(), kind="stable") // k).reshape(n, k)
    record = backtracking(records, order.astype(np.int64), _parts(edges, order), _stream(rng))
    carrier = np.empty(n, dtype=np.int64)
    carrier[record] = np.arange(n)
    return carrier


def _parts(edges: Edges, order: Edges) -> Ints:
    """Where parts begin in an order that goes through one after the other, and where the last one ends.

    In a regular graph whoever can be reached along the rows can be reached back.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, k = edges.shape
    graph = csr_array((np.ones(n * k), edges.ravel(), np.arange(n + 1) * k), shape=(n, n))
    part = connected_components(graph, directed=False)[1][order]
    return np.concatenate(([0], np.flatnonzero(np.diff(part)) + 1, [n]))


def disjoint_matchings(cover: npt.NDArray[np.integer[Any]], rng: np.random.Generator) -> Ints:
    """All k matchings of the papers, one in each row: carriers[t, j] is whom record j carries in matching t.

    Every edge is in exactly one of them, so that picking a row uniformly draws each edge with probability 1/k.
    """
    from oneoff.kernels.randomize import walk

    order, edges = _in_walking_order(cover, rng)
    carriers = np.empty(cover.shape[::-1], dtype=np.int64)
    for t in range(len(carriers)):
        slot = walk(edges, rng.permutation(len(edges)), _stream(rng))
        carriers[t] = _as_given(order, _taken(edges, slot))
        edges = _without(edges, slot)
    return carriers


def _in_walking_order(cover: npt.NDArray[np.integer[Any]], rng: np.random.Generator) -> tuple[Edges, Edges]:
    """(order, edges): the graph with record and person order[i] renamed to i, so that neighbours are near."""
    from oneoff.kernels.randomize import near_first

    _refuse_irregular(cover)
    edges = np.ascontiguousarray(cover, dtype=np.int32)
    order = near_first(edges, rng.permutation(len(edges)))
    name = np.empty(len(edges), dtype=np.int32)
    name[order] = np.arange(len(edges), dtype=np.int32)
    return order, name[edges[order]]


def _refuse_irregular(cover: npt.NDArray[np.integer[Any]]) -> None:
    """A walk through a graph without a perfect matching would never end."""
    n, k = cover.shape
    if n == 0 or k == 0 or int(cover.min()) < 0 or int(cover.max()) >= n:
        raise Defect("a record covers nobody, or somebody who does not exist")
    if (np.bincount(cover.ravel(), minlength=n) != k).any():
        raise Defect(f"the people are not covered equally often, namely by {k} records each")


def _stream(rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """A keystream of its own for a loop."""
    from oneoff.kernels.keystream import stream_of

    return stream_of(rng.bytes(32))


def _taken(edges: Edges, slot: Edges) -> Edges:
    taken: Edges = edges[np.arange(len(edges)), slot]
    return taken


def _without(edges: Edges, slot: Edges) -> Edges:
    """The graph without one slot of each row."""
    n, degree = edges.shape
    stays = np.ones((n, degree), dtype=np.bool_)
    stays[np.arange(n), slot] = False
    return edges[stays].reshape(n, degree - 1)


def _as_given(order: Edges, carrier: Edges) -> Ints:
    """The matching in the numbering of the caller."""
    result = np.empty(len(order), dtype=np.int64)
    result[order] = order[carrier]
    return result
