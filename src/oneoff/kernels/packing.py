"""Groups that grow around the people who are hardest to place (the first loops of `mechanisms.partitioning.packing`).

Everybody has a position along a curve through the quasi-identifiers: column[a, p] is what a box remembers of attribute
a of the person at position p (`kernels.space.place`), value[p] the sensitive value. Losses are whole numbers of
1 / 2**19, so that ties are exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.space import place, span_loss

__all__ = ["anchored", "columns", "complete"]

_NEVER, _BARRED = 3 * 2**29, 2**30  # the cost of somebody a group must not take, and from where on a cost means that
_STALE = 8  # anchors of one value that find no group in a row, before the others with it are left to other groups
_BLOCK = 512  # people next to each other on the curve who are kept together


@njit(cache=True)
def columns(codes: Any, space: Any, order: Any) -> Any:
    """What boxes remember of the people in this order: [attributes, people]."""
    n, d = len(order), codes.shape[1]
    column = np.empty((d, n), np.int32)
    for a in range(d):
        for p in range(n):
            column[a, p] = place(space, a, codes[order[p], a])
    return column


class _Crowd(NamedTuple):
    """Who has no group yet, in blocks along the curve; a block begins at a multiple of 512 and has no gaps.

    column  [attributes, people]  what boxes remember of the person in each place
    person  [3, people]           value and position of the person in each place, and the place of each position
    block   [3, blocks]           people in it, and the blocks before and after it that are not empty, or -1
    free    [values]              how many have each value
    hot     [values + 1]          values that may soon be too frequent among them, and at the end how many these are
    """

    column: Any
    person: Any
    block: Any
    free: Any
    hot: Any


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
    crowd, draft = _crowd(column, value, values), _draft(column, space, limits, 32 * window)
    left, made, level, packed = n, 0, n, n
    floors = limits[2].max() > 0
    for t in range(len(anchors)):
        v = value[anchors[t]]
        size = plan[0, v]
        if group[anchors[t]] >= 0 or size > left or failed[v] >= _STALE:
            continue
        if left < packed // 2:
            _close_up(crowd)
            packed = left
        level = _watch(crowd, limits, plan, left - size, level)
        needed = _bound(crowd, limits, plan, left - size, size, draft.count)
        draft.chosen[0] = crowd.person[2, anchors[t]]
        wide = window * min(max(size // 32, 1), 4)
        filled = _grow(crowd, space, limits, plan, draft, size, wide, needed, floors)
        kept = filled == size and (not floors or _keeps_floors(limits, draft.count[0], size))
        _clear(crowd, space, draft, filled)
        if not kept:
            failed[v] += 1
            continue
        for i in range(size):
            group[draft.chosen[i]] = made
            _remove(crowd, crowd.person[2, draft.chosen[i]])
        failed[v] = 0
        left, made = left - size, made + 1
    return group


@njit(cache=True)
def _crowd(column: Any, value: Any, values: int) -> Any:
    n = len(value)
    person, free = np.empty((3, n), np.int32), np.zeros(values, np.int64)
    for p in range(n):
        person[0, p], person[1, p], person[2, p] = value[p], p, p
        free[value[p]] += 1
    block = np.empty((3, (n + _BLOCK - 1) // _BLOCK), np.int64)
    _chain(block, n)
    return _Crowd(column.copy(), person, block, free, np.zeros(values + 1, np.int64))


@njit(cache=True)
def _chain(block: Any, people: int) -> None:
    """So many people in blocks that are all full, but for the last."""
    many = (people + _BLOCK - 1) // _BLOCK
    for b in range(many):
        block[0, b], block[1, b], block[2, b] = min(_BLOCK, people - b * _BLOCK), b - 1, b + 1
    block[2, many - 1] = -1


@njit(cache=True)
def _close_up(crowd: Any) -> None:
    """Full blocks again: everybody moves up."""
    left, b = 0, 0
    while crowd.block[0, b] == 0:
        b += 1
    while b >= 0:
        for at in range(b * _BLOCK, b * _BLOCK + crowd.block[0, b]):
            _put(crowd, at, left)
            left += 1
        b = crowd.block[2, b]
    crowd.block[0] = 0
    _chain(crowd.block, left)


@njit(cache=True)
def _put(crowd: Any, place: int, other: int) -> None:
    """The person in one place goes to another."""
    for a in range(len(crowd.column)):
        crowd.column[a, other] = crowd.column[a, place]
    crowd.person[0, other], crowd.person[1, other] = crowd.person[0, place], crowd.person[1, place]
    crowd.person[2, crowd.person[1, other]] = other


@njit(cache=True)
def _remove(crowd: Any, place: int) -> None:
    """Somebody leaves; the last of the block takes the place."""
    b = place // _BLOCK
    crowd.free[crowd.person[0, place]] -= 1
    crowd.block[0, b] -= 1
    _put(crowd, b * _BLOCK + crowd.block[0, b], place)
    if crowd.block[0, b] == 0:
        before, after = crowd.block[1, b], crowd.block[2, b]
        if before >= 0:
            crowd.block[2, before] = after
        if after >= 0:
            crowd.block[1, after] = before


@njit(cache=True)
def _watch(crowd: Any, limits: Any, plan: Any, rest: int, level: int) -> int:
    """List the values that could exceed their ceiling before half of the rest is gone; every value with a floor too.

    The list that was made for a level will do as long as no fewer people stay.
    """
    if rest >= level:
        return level
    many = 0
    for v in range(limits.shape[1]):
        if limits[2, v] > 0 or crowd.free[v] > _room(limits, plan, v, rest // 2):
            crowd.hot[many] = v
            many += 1
    crowd.hot[-1] = many
    return rest // 2


@njit(cache=True)
def _room(limits: Any, plan: Any, v: int, people: int) -> int:
    """How many with value v so many people have room for: halfway between what the ceiling says and what remains of
    it in groups of the size that the value asks for, where only whole people count."""
    size = plan[0, v]
    return (limits[0, v] * people // limits[1, v] + limits[0, v] * size // limits[1, v] * people // size) // 2


@njit(cache=True)
def _bound(crowd: Any, limits: Any, plan: Any, rest: int, size: int, count: Any) -> int:
    """How many of each value a group of this size has to take, so that it and the rest can keep the promise."""
    needed = 0
    for h in range(crowd.hot[-1]):
        v = crowd.hot[h]
        most = min(limits[0, v] * size // limits[1, v], crowd.free[v])
        count[1, v] = min(max(crowd.free[v] - _room(limits, plan, v, rest), 0), most)
        if limits[2, v] > 0:
            count[1, v] = max(count[1, v], _up(limits[2, v] * size, limits[3, v]))
            count[2, v] = max(count[1, v], crowd.free[v] - _up(limits[2, v] * rest, limits[3, v]))
        needed += count[1, v]
    return needed


@njit(cache=True)
def _up(a: int, b: int) -> int:
    return -(-a // b)


@njit(cache=True)
def _draft(column: Any, space: Any, limits: Any, people: int) -> Any:
    (d, n), blocks = column.shape, (column.shape[1] + _BLOCK - 1) // _BLOCK
    draft = _Draft(
        np.empty(n, np.int64),
        np.empty((3, blocks), np.int64),
        np.zeros(5, np.int64),
        np.empty(limits.shape[1], np.int32),
        np.empty(min(n, people + _BLOCK), np.int32),
        np.empty((2, d), np.int64),
        np.zeros(len(space.position), np.bool_),
        np.zeros((3, limits.shape[1]), np.int64),
    )
    draft.count[2] = 2**62
    return draft


@njit(cache=True)
def _clear(crowd: Any, space: Any, draft: Any, filled: int) -> None:
    """Forget the group; what is left of it are the positions of its members."""
    for i in range(filled):
        place = draft.chosen[i]
        draft.count[0, crowd.person[0, place]] = 0
        for a in range(len(crowd.column)):
            if space.attribute[a, 0] == 1:
                draft.seen[space.attribute[a, 1] + crowd.column[a, place]] = False
        draft.chosen[i] = crowd.person[1, place]
    for h in range(crowd.hot[-1]):
        draft.count[1, crowd.hot[h]], draft.count[2, crowd.hot[h]] = 0, 2**62


@njit(cache=True)
def _grow(
    crowd: Any, space: Any, limits: Any, plan: Any, draft: Any, size: int, window: int, needed: int, floors: bool
) -> int:
    """Complete the group that begins with chosen[0]; how many members were found."""
    place, filled, count = draft.chosen[0], 0, draft.count
    home = place // _BLOCK
    draft.about[0], draft.about[1] = 0, 0
    if size != draft.about[4]:
        draft.about[4] = size
        for v in range(len(draft.base)):
            draft.base[v] = _NEVER if limits[1, v] > limits[0, v] * size else -(plan[1, v] // size)
    while True:
        draft.chosen[filled] = place
        filled += 1
        v = crowd.person[0, place]
        needed -= count[0, v] < count[1, v]
        count[0, v] += 1
        if filled == size:
            return filled
        for a in range(len(crowd.column)):
            _stretch(crowd.column[a], space, a, crowd.column[a, place], draft, filled == 1)
        if filled == 1:
            draft.about[2], draft.about[3] = home, crowd.block[2, home]
            _look(crowd, space, limits, draft, window, floors)
        if _full(limits, count, v, size):
            _bar(crowd.person[0], v, draft)
        place = _next(crowd, space, limits, draft, needed >= size - filled)
        if place < 0:
            return filled


@njit(cache=True)
def _next(crowd: Any, space: Any, limits: Any, draft: Any, only_needed: bool) -> int:
    """The place of the one who joins next at the least cost, or -1; looks farther if nobody near may join."""
    while True:
        at = _cheapest(crowd.person[0], draft, only_needed)
        if at >= 0:
            return at
        people = draft.about[1]
        _look(crowd, space, limits, draft, 2 * people, True)
        if draft.about[1] == people:
            return _cheapest(crowd.person[0], draft, False)


@njit(cache=True)
def _full(limits: Any, count: Any, v: int, size: int) -> bool:
    """One more with this value would be too many."""
    more = count[0, v] + 1
    return more * limits[1, v] > limits[0, v] * size or more > count[2, v]


@njit(cache=True)
def _cheapest(value: Any, draft: Any, only_needed: bool) -> int:
    """The place of the first of the cheapest who may join, or -1; its cost goes up, so that it is not found again."""
    best, least = -1, np.int32(_BARRED)
    for i in range(draft.about[0]):
        first, many, at = draft.part[0, i], draft.part[1, i], draft.part[2, i]
        cost = draft.cost[at : at + many]
        if only_needed:
            for w in range(many):
                v = value[first + w]
                if cost[w] < least and draft.count[0, v] < draft.count[1, v]:
                    best, least = i, cost[w]
        else:
            low = least
            for w in range(many):
                low = min(low, cost[w])
            if low < least:
                best, least = i, low
    if best < 0:
        return -1
    first, at, w = draft.part[0, best], draft.part[2, best], 0
    while draft.cost[at + w] != least or (
        only_needed and draft.count[0, value[first + w]] >= draft.count[1, value[first + w]]
    ):
        w += 1
    draft.cost[at + w] = _NEVER
    return first + w


@njit(cache=True)
def _bar(value: Any, v: int, draft: Any) -> None:
    """Nobody else with this value may join."""
    who, never = np.int32(v), np.int32(_NEVER)
    for i in range(draft.about[0]):
        first, many, at = draft.part[0, i], draft.part[1, i], draft.part[2, i]
        near, cost = value[first : first + many], draft.cost[at : at + many]
        for w in range(many):
            cost[w] = never if near[w] == who else cost[w]


@njit(cache=True)
def _stretch(column: Any, space: Any, a: int, x: int, draft: Any, first: bool) -> None:
    """The box takes in x; whoever is now inside or closer costs less."""
    kind, low, high = space.attribute[a, 0], draft.box[0, a], draft.box[1, a]
    if kind == 1:
        if draft.seen[space.attribute[a, 1] + x]:
            return
        draft.seen[space.attribute[a, 1] + x] = True
    elif not first and low <= x <= high:
        return
    draft.box[0, a], draft.box[1, a] = (x, x) if first else (min(low, x), max(high, x))
    for i in range(draft.about[0]):
        begin, many, at = draft.part[0, i], draft.part[1, i], draft.part[2, i]
        near, cost = column[begin : begin + many], draft.cost[at : at + many]
        if kind == 1:
            _cheaper_same(near, np.int32(x), np.int32(_unit(space, a)), cost)
        elif kind == 0:
            _cheaper_beyond(near, np.int32(low if x < low else high), np.int32(x), cost)
        else:
            for w in range(many):
                now = _beyond(space, a, near[w], min(low, x), max(high, x))
                cost[w] += now - _beyond(space, a, near[w], low, high)


@njit(cache=True)
def _unit(space: Any, a: int) -> int:
    return int(space.unit[a] * 2**19 + 0.5)


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
def _beyond(space: Any, a: int, y: int, low: int, high: int) -> int:
    """What a range or a node of a hierarchy from low to high loses when it must reach y too."""
    if space.attribute[a, 0] == 0:
        return max(low - y, 0) + max(y - high, 0)
    wide, now = span_loss(space, a, min(low, y), max(high, y), 0), span_loss(space, a, low, high, 0)
    return int((wide - now) * 2**19 + 0.5)


@njit(cache=True)
def _look(crowd: Any, space: Any, limits: Any, draft: Any, upto: int, check: bool) -> None:
    """Look at more blocks along the curve, in turn before and after, until so many people are near."""
    about = draft.about
    side = 0
    while about[1] < upto and (about[2] >= 0 or about[3] >= 0):
        if about[2 + side] < 0:
            side = 1 - side
        b = about[2 + side]
        if about[1] + crowd.block[0, b] > len(draft.cost):
            return
        about[2 + side] = crowd.block[1 + side, b]
        side = 1 - side
        i = about[0]
        draft.part[0, i], draft.part[1, i], draft.part[2, i] = b * _BLOCK, crowd.block[0, b], about[1]
        about[0] += 1
        about[1] += crowd.block[0, b]
        _price(crowd, space, limits, draft, i, check)


@njit(cache=True)
def _price(crowd: Any, space: Any, limits: Any, draft: Any, i: int, check: bool) -> None:
    """What each person of a part would add to the loss of the box."""
    first, many, at = draft.part[0, i], draft.part[1, i], draft.part[2, i]
    cost = draft.cost[at : at + many]
    for w in range(many):
        cost[w] = draft.base[crowd.person[0, first + w]]
    for a in range(len(crowd.column)):
        kind, low, high = space.attribute[a, 0], np.int32(draft.box[0, a]), np.int32(draft.box[1, a])
        near, unit, zero = crowd.column[a][first : first + many], np.int32(_unit(space, a)), np.int32(0)
        if kind == 0:
            for w in range(many):
                cost[w] += max(low, near[w]) - min(high, near[w])
        elif kind == 1 and low == high:
            for w in range(many):
                cost[w] += unit if near[w] != low else zero
        elif kind == 1:
            seen = draft.seen[space.attribute[a, 1] :]
            for w in range(many):
                if not seen[near[w]]:
                    cost[w] += unit
        else:
            for w in range(many):
                cost[w] += _beyond(space, a, near[w], low, high)
    if i == 0:
        cost[draft.chosen[0] - first] = _NEVER
    for w in range(many if check else 0):
        if _full(limits, draft.count, crowd.person[0, first + w], draft.about[4]):
            cost[w] = _NEVER


class _Lists(NamedTuple):
    """Groups that grow and merge: group g has the positions head, after[head], ... until -1.

    about  [4, groups]   head, last position, size, and who looked at it last
    after  [people]      the next position in the same group
    group  [people]      the group of each position
    work   [3]           positions looked at so far, how many may be, and how many values have a floor
    """

    about: Any
    after: Any
    group: Any
    work: Any


@njit(cache=True)
def complete(column: Any, value: Any, space: Any, limits: Any, least: int, group: Any, late: Any, budget: int) -> None:
    """Find a group for everybody who has none: change `group` so that all groups keep the promise.

    late   positions without a group, the hardest to place first
    least  people a group must have
    budget positions that may be looked at

    Each joins the group nearby that takes it at the least loss. Who is left over after that form a group of their own;
    if they may not, each makes one with the groups before and after, as many as it takes; if all of them are not
    enough, everybody is in one group. When the budget is used up, all who are still left over make one group with as
    many others as it takes.
    """
    lists = _lists(group, len(late))
    lists.work[1], lists.work[2] = budget, (limits[2] > 0).sum()
    count, seen = np.zeros(limits.shape[1], np.int64), np.zeros(len(space.position), np.int64)
    rest, many = np.empty(len(late), np.int64), 0
    for t in range(len(late)):
        g = _nearest(column, value, space, limits, lists, late[t], count, seen)
        if g >= 0:
            _append(lists, late[t], g)
        else:
            rest[many] = late[t]
            many += 1
    number = lists.about.shape[1] - len(late) - 1
    if many == 0 or _gather(value, limits, least, lists, rest[:many], number, 0, count):
        return
    for t in range(many):
        if group[rest[t]] >= 0:
            continue
        number += 1
        late_ones = rest[t:many] if lists.work[0] > lists.work[1] else rest[t : t + 1]
        if not _gather(value, limits, least, lists, late_ones, number, len(value), count):
            group[:] = 0
            return


@njit(cache=True)
def _lists(group: Any, more: int) -> Any:
    """The groups as lists, with room for more groups."""
    n, many = len(group), 0
    for p in range(n):
        many = max(many, group[p] + 1)
    lists = _Lists(np.zeros((4, many + more + 1), np.int64), np.empty(n, np.int32), group, np.zeros(3, np.int64))
    for p in range(n):
        if group[p] >= 0:
            _append(lists, p, group[p])
    return lists


@njit(cache=True)
def _append(lists: Any, p: int, g: int) -> None:
    """Position p becomes the last of group g."""
    if lists.about[2, g] == 0:
        lists.about[0, g] = p
    else:
        lists.after[lists.about[1, g]] = p
    lists.about[1, g] = p
    lists.about[2, g] += 1
    lists.after[p] = -1
    lists.group[p] = g


@njit(cache=True)
def _nearest(column: Any, value: Any, space: Any, limits: Any, lists: Any, p: int, count: Any, seen: Any) -> int:
    """Of the groups nearby that may take p the one that loses least by it, or -1."""
    n, best, least, tried = len(value), -1, 2**62, 0
    for step in range(1, n):
        if (p - step < 0 and p + step >= n) or lists.work[0] > lists.work[1] or (tried >= 64 and best >= 0):
            break
        for q in (p - step, p + step):
            g = lists.group[q] if 0 <= q < n else -1
            if g < 0 or lists.about[3, g] == p + 1:
                continue
            lists.about[3, g] = p + 1
            lists.work[0] += lists.about[2, g]
            tried += 1
            if _admits(value, limits, lists, g, p, count):
                cost = _growth(column, space, lists, g, p, seen)
                if cost < least:
                    best, least = g, cost
        lists.work[0] += 2
    return best


@njit(cache=True)
def _admits(value: Any, limits: Any, lists: Any, g: int, p: int, count: Any) -> bool:
    """Group g keeps ceilings and floors with p in it too."""
    q, size = lists.about[0, g], lists.about[2, g] + 1
    while q >= 0:
        count[value[q]] += 1
        q = lists.after[q]
    v = value[p]
    count[v] += 1
    fits = count[v] * limits[1, v] <= limits[0, v] * size and (lists.work[2] == 0 or _keeps_floors(limits, count, size))
    count[v] = 0
    q = lists.about[0, g]
    while q >= 0:
        count[value[q]] = 0
        q = lists.after[q]
    return fits


@njit(cache=True)
def _keeps_floors(limits: Any, count: Any, size: int) -> bool:
    missing = 0
    for v in range(limits.shape[1]):
        missing += count[v] * limits[3, v] < limits[2, v] * size
    return missing == 0


@njit(cache=True)
def _growth(column: Any, space: Any, lists: Any, g: int, p: int, seen: Any) -> int:
    """What group g loses more, in people times loss, with p in it."""
    loss, stretch = 0, 0
    for a in range(len(column)):
        x, offset = column[a, p], space.attribute[a, 1]
        low, high, distinct, q = 2**31, -1, 0, lists.about[0, g]
        while q >= 0:
            y = column[a, q]
            low, high = min(low, y), max(high, y)
            if space.attribute[a, 0] == 1:
                distinct += seen[offset + y] == 0
                seen[offset + y] = 1
            q = lists.after[q]
        if space.attribute[a, 0] != 1:
            loss += _beyond(space, a, high, low, low)
            stretch += _beyond(space, a, x, low, high)
            continue
        unit, q = _unit(space, a), lists.about[0, g]
        loss += (distinct - 1) * unit
        stretch += unit * (seen[offset + x] == 0)
        while q >= 0:
            seen[offset + column[a, q]] = 0
            q = lists.after[q]
    return loss + (lists.about[2, g] + 1) * stretch


@njit(cache=True)
def _gather(value: Any, limits: Any, least: int, lists: Any, people: Any, number: int, reach: int, count: Any) -> bool:
    """Make a group of these people and of the groups around the first of them, as many as it takes.

    Only groups up to `reach` positions away are taken in. False if that is not enough; then the people stay without
    group, and with a reach of 0 nothing has changed.
    """
    count[:] = 0
    lists.work[0] += len(count)
    size, needed = len(people), least  # people in the group, and how many it must have for its ceilings
    for i in range(len(people)):
        needed = _count_in(value, limits, people[i], count, needed)
        _append(lists, people[i], number)
    first, step, n = people[0], 0, len(value)
    while size < needed or (lists.work[2] > 0 and not _keeps_floors(limits, count, size)):
        step += 1
        if step > reach or (first - step < 0 and first + step >= n):
            for i in range(len(people)):
                lists.group[people[i]] = -1
            return False
        lists.work[0] += 2
        for q in (first - step, first + step):
            g = lists.group[q] if 0 <= q < n else -1
            if g < 0 or g == number:
                continue
            p = lists.about[0, g]
            lists.work[0] += lists.about[2, g]
            while p >= 0:
                following = lists.after[p]
                needed = _count_in(value, limits, p, count, needed)
                _append(lists, p, number)
                p = following
            lists.about[2, g] = 0
        size = lists.about[2, number]
    return True


@njit(cache=True)
def _count_in(value: Any, limits: Any, p: int, count: Any, needed: int) -> int:
    """Count one more person; how many people their group must have now."""
    v = value[p]
    count[v] += 1
    return max(needed, _up(count[v] * limits[1, v], limits[0, v]))
