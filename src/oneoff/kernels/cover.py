"""Random output tables by column generation (the loops of `mechanisms.masking`).

A table moves people from rows (equal values, w_i people each) to columns (values that may be shown). Every column is a
sum of bundles: one unit of people, at most delta * w_i of it from row i and at most a ceiling of it with one sensitive
value. So the linear program has a row for every value and a variable for every bundle, of which the best one for
given prices is found by taking people in the order of price minus distance until the unit is full. Bundles are whole
numbers of a small part of the unit. Whatever whole multiples of them are added up, a column keeps its limits exactly.
Weights are those of all people of a row together: who shares a row has equal parts of them where they can be divided.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oneoff.kernels.noise import FIRST, onward

__all__ = ["cover_shapes"]

# Lines of an array as wide as the longest of them: of every row of the table the people, the most parts of a unit that
# may be theirs, and their sensitive value; of every sensitive value its ceiling in parts; and two to work in.
_PEOPLE, _MOST, _KIND, _CEILING, _ROOM, _TAKEN = range(6)

_CODE, _MANY, _VALUE = range(3)  # columns of `rows`
_DELTA = 0  # the first of the limits; ceilings follow
_TOP, _BOTTOM = range(2)  # columns of the limits
_COST, _ASIDE = range(2)  # columns of `found`

_FEWEST = 64  # multiples of a bundle whose parts may be rounded
_LITTLE = 1e-5  # to put aside for rounding, so that people who share a row are equal
_CLOSE = 1e-9
_SMOOTH = 0.9
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def _distance(position: Any, ancestor: Any, a: int, b: int) -> float:
    """Between two codes: as `table.distance.displacement` has it."""
    if a == b:
        return 0.0
    if len(position):
        return abs(position[a] - position[b])
    height = len(ancestor) - 1
    for level in range(1, height):
        if ancestor[level, a] == ancestor[level, b]:
            return level / height
    return 1.0


@njit(cache=True, nogil=True)
def _bundle(gain: Any, order: Any, whole: Any, unit: int) -> float:
    """Fill a unit with the greatest gain; _TAKEN gets the part of every row, the gain of the unit is returned.

    order   the rows in the order they had when the column was last looked at, which is nearly the one they need now
    """
    for place in range(len(order)):
        i, at = order[place], place
        while at > 0 and gain[order[at - 1]] < gain[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
        whole[_TAKEN, i] = 0
        whole[_ROOM, whole[_KIND, i]] = whole[_CEILING, whole[_KIND, i]]
    left, total = unit, 0.0
    for i in order:
        part = min(whole[_MOST, i], whole[_ROOM, whole[_KIND, i]], left)
        whole[_TAKEN, i] = part
        whole[_ROOM, whole[_KIND, i]] -= part
        left -= part
        total += part * gain[i]
        if left == 0:
            break
    return total / unit


@njit(cache=True, nogil=True)
def _price(cost: Any, bundle: Any, aim: int, dear: float) -> float:
    """What a unit of the bundle costs."""
    if aim < 0:
        return dear
    total, parts = 0.0, 0
    for i in range(len(bundle)):
        total += bundle[i] * cost[i, aim]
        parts += bundle[i]
    return total / parts


@njit(cache=True, nogil=True)
def _times(matrix: Any, vector: Any, result: Any) -> None:
    for b in range(len(vector)):
        total = 0.0
        for i in range(len(vector)):
            total += matrix[b, i] * vector[i]
        result[b] = total


@njit(cache=True, nogil=True)
def _best_bundle(cost: Any, price: Any, whole: Any, unit: int, order: Any, gain: Any, found: Any) -> Any:
    """(gain, column) of the bundle with the greatest gain under some prices; `found` gets its parts."""
    rows, columns = cost.shape
    best, where = -np.inf, 0
    for j in range(columns):
        for i in range(rows):
            gain[i] = price[i] - cost[i, j]
        total = _bundle(gain, order[j], whole, unit)
        if total > best:
            best, where = total, j
            for i in range(rows):
                found[i] = whole[_TAKEN, i]
    return best, where


@njit(cache=True, nogil=True)
def _pivot(basis: Any, level: Any, turn: Any, unit: int) -> int:
    """Take a bundle into the basis: turn has its parts in terms of those in use. The place it takes, or -1."""
    rows = len(level)
    leaves, shortest = -1, np.inf
    for b in range(rows):
        if turn[b] > 1e-7 * unit:  # where ceilings leave no room, rows depend on one another, and less is noise
            length = max(level[b], 0.0) / turn[b]
            if length < shortest:
                leaves, shortest = b, length
    if leaves < 0:
        return -1
    for i in range(rows):
        basis[leaves, i] *= unit / turn[leaves]
    level[leaves] = shortest * unit
    for b in range(rows):
        if b != leaves and turn[b] != 0.0:
            for i in range(rows):
                basis[b, i] -= turn[b] / unit * basis[leaves, i]
            level[b] -= turn[b] * shortest
    return leaves


@njit(cache=True, nogil=True)
def _improve(cost: Any, scale: float, whole: Any, unit: int, basis: Any, used: Any, work: Any, order: Any) -> bool:
    """Simplex steps until no bundle has a gain. False when they do not come to an end.

    Bundles are looked for under prices near to those that gave the best bound so far (Wentges 1997): by their own
    prices alone, tables of many rows take several times as many steps.

    basis   the inverse of the matrix of bundles in use
    used    [b]: the parts of bundle b in use, and last the column it is for: -1 for one that stands for nothing
    """
    rows, columns = cost.shape
    price, gain, level, own, turn, found, target, centre, between = work
    everybody, bound, begun = 0.0, -np.inf, True
    for i in range(rows):
        target[i] = whole[_PEOPLE, i] * (1.0 + 1e-8 * (1.0 + i))  # no two steps are equally long
        everybody += target[i]
        own[i] = _price(cost, used[i, :rows], used[i, rows], 1e4 * scale)
        begun = begun and used[i, rows] >= 0
        centre[i] = 0.0
        for j in range(columns):
            order[j, i] = i
    _times(basis, target, level)
    for step in range(200 + 60 * rows):
        objective = 0.0
        for i in range(rows):
            price[i] = 0.0
            objective += own[i] * level[i]
            for b in range(rows):
                price[i] += own[b] * basis[b, i]
            if step == 0 and begun:
                centre[i] = price[i]
        where = -1
        for weight in (_SMOOTH, 0.0):
            for i in range(rows):
                between[i] = weight * centre[i] + (1.0 - weight) * price[i]
            best, column = _best_bundle(cost, between, whole, unit, order, gain, found)
            low, real = -everybody * best, 0.0
            for i in range(rows):
                low += target[i] * between[i]
                real += found[i] / unit * (price[i] - cost[i, column])
            if low > bound:
                bound = low
                for i in range(rows):
                    centre[i] = between[i]
            if real > _CLOSE * scale:
                where = column
                break
        if where < 0 or objective - bound <= 1e-9 * max(objective, scale):
            return True
        _times(basis, found, turn)
        leaves = _pivot(basis, level, turn, unit)
        if leaves < 0:
            return False
        for i in range(rows):
            used[leaves, i] = np.int64(found[i])
        used[leaves, rows] = where
        own[leaves] = _price(cost, used[leaves, :rows], where, 0.0)
    return False


@njit(cache=True, nogil=True)
def _nearest(cost: Any, people: Any) -> int:
    """The column that is nearest to all people together; -1 - column when it is everybody's own."""
    best, least = 0, np.inf
    for j in range(cost.shape[1]):
        total = 0.0
        for i in range(len(cost)):
            total += people[i] * cost[i, j]
        if total < least:
            best, least = j, total
    return best if least > 0.0 else -1 - best


