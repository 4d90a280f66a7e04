"""The planner: from counts of sensitive values, and ceilings on their shares, to groups of several sizes.

A rare value with a low ceiling needs large groups, a frequent one does not. So people are divided among levels: a few
large groups that take in the rare values, and many small ones for the rest. How many people go where is a small linear
program over candidate sizes; the buckets of each level are then filled exactly, and what the program cannot place to
the last person goes to the level with the largest groups.

Everything here is a function of counts, ceilings and what is public. It never sees who has which value.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oneoff.mechanisms.planning.buckets import consecutive, whole_values
from oneoff.mechanisms.planning.levels import Level, by_support, evenly, leftover_group, one_group, refuse_sets
from oneoff.mechanisms.planning.program import size_program
from oneoff.models import Limits
from oneoff.table.arrays import Floats, Ints

__all__ = ["expected_loss", "plan_levels"]

Pack = Callable[[Ints, int], list[Ints]]

_SIZES = 20  # candidate sizes of groups up to that of the rarest value, at most
_ROUNDS = 6  # linear programs, each with prices from the last one's answer
_CLASSES = 400  # kinds of values the linear program tells apart
_WORK, _MORE_WORK = 200_000, 10_000  # buckets that are filled in search of one size that works, and of a better one


def plan_levels(counts: Ints, limits: Limits, pack: Pack | None = None) -> list[Level]:
    """Levels that use up the counts exactly and keep every ceiling, with the least loss we can foresee.

    The counts must be allowed as one group. `pack` says which values share a bucket where each fits into one.
    """
    refuse_sets(limits)
    n, fewest = int(counts.sum()), limits.fewest_buckets(counts)
    if limits.has_floors:
        return consecutive(counts, limits)
    if n < 2 * fewest and limits.one_ceiling(counts):
        return [one_group(counts)]
    plans = (
        [] if fewest > 2_000 else [whole_values(counts, limits, fewest, pack)] if counts.max() <= n // fewest else []
    )
    if not limits.one_ceiling(counts):
        plans += [_one_size(counts, limits), _many_sizes(counts, limits)]
    elif not plans:
        plans = [_one_size(counts, limits)]
    return min(plans, key=expected_loss)


def expected_loss(levels: list[Level]) -> float:
    """A yardstick for plans: B^0.6 N^0.7 for N people in groups of B.

    Measured on people drawn at random from CENSUS and matched as well as we can: the loss per person grows with
    (B / sqrt(N))^0.6. Only comparisons between plans for the same people mean anything.
    """
    return sum(_loss_of(len(level.slots), level.slots.size) for level in levels)


def _loss_of(buckets: float, people: float) -> float:
    return float(buckets**0.6 * people**0.7)


# One size


def _one_size(counts: Ints, limits: Limits) -> list[Level]:
    """The best of the smallest sizes that work, with a group aside when the people do not divide.

    Larger groups get easier to fill, and everybody in one group always works.
    """
    n = int(counts.sum())
    best, least = [one_group(counts)], _loss_of(n, n)
    work, found, buckets = 0, False, limits.fewest_buckets(counts)
    while buckets < n and work < (_MORE_WORK if found else _WORK):
        size, rest = divmod(n, buckets)
        few = (
            leftover_group(counts, limits, rest) if _loss_of(buckets, n - rest) + _loss_of(rest, rest) < least else None
        )
        if few is not None and (counts - few <= limits.most(buckets) * size).all():
            work += buckets
            filled = _fill(counts - few, limits.most(buckets), buckets, size)
            if min(filled.load) == size:
                best = [Level(filled.slots(size)), *([one_group(few)] if rest else [])]
                least, found = _loss_of(buckets, n - rest) + _loss_of(rest, rest), True
        if found and _loss_of(buckets, n) > least:
            break
        buckets += 1 if found or buckets < 1_000 else buckets // 500
    return best


# Several sizes


def _many_sizes(counts: Ints, limits: Limits) -> list[Level]:
    """Small groups as the linear program wants them, then everybody who is left in groups of one large size."""
    levels, left = [], counts.copy()
    for buckets, wanted in _program(counts, limits):
        size = int(wanted.sum()) // buckets
        while size >= 2:
            filled = _fill(np.minimum(wanted, left), limits.most(buckets), buckets, size)
            size = min(filled.load)
            if size < 2:
                break
            slots = filled.slots(size)
            rest = left - np.bincount(slots.ravel(), minlength=len(counts))
            if limits.allows(rest):
                levels.append(Level(slots))
                left = rest
                break
            size -= max(1, size // 16)
    return [*levels, *_one_size(left, limits)]


def _program(counts: Ints, limits: Limits) -> list[tuple[int, Ints]]:
    """How many people of each value should be in groups of which size; ascending sizes, without the largest.

    Minimize the expected loss, a concave function of the people at each size, by a few linear programs whose prices
    are its slopes. People of v at size B: at most floor(ceiling_v B) buckets hold them, a little less where there are
    many such buckets, to leave room for filling them. Values with equal counts and ceilings share a variable.
    """
    sizes = np.array(_candidates(counts, limits))
    kind, member, values = _kinds(counts, limits)
    share = np.array([limits.most(buckets)[kind] for buckets in sizes.tolist()], dtype=np.float64)
    share = np.where(share >= 4, share - 1, share) / sizes[:, None]
    inside = member >= 0
    people = np.bincount(member[inside], weights=counts[inside]).astype(np.float64)
    chosen, found = _support(sizes, share, people, values)
    plans = []
    for i, some in list(zip(chosen, found, strict=True))[:-1]:
        wanted = np.zeros_like(counts)
        wanted[inside] = np.rint(some[member[inside]] * counts[inside] / people[member[inside]]).astype(np.int64)
        plans.append((int(sizes[i]), np.minimum(wanted, counts)))
    return plans


def _support(sizes: Ints, share: Floats, people: Floats, values: Ints) -> tuple[Ints, Floats]:
    """Which sizes to use and how many people of each kind there: start with all, drop sizes while that helps."""
    chosen = np.arange(len(sizes))
    loss, found = _solve(sizes[chosen], share[chosen], people, values)
    while len(found):
        used = found.sum(axis=1) >= 2 * sizes[chosen]
        if not used.any():
            break
        chosen, found = chosen[used], found[used]
        without = [np.delete(chosen, i) for i in range(len(chosen) - 1)]
        others = [_solve(sizes[rest], share[rest], people, values) for rest in without]
        best = min(range(len(others)), key=lambda i: others[i][0], default=-1)
        if best < 0 or others[best][0] >= loss:
            break
        chosen, (loss, found) = without[best], others[best]
    return chosen[: len(found)], found


def _candidates(counts: Ints, limits: Limits) -> list[int]:
    """Sizes from the smallest that the most frequent values allow to what the rarest one needs and somewhat more.

    The upper ones are close together, because a little more size may mean one bucket more for many rare values.
    """
    present = np.flatnonzero(counts)
    top = (limits.rows[0, present] / limits.rows[1, present]).max()
    low, high = max(2, limits.least_size, int(np.ceil(1 / top - 1e-9))), limits.fewest_buckets(counts)
    lower = np.geomspace(min(low, high), high, num=1 + min(_SIZES, int(np.log(max(1.0, high / low)) / np.log(1.25))))
    upper = np.linspace(high, 1.3 * high, num=_SIZES // 2)
    sizes = np.unique(np.rint(np.concatenate([lower, upper])).astype(np.int64))
    return [int(size) for size in sizes if size <= counts.sum()]


def _kinds(counts: Ints, limits: Limits) -> tuple[Ints, Ints, Ints]:
    """Values of a kind share a variable: (the rarest value of each kind, the kind of every value or -1, how many)."""
    order = by_support(counts)[::-1]
    ceiling = limits.rows[0, order] / limits.rows[1, order]
    _, first, kind = np.unique(np.stack([counts[order], ceiling]), axis=1, return_index=True, return_inverse=True)
    kind = kind.ravel()
    if len(first) > _CLASSES:  # neighbours in the order of ceilings are nearly alike
        rank = np.empty(len(order), dtype=np.int64)
        rank[np.argsort(ceiling, kind="stable")] = np.arange(len(order))
        kind = rank * _CLASSES // len(order)
        first = np.array([np.flatnonzero(kind == k)[np.argmin(ceiling[kind == k])] for k in range(_CLASSES)])
    member = np.full(len(counts), -1, dtype=np.int64)
    member[order] = kind
    return order[first], member, np.bincount(kind)


def _solve(sizes: Ints, share: Floats, people: Floats, values: Ints) -> tuple[float, Floats]:
    """The loss and people[size, kind] of the best of a few linear programs; infinite when there is no solution.

    Variables as in `program.size_program`, in shares of all people.
    """
    from scipy.optimize import linprog

    rows, kinds = share.shape
    total = people.sum()
    equal, target, within = size_program(share, people / total, values, np.ones(rows))
    at, least, best = np.full(rows, 1 / rows), np.inf, np.empty((0, kinds))
    for _ in range(_ROUNDS):
        price = np.concatenate([np.zeros(rows * kinds), sizes**0.6 * np.maximum(at, 1e-3) ** -0.3])
        answer = linprog(price, A_ub=within, b_ub=np.zeros(rows * kinds), A_eq=equal, b_eq=target, method="highs")
        if answer.status != 0:
            break
        at = np.maximum(answer.x[rows * kinds :], 0.0)
        loss = float((sizes**0.6 * at**0.7).sum())
        if loss >= least:
            break
        best, least = answer.x[: rows * kinds].reshape(rows, kinds) * total, loss
    return least, best


# Filling buckets


@dataclass
class _Buckets:
    """Buckets of one level being filled."""

    content: list[dict[int, int]]
    load: list[int]
    touched: dict[int, int]

    def put(self, bucket: int, value: int, people: int) -> None:
        self.touched[value] = self.touched.get(value, 0) + (value not in self.content[bucket])
        self.content[bucket][value] = self.content[bucket].get(value, 0) + people
        self.load[bucket] += people

    def slots(self, size: int) -> Ints:
        """The buckets cut to one size, evenly from their values."""
        rows = []
        for content, load in zip(self.content, self.load, strict=True):
            values, people = np.array(list(content)), np.array(list(content.values()))
            rows.append(np.repeat(values, people - evenly(people, load - size)))
        return np.array(rows, dtype=np.int64)


def _fill(wanted: Ints, most: Ints, buckets: int, size: int) -> _Buckets:
    """Fill buckets of that size with the wanted people, no value in more than most[v] of them.

    Whole buckets of one value first; then pieces that must not be divided any more, largest first into the emptiest;
    then, through the gaps, those that may be. Buckets can stay short: the caller looks.
    """
    made = _Buckets([{} for _ in range(buckets)], [0] * buckets, {})
    whole: list[tuple[int, int]] = []
    divisible: list[tuple[int, int]] = []
    used = 0
    for value in by_support(wanted).tolist():
        pure = min(int(wanted[value]) // size, int(most[value]), buckets - used)
        for bucket in range(used, used + pure):
            made.put(bucket, value, size)
        used += pure
        rest, pieces = int(wanted[value]) - pure * size, int(most[value]) - pure
        if rest and pieces:
            (whole if pieces == 1 else divisible).append((rest, value))
    left = _put_whole(made, whole, used, size)
    _put_divided(made, [*left, *divisible], most, used, size)
    return made


def _put_whole(made: _Buckets, pieces: list[tuple[int, int]], used: int, size: int) -> list[tuple[int, int]]:
    """Largest first into the emptiest; what does not fit is returned, and may only go where the value is already."""
    emptiest = [(0, bucket) for bucket in range(used, len(made.load))]
    left = []
    for people, value in sorted(pieces, reverse=True):
        some = 0
        if emptiest:
            load, bucket = emptiest[0]
            some = min(people, size - load)
            made.put(bucket, value, some)
            heapq.heapreplace(emptiest, (load + some, bucket)) if load + some < size else heapq.heappop(emptiest)
        if people > some:
            left.append((people - some, value))
    return left


def _put_divided(made: _Buckets, pieces: list[tuple[int, int]], most: Ints, used: int, size: int) -> None:
    """Go through the gaps, the widest first; each takes values it has already, then those with most people for each
    bucket they may still be in."""
    left = {value: people for people, value in pieces}
    pressing = [_pressure(made, most, left, value) for value in left]
    heapq.heapify(pressing)
    for bucket in sorted(range(used, len(made.load)), key=made.load.__getitem__):
        while made.load[bucket] < size:
            value = next((v for v in made.content[bucket] if v in left), None)
            if value is None:
                value = _most_pressing(made, most, left, pressing)
            if value is None:
                break
            some = min(left[value], size - made.load[bucket])
            made.put(bucket, value, some)
            left[value] -= some
            if left[value] == 0:
                del left[value]
            else:
                heapq.heappush(pressing, _pressure(made, most, left, value))


def _pressure(made: _Buckets, most: Ints, left: dict[int, int], value: int) -> tuple[float, int]:
    """How many people a value has left for each bucket it may still be put in; negative, for a heap."""
    room = int(most[value]) - made.touched.get(value, 0)
    return -left[value] / room if room > 0 else 1.0, value


def _most_pressing(made: _Buckets, most: Ints, left: dict[int, int], pressing: list[tuple[float, int]]) -> int | None:
    """The value that most needs a bucket; entries of the heap that are out of date are thrown away."""
    while pressing:
        pressure, value = pressing[0]
        if pressure < 0 and value in left and (pressure, value) == _pressure(made, most, left, value):
            return value
        heapq.heappop(pressing)
    return None
