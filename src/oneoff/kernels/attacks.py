"""What somebody works out who knows everybody's quasi-identifiers, all groups, and how groups are made.

Groups lie one after the other: the members of group g are rows[start[g] : start[g + 1]]. The values of a group are
known, but not whose they are: entries first[g] .. first[g + 1] - 1 of `held` [2, entries] are a value and how many
members have it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.limits import CEILING, CEILING_OF, FLOOR, FLOOR_OF
from oneoff.kernels.space import ABOVE_ALL, ANCESTOR, KIND, LEAVES, OFFSET, RANGE, SET, TREE, UNDER, span_loss

__all__ = ["evidence", "farness", "share_out", "suspicions"]

_VALUE, _MANY = range(2)  # lines of `held`
_MEMBERS, _VALUES = range(2)  # lines of `bounds`: where the members of each group begin, and its values
_OWN, _OTHER = range(2)  # lines of working space: the group looked at, and the one to swap with
_LOWEST, _LOW, _HIGH, _HIGHEST, _DISTINCT = range(5)  # of the codes of a group: the two lowest, the two highest


@njit(cache=True)
def farness(codes: Any, space: Any, start: Any, rows: Any) -> Any:
    """How far each member is from the others of its group, in the order of `rows`: what the differences would cost.

    Numbers: the distance from the mean of the others. Sets: the loss of one more value, for the share of the others
    that differ. Nodes: the loss of the lowest common ancestor with another member, on average.
    """
    far = np.zeros(len(rows))
    seen = np.zeros(max(len(space.position), space.tree.shape[1]), np.int64)
    for g in range(len(start) - 1):
        members = rows[start[g] : start[g + 1]]
        if len(members) > 1:
            for a in range(codes.shape[1]):
                if space.attribute[a, KIND] == RANGE:
                    _far_on_line(codes, space, a, members, far[start[g] : start[g + 1]])
                elif space.attribute[a, KIND] == SET:
                    _far_in_set(codes, space, a, members, seen, far[start[g] : start[g + 1]])
                else:
                    _far_in_tree(codes, space, a, members, seen, far[start[g] : start[g + 1]])
    return far


@njit(cache=True)
def _far_on_line(codes: Any, space: Any, a: int, members: Any, far: Any) -> None:
    offset, total = space.attribute[a, OFFSET], 0.0
    for row in members:
        total += space.position[offset + codes[row, a]]
    for e in range(len(members)):
        x = space.position[offset + codes[members[e], a]]
        far[e] += abs(x - (total - x) / (len(members) - 1))


@njit(cache=True)
def _far_in_set(codes: Any, space: Any, a: int, members: Any, seen: Any, far: Any) -> None:
    for row in members:
        seen[codes[row, a]] += 1
    for e in range(len(members)):
        far[e] += space.unit[a] * (len(members) - seen[codes[members[e], a]]) / (len(members) - 1)
    for row in members:
        seen[codes[row, a]] = 0


@njit(cache=True)
def _far_in_tree(codes: Any, space: Any, a: int, members: Any, seen: Any, far: Any) -> None:
    """Level by level: those who meet on a level differ by the loss of its node, those who met below do not."""
    offset, tree, leaves = space.attribute[a, OFFSET], space.attribute[a, TREE], space.attribute[a, LEAVES]
    met = np.ones(len(members), np.int64)
    level = tree
    while met[0] < len(members):
        for row in members:
            seen[space.tree[ANCESTOR, level + space.leaf[offset + codes[row, a]]]] += 1
        for e in range(len(members)):
            at = level + space.leaf[offset + codes[members[e], a]]
            meet = seen[space.tree[ANCESTOR, at]]
            far[e] += (space.tree[UNDER, at] - 1) * space.unit[a] * (meet - met[e]) / (len(members) - 1)
            met[e] = meet
        for row in members:
            seen[space.tree[ANCESTOR, level + space.leaf[offset + codes[row, a]]]] = 0
        level += leaves


@njit(cache=True)
def suspicions(
    codes: Any,
    space: Any,
    bounds: Any,
    rows: Any,
    held: Any,
    limits: Any,
    ceiling: Any,
    groups: Any,
    near: Any,
    doubt: float,
) -> Any:
    """For each member of some groups the value that is suspected most for its ceiling, and the belief in it.

    bounds  [2, all groups + 1]    start and first: where each group begins in `rows` and in `held`
    limits                         ceilings and floors of the promise (`models.Rule.limits`), which decide exactly
    ceiling [values]               the ceilings as numbers, to compare beliefs with
    near    [members, searched]    for every member, in this order, groups in which to look for swaps; -1 for none
    doubt                          the chance that a swap was left out though it was worth making and allowed
    """
    value, belief = np.zeros(len(near), np.int64), np.zeros(len(near))
    counted = np.zeros((2, len(space.position) + limits.shape[1]), np.int64)
    begin = 0
    for g in groups:
        size, first = bounds[_MEMBERS, g + 1] - bounds[_MEMBERS, g], bounds[_VALUES, g]
        members = near[begin : begin + size]
        odds = evidence(codes, space, bounds, rows, held, limits, g, members, doubt, counted)
        share_out(odds, held[_MANY, first : bounds[_VALUES, g + 1]])
        for m in range(size):
            best = -1.0
            for k in range(odds.shape[1]):
                v = held[_VALUE, first + k]
                if odds[m, k] > best * ceiling[v]:
                    best, value[begin + m], belief[begin + m] = odds[m, k] / ceiling[v], v, odds[m, k]
        begin += size
    return value, belief


@njit(cache=True)
def evidence(
    codes: Any,
    space: Any,
    bounds: Any,
    rows: Any,
    held: Any,
    limits: Any,
    g: int,
    near: Any,
    doubt: float,
    counted: Any,
) -> Any:
    """What swaps that were not made say about each member of g and each of its values: chances up to a factor.

    counted  [2, codes + values]  working space, all zero before and after
    """
    start, domain = bounds[_MEMBERS], len(space.position)
    size, distinct = start[g + 1] - start[g], bounds[_VALUES, g + 1] - bounds[_VALUES, g]
    codes_in, people_with = counted[:, :domain], counted[:, domain:]  # in g and in another group
    edges = np.zeros((2, codes.shape[1], 5), np.int64)
    chance = np.ones((size, distinct))
    _enter(codes, space, start, rows, g, codes_in[_OWN], edges[_OWN])
    _count(bounds[_VALUES], held, g, people_with[_OWN], 1)
    for m in range(size):
        for h in near[m]:
            if h < 0:
                continue
            _enter(codes, space, start, rows, h, codes_in[_OTHER], edges[_OTHER])
            worth = _worth_making(codes, space, start, rows, rows[start[g] + m], g, h, codes_in, edges)
            if worth > 0:
                _count(bounds[_VALUES], held, h, people_with[_OTHER], 1)
                _weigh(bounds, held, limits, g, h, people_with, worth, doubt, chance[m])
                _count(bounds[_VALUES], held, h, people_with[_OTHER], 0)
            _leave(codes, space, start, rows, h, codes_in[_OTHER])
    _count(bounds[_VALUES], held, g, people_with[_OWN], 0)
    _leave(codes, space, start, rows, g, codes_in[_OWN])
    return chance


@njit(cache=True)
def share_out(odds: Any, people: Any) -> None:
    """Scale rows and columns in turn until every member has one value and value k has people[k] members (Sinkhorn)."""
    for _ in range(30):
        for k in range(odds.shape[1]):
            total = 0.0
            for m in range(odds.shape[0]):
                total += odds[m, k]
            if total > 0:
                for m in range(odds.shape[0]):
                    odds[m, k] *= people[k] / total
        for m in range(odds.shape[0]):
            total = 0.0
            for k in range(odds.shape[1]):
                total += odds[m, k]
            for k in range(odds.shape[1]):
                odds[m, k] /= total


@njit(cache=True)
def _enter(codes: Any, space: Any, start: Any, rows: Any, g: int, codes_in: Any, edges: Any) -> None:
    """Count the codes of a group; note the two lowest, the two highest and the number of distinct ones."""
    for a in range(codes.shape[1]):
        edges[a, _LOWEST], edges[a, _LOW], edges[a, _DISTINCT] = ABOVE_ALL, ABOVE_ALL, 0
        edges[a, _HIGH], edges[a, _HIGHEST] = -1, -1
    for e in range(start[g], start[g + 1]):
        for a in range(codes.shape[1]):
            code = codes[rows[e], a]
            place = space.attribute[a, OFFSET] + code
            if codes_in[place] == 0:
                edges[a, _DISTINCT] += 1
            codes_in[place] += 1
            if code < edges[a, _LOWEST]:
                edges[a, _LOWEST], edges[a, _LOW] = code, edges[a, _LOWEST]
            elif code < edges[a, _LOW]:
                edges[a, _LOW] = code
            if code > edges[a, _HIGHEST]:
                edges[a, _HIGH], edges[a, _HIGHEST] = edges[a, _HIGHEST], code
            elif code > edges[a, _HIGH]:
                edges[a, _HIGH] = code


@njit(cache=True)
def _leave(codes: Any, space: Any, start: Any, rows: Any, g: int, codes_in: Any) -> None:
    for e in range(start[g], start[g + 1]):
        for a in range(codes.shape[1]):
            codes_in[space.attribute[a, OFFSET] + codes[rows[e], a]] = 0


@njit(cache=True)
def _count(first: Any, held: Any, g: int, people_with: Any, times: int) -> None:
    """Note how many members have each value; with 0 times, forget it."""
    for e in range(first[g], first[g + 1]):
        people_with[held[_VALUE, e]] = held[_MANY, e] * times


@njit(cache=True)
def _worth_making(
    codes: Any, space: Any, start: Any, rows: Any, row: int, g: int, h: int, codes_in: Any, edges: Any
) -> int:
    """How many members of h could change places with a member of g so that people times loss falls."""
    here, there = start[g + 1] - start[g], start[h + 1] - start[h]
    found, alone = 0, _stands_out(codes, space, row, codes_in[_OWN], edges[_OWN])
    for e in range(start[h], start[h + 1]):
        if not alone and not _stands_out(codes, space, rows[e], codes_in[_OTHER], edges[_OTHER]):
            continue  # neither group could shrink
        change = 0.0
        for a in range(codes.shape[1]):
            x, y = codes[row, a], codes[rows[e], a]
            if x != y:
                change += here * _change(space, a, x, y, codes_in[_OWN], edges[_OWN, a])
                change += there * _change(space, a, y, x, codes_in[_OTHER], edges[_OTHER, a])
        if change < -1e-4:  # mechanisms may round losses
            found += 1
    return found


@njit(cache=True)
def _stands_out(codes: Any, space: Any, row: int, codes_in: Any, edges: Any) -> bool:
    """Would the group's box be smaller without this member?"""
    for a in range(codes.shape[1]):
        code = codes[row, a]
        if codes_in[space.attribute[a, OFFSET] + code] == 1 and (
            space.attribute[a, KIND] == SET or code == edges[a, _LOWEST] or code == edges[a, _HIGHEST]
        ):
            return True
    return False


