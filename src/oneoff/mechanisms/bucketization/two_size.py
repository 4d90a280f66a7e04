"""The best setting of two bucket sizes (paper 002, section 5: TwoSizeBucketing).

For sizes S1 < S2 the settings that hold n people are (b1 - k D1, b2 + k D2), k = 0, 1, ..., in the order of their loss.
Valid is what lies in one interval of k. Each value i wants c_i1 b1 + c_i2 b2 >= o_i, which is linear in k; and the b_j
buckets of a size can be filled if and only if b_j <= bmax(S_j), which depends on one size only. The first valid k is
therefore the largest of all lower ends, provided that it is not above the smallest upper end. (Algorithm 3 as written
takes the smallest of the lower ends; with o = (3, 6), f' = (103/150, 1) and sizes 1 and 2 that breaks a ceiling.)
"""

from __future__ import annotations

from math import gcd
from typing import Literal

import numpy as np

from oneoff.errors import BadValue
from oneoff.mechanisms.bucketization.choice import (
    BoundedSolver,
    Choice,
    ChoiceOptions,
    Columns,
    Deal,
    Report,
    choose_people,
)
from oneoff.mechanisms.bucketization.setting import Setting, divide
from oneoff.models import Limits, Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Ints

__all__ = ["Search", "first_valid", "most_buckets", "two_size", "two_sizes"]

Search = Literal["full", "loss", "none"]

_NUMBERS = 2**19  # in an array at a time


def two_sizes(counts: Ints, limits: Limits, sizes: Ints, search: Search = "full") -> Setting | None:
    """The valid setting of one or two of these sizes with the least loss; None when there is none.

    search   "full": the first valid candidate of every pair of sizes by the interval above; "loss": by trying one after
             the other while its loss is below the best so far (Algorithm 2); "none": one after the other to the end
    """
    sizes = sizes[sizes <= counts.sum()]
    if not len(sizes):
        return None
    pairs = np.stack([sizes[side] for side in np.triu_indices(len(sizes))], axis=1)
    found = first_valid(counts, limits, pairs) if search == "full" else _tried(counts, limits, pairs, search == "loss")
    loss = (found * (pairs - 1) ** 2).sum(axis=1)
    valid = np.flatnonzero(found[:, 0] >= 0)
    if not len(valid):
        return None
    best = int(valid[np.argmin(loss[valid])])
    (s1, s2), (b1, b2) = pairs[best].tolist(), found[best].tolist()
    return divide(counts, limits, (s1, s2), (b1, b2))


