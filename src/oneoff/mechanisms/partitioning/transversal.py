"""Transversal groups: one member of every bucket, found without a look at who has which sensitive value.

The construction is ours. It takes the buckets of paper 000 and departs from that paper in three points: one group for
all members instead of a box for each record (never worse, and nothing to randomize wrongly), buckets whose values are
counted so that no rule about repeated values is needed while matching, and groups of several sizes.

docs/explanation/methods/transversal.md has the proof. What it rests on, and what this file must therefore keep to:
  blocks    from quasi-identifiers and public information only
  plan      from the counts of the block's own values, and public information
  members   drawn uniformly among the people with the value
  matching  from quasi-identifiers and the unordered buckets only: it is not even given the values
  refusal   depends on counts of blocks that were fixed before; nothing is tried again more coarsely. Blocks that nobody
            asked for are cut only where a refusal is out of the question
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from oneoff.errors import BadValue, whole_number
from oneoff.mechanisms.partitioning.match import SWEEPS, Budget, match
from oneoff.mechanisms.planning.blocks import (
    Block,
    Tree,
    column_names,
    cut_blocks,
    listed_blocks,
    refuse_ineligible,
)
from oneoff.mechanisms.planning.certain import no_pilot, of_pilot
from oneoff.mechanisms.planning.knowledge import TELLING, Knowledge, learn, of_table, pack_alike
from oneoff.mechanisms.planning.levels import draw
from oneoff.mechanisms.planning.planner import plan_levels
from oneoff.mechanisms.served import refuse_all_but_ceilings, refuse_unknown
from oneoff.mechanisms.task import Effort, NumericAs, Report, Task, finish, task_of
from oneoff.models import Limits, Model
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints

__all__ = ["SWEEPS", "Budget", "match", "transversal"]

_LARGE = 200_000  # people from which half of the usual sweeps will do
_PILOT_FROM, _PILOT = 5_000, (0.1, 0.05)  # people from which a pilot pays, and its share of few people or many
_MANY = 50_000
_PILOT_BLOCK = 10_000  # and in given blocks, when the smallest has so many
_LEAST_GROUPS = 100  # a block of fewer groups than this would lose more than its cut gains

CLAIMS = (Claim(Adversary.INSIDER),)


def transversal(
    table: Table,
    model: Model,
    *,
    blocks: int | None = None,
    block_size: int | None = None,
    block_on: str | Sequence[str] | None = None,
    public: Table | Mapping[str, Sequence[Any]] | None = None,
    pilot: bool | float | None = None,
    effort: Effort = "balanced",
    sweeps: int | None = None,
    seconds: float | None = None,
    numeric_as: NumericAs = "range",
    rng: np.random.Generator | None = None,
    report: Report | None = None,
) -> Partition:
    """Cut blocks along quasi-identifiers; in each, plan buckets from counts, draw members, match them into groups.

    blocks      how many blocks; or block_size, the fewest people in one. Fix it before looking at sensitive values
    block_on    columns to cut on (names, or one text with commas or +); all quasi-identifiers by default
    public      what is known anyway: a table of other people with the same columns, from which blocks and buckets are
                planned, or a list of cuts such as {"age": [29, 49], "sex": [["F"], ["M"]]}
    pilot       publish a uniform share of every value first, and plan the rest from that part of the release: a share,
                or False. By default a tenth from 5,000 people on, or 10,000 in every given block; a twentieth from
                50,000 people on
    effort      sweeps of improvement: fast 6, balanced 24, best 96, half of it from 200,000 people on; or `sweeps`; or
                `seconds`, which is not repeatable

    Serves every promise made of ceilings, k-anonymity, and both together. Belief in v is at most |B_v| / B for
    everybody, also for who knows this algorithm, all quasi-identifiers, the groups, and which members came from one
    bucket; but has no reason to tell people of one block apart by their sensitive value.
    """
    refuse_unknown("effort", effort, SWEEPS)
    wish = Wish(blocks, block_size, block_on, public, pilot)
    refuse_all_but_ceilings("transversal", table, model)
    task = task_of("transversal", table, model, numeric_as, rng, report)
    usual = SWEEPS[effort] // (2 if table.rows >= _LARGE else 1)
    budget = Budget.of(usual, sweeps, seconds, report)
    if task.limits.values == 1:
        wish = wish.without_values()
    knowledge = of_table(table, wish.public) if isinstance(wish.public, Table) else None
    given = _given_blocks(task, wish, knowledge)
    _refuse_ineligible(task, given)
    share = _pilot_share(task, wish, given)
    groups, pilots = list[Ints](), _pilots(task.values, task.limits, given.blocks, share, task.rng)
    released = list[tuple[Ints, Ints]]()
    if pilots.firsts:
        part = sum(len(block.rows) for block in pilots.firsts) / table.rows
        groups = _grouped(task, pilots.firsts, None, budget.part(0.0, part))
        released = [(level, np.sort(task.values[level], axis=1)) for level in groups]
        knowledge = learn(table, released)
        budget, given = budget.part(part, 1.0), replace(given, blocks=pilots.with_known(groups, given.blocks))
    if not given.fixed:
        given = _more_blocks(task, wish, given.blocks[0].rows, released, knowledge)
        _refuse_ineligible(task, given)
    groups += _grouped(task, given.blocks, knowledge, budget)
    return finish(task, _numbered(groups, table.rows))


@dataclass(frozen=True, eq=False)
class Wish:
    """What the steward says about blocks and what is public; the options of `transversal`, checked."""

    blocks: int | None = None
    block_size: int | None = None
    block_on: str | Sequence[str] | None = None
    public: Table | Mapping[str, Sequence[Any]] | None = None
    pilot: bool | float | None = None

    def __post_init__(self) -> None:
        for name, given in (("blocks", self.blocks), ("block_size", self.block_size)):
            if given is not None:
                whole_number(given, name, least=1)
        pilot = self.pilot
        if pilot is not None and (not isinstance(pilot, bool | int | float) or not (0 <= pilot < 1 or pilot is True)):
            raise BadValue("the pilot is not usable", allowed="a share between 0 and 1, true or false", got=repr(pilot))

    @property
    def columns(self) -> list[str] | None:
        return column_names(self.block_on)

    def without_values(self) -> Wish:
        """Where values play no part there is nothing to know about them; cuts are still cuts."""
        return self if isinstance(self.public, Mapping) else replace(self, public=None, pilot=False)


def _grouped(task: Task, blocks: Sequence[Block], knowledge: Knowledge | None, budget: Budget) -> list[Ints]:
    """Groups of all blocks: plan from counts, draw people, forget their values, match."""
    buckets: list[Ints] = []
    whole = None if knowledge is None else knowledge.picture(task.table)
    for block in blocks:
        pack = None
        if knowledge is not None and whole is not None:
            pack = partial(pack_alike, task.table, task.space, knowledge.picture_of(task.table, block, whole))
        levels = plan_levels(task.counts(block.rows), task.limits, pack)
        buckets += draw(levels, block.rows, task.values, task.rng)
    return match(task.table, task.space, buckets, task.rng, budget)


def _numbered(groups: list[Ints], rows: int) -> Codes:
    """The number of everybody's group."""
    group = np.full(rows, -1, dtype=np.int32)
    number = 0
    for level in groups:
        group[level] = (number + np.arange(len(level), dtype=np.int32))[:, None]
        number += len(level)
    return group


