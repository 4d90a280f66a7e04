"""Better groups by changing their sizes: people change groups, and groups dissolve.

Groups lie one after the other: the members of group g are member[start[g] : start[g + 1]], rows of the table. What the
moves lower is the sum over groups of people times box loss, in whole numbers of 1 / UNIT.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.chunks import HIGH, LOW, chunk_of, unit
from oneoff.kernels.limits import CEILING, CEILING_OF, FLOOR, FLOOR_OF
from oneoff.kernels.space import KIND, RANGE, SET, in_units, span_loss
from oneoff.kernels.threads import spread

__all__ = ["move"]


# Columns of what is known about a group.
SIZE, LOSS, NEEDED, FOR, ELSE = 0, 1, 2, 3, 4


class _State(NamedTuple):
    """Who is where in a chunk.

    home   [members]    the group of each
    about  [groups, 5]  size, loss of the box, people it must have for its ceilings, the value for which it must, and
                        people it must have for its other values (SIZE, LOSS, NEEDED, FOR, ELSE)
    toll   [attributes]  the loss of one more category, -1 for attributes with an order
    floors              has any value a floor
    """

    home: Any
    about: Any
    toll: Any
    floors: Any


def move(
    codes: Any, values: Any, space: Any, limits: Any, start: Any, member: Any, order: Any, begin: Any, least: int
) -> Any:
    """The group of every row after moves that each lower the loss and keep the promise.

    order   groups along a curve; those of chunk c are order[begin[c] : begin[c + 1]], and people move inside a chunk
    limits  ceilings and floors of the promise (`kernels.limits`)
    least   people a group must have

    First everybody goes where it lowers the loss most; then groups dissolve whose members lose less elsewhere. A
    group may end up with nobody.
    """
    group = np.empty(len(member), np.int32)

    def run(first: int, last: int) -> None:
        _move(codes, values, space, limits, start, member, order, begin[first : last + 1], least, group)

    spread(run, len(begin) - 1)
    return group


@njit(cache=True, nogil=True)
def _move(
    codes: Any,
    values: Any,
    space: Any,
    limits: Any,
    start: Any,
    member: Any,
    order: Any,
    begin: Any,
    least: int,
    group: Any,
) -> None:
    for c in range(len(begin) - 1):
        groups = order[begin[c] : begin[c + 1]]
        chunk = chunk_of(codes, values, space, limits, start, member, groups)
        state = _state(space, chunk, least)
        _relocate(space, chunk, state, least)
        _dissolve(space, chunk, state, least)
        for g in range(len(groups)):
            for m in range(chunk.first[g], chunk.first[g + 1]):
                group[member[start[groups[g]] + m - chunk.first[g]]] = groups[state.home[m]]


@njit(cache=True)
def _state(space: Any, chunk: Any, least: int) -> Any:
    """Everybody is put into its group again, one by one."""
    k, d = len(chunk.count), chunk.code.shape[1] - 1
    home, toll, floors = np.empty(len(chunk.code), np.int64), np.empty(d, np.int64), False
    for v in range(chunk.span[d], chunk.span[d + 1]):
        floors = floors or chunk.limits[FLOOR, v] > 0
    for a in range(d):
        toll[a] = unit(space, a) if space.attribute[a, KIND] == SET else -1
    state = _State(home, np.zeros((k, 5), np.int64), toll, floors)
    chunk.count[:] = 0
    for g in range(k):
        for m in range(chunk.first[g], chunk.first[g + 1]):
            _join(space, chunk, state, m, g)
        _require(chunk, state, g, d, least)
    return state


@njit(cache=True)
def _span(space: Any, chunk: Any, a: int, low: int, high: int) -> int:
    """What a range or a node loses, from one code to another."""
    if space.attribute[a, KIND] == RANGE:
        return chunk.means[high] - chunk.means[low]
    return in_units(span_loss(space, a, chunk.means[low], chunk.means[high], 0))


@njit(cache=True)
def _join(space: Any, chunk: Any, state: Any, m: int, g: int) -> None:
    """Member m becomes one of group g."""
    first, d = state.about[g, SIZE] == 0, chunk.code.shape[1] - 1
    for a in range(d):
        x = chunk.code[m, a]
        if first:
            chunk.box[LOW, g, a] = chunk.box[HIGH, g, a] = x
        elif state.toll[a] >= 0:
            state.about[g, LOSS] += state.toll[a] if chunk.count[g, x] == 0 else 0
        elif x < chunk.box[LOW, g, a] or x > chunk.box[HIGH, g, a]:
            state.about[g, LOSS] += _beyond(space, chunk, g, a, x)
            chunk.box[LOW, g, a], chunk.box[HIGH, g, a] = min(x, chunk.box[LOW, g, a]), max(x, chunk.box[HIGH, g, a])
        chunk.count[g, x] += 1
    chunk.count[g, chunk.code[m, d]] += 1
    state.about[g, SIZE] += 1
    state.home[m] = g


@njit(cache=True)
def _leave(space: Any, chunk: Any, state: Any, m: int) -> None:
    """Member m is in its group no longer."""
    g, d = state.home[m], chunk.code.shape[1] - 1
    state.about[g, LOSS] -= _saved(space, chunk, state, m)
    state.about[g, SIZE] -= 1
    for a in range(d):
        chunk.count[g, chunk.code[m, a]] -= 1
        if state.about[g, SIZE] > 0 and state.toll[a] < 0:
            chunk.box[LOW, g, a] = _next(chunk, g, chunk.box[LOW, g, a], 1)
            chunk.box[HIGH, g, a] = _next(chunk, g, chunk.box[HIGH, g, a], -1)
    chunk.count[g, chunk.code[m, d]] -= 1


@njit(cache=True)
def _next(chunk: Any, g: int, x: int, step: int) -> int:
    """The first code from x on that somebody in the group has."""
    while chunk.count[g, x] == 0:
        x += step
    return x


@njit(cache=True)
def _saved(space: Any, chunk: Any, state: Any, m: int) -> int:
    """How much less the box of its group loses without member m."""
    g, saved = state.home[m], 0
    if state.about[g, SIZE] == 1:
        return 0
    for a in range(chunk.code.shape[1] - 1):
        x = int(chunk.code[m, a])
        low, high = chunk.box[LOW, g, a], chunk.box[HIGH, g, a]
        if chunk.count[g, x] > 1:
            continue
        if state.toll[a] >= 0:
            saved += state.toll[a]
        elif x == low:
            saved += _span(space, chunk, a, low, high) - _span(space, chunk, a, _next(chunk, g, x + 1, 1), high)
        elif x == high:
            saved += _span(space, chunk, a, low, high) - _span(space, chunk, a, low, _next(chunk, g, x - 1, -1))
    return saved


@njit(cache=True)
def _beyond(space: Any, chunk: Any, g: int, a: int, x: int) -> int:
    """How much more a range or a node of group g loses when it must reach x too."""
    low, high = chunk.box[LOW, g, a], chunk.box[HIGH, g, a]
    return _span(space, chunk, a, min(low, x), max(high, x)) - _span(space, chunk, a, low, high)


@njit(cache=True)
def _require(chunk: Any, state: Any, g: int, d: int, least: int) -> None:
    """How many people the ceilings ask group g to have."""
    first, who, second = least, -1, least
    for v in range(chunk.span[d], chunk.span[d + 1]):
        if chunk.count[g, v] > 0:
            needed = -(-chunk.count[g, v] * chunk.limits[CEILING_OF, v] // chunk.limits[CEILING, v])
            if needed > first:
                first, who, second = needed, v, first
            elif needed > second:
                second = needed
    state.about[g, NEEDED], state.about[g, FOR], state.about[g, ELSE] = first, who, second


@njit(cache=True)
def _change(space: Any, chunk: Any, state: Any, m: int, g: int, least: int) -> None:
    """Member m moves to group g."""
    old, d = state.home[m], chunk.code.shape[1] - 1
    _leave(space, chunk, state, m)
    _join(space, chunk, state, m, g)
    _require(chunk, state, old, d, least)
    _require(chunk, state, g, d, least)


@njit(cache=True)
def _may_leave(chunk: Any, state: Any, m: int) -> bool:
    """The group of member m keeps the promise without it."""
    g, v, limits = state.home[m], chunk.code[m, -1], chunk.limits
    size, have = state.about[g, SIZE] - 1, chunk.count[g, v] - 1
    if size < 1 or size < state.about[g, ELSE if v == state.about[g, FOR] else NEEDED]:
        return False
    if have * limits[CEILING_OF, v] > limits[CEILING, v] * size:
        return False
    return have * limits[FLOOR_OF, v] >= limits[FLOOR, v] * size


@njit(cache=True)
def _may_join(chunk: Any, state: Any, m: int, g: int) -> bool:
    """Group g keeps the promise with member m too."""
    v, size, limits = chunk.code[m, -1], state.about[g, SIZE] + 1, chunk.limits
    if (chunk.count[g, v] + 1) * limits[CEILING_OF, v] > limits[CEILING, v] * size:
        return False
    if state.floors:
        for w in range(chunk.span[-2], chunk.span[-1]):
            if (chunk.count[g, w] + (w == v)) * limits[FLOOR_OF, w] < limits[FLOOR, w] * size:
                return False
    return True


@njit(cache=True)
def _best_home(space: Any, chunk: Any, state: Any, m: int, budget: int) -> Any:
    """The other group that member m may join at the least cost, if that is below the budget, or -1; and the cost.

    A group of z people whose box loses L costs L + (z + 1) s more when it must stretch by s. Neighbours along the
    curve are looked at first; after a good one, most others can be dismissed at a glance.
    """
    best, own, k, code = -1, state.home[m], len(state.about), chunk.code[m]
    count, box, toll, d = chunk.count, chunk.box, state.toll, len(chunk.code[m]) - 1
    for step in range(1, max(own + 1, k - own)):
        for g in (own - step, own + step):
            if g < 0 or g >= k or state.about[g, SIZE] == 0 or state.about[g, LOSS] >= budget:
                continue
            size, cost = state.about[g, SIZE] + 1, state.about[g, LOSS]
            for a in range(d):
                x = code[a]
                if toll[a] >= 0:
                    cost += size * toll[a] if count[g, x] == 0 else 0
                elif x < box[LOW, g, a] or x > box[HIGH, g, a]:
                    cost += size * _beyond(space, chunk, g, a, x)
                if cost >= budget:
                    break
            if cost < budget and _may_join(chunk, state, m, g):
                best, budget = g, cost
    return best, budget


@njit(cache=True)
def _relocate(space: Any, chunk: Any, state: Any, least: int) -> None:
    """Everybody in turn goes where it lowers the loss most."""
    for m in range(len(chunk.code)):
        if _may_leave(chunk, state, m):
            g = state.home[m]
            gain = state.about[g, LOSS] + (state.about[g, SIZE] - 1) * _saved(space, chunk, state, m)
            home, _ = _best_home(space, chunk, state, m, gain)
            if home >= 0:
                _change(space, chunk, state, m, home, least)


@njit(cache=True)
def _dissolve(space: Any, chunk: Any, state: Any, least: int) -> None:
    """Each group in turn sends all its members elsewhere if that lowers the loss."""
    away = np.empty(len(chunk.code), np.int64)
    for g in range(len(state.about)):
        gone = _send_away(space, chunk, state, g, least, away)
        if state.about[g, SIZE] > 0:
            for t in range(gone - 1, -1, -1):
                _change(space, chunk, state, away[t], g, least)


@njit(cache=True)
def _send_away(space: Any, chunk: Any, state: Any, g: int, least: int, away: Any) -> int:
    """Send members elsewhere as long as that costs less than the group loses now; how many went away.

    Those at the edge of the box go first: they are the most expensive, so that a vain attempt ends early.
    """
    budget, gone = state.about[g, SIZE] * state.about[g, LOSS], 0
    for inner in range(2 if budget > 0 else 0):
        for m in range(len(chunk.code)):
            if state.home[m] != g or (inner == 0 and _saved(space, chunk, state, m) == 0):
                continue
            home, cost = _best_home(space, chunk, state, m, budget)
            if home < 0:
                return gone
            budget -= cost
            _change(space, chunk, state, m, home, least)
            away[gone] = m
            gone += 1
    return gone
