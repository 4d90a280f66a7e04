"""BUREL: buckets of sensitive values, reallocated to groups (Cao and Karras 2012: paper 001, sections 4.2 to 4.5).

n     people             x_j   people of bucket j in a group G        f   ceiling on the belief in a value
A bucket holds all people with certain values. A group that takes x_j people from bucket j keeps the promise whoever
they are, if x_j <= f |G| for the lowest ceiling f of the values in that bucket (Theorem 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, OneoffError, UnreachableGuarantee
from oneoff.mechanisms.partitioning.hilbert import hilbert_order, lined_up
from oneoff.mechanisms.partitioning.mondrian import mondrian
from oneoff.mechanisms.served import refuse_all_but_ceilings
from oneoff.mechanisms.space import space_of
from oneoff.models import Caps, Counts, Model, Prior
from oneoff.models.adversary import IDENTITY, Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table

if TYPE_CHECKING:
    from oneoff.kernels.burel import Promise
    from oneoff.kernels.space import Space

__all__ = ["bi_split", "burel", "deal", "dp_partition"]

Ints = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]
Variant = Literal["best", "paper", "slack", "hybrid"]
Effort = Literal["fast", "balanced", "best"]
Cuts = Literal["strict", "relaxed"]
Report = Callable[[float], None]
Plan = tuple[float, int, int]  # slack, how people are dealt out, parts (see kernels.burel)

_VARIANTS = ("best", "paper", "slack", "hybrid")
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
    numeric_as: Literal["range", "set"] = "range",
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

    Serves every promise made of ceilings, on sets of values too, with floors, and k-anonymity. Stands against a reader
    of the release: who goes where depends on quasi-identifiers and sensitive values together.
    """
    _refuse_options(variant, effort)
    job = _job(table, model, effort, numeric_as, rng or np.random.default_rng(), report or (lambda _: None))
    partition = Partition(_VARIANT[variant](job))
    job.report(1.0)
    if model.failing(Counts.of_groups(partition.group, table.values), Prior.of(table.counts)).any():
        raise OneoffError(f"burel made a group that breaks {model.spec()}: a defect, nothing was published")
    return partition


# The steps of the paper, one by one


def dp_partition(counts: Sequence[int] | Ints, caps: Caps, *, slack: float = 0.0, strict: bool = False) -> list[Ints]:
    """The values of every bucket (Function DPpartition): the fewest buckets, contiguous in the order of ceilings.

    A bucket of several values needs (1 + slack) * people in it <= its lowest ceiling * all people; `strict` is the <
    of the paper. A value alone always may be a bucket. What holds for values b..e also holds for fewer of them, so
    filling buckets from the left makes as few as the paper's dynamic programming.
    """
    from oneoff.kernels.burel import STRICT, buckets_of

    counts = np.asarray(counts, dtype=np.int64)
    return buckets_of(_promise(caps, int(counts.sum()), 1), counts, STRICT if strict else slack)


def bi_split(
    buckets: Sequence[Ints], counts: Sequence[int] | Ints, caps: Caps, *, least_size: int = 1, either: bool = False
) -> Ints:
    """How many people each group takes from each bucket (function biSplit): halves of halves, a row for each group.

    Of x people x // 2 go left, the others right. A node is split if both sides keep the promise and have anybody in
    them. `either`: where that is refused, odd ones are tried left and right in turn.
    """
    from oneoff.kernels.burel import EITHER, RIGHT

    return _shares(buckets, counts, caps, least_size, EITHER if either else RIGHT)


def deal(buckets: Sequence[Ints], counts: Sequence[int] | Ints, caps: Caps, *, least_size: int = 1) -> Ints:
    """The same in one go: the largest k with ceil(x_j / k) <= f_j floor(n / k), and everybody dealt out like cards."""
    from oneoff.kernels.burel import DEAL

    return _shares(buckets, counts, caps, least_size, DEAL)


def _shares(buckets: Sequence[Ints], counts: Sequence[int] | Ints, caps: Caps, least: int, way: int) -> Ints:
    from oneoff.kernels.burel import shares_of

    counts = np.asarray(counts, dtype=np.int64)
    sizes = np.array([counts[bucket].sum() for bucket in buckets])
    heads = np.array([bucket[0] for bucket in buckets])
    shares: Ints = shares_of(_promise(caps, int(counts.sum()), least), heads, sizes, way)
    return shares


# The variants


@dataclass(frozen=True)
class _Job:
    """What is to be grouped, in the form the compiled loops want; `values` are all 0 where they play no part."""

    table: Table
    model: Model
    values: Labels
    space: Space
    promise: Promise
    effort: Effort
    numeric_as: Literal["range", "set"]
    rng: np.random.Generator
    curve: Ints
    report: Report

    def loss(self, group: Labels) -> float:
        from oneoff.kernels.burel import average_loss

        return average_loss(self.table.codes, self.space, group)

    @property
    def everybody(self) -> Labels:
        return np.zeros(self.table.rows, dtype=np.int32)


def _paper(job: _Job) -> Labels:
    from oneoff.kernels.burel import RIGHT, STRICT

    return _divided(job, job.everybody, [(STRICT, RIGHT, 0)])


def _slack(job: _Job) -> Labels:
    from oneoff.kernels.burel import RIGHT, STRICT

    return _divided(job, job.everybody, [(STRICT, RIGHT, 0), *_drawing(job.effort)])


def _hybrid(job: _Job) -> Labels:
    """The best of what comes of Mondrian's groups, relaxed (so it never loses more than those) and strict.

    Strict cuts leave more to divide, and often that is better divided by buckets.
    """
    starts = _STARTS[job.effort]
    found = [_refined(job, cuts, turn / len(starts), 1 / len(starts)) for turn, cuts in enumerate(starts)]
    return min(found, key=job.loss)


