"""SABRE: sensitive values bucketized, then redistributed to groups, for t-closeness (Cao, Karras, Kalnis, Tan 2011).

J. Cao, P. Karras, P. Kalnis, K.-L. Tan, "SABRE: a Sensitive Attribute Bucketization and REdistribution framework for
t-closeness", VLDB Journal 20(1), 2011. A group that takes people from every bucket in proportion to its size is no
further from the whole table than the values inside a bucket are from each other. So buckets of similar values are made
until those distances add up to no more than t, and groups may then take whoever is near from each bucket.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from oneoff.errors import MethodMismatch
from oneoff.mechanisms.partitioning.leaves import Leaves, leaves_of
from oneoff.mechanisms.partitioning.mondrian import mondrian
from oneoff.mechanisms.served import refuse_unknown
from oneoff.mechanisms.task import NumericAs, Report, Task, finish, task_of
from oneoff.models import Model, Prior, TCloseness
from oneoff.models.adversary import Adversary, Claim
from oneoff.models.rule import Rule
from oneoff.models.trees import node_levels
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints, offsets

if TYPE_CHECKING:
    from oneoff.kernels.sabre import Closeness

__all__ = ["bucketize", "sabre"]

Variant = Literal["best", "across", "paper"]

_SHARES = (Fraction(1), Fraction(3, 4), Fraction(1, 2), Fraction(1, 4), Fraction(0))  # of t that buckets may use up
_PARTS = 4  # of a node, between which cuts across an attribute are tried

CLAIMS = (Claim(Adversary.READER),)


def sabre(
    table: Table,
    model: Model,
    *,
    variant: Variant = "best",
    numeric_as: NumericAs = "range",
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Put people with similar values into buckets, and make groups that take nearly its share from each bucket.

    paper    the two phases as published: buckets until the distances inside them add up to t (`bucketize`), then
             halves of halves of all buckets, as long as the worst that can come of it stays within t, filled with
             people near each other on a Hilbert curve. Departure: buckets that use up less of t leave more of it for
             uneven halves; several shares are tried, and what loses least is kept
    across   ours: every value is its own bucket, and all buckets at once are cut across an attribute. Those on one
             side of the cut go left; where that would leave too little of t, something between them and an equal share
             of each bucket does
    best     whichever of two loses least: across from the whole table on, or inside the groups that Mondrian makes

    Loss is the normalized certainty penalty (`paper`: the AIL of paper 001); `best` never loses more than Mondrian.
    Bounds are compared in whole numbers, and are
    the worst that whole buckets can do, for each of the three distances. About O(n log n) for a given number of values.

    Serves t-closeness, also with k-anonymity; several of different distances as the equal one with the smallest t.
    Stands against a reader of the release: who goes where depends on
    quasi-identifiers and sensitive values together.
    """
    refuse_unknown("variant", variant, _VARIANT)
    promise = _served(model)
    task = task_of("sabre", table, model, numeric_as, rng, report)
    group = _VARIANT[variant](_leaves(task, promise), numeric_as)
    task.report(1.0)
    return finish(task, group)


# Buckets


def bucketize(model: TCloseness, prior: Prior, share: Fraction = Fraction(1)) -> list[Ints]:
    """The values of every bucket: as few cuts as greed finds until the distances inside add up to share * t.

    One bucket of all values is cut again and again, each time where the sum gets smallest (of equal places, nearest
    to the middle). With an order, anywhere; with a hierarchy between the children of the lowest node around the
    bucket; with equal distances, values are put in the order of how common they are, which keeps rare ones together.
    """
    order = _order(model, prior)
    cuts = _cuts(_shape(model, prior, order), share * _bound(model.rule(prior, prior.total)) * prior.total)
    return [order[low:high] for low, high in zip([0, *cuts], [*cuts, prior.values], strict=True)]


def _bound(rule: Rule) -> Fraction:
    """t times what sums of imbalances are divided by."""
    return Fraction(*rule.distances[0, 2:].tolist())


