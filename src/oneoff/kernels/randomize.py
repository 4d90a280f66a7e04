"""Halving regular bipartite graphs and walking to a perfect matching (the loops of `heterogeneous.randomize`).

A graph is an array with a row for each record; edges[j, t] is the person at the end of slot t. Every person stands in
it as often as a row is long. Whose value a record shows is a secret, so all chance is taken from a `keystream`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.keystream import below, next_uint32

__all__ = ["half", "near_first", "walk"]


@njit(cache=True)
def near_first(edges: Any, roots: Any) -> Any:
    """All numbers in the order in which a breadth-first search along the rows meets them, from one root after another.

    Neighbours in the graph become neighbours in memory, which makes walks several times faster.
    """
    n, degree = edges.shape
    order = np.empty(n, np.int32)
    met = np.zeros(n, np.bool_)
    head, tail = 0, 0
    for r in roots:
        if not met[r]:
            met[r] = True
            order[tail] = r
            tail += 1
        while head < tail:
            j = order[head]
            head += 1
            for t in range(degree):
                i = edges[j, t]
                if not met[i]:
                    met[i] = True
                    order[tail] = i
                    tail += 1
    return order


@njit(cache=True)
def half(edges: Any, stream: Any) -> Any:
    """Half of the edges, half as many at every record and every person: each edge is among them with probability 1/2.

    The slots of every record are paired by chance, those of every person as they come. An edge, its partner at the
    record, that one's partner at the person, and so on, make a cycle of even length; a coin decides which of its
    alternate edges stay.
    """
    n, degree = edges.shape
    _shuffle_rows(edges, stream)
    partner = _pair_by_person(edges)
    kept = np.empty((n, degree // 2), edges.dtype)
    for start in range(0, n * degree, 2):
        if partner[start] < 0:
            continue  # an earlier cycle came by
        e = start + np.int64(next_uint32(stream) & np.uint32(1))
        while partner[e] >= 0:
            j, t = e // degree, e % degree
            kept[j, t // 2] = edges[j, t]
            back = e ^ 1
            e = partner[back]
            partner[back], partner[back ^ 1] = -1, -1
    return kept


@njit(cache=True)
def _shuffle_rows(edges: Any, stream: Any) -> None:
    n, degree = edges.shape
    for j in range(n):
        for t in range(degree - 1, 0, -1):
            u = below(stream, t + 1)
            edges[j, t], edges[j, u] = edges[j, u], edges[j, t]


@njit(cache=True)
def _pair_by_person(edges: Any) -> Any:
    """For every edge (record * degree + slot) another one that ends at the same person."""
    n, degree = edges.shape
    partner = np.empty(n * degree, np.int32)
    waiting = np.full(n, -1, np.int32)
    for j in range(n):
        for t in range(degree):
            e, i = j * degree + t, edges[j, t]
            if waiting[i] < 0:
                waiting[i] = e
            else:
                partner[e], partner[waiting[i]] = waiting[i], e
                waiting[i] = -1
    return partner


@njit(cache=True)
def walk(edges: Any, starts: Any, stream: Any) -> Any:
    """The slot of every record in a perfect matching found by random walks, O(n log n) steps expected.

    First every record takes a free person if it has one. From any other record walk along a random edge to a person,
    back along that person's matched edge to a record, on along any of its other edges, until a free person is met.
    The edges by which the records were left last make a path without loops; exchanging along it matches one record
    more. The bound on the steps needs `starts`, all records, to be in random order.
    """
    n, degree = edges.shape
    owner = np.full(n, -1, np.int32)  # the record matched to each person
    slot = _take_free(edges, owner, stream)
    left_by = np.empty(n, np.int32)
    for first in starts:
        if slot[first] >= 0:
            continue
        j = np.int64(first)
        while j >= 0:
            t = below(stream, degree)
            while t == slot[j]:
                t = below(stream, degree)
            left_by[j] = t
            j = np.int64(owner[edges[j, t]])
        j = np.int64(first)
        while j >= 0:
            slot[j] = left_by[j]
            i = edges[j, slot[j]]
            j, owner[i] = np.int64(owner[i]), j
    return slot


@njit(cache=True)
def _take_free(edges: Any, owner: Any, stream: Any) -> Any:
    """The first free slot of every record, looking from a random one on; -1 where all are taken."""
    n, degree = edges.shape
    slot = np.full(n, -1, np.int32)
    for j in range(n):
        first = below(stream, degree)
        for more in range(degree):
            t = (first + more) % degree
            if owner[edges[j, t]] < 0:
                owner[edges[j, t]] = j
                slot[j] = t
                break
    return slot
