"""Halving regular bipartite graphs and walking to a perfect matching (the loops of `heterogeneous.randomize`).

A graph is an array with a row for each record; edges[j, t] is the person at the end of slot t. Every person stands in
it as often as a row is long. Whose value a record shows is a secret, so all chance is taken from a `keystream`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.keystream import below, next_uint32

__all__ = ["backtracking", "half", "near_first", "walk"]


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


@njit(cache=True)
def backtracking(records: Any, order: Any, first: Any, stream: Any) -> Any:
    """The record that everybody gets in one of k disjoint assignments, each made by the walks of paper 004, Figure 7.

    records[i] are the k records that cover person i. Parts are order[first[p] : first[p + 1]], people and records with
    the same numbers; each draws which of its k assignments is taken, and makes those before it, too (section 5.2.1).
    """
    n, k = records.shape
    used = np.zeros((n, k), np.bool_)  # slots taken by earlier assignments
    slot, holder = np.empty(n, np.int64), np.empty(n, np.int64)
    work = np.zeros((4, n + 1), np.int64)  # work[0, n] counts the walks
    for p in range(len(first) - 1):
        people = order[first[p] : first[p + 1]]
        for _ in range(below(stream, k) + 1):
            _assign(records, people, used, slot, holder, work, stream)
            for i in people:
                used[i, slot[i]] = True
    got = np.empty(n, np.int64)
    for i in range(n):
        got[i] = records[i, slot[i]]
    return got


@njit(cache=True)
def _assign(records: Any, people: Any, used: Any, slot: Any, holder: Any, work: Any, stream: Any) -> None:
    """One assignment: slot[i] of everybody. Begins with everybody's own record, which need not be allowed (line 1)."""
    place = work[3]  # of everybody in the list of those who are not processed
    waiting = people.copy()
    many = len(people)
    for at in range(many):
        holder[waiting[at]], place[waiting[at]] = waiting[at], at
    while many > 0:
        i = waiting[below(stream, many)]
        _walk_back(records, i, used, holder, work, stream)
        record = i
        while record >= 0:  # from its end: everybody takes the record that comes next, the one before is free then
            before = work[1, record]
            mover = holder[before] if before >= 0 else i
            holder[record], slot[mover] = mover, work[2, record]
            if place[mover] >= 0:
                many -= 1
                waiting[place[mover]] = waiting[many]
                place[waiting[many]] = place[mover]
                place[mover] = -1
            record = before


@njit(cache=True)
def _walk_back(records: Any, i: int, used: Any, holder: Any, work: Any, stream: Any) -> None:
    """A random walk from person i through records not met before, back to the record i holds (lines 6 to 17).

    work: the walk in which a record was met last, the record before it, and the slot by which it was reached. There
    is always a way back: as many matches lead to a record as away from whoever holds it (Lemma 3).
    """
    met, before, by = work[0], work[1], work[2]
    met[-1] += 1
    at, t = np.int64(-1), _free_slot(records, i, used, met, stream)
    while True:
        if t >= 0:
            record = records[holder[at] if at >= 0 else i, t]
            met[record], before[record], by[record] = met[-1], at, t
            if record == i:
                return
            at = record
        else:
            at = before[at]
        t = _free_slot(records, holder[at], used, met, stream)


@njit(cache=True)
def _free_slot(records: Any, i: int, used: Any, met: Any, stream: Any) -> int:
    """A random slot of person i whose match is not used and whose record this walk has not met; -1: there is none."""
    free = 0
    for t in range(records.shape[1]):
        free += not used[i, t] and met[records[i, t]] != met[-1]
    if free == 0:
        return -1
    left = below(stream, free)
    for t in range(records.shape[1]):
        if not used[i, t] and met[records[i, t]] != met[-1]:
            if left == 0:
                return t
            left -= 1
    return -1
