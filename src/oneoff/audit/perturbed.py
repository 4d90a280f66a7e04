"""The verdict over perturbed values: who sees a record knows whose it may be, and is left with what the channel says.

Somebody who knows the share n_i / n of every value and sees v believes i with
n_i Pr(i -> v) / sum_u n_u Pr(u -> v). Where a promise is made of ceilings, all of it is compared in whole numbers.

A channel that treats all values alike says nothing about totals. Then the same holds for anyone, who may know all
others: a record is drawn alone. Without the table its exact shares are not known, and epsilon decides (`anyone.py`). A
channel made for the shares shows the totals, and a remark says what all records together then tell at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.anyone import Odds, Words, counts_in, kept_by_odds, remarks
from oneoff.audit.attacks.view import View, rows_seen
from oneoff.audit.judge import judge_part, of_sizes
from oneoff.audit.levels import reached
from oneoff.audit.recognition import in_files
from oneoff.audit.records import links_problem, prior_problem, quasi_problems, rows_problem
from oneoff.audit.verdict import PartVerdict, Verdict
from oneoff.audit.witness import Witness, branch
from oneoff.errors import listing
from oneoff.models import Counts, Limits, Model, Prior
from oneoff.models.adversary import Adversary
from oneoff.models.posterior import breaking, highest_with_totals
from oneoff.releases import Perturbed
from oneoff.releases.perturbed import estimated_counts
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Flags, Floats, Ints
from oneoff.table.classes import Risk, risk_of_classes

__all__ = ["judge", "look", "seen"]

look = in_files

_WORDS = Words(
    "values were drawn as described",
    "what the matrix lets anybody believe, and that records, matrix and totals agree with one another",
)
_FINE = 2**30  # people that stand for a belief of 1 where nothing is compared with a ceiling


@dataclass(frozen=True, eq=False)
class _Seen:
    """Everybody who shows a value is a crowd of their own; values that nobody can show are left out.

    value      the value each crowd shows
    joint      [crowd, i]: people with value i, times the weight with which they show that value; exact
    crowd      the crowd of every record
    classes    the class of every record among those with the same quasi-identifiers
    epsilon    of the channel
    error      how far the counts of the prior may be off, in people
    """

    value: list[int]
    joint: npt.NDArray[Any]
    crowd: Ints
    classes: Ints
    prior: Prior
    sensitive: Attribute
    epsilon: float
    error: Floats

    @cached_property
    def people(self) -> Ints:
        return np.bincount(self.crowd, minlength=len(self.value))

    @cached_property
    def beliefs(self) -> Floats:
        """[crowd, i]: Bayes' rule."""
        totals = self.joint.sum(axis=1)
        pairs = zip(self.joint, totals, strict=True)
        return np.array([[float(Fraction(int(x), int(total))) for x in row] for row, total in pairs])

    @cached_property
    def rounded(self) -> Counts:
        """Beliefs as counts of a great many people: exact enough to name a level; ceilings are never decided by it."""
        pairs = zip(self.joint, self.joint.sum(axis=1), strict=True)
        people = np.array([[int(x) * _FINE // int(total) for x in row] for row, total in pairs])
        return Counts.of(np.where((people == 0) & (self.joint > 0), 1, people).astype(np.int64))


def _seen(release: Perturbed, counts: Ints) -> _Seen:
    assert release.sensitive is not None
    joint = release.channel.joint(counts)
    value = [v for v in range(len(joint)) if joint[v].sum() > 0]  # nobody shows what nobody has
    crowd = np.searchsorted(value, np.arange(len(joint)))[release.values]
    return _Seen(
        value,
        joint[value],
        crowd,
        release.look_alikes,
        Prior(tuple(counts.tolist())),
        release.sensitive,
        release.channel.epsilon,
        release.prior_error if counts is release.counts else np.zeros(len(counts)),
    )


def judge(release: Perturbed, table: Table | None, model: Model, before: Risk | None) -> Verdict:
    """Every shown value is a crowd of its own, in which beliefs are those of Bayes' rule."""
    problems = (*_problems(release), *(_compare(release, table) if table is not None else []))
    exact = counts_in(release, table) if table is not None and not problems else None
    seen = _seen(release, release.counts if exact is None else exact)
    found = [(_identity if part.about == "identity" else _believed)(part, seen) for part in model.parts()]
    parts, sizes = tuple(part for part, _ in found), np.bincount(seen.classes)
    anyone = release.channel.even and release.against is Adversary.ANYONE
    return Verdict.of_parts(
        model.spec(),
        parts,
        problems,
        levels=reached(seen.rounded, seen.prior, seen.sensitive) | {"k-anonymity": float(sizes.min())},
        rows=release.rows,
        groups=None,
        people_above=int(np.logical_or.reduce([above for _, above in found]).sum()),
        certain=int((seen.rounded.distinct == 1)[seen.crowd].sum()),
        against=Adversary.ANYONE if anyone else Adversary.PRIOR,
        stands_against=release.against if anyone else Adversary.PRIOR,  # more was claimed before the totals were seen
        risk_after=risk_of_classes(sizes),
        risk_before=before,
        epsilon=seen.epsilon if anyone else None,
        remarks=_remarks(seen, model, release, anyone),
        _people=_per_person(release, None if problems else table, model, seen),
    )


def _identity(part: Model, seen: _Seen) -> tuple[PartVerdict, Flags]:
    """Who a record is: everybody with the same quasi-identifiers looks the same, and nobody else does."""
    alike = of_sizes(seen.classes)
    fails = part.failing(alike, seen.prior)
    return judge_part(part, alike, seen.prior, fails, alike.size, seen.sensitive, "class"), fails[seen.classes]


def _believed(part: Model, seen: _Seen) -> tuple[PartVerdict, Flags]:
    """One promise about values, and whose record breaks it."""
    limits = part.caps(seen.prior)
    if limits is None:
        fails = part.failing(seen.rounded, seen.prior)
        judged = judge_part(part, seen.rounded, seen.prior, fails, seen.people, seen.sensitive, "value")
        return judged, fails[seen.crowd]
    fails = np.logical_or.reduce(breaking(seen.joint, limits), axis=1)
    if seen.error.any():  # what is believed for estimated shares decides nothing
        fails[:] = not kept_by_odds(part, seen.epsilon, seen.prior, seen.error)
    level, promised = float(part.worst_level(seen.rounded, seen.prior)), float(part.parameter())
    if not fails.any():  # decided exactly; the level is rounded
        level = max(level, promised) if part.larger_is_safer else min(level, promised)
    judged = PartVerdict(
        guarantee=part.spec(),
        sentence=part.sentence(),
        holds=not fails.any(),
        level=level,
        people_above=int(seen.people[fails].sum()),
        witness=_witness(seen, limits, fails),
    )
    return judged, fails[seen.crowd]


def _witness(seen: _Seen, limits: Limits, fails: Flags) -> Witness:
    """The belief nearest to its ceiling, or the one furthest below its floor where only a floor is broken."""
    belief, broken = seen.beliefs, bool(fails.any())
    ceilings = np.array([float(c) for c in limits.ceiling])
    strain = np.where((ceilings < 1) | (ceilings.min() >= 1), belief / np.where(ceilings > 0, ceilings, 1), -1.0)
    at_least = False
    if broken and limits.floor is not None and not breaking(seen.joint, replace(limits, floor=None)).any():
        floor = np.array([float(f) for f in limits.floor])
        strain, ceilings, at_least = np.where(floor > 0, floor / np.maximum(belief, 1e-300), -1.0), floor, True
    v, i = (int(x) for x in np.unravel_index(int(strain.argmax()), strain.shape))
    found = [(float(strain[v, i]), v, str(seen.sensitive.labels[i]), float(belief[v, i]), float(ceilings[i]))]
    for low, high, together in limits.sets if not at_least else ():
        share = belief[:, low:high].sum(axis=1)
        v, name = int(share.argmax()), branch(seen.sensitive, low, high - 1)
        found.append((float(share[v] / together), v, name, float(share[v]), float(together)))
    _, v, value, reached, allowed = max(found)
    return Witness(
        group=seen.value[v],
        people=int(seen.people[v]),
        value=value,
        belief=reached if broken else min(reached, allowed),  # of estimated shares it can seem to be more
        allowed=allowed,
        at_least=at_least,
        grouped=False,
        shown=str(seen.sensitive.labels[seen.value[v]]),
    )


def _per_person(release: Perturbed, table: Table | None, model: Model, seen: _Seen) -> dict[str, npt.NDArray[Any]]:
    belief, limits = seen.beliefs, model.caps(seen.prior)
    ceilings = np.ones(belief.shape[1]) if limits is None else np.array([float(c) for c in limits.ceiling])
    nearest = (belief / np.where(ceilings > 0, ceilings, 1)).argmax(axis=1)
    people = {
        "group_size": np.bincount(seen.classes)[seen.classes],
        "belief": belief[np.arange(len(belief)), nearest][seen.crowd],
        "cap": ceilings[nearest][seen.crowd],
    }
    if release.links is not None:
        people = {name: column[release.links] for name, column in people.items()}
        if table is not None:
            assert table.sensitive is not None
            own = table.sensitive.codes_in(seen.sensitive)[table.values]
            people["own_belief"] = belief[seen.crowd[release.links], own]
    return people


def _remarks(seen: _Seen, model: Model, release: Perturbed, anyone: bool) -> tuple[str, ...]:
    if anyone:
        allowed = min(part.epsilon(seen.prior) for part in model.parts())
        return remarks(seen.epsilon, allowed, Odds(seen.prior, seen.sensitive, bool(seen.error.any())), _WORDS)
    limits = model.caps(seen.prior)
    if limits is None:
        return ()
    highest = highest_with_totals(release.channel.matrix, np.array(seen.prior.count)).max(axis=0)
    ceiling = np.array([float(c) for c in limits.ceiling])
    i = int((highest / np.where(ceiling > 0, ceiling, np.inf)).argmax())
    return (
        "It holds for a record looked at alone. The matrix gives the exact totals away, and somebody who puts them and "
        f"all records together can come to believe {listing([seen.sensitive.labels[i]])!r} of a person with up to "
        f"{highest[i]:.3g} where {ceiling[i]:.3g} is allowed, although hardly in a table of many people. "
        "channel=response stands against them, too.",
    )


def _problems(release: Perturbed) -> list[str]:
    if release.channel.values != len(release.counts):
        return ["the channel is not one for these values"]
    if release.is_part:
        return []
    if release.prior_is_exact and int(release.counts.sum()) != release.rows:
        return ["the stated prior is not that of so many records"]
    if not release.prior_is_exact and not _is_estimated(release):
        return ["the stated prior is not what the records let estimate"]
    return []


def _is_estimated(release: Perturbed) -> bool:
    """Are the totals what anybody could make of the records?"""
    even = release.channel.even
    return even and np.array_equal(release.counts, estimated_counts(release.values, release.channel))


def _compare(release: Perturbed, table: Table) -> list[str]:
    """Nobody lost or doubled, everybody under their own quasi-identifiers."""
    wrong = rows_problem(release, table) or _values_problem(release, table) or links_problem(release, table)
    if wrong:
        return [wrong]
    return [] if release.links is None else quasi_problems(release, table)


def _values_problem(release: Perturbed, table: Table) -> str:
    if release.prior_is_exact:
        return prior_problem(release, table)
    unknown = counts_in(release, table) is None
    return "somebody in the table has a value that the release does not list" if unknown else ""


def seen(release: Perturbed, table: Table) -> View:
    """Rows whose values went through the channel; who looks alike is a group of people who each show one of them."""
    view = rows_seen(release, table, release.values)
    return replace(view, channel=release.channel.matrix, stated=release.counts)
