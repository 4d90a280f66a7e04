"""Better groups without changing their sizes: every group offers a member, and an assignment deals them out anew.

Groups lie one after the other: the members of group g are member[start[g] : start[g + 1]], rows of the table. What the
deals lower is the sum over groups of people times box loss, in whole numbers of 1 / UNIT. Each group keeps a list of
what every code would cost it, so that looking at a person is a few look-ups.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.chunks import HIGH, INNER_HIGH, INNER_LOW, LOW, chunk_of, unit
from oneoff.kernels.limits import CEILING, CEILING_OF, FLOOR, FLOOR_OF
from oneoff.kernels.matching import rematch
from oneoff.kernels.space import KIND, NODE, OFFSET, RANGE, SET, in_units, span_loss
from oneoff.kernels.threads import spread

__all__ = ["offers", "redeal"]

_GROUP, _PLACE, _ROW = range(3)  # rows of _Deal.owner
_COMMON = 8  # from so many others on, a category costs nothing
_NEVER = 2**52  # the price of somebody a group must not get: more than any sum of allowed ones


def redeal(
    codes: Any,
    values: Any,
    space: Any,
    limits: Any,
    start: Any,
    member: Any,
    order: Any,
    begin: Any,
    offers: Any,
    soft: float,
) -> None:
    """Deal after deal, let the groups of each chunk exchange the members they offer at the least loss.

    order   groups along a curve; those of chunk c are order[begin[c] : begin[c + 1]]
    offers  [groups, deals] the place of the member that a group offers in a deal, or -1
    limits  ceilings and floors of the promise (`kernels.limits`)
    soft    between 0 and 1: how much the price also counts what few in a group have, though its box covers it already,
            and numbers beyond those of all but the outer twenty-fifths; at 0 the loss never rises
    """

    def run(first: int, last: int) -> None:
        _redeal(codes, values, space, limits, start, member, order, begin[first : last + 1], offers, soft)

    spread(run, len(begin) - 1)


class _Table(NamedTuple):
    """Prices of everything, group by group.

    price  [groups, numbers]       of a category or node; of a value, 1 where it must not be taken
    toll   [attributes, 9]         the price of a category that so many others in the group have
    sets, ranges                   attributes with prices in the list, and those whose prices follow from their box
    """

    price: Any
    toll: Any
    sets: Any
    ranges: Any


class _Deal(NamedTuple):
    """The offered people: whose they are and who, their codes, what is looked up of them, and where they lie.

    owner  [3, people]              group in the chunk, place in it, row
    code   [people, attributes + 1]
    look   [people, sets + 1]       numbers in the price list, the value at the end
    place  [ranges, people]
    """

    owner: Any
    code: Any
    look: Any
    place: Any


@njit(cache=True, nogil=True)
def _redeal(
    codes: Any,
    values: Any,
    space: Any,
    limits: Any,
    start: Any,
    member: Any,
    order: Any,
    begin: Any,
    offers: Any,
    soft: float,
) -> None:
    for c in range(len(begin) - 1):
        groups = order[begin[c] : begin[c + 1]]
        k, d = len(groups), codes.shape[1]
        chunk = chunk_of(codes, values, space, limits, start, member, groups)
        table = _priced(space, chunk, soft)
        cost, work, sum_ = np.empty((k, k), np.int64), np.empty((7, k), np.int64), np.empty(k, np.int32)
        deal = _Deal(
            np.empty((3, k), np.int64),
            np.empty((k, d + 1), np.uint32),
            np.empty((k, len(table.sets) + 1), np.uint32),
            np.empty((len(table.ranges), k), np.int32),
        )
        for q in range(offers.shape[1]):
            many = _collect(chunk, table, start, member, groups, offers[:, q], deal)
            if many < 2:
                continue
            for i in range(many):
                _count(space, chunk, table, deal.owner[_GROUP, i], deal.code[i], -1)
                _prices(chunk, table, deal, i, many, soft, sum_, cost[i])
            settled = _settle(cost[:many, :many], work[0])
            chosen = work[0] if settled else rematch(cost[:many, :many], work)
            for i in range(many):
                g, new = deal.owner[_GROUP, i], i if settled else chosen[i]
                member[start[groups[g]] + deal.owner[_PLACE, i]] = deal.owner[_ROW, new]
                _write(chunk.code[chunk.first[g] + deal.owner[_PLACE, i]], deal.code[new])
                _count(space, chunk, table, g, deal.code[new], 1)


@njit(cache=True)
def _priced(space: Any, chunk: Any, soft: float) -> Any:
    """All prices, from the counts."""
    k, d = len(chunk.count), len(space.attribute)
    kinds = space.attribute[:, KIND]
    price, toll = np.zeros(chunk.count.shape, np.int32), np.zeros((d, _COMMON + 1), np.int32)
    table = _Table(price, toll, np.flatnonzero(kinds != RANGE), np.flatnonzero(kinds == RANGE))
    for a in range(d):
        toll[a, 0] = unit(space, a)
        for have in range(1, _COMMON):
            toll[a, have] = int(soft * unit(space, a)) >> (have + 1)
    for g in range(k):
        for a in range(d):
            if kinds[a] == SET:
                for x in range(chunk.span[a], chunk.span[a + 1]):
                    price[g, x] = toll[a, min(chunk.count[g, x], _COMMON)]
            else:
                _span(space, chunk, table, g, a, chunk.span[a], chunk.span[a + 1] - 1)
        for v in range(chunk.span[d], chunk.span[d + 1]):
            _bar(chunk, table, g, v)
    return table


@njit(cache=True)
def _span(space: Any, chunk: Any, table: Any, g: int, a: int, low: int, high: int) -> None:
    """The outermost numbers, none of them below low or above high, and those of all but a twenty-fifth at each end."""
    count, size = chunk.count[g], chunk.first[g + 1] - chunk.first[g]
    while low < high and count[low] == 0:
        low += 1
    while high > low and count[high] == 0:
        high -= 1
    outer, inner_low, inner_high = max(1, size // 25), low, high
    found = count[low]
    while found <= outer and inner_low < high:
        inner_low += 1
        found += count[inner_low]
    found = count[high]
    while found <= outer and inner_high > low:
        inner_high -= 1
        found += count[inner_high]
    box = chunk.box[:, g, a]
    box[LOW], box[INNER_LOW], box[INNER_HIGH], box[HIGH] = low, inner_low, inner_high, high
    if space.attribute[a, KIND] == NODE:
        means = chunk.means
        now = span_loss(space, a, means[low], means[high], 0)
        for x in range(chunk.span[a], chunk.span[a + 1]):
            wide = span_loss(space, a, means[min(low, x)], means[max(high, x)], 0)
            table.price[g, x] = in_units(wide - now)


@njit(cache=True)
def _bar(chunk: Any, table: Any, g: int, v: int) -> None:
    """One more with this value would be too many."""
    size, limits = chunk.first[g + 1] - chunk.first[g], chunk.limits
    table.price[g, v] = (chunk.count[g, v] + 1) * limits[CEILING_OF, v] > limits[CEILING, v] * size


@njit(cache=True)
def _count(space: Any, chunk: Any, table: Any, g: int, code: Any, step: int) -> None:
    """A person with these codes joins the group (1) or leaves it (-1)."""
    d, count, price = len(code) - 1, chunk.count[g], table.price[g]
    for a in range(d):
        x = code[a]
        count[x] += step
        if space.attribute[a, KIND] == SET:
            price[x] = table.toll[a, min(count[x], _COMMON)]
        elif x <= chunk.box[INNER_LOW, g, a] or x >= chunk.box[INNER_HIGH, g, a]:
            _span(space, chunk, table, g, a, min(x, chunk.box[LOW, g, a]), max(x, chunk.box[HIGH, g, a]))
    count[code[d]] += step
    _bar(chunk, table, g, code[d])


@njit(cache=True)
def _write(row: Any, code: Any) -> None:
    """One by one: numba takes seconds to compile the copy of an array, with a message for every way it can fail."""
    for a in range(len(code)):
        row[a] = code[a]


@njit(cache=True)
def _collect(chunk: Any, table: Any, start: Any, member: Any, groups: Any, offer: Any, deal: Any) -> int:
    """Whom the groups offer in this deal; how many they are."""
    many, sets, d = 0, len(table.sets), deal.code.shape[1] - 1
    for g in range(len(groups)):
        at = offer[groups[g]]
        if at < 0:
            continue
        code = chunk.code[chunk.first[g] + at]
        deal.owner[_GROUP, many], deal.owner[_PLACE, many] = g, at
        deal.owner[_ROW, many] = member[start[groups[g]] + at]
        _write(deal.code[many], code)
        for t in range(sets):
            deal.look[many, t] = code[table.sets[t]]
        deal.look[many, sets] = code[d]
        for t in range(len(table.ranges)):
            deal.place[t, many] = chunk.means[code[table.ranges[t]]]
        many += 1
    return many


@njit(cache=True)
def _prices(chunk: Any, table: Any, deal: Any, i: int, many: int, soft: float, sums: Any, price: Any) -> None:
    """price[j]: what the group that offers i, and has given it away, loses more with person j."""
    g, sets = deal.owner[_GROUP, i], len(table.sets)
    size, list_ = chunk.first[g + 1] - chunk.first[g], table.price[g]
    for j in range(many):
        found = 0
        for t in range(sets if size > 1 else 0):  # alone, anybody costs nothing
            found += list_[deal.look[j, t]]
        sums[j] = found
    if size > 1:
        for t in range(len(table.ranges)):
            _add_beyond(chunk, g, table.ranges[t], deal.place[t], many, soft if size > 2 else 0.0, sums)
    given, limits = deal.look[i, sets], chunk.limits
    if chunk.count[g, given] * limits[FLOOR_OF, given] < limits[FLOOR, given] * size:  # another must have the value
        for j in range(many):
            price[j] = sums[j] * size if deal.look[j, sets] == given else _NEVER
        return
    was, list_[given] = list_[given], 0
    for j in range(many):
        price[j] = _NEVER if list_[deal.look[j, sets]] > 0 else sums[j] * size
    list_[given] = was


@njit(cache=True)
def _add_beyond(chunk: Any, g: int, a: int, place: Any, many: int, soft: float, sums: Any) -> None:
    """How far each person lies outside the range; softly, also outside its inner part. 32 bits, for speed."""
    low, high = chunk.means[chunk.box[LOW, g, a]], chunk.means[chunk.box[HIGH, g, a]]
    for j in range(many):
        sums[j] += max(low, place[j]) - min(high, place[j])
    half = np.int32(soft * 128)
    if half == 0:
        return
    inner_low, inner_high = chunk.means[chunk.box[INNER_LOW, g, a]], chunk.means[chunk.box[INNER_HIGH, g, a]]
    for j in range(many):
        x, y = max(low, place[j]), min(high, place[j])
        sums[j] += np.int32((max(inner_low, x) - x + y - min(inner_high, y)) * half) >> 8


@njit(cache=True)
def _settle(cost: Any, v: Any) -> bool:
    """Is it best that everybody stays? If not, change the costs so that fewer have reason to leave.

    It is if there are values v_j of the people such that nobody's group would pay for another: cost_ij - v_j is least
    for j = i. A few rounds of lowering them (Bellman and Ford) either end with such values or show who is in the way;
    taking them off the costs does not change which assignment is best.
    """
    m = len(cost)
    for j in range(m):
        v[j] = 0
    for _ in range(3):
        lower = 0
        for i in range(m):
            line, base = cost[i], v[i] - cost[i, i]
            for j in range(m):
                lower |= base + line[j] < v[j]
                v[j] = min(v[j], base + line[j])
        if lower == 0:
            return True
    for i in range(m):
        for j in range(m):
            cost[i, j] -= v[j]
    return False


def offers(codes: Any, space: Any, start: Any, member: Any, luck: Any, deals: int) -> Any:
    """The places of the members that each group offers in so many deals: [groups, deals], -1 where it has no more.

    Small groups offer everybody in the order of luck (numbers between 0 and 1, one for each place). Large ones offer
    some, half of them at random and half because they stretch the box or nearly do.
    """
    offer = np.full((len(start) - 1, deals), -1, np.int32)

    def run(first: int, last: int) -> None:
        part = slice(256 * first, 256 * last)
        _offers(codes, space, start[part.start : part.stop + 1], member, luck, offer[part])

    spread(run, -(-len(offer) // 256))
    return offer


@njit(cache=True, nogil=True)
def _offers(codes: Any, space: Any, start: Any, member: Any, luck: Any, offer: Any) -> None:
    seen = np.zeros(len(space.position), np.int64)
    for g in range(len(offer)):
        size, deals = start[g + 1] - start[g], offer.shape[1]
        turn = luck[start[g] : start[g + 1]].copy()
        if size > deals:
            odd = _oddness(codes, space, member[start[g] : start[g + 1]], seen)
            usual = max(odd.mean(), 1e-9)
            for i in range(size):
                turn[i] = -np.log(1.0 - turn[i]) / (usual + odd[i])
        for q in range(min(size, deals)):
            first = turn.argmin()
            offer[g, q], turn[first] = first, np.inf


@njit(cache=True)
def _oddness(codes: Any, space: Any, people: Any, seen: Any) -> Any:
    """How much the box of these people would shrink without each of them, or, if few are like it, without them all."""
    odd = np.zeros(len(people))
    for a in range(codes.shape[1]):
        offset, low, high = space.attribute[a, OFFSET], codes[people[0], a], codes[people[0], a]
        for p in people:
            seen[offset + codes[p, a]] += 1
            low, high = min(low, codes[p, a]), max(high, codes[p, a])
        for i in range(len(people)):
            x = codes[people[i], a]
            alike = seen[offset + x]
            if alike < 8 and low < high:
                odd[i] += _outlying(space, a, x, low, high, seen) / 2.0**alike
        for p in people:
            seen[offset + codes[p, a]] = 0
    return odd


@njit(cache=True)
def _outlying(space: Any, a: int, x: int, low: int, high: int, seen: Any) -> float:
    """How much smaller attribute a of a box would be without code x."""
    if space.attribute[a, KIND] == SET:
        return space.unit[a]
    if low < x < high:
        return 0.0
    step = 1 if x == low else -1
    inner = x + step
    while seen[space.attribute[a, OFFSET] + inner] == 0:
        inner += step
    rest = span_loss(space, a, inner, high, 0) if x == low else span_loss(space, a, low, inner, 0)
    return span_loss(space, a, low, high, 0) - rest
