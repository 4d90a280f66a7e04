"""The verdict over noisy counts: what anyone can come to believe about a person, whatever they knew before.

The promise is one of the mechanism: no file proves that noise was drawn, and the verdict says so. What can be checked
is: epsilon against what the promise allows, the sizes of cells, and that files agree with one another and, where it is
at hand, with the table. A belief that began at p ends at most at e^eps p / (1 - p + e^eps p) (`models.odds`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oneoff.audit.anyone import Odds, Words, counts_in, kept_by_odds, remarks
from oneoff.audit.attacks.view import View, sparse
from oneoff.audit.judge import judge_part, of_sizes
from oneoff.audit.levels import reached
from oneoff.audit.verdict import PartVerdict, Verdict
from oneoff.audit.witness import Witness
from oneoff.models import Counts, Limits, Model, Prior
from oneoff.models.adversary import Adversary
from oneoff.models.odds import highest_belief
from oneoff.releases import Tallied
from oneoff.releases.tallies import tallies_of
from oneoff.table import Table
from oneoff.table.arrays import Floats, Ints
from oneoff.table.classes import Risk, risk_of_classes

__all__ = ["judge", "seen"]

_WORDS = Words(
    "noise was drawn as described",
    "epsilon against the promise, the sizes of cells, and that tallies, counts, totals and rows agree with one another",
)
_FINE = 2**30  # people that stand for a belief of 1 where a level is named; ceilings are never decided by it
_MOST_CROWDS = 100  # values whose belief is followed to name levels


@dataclass(frozen=True, eq=False)
class _Seen:
    """What the release allows to believe: prior is that of the table, or the noisy one where there is no table."""

    release: Tallied
    prior: Prior
    estimated: bool

    @property
    def error(self) -> Floats:
        """How far shares may be off, in people."""
        return self.release.prior_error * self.estimated

    @cached_property
    def shares(self) -> Floats:
        return np.array([float(share) for share in self.prior.shares])

    @cached_property
    def beliefs(self) -> Floats:
        """The highest belief in each value."""
        return np.array([highest_belief(p, self.release.epsilon) for p in self.shares])

    @cached_property
    def alike(self) -> Counts:
        """Cells of people who look the same."""
        return of_sizes(np.repeat(np.arange(self.release.tallies.groups), self.release.tallies.size))

    @cached_property
    def crowds(self) -> Counts:
        """For each value, what everybody's belief looks like when that one is as high as it can be."""
        chosen = np.argsort(-self.beliefs / np.maximum(self.shares, 1e-300))[:_MOST_CROWDS]
        rest = (1 - self.beliefs[chosen]) / np.maximum(1 - self.shares[chosen], 1e-300)
        belief = rest[:, None] * self.shares[None, :]
        belief[np.arange(len(chosen)), chosen] = self.beliefs[chosen]
        people = np.maximum(np.rint(belief * _FINE), self.shares > 0).astype(np.int64)
        return Counts.of(people)


