"""Freeform generalization for k-anonymity: every record covers k people of its own, found by repeated assignment.

Paper 004 (section 4) shows that any generalization graph in which all people have k edges keeps k-anonymity; its ring
is the simplest. Paper 000 (sections 3 and 4) builds such graphs by assignments, there between buckets of sensitive
values. Here the assignments run between all people.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from oneoff.errors import BadValue, MethodMismatch, UnreachableGuarantee, whole_number
from oneoff.mechanisms.heterogeneous.matching import MATCHERS, Matcher, number_of
from oneoff.mechanisms.heterogeneous.randomize import random_matching
from oneoff.mechanisms.space import lexicographic, space_of
from oneoff.models import DeltaProbability, KAnonymity, Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Links
from oneoff.randomness import secret_generator
from oneoff.table import Table
from oneoff.table.arrays import Ints

__all__ = ["freeform"]

_WHOLE, _LARGE = 2_000, 200_000  # rows up to which there is one block, and from which blocks are smaller

CLAIMS = (Claim(Adversary.INSIDER),)


def freeform(
    table: Table,
    model: Model,
    *,
    matcher: Matcher = "hungarian",
    block: int | None = None,
    numeric_as: Literal["range", "set"] = "range",
    rng: np.random.Generator | None = None,
    report: Callable[[float], None] | None = None,
) -> Links:
    """Let every record cover k people and everybody be covered k times, by k-1 assignments after one another.

    A record begins with its own person. Each assignment gives every record one person more, everybody to one record,
    never a pair twice, such that all boxes together grow as little as possible; with the greedy matchers, nearly so.
    Large tables are divided into blocks of about `block` people in lexicographic order (the whole table up to 2,000
    people, then 512, from 200,000 people on 256). O(k n block^2) with the Hungarian matcher, near O(k n block d) with
    the others. Chance draws whose value a record shows, each of the k with probability 1/k.

    Nothing depends on sensitive values, so k-anonymity stands against an insider.
    """
    if matcher not in MATCHERS:
        raise BadValue("unknown matcher", allowed=", ".join(MATCHERS), got=repr(matcher))
    if block is not None:
        whole_number(block, "block", least=1)
    rng = rng or secret_generator()
    k = _covered_people(table, model)
    start = _blocks(table.rows, max(k, block or _usual_block(table.rows)))
    cover = _grown(table, lexicographic(table, rng), start, k, number_of(matcher), numeric_as, report)
    return Links.of_matrix(cover, random_matching(cover, rng))


def _covered_people(table: Table, model: Model) -> int:
    unserved = [part for part in model.parts() if not isinstance(part, KAnonymity | DeltaProbability)]
    if unserved:
        raise MethodMismatch(
            f"freeform does not keep {unserved[0].spec()}", allowed="k-anonymity, delta-probability", got=model.spec()
        )
    k = int(model.rule(table.counts, table.rows).least_size)
    if k > table.rows:
        raise UnreachableGuarantee(
            "a record cannot cover more people than there are", allowed=f"k up to {table.rows}", got=model.spec()
        )
    return k


def _usual_block(rows: int) -> int:
    if rows <= _WHOLE:
        return rows
    return 512 if rows < _LARGE else 256


def _blocks(rows: int, size: int) -> Ints:
    """Where blocks of nearly equal size begin, none smaller than asked."""
    many = max(1, rows // size)
    return np.arange(many + 1, dtype=np.int64) * rows // many


def _grown(
    table: Table,
    order: Ints,
    start: Ints,
    k: int,
    matcher: int,
    numeric_as: str,
    report: Callable[[float], None] | None,
) -> Ints:
    """The people every record covers; a few blocks between two reports of progress."""
    from oneoff.kernels.freeform import grow_blocks

    space, many = space_of(table, numeric_as), len(start) - 1
    cover = np.empty((table.rows, k), dtype=np.int64)
    step = max(1, many // 100)
    for first in range(0, many, step):
        last = min(first + step, many)
        grow_blocks(table.codes, space, order, start, first, last, matcher, cover)
        if report is not None:
            report(last / many)
    return cover
