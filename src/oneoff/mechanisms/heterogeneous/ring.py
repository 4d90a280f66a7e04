"""Ring generalization: the non-homogeneous generalization of paper 004 (Wong, Mamoulis and Cheung 2010).

k   people a record must cover at least          l   no value may fill more than 1/l of what a record covers
parts   people who make a ring of their own: order[start[p] : start[p + 1]]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, MethodMismatch, UnreachableGuarantee
from oneoff.mechanisms.heterogeneous.randomize import random_matching
from oneoff.mechanisms.partitioning.hilbert import hilbert_order
from oneoff.mechanisms.partitioning.mondrian import mondrian
from oneoff.mechanisms.space import lexicographic, space_of
from oneoff.models import DeltaProbability, Joined, KAnonymity, LDiversity, Model
from oneoff.models.adversary import IDENTITY, Adversary, Claim
from oneoff.plans import Links, Partition
from oneoff.table import Table

__all__ = ["arranged", "ring", "rings"]

Ints = npt.NDArray[np.int64]

_REACH = 64  # people before and after a person in a sequence with whom it may change places
_LARGEST = 128  # people in a part that still takes part in this

# For l-diversity, parts depend on sensitive values: nothing is claimed.
CLAIMS = (Claim(Adversary.INSIDER, promises=IDENTITY),)


def ring(
    table: Table,
    model: Model,
    *,
    shape: Literal["ring", "homogeneous"] = "ring",
    partition: Literal["mondrian", "lexicographic"] = "mondrian",
    swaps: int = 1,
    numeric_as: Literal["range", "set"] = "range",
    rng: np.random.Generator | None = None,
    report: Callable[[float], None] | None = None,
) -> Links | Partition:
    """Divide people into parts, line every part up in a ring, and let each record cover k consecutive people.

    `partition="lexicographic", swaps=0` is NH of the paper (Figure 8, sections 5 and 6), with `shape="homogeneous"`
    its HP; the shape "homogeneous" gives the parts themselves. Chance draws whose value a record shows, each of the k
    people with probability 1/k. For l-diversity a ring is arranged so that any l neighbours have different values.

    Departures. Figure 8 leaves parts that are too small; ours go on until none is. By default parts come from
    Mondrian's cuts, for l-diversity they are divided into rounds of l to 2l-1 different values (the paper does so with
    huge parts only), and people change places with near ones in other parts while that lowers the loss, `swaps` times
    over three sequences of everybody; `swaps=0` neither divides nor changes. O(n d (log n + k)) and a matching.

    For k-anonymity nothing depends on sensitive values: it stands against an insider. For l-diversity parts depend on
    them, so it does not. Among the people a record covers the promise is kept; the values around a person may repeat
    when a part holds a value twice, that is with `swaps=0` or when k exceeds l. An audit of the release finds that.
    """
    _refuse_unknown(shape, partition, swaps)
    rng = rng or np.random.default_rng()
    say = report or (lambda share: None)
    k, l = _sizes(table, model)  # noqa: E741
    order, start = _parts(table, k, l, partition, numeric_as, rng)
    say(0.4)
    width = l * math.ceil(k / l)
    if swaps > 0:
        order, start = _rounds(table, order, start, width, l)
        _swap(table, order, start, l, swaps, numeric_as, rng)
    say(0.7)
    plan = _lined_up(table, order, start, width, l, rng) if shape == "ring" else _grouped(order, start)
    say(1.0)
    return plan


def arranged(order: Ints, start: Ints, values: npt.NDArray[np.integer], l: int) -> tuple[Ints, Ints]:  # noqa: E741
    """Every part as a ring in which any l neighbours differ, and the number of the round that each place is in.

    A part of N people needs every value at most q = floor(N / l) times, and that is enough: with the values sorted by
    descending frequency, person t goes to place t div q of round t mod q. A value that fills all q rounds has the
    same place in each, and rounds are no shorter than l; a rarer one that goes over to the next place skips a round.
    """
    size = np.diff(start)
    part = np.repeat(np.arange(len(size)), size)
    common = _frequency(part, values[order], int(values.max()) + 1)
    t = np.arange(len(order)) - np.repeat(start[:-1], size)
    q = np.repeat(np.maximum(size // l, 1), size)
    sorted_rows = np.lexsort((t, values[order], -common, part))
    at = np.lexsort((t // q, t % q, part))
    return order[sorted_rows[at]], (t % q)[at]


def _refuse_unknown(shape: str, partition: str, swaps: int) -> None:
    if shape not in ("ring", "homogeneous"):
        raise BadValue("unknown shape", allowed="ring, homogeneous", got=repr(shape))
    if partition not in ("mondrian", "lexicographic"):
        raise BadValue("unknown way to divide people", allowed="mondrian, lexicographic", got=repr(partition))
    if not isinstance(swaps, int) or isinstance(swaps, bool) or swaps < 0:
        raise BadValue("the number of swaps is not usable", allowed="a whole number >= 0", got=repr(swaps))


def _sizes(table: Table, model: Model) -> tuple[int, int]:
    """(k, l): how many people a record covers at least, and the whole l among them (1 when no value is protected)."""
    unserved = [p for p in model.parts() if not isinstance(p, KAnonymity | DeltaProbability | LDiversity)]
    if unserved:
        raise MethodMismatch(
            f"ring does not keep {unserved[0].spec()}",
            allowed="k-anonymity, delta-probability, l-diversity",
            got=model.spec(),
        )
    l = max((math.ceil(p.l) for p in model.parts() if isinstance(p, LDiversity)), default=1)  # noqa: E741
    if l > 1 and int(table.counts.max()) > table.rows // l:
        raise MethodMismatch(
            "ring needs a whole l, and this table is not diverse enough for the next one",
            allowed=f"l up to {table.rows // int(table.counts.max())}",
            got=model.spec(),
        )
    k = int(model.rule(table.counts, table.rows).least_size)
    if k > table.rows:
        raise UnreachableGuarantee(
            "a record cannot cover more people than there are", allowed=f"k up to {table.rows}", got=model.spec()
        )
    return k, l


def _parts(
    table: Table, k: int, l: int, partition: str, numeric_as: Literal["range", "set"], rng: np.random.Generator,  # noqa: E741
) -> tuple[Ints, Ints]:  # fmt: skip
    """(order, start) of parts in which k people can be covered and no value is too frequent, lexicographic inside."""
    from oneoff.kernels.ring import lexicographic_parts

    promise = KAnonymity(k) if l == 1 else Joined((KAnonymity(k), LDiversity(l)))
    order = lexicographic(table, rng)
    if partition == "mondrian":
        group = mondrian(table, promise, numeric_as=numeric_as, rng=rng).group
        order = order[np.argsort(group[order], kind="stable")]
        return order, np.concatenate(([0], np.cumsum(np.bincount(group)))).astype(np.int64)
    by_size = sorted(range(len(table.quasi)), key=lambda j: table.quasi[j].size)
    rows = np.ascontiguousarray(table.codes[order][:, by_size])
    rule = promise.rule(table.counts, table.rows)
    begins = lexicographic_parts(rows, table.values[order], rule, max(k, l))
    return order, np.append(np.flatnonzero(begins), table.rows).astype(np.int64)


def _rounds(table: Table, order: Ints, start: Ints, width: int, l: int) -> tuple[Ints, Ints]:  # noqa: E741
    """Divide every part into as many rounds of the arrangement as make `width` people each."""
    if l == 1:
        return order, start
    order, turn = arranged(order, start, table.values, l)
    size = np.diff(start)
    together, last = width // l, np.repeat(np.maximum(size // l // (width // l), 1) - 1, size)
    number = np.minimum(turn // together, last)
    new = np.append(True, number[1:] != number[:-1])
    new[start[:-1]] = True
    return order, np.append(np.flatnonzero(new), len(order)).astype(np.int64)


def _swap(
    table: Table, order: Ints, start: Ints, l: int, swaps: int, numeric_as: str, rng: np.random.Generator,  # noqa: E741
) -> None:  # fmt: skip
    """Change places, in `order` itself, along the parts, the Hilbert curve and the lexicographic order."""
    from oneoff.kernels.ring import swap_between

    space, at_most = space_of(table, numeric_as), l if l > 1 else 0
    curve, sorted_rows = hilbert_order(table, rng), lexicographic(table, rng)
    for _ in range(swaps):
        gained = 0.0
        for near in (order.copy(), curve, sorted_rows):
            gained += swap_between(table.codes, table.values, space, order, start, near, _REACH, at_most, _LARGEST)
        if gained == 0.0:
            break


def _grouped(order: Ints, start: Ints) -> Partition:
    group = np.empty(len(order), dtype=np.int32)
    group[order] = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    return Partition(group)


def _lined_up(
    table: Table, order: Ints, start: Ints, width: int, l: int, rng: np.random.Generator  # noqa: E741
) -> Links:  # fmt: skip
    """The rings: lexicographic where all values of a part differ or none matters, arranged elsewhere."""
    size = np.diff(start)
    part = np.repeat(np.arange(len(size)), size)
    place = np.argsort(lexicographic(table, rng))
    lined = order[np.lexsort((place[order], part))]
    if l > 1:
        repeats = np.maximum.reduceat(_frequency(part, table.values[lined], len(table.counts)), start[:-1]) > 1
        lined = np.where(repeats[part], arranged(lined, start, table.values, l)[0], lined)
    return rings(lined, start, np.minimum(width, size), rng)


def rings(order: Ints, start: Ints, width: Ints, rng: np.random.Generator) -> Links:
    """Everybody's record covers the next people of the ring, itself first; parts of equal width are matched at once."""
    size = np.diff(start)
    degree = np.empty(len(order), dtype=np.int64)
    degree[order] = np.repeat(width, size)
    begin = np.concatenate(([0], np.cumsum(degree)))
    member, carrier = np.empty(int(begin[-1]), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    first, round_size = np.repeat(start[:-1], size), np.repeat(size, size)
    for w in np.unique(width).tolist():
        at = np.flatnonzero(np.repeat(width == w, size))
        local = np.empty(len(order), dtype=np.int64)
        local[at] = np.arange(len(at))
        ahead = (at - first[at])[:, None] + np.arange(w)
        places = first[at][:, None] + ahead % round_size[at][:, None]
        people = order[at]
        member[begin[people][:, None] + np.arange(w)] = order[places]
        carrier[people] = people[random_matching(local[places], rng)]
    return Links(begin.astype(np.int64), member, carrier)


def _frequency(part: Ints, values: npt.NDArray[np.integer], many: int) -> Ints:
    """How often the value of each entry occurs in its part."""
    _, inverse, count = np.unique(part * many + values, return_inverse=True, return_counts=True)
    return count[inverse].astype(np.int64)