# Blocks


@dataclass(frozen=True, eq=False)
class _Found:
    """The blocks; whether they are final; and the cuts they came from when there is something to say about fewer."""

    blocks: list[Block]
    fixed: bool = True
    tree: Tree | None = None

    @staticmethod
    def leaves(tree: Tree) -> _Found:
        return _Found([tree.blocks[leaf] for leaf in tree.leaves()], True, tree)


def _given_blocks(task: Task, wish: Wish, knowledge: Knowledge | None) -> _Found:
    """As the steward says; without a word, one block that public information may still divide.

    Where one ceiling holds for all values, as for l-diversity, blocks have a multiple of l people if they can.
    """
    unsaid = wish.blocks is None and wish.block_size is None
    if isinstance(wish.public, Mapping):
        if not unsaid:
            raise BadValue("blocks are given twice", allowed="a list of cuts, or blocks / block_size", got="both")
        return _Found(listed_blocks(task.table, wish.public))
    if unsaid:
        return _Found([Block(np.arange(task.table.rows))], fixed=False)
    tree = cut_blocks(
        task.table,
        task.space,
        most_blocks=wish.blocks,
        size=wish.block_size,
        columns=wish.columns,
        multiple=task.limits.one_size(),
        rng=task.rng,
        known=None if knowledge is None else knowledge.codes,
    )
    return _Found.leaves(tree)


