"""A few groups and their members, in the form in which people change places between them (see deals and moves)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.limits import CEILING, CEILING_OF, FLOOR, FLOOR_OF
from oneoff.kernels.space import OFFSET, SIZE, in_units, place

__all__ = ["HIGH", "INNER_HIGH", "INNER_LOW", "LOW", "Chunk", "chunk_of", "unit"]

LOW, INNER_LOW, INNER_HIGH, HIGH = range(4)  # lines of Chunk.box


class Chunk(NamedTuple):
    """Every code and value that occurs in the groups has a number of its own, attribute by attribute, ascending.

    first   [groups + 1]               where the members of each group begin
    code    [members, attributes + 1]  the numbers of a member's codes and, at the end, of the value
    count   [groups, numbers]          members of each group with each number
    box     [4, groups, attributes]    the lowest number of each attribute in the group, an inner low and high one, and
                                       the highest; its users say what they keep there
    means   [numbers]                  the place of a code (`kernels.space.place`)
    span    [attributes + 2]           where the numbers of each attribute begin, those of the values, and the end
    limits  [4, numbers]               the ceiling and the floor of a value (`kernels.limits`); codes have neither
    """

    first: Any
    code: Any
    count: Any
    box: Any
    means: Any
    span: Any
    limits: Any


@njit(cache=True)
def unit(space: Any, a: int) -> int:
    """The loss of one more category, or of one more leaf, in whole numbers of 1 / UNIT."""
    return in_units(space.unit[a])


@njit(cache=True)
def chunk_of(codes: Any, values: Any, space: Any, limits: Any, start: Any, member: Any, groups: Any) -> Any:
    """The chunk with these groups: members of group g are the rows member[start[g] : start[g + 1]]. No box yet."""
    k, d, width = len(groups), codes.shape[1], len(space.position)
    first = np.zeros(k + 1, np.int64)
    for i in range(k):
        first[i + 1] = first[i] + start[groups[i] + 1] - start[groups[i]]
    code = np.empty((first[k], d + 1), np.uint32)
    number, m = np.full(width + limits.shape[1], -1, np.int64), 0
    for i in range(k):
        for q in range(start[groups[i]], start[groups[i] + 1]):
            for a in range(d):
                code[m, a] = space.attribute[a, OFFSET] + codes[member[q], a]
                number[code[m, a]] = 0
            code[m, d] = width + values[member[q]]
            number[code[m, d]] = 0
            m += 1
    span = _number(space, number)
    return _filled(space, limits, first, code, number, span)


@njit(cache=True)
def _number(space: Any, number: Any) -> Any:
    """Number what occurs; where the attributes, the values and the end begin."""
    d, found, width = len(space.attribute), 0, len(space.position)
    span = np.zeros(d + 2, np.int64)
    for a in range(d + 1):
        span[a] = found
        begin = space.attribute[a, OFFSET] if a < d else width
        end = begin + space.attribute[a, SIZE] if a < d else len(number)
        for x in range(begin, end):
            if number[x] >= 0:
                number[x] = found
                found += 1
    span[d + 1] = found
    return span


@njit(cache=True)
def _filled(space: Any, limits: Any, first: Any, code: Any, number: Any, span: Any) -> Any:
    """The chunk, once everything in it has a number."""
    (many, d), width, found, k = (code.shape[0], code.shape[1] - 1), len(space.position), span[-1], len(first) - 1
    means, local = np.zeros(found, np.int32), np.zeros((4, found), np.int64)
    count, i = np.zeros((k, found), np.int32), 0
    for at in range(found):
        local[CEILING, at], local[CEILING_OF, at], local[FLOOR, at], local[FLOOR_OF, at] = 1, 1, 0, 1
    for m in range(many):
        while m == first[i + 1]:
            i += 1
        for a in range(d):
            x = code[m, a]
            code[m, a] = number[x]
            means[number[x]] = place(space, a, x - space.attribute[a, OFFSET])
        x = code[m, d]
        code[m, d] = number[x]
        for f in (CEILING, CEILING_OF, FLOOR, FLOOR_OF):
            local[f, number[x]] = limits[f, x - width]
        for a in range(d + 1):
            count[i, code[m, a]] += 1
    return Chunk(first, code, count, np.zeros((4, k, d), np.int32), means, span, local)
