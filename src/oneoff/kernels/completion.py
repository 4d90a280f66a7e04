"""A group for everybody who has none yet (the second loop of `mechanisms.partitioning.packing`).

Positions, columns and losses are those of `kernels.crowd`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.chunks import unit
from oneoff.kernels.crowd import beyond, round_up
from oneoff.kernels.limits import CEILING, CEILING_OF, FLOOR, keeps_floors
from oneoff.kernels.space import ABOVE_ALL, KIND, OFFSET, SET

__all__ = ["complete"]

HEAD, TAIL, MEMBERS, ASKED = 0, 1, 2, 3  # rows of `about`
LOOKED, BUDGET, FLOORS = 0, 1, 2  # entries of `work`


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
    lists.work[BUDGET], lists.work[FLOORS] = budget, (limits[FLOOR] > 0).sum()
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
        late_ones = rest[t:many] if lists.work[LOOKED] > lists.work[BUDGET] else rest[t : t + 1]
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
    if lists.about[MEMBERS, g] == 0:
        lists.about[HEAD, g] = p
    else:
        lists.after[lists.about[TAIL, g]] = p
    lists.about[TAIL, g] = p
    lists.about[MEMBERS, g] += 1
    lists.after[p] = -1
    lists.group[p] = g


@njit(cache=True)
def _nearest(column: Any, value: Any, space: Any, limits: Any, lists: Any, p: int, count: Any, seen: Any) -> int:
    """Of the groups nearby that may take p the one that loses least by it, or -1."""
    n, best, least, tried = len(value), -1, 2**62, 0
    for step in range(1, n):
        if (p - step < 0 and p + step >= n) or lists.work[LOOKED] > lists.work[BUDGET] or (tried >= 64 and best >= 0):
            break
        for q in (p - step, p + step):
            g = lists.group[q] if 0 <= q < n else -1
            if g < 0 or lists.about[ASKED, g] == p + 1:
                continue
            lists.about[ASKED, g] = p + 1
            lists.work[LOOKED] += lists.about[MEMBERS, g]
            tried += 1
            if _admits(value, limits, lists, g, p, count):
                cost = _growth(column, space, lists, g, p, seen)
                if cost < least:
                    best, least = g, cost
        lists.work[LOOKED] += 2
    return best


@njit(cache=True)
def _admits(value: Any, limits: Any, lists: Any, g: int, p: int, count: Any) -> bool:
    """Group g keeps ceilings and floors with p in it too."""
    q, size = lists.about[HEAD, g], lists.about[MEMBERS, g] + 1
    while q >= 0:
        count[value[q]] += 1
        q = lists.after[q]
    v = value[p]
    count[v] += 1
    fits = count[v] * limits[CEILING_OF, v] <= limits[CEILING, v] * size
    fits = fits and (lists.work[FLOORS] == 0 or keeps_floors(limits, count, size))
    count[v] = 0
    q = lists.about[HEAD, g]
    while q >= 0:
        count[value[q]] = 0
        q = lists.after[q]
    return fits


@njit(cache=True)
def _growth(column: Any, space: Any, lists: Any, g: int, p: int, seen: Any) -> int:
    """What group g loses more, in people times loss, with p in it."""
    loss, stretch = 0, 0
    for a in range(len(column)):
        x, offset = column[a, p], space.attribute[a, OFFSET]
        low, high, distinct, q = ABOVE_ALL, -1, 0, lists.about[HEAD, g]
        while q >= 0:
            y = column[a, q]
            low, high = min(low, y), max(high, y)
            if space.attribute[a, KIND] == SET:
                distinct += seen[offset + y] == 0
                seen[offset + y] = 1
            q = lists.after[q]
        if space.attribute[a, KIND] != SET:
            loss += beyond(space, a, high, low, low)
            stretch += beyond(space, a, x, low, high)
            continue
        more, q = unit(space, a), lists.about[HEAD, g]
        loss += (distinct - 1) * more
        stretch += more * (seen[offset + x] == 0)
        while q >= 0:
            seen[offset + column[a, q]] = 0
            q = lists.after[q]
    return loss + (lists.about[MEMBERS, g] + 1) * stretch


@njit(cache=True)
def _gather(value: Any, limits: Any, least: int, lists: Any, people: Any, number: int, reach: int, count: Any) -> bool:
    """Make a group of these people and of the groups around the first of them, as many as it takes.

    Only groups up to `reach` positions away are taken in. False if that is not enough; then the people stay without
    group, and with a reach of 0 nothing has changed.
    """
    count[:] = 0
    lists.work[LOOKED] += len(count)
    size, needed = len(people), least  # people in the group, and how many it must have for its ceilings
    for i in range(len(people)):
        needed = _count_in(value, limits, people[i], count, needed)
        _append(lists, people[i], number)
    first, step, n = people[0], 0, len(value)
    while size < needed or (lists.work[FLOORS] > 0 and not keeps_floors(limits, count, size)):
        step += 1
        if step > reach or (first - step < 0 and first + step >= n):
            for i in range(len(people)):
                lists.group[people[i]] = -1
            return False
        lists.work[LOOKED] += 2
        for q in (first - step, first + step):
            g = lists.group[q] if 0 <= q < n else -1
            if g < 0 or g == number:
                continue
            p = lists.about[HEAD, g]
            lists.work[LOOKED] += lists.about[MEMBERS, g]
            while p >= 0:
                following = lists.after[p]
                needed = _count_in(value, limits, p, count, needed)
                _append(lists, p, number)
                p = following
            lists.about[MEMBERS, g] = 0
        size = lists.about[MEMBERS, number]
    return True


@njit(cache=True)
def _count_in(value: Any, limits: Any, p: int, count: Any, needed: int) -> int:
    """Count one more person; how many people their group must have now."""
    v = value[p]
    count[v] += 1
    return max(needed, round_up(count[v] * limits[CEILING_OF, v], limits[CEILING, v]))
