"""Top-down cutting of the quasi-identifier space (the loop of `mechanisms.partitioning.mondrian`).

A node is a slice of `rows`. For every attribute the distinct codes of the node are put in an order (numbers and
hierarchies by code, plain categories by how common they are), the boundaries between them at which both halves keep
the promise are found in one sweep, and the most promising of those are tried: the one nearest the median, the one
that is best for this attribute alone, and in small nodes all of them. The cut with the least loss over all
attributes is made. Relaxed nodes that no boundary divides are also cut through ties, which a fixed order of the rows
by their quasi-identifiers decides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.rules import allows
from oneoff.kernels.sort import sort_ints
from oneoff.kernels.space import span_loss

__all__ = ["bench", "cut"]

TIES = 24  # about how many positions are tried when a node is cut through ties


class Bench(NamedTuple):
    """Working space, made once: compiled allocation of each array would cost compile time.

    hist, order, slot      [widest domain]   codes of a node: how often, in cutting order, place in that order
    edges                  [rows + 1]        where the pieces between boundaries begin
    candidates             [rows + 1]        positions worth trying
    seen_left, seen_right  [all codes]       when a code was last seen, to count distinct ones
    left, right, touched   [values]          sensitive values of both halves
    sorted_rows, best_rows [rows]            the node in cutting order: of this attribute, of the best cut so far
    """

    hist: Any
    order: Any
    slot: Any
    edges: Any
    candidates: Any
    seen_left: Any
    seen_right: Any
    left: Any
    right: Any
    touched: Any
    sorted_rows: Any
    best_rows: Any


def bench(rows: int, widest: int, all_codes: int, values: int) -> Bench:
    """Working space for a table of that shape."""
    sizes = [widest, widest, widest, rows + 1, rows + 1, all_codes, all_codes, values, values, values, rows, rows]
    return Bench(*(np.zeros(size, np.int64) for size in sizes))


@njit(cache=True)
def cut(
    codes: Any, values: Any, space: Any, rule: Any, tie: Any, by_tie: Any, rows: Any, stack: Any, cursor: Any,
    group: Any, work: Any, thorough: int, budget: int,
) -> None:  # fmt: skip
    """Cut nodes from the stack until it is empty or about `budget` rows were looked at.

    cursor = [nodes on the stack, groups made, rows in groups, stamp]; rows, stack, cursor and group are updated in
    place. In nodes of at most `thorough` people every admissible boundary is tried. Ties are cut through when `tie`
    places the rows; it is empty for strict cuts, else by_tie[tie[i]] = i.
    """
    looked = 0
    while cursor[0] > 0 and looked < budget:
        cursor[0] -= 1
        first, last = stack[cursor[0], 0], stack[cursor[0], 1]
        looked += last - first
        at = 0
        if last - first >= 2 * rule.least_size and last - first > 1:
            many = 0
            if rule.by_value:
                many = _tally(values, rows, first, last, work.right, work.touched)
            for through_ties in range(2 if len(tie) > 0 else 1):
                if at == 0:
                    at = _best_cut(
                        codes,
                        values,
                        space,
                        rule,
                        tie,
                        by_tie,
                        through_ties,
                        rows,
                        first,
                        last,
                        many,
                        cursor,
                        work,
                        thorough,
                    )
            for i in range(many):
                work.right[work.touched[i]] = 0
        if at == 0:
            for i in range(first, last):
                group[rows[i]] = cursor[1]
            cursor[1] += 1
            cursor[2] += last - first
        else:
            for i in range(first, last):
                rows[i] = work.best_rows[i - first]
            stack[cursor[0], 0], stack[cursor[0], 1] = first, first + at
            stack[cursor[0] + 1, 0], stack[cursor[0] + 1, 1] = first + at, last
            cursor[0] += 2


@njit(cache=True)
def _best_cut(
    codes: Any, values: Any, space: Any, rule: Any, tie: Any, by_tie: Any, through_ties: int, rows: Any, first: int,
    last: int, many: int, cursor: Any, work: Any, thorough: int,
) -> int:  # fmt: skip
    """How many rows go left in the cut with the least loss, 0 when there is none; best_rows is the node in its order.

    A cut through ties must lower the loss, since dividing people who are all alike gains nothing.
    """
    size, zero = last - first, np.int64(0)
    best, split = np.inf, zero
    for j in range(codes.shape[1]):
        distinct = _ordered_codes(codes, rows, first, last, j, space.attribute[j, 0], work.hist, work.order, work.slot)
        if distinct == 1:
            continue
        if through_ties:
            _sort_through_ties(codes, rows, first, last, j, tie, by_tie, work)
        else:
            _sort_by_slot(codes, rows, first, last, j, distinct, work)
        if through_ties and best == np.inf:
            best = size * _box_loss(codes, work.sorted_rows, zero, size, space, work.seen_left, cursor) - 1e-12
        pieces = size if through_ties else distinct
        tried = _candidates(values, space, rule, j, pieces, many, through_ties, thorough, work)
        for c in range(tried):
            at = work.candidates[c]
            loss = at * _box_loss(codes, work.sorted_rows, zero, at, space, work.seen_left, cursor)
            if loss < best:
                loss += (size - at) * _box_loss(codes, work.sorted_rows, at, size, space, work.seen_right, cursor)
            if loss < best:
                best, split = loss, at
                for i in range(size):
                    work.best_rows[i] = work.sorted_rows[i]
    return split


@njit(cache=True)
def _tally(values: Any, rows: Any, first: int, last: int, count: Any, touched: Any) -> int:
    """Count the sensitive values of a node; returns how many different ones there are."""
    many = 0
    for i in range(first, last):
        v = values[rows[i]]
        if count[v] == 0:
            touched[many] = v
            many += 1
        count[v] += 1
    return many


@njit(cache=True)
def _ordered_codes(
    codes: Any, rows: Any, first: int, last: int, j: int, kind: int, hist: Any, order: Any, slot: Any
) -> int:
    """The distinct codes of attribute j in cutting order, and the place of each in it."""
    distinct = np.int64(0)  # typed: a literal would compile `sort_ints` a second time
    for i in range(first, last):
        c = codes[rows[i], j]
        if hist[c] == 0:
            order[distinct] = c
            distinct += 1
        hist[c] += 1
    if kind == 1:  # plain categories: the most common first, ties by code
        for i in range(distinct):
            order[i] -= hist[order[i]] * len(hist)
        sort_ints(order, distinct)
        for i in range(distinct):
            order[i] %= len(hist)
    else:
        sort_ints(order, distinct)
    for i in range(distinct):
        slot[order[i]] = i
        hist[order[i]] = 0
    return distinct


@njit(cache=True)
def _sort_by_slot(codes: Any, rows: Any, first: int, last: int, j: int, distinct: int, work: Any) -> None:
    """Counting sort of the node's rows; edges[i] is where the rows of the i-th code begin."""
    edges, slot = work.edges, work.slot
    for i in range(distinct + 1):
        edges[i] = 0
    for i in range(first, last):
        edges[slot[codes[rows[i], j]] + 1] += 1
    for i in range(distinct):
        edges[i + 1] += edges[i]
    for i in range(first, last):
        s = slot[codes[rows[i], j]]
        work.sorted_rows[edges[s]] = rows[i]
        edges[s] += 1
    for i in range(distinct, 0, -1):
        edges[i] = edges[i - 1]
    edges[0] = 0