@dataclass(frozen=True)
class _Shape:
    """The values in their places. nodes[h] is the node of each place on level h (none for an order of numbers).

    below[i]   people at places before i
    mass[h]    people of the nodes around a place on levels below h, added up
    """

    nodes: Ints
    below: Ints
    mass: Ints

    def costs(self, low: int, high: int) -> tuple[Ints, Ints, int]:
        """For cuts at low+1 .. high-1, how far values left and right of it can move in all; and without a cut.

        In people times the unit of the distance: what everybody of a bucket at its worst single value would add.
        """
        if len(self.nodes) == 0:
            left, right = self._ordered(low, np.arange(low + 1, high + 1)), self._ordered(np.arange(low, high), high)
        else:
            depth = self.depth(low, high)
            f = self.mass[depth, low:high]
            people = self.below[low + 1 : high + 1] - self.below[low]
            left = 2 * (depth * people - np.minimum.accumulate(f))
            rest = self.below[high] - self.below[low:high]
            right = 2 * (depth * rest - np.minimum.accumulate(f[::-1])[::-1])
        return left[:-1], right[1:], int(left[-1])

    def depth(self, low: int, high: int) -> int:
        """Levels on which the places are below several nodes."""
        return int((self.nodes[:, low] != self.nodes[:, high - 1]).sum())

    def places(self, low: int, high: int) -> Ints:
        """Where the bucket may be cut."""
        if len(self.nodes) == 0:
            return np.arange(low + 1, high)
        children = self.nodes[self.depth(low, high) - 1, low:high]
        return low + 1 + np.flatnonzero(np.diff(children))

    def _ordered(self, low: Ints | int, high: Ints | int) -> Ints:
        """Buckets from places to places, with numbers in them: everybody at the lowest of these, or at the highest."""
        inner = offsets(self.below[1:])  # below[1] + ... + below[i]
        found, many = inner[np.asarray(high) - 1] - inner[low], np.asarray(high) - 1 - low
        cost: Ints = np.maximum(found - many * self.below[low], many * self.below[high] - found)
        return cost


def _cuts(shape: _Shape, most: Fraction) -> list[int]:
    """Places to cut at, so that what can move inside buckets is at most `most` people times units."""
    end = len(shape.below) - 1
    moved, cuts, new = 0, list[int](), [(0, end)]
    waiting: list[tuple[int, int, int, int]] = []
    while True:
        for low, high in new:
            if high - low > 1:
                gain, at, cost = _best_cut(shape, low, high)
                heapq.heappush(waiting, (-gain, low, high, at))
                moved += cost if not cuts else 0
        if moved <= most or not waiting:
            return sorted(cuts)
        gain, low, high, at = heapq.heappop(waiting)
        moved += gain  # which is kept negative, for the heap
        cuts.append(at)
        new = [(low, at), (at, high)]


def _best_cut(shape: _Shape, low: int, high: int) -> tuple[int, int, int]:
    """What the best cut gains, where it is, and what the bucket costs without one."""
    left, right, whole = shape.costs(low, high)
    places = shape.places(low, high)
    gain = whole - left[places - low - 1] - right[places - low - 1]
    near = np.flatnonzero(gain == gain.max())
    middle = near[np.argmin(np.abs(2 * places[near] - low - high))]
    return int(gain[middle]), int(places[middle]), whole


def _order(model: TCloseness, prior: Prior) -> Ints:
    """The value at each place."""
    if model.distance == "equal":
        return np.argsort(np.array(prior.count), kind="stable")
    return np.arange(prior.values)


def _shape(model: TCloseness, prior: Prior, order: Ints) -> _Shape:
    people = np.array(prior.count, dtype=np.int64)[order]
    below = offsets(people)
    if model.distance == "ordered":
        return _Shape(np.empty((0, len(people)), dtype=np.int64), below, np.zeros((1, len(people)), dtype=np.int64))
    levels = node_levels(model.ranges) if model.distance == "hierarchical" else [np.arange(len(people))]
    nodes = np.stack(list(levels))
    around = np.stack([np.bincount(node, weights=people).astype(np.int64)[node] for node in nodes])
    return _Shape(nodes, below, np.concatenate((np.zeros_like(around[:1]), np.cumsum(around, axis=0))))


