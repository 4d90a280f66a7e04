"""Cuts of the quasi-identifier space that make every attribute as uniform as they can inside the pieces.

A node is a slice of the rows. For every attribute the codes of the node are put in an order (numbers by place,
categories by how common they are) and the best boundary is found that leaves enough people on both sides:
the one that most lowers the impurity of that attribute, the variance of places or the Gini index of categories, each
relative to the whole table. The attribute that gains most is cut. Rows with equal codes stay together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.sort import sort_codes, sort_ints

__all__ = ["MANY", "best_of_counts", "cut_tree"]

MANY = 256  # categories
_NEAR = 2048  # rows whose codes are in the nearest memory together


@njit(cache=True)
def cut_tree(codes: Any, place: Any, begin: Any, weight: Any, row: Any, nodes: Any, least: int) -> Any:
    """Cut the given nodes, slices nodes[i] .. nodes[i + 1] of `row`, until no cut leaves `least` people on both sides.

    place[begin[j] + c] is the place of code c on its axis, negative for all codes of a category. `row` is put in
    the order of the pieces; returns where these begin, and the end.

    Large nodes have their codes moved with their rows, so that they are read one after the other; the codes of smaller
    ones are near each other then, and rows are told apart by where theirs are: own[:, at[i]] are those of row[i].
    """
    n, d = codes.shape
    widest = 0
    for j in range(d):
        widest = max(widest, begin[j + 1] - begin[j])
    count = np.zeros(widest, np.int64)
    order = np.empty(widest + 1, np.int64)
    left = np.zeros(widest, np.bool_)
    own, at, side, spare = (
        _codes_of(codes, row),
        np.arange(n, dtype=np.int32),
        np.empty(n, np.bool_),
        np.empty(n, np.int32),
    )
    stack = np.empty((n // max(least, 1) + len(nodes) + 2, 2), np.int64)
    top = 0
    for i in range(len(nodes) - 2, -1, -1):
        stack[top, 0], stack[top, 1] = nodes[i], nodes[i + 1]
        top += 1
    ends = np.empty(n // max(least, 1) + len(nodes) + 2, np.int64)
    ends[0] = 0
    made = 0
    while top > 0:
        top -= 1
        first, last = stack[top, 0], stack[top, 1]
        best, which, ends_at = (
            0.0,
            np.int64(-1),
            0,
        )  # a plain -1 is a type of its own: all below would be compiled twice
        if last - first >= 2 * least:
            for j in range(d):
                gain, _ = _best_boundary(own[j], place, begin[j], at, first, last, least, count, order)
                if weight[j] * gain > best * (1.0 + 1e-9):
                    best, which = weight[j] * gain, j
        if which < 0:
            made += 1
            ends[made] = last
            continue
        _, ends_at = _best_boundary(own[which], place, begin[which], at, first, last, least, count, order)
        for i in range(ends_at):
            left[order[i]] = True
        for i in range(first, last):
            side[i] = left[own[which, at[i]]]
        for i in range(ends_at):
            left[order[i]] = False
        if last - first > _NEAR:
            for j in range(d):
                _divide(own[j], side, first, last, spare)
            middle = _divide(row, side, first, last, spare)
        else:
            middle = _divide(at, side, first, last, spare)
        stack[top, 0], stack[top, 1] = middle, last
        stack[top + 1, 0], stack[top + 1, 1] = first, middle
        top += 2
    row[:] = row[at]
    return ends[: made + 1].copy()


@njit(cache=True)
def _codes_of(codes: Any, row: Any) -> Any:
    """[column, i]: of row[i]."""
    n, d = codes.shape
    own = np.empty((d, n), np.int32)
    for i in range(n):
        for j in range(d):
            own[j, i] = codes[row[i], j]
    return own


@njit(cache=True)
def _best_boundary(
    own: Any, place: Any, begin: int, at: Any, first: int, last: int, least: int, count: Any, order: Any
) -> Any:
    """The largest fall of impurity times people, and how many codes of `order` go left for it."""
    many = np.int64(0)
    for i in range(first, last):
        c = own[at[i]]
        order[many] = c
        many += count[c] == 0
        count[c] += 1
    gain, codes_left = _boundary_of(place, begin, count, order, many, last - first, least)
    for i in range(many):
        count[order[i]] = 0
    return gain, codes_left


@njit(cache=True)
def best_of_counts(count: Any, place: Any, begin: int, size: int, least: int) -> Any:
    """The same where only the counts of an attribute are known: gain, codes in order, how many of them go left."""
    order = np.empty(len(count), np.int64)
    many = np.int64(0)
    for c in range(len(count)):
        if count[c] > 0:
            order[many] = c
            many += 1
    gain, at = _boundary_of(place, begin, count, order, many, size, least)
    return gain, order, at


@njit(cache=True)
def _boundary_of(place: Any, begin: int, count: Any, order: Any, many: int, size: int, least: int) -> Any:
    """Among the codes that occur, which are put in their order."""
    gain, at = 0.0, 0
    if many > 1:
        if place[begin] >= 0.0:
            sort_codes(order, many, count)
            gain, at = _along_axis(place, begin, count, order, many, size, least)
        else:
            _common_first(count, order, many)
            gain, at = _among_categories(count, order, many, size, least)
    return gain, at


@njit(cache=True)
def _along_axis(place: Any, offset: int, count: Any, order: Any, many: int, size: int, least: int) -> Any:
    total = 0.0
    for i in range(many):
        total += count[order[i]] * place[offset + order[i]]
    best, at, people, below = 0.0, 0, 0, 0.0
    rest = total * total / size
    for i in range(many - 1):
        people += count[order[i]]
        below += count[order[i]] * place[offset + order[i]]
        if people >= least:
            if size - people < least:
                break
            gain = below * below / people + (total - below) ** 2 / (size - people) - rest
            if gain > best * (1.0 + 1e-9):
                best, at = gain, i + 1
    return best, at


@njit(cache=True)
def _among_categories(count: Any, order: Any, many: int, size: int, least: int) -> Any:
    """Of very many categories an eighth of the people at least goes either way, unless one of them has most people.

    The best cut often takes the most common category away from all others, and so would the next: as many times over
    all people as there are categories. Each gets its own piece in the end, either way.
    """
    gain, at = 0.0, 0
    if many > MANY:
        gain, at = _boundary(count, order, many, size, max(least, size // 8))
    return (gain, at) if at > 0 else _boundary(count, order, many, size, least)


@njit(cache=True)
def _boundary(count: Any, order: Any, many: int, size: int, least: int) -> Any:
    total = 0.0
    for i in range(many):
        total += float(count[order[i]]) ** 2
    best, at, people, below = 0.0, 0, 0, 0.0
    rest = total / size
    for i in range(many - 1):
        people += count[order[i]]
        below += float(count[order[i]]) ** 2
        if people >= least:
            if size - people < least:
                break
            gain = below / people + (total - below) / (size - people) - rest
            if gain > best * (1.0 + 1e-9):
                best, at = gain, i + 1
    return best, at


@njit(cache=True)
def _common_first(count: Any, order: Any, many: int) -> None:
    """By falling count, then by code."""
    key = np.empty(many, np.int64)
    width = len(count)
    for i in range(many):
        key[i] = -count[order[i]] * width + order[i]
    sort_ints(key, many)
    for i in range(many):
        order[i] = key[i] % width


@njit(cache=True)
def _divide(items: Any, side: Any, first: int, last: int, spare: Any) -> int:
    """Those of the first side before the others, in the same order as they were; no branch, for nobody could foretell
    where it would lead."""
    at, waiting = first, 0
    for i in range(first, last):
        item = items[i]
        items[at] = item
        spare[waiting] = item
        at += side[i]
        waiting += not side[i]
    for i in range(waiting):
        items[at + i] = spare[i]
    return at
