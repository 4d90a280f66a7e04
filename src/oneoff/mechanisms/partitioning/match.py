"""Matching: groups with one member of every bucket, from quasi-identifiers only."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from oneoff.errors import BadValue, whole_number
from oneoff.mechanisms.space import curve_order
from oneoff.mechanisms.task import Report
from oneoff.models.limits import ANYBODY
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints, offsets

if TYPE_CHECKING:
    from oneoff.kernels.space import Space

__all__ = ["SWEEPS", "Budget", "match"]

SWEEPS = {"fast": 6, "balanced": 24, "best": 96}
_STRIDE = 512  # members of a bucket that meet in the first matching, about
_DEEPEST = 1_000  # buckets that take part in it; beyond, groups are so large that chance does as well
_CHUNK = 128  # groups that exchange members with each other, about: assignments are cubic in it
_DEALS = 16  # members a group offers in one go; more of them in several goes
_MOST_DEALS = 64  # of each group in a sweep
_SOFT = 0.5  # every other sweep also counts what is rare within a group
_STILL = 5e-4  # stop when three pairs of sweeps together gained less than this share


@dataclass(frozen=True)
class Budget:
    """How long to improve: sweeps, and maybe a moment to stop at; `span` says which part of all the work this is."""

    sweeps: int
    stop_at: float | None = None
    report: Report | None = None
    span: tuple[float, float] = (0.0, 1.0)

    @staticmethod
    def of(usual: int, sweeps: int | None, seconds: float | None, report: Report | None = None) -> Budget:
        if sweeps is not None:
            whole_number(sweeps, "sweeps")
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0):
            raise BadValue("seconds is not usable", allowed="a number >= 0", got=repr(seconds))
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
    from oneoff.kernels.groups import total_loss

    budget = budget or Budget(SWEEPS["balanced"])
    groups = [_first_groups(table, space, level, rng) for level in buckets]
    layout = _Layout.of(groups)
    member = np.concatenate([level.ravel() for level in groups])
    best = member.copy()
    losses = [int(total_loss(table.codes, space, layout.start, member).sum())]
    for sweep in range(budget.sweeps if len(layout.movable) > 1 else 0):
        if budget.done(sweep / budget.sweeps):
            break
        _sweep(table, space, layout, member, _SOFT if sweep % 2 == 0 else 0.0, rng)
        loss = int(total_loss(table.codes, space, layout.start, member).sum())
        if loss < min(losses):
            best[:] = member
        losses.append(loss)
        if len(losses) > 8 and min(losses[:-6]) - min(losses) < _STILL * min(losses):
            break
    ends = np.cumsum([level.size for level in groups])[:-1]
    return [part.reshape(level.shape) for part, level in zip(np.split(best, ends), groups, strict=True)]


def _first_groups(table: Table, space: Space, level: Ints, rng: np.random.Generator) -> Ints:
    """Bucket by bucket, each time by the best assignment among every so many of its members."""
    from oneoff.kernels.groups import assemble

    strides = max(1, level.shape[1] // _STRIDE)
    spread = level if strides == 1 else _along_curve(table, space, level, rng)
    made: Ints = assemble(table.codes, space, spread, strides, _DEEPEST) if level.shape[1] > 1 else level.T
    return made


def _along_curve(table: Table, space: Space, level: Ints, rng: np.random.Generator) -> Ints:
    """The members of every bucket along a curve, so that every stride through it is a fair sample."""
    bucket = np.repeat(np.arange(len(level)), level.shape[1])
    people = level.ravel()
    return people[curve_order(table, space, people, rng, bucket)].reshape(level.shape)


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
        return _Layout(offsets(sizes), level, sizes, np.flatnonzero(np.repeat((many > 1) & (size > 1), many)))


def _sweep(
    table: Table, space: Space, layout: _Layout, member: Ints, soft: float, rng: np.random.Generator
) -> None:  # fmt: skip
    """Every group offers the members of some buckets in turn, the same for all groups of a level."""
    from oneoff.kernels.deals import redeal

    groups = layout.movable
    someone = member[layout.start[groups] + rng.integers(0, layout.size[groups])]
    order = groups[curve_order(table, space, someone, rng, layout.level[groups])]
    turn, no_values = _turns(layout, rng), np.zeros(table.rows, dtype=np.int32)
    for first in range(0, _MOST_DEALS, _DEALS):
        order = order[layout.size[order] > first]
        if len(order) == 0:
            break
        offers = turn[:, first : first + _DEALS][layout.level]
        begin = _chunks(layout.level[order])
        redeal(table.codes, no_values, space, ANYBODY.rows, layout.start, member, order, begin, offers, soft)


def _turns(layout: _Layout, rng: np.random.Generator) -> Codes:
    """Which buckets the groups of each level deal out anew, in this order; -1 where there are no more."""
    turn = np.full((int(layout.level[-1]) + 1, _MOST_DEALS), -1, dtype=np.int32)
    for level in np.unique(layout.level[layout.movable]).tolist():
        size = int(layout.size[np.searchsorted(layout.level, level)])
        turn[level, : min(size, _MOST_DEALS)] = rng.permutation(size)[:_MOST_DEALS]
    return turn


def _chunks(level: Ints) -> Ints:
    """Where chunks of about 128 groups begin; none spans two levels."""
    begin = [0]
    for many in np.bincount(level)[np.unique(level)].tolist():
        pieces = -(-many // _CHUNK)
        base = begin[-1]
        begin += [base + many * piece // pieces for piece in range(1, pieces + 1)]
    return np.array(begin, dtype=np.int64)