def first_valid(counts: Ints, limits: Limits, pairs: Ints) -> Ints:
    """The numbers of buckets of the first valid candidate for every pair of sizes; -1 where there is none.

    A pair of equal sizes stands for one size. Some pairs at a time: there is a number for every pair and value.
    """
    sizes, place = np.unique(pairs, return_inverse=True)
    most = np.array([limits.most(size) for size in sizes.tolist()], dtype=np.int64).reshape(-1, len(counts))
    fill = np.array([most_buckets(counts, *both) for both in zip(most, sizes.tolist(), strict=True)], dtype=np.int64)
    some, place = max(1, _NUMBERS // len(counts)), place.reshape(pairs.shape)
    found = np.empty(pairs.shape, dtype=np.int64)
    for at in range(0, len(pairs), some):
        part = slice(at, at + some)
        found[part] = _first_of(counts, pairs[part], fill[place[part]], most[place[part].T])
    return found


def _first_of(counts: Ints, pairs: Ints, fillable: Ints, room: Ints) -> Ints:
    """The same for pairs whose sizes fill so many buckets and have room[side, pair, value] in each."""
    n = int(counts.sum())
    start, step = _first_candidates(n, pairs)
    low = np.maximum(0, -(-(start[:, 0] - fillable[:, 0]) // step[:, 0]))
    high = np.minimum(start[:, 0] // step[:, 0], (fillable[:, 1] - start[:, 1]) // step[:, 1])
    over = room[0] * start[:, :1] + room[1] * start[:, 1:] - counts  # people of each value there is room for, too many
    slope = room[1] * step[:, 1:] - room[0] * step[:, :1]
    divisor = np.where(slope == 0, 1, slope)
    low = np.maximum(low, np.where(slope > 0, -(over // divisor), 0).max(axis=1))
    high = np.minimum(high, np.where(slope < 0, over // -divisor, n).min(axis=1))
    possible = (start[:, 0] >= 0) & ~((slope <= 0) & (over < 0)).any(axis=1) & (low <= high)
    found = start + low[:, None] * step * np.array([-1, 1])
    return np.where(possible[:, None], found, -1)


def _first_candidates(n: int, pairs: Ints) -> tuple[Ints, Ints]:
    """The candidate with most buckets of the first size (equation 7; -1 where none holds n people), and the steps."""
    start, step = np.full(pairs.shape, -1, dtype=np.int64), np.ones(pairs.shape, dtype=np.int64)
    for row, (first, second) in enumerate(pairs.tolist()):
        common = gcd(first, second)
        step[row] = second // common, first // common
        if n % common:
            continue
        if first == second:
            start[row] = n // first, 0
            continue
        modulus = first // common
        b2 = n // common * pow(second // common, -1, modulus) % modulus if modulus > 1 else 0
        if second * b2 <= n:
            start[row] = (n - second * b2) // first, b2
    return start, step


def most_buckets(counts: Ints, most: Ints, size: int) -> int:
    """The most buckets of a size that can be filled: the largest b with sum min(c_i b, o_i) >= size * b.

    The difference of the two sides is concave in b and 0 at 0, so every smaller number can be filled as well.
    """
    low, high = 0, int(counts.sum()) // size
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(most * middle, counts).sum()) >= size * middle:
            low = middle
        else:
            high = middle - 1
    return low


def _tried(counts: Ints, limits: Limits, pairs: Ints, prune: bool) -> Ints:
    """The same by trying candidates one after the other (section 7.3's No-pruning and Loss-pruning)."""
    from oneoff.kernels.buckets import try_candidates

    start, step = _first_candidates(int(counts.sum()), pairs)
    sizes, place = np.unique(pairs, return_inverse=True)
    rooms = np.stack([limits.most(int(size)) for size in sizes])
    found: Ints = try_candidates(counts, rooms, pairs, place.reshape(pairs.shape), np.stack([start, step]), prune)
    return found


CLAIMS = (Claim(Adversary.INSIDER),)


def two_size(
    table: Table,
    model: Model,
    *,
    max_size: int = 50,
    search: Search = "full",
    deal: Deal = "close",
    choice: Choice = "random",
    block_size: int | None = None,
    block_on: Columns = None,
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Buckets of two sizes with the least sum of squares that keeps every ceiling.

    max_size     the largest bucket to try (M' of the paper); larger ones only where there is no other way
    search       see `two_sizes`; the result is the same
    choice       "random": from the whole table, as in the paper; "blocks": inside blocks of similar people
    block_size   the fewest people in a block, 1000 by default; fix it before you look at sensitive values
    deal         "close": equal values together as far as ceilings allow, for better counts; "even": round robin, as in
                 the paper. People are drawn by chance in either case
    block_on     cut blocks on these columns only: those that say little about the value keep blocks eligible
    """
    if search not in ("full", "loss", "none"):
        raise BadValue("unknown search", allowed="full, loss, none", got=repr(search))

    def solve(counts: Ints, limits: Limits, sizes: Ints, block: bool) -> Setting | None:
        return two_sizes(counts, limits, sizes, search)

    bounded = BoundedSolver(solve, max_size)
    return choose_people(table, model, bounded, ChoiceOptions(choice, block_size, block_on, deal), rng, report)
