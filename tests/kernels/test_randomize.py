"""Orders, halves and walks in regular graphs against plain searches and Python's integers."""

from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.keystream import next_uint32, stream_of
from oneoff.kernels.randomize import backtracking, half, near_first, walk
from tests.kernels.keystream_twin import Bits


@st.composite
def graphs(draw: st.DrawFn, even: bool = False) -> np.ndarray:
    """A union of permutations, slots in random order; a person may stand in a row twice."""
    n, degree = draw(st.integers(1, 12)), 2 * draw(st.integers(1, 3)) if even else draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.permuted(np.stack([rng.permutation(n) for _ in range(degree)], axis=1), axis=1).astype(np.int32)


@given(graphs(), st.integers(0, 2**32))
def test_neighbours_come_near_each_other(edges: np.ndarray, seed: int) -> None:
    roots = np.random.default_rng(seed).permutation(len(edges))
    expected: list[int] = []
    for root in roots.tolist():
        waiting = deque([root] if root not in expected else [])
        expected += waiting
        while waiting:
            new = [i for i in dict.fromkeys(edges[waiting.popleft()].tolist()) if i not in expected]
            waiting += new
            expected += new
    assert near_first(edges, roots).tolist() == expected


@given(graphs(even=True), st.binary(min_size=32, max_size=32))
def test_a_half_takes_every_other_edge_of_each_cycle(edges: np.ndarray, key: bytes) -> None:
    """Rows are shuffled; then neighbours in a row are paired, and the visits of a person as they come."""
    bits, (n, degree) = Bits(key), edges.shape
    rows = edges.tolist()
    for row in rows:
        for t in range(degree - 1, 0, -1):
            u = bits.below(t + 1)
            row[t], row[u] = row[u], row[t]
    every = [(j, t) for j in range(n) for t in range(degree)]
    at_person = {}
    for person in range(n):
        visits = [(j, t) for j, t in every if rows[j][t] == person]
        for one, other in zip(visits[::2], visits[1::2], strict=True):
            at_person[one], at_person[other] = other, one
    stays: dict[tuple[int, int], bool] = {}
    for j, t in every:
        if (j, t) in stays:
            continue
        edge, stay = (j, t + bits.draw() % 2), True
        while edge not in stays:
            stays[edge] = stay
            edge, stay = (at_person[edge] if not stay else (edge[0], edge[1] ^ 1)), not stay
    stream = stream_of(key)
    kept = half(edges.copy(), stream)
    assert kept.tolist() == [[rows[j][t] for t in range(degree) if stays[j, t]] for j in range(n)]
    assert next_uint32(stream) == bits.draw()


@given(graphs(), st.binary(min_size=32, max_size=32))
def test_walks_end_at_free_people(edges: np.ndarray, key: bytes) -> None:
    """The same walks, kept as lists of steps; a walk that comes back to a record forgets the loop."""
    bits, (n, degree) = Bits(key), edges.shape
    starts = np.random.default_rng(list(key)).permutation(n)
    slot, owner = [-1] * n, [-1] * n
    for j in range(n):
        first = bits.below(degree)
        free = [t % degree for t in range(first, first + degree) if owner[edges[j, t % degree]] < 0]
        if free:
            slot[j], owner[edges[j, free[0]]] = free[0], j
    for first in starts.tolist():
        path: dict[int, int] = {}
        j = first
        while j >= 0 and slot[first] < 0:
            path = dict(list(path.items())[: list(path).index(j)]) if j in path else path
            t = bits.below(degree)
            while t == slot[j]:
                t = bits.below(degree)
            path[j] = t
            j = owner[edges[j, t]]
        for j, t in path.items():
            slot[j] = t
        for j, t in path.items():
            owner[edges[j, t]] = j
    assert walk(edges, starts, stream_of(key)).tolist() == slot
    assert sorted(int(edges[j, t]) for j, t in enumerate(slot)) == list(range(n))


@given(graphs(), st.binary(min_size=32, max_size=32))
def test_figure_7_step_by_step(records: np.ndarray, key: bytes) -> None:
    """The pseudocode on dicts and sets; all people are one part."""
    bits, (n, k) = Bits(key), records.shape
    rows: list[list[int]] = records.tolist()
    matches = {(i, t) for i in range(n) for t in range(k)}
    chosen: dict[int, int] = {}
    for _ in range(bits.below(k) + 1):
        holder, waiting, chosen = {i: i for i in range(n)}, list(range(n)), {}
        while waiting:
            i = waiting[bits.below(len(waiting))]
            path, met = list[tuple[int, int]](), set[int]()  # (person, slot) of the walk, without dead ends
            person = i
            while not path or rows[path[-1][0]][path[-1][1]] != i:
                ways = [t for t in range(k) if (person, t) in matches and rows[person][t] not in met]
                if ways:
                    path.append((person, ways[bits.below(len(ways))]))
                    met.add(rows[person][path[-1][1]])
                else:
                    path.pop()
                person = holder[rows[path[-1][0]][path[-1][1]]]
            for person, slot in reversed(path):
                chosen[person] = slot
                holder[rows[person][slot]] = person
                if person in waiting:  # the last one fills the gap
                    gap = waiting.index(person)
                    waiting[gap] = waiting[-1]
                    waiting.pop()
        matches -= set(chosen.items())
    got = backtracking(records.astype(np.int64), np.arange(n), np.array([0, n]), stream_of(key))
    assert got.tolist() == [rows[i][chosen[i]] for i in range(n)]
    assert sorted(got.tolist()) == list(range(n))