@njit(cache=True)
def _sort_through_ties(codes: Any, rows: Any, first: int, last: int, j: int, tie: Any, by_tie: Any, work: Any) -> None:
    """Rows in cutting order of attribute j, equal ones by the fixed order of all rows; every row is a piece."""
    keys, size = work.sorted_rows, last - first
    for i in range(first, last):
        keys[i - first] = work.slot[codes[rows[i], j]] * len(tie) + tie[rows[i]]
    sort_ints(keys, size)
    for i in range(size):
        keys[i] = by_tie[keys[i] % len(tie)]
        work.edges[i] = i
    work.edges[size] = size


@njit(cache=True)
def _candidates(
    values: Any, space: Any, rule: Any, j: int, pieces: int, many: int, through_ties: int, thorough: int, work: Any
) -> int:
    """Positions at which both halves keep the promise and that are worth trying.

    `left` is empty and `right` holds the node's counts; both are so again on return.
    """
    edges, left, right, out = work.edges, work.left, work.right, work.candidates
    size = edges[pieces]
    every = size <= thorough
    found = 0
    nearest, nearest_gap, lightest, lightest_loss = 0, size, 0, np.inf
    stride = max(1, pieces // TIES) if through_ties else 1
    for i in range(1, pieces):
        at = edges[i]
        if rule.by_value:
            for r in range(edges[i - 1], at):
                v = values[work.sorted_rows[r]]
                left[v] += 1
                right[v] -= 1
        if at < rule.least_size or size - at < rule.least_size or (i - pieces // 2) % stride != 0:
            continue
        if rule.by_value and not (
            allows(rule, left, work.touched, many, at) and allows(rule, right, work.touched, many, size - at)
        ):
            continue
        if every:
            out[found] = at
            found += 1
            continue
        if abs(2 * at - size) < nearest_gap:
            nearest, nearest_gap = at, abs(2 * at - size)
        if not through_ties:
            own = at * span_loss(space, j, work.order[0], work.order[i - 1], i)
            own += (size - at) * span_loss(space, j, work.order[i], work.order[pieces - 1], pieces - i)
            if own < lightest_loss:
                lightest, lightest_loss = at, own
    for i in range(many):
        v = work.touched[i]
        right[v] += left[v]
        left[v] = 0
    for at in (nearest, lightest):
        if at > 0 and (found == 0 or out[0] != at):
            out[found] = at
            found += 1
    return found


@njit(cache=True)
def _box_loss(codes: Any, rows: Any, first: int, last: int, space: Any, seen: Any, cursor: Any) -> float:
    """Loss of one group, summed over the attributes. A new stamp (cursor[3]) makes `seen` empty."""
    cursor[3] += 1
    stamp = cursor[3]
    total = 0.0
    for j in range(codes.shape[1]):
        low, high, distinct = np.int64(codes[rows[first], j]), np.int64(codes[rows[first], j]), np.int64(0)
        if space.attribute[j, 0] == 1:
            offset = space.attribute[j, 1]
            for i in range(first, last):
                c = offset + codes[rows[i], j]
                if seen[c] != stamp:
                    seen[c] = stamp
                    distinct += 1
        else:
            for i in range(first, last):
                code = np.int64(codes[rows[i], j])
                low = min(low, code)
                high = max(high, code)
        total += span_loss(space, j, low, high, distinct)
    return total