@njit(cache=True, nogil=True)
def _vertices(cost: Any, noisy: Any, whole: Any, unit: int, nearest: int, levels: Any, bundles: Any) -> int:
    """Bundles of tables with the least cost, and how much of each: as many tables as there is room for, or fewer."""
    rows, columns = cost.shape
    people = whole[_PEOPLE]
    basis, used = np.zeros((rows, rows)), np.zeros((rows, rows + 1), np.int64)
    work, order = np.empty((9, rows)), np.empty((columns, rows), np.int64)
    everybody, scale = 0, 0.0
    for i in range(rows):
        everybody += people[i]
        used[0, i] = people[i]  # all show the same: a bundle like any other, but it need not be of whole parts
        for j in range(columns):
            scale = max(scale, cost[i, j])
            noisy[i, j] = cost[i, j]
    used[0, rows] = nearest
    basis[0, 0] = everybody / people[0]
    for i in range(1, rows):
        used[i, i] = 1
        used[i, rows] = -1
        basis[i, i] = 1.0
        basis[i, 0] = -people[i] / people[0]
    found, best, state = 0, 0.0, FIRST
    for _ in range(len(levels)):
        if not _improve(noisy, scale, whole, unit, basis, used, work, order):
            break
        crowd = work[0]  # free between one `_improve` and the next
        for i in range(rows):
            crowd[i] = people[i]
        _times(basis, crowd, levels[found])
        total, stray = 0.0, 0.0
        for b in range(rows):
            if used[b, rows] >= 0:
                total += levels[found, b] * _price(cost, used[b, :rows], used[b, rows], 0.0)
                stray += max(-levels[found, b], 0.0)
            else:
                stray += abs(levels[found, b])
        if stray > 1e-6:  # of people who are in no bundle, or in less than none
            break
        if found == 0:
            best = total
        if total <= best + 1e-7 * max(best, scale):
            for b in range(rows):
                for i in range(rows + 1):
                    bundles[found, b, i] = used[b, i]
            found += 1
        for i in range(rows):  # costs that make another of the best tables the only best one; the same in every run
            for j in range(columns):
                state = onward(state)
                noisy[i, j] = cost[i, j] + 1e-5 * scale * (np.float64(state >> np.uint64(11)) / 9007199254740992.0)
    return found


