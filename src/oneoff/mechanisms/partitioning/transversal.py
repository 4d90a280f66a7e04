"""Transversal groups: one member of every bucket, found without a look at who has which sensitive value.

The construction is ours. It takes the buckets of paper 000 and departs from that paper in three points: one group for
all members instead of a box for each record (never worse, and nothing to randomize wrongly), buckets whose values are
counted so that no rule about repeated values is needed while matching, and groups of several sizes.

docs/explanation/methods/transversal.md has the proof. What it rests on, and what this file must therefore keep to:
  blocks    from quasi-identifiers and public information only
  plan      from the counts of the block's own values, and public information
  members   drawn uniformly among the people with the value
  matching  from quasi-identifiers and the unordered buckets only: it is not even given the values
  refusal   depends on counts of blocks that were fixed before; nothing is tried again more coarsely
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, OneoffError
from oneoff.mechanisms.levels import Bounds, draw
from oneoff.mechanisms.partitioning.blocks import (
    Block,
    Tree,
    column_names,
    cut_blocks,
    listed_blocks,
    refuse_ineligible,
)
from oneoff.mechanisms.partitioning.knowledge import Knowledge, learn, of_table, pack_alike
from oneoff.mechanisms.planner import plan_levels
from oneoff.mechanisms.served import refuse_all_but_ceilings
from oneoff.mechanisms.space import curve_order, space_of
from oneoff.models import Caps, Counts, Model, Prior
from oneoff.models.adversary import Adversary, Claim
from oneoff.plans import Partition
from oneoff.table import Table

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["SWEEPS", "Budget", "match", "transversal"]

Ints = npt.NDArray[np.int64]
Report = Callable[[float], None]

SWEEPS = {"fast": 6, "balanced": 24, "best": 96}
_LARGE = 200_000  # people from which half of these will do
_STRIDE = 512  # members of a bucket that meet in the first matching, about
_DEEPEST = 1_000  # buckets that take part in it; beyond, groups are so large that chance does as well
_CHUNK = 128  # groups that exchange members with each other, about: assignments are cubic in it
_DEALS = 16  # members a group offers in one go; more of them in several goes
_MOST_DEALS = 64  # of each group in a sweep
_SOFT = 0.5  # every other sweep also counts what is rare within a group
_STILL = 5e-4  # stop when three pairs of sweeps together gained less than this share
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
    effort: Literal["fast", "balanced", "best"] = "balanced",
    sweeps: int | None = None,
    seconds: float | None = None,
    numeric_as: Literal["range", "set"] = "range",
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
    _refuse_options(effort, blocks, block_size, pilot)
    rng, space = rng or np.random.default_rng(), space_of(table, numeric_as)
    values, bounds = _bounds(table, model)
    usual = SWEEPS[effort] // (2 if table.rows >= _LARGE else 1)
    budget, groups = Budget.of(usual, sweeps, seconds, report), list[Ints]()
    if len(bounds.ceiling[0]) == 1 and not isinstance(public, Mapping):
        public, pilot = None, False  # values play no part, so there is nothing to know about them
    knowledge = of_table(table, public) if isinstance(public, Table) else None
    known = None if knowledge is None else knowledge.codes
    given = _given_blocks(table, space, bounds, blocks, block_size, column_names(block_on), public, known, rng)
    _refuse_ineligible(table, model, values, bounds, given)
    share = _pilot_share(pilot, bounds, given, public)
    pilots, rests = _pilots(values, bounds, given.blocks, share, rng)
    if pilots:
        part = sum(len(block.rows) for block in pilots) / table.rows
        groups = _grouped(table, space, values, bounds, pilots, None, rng, budget.part(0.0, part))
        knowledge = learn(table, [(level, np.sort(values[level], axis=1)) for level in groups])
        out = np.concatenate([level.ravel() for level in groups])
        both = zip(rests, given.blocks, strict=True)
        rests = [replace(rest, known=np.flatnonzero(np.isin(out, block.rows))) for rest, block in both]
        budget, given = budget.part(part, 1.0), replace(given, blocks=rests)
    if knowledge is not None and not given.fixed:
        given = _foretold_blocks(table, space, bounds, given.blocks[0].rows, column_names(block_on), knowledge, rng)
        _refuse_ineligible(table, model, values, bounds, given)
    groups += _grouped(table, space, values, bounds, given.blocks, knowledge, rng, budget)
    return _checked(table, model, groups)


def _grouped(
    table: Table,
    space: Space,
    values: npt.NDArray[np.int32],
    bounds: Bounds,
    blocks: Sequence[Block],
    knowledge: Knowledge | None,
    rng: np.random.Generator,
    budget: Budget,
) -> list[Ints]:
    """Groups of all blocks: plan from counts, draw people, forget their values, match."""
    buckets: list[Ints] = []
    whole = None if knowledge is None else knowledge.picture(table)
    for block in blocks:
        counts = np.bincount(values[block.rows], minlength=len(bounds.ceiling[0]))
        pack = None
        if knowledge is not None and whole is not None:
            pack = partial(pack_alike, table, space, knowledge.picture_of(table, block, whole))
        levels = plan_levels(counts, bounds, pack)
        buckets += draw(levels, block.rows, values, rng)
    return match(table, space, buckets, rng, budget)


# Matching: quasi-identifiers only


@dataclass(frozen=True)
class Budget:
    """How long to improve: sweeps, and maybe a moment to stop at; `span` says which part of all the work this is."""

    sweeps: int
    stop_at: float | None = None
    report: Report | None = None
    span: tuple[float, float] = (0.0, 1.0)

    @staticmethod
    def of(usual: int, sweeps: int | None, seconds: float | None, report: Report | None = None) -> Budget:
        for name, given, kind in (("sweeps", sweeps, int), ("seconds", seconds, int | float)):
            if given is not None and (isinstance(given, bool) or not isinstance(given, kind) or given < 0):
                allowed = "a whole number >= 0" if kind is int else "a number >= 0"
                raise BadValue(f"{name} is not usable", allowed=allowed, got=repr(given))
        stop_at = None if seconds is None else time.perf_counter() + seconds
        many = usual if sweeps is None else sweeps
        return Budget(many if seconds is None or sweeps is not None else 10**9, stop_at, report)

    def part(self, begin: float, end: float) -> Budget:
        return replace(self, span=(begin, end))

    def done(self, share: float) -> bool:
        """Tell how much is done; is the time over?"""
        if self.report is not None:
            self.report(self.span[0] + share * (self.span[1] - self.span[0]))
        return self.stop_at is not None and time.perf_counter() >= self.stop_at


def match(
    table: Table, space: Space, buckets: list[Ints], rng: np.random.Generator, budget: Budget | None = None
) -> list[Ints]:
    """Groups with one member of every bucket, for each level: buckets[i][b, j] are rows, so are groups[i][g, b].

    A first matching bucket by bucket, then sweeps that exchange members of the same bucket between groups near each
    other. Sensitive values are not an argument, on purpose. The best grouping seen is returned, so more sweeps never
    lose more.
    """
    from oneoff.kernels.groups import assemble, total_loss

    budget = budget or Budget(SWEEPS["balanced"])
    no_values = np.zeros(table.rows, dtype=np.int32)
    groups = []
    for level in buckets:
        strides = max(1, level.shape[1] // _STRIDE)
        spread = level if strides == 1 else _along_curve(table, space, level, rng)
        groups.append(assemble(table.codes, space, spread, strides, _DEEPEST) if level.shape[1] > 1 else level.T)
    layout = _Layout.of(groups)
    member = np.concatenate([level.ravel() for level in groups])
    best = member.copy()
    losses = [int(total_loss(table.codes, space, layout.start, member).sum())]
    for sweep in range(budget.sweeps if len(layout.movable) > 1 else 0):
        if budget.done(sweep / budget.sweeps):
            break
        _sweep(table, space, layout, member, no_values, _SOFT if sweep % 2 == 0 else 0.0, rng)
        loss = int(total_loss(table.codes, space, layout.start, member).sum())
        if loss < min(losses):
            best[:] = member
        losses.append(loss)
        if len(losses) > 8 and min(losses[:-6]) - min(losses) < _STILL * min(losses):
            break
    ends = np.cumsum([level.size for level in groups])[:-1]
    return [part.reshape(level.shape) for part, level in zip(np.split(best, ends), groups, strict=True)]


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the groups of all levels lie: first member, level and size of each; `movable` ones have partners."""

    start: Ints
    level: Ints
    size: Ints
    movable: Ints

    @staticmethod
    def of(groups: list[Ints]) -> _Layout:
        many, size = (np.array([level.shape[axis] for level in groups]) for axis in (0, 1))
        level, sizes = np.repeat(np.arange(len(groups)), many), np.repeat(size, many)
        start = np.concatenate(([0], np.cumsum(sizes)))
        return _Layout(start, level, sizes, np.flatnonzero(np.repeat((many > 1) & (size > 1), many)))