def _refined(job: _Job, cuts: Cuts, done: float, share: float) -> Labels:
    """Mondrian's groups, divided again and again; `done` is the progress before, `share` what this is of it all."""
    from oneoff.kernels.burel import CUT

    def report(part: float) -> None:
        job.report(0.8 * (done + share * part))

    group = mondrian(
        job.table,
        job.model,
        cuts=cuts,
        numeric_as=job.numeric_as,
        effort=job.effort,
        rng=job.rng,
        report=lambda part: report(part / 2),
    ).group
    cutting = [(slack, CUT, parts) for parts in _PARTS[job.effort] for slack in _SLACKS[job.effort]]
    rounds = _ROUNDS[job.effort]
    for turn in range(rounds):
        many = int(group.max())
        group = _divided(job, group, [*_drawing(job.effort), *cutting])
        report(0.5 + 0.5 * (turn + 1) / rounds)
        if int(group.max()) == many:
            break
    return group


def _best(job: _Job) -> Labels:
    hybrid = _hybrid(job)
    if job.loss(hybrid) == 0:
        return hybrid
    return min(hybrid, _slack(job), key=job.loss)


_VARIANT: dict[str, Callable[[_Job], Labels]] = {"best": _best, "paper": _paper, "slack": _slack, "hybrid": _hybrid}


def _drawing(effort: Effort) -> list[Plan]:
    """Plans whose members are drawn along the curve."""
    from oneoff.kernels.burel import DEAL, EITHER, RIGHT

    ways = (RIGHT, EITHER, DEAL)
    return [(slack, way, 0) for way in ways for slack in _SLACKS[effort] for _ in range(_TRIES[effort])]


def _divided(job: _Job, group: Labels, plans: list[Plan]) -> Labels:
    """Every group divided by the plan that loses least; whole where none gains anything."""
    from oneoff.kernels.burel import CUT, divide
    from oneoff.kernels.threads import spread

    people, start = lined_up(job.table, job.curve, group, any(way == CUT for _, way, _ in plans))
    label, chance = np.empty(job.table.rows, dtype=np.int64), job.rng.random(job.table.rows)
    wanted = np.array(plans, dtype=np.float64)

    def run(first: int, last: int) -> None:
        divide(
            first, last, job.table.codes, job.values, job.space, job.promise, people, start, wanted, chance, label
        )  # fmt: skip

    spread(run, len(start) - 1)
    return _numbered(label)


def _numbered(label: Ints) -> Labels:
    """Labels below n as numbers without gaps."""
    present = np.zeros(len(label), dtype=np.int32)
    present[label] = 1
    number = np.cumsum(present, dtype=np.int32) - 1
    return number[label]


# Promises in the form the loops want, and what is refused


def _job(
    table: Table,
    model: Model,
    effort: Effort,
    numeric_as: Literal["range", "set"],
    rng: np.random.Generator,
    report: Report,
) -> _Job:
    refuse_all_but_ceilings("burel", table, model, sets=True)
    if not model.holds(Counts.of(table.counts), table.counts):
        raise UnreachableGuarantee(
            f"the table cannot keep {model.spec()}, not even as one group",
            allowed="a promise that everybody together keeps",
            got=model.spec(),
        )
    caps, least = model.caps(table.counts), model.rule(table.counts, table.rows).least_size
    values = table.values if caps is not None else np.zeros(table.rows, dtype=np.int32)
    promise = _promise(caps or Caps((Fraction(1),)), table.rows, least)
    curve = hilbert_order(table, rng, common_first=True)
    return _Job(table, model, values, space_of(table), promise, effort, numeric_as, rng, curve, report)


def _promise(caps: Caps, people: int, least: int) -> Promise:
    """Values by ceiling; those of one set are neighbours, so that a set is never torn apart by the order."""
    from oneoff.kernels.burel import Promise

    sets = sorted(caps.set_ratios(people), key=lambda one: (one[0], -one[1]))
    parent, home = _nested(sets, len(caps.ceiling))
    path: list[tuple[int, ...]] = []
    for number, above in enumerate(parent):
        path.append((*(path[above] if above >= 0 else ()), number))
    place = {cap: number for number, cap in enumerate(sorted(set(caps.ceiling)))}
    by_rank = sorted(range(len(home)), key=lambda v: (path[home[v]] if home[v] >= 0 else (), place[caps.ceiling[v]]))
    rank = np.empty(len(home), dtype=np.int64)
    rank[by_rank] = np.arange(len(home))
    top, bottom = caps.ratios(people)
    exact = zip(caps.ceiling, top.tolist(), bottom.tolist(), strict=True)
    rounded = [int(cap.numerator * under > over * cap.denominator) for cap, over, under in exact]
    limits = np.stack([top, bottom, *caps.floor_ratios(people), rank, by_rank, home, rounded]).astype(np.int64)
    rows = [(over, under, above) for (_, _, over, under), above in zip(sets, parent, strict=True)]
    return Promise(limits, np.array(rows, dtype=np.int64).reshape(-1, 3), min(least, people + 1))


def _nested(sets: list[tuple[int, int, int, int]], values: int) -> tuple[list[int], list[int]]:
    """The set around each set, and the innermost set around each value; -1 for none. Outer sets come first."""
    home, parent = [-1] * values, []
    for number, (low, high, _, _) in enumerate(sets):
        parent.append(home[low])
        home[low:high] = [number] * (high - low)
    return parent, home


def _refuse_options(variant: str, effort: str) -> None:
    if variant not in _VARIANTS:
        raise BadValue("unknown variant", allowed=", ".join(_VARIANTS), got=repr(variant))
    if effort not in _SLACKS:
        raise BadValue("unknown effort", allowed=", ".join(_SLACKS), got=repr(effort))
