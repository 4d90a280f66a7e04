"""BUREL: buckets of sensitive values, reallocated to groups (Cao and Karras 2012: paper 001, sections 4.2 to 4.5).

n     people             x_j   people of bucket j in a group G        f   ceiling on the belief in a value
A bucket holds all people with certain values. A group that takes x_j people from bucket j keeps the promise whoever
they are, if x_j <= f |G| for the lowest ceiling f of the values in that bucket (Theorem 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from oneoff.mechanisms.columns import about_columns, joined_along
from oneoff.mechanisms.partitioning.hilbert import hilbert_order
from oneoff.mechanisms.partitioning.leaves import Leaves, leaves_of
from oneoff.mechanisms.partitioning.mondrian import mondrian
from oneoff.mechanisms.served import refuse_all_but_ceilings, refuse_unknown, refuse_unreachable
from oneoff.mechanisms.task import Effort, NumericAs, Report, Task, finish, task_of
from oneoff.models import Limits, Model, Prior, by_column
from oneoff.models.adversary import IDENTITY, Adversary, Claim
from oneoff.models.limits import ANYBODY
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints

__all__ = ["bi_split", "burel", "deal", "dp_partition"]

Variant = Literal["best", "paper", "slack", "hybrid"]
Cuts = Literal["strict", "relaxed"]
Plan = tuple[float, int, int]  # slack, how people are dealt out, parts (see kernels.burel)

_SLACKS = {
    "fast": (0.0, 0.4, np.inf),
    "balanced": (0.0, 0.1, 0.2, 0.4, 0.8, np.inf),
    "best": (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, np.inf),
}
_TRIES = {"fast": 1, "balanced": 1, "best": 4}  # draws of chance for every plan
_PARTS = {"fast": (4,), "balanced": (1, 4, 16), "best": (1, 2, 4, 8, 16, 32)}  # where cuts across buckets are tried
_STARTS: dict[str, tuple[Cuts, ...]] = {
    "fast": ("relaxed",),
    "balanced": ("relaxed", "strict"),
    "best": ("relaxed", "strict"),
}  # Mondrian's cuts to begin with
_ROUNDS = {"fast": 1, "balanced": 2, "best": 8}  # of dividing what came of the last one

# For a promise about identity it looks at quasi-identifiers only, so even an insider learns nothing more.
CLAIMS = (Claim(Adversary.INSIDER, promises=IDENTITY), Claim(Adversary.READER))


def burel(
    table: Table,
    model: Model,
    *,
    variant: Variant = "best",
    effort: Effort = "balanced",
    numeric_as: NumericAs = "range",
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Put people into buckets by sensitive value, decide how many each group takes from each bucket, and who.

    paper    as written: the fewest buckets (`dp_partition`, with <), halves of halves (`bi_split`), and members nearest
             on a Hilbert curve to a random person
    slack    buckets that leave room under their ceilings allow more groups: several amounts of slack, `bi_split` and
             `deal`; what loses least is kept
    hybrid   Mondrian first; then the same inside each of its groups, under the ceilings of the whole table, where also
             all buckets at once can be cut across an attribute; and again inside what came of it
    best     whichever of slack and hybrid loses least

    Loss is the AIL of the paper (equations 2 to 5). hybrid never loses more than Mondrian, nor best more than hybrid.
    `effort` says how many slacks, draws of chance and rounds are tried. About O(n log n) for a given number of values.

    Of several sensitive columns, groups are made for the one that asks for the largest, and joined with their
    neighbours until the others keep their promises, too; hybrid and best take Mondrian's where these lose less.

    Serves every promise made of ceilings, on sets of values too, with floors, and k-anonymity. Stands against a reader
    of the release: who goes where depends on quasi-identifiers and sensitive values together.
    """
    from oneoff.kernels.burel import divide

    refuse_unknown("variant", variant, _VARIANT)
    refuse_unknown("effort", effort, _SLACKS)
    refuse_all_but_ceilings("burel", table, model, sets=True)
    refuse_unreachable(table, model)
    task = task_of("burel", table, model, rng=rng, report=report)
    if about_columns(table, model):
        own = partial(burel, variant=variant, effort=effort, numeric_as=numeric_as)
        return finish(task, _of_columns(task, own, [] if variant in ("paper", "slack") else ["relaxed"]))
    exact = (model.caps(table.counts) or ANYBODY).with_least_size(task.limits.least_size)
    search = _Search(leaves_of(task, task.values, exact.ordered(table.rows), divide), effort, numeric_as)
    group = _VARIANT[variant](search)
    task.report(1.0)
    return finish(task, group)


def _of_columns(task: Task, own: Callable[..., Partition], cuts: Sequence[Cuts]) -> Codes:
    """Groups for the most demanding column, joined for the sake of the others; or Mondrian's for all of them."""
    from oneoff.kernels.losses import average_loss

    table, model = task.table, task.model
    first, promise = max(by_column(table, model), key=lambda each: _demand(*each))
    group = own(first, promise, rng=task.rng, report=lambda done: task.report(0.8 * done)).group
    found = [joined_along(table, model, group, hilbert_order(table, task.rng, common_first=True))]
    found += [mondrian(table, model, cuts=each, rng=task.rng).group for each in cuts]
    task.report(1.0)
    return min(found, key=lambda each: average_loss(table.codes, task.space, each))


def _demand(table: Table, model: Model) -> float:
    """How many people the group of somebody needs on average, to have one below the ceiling of their value."""
    limits = model.caps(table.counts) or ANYBODY
    pairs = zip(Prior.of(table.counts).shares, limits.ceiling, strict=False)
    return sum(float(share / ceiling) for share, ceiling in pairs if share)


