"""Buckets, shares of groups in them, and who goes where (the loops of `mechanisms.partitioning.burel`).

Everything happens inside one leaf: a part of the table that keeps the promise as one group. Its people are numbered
along the Hilbert curve. A group is described sparsely by how many people it takes from which bucket; the description
of a group of g people lies in the first entries of a region of g entries, so a group can be divided in its own place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oneoff.kernels.sort import sort_ints

__all__ = [
    "CUT",
    "DEAL",
    "EITHER",
    "RIGHT",
    "STRICT",
    "Promise",
    "average_loss",
    "buckets_of",
    "divide",
    "find_boundary",
    "information_loss",
    "is_blurred",
    "loss_of_node",
    "make_children",
    "part_of",
    "plant",
    "pop_node",
    "retrieve",
    "room_for",
    "settle",
    "shares_of",
    "try_cut",
]

# How the people of the buckets are dealt out to groups.
RIGHT = 0  # biSplit of paper 001: halves, an odd one goes right
EITHER = 1  # the same, and where the promise refuses that, odd ones go left and right in turn
DEAL = 2  # as many groups at once as possible, dealt like cards
CUT = 3  # as EITHER, and who goes left is decided at every split, by a cut across all buckets
STRICT = -1.0  # the slack that stands for the `<` of the paper

# Rows of the promise about values: ceiling, floor, and the order in which values come.
TOP, BOTTOM, FLOOR, FLOOR_BOTTOM, RANK, BY_RANK, HOME, ROUNDED = 0, 1, 2, 3, 4, 5, 6, 7


class Promise(NamedTuple):
    """What every group must keep.

    limits [8, values]  ceiling and floor (numerator, denominator), place in the order of ceilings, the value at each
                        place, the innermost set of values it belongs to (-1 for none), 1 if the ceiling itself lies
                        above those numbers (so that to equal them is to be below it)
    sets   [sets, 3]    ceiling of all values of a set together (numerator, denominator), the set around it (or -1);
                        in the order of places the values of a set are neighbours
    least               people a group must have
    """

    limits: Any
    sets: Any
    least: int


# Rows of the working space, one wide array: compile time grows with the number of arrays that are passed around.
COUNT, ORDER, BUCKET, BEFORE = 0, 1, 2, 3  # people with each value; values present by place, their bucket, the last try
HEAD, SIZE = 4, 5  # of each bucket: the value with its lowest ceiling, and how many people
WHICH, ASSIGNED, BEST, SEED = 6, 7, 8, 9  # of each person: bucket, group, best group so far; a random order
OF, TAKES = 10, 11  # regions: from which bucket, and how many
LEFT, SPARE_OF, SPARE_TAKES = 12, 13, 14  # a split that is being tried
STACK, STACK_SIZE, STACK_MANY = 15, 16, 17  # nodes still to split: region, people, entries
GROUP, GROUP_SIZE, GROUP_MANY = 18, 19, 20  # finished groups: region, people, entries
TOTAL = 21  # people of each set
AT, NEXT, LAST, BEGIN = (
    22,
    23,
    24,
    25,
)  # people bucket by bucket along the curve; nearest free ones; where buckets begin
QUOTA, SIDE, KEPT = 26, 27, 28  # people of each bucket that still go left; where each person goes; the best split
ROWS = 29


@njit(cache=True)
def room_for(people: int, values: int, sets: int) -> Any:
    return np.zeros((ROWS, max(people, values, sets) + 2), np.int32)


# Buckets


@njit(cache=True)
def _bucketize(limits: Any, slack: float, many: int, people: int, work: Any) -> int:
    """Cut the values present into buckets from the left, each as long as possible; returns how many.

    A bucket of several values must have room under the lowest of their ceilings: people * (1 + slack) at most that.
    Values with a floor stay alone, and so do values of different sets.
    """
    buckets, head, total = np.int64(0), np.int64(-1), 0
    for i in range(many):
        v = work[ORDER, i]
        more = total + work[COUNT, v]
        joins = head >= 0 and limits[HOME, v] == limits[HOME, head] and limits[FLOOR, v] == 0 == limits[FLOOR, head]
        if not (joins and _has_room(limits, head, more, people, slack)):
            head, more = v, work[COUNT, v]
            work[HEAD, buckets] = v
            buckets += 1
        total = more
        work[BUCKET, i] = buckets - 1
        work[SIZE, buckets - 1] = total
    return buckets


@njit(cache=True)
def _has_room(limits: Any, head: int, inside: int, people: int, slack: float) -> bool:
    needed, allowed = inside * limits[BOTTOM, head], limits[TOP, head] * people
    if slack < 0:
        return needed < allowed + limits[ROUNDED, head]
    return needed <= allowed and needed * (1.0 + slack) <= allowed


# Shares of groups in buckets


@njit(cache=True)
def _allowed(promise: Any, region: int, many: int, right: int, people: int, work: Any) -> bool:
    """May one side of the split in LEFT be a group?"""
    if people < promise.least or people == 0:
        return False
    limits, sets = promise.limits, promise.sets
    for i in range(many):
        x = work[TAKES, region + i] - work[LEFT, i] if right else work[LEFT, i]
        v = work[HEAD, work[OF, region + i]]
        if x * limits[BOTTOM, v] > limits[TOP, v] * people or x * limits[FLOOR_BOTTOM, v] < limits[FLOOR, v] * people:
            return False
    if len(sets) == 0:
        return True
    for s in range(len(sets)):
        work[TOTAL, s] = 0
    for i in range(many):
        x = work[TAKES, region + i] - work[LEFT, i] if right else work[LEFT, i]
        _add_to_sets(promise, work[HEAD, work[OF, region + i]], x, work)
    fine = True
    for s in range(len(sets)):
        fine = fine and work[TOTAL, s] * sets[s, 1] <= sets[s, 0] * people
    return fine


@njit(cache=True)
def _add_to_sets(promise: Any, value: int, people: int, work: Any) -> None:
    s = promise.limits[HOME, value]
    while s >= 0:
        work[TOTAL, s] += people
        s = promise.sets[s, 2]


@njit(cache=True)
def _halve(promise: Any, region: int, people: int, many: int, either: bool, work: Any) -> int:
    """Put an allowed split of a node into LEFT; returns how many people go left, 0 when there is none."""
    for in_turn in range(2 if either else 1):
        left, odd = np.int64(0), 0
        for i in range(many):
            x = work[TAKES, region + i]
            half = x // 2
            if x % 2 == 1:
                odd += 1
                half += in_turn * (odd % 2)
            work[LEFT, i] = half
            left += half
        if _allowed(promise, region, many, 0, left, work) and _allowed(promise, region, many, 1, people - left, work):
            return left
    return np.int64(0)


@njit(cache=True)
def make_children(region: int, many: int, left: int, top: int, people: int, work: Any) -> None:
    """Divide the description of a node as LEFT says, and put both sides on the stack, the left one on top."""
    for i in range(many):
        work[SPARE_OF, i], work[SPARE_TAKES, i] = work[OF, region + i], work[TAKES, region + i]
    first = np.int64(0)
    second = np.int64(0)
    for i in range(many):
        if work[LEFT, i] > 0:
            work[OF, region + first], work[TAKES, region + first] = work[SPARE_OF, i], work[LEFT, i]
            first += 1
    for i in range(many):
        if work[SPARE_TAKES, i] > work[LEFT, i]:
            place = region + left + second
            work[OF, place], work[TAKES, place] = work[SPARE_OF, i], work[SPARE_TAKES, i] - work[LEFT, i]
            second += 1
    work[STACK, top], work[STACK_SIZE, top], work[STACK_MANY, top] = region + left, people - left, second
    work[STACK, top + 1], work[STACK_SIZE, top + 1], work[STACK_MANY, top + 1] = region, left, first


@njit(cache=True)
def plant(buckets: int, people: int, work: Any) -> None:
    """The root of the tree: everybody."""
    for b in range(buckets):
        work[OF, b], work[TAKES, b] = b, work[SIZE, b]
    work[STACK, 0], work[STACK_SIZE, 0], work[STACK_MANY, 0] = 0, people, buckets


@njit(cache=True)
def pop_node(top: int, work: Any) -> tuple[int, int, int]:
    """Region, people and entries of a node; of one type, or callers would be compiled twice."""
    return np.int64(work[STACK, top]), np.int64(work[STACK_SIZE, top]), np.int64(work[STACK_MANY, top])


@njit(cache=True)
def _bi_split(promise: Any, buckets: int, people: int, either: bool, work: Any) -> int:
    """The leaves of the tree of halves, from left to right; returns how many."""
    plant(buckets, people, work)
    top, groups = np.int64(1), np.int64(0)
    while top > 0:
        top -= 1
        region, size, many = pop_node(top, work)
        left = _halve(promise, region, size, many, either, work)
        if left > 0:
            make_children(region, many, left, top, size, work)
            top += 2
        else:
            work[GROUP, groups], work[GROUP_SIZE, groups], work[GROUP_MANY, groups] = region, size, many
            groups += 1
    return groups


@njit(cache=True)
def _deal(promise: Any, buckets: int, people: int, work: Any) -> int:
    """The largest number of groups that dealing like cards allows; shares differ by one at most."""
    groups = _most_hands(promise, buckets, people, work)
    region = np.int64(0)
    for g in range(groups):
        size = people // groups + (g < people % groups)
        work[GROUP, g], work[GROUP_SIZE, g], work[GROUP_MANY, g] = region, size, 0
        region += size
    offset = np.int64(0)
    for b in range(buckets):
        each, more = work[SIZE, b] // groups, work[SIZE, b] % groups
        for i in range(groups if each > 0 else more):  # from the offset on: those who get one more come first
            g = (offset + i) % groups
            place = work[GROUP, g] + work[GROUP_MANY, g]
            work[OF, place], work[TAKES, place] = b, each + (i < more)
            work[GROUP_MANY, g] += 1
        offset = (offset + more) % groups
    return groups


@njit(cache=True)
def _most_hands(promise: Any, buckets: int, people: int, work: Any) -> int:
    """The largest k for which ceil(x / k) fits into floor(people / k), for every bucket and every set."""
    limits, sets = promise.limits, promise.sets
    most = people // max(promise.least, 1)
    for b in range(buckets):
        v = work[HEAD, b]
        most = min(most, people * limits[TOP, v] // limits[BOTTOM, v])
    for s in range(len(sets)):
        work[TOTAL, s] = 0
    for b in range(buckets):
        _add_to_sets(promise, work[HEAD, b], work[SIZE, b], work)
    for k in range(most, 1, -1):
        fewest, largest, fine = people // k, (people + k - 1) // k, True
        for b in range(buckets):
            v, x = work[HEAD, b], work[SIZE, b]
            if (x + k - 1) // k * limits[BOTTOM, v] > limits[TOP, v] * fewest or (
                x // k * limits[FLOOR_BOTTOM, v] < limits[FLOOR, v] * largest
            ):
                fine = False
                break
        for s in range(len(sets)):
            if fine and (work[TOTAL, s] + k - 1) // k * sets[s, 1] > sets[s, 0] * fewest:
                fine = False
        if fine:
            return np.int64(k)
    return np.int64(1)


def _ready(promise: Promise, counts: Any) -> tuple[Any, int, int]:
    """Working space that knows how often each value occurs; how many values occur, and how many people there are."""
    people, present = int(counts.sum()), np.flatnonzero(counts)
    work = room_for(people, len(counts), len(promise.sets))
    work[COUNT, : len(counts)] = counts
    work[ORDER, : len(present)] = present[np.argsort(promise.limits[RANK, present])]
    return work, len(present), people


def buckets_of(promise: Promise, counts: Any, slack: float) -> list[Any]:
    """The values of every bucket, for one leaf with these counts of values."""
    work, many, people = _ready(promise, counts)
    buckets = _bucketize(promise.limits, slack, many, people, work)
    return [work[ORDER, :many][work[BUCKET, :many] == b] for b in range(buckets)]


def shares_of(promise: Promise, heads: Any, sizes: Any, way: int) -> Any:
    """How many people each group takes from each bucket: a row for each group. For looking at; it is dense."""
    people = int(sizes.sum())
    work = room_for(people, max(promise.limits.shape[1], len(sizes)), len(promise.sets))
    work[HEAD, : len(heads)], work[SIZE, : len(sizes)] = heads, sizes
    if way == DEAL:
        groups = _deal(promise, len(sizes), people, work)
    else:
        groups = _bi_split(promise, len(sizes), people, way != RIGHT, work)
    shares = np.zeros((groups, len(sizes)), np.int64)
    for g in range(groups):
        region = slice(work[GROUP, g], work[GROUP, g] + work[GROUP_MANY, g])
        shares[g, work[OF, region]] = work[TAKES, region]
    return shares


# Who goes where


@njit(cache=True)
def retrieve(buckets: int, people: int, groups: int, chance: Any, work: Any) -> None:
    """Every group takes its share of each bucket from the people nearest to a random person who is still free.

    Nearest by place on the curve. Free people of a bucket are found by union-find in both directions.
    """
    work[BEGIN, 0] = 0
    for b in range(buckets):
        work[BEGIN, b + 1] = work[BEGIN, b] + work[SIZE, b]
        work[QUOTA, b] = work[BEGIN, b]
    for p in range(people):
        b = work[WHICH, p]
        work[AT, work[QUOTA, b]] = p
        work[QUOTA, b] += 1
        work[ASSIGNED, p] = -1
        work[NEXT, p], work[LAST, p + 1] = p, p + 1  # LAST is shifted by one, so that 0 means none
    work[NEXT, people], work[LAST, 0] = people, 0
    for p in range(people - 1):
        other = p + int(chance[p] * (people - p))
        work[SEED, p], work[SEED, other] = work[SEED, other], work[SEED, p]
    turn = 0
    for g in range(groups):
        while work[ASSIGNED, work[SEED, turn]] >= 0:
            turn += 1
        for e in range(work[GROUP, g], work[GROUP, g] + work[GROUP_MANY, g]):
            _take_nearest(work[SEED, turn], work[OF, e], work[TAKES, e], g, work)


@njit(cache=True)
def _take_nearest(seed: int, bucket: int, many: int, group: int, work: Any) -> None:
    begin, end = work[BEGIN, bucket], work[BEGIN, bucket + 1]
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if work[AT, middle] < seed:
            low = middle + 1
        else:
            high = middle
    after = _find(work[NEXT], low)
    before = _find(work[LAST], low) - 1
    for _ in range(many):
        if before < begin or (after < end and work[AT, after] - seed < seed - work[AT, before]):
            taken = after
            work[NEXT, taken], work[LAST, taken + 1] = taken + 1, taken
            after = _find(work[NEXT], taken)
        else:
            taken = before
            work[NEXT, taken], work[LAST, taken + 1] = taken + 1, taken
            before = _find(work[LAST], taken + 1) - 1
        work[ASSIGNED, work[AT, taken]] = group


@njit(cache=True)
def _find(parent: Any, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def _cut(
    promise: Any, space: Any, local: Any, axes: Any, buckets: int, people: int, parts: int, work: Any
) -> None:  # fmt: skip
    """Divide all buckets at once, across the attribute that loses least, for as long as there is something to gain.

    axes[a] lists people by attribute a, node by node; local[p] are the codes of person p. Cuts are tried through the
    middle of every bucket, and near each of the `parts` - 1 places that divide a node evenly.
    """
    d = local.shape[1]
    edge = np.empty((4, d), np.int64)
    plant(buckets, people, work)
    top = np.int64(1)
    while top > 0:
        top -= 1
        region, size, many = pop_node(top, work)
        best, gone = np.int64(-1), np.int64(0)
        if size >= 2 * promise.least and is_blurred(local, axes, region, size):
            best, gone = _best_cut(promise, space, local, axes, region, size, many, parts, edge, work)
        top = settle(space, local, axes, best, region, size, many, gone, top, edge, work)


@njit(cache=True)
def settle(
    space: Any, local: Any, axes: Any, best: int, region: int, size: int, many: int, gone: int, top: int, edge: Any,
    work: Any,
) -> int:  # fmt: skip
    """Make the best cut, whose shares are KEPT, and put both sides on the stack; without one the node is a group."""
    if best < 0:
        for k in range(region, region + size):
            work[ASSIGNED, axes[0, k]] = region
        return top
    for i in range(many):
        work[LEFT, i] = work[KEPT, i]
    try_cut(space, local, axes, best, region, size, many, gone, edge, work)
    part_of(axes, local.shape[1], region, size, gone, work)
    make_children(region, many, gone, top, size, work)
    return top + 2


@njit(cache=True)
def _best_cut(
    promise: Any, space: Any, local: Any, axes: Any, region: int, size: int, many: int, parts: int, edge: Any,
    work: Any,
) -> tuple[int, int]:  # fmt: skip
    """The best turn (see `try_cut`) and how many go left in it; KEPT says how many of each bucket. -1 for none."""
    best, gone, least, d = np.int64(-1), np.int64(0), np.inf, local.shape[1]
    for a in range(d):
        if local[axes[a, region], a] == local[axes[a, region + size - 1], a]:
            continue
        before = np.int64(0)
        for candidate in range(parts):
            at = np.int64(0)
            if candidate > 0:
                at = find_boundary(local, axes, a, region, size, size * candidate // parts)
                if at == before:
                    continue
                before = at
                left = _repaired(promise, axes, a, region, size, many, at, work)
            else:
                left = _halve(promise, region, size, many, True, work)
            if left == 0:
                continue
            for turn in range(2 * a, 2 * a + (1 if candidate > 0 else 2)):
                loss = try_cut(space, local, axes, turn, region, size, many, left, edge, work)
                if loss < least:
                    least, best, gone = loss, np.int64(turn), left
                    for i in range(many):
                        work[KEPT, i] = work[LEFT, i]
    return best, gone


@njit(cache=True)
def find_boundary(local: Any, axes: Any, a: int, region: int, size: int, near: int) -> int:
    """How many people of a node come before the code of the one at this place; or with it, if that is the first."""
    code, at = local[axes[a, region + near], a], near
    while at > 0 and local[axes[a, region + at - 1], a] == code:
        at -= 1
    if at == 0:
        at = near
        while local[axes[a, region + at], a] == code:
            at += 1
    return at


@njit(cache=True)
def _repaired(promise: Any, axes: Any, a: int, region: int, size: int, many: int, at: int, work: Any) -> int:
    """Put into LEFT the numbers of the people before a boundary, changed as little as the promise asks for.

    Returns how many people go left (`at`), 0 when there is no such split.
    """
    if at < promise.least or size - at < promise.least:
        return np.int64(0)
    limits, rest = promise.limits, size - at
    for i in range(many):
        work[QUOTA, work[OF, region + i]] = 0
    for k in range(region, region + at):
        work[QUOTA, work[WHICH, axes[a, k]]] += 1
    missing, room = np.int64(at), np.int64(0)
    for i in range(many):
        b, x = work[OF, region + i], work[TAKES, region + i]
        v = work[HEAD, b]
        top, bottom, floor, below = limits[TOP, v], limits[BOTTOM, v], limits[FLOOR, v], limits[FLOOR_BOTTOM, v]
        low = max(x - top * rest // bottom, -(-floor * at // below))
        high = min(top * at // bottom, x + (-floor * rest // below))
        if low > high:
            return np.int64(0)
        work[LEFT, i] = min(max(work[QUOTA, b], low), high)
        missing -= work[LEFT, i]
        work[SPARE_OF, i], work[SPARE_TAKES, i] = low, high
    for i in range(many):
        room += work[SPARE_TAKES, i] - work[LEFT, i] if missing > 0 else work[LEFT, i] - work[SPARE_OF, i]
    if room < abs(missing):
        return np.int64(0)
    _spread_missing(missing, room, many, work)
    if _allowed(promise, region, many, 0, at, work) and _allowed(promise, region, many, 1, rest, work):
        return np.int64(at)
    return np.int64(0)


@njit(cache=True)
def _spread_missing(missing: int, room: int, many: int, work: Any) -> None:
    """Change LEFT by so many in all, every bucket in proportion to the room it has."""
    sign = 1 if missing > 0 else -1
    seen, given = np.int64(0), np.int64(0)
    for i in range(many):
        seen += work[SPARE_TAKES, i] - work[LEFT, i] if missing > 0 else work[LEFT, i] - work[SPARE_OF, i]
        due = abs(missing) * seen // max(room, 1)
        work[LEFT, i] += sign * (due - given)
        given = due


@njit(cache=True)
def is_blurred(local: Any, axes: Any, region: int, size: int) -> bool:
    """Do the people of a node differ at all?"""
    blurred = False
    for a in range(local.shape[1]):
        blurred = blurred or local[axes[a, region], a] != local[axes[a, region + size - 1], a]
    return blurred


@njit(cache=True)
def try_cut(
    space: Any, local: Any, axes: Any, turn: int, region: int, size: int, many: int, left: int, edge: Any, work: Any
) -> float:
    """People times loss when each bucket sends its first ones by one attribute left; SIDE says who goes where.

    turn = 2 * attribute, plus 1 when the first ones are those with the highest codes.
    """
    a, d = turn // 2, local.shape[1]
    for i in range(many):
        work[QUOTA, work[OF, region + i]] = work[LEFT, i]
    for c in range(d):
        edge[0, c], edge[1, c], edge[2, c], edge[3, c] = 2**31, -1, 2**31, -1
    for k in range(size):
        p = axes[a, region + size - 1 - k] if turn % 2 else axes[a, region + k]
        b, side = work[WHICH, p], 2
        if work[QUOTA, b] > 0:
            work[QUOTA, b] -= 1
            side = 0
        work[SIDE, p] = side
        for c in range(d):
            code = local[p, c]
            edge[side, c], edge[side + 1, c] = min(edge[side, c], code), max(edge[side + 1, c], code)
    loss = 0.0
    for c in range(d):
        loss += left * information_loss(space, c, edge[0, c], edge[1, c])
        loss += (size - left) * information_loss(space, c, edge[2, c], edge[3, c])
    return loss


@njit(cache=True)
def part_of(axes: Any, d: int, region: int, size: int, left: int, work: Any) -> None:
    """Put those who go left first, in the lists of all attributes, in the same order as they were."""
    for a in range(d):
        first, second = region, 0
        for k in range(region, region + size):
            p = axes[a, k]
            if work[SIDE, p] == 0:
                axes[a, first] = p
                first += 1
            else:
                work[SPARE_OF, second] = p
                second += 1
        for k in range(second):
            axes[a, region + left + k] = work[SPARE_OF, k]


# Loss


@njit(cache=True)
def information_loss(space: Any, a: int, low: int, high: int) -> float:
    """Equations 2 and 3 of paper 001 for codes from low to high; plain categories are a flat tree."""
    if low == high:
        return 0.0
    kind, offset = space.attribute[a, 0], space.attribute[a, 1]
    if kind == 0:
        return space.position[offset + high] - space.position[offset + low]
    if kind == 1:
        return 1.0
    first = space.attribute[a, 3] + space.leaf[offset + low]
    last = space.attribute[a, 3] + space.leaf[offset + high]
    while space.tree[0, first] != space.tree[0, last]:
        first += space.attribute[a, 4]
        last += space.attribute[a, 4]
    return space.tree[1, first] / space.attribute[a, 4]


@njit(cache=True)
def loss_of_node(space: Any, local: Any, group: Any, people: int, box: Any, size: Any) -> float:
    """People times loss, summed over groups; box[2a] and box[2a + 1] are lowest and highest codes of groups."""
    d = local.shape[1]
    for g in range(people):
        size[g] = 0
    for p in range(people):
        g = group[p]
        for a in range(d):
            code = local[p, a]
            if size[g] == 0:
                box[2 * a, g] = box[2 * a + 1, g] = code
            else:
                box[2 * a, g], box[2 * a + 1, g] = min(box[2 * a, g], code), max(box[2 * a + 1, g], code)
        size[g] += 1
    total = 0.0
    for g in range(people):
        if size[g] > 0:
            for a in range(d):
                total += size[g] * information_loss(space, a, np.int64(box[2 * a, g]), np.int64(box[2 * a + 1, g]))
    return total


def average_loss(codes: Any, space: Any, group: Any) -> float:
    """AIL (equation 5 of paper 001) of groups numbered from 0."""
    n, d = codes.shape
    box, size = np.empty((2 * d, n), np.int32), np.empty(n, np.int32)
    return float(loss_of_node(space, codes, group, n, box, size)) / (n * d)


# All of it


@njit(cache=True, nogil=True)
def divide(
    first: int, last: int, codes: Any, values: Any, space: Any, promise: Any, people: Any, start: Any, plans: Any,
    chance: Any, label: Any,
) -> None:  # fmt: skip
    """Divide leaves first..last-1 into groups by the plan that loses least; a leaf stays whole when none gains.

    A STRICT plan is the paper's, and carried out whatever it gains.

    people[0, start[i] : start[i + 1]] are the rows of leaf i along the curve, people[1 + a] the same by attribute a,
    as places in people[0] (needed for CUT only); plans[t] = slack, way, and for CUT how many parts; a repeated
    plan is another draw of chance. Rows with the same label are a group.
    """
    d, largest = codes.shape[1], np.int64(0)
    for leaf in range(first, last):
        largest = max(largest, start[leaf + 1] - start[leaf])
    work = room_for(largest, promise.limits.shape[1], len(promise.sets))
    local, axes = np.empty((largest, d), np.int32), np.empty((len(people) - 1, largest), np.int32)
    box = np.empty((2 * d, largest), np.int32)
    for leaf in range(first, last):
        base, size = start[leaf], start[leaf + 1] - start[leaf]
        for p in range(size):
            work[BEST, p], work[SEED, p] = 0, p
            for a in range(d):
                local[p, a] = codes[people[0, base + p], a]
        least = loss_of_node(space, local, work[BEST], size, box, work[GROUP_SIZE])
        many = _tally(values, promise.limits, people[0], base, size, work)
        for t in range(len(plans)):
            if least <= 0.0 and plans[t, 0] >= 0:
                break
            buckets = _bucketize(promise.limits, plans[t, 0], many, size, work)
            if _is_old(many, work) and _differ_by_slack(plans, t):
                continue
            _mark_buckets(values, people[0], base, size, many, work)
            if plans[t, 1] == CUT:
                for a in range(d):
                    for p in range(size):
                        axes[a, p] = people[1 + a, base + p] - base
                _cut(promise, space, local, axes, buckets, size, int(plans[t, 2]), work)
            elif not _draw(promise, buckets, size, plans[t, 1], chance[base:], work):
                continue
            loss = loss_of_node(space, local, work[ASSIGNED], size, box, work[GROUP_SIZE])
            if loss < least * (1 - 1e-12) or plans[t, 0] < 0:
                least = loss
                for p in range(size):
                    work[BEST, p] = work[ASSIGNED, p]
        for p in range(size):
            label[people[0, base + p]] = base + work[BEST, p]
        for i in range(many):
            work[COUNT, work[ORDER, i]] = 0


@njit(cache=True)
def _differ_by_slack(plans: Any, t: int) -> bool:
    """Would equal buckets make this plan a repetition of the one before that nobody asked for?"""
    if t == 0 or plans[t, 0] == plans[t - 1, 0]:
        return False
    return plans[t, 1] == plans[t - 1, 1] and plans[t, 2] == plans[t - 1, 2]


@njit(cache=True)
def _draw(promise: Any, buckets: int, people: int, way: float, chance: Any, work: Any) -> bool:
    """Plan the shares of groups and retrieve their members; False when there would be one group only."""
    if way == DEAL:
        groups = _deal(promise, buckets, people, work)
    else:
        groups = _bi_split(promise, buckets, people, way == EITHER, work)
    if groups > 1:
        retrieve(buckets, people, groups, chance, work)
    return groups > 1


@njit(cache=True)
def _tally(values: Any, limits: Any, rows: Any, base: int, people: int, work: Any) -> int:
    """Count the values of a leaf and list those present in the order of their ceilings; returns how many."""
    many = np.int64(0)  # typed: a literal would compile `sort_ints` a second time
    for p in range(people):
        v = values[rows[base + p]]
        if work[COUNT, v] == 0:
            work[ORDER, many] = limits[RANK, v]
            many += 1
        work[COUNT, v] += 1
    sort_ints(work[ORDER], many)
    for i in range(many):
        work[ORDER, i] = limits[BY_RANK, work[ORDER, i]]
        work[BEFORE, i] = -1
    return many


@njit(cache=True)
def _is_old(many: int, work: Any) -> bool:
    """Are the buckets those of the plan before?"""
    old = True
    for i in range(many):
        old = old and work[BEFORE, i] == work[BUCKET, i]
        work[BEFORE, i] = work[BUCKET, i]
    return old


@njit(cache=True)
def _mark_buckets(values: Any, rows: Any, base: int, people: int, many: int, work: Any) -> None:
    """The bucket of every person."""
    for i in range(many):
        work[SIDE, work[ORDER, i]] = work[BUCKET, i]
    for p in range(people):
        work[WHICH, p] = work[SIDE, values[rows[base + p]]]