def _sweep(
    table: Table,
    space: Space,
    layout: _Layout,
    member: Ints,
    no_values: npt.NDArray[np.int32],
    soft: float,
    rng: np.random.Generator,
) -> None:
    """Every group offers the members of some buckets in turn, the same for all groups of a level."""
    from oneoff.kernels.deals import redeal

    groups = layout.movable
    someone = member[layout.start[groups] + rng.integers(0, layout.size[groups])]
    order = groups[curve_order(table, space, someone, rng, layout.level[groups])]
    turn = np.full((int(layout.level[-1]) + 1, _MOST_DEALS), -1, dtype=np.int32)
    for level in np.unique(layout.level[groups]).tolist():
        size = int(layout.size[np.searchsorted(layout.level, level)])
        turn[level, : min(size, _MOST_DEALS)] = rng.permutation(size)[:_MOST_DEALS]
    for first in range(0, _MOST_DEALS, _DEALS):
        order = order[layout.size[order] > first]
        if len(order) == 0:
            break
        offers = turn[:, first : first + _DEALS][layout.level]
        begin, no_limits = _chunks(layout.level[order]), np.zeros((5, 0), dtype=np.int64)
        redeal(table.codes, no_values, space, no_limits, layout.start, member, order, begin, offers, soft)


def _chunks(level: Ints) -> Ints:
    """Where chunks of about 128 groups begin; none spans two levels."""
    begin = [0]
    for many in np.bincount(level)[np.unique(level)].tolist():
        pieces = -(-many // _CHUNK)
        base = begin[-1]
        begin += [base + many * piece // pieces for piece in range(1, pieces + 1)]
    return np.array(begin, dtype=np.int64)


def _along_curve(table: Table, space: Space, level: Ints, rng: np.random.Generator) -> Ints:
    """The members of every bucket along a curve, so that every stride through it is a fair sample."""
    bucket = np.repeat(np.arange(len(level)), level.shape[1])
    people = level.ravel()
    return people[curve_order(table, space, people, rng, bucket)].reshape(level.shape)


# Blocks and the pilot


@dataclass(frozen=True, eq=False)
class _Found:
    """The blocks; whether they are final; and the cuts they came from when there is something to say about fewer."""

    blocks: list[Block]
    fixed: bool = True
    tree: Tree | None = None

    @staticmethod
    def leaves(tree: Tree) -> _Found:
        return _Found([tree.blocks[leaf] for leaf in tree.leaves()], True, tree)


def _given_blocks(
    table: Table,
    space: Space,
    bounds: Bounds,
    many: int | None,
    size: int | None,
    columns: list[str] | None,
    public: Table | Mapping[str, Sequence[Any]] | None,
    known: npt.NDArray[np.int32] | None,
    rng: np.random.Generator,
) -> _Found:
    """As the steward says; without a word, one block that public information may still divide.

    Where one ceiling holds for all values, as for l-diversity, blocks have a multiple of l people if they can.
    """
    if isinstance(public, Mapping):
        if many is not None or size is not None:
            raise BadValue("blocks are given twice", allowed="a list of cuts, or blocks / block_size", got="both")
        return _Found(listed_blocks(table, public))
    if many is None and size is None:
        return _Found([Block(np.arange(table.rows))], fixed=False)
    one_size = bounds.one_size()
    tree = cut_blocks(table, space, many=many, size=size, columns=columns, multiple=one_size, rng=rng, known=known)
    return _Found.leaves(tree)


def _foretold_blocks(
    table: Table,
    space: Space,
    bounds: Bounds,
    people: Ints,
    columns: list[str] | None,
    knowledge: Knowledge,
    rng: np.random.Generator,
) -> _Found:
    """As many blocks as public information says will keep the promise, none with very few groups."""
    usual = min(20, bounds.fewest_buckets(table.counts))
    return _Found.leaves(
        cut_blocks(
            table,
            space,
            rows=people,
            size=_LEAST_GROUPS * max(2, usual),
            columns=columns,
            multiple=bounds.one_size(),
            rng=rng,
            known=knowledge.codes,
            suits=partial(knowledge.foretells, table, bounds),
        )
    )


def _pilot_share(
    pilot: bool | float | None,
    bounds: Bounds,
    given: _Found,
    public: Table | Mapping[str, Sequence[Any]] | None,
) -> float:
    """By default a pilot where it pays: no public table, many people, and in given blocks a plan that can use it."""
    people = sum(len(block.rows) for block in given.blocks)
    if pilot is None:
        smallest = min(len(block.rows) for block in given.blocks)
        alike = bounds.one_size() > 1  # then buckets can be planned with it, not only blocks
        enough = (_PILOT_BLOCK if alike else people + 1) if given.fixed else _PILOT_FROM if alike else _MANY
        pays = smallest >= enough
        pilot = pays and not isinstance(public, Table) and len(bounds.ceiling[0]) > 1
    usual = _PILOT[people >= _MANY]
    return float(usual if pilot is True else pilot)


def _pilots(
    values: npt.NDArray[np.int32], bounds: Bounds, blocks: list[Block], share: float, rng: np.random.Generator
) -> tuple[list[Block], list[Block]]:
    """For every block a uniform share of the people of every value, and the others.

    Whether a block has a pilot follows from its counts alone: both parts must keep the promise.
    """
    firsts, rests = [], []
    for block in blocks:
        counts = np.bincount(values[block.rows], minlength=len(bounds.ceiling[0]))
        wanted = np.rint(share * counts).astype(np.int64)
        if share == 0 or not wanted.any() or not bounds.allow(wanted) or not bounds.allow(counts - wanted):
            rests.append(block)
            continue
        mixed = rng.permutation(block.rows)
        mixed = mixed[np.argsort(values[mixed], kind="stable")]
        rank = np.arange(len(mixed)) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = rank < np.repeat(wanted, counts)
        firsts.append(replace(block, rows=np.sort(mixed[chosen])))
        rests.append(replace(block, rows=np.sort(mixed[~chosen])))
    return firsts, rests


# What is refused, and the last check


def _bounds(table: Table, model: Model) -> tuple[npt.NDArray[np.int32], Bounds]:
    """Values and their bounds; when the promise is about identity alone, values play no part and are all the same."""
    refuse_all_but_ceilings("transversal", table, model)
    caps, least = model.caps(table.counts), model.rule(table.counts, table.rows).least_size
    if caps is None:
        return np.zeros(table.rows, dtype=np.int32), Bounds.of(Caps((Fraction(1),)), table.rows, least)
    return table.values, Bounds.of(caps, table.rows, least)


def _refuse_ineligible(
    table: Table, model: Model, values: npt.NDArray[np.int32], bounds: Bounds, found: _Found
) -> None:
    """Coarser blocks than ineligible ones are for people to choose."""

    def eligible(block: Block) -> bool:
        return bounds.allow(np.bincount(values[block.rows], minlength=len(bounds.ceiling[0])))

    refuse_ineligible(table, model, values, bounds, found.blocks, lambda: _coarser(found, eligible))


def _coarser(found: _Found, eligible: Callable[[Block], bool]) -> str:
    """Numbers of blocks that would do. To choose among them is to tell a little; the steward decides that."""
    says = "this message is private. Settings chosen after reading it tell an insider that finer ones failed"
    if found.tree is None:
        return f"blocks=1 always works; {says}"
    good = np.array([eligible(block) for block in found.tree.blocks])
    fine = [cuts + 1 for cuts in range(len(found.tree.parent)) if good[found.tree.leaves(cuts)].all()]
    return f"of the same cuts, blocks={', '.join(map(str, fine[:-6:-1]))} would be eligible; {says}"


def _checked(table: Table, model: Model, groups: list[Ints]) -> Partition:
    """Number the groups, and look at every one of them before anything is published."""
    group = np.empty(table.rows, dtype=np.int32)
    number = 0
    for level in groups:
        group[level] = (number + np.arange(len(level), dtype=np.int32))[:, None]
        number += len(level)
    counts = Counts.of_groups(group, table.values)
    if int(counts.size.sum()) != table.rows or model.failing(counts, Prior.of(table.counts)).any():
        raise OneoffError(
            "transversal made groups that break the promise; this is a defect of oneoff, please report it"
        )
    return Partition(group)


def _refuse_options(effort: str, blocks: object, block_size: object, pilot: object) -> None:
    if effort not in SWEEPS:
        raise BadValue("unknown effort", allowed=", ".join(SWEEPS), got=repr(effort))
    for name, given in (("blocks", blocks), ("block_size", block_size)):
        if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 1):
            raise BadValue(f"{name} is not usable", allowed="a whole number >= 1", got=repr(given))
    if pilot is not None and (not isinstance(pilot, bool | int | float) or (not 0 <= pilot < 1 and pilot is not True)):
        raise BadValue("the pilot is not usable", allowed="a share between 0 and 1, true or false", got=repr(pilot))