def judge(release: Tallied, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Epsilon decides about values, cells about who is who."""
    exact = None if table is None else counts_in(release, table)
    problems = () if table is None else tuple(_compare(release, table, exact))
    known = release.counts if exact is None or problems else exact
    seen = _Seen(release, Prior(tuple(known.tolist())), estimated=known is not exact)
    allowed = min(part.epsilon(seen.prior) for part in model.parts())
    parts = tuple((_identity if part.about == "identity" else _believed)(part, seen) for part in model.parts())
    return Verdict.of_parts(
        model.spec(),
        parts,
        problems,
        levels=_levels(seen, parts),
        rows=release.rows,
        groups=release.tallies.groups,
        people_above=max(part.people_above for part in parts),
        certain=0,
        against=Adversary.ANYONE,
        risk_after=risk_of_classes(seen.alike.size),
        risk_before=before,
        epsilon=release.epsilon,
        remarks=remarks(release.epsilon, allowed, _odds(seen), _WORDS),
        _people=_per_person(release, model, seen),
    )


def _odds(seen: _Seen) -> Odds:
    assert seen.release.sensitive is not None
    return Odds(seen.prior, seen.release.sensitive, seen.estimated)


def _levels(seen: _Seen, parts: tuple[PartVerdict, ...]) -> dict[str, float]:
    """Those of the highest beliefs, which are rounded; what was decided about a promise itself goes before."""
    levels = reached(seen.crowds, seen.prior, seen.release.sensitive)
    levels |= {"k-anonymity": float(seen.alike.size.min())}
    decided = {part.guarantee.partition(":")[0]: part.level for part in parts}
    return levels | {name: level for name, level in decided.items() if name in levels}


def _identity(part: Model, seen: _Seen) -> PartVerdict:
    fails = part.failing(seen.alike, seen.prior)
    return judge_part(part, seen.alike, seen.prior, fails, seen.alike.size, seen.release.sensitive, "cell")


def _believed(part: Model, seen: _Seen) -> PartVerdict:
    """Kept when epsilon is no larger than the promise allows; a promise not made of ceilings allows none."""
    allowed, limits = part.epsilon(seen.prior), part.caps(seen.prior)
    holds = kept_by_odds(part, seen.release.epsilon, seen.prior, seen.error)
    level, promised = float(part.worst_level(seen.crowds, seen.prior)), float(part.parameter())
    if holds:  # decided by epsilon; the level is rounded
        level = max(level, promised) if part.larger_is_safer else min(level, promised)
    return PartVerdict(
        guarantee=part.spec(),
        sentence=part.sentence(),
        holds=holds,
        level=level,
        people_above=0 if holds else seen.release.rows,
        witness=_witness(limits, seen, holds) if limits is not None else _epsilon_witness(seen, allowed),
    )


def _witness(limits: Limits, seen: _Seen, holds: bool) -> Witness:
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


def _epsilon_witness(seen: _Seen, allowed: float) -> Witness:
    return Witness(0, seen.release.rows, None, seen.release.epsilon, allowed, "level")


def _per_person(release: Tallied, model: Model, seen: _Seen) -> dict[str, Ints | Floats]:
    """The same belief for everybody; who has which cell is the steward's to know."""
    limits = model.caps(seen.prior)
    ceiling = np.ones(len(seen.shares)) if limits is None else np.array([float(each) for each in limits.ceiling])
    v = int((seen.beliefs / np.maximum(ceiling, 1e-300)).argmax())
    people: dict[str, Ints | Floats] = {
        "belief": np.full(release.rows, seen.beliefs[v]),
        "cap": np.full(release.rows, ceiling[v]),
    }
    if release.links is not None:
        people["group_size"] = release.tallies.size[release.links]
    return people


def _compare(release: Tallied, table: Table, exact: Ints | None) -> list[str]:
    """Everybody in a cell, and the tallies of these cells."""
    if release.rows != table.rows:
        return [f"the release has {release.rows} people, the table {table.rows}"]
    if exact is None:
        return ["somebody in the table has a value that the release does not list"]
    if release.links is None:
        return []
    known = [table.column(attribute.name) for attribute in release.quasi]
    columns = [own.codes_in(shown)[codes] for shown, (own, codes) in zip(release.quasi, known, strict=True)]
    sizes = np.bincount(release.links, minlength=release.tallies.groups)
    if min(int(codes.min()) for codes in columns) < 0 or not np.array_equal(sizes, release.tallies.size):
        return ["the cells are not those of the people of this table"]
    counted = tallies_of(release.quasi, np.stack(columns, axis=1), release.links.astype(np.int32))
    same = all(
        np.array_equal(a.value, b.value) and np.array_equal(a.count, b.count)
        for a, b in zip(counted.columns, release.tallies.columns, strict=True)
    )
    return [] if same else ["a cell does not have the values of its people"]


def seen(release: Tallied, table: Table) -> View:
    """Cells with what the fit says of their values; the noisy counts of fields are what people of a field share."""
    from scipy.sparse import csr_array

    assert release.sensitive is not None
    tallies, columns = release.tallies, []
    for attribute in table.quasi:
        j = release.place_of(attribute.name)
        counts, code = tallies.columns[j], release.quasi[j].codes_in(attribute)
        share = counts.count / tallies.size[counts.owner]
        columns.append(sparse(counts.owner, code[counts.value], share, (tallies.groups, attribute.size)))
    values, held = (csr_array(np.maximum(each, 0)) for each in (release.fitted.cells(), release.estimates))
    group = None if release.links is None else release.field[release.links]
    return View(release.form, table.quasi, release.sensitive, tuple(columns), values, group=group, held=held)
