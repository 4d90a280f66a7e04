"""What a belief can become where epsilon bounds how far odds move: of noisy counts, and of rows made from them.

A belief that began at p ends at most at e^eps p / (1 - p + e^eps p) (`models.odds`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from oneoff.audit.anyone import Odds, kept_by_odds
from oneoff.audit.verdict import PartVerdict
from oneoff.audit.witness import Witness
from oneoff.models import Counts, Limits, Model, Prior
from oneoff.models.odds import highest_belief
from oneoff.table import Attribute
from oneoff.table.arrays import Floats

__all__ = ["Moved", "believed", "nearest_ceiling"]

_FINE = 2**30  # people that stand for a belief of 1 where a level is named; ceilings are never decided by it
_MOST_CROWDS = 100  # values whose belief is followed to name levels


class Noisy(Protocol):
    """A release that says how far anybody's odds can move."""

    @property
    def epsilon(self) -> float: ...
    @property
    def rows(self) -> int: ...
    @property
    def sensitive(self) -> Attribute | None: ...
    @property
    def prior_error(self) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Moved:
    """What a release allows to believe.

    prior       that of the table, or the noisy one where there is no table (estimated)
    """

    release: Noisy
    prior: Prior
    estimated: bool

    @property
    def error(self) -> Floats:
        """How far shares may be off, in people."""
        return self.release.prior_error * self.estimated

    @property
    def odds(self) -> Odds:
        assert self.release.sensitive is not None
        return Odds(self.prior, self.release.sensitive, self.estimated)

    @cached_property
    def shares(self) -> Floats:
        return np.array([float(share) for share in self.prior.shares])

    @cached_property
    def beliefs(self) -> Floats:
        """The highest belief in each value."""
        return np.array([highest_belief(p, self.release.epsilon) for p in self.shares])

    @cached_property
    def crowds(self) -> Counts:
        """For each value, what everybody's belief looks like when that one is as high as it can be."""
        chosen = np.argsort(-self.beliefs / np.maximum(self.shares, 1e-300))[:_MOST_CROWDS]
        rest = (1 - self.beliefs[chosen]) / np.maximum(1 - self.shares[chosen], 1e-300)
        belief = rest[:, None] * self.shares[None, :]
        belief[np.arange(len(chosen)), chosen] = self.beliefs[chosen]
        people = np.maximum(np.rint(belief * _FINE), self.shares > 0).astype(np.int64)
        return Counts.of(people)


def believed(part: Model, seen: Moved) -> PartVerdict:
    """Kept when epsilon is no larger than the promise allows; a promise not made of ceilings allows none."""
    allowed, limits = part.epsilon(seen.prior), part.caps(seen.prior)
    holds = kept_by_odds(part, seen.release.epsilon, seen.prior, seen.error)
    level, promised = float(part.worst_level(seen.crowds, seen.prior)), float(part.parameter())
    if holds:  # decided by epsilon; the level is rounded
        level = max(level, promised) if part.larger_is_safer else min(level, promised)
    return PartVerdict(
        guarantee=part.spec(),
        sentence=f"through being counted, {part.sentence()}",  # what people like them show is not bounded
        holds=holds,
        level=level,
        people_above=0 if holds else seen.release.rows,
        witness=_witness(limits, seen, holds)
        if limits is not None
        else Witness(0, seen.release.rows, None, seen.release.epsilon, allowed, "level"),
    )


def nearest_ceiling(limits: Limits | None, seen: Moved) -> tuple[int, Floats]:
    """The value whose belief can come nearest to its ceiling, and all ceilings."""
    ceiling = np.ones(len(seen.shares)) if limits is None else np.array([float(each) for each in limits.ceiling])
    return int((seen.beliefs / np.maximum(ceiling, 1e-300)).argmax()), ceiling


def _witness(limits: Limits, seen: Moved, holds: bool) -> Witness:
    """The value whose belief can come nearest to its ceiling."""
    ceiling = np.array([float(each) for each in limits.ceiling])
    strain = np.where(ceiling < 1, seen.beliefs / np.maximum(ceiling, 1e-300), -1.0)
    v = int(strain.argmax())
    assert seen.release.sensitive is not None
    return Witness(
        group=v,
        people=seen.release.rows,
        value=str(seen.release.sensitive.labels[v]),
        belief=min(float(seen.beliefs[v]), float(ceiling[v])) if holds else float(seen.beliefs[v]),
        allowed=float(ceiling[v]),
        subject="odds",
        place="cell",
        before=float(seen.shares[v]),
    )