def _more_blocks(
    task: Task, wish: Wish, people: Ints, released: list[tuple[Ints, Ints]], knowledge: Knowledge | None
) -> _Found:
    """As many blocks as will keep the promise, none with very few groups.

    By a public table, as far as that foretells it. Without one, by the overall counts and a pilot: then blocks are cut
    on everybody's quasi-identifiers, whoever is in the pilot, since its chances are those of blocks that it is no part
    of.
    """
    if not released and knowledge is None and (len(people) < _MANY or task.limits.values == 1):
        return _Found([Block(people)])
    counts = task.counts(np.arange(task.table.rows))
    usual = min(20, task.limits.fewest_buckets(counts))
    cut = partial(
        cut_blocks,
        task.table,
        task.space,
        rows=people,
        size=_LEAST_GROUPS * max(2, usual),
        columns=wish.columns,
        multiple=task.limits.one_size(),
        rng=task.rng,
    )
    if knowledge is not None and not released:
        return _Found.leaves(cut(known=knowledge.codes, suits=partial(knowledge.foretells, task.table, task.limits)))
    columns = len(wish.columns or task.table.quasi)
    evidence = of_pilot(counts, task.table.codes, columns, released) if released else no_pilot(counts, columns)
    everybody = np.arange(task.table.rows)
    return _Found.leaves(cut(known=evidence.codes, region=everybody, suits=partial(evidence.keeps, task.limits)))


def _refuse_ineligible(task: Task, found: _Found) -> None:
    """Coarser blocks than ineligible ones are for people to choose."""
    refuse_ineligible(task, found.blocks, lambda: _coarser(task, found))


def _coarser(task: Task, found: _Found) -> str:
    """Numbers of blocks that would do. To choose among them is to tell a little; the steward decides that."""
    says = "this message is private. Settings chosen after reading it tell an insider that finer ones failed"
    if found.tree is None:
        return f"blocks=1 always works; {says}"
    good = np.array([task.limits.allows(task.counts(block.rows)) for block in found.tree.blocks])
    fine = [cuts + 1 for cuts in range(len(found.tree.parent)) if good[found.tree.leaves(cuts)].all()]
    return f"of the same cuts, blocks={', '.join(map(str, fine[:-6:-1]))} would be eligible; {says}"


# The pilot


class _Pilots(NamedTuple):
    """People who are published first, and all others, block by block; a block without a pilot is in `rests` only."""

    firsts: list[Block]
    rests: list[Block]

    def with_known(self, groups: list[Ints], blocks: list[Block]) -> list[Block]:
        """The rests, each with those of the published people who were of the same block."""
        out = np.concatenate([level.ravel() for level in groups])
        both = zip(self.rests, blocks, strict=True)
        return [replace(rest, known=np.flatnonzero(np.isin(out, block.rows))) for rest, block in both]


def _pilot_share(task: Task, wish: Wish, given: _Found) -> float:
    """By default a pilot where it pays: no public table, many people, and in given blocks a plan that can use it."""
    people, pilot = task.table.rows, wish.pilot
    if pilot is None:
        smallest = min(len(block.rows) for block in given.blocks)
        alike = 1 < task.limits.one_size() <= TELLING  # then buckets can be planned with it, and blocks are proven
        enough = _PILOT_BLOCK if given.fixed else _PILOT_FROM
        pilot = alike and smallest >= enough and not isinstance(wish.public, Table) and task.limits.values > 1
    return float(_PILOT[people >= _MANY] if pilot is True else pilot)


def _pilots(
    values: Codes, limits: Limits, blocks: list[Block], share: float, rng: np.random.Generator
) -> _Pilots:  # fmt: skip
    """For every block a uniform share of the people of every value, and the others.

    Whether a block has a pilot follows from its counts alone: both parts must keep the promise.
    """
    found = _Pilots([], [])
    for block in blocks:
        counts = np.bincount(values[block.rows], minlength=limits.values)
        wanted = np.rint(share * counts).astype(np.int64)
        if share == 0 or not wanted.any() or not all(map(limits.allows, (wanted, counts - wanted))):
            found.rests.append(block)
            continue
        mixed = rng.permutation(block.rows)
        mixed = mixed[np.argsort(values[mixed], kind="stable")]
        rank = np.arange(len(mixed)) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = rank < np.repeat(wanted, counts)
        found.firsts.append(replace(block, rows=np.sort(mixed[chosen])))
        found.rests.append(replace(block, rows=np.sort(mixed[~chosen])))
    return found
