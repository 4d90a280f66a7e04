"""Top-down cutting of the quasi-identifier space (the loop of `mechanisms.partitioning.mondrian`).

A node is a slice of the table, which is kept in the order of the nodes so that all loops run through memory from
front to back. For every attribute the distinct codes of the node are put in an order (numbers and
hierarchies by code, plain categories by how common they are), the boundaries between them at which both halves keep
the promise are found in one sweep, and the most promising of those are tried: the one nearest the median, the one
that is best for this attribute alone, and in small nodes all of them. The cut with the least loss over all
attributes is made. Relaxed nodes that no boundary divides are also cut through ties, which a fixed order of the rows
by their quasi-identifiers decides. Median nodes have one boundary for each attribute, and take the widest one whose
halves keep the promise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.rules import allows, counted, moved_left
from oneoff.kernels.sort import sort_codes, sort_ints
from oneoff.kernels.space import ABOVE_ALL, KIND, OFFSET, SET, SIZE, in_units, span_loss

__all__ = ["MEDIAN", "RELAXED", "STRICT", "cut", "working_space"]

STRICT, RELAXED, MEDIAN = range(3)  # kinds of cuts
WORD = 64  # bits of a word
TIES = 24  # about how many positions are tried when a node is cut through ties


# Rows of the working space, one wide array: compile time grows with the number of arrays that are passed around.
VALUES, ROWS, TIE = 0, 1, 2  # the table in the order of the nodes: sensitive value, original row, place among ties
SPARE, PLACE, BY_PLACE, BEST = 3, 4, 5, 6  # place of each row in cutting order, values in that order, left of the cut
EDGES, CANDIDATES = 7, 8  # where the pieces between boundaries begin; positions worth trying
HIST, ORDER, SLOT = 9, 10, 11  # codes of a node: how often, in cutting order, place in that order
SEEN_LEFT, SEEN_RIGHT = 12, 13  # when a code was last seen, to count distinct ones
LEFT, RIGHT, TOUCHED = 14, 15, 16  # sensitive values of both halves
HEIGHT = 17

FIRST, LAST = 0, 1  # columns of the stack: where a node begins, and the row behind it
NODES, GROUPS, DONE, STAMP = 0, 1, 2, 3  # of the cursor: nodes on the stack, groups made, rows in groups, last stamp


def working_space(values: Any, tie: Any, all_codes: int, many_values: int) -> Any:
    """Room for a table; `tie` places equal rows (anything will do for strict cuts)."""
    n = len(values)
    work = np.zeros((HEIGHT, max(n + 1, all_codes, many_values)), np.int64)
    work[VALUES, :n], work[ROWS, :n], work[TIE, :n] = values, np.arange(n), tie
    return work


@njit(cache=True)
def cut(
    codes: Any, spare: Any, space: Any, rule: Any, stack: Any, cursor: Any, group: Any, work: Any, cuts: int,
    thorough: int, budget: int,
) -> None:  # fmt: skip
    """Cut nodes from the stack until it is empty or about `budget` rows were looked at.

    cursor = [nodes on the stack, groups made, rows in groups, stamp]; codes, stack, cursor, group and work are updated
    in place. In nodes of at most `thorough` people every admissible boundary is tried.
    """
    looked, right_of = 0, np.empty(len(codes), np.int32)
    while cursor[NODES] > 0 and looked < budget:
        cursor[NODES] -= 1
        first, last = stack[cursor[NODES], FIRST], stack[cursor[NODES], LAST]
        looked += last - first
        at = np.int64(0)
        if last - first >= 2 * rule.least_size and last - first > 1:
            many = _tally(rule, first, last, work)
            if cuts == MEDIAN:
                at = _median_cut(codes, space, rule, first, last, many, work)
            for through_ties in range((1, 2, 0)[cuts]):
                if at == 0:
                    at = _best_cut(
                        codes, space, rule, through_ties, first, last, many, cursor, thorough, work, right_of
                    )
            for i in range(many):
                work[RIGHT, work[TOUCHED, i]] = 0
        if at == 0:
            for i in range(first, last):
                group[work[ROWS, i]] = cursor[GROUPS]
            cursor[GROUPS] += 1
            cursor[DONE] += last - first
        else:
            _divide(codes, spare, first, last, at, work)
            stack[cursor[NODES], FIRST], stack[cursor[NODES], LAST] = first, first + at
            stack[cursor[NODES] + 1, FIRST], stack[cursor[NODES] + 1, LAST] = first + at, last
            cursor[NODES] += 2


@njit(cache=True)
def _tally(rule: Any, first: int, last: int, work: Any) -> int:
    """Count the sensitive values of a node into `right`; returns how many different ones there are."""
    many = 0
    if rule.by_value:
        many = counted(rule.parts, work[VALUES], first, last, work[RIGHT], work[TOUCHED], many)
    return many


@njit(cache=True)
def _divide(codes: Any, spare: Any, first: int, last: int, at: int, work: Any) -> None:
    """Put the rows that go left before the others, in the same order as they were."""
    left, right = first, first + at
    for i in range(first, last):
        if work[BEST, i] != 0:
            work[PLACE, i] = left
            left += 1
        else:
            work[PLACE, i] = right
            right += 1
    for j in range(codes.shape[1]):
        for i in range(first, last):
            spare[work[PLACE, i], j] = codes[i, j]
        for i in range(first, last):
            codes[i, j] = spare[i, j]
    for column in (VALUES, ROWS, TIE):
        for i in range(first, last):
            work[SPARE, work[PLACE, i]] = work[column, i]
        for i in range(first, last):
            work[column, i] = work[SPARE, i]


@njit(cache=True)
def _best_cut(
    codes: Any,
    space: Any,
    rule: Any,
    through_ties: int,
    first: int,
    last: int,
    many: int,
    cursor: Any,
    thorough: int,
    work: Any,
    right_of: Any,
) -> int:
    """How many rows go left in the cut with the least loss, 0 when there is none; `best` marks those rows.

    A cut through ties must lower the loss, since dividing people who are all alike gains nothing.
    """
    size, split = last - first, np.int64(0)
    least, losses = np.inf, np.empty(min(size, thorough) + 2, np.float64)
    if through_ties:
        for i in range(first, last):
            work[PLACE, i] = 0
        least = _loss(codes, space, first, last, size, np.inf, cursor, work, right_of) - 1e-12
    for j in range(codes.shape[1]):
        distinct = _order_codes(codes, space.attribute[j, KIND], first, last, j, work)
        if distinct == 1:
            continue
        if through_ties:
            _place_through_ties(codes, first, last, j, work)
        else:
            _place_by_slot(codes, first, last, j, distinct, rule.by_value, work)
        tried = _candidates(
            space, rule, j, size if through_ties else distinct, first, last, many, through_ties, thorough, work
        )
        better = np.int64(0)
        if tried > 2:
            _losses(codes, space, first, last, tried, cursor, work, losses)
            for c in range(tried):
                if losses[c] < least:
                    least, better = losses[c], work[CANDIDATES, c]
        else:
            for c in range(tried):
                loss = _loss(codes, space, first, last, work[CANDIDATES, c], least, cursor, work, right_of)
                if loss < least:
                    least, better = loss, work[CANDIDATES, c]
        if better > 0:
            split = better
            for i in range(first, last):
                work[BEST, i] = work[PLACE, i] < better
    return split


@njit(cache=True)
def _median_cut(codes: Any, space: Any, rule: Any, first: int, last: int, many: int, work: Any) -> int:
    """How many rows go left when the widest attribute with an admissible cut is cut behind its median, 0 without one.

    Where nobody is above the median, the cut lies before it. Of equally wide attributes the one with the smaller domain
    comes first.
    """
    width = np.empty(codes.shape[1], np.int64)
    for j in range(len(width)):
        distinct = _order_codes(codes, space.attribute[j, KIND], first, last, j, work)
        width[j] = in_units(span_loss(space, j, work[ORDER, 0], work[ORDER, distinct - 1], distinct))
        if distinct == 1:
            width[j] = -1
    for _ in range(len(width)):
        j = 0
        for other in range(1, len(width)):
            wider = width[other] - width[j]
            if wider > 0 or (wider == 0 and space.attribute[other, SIZE] < space.attribute[j, SIZE]):
                j = other
        if width[j] < 0:
            break
        width[j] = -1
        at = _behind_median(codes, space.attribute[j, KIND], first, last, j, rule.by_value, work)
        if _halves_keep(rule, at, last - first, many, work):
            for r in range(first, last):
                work[BEST, r] = work[PLACE, r] < at
            return at
    return 0


@njit(cache=True)
def _behind_median(codes: Any, kind: int, first: int, last: int, j: int, by_value: bool, work: Any) -> int:
    """Place all rows by attribute j, which has two codes at least; how many lie up to the median."""
    distinct = _order_codes(codes, kind, first, last, j, work)
    _place_by_slot(codes, first, last, j, distinct, by_value, work)
    i = 1
    while i < distinct - 1 and 2 * work[EDGES, i] < last - first:
        i += 1
    return work[EDGES, i]


@njit(cache=True)
def _halves_keep(rule: Any, at: int, size: int, many: int, work: Any) -> bool:
    """Do the first `at` rows by place, and the others, keep the promise?"""
    left, right, touched = work[LEFT], work[RIGHT], work[TOUCHED]
    if at < rule.least_size or size - at < rule.least_size:
        return False
    if not rule.by_value:
        return True
    moved_left(rule.parts, work[BY_PLACE], 0, at, left, right)
    kept = allows(rule, left, touched, many, at) and allows(rule, right, touched, many, size - at)
    _put_back(many, work)
    return kept


@njit(cache=True)
def _put_back(many: int, work: Any) -> None:
    """The values of the left half go back to the node."""
    for i in range(many):
        v = work[TOUCHED, i]
        work[RIGHT, v] += work[LEFT, v]
        work[LEFT, v] = 0


@njit(cache=True)
def _order_codes(codes: Any, kind: int, first: int, last: int, j: int, work: Any) -> int:
    """The distinct codes of attribute j in cutting order, how often each occurs, and its slot in that order."""
    hist, order = work[HIST], work[ORDER]
    many = work.shape[1]
    distinct = np.int64(0)  # typed: a literal would compile `sort_ints` a second time
    for i in range(first, last):
        c = codes[i, j]
        if hist[c] == 0:
            order[distinct] = c
            distinct += 1
        hist[c] += 1
    if kind == SET:  # plain categories: the most common first, ties by code
        for i in range(distinct):
            order[i] -= hist[order[i]] * many
        sort_ints(order, distinct)
        for i in range(distinct):
            order[i] %= many
    else:
        sort_codes(order, distinct, hist)
    work[EDGES, 0] = 0
    for i in range(distinct):
        work[SLOT, order[i]] = i
        work[EDGES, i + 1] = work[EDGES, i] + hist[order[i]]
        hist[order[i]] = 0
    return distinct


@njit(cache=True)
def _place_by_slot(codes: Any, first: int, last: int, j: int, distinct: int, by_value: bool, work: Any) -> None:
    """Every row is placed where the rows of its code begin (edges); values are listed code by code."""
    edges, order, begin, place = work[EDGES], work[ORDER], work[HIST], work[PLACE]
    for s in range(distinct):
        begin[order[s]] = edges[s]
    for i in range(first, last):
        place[i] = begin[codes[i, j]]
    if by_value:
        for i in range(first, last):
            c = codes[i, j]
            work[BY_PLACE, begin[c]] = work[VALUES, i]
            begin[c] += 1
    for s in range(distinct):
        begin[order[s]] = 0


@njit(cache=True)
def _place_through_ties(codes: Any, first: int, last: int, j: int, work: Any) -> None:
    """Every row has a place of its own: by code, equal ones by the fixed order of all rows."""
    keys, size, many = work[BY_PLACE], last - first, work.shape[1]
    for i in range(first, last):
        keys[i - first] = work[SLOT, codes[i, j]] * many + work[TIE, i]
        work[CANDIDATES, i - first] = keys[i - first]
    sort_ints(keys, size)
    for i in range(first, last):
        key, low, high = work[CANDIDATES, i - first], 0, size - 1
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        work[PLACE, i] = low
    for i in range(first, last):
        keys[work[PLACE, i]] = work[VALUES, i]
        work[EDGES, i - first] = i - first
    work[EDGES, size] = size


@njit(cache=True)
def _candidates(
    space: Any, rule: Any, j: int, pieces: int, first: int, last: int, many: int, through_ties: int, thorough: int,
    work: Any,
) -> int:  # fmt: skip
    """Positions at which both halves keep the promise and that are worth trying.

    `left` is empty and `right` holds the node's counts; both are so again on return.
    """
    edges, left, right, out, by_place = work[EDGES], work[LEFT], work[RIGHT], work[CANDIDATES], work[BY_PLACE]
    size = last - first
    every = size <= thorough
    found = 0
    nearest, nearest_gap, lightest, lightest_loss = 0, size, 0, np.inf
    stride = max(1, pieces // TIES) if through_ties else 1
    for i in range(1, pieces):
        at = edges[i]
        if rule.by_value:
            moved_left(rule.parts, by_place, edges[i - 1], at, left, right)
        if at < rule.least_size or size - at < rule.least_size or (i - pieces // 2) % stride != 0:
            continue
        if rule.by_value and not (
            allows(rule, left, work[TOUCHED], many, at) and allows(rule, right, work[TOUCHED], many, size - at)
        ):
            continue
        if every:
            out[found] = at
            found += 1
            continue
        if abs(2 * at - size) < nearest_gap:
            nearest, nearest_gap = at, abs(2 * at - size)
        if not through_ties:
            own = at * span_loss(space, j, work[ORDER, 0], work[ORDER, i - 1], i)
            own += (size - at) * span_loss(space, j, work[ORDER, i], work[ORDER, pieces - 1], pieces - i)
            if own < lightest_loss:
                lightest, lightest_loss = at, own
    _put_back(many, work)
    for at in (nearest, lightest):
        if at > 0 and (found == 0 or out[0] != at):
            out[found] = at
            found += 1
    return found


@njit(cache=True)
def _loss(
    codes: Any, space: Any, first: int, last: int, at: int, limit: float, cursor: Any, work: Any, right_of: Any
) -> float:
    """People times loss when the rows placed before `at` are divided from the others; stops once above the limit."""
    total, place, right_side = 0.0, work[PLACE], right_of[first:last]
    for i in range(last - first):
        right_side[i] = -np.int32(place[first + i] >= at)
    for j in range(codes.shape[1]):
        low_left, low_right = np.int64(ABOVE_ALL), np.int64(ABOVE_ALL)
        high_left, high_right = np.int64(-1), np.int64(-1)
        left, right = np.int64(0), np.int64(0)
        if space.attribute[j, KIND] != SET:
            low_left, high_left, low_right, high_right = _ends(codes[first:last, j], right_side)
        elif space.attribute[j, SIZE] <= WORD:
            left, right = _few_codes(codes[first:last, j], right_side)
        else:
            left, right = _many_codes(codes, j, space.attribute[j, OFFSET], first, last, at, cursor, work)
        total += at * span_loss(space, j, low_left, high_left, left)
        if at < last - first:
            total += (last - first - at) * span_loss(space, j, low_right, high_right, right)
        if total >= limit:
            break
    return total


@njit(cache=True)
def _ends(column: Any, right_side: Any) -> tuple[int, int, int, int]:
    """The lowest and highest code on either side. `right_side` has all bits of those on the right, and none of others:
    or-ed to a code it makes the largest of all, unsigned, and -1, signed. No branch, so that it runs on vectors."""
    low_left, low_right = np.uint32(ABOVE_ALL), np.uint32(ABOVE_ALL)
    high_left, high_right = np.int32(-1), np.int32(-1)
    for i in range(len(column)):
        on_left, on_right = np.int32(column[i] | right_side[i]), np.int32(column[i] | ~right_side[i])
        low_left, low_right = min(low_left, np.uint32(on_left)), min(low_right, np.uint32(on_right))
        high_left, high_right = max(high_left, on_left), max(high_right, on_right)
    return np.int64(low_left), np.int64(high_left), np.int64(low_right), np.int64(high_right)


@njit(cache=True)
def _few_codes(column: Any, right_side: Any) -> tuple[int, int]:
    """How many different codes either side has, where all codes fit the bits of a word."""
    left, right = np.uint64(0), np.uint64(0)
    for i in range(len(column)):
        bit, on_right = np.uint64(1) << np.uint64(column[i]), np.uint64(np.int64(right_side[i]))
        left |= bit & ~on_right
        right |= bit & on_right
    return _bits(left), _bits(right)


@njit(cache=True)
def _losses(codes: Any, space: Any, first: int, last: int, tried: int, cursor: Any, work: Any, losses: Any) -> None:
    """losses[c]: `_loss` of every candidate, which ascend, by one walk along the rows from either side."""
    size, out = last - first, work[CANDIDATES]
    _rows_by_place(first, last, work)
    losses[:tried] = 0.0
    for j in range(codes.shape[1]):
        kind, few = space.attribute[j, KIND], space.attribute[j, SIZE] <= WORD
        for side in range(2):  # those before the candidate, then the others
            low, high, bits, distinct = np.int64(ABOVE_ALL), np.int64(-1), np.uint64(0), np.int64(0)
            cursor[STAMP] += 1
            done = 0
            for i in range(tried):
                c = i if side == 0 else tried - 1 - i
                people = out[c] if side == 0 else size - out[c]
                for r in range(done, people):
                    code = np.int64(codes[work[BY_PLACE, r if side == 0 else size - 1 - r], j])
                    if kind != SET:
                        low, high = min(low, code), max(high, code)
                    elif few:
                        bits |= np.uint64(1) << np.uint64(code)
                    elif work[SEEN_LEFT, space.attribute[j, OFFSET] + code] != cursor[STAMP]:
                        work[SEEN_LEFT, space.attribute[j, OFFSET] + code] = cursor[STAMP]
                        distinct += 1
                done = people
                if kind == SET and few:
                    distinct = _bits(bits)
                losses[c] += people * span_loss(space, j, low, high, distinct)


@njit(cache=True)
def _rows_by_place(first: int, last: int, work: Any) -> None:
    """The rows of a node by their places: nobody asks for values in that order any more."""
    place, taken, ordered = work[PLACE], work[SPARE], work[BY_PLACE]
    for r in range(last - first):
        taken[r] = 0
    for i in range(first, last):
        at = place[i]
        ordered[at + taken[at]] = i
        taken[at] += 1


@njit(cache=True)
def _bits(word: Any) -> int:
    found = np.int64(0)
    while word:
        word &= word - np.uint64(1)
        found += 1
    return found


@njit(cache=True)
def _many_codes(
    codes: Any, j: int, offset: int, first: int, last: int, at: int, cursor: Any, work: Any
) -> tuple[int, int]:
    """The same for any number of codes: a new stamp makes `seen` empty."""
    cursor[STAMP] += 1
    stamp, left, right = cursor[STAMP], np.int64(0), np.int64(0)
    for i in range(first, last):
        c = offset + codes[i, j]
        if work[PLACE, i] < at:
            if work[SEEN_LEFT, c] != stamp:
                work[SEEN_LEFT, c] = stamp
                left += 1
        elif work[SEEN_RIGHT, c] != stamp:
            work[SEEN_RIGHT, c] = stamp
            right += 1
    return left, right
