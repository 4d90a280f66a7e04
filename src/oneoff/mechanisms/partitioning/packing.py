"""Packing: groups chosen looking at quasi-identifiers and sensitive values alike, for the least loss."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, OneoffError, UnreachableGuarantee
from oneoff.mechanisms.served import refuse_all_but_ceilings
from oneoff.mechanisms.space import curve_order, space_of
from oneoff.models import Counts, Model, Prior
from oneoff.models.adversary import IDENTITY, Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["packing"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Started = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]  # columns along the curve, group of each position
Groups = tuple[Ints, Ints]  # where each group begins, and the rows of all groups one after the other

_EFFORT = {"fast": 1 / 3, "balanced": 1.0, "best": 4.0}
_SWEEPS, _LARGE, _SMALL = 15, 500_000, 10_000  # sweeps through a large table, and rows that make it large or small
_MOST_SWEEPS = 100  # through a small one
_WINDOW = 4096  # people along the curve a new group looks at
_STRENGTHS = (0.0, 0.02, 0.04, 0.07, 0.1, 0.14)  # of the reward for values that are hard to place
_SAMPLE = 16_384  # people on whom the strength is chosen
_CYCLE, _SOFT = 5, 4  # of so many sweeps so many count what is rare in a group
_CHUNK, _DEALS = 128, 16  # groups that exchange members, and members each of them offers at a time


@dataclass(frozen=True)
class _Job:
    """What is to be packed, in the form the compiled loops want.

    limits  ceilings and floors of the values (`models.Rule.limits`), no columns where only the size of a group matters
    least   people a group must have
    """

    table: Table
    space: Space
    limits: Ints
    least: int

    def loss(self, groups: Groups) -> int:
        """People times box loss, in whole numbers of 1 / UNIT."""
        from oneoff.kernels.groups import total_loss

        return int(total_loss(self.table.codes, self.space, *groups).sum())


# For a promise about identity it looks at quasi-identifiers only; otherwise sensitive values decide who is together.
CLAIMS = (Claim(Adversary.INSIDER, promises=IDENTITY), Claim(Adversary.NOBODY))


def packing(
    table: Table,
    model: Model,
    *,
    effort: Literal["fast", "balanced", "best"] = "balanced",
    sweeps: int | None = None,
    seconds: float | None = None,
    numeric_as: Literal["range", "set"] = "range",
    rng: np.random.Generator | None = None,
    report: Callable[[float], None] | None = None,
) -> Partition:
    """Put together whoever looks alike and may be in a group together, and exchange people while that lowers the loss.

    Groups are started around the people who are hardest to place, those whose value asks for the largest group first,
    and take in whoever nearby stretches them least (at most 16,384 people along a curve are looked at, so time grows
    with the number of rows). Who finds no group joins the cheapest that may take it; if there is none, groups are
    merged until the promise holds. Then sweeps: neighbouring groups offer members, and exact assignments deal them out
    anew; at first the price also counts what is rare in a group, later only the loss; now and then people move to
    another group, and groups dissolve, where that lowers the loss.

    sweeps   how many; by default 15 for half a million rows and more, and more for fewer rows, up to 100; with effort
             "fast" a third of that, with "best" four times as many. The groups with the least loss seen are returned,
             so more sweeps never lose more; the same seed gives the same groups on any number of cores
    seconds  stop after that time instead, or too; what is returned then depends on the machine

    Serves every promise made of ceilings, also with floors, and k-anonymity. Each group keeps the promise by count:
    that is checked exactly before the result is returned.

    It stands against nobody. Who is in a group was chosen by looking at sensitive values, and that can be turned
    around: of two people who would suit each other's group better, one must have a value that is not allowed there;
    and a person far from the others of a group was often put there for a rare value, which a reader can guess without
    knowing the algorithm. For k-anonymity alone values play no part.
    """
    _refuse_options(effort, sweeps, seconds)
    job, rng = _job(table, model, numeric_as), rng or np.random.default_rng()
    if sweeps is None and seconds is None:
        sweeps = _usual_sweeps(table.rows, _EFFORT[effort])
    share = _share(sweeps, seconds)
    groups = _improved(job, _first_groups(job, rng), share, rng, report or (lambda _: None))
    partition = Partition(_labels(groups))
    if model.failing(Counts.of_groups(partition.group, table.values), Prior.of(table.counts)).any():
        raise OneoffError(f"packing made a group that breaks {model.spec()}: a defect, nothing was published")
    return partition


def _usual_sweeps(rows: int, effort: float) -> int:
    """Whole cycles; the more the smaller a table is, down to 10,000 rows."""
    small, large = (_SMALL / min(max(rows, _SMALL), _LARGE)) ** 1.2, (_SMALL / _LARGE) ** 1.2
    sweeps: float = _SWEEPS + (_MOST_SWEEPS - _SWEEPS) * (small - large) / (1 - large)
    return _CYCLE * round(effort * sweeps / _CYCLE)


def _job(table: Table, model: Model, numeric_as: str) -> _Job:
    refuse_all_but_ceilings("packing", table, model)
    if not model.holds(Counts.of(table.counts), table.counts):
        raise UnreachableGuarantee(
            f"the table cannot keep {model.spec()}, not even as one group",
            allowed="a promise that everybody together keeps",
            got=model.spec(),
        )
    rule = model.rule(table.counts, table.rows)
    limits = rule.limits if rule.by_value else rule.limits[:, :0]
    return _Job(table, space_of(table, numeric_as), limits, rule.least_size)


def _first_groups(job: _Job, rng: np.random.Generator) -> Groups:
    """Groups around the people who are hardest to place, and everybody else added to them."""
    from oneoff.kernels.packing import anchored, columns, complete

    limits = job.limits if job.limits.size else np.array([[1], [1], [0], [1], [0]])  # one value that anybody may have
    values = job.table.values if job.limits.size else np.zeros(job.table.rows, dtype=np.int32)
    mixed = rng.permutation(job.table.rows)
    line = mixed[curve_order(job.table, job.space, mixed, rng)]
    counts, odd = np.bincount(values, minlength=limits.shape[1]), _oddness(job)
    sizes = _sizes(limits, job.least, counts)
    worth = _worth(limits, sizes, counts)

    def grow(rows: Ints, strength: float) -> Started:
        column, plan = columns(job.table.codes, job.space, rows), np.stack([sizes, (strength * worth).astype(np.int64)])
        hardest = np.lexsort((-odd[rows], -sizes[values[rows]]))
        window = min(_WINDOW, len(rows))
        return column, anchored(column, values[rows], job.space, limits, plan, hardest, window)

    sample = _sample(line, rng)
    tried = _STRENGTHS if len(np.unique(worth / sizes)) > 1 else (0.0,)
    started = [grow(sample, strength) for strength in tried]
    best = int(np.argmin([_spent(job, sample, one) for one in started]))
    column, group = started[best] if len(sample) == len(line) else grow(line, tried[best])
    late = np.flatnonzero(group < 0)
    late = late[np.argsort(-sizes[values[line[late]]], kind="stable")]
    complete(column, values[line], job.space, limits, job.least, group, late, 2**26 + 256 * len(line))
    return _gathered(group, line)


def _sizes(limits: Ints, least: int, counts: Ints) -> Ints:
    """How large a group is that begins with each value.

    As its ceiling asks for, and never so small that floors and ceilings leave next to no choice of others. With floors
    everybody is in a group with the rarest value that has one, so there are at most as many groups as people with it.
    """
    (ceiling, denominator, floor, floor_denominator), rows = limits[:4], int(counts.sum())
    own = np.where(ceiling > 0, -(-denominator // np.maximum(ceiling, 1)), rows)
    choice = max(1.0, float((ceiling / denominator).sum()) / 2)

    def enough(size: int) -> bool:
        most, needed = ceiling * size // denominator, -(-floor * size // floor_denominator)
        return bool((needed <= most).all() and needed.sum() <= size and most.sum() >= choice * size)

    size = max(least, int(own.min()))
    if (floor > 0).any():
        size = max(size, int(own.max()), rows // max(int(counts[floor > 0].min()), 1))
    while size < rows and not enough(size):
        size += max(1, size // 16)
    return np.minimum(np.maximum(own, size), rows)


def _worth(limits: Ints, sizes: Ints, counts: Ints) -> Floats:
    """What it is worth to have placed somebody with each value, up to a factor.

    A value that asks for a large group spares everybody one more when it joins a group that is large already. A value
    nearly as frequent as its ceiling allows is best not left for later.
    """
    from oneoff.kernels.space import UNIT

    share = counts / counts.sum()
    tight = np.minimum(share * limits[1] / np.maximum(limits[0], 1), 1.0)
    worth: Floats = sizes * (np.log(sizes / sizes.min()) + 4.0 * tight**2) * UNIT
    return worth


def _oddness(job: _Job) -> Floats:
    """How far everybody is from the others, attribute by attribute: who should be placed early."""
    from oneoff.kernels.space import KIND, RANGE

    odd = np.zeros(job.table.rows)
    for j, attribute in enumerate(job.table.quasi):
        codes = job.table.codes[:, j]
        if job.space.attribute[j, KIND] == RANGE:
            odd += np.abs(attribute.scaled - np.median(attribute.scaled[codes]))[codes]
        else:
            share = np.bincount(codes, minlength=attribute.size) / len(codes)
            odd += (-np.log(np.maximum(share, 1e-12)) * job.space.unit[j])[codes]
    return odd


def _sample(line: Ints, rng: np.random.Generator) -> Ints:
    """Everybody, or of many people eight stretches of the curve."""
    rows, many = len(line), 8
    if rows <= 2 * _SAMPLE:
        return line
    begin = rng.integers(rows) + np.arange(many) * (rows // many)
    places = (begin[:, None] + np.arange(_SAMPLE // many)).ravel() % rows
    return line[np.sort(places)]


def _spent(job: _Job, rows: Ints, started: Started) -> int:
    """Loss of everybody who has a group, and all that can be lost for those who have none."""
    from oneoff.kernels.space import UNIT

    groups = _gathered(started[1], rows)
    return job.loss(groups) + (len(rows) - len(groups[1])) * len(job.table.quasi) * UNIT


def _gathered(group: npt.NDArray[Any], rows: Ints) -> Groups:
    """Groups from the number of each row, leaving out numbers below 0."""
    places = np.argsort(group, kind="stable")
    places = places[np.searchsorted(group[places], 0) :]
    size = np.bincount(group[places])
    return np.concatenate(([0], np.cumsum(size[size > 0]))).astype(np.int64), rows[places]


def _labels(groups: Groups) -> npt.NDArray[np.int32]:
    start, member = groups
    group = np.empty(len(member), dtype=np.int32)
    group[member] = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    return group


def _improved(
    job: _Job, groups: Groups, share: Callable[[int], float], rng: np.random.Generator, report: Callable[[float], None]
) -> Groups:
    """The best groups seen in sweep after sweep, until the share that is done is all."""
    best, least, sweep = (groups[0], groups[1].copy()), job.loss(groups), 0
    while least > 0 and len(groups[0]) > 2 and share(sweep) < 1.0:
        report(share(sweep))
        groups = _swept(job, groups, sweep, rng)
        sweep += 1
        loss = job.loss(groups)
        if loss < least:
            best, least = (groups[0], groups[1].copy()), loss
    report(1.0)
    return best


def _swept(job: _Job, groups: Groups, sweep: int, rng: np.random.Generator) -> Groups:
    """Groups after neighbours exchanged members; after every second sweep they also change their sizes.

    Large groups offer only some members at a time, so they have several turns.
    """
    from oneoff.kernels.deals import offers, redeal
    from oneoff.kernels.moves import move

    (start, member), codes, values = groups, job.table.codes, job.table.values
    soft, size = 1.0 if sweep % _CYCLE < _SOFT else 0.0, np.diff(start)
    deals = min(_DEALS, int(size.max()))
    together = _together(job, len(member) / len(size))
    turns = round(len(member) / int(np.minimum(size, deals).sum()))
    for _ in range(min(turns, 4)):
        someone = start[:-1] + (rng.random(len(size)) * size).astype(np.int64)
        order = curve_order(job.table, job.space, member[someone], rng)
        chunks = np.linspace(0, len(order), -(-len(order) // together) + 1).astype(np.int64)
        offer = offers(codes, job.space, start, member, rng.random(len(member)), deals)
        redeal(codes, values, job.space, job.limits, start, member, order, chunks, offer, soft)
    if sweep % 2 == 0:
        return start, member
    group = move(codes, values, job.space, job.limits, start, member, order, chunks, job.least)
    return _gathered(group, np.arange(len(group)))


def _together(job: _Job, size: float) -> int:
    """How many groups of about this size exchange members: fewer where lists of all codes and values would be long."""
    numbers = min(len(job.space.position) + job.limits.shape[1], _CHUNK * size * (len(job.table.quasi) + 1))
    return int(min(max(2**24 // numbers, 8), _CHUNK))


def _share(sweeps: int | None, seconds: float | None) -> Callable[[int], float]:
    """How much of what was asked for is done, after so many sweeps."""
    begin = time.monotonic()

    def share(done: int) -> float:
        by_number = 0.0 if sweeps is None else done / sweeps if sweeps else 1.0
        by_time = 0.0 if seconds is None else (time.monotonic() - begin) / seconds
        return min(1.0, max(by_number, by_time))

    return share


def _refuse_options(effort: str, sweeps: int | None, seconds: float | None) -> None:
    if effort not in _EFFORT:
        raise BadValue("unknown effort", allowed=", ".join(_EFFORT), got=repr(effort))
    if sweeps is not None and (not isinstance(sweeps, int) or isinstance(sweeps, bool) or sweeps < 0):
        raise BadValue("the number of sweeps is not usable", allowed="a whole number >= 0", got=repr(sweeps))
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        raise BadValue("the time is not usable", allowed="seconds above 0", got=repr(seconds))
