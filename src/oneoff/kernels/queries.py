"""Many count queries at once, over boxes or over records (the loops of `utility.counting`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["add_expected", "add_fitted", "add_meant", "records_meant", "sums_below", "weights_meant"]

_FROM, _BELOW, _PAIRS = range(3)  # of a query over boxes: rows of people, and where the pairs of rows of shares begin
_BLOCK = 4096  # records at a time, so that their columns stay in the nearest memory for all queries


@njit(cache=True)
def sums_below(start: Any, place: Any, weight: Any, found: Any) -> None:
    """found[r, b]: the sum of the weights of box b at places up to r. Box b has the entries start[b] to start[b + 1];
    those at places beyond the rows of `found`, which begins with zeros, are left out."""
    rows, boxes = found.shape
    for b in range(boxes):
        for e in range(start[b], start[b + 1]):
            if place[e] < rows:
                found[place[e], b] += weight[e]
    for r in range(1, rows):
        for b in range(boxes):
            found[r, b] += found[r - 1, b]


@njit(cache=True)
def add_expected(share: Any, people: Any, queries: Any, found: Any) -> None:
    """Add to found[q] the people that query q can be expected to mean when they are spread as `share` says.

    share[r, b]     part of box b below an edge; an attribute has a row for each of its edges
    people[r, b]    people of box b with a value below an edge
    queries[q]      rows of people, from and below, then pairs of rows of share, from and below; -1 ends the list
    """
    part = np.empty(share.shape[1], np.float64)
    for q in range(len(queries)):
        below, above = people[queries[q, _FROM]], people[queries[q, _BELOW]]
        for b in range(len(part)):
            part[b] = above[b] - below[b]
        j = _PAIRS
        while j < queries.shape[1] and queries[q, j] >= 0:
            below, above = share[queries[q, j]], share[queries[q, j + 1]]
            for b in range(len(part)):
                part[b] *= above[b] - below[b]
            j += 2
        total = 0.0
        for b in range(len(part)):
            total += part[b]
        found[q] += total


@njit(cache=True)
def add_fitted(
    start: Any, code: Any, count: Any, people: Any, effect: Any, queries: Any, inside: Any, found: Any
) -> None:
    """The same over cells whose people differ: who has code c has a value by effect[c] more often than others.

    start[j, b]     where the codes of cell b in column j begin, numbered through over columns, with how many have them
    people[b, v]    people of cell b with a value below v, as far as is known of all of them together
    effect[v, c]    by how much the share of people with a value below v is larger among those with code c
    queries[q]      values from and below, then of each column asked about its number, codes from and below; -1 ends it
    inside          with a row for every query: which of these codes, the first of them being 0, query q asks for

    Of a column in which all of a cell are asked for, nothing is to be worked out: nobody is left out, and those meant
    have a value as often as all of them.
    """
    size, sets = np.zeros(len(people), np.float64), len(inside) > 0
    for b in range(len(size)):
        for e in range(start[0, b], start[0, b + 1]):
            size[b] += count[e]
    lowest, highest, ends = _extents(start, code)
    own, more = np.empty(len(size), np.int64), np.empty(effect.shape[1], np.float64)
    for q in range(len(queries)):
        many = _not_apart(lowest, highest, queries[q], own)
        _effects(effect, ends, queries[q], more)
        low, high, total = queries[q, _FROM], queries[q, _BELOW], 0.0
        for i in range(many):
            b = own[i]
            part, shift, at = 1.0, 0.0, _PAIRS
            while part > 0.0 and at < queries.shape[1] and queries[q, at] >= 0:
                j, low_code, high_code = queries[q, at], queries[q, at + 1], queries[q, at + 2]
                at += 3
                if sets or lowest[j, b] < low_code or highest[j, b] >= high_code:
                    fit, here, all_of = 0.0, 0.0, 0.0
                    for e in range(start[j, b], start[j, b + 1]):
                        c = code[e]
                        beyond = count[e] * more[c]
                        all_of += beyond
                        if low_code <= c < high_code and (not sets or inside[q, at // 3 - 1, c - low_code]):
                            fit += count[e]
                            here += beyond
                    part *= fit / size[b]
                    shift += here / max(fit, 1.0) - all_of / size[b]
            if part > 0.0:  # of most cells nobody is meant, and that was all there was to do
                total += part * (people[b, high] - people[b, low] + size[b] * shift)
        found[q] += total


@njit(cache=True)
def add_meant(start: Any, code: Any, count: Any, field: Any, queries: Any, meant: Any, fields: Any, codes: Any) -> None:
    """Whom such queries mean, whatever values they ask for, when columns have nothing to do with each other in a cell.

    field[b]        of cell b
    meant[q, b]     begins with zeros: how many people of cell b query q means
    fields[q, f]    the same of field f is added
    codes[q, c]     of those who are meant, how many more have code c than if they had the codes of all of their cell
                    is added
    """
    lowest, highest, _ = _extents(start, code)
    own, share = np.empty(len(field), np.int64), np.empty(queries.shape[1], np.float64)
    for q in range(len(queries)):
        many = _not_apart(lowest, highest, queries[q], own)
        for i in range(many):
            b, part, size, at = own[i], 1.0, 0.0, _PAIRS
            for e in range(start[0, b], start[0, b + 1]):
                size += count[e]
            while part > 0.0 and at < queries.shape[1] and queries[q, at] >= 0:
                j, low_code, high_code = queries[q, at], queries[q, at + 1], queries[q, at + 2]
                share[at] = 1.0
                if lowest[j, b] < low_code or highest[j, b] >= high_code:
                    fit = 0.0
                    for e in range(start[j, b], start[j, b + 1]):
                        if low_code <= code[e] < high_code:
                            fit += count[e]
                    share[at] = fit / size
                part *= share[at]
                at += 3
            if part == 0.0:
                continue
            meant[q, b] = part * size
            fields[q, field[b]] += part * size
            at = _PAIRS
            while at < queries.shape[1] and queries[q, at] >= 0:
                if share[at] < 1.0:
                    j, low_code, high_code = queries[q, at], queries[q, at + 1], queries[q, at + 2]
                    for e in range(start[j, b], start[j, b + 1]):
                        inside = low_code <= code[e] < high_code
                        codes[q, code[e]] += count[e] * part * (inside / share[at] - 1.0)
                at += 3


@njit(cache=True)
def _extents(start: Any, code: Any) -> Any:
    """[column, cell]: the lowest and the highest code; and of each column in all of these cells, the latter plus 1."""
    columns, cells = start.shape[0], start.shape[1] - 1
    lowest, highest = np.empty((columns, cells), np.int32), np.empty((columns, cells), np.int32)
    ends = np.empty((columns, 2), np.int64)
    for j in range(columns):
        for b in range(cells):
            low = high = code[start[j, b]]
            for e in range(start[j, b] + 1, start[j, b + 1]):
                low, high = min(low, code[e]), max(high, code[e])
            lowest[j, b], highest[j, b] = low, high
        ends[j, 0], ends[j, 1] = lowest[j].min(), highest[j].max() + 1
    return lowest, highest, ends


@njit(cache=True)
def _not_apart(lowest: Any, highest: Any, query: Any, own: Any) -> int:
    """Put into `own` the cells that lie beside what is asked for in no column; how many there are."""
    beside = np.zeros(len(own), np.bool_)
    at = _PAIRS
    while at < len(query) and query[at] >= 0:
        low, high = lowest[query[at]], highest[query[at]]
        low_code, high_code = np.int32(query[at + 1]), np.int32(query[at + 2])
        for b in range(len(own)):
            beside[b] |= (high[b] < low_code) | (low[b] >= high_code)
        at += 3
    many = 0
    for b in range(len(own)):
        own[many] = b
        many += not beside[b]
    return many


@njit(cache=True)
def _effects(effect: Any, ends: Any, query: Any, more: Any) -> None:
    """more[c]: by how much those with code c have a value that is asked for more often; of the columns asked about."""
    below, above, at = effect[query[_FROM]], effect[query[_BELOW]], _PAIRS
    while at < len(query) and query[at] >= 0:
        for c in range(ends[query[at], 0], ends[query[at], 1]):
            more[c] = above[c] - below[c]
        at += 3


@njit(cache=True)
def records_meant(
    columns: Any, values: Any, people: Any, named: Any, low: Any, high: Any, inside: Any, found: Any
) -> None:
    """found[q, 0]: people of records with codes low[q, i] .. high[q, i] in every columns[named[q, i]]; found[q, 1]: of
    those whose value is in the last of these intervals, too. Record r stands for people[r]. named[q] ends with its
    first -1. `found` begins with zeros.

    If there is a row of `inside` for every query, its sets of codes inside[q, i] count instead of the intervals; the
    last code is in none of them, and -1 is that one.
    """
    flag, sets = np.empty(_BLOCK, np.uint8), len(inside) > 0
    for first in range(0, len(values), _BLOCK):
        many = min(_BLOCK, len(values) - first)
        for q in range(len(named)):
            _meant(columns, named[q], low[q], high[q], inside, q, first, many, flag)
            found[q, 0] += _people(people, first, many, flag)
            if sets:
                _keep(values, inside[q, -1], first, many, flag)
            else:
                _narrow(values, low[q, -1], high[q, -1], first, many, flag)
            found[q, 1] += _people(people, first, many, flag)


@njit(cache=True)
def _people(people: Any, first: int, many: int, flag: Any) -> int:
    """Of the flagged records."""
    total, some = 0, people[first : first + many]
    for i in range(many):
        total += flag[i] * some[i]
    return total


@njit(cache=True)
def weights_meant(
    columns: Any, begin: Any, lists: Any, named: Any, low: Any, high: Any, inside: Any, found: Any
) -> None:
    """The same, but the records begin[r] to begin[r + 1] have the weights of list r instead of a value: found[q, 1]
    adds up what their lists have for the values asked for. lists: (start, value, share), as in `ValuesShown`."""
    start, value, share = lists
    flag, sets = np.empty(columns.shape[1], np.uint8), len(inside) > 0
    for q in range(len(named)):
        _meant(columns, named[q], low[q], high[q], inside, q, 0, len(flag), flag)
        least, most, people, total = low[q, -1], high[q, -1], 0, 0.0
        for r in range(len(start) - 1):
            meant = 0
            for i in range(begin[r], begin[r + 1]):
                meant += flag[i]
            if meant > 0:
                people += meant
                weight = 0.0
                for e in range(start[r], start[r + 1]):
                    if inside[q, -1, value[e]] if sets else least <= value[e] <= most:
                        weight += share[e]
                total += meant * weight
        found[q, 0], found[q, 1] = people, total


@njit(cache=True)
def _meant(
    columns: Any, named: Any, low: Any, high: Any, inside: Any, q: int, first: int, many: int, flag: Any
) -> None:
    """Flag those of so many records that have the quasi-identifiers asked for."""
    flag[:many] = 1
    for i in range(len(named)):
        if named[i] < 0:
            break
        if len(inside) > 0:
            _keep(columns[named[i]], inside[q, i], first, many, flag)
        else:
            _narrow(columns[named[i]], low[i], high[i], first, many, flag)


@njit(cache=True)
def _narrow(codes: Any, low: int, high: int, first: int, many: int, flag: Any) -> None:
    """Leave the flags of records with a code of the interval; whole vectors at a time, so there is no branch in it."""
    least, most = np.int32(low), np.int32(high)
    column = codes[first : first + many]
    for i in range(many):
        flag[i] &= (column[i] >= least) & (column[i] <= most)


@njit(cache=True)
def _keep(codes: Any, inside: Any, first: int, many: int, flag: Any) -> None:
    """Leave the flags of records with a code of the set."""
    column = codes[first : first + many]
    for i in range(many):
        flag[i] &= inside[column[i]]
