"""Ring generalization: the non-homogeneous generalization of paper 004 (Wong, Mamoulis and Cheung 2010).

k   people a record must cover at least          l   no value may fill more than 1/l of what a record covers
parts   lists of people who make a ring of their own each
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, MethodMismatch, UnreachableGuarantee, whole_number
from oneoff.mechanisms.heterogeneous.randomize import LARGEST_WALKED, backtracking_matching, random_matching
from oneoff.mechanisms.partitioning.hilbert import hilbert_order
from oneoff.mechanisms.partitioning.mondrian import mondrian
from oneoff.mechanisms.space import lexicographic, space_of
from oneoff.models import DeltaProbability, Joined, KAnonymity, LDiversity, Model
from oneoff.models.adversary import IDENTITY, Adversary, Claim
from oneoff.plans import Links, Partition
from oneoff.randomness import secret_generator
from oneoff.table import Table
from oneoff.table.arrays import Ints, Ragged, offsets

__all__ = ["arranged", "ring", "rings"]

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
    divide: Literal["auto", "most-left", "rounds"] = "auto",
    randomize: Literal["walk", "backtracking"] = "walk",
    numeric_as: Literal["range", "set"] = "range",
    rng: np.random.Generator | None = None,
    report: Callable[[float], None] | None = None,
) -> Links | Partition:
    """Divide people into parts, line every part up in a ring, and let each record cover k consecutive people.

    `partition="lexicographic", swaps=0` is NH of the paper (Figure 8, sections 5 and 6), with `shape="homogeneous"`
    its HP; the shape "homogeneous" gives the parts themselves. Chance draws whose value a record shows, each of the k
    people with probability 1/k. For l-diversity a part that holds a value twice is divided into pieces of at least l
    people with different values (section 6 does so with huge parts); each piece is a ring.

    divide      "most-left": as few pieces as can be, each of the values with most people left; "rounds": pieces of l to
                2l-1 people, however few are needed; "auto": rounds where there are swaps, most-left where not
    randomize   "walk": one random matching, near linear; "backtracking": Figure 7 to the letter, for small parts only.
                Both draw each of the k with probability 1/k, and so stand against the same

    Departures. Figure 8 leaves parts that are too small; ours go on until none is. By default parts come from
    Mondrian's cuts, and people change places with near ones in other parts while that lowers the loss, `swaps` times
    over three sequences of everybody. O(n d (log n + k)) and a matching.

    For k-anonymity nothing depends on sensitive values: it stands against an insider. For l-diversity parts depend on
    them, so it does not. Among the people a record covers the promise is kept; the values around a person may repeat
    when k exceeds l. An audit of the release finds that.
    """
    _refuse_unknown(shape, partition, swaps, divide, randomize)
    rng = rng or secret_generator()
    say = report or (lambda share: None)
    k, l = _sizes(table, model)  # noqa: E741
    parts = _parts(table, k, l, partition, numeric_as, rng)
    say(0.4)
    width = l * math.ceil(k / l)
    if l > 1:
        fewest = divide == "most-left" or (divide == "auto" and swaps == 0)
        parts = _divided(table, parts, width, l, fewest)
    if swaps > 0:
        _swap(table, parts, l, 1 if width == l else table.rows, swaps, numeric_as, rng)
    say(0.7)
    plan = _lined_up(table, parts, width, l, randomize, rng) if shape == "ring" else _grouped(parts)
    say(1.0)
    return plan


def arranged(parts: Ragged, values: npt.NDArray[np.integer], l: int) -> tuple[Ragged, Ints]:  # noqa: E741
    """Every part as a ring in which any l neighbours differ, and the number of the round that each place is in.

    A part of N people needs every value at most q = floor(N / l) times, and that is enough: with the values sorted by
    descending frequency, person t goes to place t div q of round t mod q. A value that fills all q rounds has the
    same place in each, and rounds are no shorter than l; a rarer one that goes over to the next place skips a round.
    """
    part, own = parts.owner, values[parts.items]
    common = _frequency(part, own, int(values.max()) + 1)
    t = np.arange(len(part)) - parts.start[part]
    q = np.maximum(parts.lengths // l, 1)[part]
    sorted_rows = np.lexsort((t, own, -common, part))
    at = np.lexsort((t // q, t % q, part))
    return Ragged(parts.start, parts.items[sorted_rows[at]]), (t % q)[at]


def _refuse_unknown(shape: str, partition: str, swaps: int, divide: str, randomize: str) -> None:
    if shape not in ("ring", "homogeneous"):
        raise BadValue("unknown shape", allowed="ring, homogeneous", got=repr(shape))
    if partition not in ("mondrian", "lexicographic"):
        raise BadValue("unknown way to divide people", allowed="mondrian, lexicographic", got=repr(partition))
    whole_number(swaps, "swaps")
    if divide not in ("auto", "most-left", "rounds"):
        raise BadValue("unknown way to divide parts", allowed="auto, most-left, rounds", got=repr(divide))
    if randomize not in ("walk", "backtracking"):
        raise BadValue("unknown way to randomize", allowed="walk, backtracking", got=repr(randomize))


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
) -> Ragged:  # fmt: skip
    """Parts in which k people can be covered and no value is too frequent, lexicographic inside."""
    from oneoff.kernels.ring import lexicographic_parts

    promise = KAnonymity(k) if l == 1 else Joined((KAnonymity(k), LDiversity(l)))
    order = lexicographic(table, rng)
    if partition == "mondrian":
        group = mondrian(table, promise, numeric_as=numeric_as, rng=rng).group
        order = order[np.argsort(group[order], kind="stable")]
        return Ragged.of_lengths(np.bincount(group), order)
    by_size = sorted(range(len(table.quasi)), key=lambda j: table.quasi[j].size)
    rows = np.ascontiguousarray(table.codes[order][:, by_size])
    rule = promise.rule(table.counts, table.rows)
    begins = lexicographic_parts(rows, table.values[order], rule, max(k, l))
    return _cut(order, begins)


def _cut(order: Ints, begins: npt.NDArray[Any]) -> Ragged:
    """A sequence of people in parts, each from where one begins to the next."""
    return Ragged(np.append(np.flatnonzero(begins), len(order)).astype(np.int64), order)


def _divided(table: Table, parts: Ragged, width: int, l: int, fewest: bool) -> Ragged:  # noqa: E741
    """Divide every part into pieces of different values; as many make one as hold `width` people together."""
    lined, piece = _most_left(table, parts, l) if fewest else arranged(parts, table.values, l)
    pieces = np.maximum.reduceat(piece, parts.start[:-1]) + 1
    together = width // l
    number = np.minimum(piece // together, (np.maximum(pieces // together, 1) - 1)[parts.owner])
    new = np.append(True, number[1:] != number[:-1])
    new[parts.start[:-1]] = True
    return _cut(lined.items, new)


def _most_left(table: Table, parts: Ragged, l: int) -> tuple[Ragged, Ints]:  # noqa: E741
    """Every part sorted by the number of the piece that each person is in, and these numbers."""
    from oneoff.kernels.ring import pieces_most_left

    number = pieces_most_left(table.values[parts.items], parts.start, l, len(table.counts))
    at = np.lexsort((number, parts.owner))
    return Ragged(parts.start, parts.items[at]), number[at]


def _swap(
    table: Table, parts: Ragged, l: int, most: int, swaps: int, numeric_as: str, rng: np.random.Generator,  # noqa: E741
) -> None:  # fmt: skip
    """Change places, in the parts themselves, along the parts, the Hilbert curve and the lexicographic order.

    most   how often a part may come to hold a value: once, where it makes a ring of different ones
    """
    from oneoff.kernels.ring import swap_between

    space, at_most = space_of(table, numeric_as), l if l > 1 else 0
    start, order = parts
    curve, sorted_rows = hilbert_order(table, rng), lexicographic(table, rng)
    for _ in range(swaps):
        gained = 0.0
        for near in (order.copy(), curve, sorted_rows):
            gained += swap_between(
                table.codes, table.values, space, order, start, near, _REACH, at_most, most, _LARGEST
            )
        if gained == 0.0:
            break


def _grouped(parts: Ragged) -> Partition:
    group = np.empty(len(parts.items), dtype=np.int32)
    group[parts.items] = parts.owner
    return Partition(group)


def _lined_up(
    table: Table, parts: Ragged, width: int, l: int, randomize: str, rng: np.random.Generator,  # noqa: E741
) -> Links:  # fmt: skip
    """The rings: lexicographic where all values of a part differ or none matters, arranged elsewhere."""
    part, place = parts.owner, np.argsort(lexicographic(table, rng))
    lined = Ragged(parts.start, parts.items[np.lexsort((place[parts.items], part))])
    if l > 1:
        common = _frequency(part, table.values[lined.items], len(table.counts))
        repeats = np.maximum.reduceat(common, parts.start[:-1]) > 1
        apart = arranged(lined, table.values, l)[0]
        lined = Ragged(parts.start, np.where(repeats[part], apart.items, lined.items))
    return rings(lined, np.minimum(width, parts.lengths), rng, randomize)


def rings(parts: Ragged, width: Ints, rng: np.random.Generator, randomize: str = "walk") -> Links:
    """Everybody's record covers the next people of the ring, itself first; parts of equal width are matched at once."""
    _refuse_long_walks(parts, randomize)
    order, part = parts.items, parts.owner
    degree = np.empty(len(order), dtype=np.int64)
    degree[order] = width[part]
    begin = offsets(degree)
    member, carrier = np.empty(int(begin[-1]), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    first, round_size = parts.start[part], parts.lengths[part]
    draw = random_matching if randomize == "walk" else backtracking_matching
    for w in np.unique(width).tolist():
        at = np.flatnonzero(width[part] == w)
        local = np.empty(len(order), dtype=np.int64)
        local[at] = np.arange(len(at))
        ahead = (at - first[at])[:, None] + np.arange(w)
        places = first[at][:, None] + ahead % round_size[at][:, None]
        people = order[at]
        member[begin[people][:, None] + np.arange(w)] = order[places]
        carrier[people] = people[draw(local[places], rng)]
    return Links(begin, member, carrier)


def _refuse_long_walks(parts: Ragged, randomize: str) -> None:
    largest = int(parts.lengths.max())
    if randomize == "backtracking" and largest > LARGEST_WALKED:
        raise BadValue(
            "the walk of Figure 7 takes time with the square of a part",
            allowed=f"parts of up to {LARGEST_WALKED} people",
            got=f"a part of {largest}",
            hint="randomize=walk draws each of the k with the same probability, for parts of any size",
        )


def _frequency(part: Ints, values: npt.NDArray[np.integer], width: int) -> Ints:
    """How often the value of each entry occurs in its part."""
    _, inverse, count = np.unique(part * width + values, return_inverse=True, return_counts=True)
    return count[inverse].astype(np.int64)