# Groups


def _leaves(task: Task, promise: TCloseness) -> Leaves:
    """What is to be divided, with values as places in the order of the promise."""
    from oneoff.kernels.sabre import divide

    prior = Prior.of(task.table.counts)
    order = _order(promise, prior)
    place = np.empty(prior.values, dtype=np.int32)
    place[order] = np.arange(prior.values)
    close = _closeness(promise, prior, order, task)
    return leaves_of(task, place[task.table.values], close, divide)


def _closeness(promise: TCloseness, prior: Prior, order: Ints, task: Task) -> Closeness:
    """The promise, and the buckets to try, in the form the loops want."""
    from oneoff.kernels.sabre import Closeness

    shape, bound = _shape(promise, prior, order), _bound(promise.rule(prior, task.table.rows))
    tiers = np.concatenate((shape.nodes, np.diff(shape.mass, axis=0), shape.below[None, :-1]))
    levels, least = len(shape.nodes), task.limits.least_size
    return Closeness(tiers, _buckets(shape, bound), levels, prior.total, *bound.as_integer_ratio(), least)


def _loss(leaves: Leaves, group: Codes) -> int:
    from oneoff.kernels.groups import total_loss

    return int(total_loss(leaves.task.table.codes, leaves.task.space, *Partition(group).members).sum())


def _paper(leaves: Leaves, numeric_as: NumericAs) -> Codes:
    from oneoff.kernels.sabre import HALVES

    plans = [(bucketization, HALVES, 0) for bucketization in range(len(leaves.promise.bucket))]
    return leaves.divided(leaves.task.everybody, plans, across=False)


def _across(leaves: Leaves, numeric_as: NumericAs) -> Codes:
    return _cut_across(leaves, leaves.task.everybody)


def _best(leaves: Leaves, numeric_as: NumericAs) -> Codes:
    across, task = _cut_across(leaves, leaves.task.everybody), leaves.task
    boxes = mondrian(
        task.table, task.model, numeric_as=numeric_as, rng=task.rng, report=lambda share: task.report(share / 2)
    )
    return min(across, _cut_across(leaves, boxes.group), key=partial(_loss, leaves))


_VARIANT: dict[str, Callable[[Leaves, NumericAs], Codes]] = {"best": _best, "across": _across, "paper": _paper}


def _cut_across(leaves: Leaves, group: Codes) -> Codes:
    """Buckets of one value each, which are the last: for them the worst case is what is."""
    from oneoff.kernels.sabre import ACROSS

    return leaves.divided(group, [(len(leaves.promise.bucket) - 1, ACROSS, _PARTS)], across=True)


def _served(model: Model) -> TCloseness:
    """The t-closeness to keep. Of several the smallest t; no distance is greater than the equal one, which so stands
    for different ones."""
    about_values = [part for part in model.parts() if part.about != "identity"]
    found = [part for part in about_values if isinstance(part, TCloseness)]
    if found and len(found) == len(about_values):
        strictest = min(found, key=lambda part: part.t)
        return strictest if len({part.distance for part in found}) == 1 else TCloseness(strictest.t)
    raise MethodMismatch(
        f"sabre does not keep {model.spec()}",
        allowed="t-closeness, alone or with k-anonymity or delta-probability",
        got=model.spec(),
        hint="mondrian keeps every promise",
    )


def _buckets(shape: _Shape, bound: Fraction) -> Ints:
    """The bucket of every place, for each share of t that buckets may use up; different ones only.

    The last ones may use up nothing and so hold one value each.
    """
    found, people = {}, int(shape.below[-1])
    for share in _SHARES:
        edges = np.zeros(len(shape.below) - 1, dtype=np.int64)
        edges[_cuts(shape, share * bound * people)] = 1
        found[edges.tobytes()] = np.cumsum(edges)
    return np.stack(list(found.values()))
