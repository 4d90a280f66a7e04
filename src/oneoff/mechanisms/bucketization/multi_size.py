"""More than two bucket sizes by taking two apart again and again (paper 002, section 6.2: MultiSizeBucketing)."""

from __future__ import annotations

import numpy as np

from oneoff.mechanisms.bucketization.choice import (
    BoundedSolver,
    Choice,
    ChoiceOptions,
    Columns,
    Deal,
    Report,
    choose_people,
)
from oneoff.mechanisms.bucketization.setting import Setting
from oneoff.mechanisms.bucketization.two_size import two_sizes
from oneoff.models import Limits, Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Ints

__all__ = ["multi_size", "multi_sizes"]


def multi_sizes(counts: Ints, limits: Limits, sizes: Ints) -> Setting | None:
    """Algorithm 4: the people of each kind of buckets are given two sizes of their own while that lowers the loss."""
    first = two_sizes(counts, limits, sizes)
    if first is None:
        return None
    done, waiting = list[tuple[int, int, Ints]](), _kinds(first)
    while waiting:
        size, number, people = waiting.pop()
        finer = two_sizes(people, limits, sizes)
        if finer is not None and finer.loss < number * (size - 1) ** 2:
            waiting += _kinds(finer)
        else:
            done.append((size, number, people))
    return _merged(done)


def _kinds(setting: Setting) -> list[tuple[int, int, Ints]]:
    return [
        (int(size), int(number), setting.people[:, j])
        for j, (size, number) in enumerate(zip(setting.size, setting.number, strict=True))
    ]


def _merged(kinds: list[tuple[int, int, Ints]]) -> Setting:
    """Kinds of the same size are one kind."""
    sizes = sorted({size for size, _, _ in kinds})
    number = [sum(many for other, many, _ in kinds if other == size) for size in sizes]
    people = [np.sum([some for other, _, some in kinds if other == size], axis=0) for size in sizes]
    return Setting(np.array(sizes), np.array(number), np.stack(people, axis=1))


CLAIMS = (Claim(Adversary.INSIDER),)


def multi_size(
    table: Table,
    model: Model,
    *,
    max_size: int = 50,
    deal: Deal = "close",
    choice: Choice = "random",
    block_size: int | None = None,
    block_on: Columns = None,
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Buckets of several sizes, found by dividing two sizes further.

    max_size     the largest bucket to try (M' of the paper); larger ones only where there is no other way
    choice       "random": from the whole table, as in the paper; "blocks": inside blocks of similar people
    block_size   the fewest people in a block, 1000 by default; fix it before you look at sensitive values
    deal         "close": equal values together as far as ceilings allow, for better counts; "even": round robin, as in
                 the paper. People are drawn by chance in either case
    block_on     cut blocks on these columns only: those that say little about the value keep blocks eligible
    """

    def solve(counts: Ints, limits: Limits, sizes: Ints, block: bool) -> Setting | None:
        return multi_sizes(counts, limits, sizes)

    bounded = BoundedSolver(solve, max_size)
    return choose_people(table, model, bounded, ChoiceOptions(choice, block_size, block_on, deal), rng, report)
