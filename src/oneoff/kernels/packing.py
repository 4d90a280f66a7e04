"""Groups that grow around the people who are hardest to place (the first loops of `mechanisms.partitioning.packing`).

Positions, columns and losses are those of `kernels.crowd`; who finds no group is for `kernels.completion`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.chunks import unit
from oneoff.kernels.crowd import (
    AFTER,
    BEFORE,
    BLOCK,
    PEOPLE,
    PLACE,
    POSITION,
    VALUE,
    beyond,
    close_up,
    crowd_of,
    remove,
    round_up,
)
from oneoff.kernels.limits import CEILING, CEILING_OF, FLOOR, FLOOR_OF, keeps_floors
from oneoff.kernels.space import KIND, OFFSET, RANGE, SET

__all__ = ["anchored"]

_NEVER, _BARRED = 3 * 2**29, 2**30  # the cost of somebody a group must not take, and from where on a cost means that
_STALE = 8  # anchors of one value that find no group in a row, before the others with it are left to other groups

SIZE, REWARD = 0, 1  # rows of the plan
FIRST, MANY, COSTS = 0, 1, 2  # rows of `part`
PARTS, NEAR, NEXT_BEFORE, NEXT_AFTER, PLANNED = 0, 1, 2, 3, 4  # entries of `about`
HAVE, LEAST, MOST = 0, 1, 2  # rows of `count`
LOW, HIGH = 0, 1  # rows of `box`


class _Draft(NamedTuple):
    """The group that is growing, and the blocks of people near it.

    chosen  [people]         places of its members
    part    [3, blocks]      where each block near it begins, how many there are in it, and where their costs begin
    about   [5]              parts, people in them, the blocks to look at next before and after them, planned size
    base    [values]         what it costs to take each value into an empty group of that size
    cost    [people]         what each of these people would add to the loss of the box
    box     [2, attributes]  the lowest and highest of each column in the group
    seen                     the categories in the group
    count   [3, values]      members with each value, how many there must be at least, and at most
    """

    chosen: Any
    part: Any
    about: Any
    base: Any
    cost: Any
    box: Any
    seen: Any
    count: Any


@njit(cache=True)
def anchored(column: Any, value: Any, space: Any, limits: Any, plan: Any, anchors: Any, window: int) -> Any:
    """Around each anchor that is still free, a group of those nearby who stretch its box least.

    plan     [2, values]  the size of a group that begins with a value, and the reward for taking it into any group:
                          so many times size * loss it may cost
    anchors  positions, the hardest to place first
    window   how many people along the curve are looked at, in whole blocks; up to four times as many for large
             groups, and again up to eight times as many where nobody who is looked at may join

    A group takes at least as many people with a value as are too many for those who stay without group, so that these
    keep the ceilings too, up to rounding. The group of each position is returned, -1 for who found none.
    """
    n, values = len(value), limits.shape[1]
    group, failed = np.full(n, -1, np.int32), np.zeros(values, np.int64)
    crowd, draft = crowd_of(column, value, values), _draft(column, space, limits, 32 * window)
    left, made, level, packed = n, 0, n, n
    floors = limits[FLOOR].max() > 0
    for t in range(len(anchors)):
        v = value[anchors[t]]
        size = plan[SIZE, v]
        if group[anchors[t]] >= 0 or size > left or failed[v] >= _STALE:
            continue
        if left < packed // 2:
            close_up(crowd)
            packed = left
        level = _watch(crowd, limits, plan, left - size, level)
        needed = _bound(crowd, limits, plan, left - size, size, draft.count)
        draft.chosen[0] = crowd.person[PLACE, anchors[t]]
        wide = window * min(max(size // 32, 1), 4)
        filled = _grow(crowd, space, limits, plan, draft, size, wide, needed, floors)
        kept = filled == size and (not floors or keeps_floors(limits, draft.count[HAVE], size))
        _clear(crowd, space, draft, filled)
        if not kept:
            failed[v] += 1
            continue
        for i in range(size):
            group[draft.chosen[i]] = made
            remove(crowd, crowd.person[PLACE, draft.chosen[i]])
        failed[v] = 0
        left, made = left - size, made + 1
    return group


@njit(cache=True)
def _watch(crowd: Any, limits: Any, plan: Any, rest: int, level: int) -> int:
    """List the values that could exceed their ceiling before half of the rest is gone; every value with a floor too.

    The list that was made for a level will do as long as no fewer people stay.
    """
    if rest >= level:
        return level
    many = 0
    for v in range(limits.shape[1]):
        if limits[FLOOR, v] > 0 or crowd.free[v] > _room(limits, plan, v, rest // 2):
            crowd.hot[many] = v
            many += 1
    crowd.hot[-1] = many
    return rest // 2


@njit(cache=True)
def _room(limits: Any, plan: Any, v: int, people: int) -> int:
    """How many with value v so many people have room for: halfway between what the ceiling says and what remains of
    it in groups of the size that the value asks for, where only whole people count."""
    size, top, bottom = plan[SIZE, v], limits[CEILING, v], limits[CEILING_OF, v]
    return (top * people // bottom + top * size // bottom * people // size) // 2


@njit(cache=True)
def _bound(crowd: Any, limits: Any, plan: Any, rest: int, size: int, count: Any) -> int:
    """How many of each value a group of this size has to take, so that it and the rest can keep the promise."""
    needed = 0
    for h in range(crowd.hot[-1]):
        v = crowd.hot[h]
        most = min(limits[CEILING, v] * size // limits[CEILING_OF, v], crowd.free[v])
        count[LEAST, v] = min(max(crowd.free[v] - _room(limits, plan, v, rest), 0), most)
        if limits[FLOOR, v] > 0:
            floor, of = limits[FLOOR, v], limits[FLOOR_OF, v]
            count[LEAST, v] = max(count[LEAST, v], round_up(floor * size, of))
            count[MOST, v] = max(count[LEAST, v], crowd.free[v] - round_up(floor * rest, of))
        needed += count[LEAST, v]
    return needed


@njit(cache=True)
def _draft(column: Any, space: Any, limits: Any, people: int) -> Any:
    (d, n), blocks = column.shape, (column.shape[1] + BLOCK - 1) // BLOCK
    draft = _Draft(
        np.empty(n, np.int64),
        np.empty((3, blocks), np.int64),
        np.zeros(5, np.int64),
        np.empty(limits.shape[1], np.int32),
        np.empty(min(n, people + BLOCK), np.int32),
        np.empty((2, d), np.int64),
        np.zeros(len(space.position), np.bool_),
        np.zeros((3, limits.shape[1]), np.int64),
    )
    draft.count[MOST] = 2**62
    return draft


@njit(cache=True)
def _clear(crowd: Any, space: Any, draft: Any, filled: int) -> None:
    """Forget the group; what is left of it are the positions of its members."""
    for i in range(filled):
        place = draft.chosen[i]
        draft.count[HAVE, crowd.person[VALUE, place]] = 0
        for a in range(len(crowd.column)):
            if space.attribute[a, KIND] == SET:
                draft.seen[space.attribute[a, OFFSET] + crowd.column[a, place]] = False
        draft.chosen[i] = crowd.person[POSITION, place]
    for h in range(crowd.hot[-1]):
        draft.count[LEAST, crowd.hot[h]], draft.count[MOST, crowd.hot[h]] = 0, 2**62


@njit(cache=True)
def _grow(
    crowd: Any, space: Any, limits: Any, plan: Any, draft: Any, size: int, window: int, needed: int, floors: bool
) -> int:
    """Complete the group that begins with chosen[0]; how many members were found."""
    place, filled, count = draft.chosen[0], 0, draft.count
    home = place // BLOCK
    draft.about[PARTS], draft.about[NEAR] = 0, 0
    if size != draft.about[PLANNED]:
        draft.about[PLANNED] = size
        for v in range(len(draft.base)):
            draft.base[v] = _NEVER if limits[CEILING_OF, v] > limits[CEILING, v] * size else -(plan[REWARD, v] // size)
    while True:
        draft.chosen[filled] = place
        filled += 1
        v = crowd.person[VALUE, place]
        needed -= count[HAVE, v] < count[LEAST, v]
        count[HAVE, v] += 1
        if filled == size:
            return filled
        for a in range(len(crowd.column)):
            _stretch(crowd.column[a], space, a, crowd.column[a, place], draft, filled == 1)
        if filled == 1:
            draft.about[NEXT_BEFORE], draft.about[NEXT_AFTER] = home, crowd.block[AFTER, home]
            _look(crowd, space, limits, draft, window, floors)
        if _full(limits, count, v, size):
            _bar(crowd.person[VALUE], v, draft)
        place = _next(crowd, space, limits, draft, needed >= size - filled)
        if place < 0:
            return filled


@njit(cache=True)
def _next(crowd: Any, space: Any, limits: Any, draft: Any, only_needed: bool) -> int:
    """The place of the one who joins next at the least cost, or -1; looks farther if nobody near may join."""
    while True:
        at = _cheapest(crowd.person[VALUE], draft, only_needed)
        if at >= 0:
            return at
        people = draft.about[NEAR]
        _look(crowd, space, limits, draft, 2 * people, True)
        if draft.about[NEAR] == people:
            return _cheapest(crowd.person[VALUE], draft, False)


@njit(cache=True)
def _full(limits: Any, count: Any, v: int, size: int) -> bool:
    """One more with this value would be too many."""
    more = count[HAVE, v] + 1
    return more * limits[CEILING_OF, v] > limits[CEILING, v] * size or more > count[MOST, v]


@njit(cache=True)
def _cheapest(value: Any, draft: Any, only_needed: bool) -> int:
    """The place of the first of the cheapest who may join, or -1; its cost goes up, so that it is not found again."""
    best, least = -1, np.int32(_BARRED)
    for i in range(draft.about[PARTS]):
        first, many, at = draft.part[FIRST, i], draft.part[MANY, i], draft.part[COSTS, i]
        cost = draft.cost[at : at + many]
        if only_needed:
            for w in range(many):
                v = value[first + w]
                if cost[w] < least and draft.count[HAVE, v] < draft.count[LEAST, v]:
                    best, least = i, cost[w]
        else:
            low = least
            for w in range(many):
                low = min(low, cost[w])
            if low < least:
                best, least = i, low
    if best < 0:
        return -1
    first, at, w = draft.part[FIRST, best], draft.part[COSTS, best], 0
    while draft.cost[at + w] != least or (
        only_needed and draft.count[HAVE, value[first + w]] >= draft.count[LEAST, value[first + w]]
    ):
        w += 1
    draft.cost[at + w] = _NEVER
    return first + w


@njit(cache=True)
def _bar(value: Any, v: int, draft: Any) -> None:
    """Nobody else with this value may join."""
    who, never = np.int32(v), np.int32(_NEVER)
    for i in range(draft.about[PARTS]):
        first, many, at = draft.part[FIRST, i], draft.part[MANY, i], draft.part[COSTS, i]
        near, cost = value[first : first + many], draft.cost[at : at + many]
        for w in range(many):
            cost[w] = never if near[w] == who else cost[w]


@njit(cache=True)
def _stretch(column: Any, space: Any, a: int, x: int, draft: Any, first: bool) -> None:
    """The box takes in x; whoever is now inside or closer costs less."""
    kind, low, high = space.attribute[a, KIND], draft.box[LOW, a], draft.box[HIGH, a]
    if kind == SET:
        if draft.seen[space.attribute[a, OFFSET] + x]:
            return
        draft.seen[space.attribute[a, OFFSET] + x] = True
    elif not first and low <= x <= high:
        return
    draft.box[LOW, a], draft.box[HIGH, a] = (x, x) if first else (min(low, x), max(high, x))
    for i in range(draft.about[PARTS]):
        begin, many, at = draft.part[FIRST, i], draft.part[MANY, i], draft.part[COSTS, i]
        near, cost = column[begin : begin + many], draft.cost[at : at + many]
        if kind == SET:
            _cheaper_same(near, np.int32(x), np.int32(unit(space, a)), cost)
        elif kind == RANGE:
            _cheaper_beyond(near, np.int32(low if x < low else high), np.int32(x), cost)
        else:
            for w in range(many):
                now = beyond(space, a, near[w], min(low, x), max(high, x))
                cost[w] += now - beyond(space, a, near[w], low, high)


@njit(cache=True)
def _cheaper_same(near: Any, x: int, unit: int, cost: Any) -> None:
    """All in 32 bits, as below, so that the machine takes several people at a time."""
    zero = np.int32(0)
    for w in range(len(near)):
        cost[w] -= unit if near[w] == x else zero


@njit(cache=True)
def _cheaper_beyond(near: Any, old: int, new: int, cost: Any) -> None:
    """One end of a range moves from old to new."""
    if new < old:
        for w in range(len(near)):
            cost[w] -= max(old, near[w]) - max(new, near[w])
    else:
        for w in range(len(near)):
            cost[w] -= min(new, near[w]) - min(old, near[w])


@njit(cache=True)
def _look(crowd: Any, space: Any, limits: Any, draft: Any, upto: int, check: bool) -> None:
    """Look at more blocks along the curve, in turn before and after, until so many people are near."""
    about = draft.about
    side = 0
    while about[NEAR] < upto and (about[NEXT_BEFORE] >= 0 or about[NEXT_AFTER] >= 0):
        if about[NEXT_BEFORE + side] < 0:
            side = 1 - side
        b = about[NEXT_BEFORE + side]
        if about[NEAR] + crowd.block[PEOPLE, b] > len(draft.cost):
            return
        about[NEXT_BEFORE + side] = crowd.block[BEFORE + side, b]
        side = 1 - side
        i = about[PARTS]
        draft.part[FIRST, i], draft.part[MANY, i], draft.part[COSTS, i] = b * BLOCK, crowd.block[PEOPLE, b], about[NEAR]
        about[PARTS] += 1
        about[NEAR] += crowd.block[PEOPLE, b]
        _price(crowd, space, limits, draft, i, check)


@njit(cache=True)
def _price(crowd: Any, space: Any, limits: Any, draft: Any, i: int, check: bool) -> None:
    """What each person of a part would add to the loss of the box."""
    first, many, at = draft.part[FIRST, i], draft.part[MANY, i], draft.part[COSTS, i]
    cost = draft.cost[at : at + many]
    for w in range(many):
        cost[w] = draft.base[crowd.person[VALUE, first + w]]
    for a in range(len(crowd.column)):
        kind, low, high = space.attribute[a, KIND], np.int32(draft.box[LOW, a]), np.int32(draft.box[HIGH, a])
        near, more, zero = crowd.column[a][first : first + many], np.int32(unit(space, a)), np.int32(0)
        if kind == RANGE:
            for w in range(many):
                cost[w] += max(low, near[w]) - min(high, near[w])
        elif kind == SET and low == high:
            for w in range(many):
                cost[w] += more if near[w] != low else zero
        elif kind == SET:
            seen = draft.seen[space.attribute[a, OFFSET] :]
            for w in range(many):
                if not seen[near[w]]:
                    cost[w] += more
        else:
            for w in range(many):
                cost[w] += beyond(space, a, near[w], low, high)
    if i == 0:
        cost[draft.chosen[0] - first] = _NEVER
    for w in range(many if check else 0):
        if _full(limits, draft.count, crowd.person[VALUE, first + w], draft.about[PLANNED]):
            cost[w] = _NEVER