# The steps of the paper, one by one


def dp_partition(
    counts: Sequence[int] | Ints, limits: Limits, *, slack: float = 0.0, strict: bool = False
) -> list[Ints]:
    """The values of every bucket (Function DPpartition): the fewest buckets, contiguous in the order of ceilings.

    A bucket of several values needs (1 + slack) * people in it <= its lowest ceiling * all people; `strict` is the <
    of the paper. A value alone always may be a bucket. What holds for values b..e also holds for fewer of them, so
    filling buckets from the left makes as few as the paper's dynamic programming.
    """
    from oneoff.kernels.shares import STRICT, buckets_of

    counts = np.asarray(counts, dtype=np.int64)
    return buckets_of(limits.ordered(int(counts.sum())), counts, STRICT if strict else slack)


def bi_split(
    buckets: Sequence[Ints], counts: Sequence[int] | Ints, limits: Limits, *, least_size: int = 1, either: bool = False
) -> Ints:
    """How many people each group takes from each bucket (function biSplit): halves of halves, a row for each group.

    Of x people x // 2 go left, the others right. A node is split if both sides keep the promise and have anybody in
    them. `either`: where that is refused, odd ones are tried left and right in turn.
    """
    from oneoff.kernels.shares import EITHER, RIGHT

    return _shares(buckets, counts, limits, least_size, EITHER if either else RIGHT)


def deal(buckets: Sequence[Ints], counts: Sequence[int] | Ints, limits: Limits, *, least_size: int = 1) -> Ints:
    """The same in one go: the largest k with ceil(x_j / k) <= f_j floor(n / k), and everybody dealt out like cards."""
    from oneoff.kernels.shares import DEAL

    return _shares(buckets, counts, limits, least_size, DEAL)


def _shares(buckets: Sequence[Ints], counts: Sequence[int] | Ints, limits: Limits, least: int, way: int) -> Ints:
    from oneoff.kernels.shares import shares_of

    counts = np.asarray(counts, dtype=np.int64)
    sizes = np.array([counts[bucket].sum() for bucket in buckets])
    heads = np.array([bucket[0] for bucket in buckets])
    promise = limits.with_least_size(max(least, limits.least_size)).ordered(int(counts.sum()))
    shares: Ints = shares_of(promise, heads, sizes, way)
    return shares


# The variants


@dataclass(frozen=True, eq=False)
class _Search:
    """What is divided, and how hard we try."""

    leaves: Leaves
    effort: Effort
    numeric_as: NumericAs

    def loss(self, group: Codes) -> float:
        from oneoff.kernels.losses import average_loss

        return average_loss(self.leaves.task.table.codes, self.leaves.task.space, group)

    def divided(self, group: Codes, plans: list[Plan]) -> Codes:
        from oneoff.kernels.shares import CUT

        return self.leaves.divided(group, plans, across=any(way == CUT for _, way, _ in plans))


def _paper(search: _Search) -> Codes:
    from oneoff.kernels.shares import RIGHT, STRICT

    return search.divided(search.leaves.task.everybody, [(STRICT, RIGHT, 0)])


def _slack(search: _Search) -> Codes:
    from oneoff.kernels.shares import RIGHT, STRICT

    return search.divided(search.leaves.task.everybody, [(STRICT, RIGHT, 0), *_drawing(search.effort)])


def _hybrid(search: _Search) -> Codes:
    """The best of what comes of Mondrian's groups, relaxed (so it never loses more than those) and strict.

    Strict cuts leave more to divide, and often that is better divided by buckets.
    """
    starts = _STARTS[search.effort]
    found = [_refined(search, cuts, turn / len(starts), 1 / len(starts)) for turn, cuts in enumerate(starts)]
    return min(found, key=search.loss)


def _refined(search: _Search, cuts: Cuts, done: float, share: float) -> Codes:
    """Mondrian's groups, divided again and again; `done` is the progress before, `share` what this is of it all."""
    from oneoff.kernels.shares import CUT

    task = search.leaves.task

    def report(part: float) -> None:
        task.report(0.8 * (done + share * part))

    group = mondrian(
        task.table,
        task.model,
        cuts=cuts,
        numeric_as=search.numeric_as,
        effort=search.effort,
        rng=task.rng,
        report=lambda part: report(part / 2),
    ).group
    cutting = [(slack, CUT, parts) for parts in _PARTS[search.effort] for slack in _SLACKS[search.effort]]
    rounds = _ROUNDS[search.effort]
    for turn in range(rounds):
        many = int(group.max())
        group = search.divided(group, [*_drawing(search.effort), *cutting])
        report(0.5 + 0.5 * (turn + 1) / rounds)
        if int(group.max()) == many:
            break
    return group


def _best(search: _Search) -> Codes:
    hybrid = _hybrid(search)
    if search.loss(hybrid) == 0:
        return hybrid
    return min(hybrid, _slack(search), key=search.loss)


_VARIANT: dict[str, Callable[[_Search], Codes]] = {"best": _best, "paper": _paper, "slack": _slack, "hybrid": _hybrid}


def _drawing(effort: Effort) -> list[Plan]:
    """Plans whose members are drawn along the curve."""
    from oneoff.kernels.shares import DEAL, EITHER, RIGHT

    ways = (RIGHT, EITHER, DEAL)
    return [(slack, way, 0) for way in ways for slack in _SLACKS[effort] for _ in range(_TRIES[effort])]
