"""Packing: groups chosen looking at quasi-identifiers and sensitive values alike, for the least loss."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, whole_number
from oneoff.mechanisms.partitioning.burel import burel
from oneoff.mechanisms.served import refuse_all_but_ceilings, refuse_unknown, refuse_unreachable
from oneoff.mechanisms.space import curve_order
from oneoff.mechanisms.task import Effort, NumericAs, Report, Task, finish, task_of
from oneoff.models import Limits, Model
from oneoff.models.adversary import IDENTITY, Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Codes, Floats, Ints, offsets

__all__ = ["packing"]

Started = tuple[Codes, Codes]  # columns along the curve, group of each position
Groups = tuple[Ints, Ints]  # where each group begins, and the rows of all groups one after the other

_EFFORT = {"fast": 1 / 3, "balanced": 1.0, "best": 4.0}
_SWEEPS, _LARGE, _SMALL = 15, 500_000, 10_000  # sweeps through a large table, and rows that make it large or small
_MOST_SWEEPS = 100  # through a small one
_WINDOW = 4096  # people along the curve a new group looks at
_STRENGTHS = (0.0, 0.02, 0.04, 0.07, 0.1, 0.14)  # of the reward for values that are hard to place
_SAMPLE = 16_384  # people on whom the strength is chosen
_CYCLE, _SOFT = 5, 4  # of so many sweeps so many count what is rare in a group
_CROWD = 0.05  # of the people in one group: those who were left
_CHUNK, _DEALS = 128, 16  # groups that exchange members, and members each of them offers at a time


# For a promise about identity it looks at quasi-identifiers only; otherwise sensitive values decide who is together.
CLAIMS = (Claim(Adversary.INSIDER, promises=IDENTITY), Claim(Adversary.NOBODY))


def packing(
    table: Table,
    model: Model,
    *,
    effort: Effort = "balanced",
    sweeps: int | None = None,
    seconds: float | None = None,
    numeric_as: NumericAs = "range",
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Put together whoever looks alike and may be in a group together, and exchange people while that lowers the loss.

    Groups are started around the people who are hardest to place, those whose value asks for the largest group first,
    and take in whoever nearby stretches them least (at most 16,384 people along a curve are looked at, so time grows
    with the number of rows). Who finds no group joins the cheapest that may take it; if there is none, groups are
    merged until the promise holds. If the groups of `burel` lose less than these, it begins with those instead. Then
    sweeps: neighbouring groups offer members, and exact assignments deal them out anew; at first the price also counts
    what is rare in a group, later only the loss; now and then people move to another group, and groups dissolve, where
    that lowers the loss.

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
    refuse_unknown("effort", effort, _EFFORT)
    _refuse_options(sweeps, seconds)
    refuse_all_but_ceilings("packing", table, model)
    refuse_unreachable(table, model)
    task = task_of("packing", table, model, numeric_as, rng, report)
    if not task.limits.by_value:
        task = task.without_values()  # ceilings that everybody keeps are none
    if sweeps is None and seconds is None:
        sweeps = _usual_sweeps(table.rows, _EFFORT[effort])
    share = _share(sweeps, seconds)
    groups = _improved(task, _start(task, effort, numeric_as), share)
    return finish(task, _labels(groups))


def _start(task: Task, effort: Effort, numeric_as: NumericAs) -> Groups:
    """Groups to begin with: our own, or those of burel where these lose less.

    Who takes in whoever is near may use up all people without a common value, and is then left with many who have it
    and must be in one large group. burel takes people of all values in proportion, so it has nobody left. Its first
    try is quick; only if that is better it tries as hard as was asked for. Who is in a hurry asks it only where there
    is such a group.
    """
    own = _first_groups(task)
    if not task.limits.by_value or (effort == "fast" and np.diff(own[0]).max() < _CROWD * task.table.rows):
        return own
    best = own
    for tried in ("fast", effort) if effort != "fast" else ("fast",):
        made = burel(task.table, task.model, effort=tried, numeric_as=numeric_as, rng=task.rng).group
        best = min(best, _gathered(made, np.arange(len(made))), key=lambda groups: _loss(task, groups))
        if best is own:
            break
    return best


def _usual_sweeps(rows: int, effort: float) -> int:
    """Whole cycles; the more the smaller a table is, down to 10,000 rows."""
    small, large = (_SMALL / min(max(rows, _SMALL), _LARGE)) ** 1.2, (_SMALL / _LARGE) ** 1.2
    sweeps: float = _SWEEPS + (_MOST_SWEEPS - _SWEEPS) * (small - large) / (1 - large)
    return _CYCLE * round(effort * sweeps / _CYCLE)


def _first_groups(task: Task) -> Groups:
    """Groups around the people who are hardest to place, and everybody else added to them."""
    from oneoff.kernels.completion import complete
    from oneoff.kernels.crowd import columns
    from oneoff.kernels.packing import anchored

    limits, values, rng = task.limits.rows, task.values, task.rng
    mixed = rng.permutation(task.table.rows)
    line = mixed[curve_order(task.table, task.space, mixed, rng)]
    counts, odd = task.counts(mixed), _oddness(task)
    sizes = _sizes(task.limits, counts)
    worth = _worth(task.limits, sizes, counts)

    def grow(rows: Ints, strength: float) -> Started:
        column, plan = (
            columns(task.table.codes, task.space, rows),
            np.stack([sizes, (strength * worth).astype(np.int64)]),
        )
        hardest = np.lexsort((-odd[rows], -sizes[values[rows]]))
        window = min(_WINDOW, len(rows))
        return column, anchored(column, values[rows], task.space, limits, plan, hardest, window)

    sample = _sample(line, rng)
    tried = _STRENGTHS if len(np.unique(worth / sizes)) > 1 else (0.0,)
    started = [grow(sample, strength) for strength in tried]
    best = int(np.argmin([_spent(task, sample, one) for one in started]))
    column, group = started[best] if len(sample) == len(line) else grow(line, tried[best])
    late = np.flatnonzero(group < 0)
    late = late[np.argsort(-sizes[values[line[late]]], kind="stable")]
    least = task.limits.least_size
    complete(column, values[line], task.space, limits, least, group, late, 2**26 + 256 * len(line))
    return _gathered(group, line)


def _sizes(limits: Limits, counts: Ints) -> Ints:
    """How large a group is that begins with each value.

    As its ceiling asks for, and never so small that floors and ceilings leave next to no choice of others. With floors
    everybody is in a group with the rarest value that has one, so there are at most as many groups as people with it.
    """
    (ceiling, denominator, floor, _), rows = limits.rows, int(counts.sum())
    own = np.where(ceiling > 0, -(-denominator // np.maximum(ceiling, 1)), rows)
    choice = max(1.0, float((ceiling / denominator).sum()) / 2)

    def enough(size: int) -> bool:
        most, needed = limits.most(size), limits.least(size)
        return bool((needed <= most).all() and needed.sum() <= size and most.sum() >= choice * size)

    size = max(limits.least_size, int(own.min()))
    if limits.has_floors:
        size = max(size, int(own.max()), rows // max(int(counts[floor > 0].min()), 1))
    while size < rows and not enough(size):
        size += max(1, size // 16)
    return np.minimum(np.maximum(own, size), rows)


def _worth(limits: Limits, sizes: Ints, counts: Ints) -> Floats:
    """What it is worth to have placed somebody with each value, up to a factor.

    A value that asks for a large group spares everybody one more when it joins a group that is large already. A value
    nearly as frequent as its ceiling allows is best not left for later.
    """
    from oneoff.kernels.space import UNIT

    (top, bottom), share = limits.rows[:2], counts / counts.sum()
    tight = np.minimum(share * bottom / np.maximum(top, 1), 1.0)
    worth: Floats = sizes * (np.log(sizes / sizes.min()) + 4.0 * tight**2) * UNIT
    return worth


def _oddness(task: Task) -> Floats:
    """How far everybody is from the others, attribute by attribute: who should be placed early."""
    from oneoff.kernels.space import KIND, RANGE

    odd = np.zeros(task.table.rows)
    for j, attribute in enumerate(task.table.quasi):
        codes = task.table.codes[:, j]
        if task.space.attribute[j, KIND] == RANGE:
            odd += np.abs(attribute.scaled - np.median(attribute.scaled[codes]))[codes]
        else:
            share = np.bincount(codes, minlength=attribute.size) / len(codes)
            odd += (-np.log(np.maximum(share, 1e-12)) * task.space.unit[j])[codes]
    return odd


def _sample(line: Ints, rng: np.random.Generator) -> Ints:
    """Everybody, or of many people eight stretches of the curve."""
    rows, many = len(line), 8
    if rows <= 2 * _SAMPLE:
        return line
    begin = rng.integers(rows) + np.arange(many) * (rows // many)
    places = (begin[:, None] + np.arange(_SAMPLE // many)).ravel() % rows
    return line[np.sort(places)]


def _spent(task: Task, rows: Ints, started: Started) -> int:
    """Loss of everybody who has a group, and all that can be lost for those who have none."""
    from oneoff.kernels.space import UNIT

    groups = _gathered(started[1], rows)
    return _loss(task, groups) + (len(rows) - len(groups[1])) * len(task.table.quasi) * UNIT


def _loss(task: Task, groups: Groups) -> int:
    """People times box loss, in whole numbers of 1 / UNIT."""
    from oneoff.kernels.groups import total_loss

    return int(total_loss(task.table.codes, task.space, *groups).sum())


def _gathered(group: npt.NDArray[Any], rows: Ints) -> Groups:
    """Groups from the number of each row, leaving out numbers below 0."""
    places = np.argsort(group, kind="stable")
    places = places[np.searchsorted(group[places], 0) :]
    size = np.bincount(group[places])
    return offsets(size[size > 0]), rows[places]


def _labels(groups: Groups) -> npt.NDArray[np.int32]:
    start, member = groups
    group = np.empty(len(member), dtype=np.int32)
    group[member] = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    return group


def _improved(task: Task, groups: Groups, share: Callable[[int], float]) -> Groups:
    """The best groups seen in sweep after sweep, until the share that is done is all."""
    best, least, sweep = (groups[0], groups[1].copy()), _loss(task, groups), 0
    while least > 0 and len(groups[0]) > 2 and share(sweep) < 1.0:
        task.report(share(sweep))
        groups = _swept(task, groups, sweep)
        sweep += 1
        loss = _loss(task, groups)
        if loss < least:
            best, least = (groups[0], groups[1].copy()), loss
    task.report(1.0)
    return best


def _swept(task: Task, groups: Groups, sweep: int) -> Groups:
    """Groups after neighbours exchanged members; after every second sweep they also change their sizes.

    Large groups offer only some members at a time, so they have several turns.
    """
    from oneoff.kernels.deals import offers, redeal
    from oneoff.kernels.moves import move

    (start, member), codes, values, rng = groups, task.table.codes, task.values, task.rng
    limits = task.limits.rows
    soft, size = 1.0 if sweep % _CYCLE < _SOFT else 0.0, np.diff(start)
    deals = min(_DEALS, int(size.max()))
    together = _together(task, len(member) / len(size))
    turns = round(len(member) / int(np.minimum(size, deals).sum()))
    for _ in range(min(turns, 4)):
        someone = start[:-1] + (rng.random(len(size)) * size).astype(np.int64)
        order = curve_order(task.table, task.space, member[someone], rng)
        chunks = np.linspace(0, len(order), -(-len(order) // together) + 1).astype(np.int64)
        offer = offers(codes, task.space, start, member, rng.random(len(member)), deals)
        redeal(codes, values, task.space, limits, start, member, order, chunks, offer, soft)
    if sweep % 2 == 0:
        return start, member
    group = move(codes, values, task.space, limits, start, member, order, chunks, task.limits.least_size)
    return _gathered(group, np.arange(len(group)))


def _together(task: Task, size: float) -> int:
    """How many groups of about this size exchange members: fewer where lists of all codes and values would be long."""
    values = task.limits.values if task.limits.by_value else 0
    numbers = min(len(task.space.position) + values, _CHUNK * size * (len(task.table.quasi) + 1))
    return int(min(max(2**24 // numbers, 8), _CHUNK))


def _share(sweeps: int | None, seconds: float | None) -> Callable[[int], float]:
    """How much of what was asked for is done, after so many sweeps."""
    begin = time.monotonic()

    def share(done: int) -> float:
        by_number = 0.0 if sweeps is None else done / sweeps if sweeps else 1.0
        by_time = 0.0 if seconds is None else (time.monotonic() - begin) / seconds
        return min(1.0, max(by_number, by_time))

    return share


def _refuse_options(sweeps: int | None, seconds: float | None) -> None:
    if sweeps is not None:
        whole_number(sweeps, "the number of sweeps")
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        raise BadValue("the time is not usable", allowed="seconds above 0", got=repr(seconds))