@njit(cache=True, nogil=True)
def _high(a: Any, b: Any) -> Any:
    """The upper half of the 128 bits of a * b."""
    a0, a1, b0, b1 = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    middle = a1 * b0 + ((a0 * b0) >> _HALF)
    other = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> _HALF) + (other >> _HALF)


@njit(cache=True, nogil=True)
def _within(part: int, limit: Any, everybody: int) -> bool:
    """part / everybody <= limit[_TOP] / limit[_BOTTOM], exactly: all are whole numbers below 2**63."""
    a, b, c, d = np.uint64(part), np.uint64(limit[_BOTTOM]), np.uint64(limit[_TOP]), np.uint64(everybody)
    high, bound = _high(a, b), _high(c, d)
    return high < bound or (high == bound and a * b <= c * d)


@njit(cache=True, nogil=True)
def _kept(weight: Any, whole: Any, limits: Any) -> bool:
    """Nobody has more than delta of a column, and no sensitive value more than its ceiling of it."""
    people, kind, part = whole[_PEOPLE], whole[_KIND], whole[_ROOM]
    for j in range(weight.shape[1]):
        everybody, likeliest = 0, 0
        for s in range(len(limits) - 1):
            part[s] = 0
        for i in range(len(weight)):
            likeliest = max(likeliest, -(-weight[i, j] // people[i]))  # of those who share, some may have one more
            everybody += weight[i, j]
            part[kind[i]] += weight[i, j]
        if not _within(likeliest, limits[_DELTA], everybody):
            return False
        for s in range(len(limits) - 1):
            if not _within(part[s], limits[1 + s], everybody):
                return False
    return True


@njit(cache=True, nogil=True)
def _common(numbers: Any, many: int, most: int) -> int:
    """The least common multiple of so many of the numbers, or 0 when that is above `most`."""
    multiple = 1
    for k in range(many):
        number = numbers[k]
        a, b = multiple, number
        while b:
            a, b = b, a % b
        multiple = multiple // a * number
        if multiple > most:
            return 0
    return multiple


@njit(cache=True, nogil=True)
def _parts(whole: Any, rows: int, limits: Any, everybody: int, total: int, equal: bool) -> Any:
    """(unit, step): the parts of a unit, and what multiples of bundles are divisible by; limits in parts go to whole.

    With a common denominator all is exact. Without one limits are rounded down, but not below what the whole group has.
    Where people who share a row are to be equal and weights cannot all be divided by their number, a millionth of each
    limit is left for rounding, and step is 0.
    """
    people, room = whole[_PEOPLE], whole[_ROOM]
    unit = _common(limits[:, _BOTTOM], len(limits), 100_000)
    if unit == 0:
        unit = everybody * (1 + 100_000 // everybody)
    step = _common(people, rows, total // (unit * 100_000)) if equal else 1
    loose = step == 0
    if loose:
        unit = everybody * (1 + 4_000_000 // everybody)
    for s in range(len(limits) - 1):
        room[s] = 0
    for i in range(rows):
        room[whole[_KIND, i]] += people[i] * (unit // everybody)
    for s in range(len(limits)):
        parts = limits[s, _TOP] * unit // limits[s, _BOTTOM]
        if loose:
            parts = max(parts - 1 - parts // 1_000_000, unit // everybody if s == _DELTA else room[s - 1])
        if s != _DELTA:
            whole[_CEILING, s - 1] = parts
            continue
        for i in range(rows):
            whole[_MOST, i] = people[i] * parts
    return unit, step


@njit(cache=True, nogil=True)
def _fill(levels: Any, bundles: Any, people: Any, unit: int, step: int, scale: float, weight: Any) -> None:
    """Add up multiples of the bundles of some tables; with step 0, of their parts what can be divided."""
    rows = len(weight)
    for i in range(rows):
        for j in range(weight.shape[1]):
            weight[i, j] = 0
    for v in range(len(levels)):
        for b in range(rows):
            parts, aim = 0, bundles[v, b, rows]
            for i in range(rows):
                parts += bundles[v, b, i]
            if aim < 0 or parts != unit:  # what all began with is part of what is left over
                continue
            many = np.int64(max(levels[v, b], 0.0) * scale)
            if step > 0:
                many = many // step * step
            elif many < _FEWEST:  # of so few, parts that are rounded down would not keep their limits
                continue
            for i in range(rows):
                part = many * bundles[v, b, i]
                weight[i, aim] += part if step > 0 else part // people[i] * people[i]


@njit(cache=True, nogil=True)
def _table(cost: Any, noisy: Any, whole: Any, limits: Any, average: int, total: int, weight: Any) -> float:
    """The table with the least cost in whole weights; how much had to be put aside for rounding, or -1.0 on failure.

    What rounding leaves over, and a little more so that all have some of it, goes to the column nearest to all: there
    it is nearly the same for everybody. The more is put aside the more equal it is; in the end all show the same. When
    that would cost much, as where a ceiling is just what the group has, people who share a row need not be equal.
    """
    people, rows, everybody = whole[_PEOPLE], len(cost), 0
    for i in range(rows):
        everybody += people[i]
    nearest, found, aside = _nearest(cost, people), 1, 0.0
    choice = nearest >= 0 and limits[_DELTA, _TOP] * everybody > limits[_DELTA, _BOTTOM]
    for turn in range(2 if choice else 0):
        equal = turn == 0
        unit, step = _parts(whole, rows, limits, everybody, total, equal)
        levels, bundles = np.empty((average, rows)), np.empty((average, rows, rows + 1), np.int64)
        found, aside = _vertices(cost, noisy, whole, unit, nearest, levels, bundles), 0.0
        while found > 0 and aside <= (_LITTLE if equal else 0.5):
            scale = (1.0 - aside) * total / (unit * found)
            _fill(levels[:found], bundles[:found], people, unit, step, scale, weight)
            room = True
            for i in range(rows):
                left = total * people[i]
                for j in range(cost.shape[1]):
                    left -= weight[i, j]
                room = room and left >= 0
                weight[i, nearest] += left
            if room and _kept(weight, whole, limits):
                return aside
            aside = max(10.0 * aside, 1e-10)
    nearest = nearest if nearest >= 0 else -1 - nearest
    for i in range(rows):
        for j in range(cost.shape[1]):
            weight[i, j] = total * people[i] if j == nearest else 0
    if not choice:
        return 0.0
    return 1.0 if found > 0 else -1.0


@njit(cache=True, nogil=True)
def cover_shapes(
    rows: Any, row_start: Any, columns: Any, column_start: Any, out_start: Any, position: Any, ancestor: Any,
    limits: Any, average: int, total: int, found: Any, weight: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Tables for the shapes first to last: weight[out_start[t] : out_start[t + 1]] is rows x columns of shape t.

    rows     [r]: code, people and sensitive value of every row; columns: the code of every column
    limits   delta and the ceilings as (numerator, denominator)
    found    [t]: the cost of the table, and how much was put aside for rounding
    """
    for t in range(first, last):
        many, shows = row_start[t + 1] - row_start[t], column_start[t + 1] - column_start[t]
        cost, noisy = np.empty((many, shows)), np.empty((many, shows))
        whole = np.zeros((6, max(many, len(limits))), np.int64)
        for i in range(many):
            r = row_start[t] + i
            whole[_PEOPLE, i], whole[_KIND, i] = rows[r, _MANY], rows[r, _VALUE]
            for j in range(shows):
                cost[i, j] = _distance(position, ancestor, rows[r, _CODE], columns[column_start[t] + j])
        own = weight[out_start[t] : out_start[t + 1]].reshape(many, shows)
        found[t, _ASIDE] = _table(cost, noisy, whole, limits, average, total, own)
        for i in range(many):
            for j in range(shows):
                found[t, _COST] += cost[i, j] * own[i, j] / total