@njit(cache=True)
def _change(space: Any, a: int, out: int, into: int, codes_in: Any, edges: Any) -> float:
    """By how much the loss of a group in attribute a rises when one code leaves and another one comes."""
    offset = space.attribute[a, OFFSET]
    low = edges[_LOW] if out == edges[_LOWEST] else edges[_LOWEST]
    high = edges[_HIGH] if out == edges[_HIGHEST] else edges[_HIGHEST]
    distinct = edges[_DISTINCT] - (codes_in[offset + out] == 1) + (codes_in[offset + into] == 0)
    after = span_loss(space, a, min(low, into), max(high, into), distinct)
    return after - span_loss(space, a, edges[_LOWEST], edges[_HIGHEST], edges[_DISTINCT])


@njit(cache=True)
def _weigh(
    bounds: Any, held: Any, limits: Any, g: int, h: int, people_with: Any, worth: int, doubt: float, chance: Any
) -> None:
    """For each value of g that a member might have: how likely it is that no swap with `worth` members of h is allowed.

    A swap of v for w is barred when v may not go to h or w may not come to g, and never when v = w. So v tells how
    many members of h are barred partners; the chance that `worth` of them, drawn without replacement, all are.
    Beyond 32 of them the draws are hardly independent any more, and no further evidence.
    """
    here, there = bounds[_MEMBERS, g + 1] - bounds[_MEMBERS, g], bounds[_MEMBERS, h + 1] - bounds[_MEMBERS, h]
    most = 0.0
    kept = 0  # members of h whose value may not come to g
    for e in range(bounds[_VALUES, h], bounds[_VALUES, h + 1]):
        if _stays(limits, held[_VALUE, e], people_with[_OTHER], there, people_with[_OWN], here):
            kept += held[_MANY, e]
    for k in range(len(chance)):
        v = held[_VALUE, bounds[_VALUES, g] + k]
        barred = kept
        if _stays(limits, v, people_with[_OWN], here, people_with[_OTHER], there):
            barred = there - people_with[_OTHER, v]
        elif _stays(limits, v, people_with[_OTHER], there, people_with[_OWN], here):
            barred = kept - people_with[_OTHER, v]
        for t in range(min(worth, 32)):
            chance[k] *= doubt + (1.0 - doubt) * max(barred - t, 0) / (there - t)
        most = max(most, chance[k])
    for k in range(len(chance)):
        chance[k] = max(chance[k] / most, 1e-100) if most > 0 else 1.0


@njit(cache=True)
def _stays(limits: Any, v: int, people_here: Any, here: int, people_there: Any, there: int) -> bool:
    """May nobody with value v go from here to there, if the groups keep their sizes?"""
    if (people_there[v] + 1) * limits[CEILING_OF, v] > limits[CEILING, v] * there:
        return True
    return (people_here[v] - 1) * limits[FLOOR_OF, v] < limits[FLOOR, v] * here
