"""The verdict over crowds: what somebody can believe about anyone, against what was promised.

They know everybody's quasi-identifiers and find a person's group. All members look the same, so the belief that the
person has value v is the share of v in the group, and the belief that a record is the person's is one over the size.
(When a person fits several groups the belief is an average over them and so no higher than the worst.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.levels import reached
from oneoff.audit.verdict import PartVerdict, Verdict
from oneoff.audit.witness import Witness, find_witness, strains
from oneoff.models import Counts, Model, Prior
from oneoff.models.adversary import Adversary
from oneoff.table import Attribute
from oneoff.table.arrays import Codes, Flags, Ints
from oneoff.table.classes import Risk, risk_of_classes

__all__ = ["Crowds", "judge_crowds", "judge_nothing", "judge_part", "of_sizes"]


@dataclass(frozen=True, eq=False)
class Crowds:
    """People who each hide in a crowd of records.

    counts     the values shown in each crowd: a group, or the records that could be one person's
    crowd      the crowd of every person; values: each person's own
    prior      people with each value in the whole table
    grouped    False where everybody has a crowd of their own
    place      what a crowd is called
    identity   the crowd of every person as far as it matters who they are, when that is another one
    persons    how many persons each crowd counts for, where some have several records
    """

    counts: Counts
    crowd: Ints
    values: Codes
    prior: Prior
    sensitive: Attribute | None
    grouped: bool = True
    place: str = "group"
    identity: Ints | None = None
    persons: Ints | None = None

    @staticmethod
    def of_groups(group: Ints, values: Codes, prior: Ints, sensitive: Attribute | None, place: str = "group") -> Crowds:
        """Everybody hides in their group."""
        counts, known = Counts.of_groups(group, values), Prior(tuple(prior.tolist()))
        return Crowds(counts, group, values, known, sensitive, place=place)

    @cached_property
    def people(self) -> Ints:
        """How many hide in each crowd."""
        return np.bincount(self.crowd, minlength=self.counts.groups)

    @cached_property
    def alike(self) -> Counts:
        """The crowds as far as it matters who somebody is."""
        if self.persons is not None:
            return Counts.of(self.persons[:, None])
        return self.counts if self.identity is None else of_sizes(self.identity)

    def judged(self, part: Model) -> tuple[PartVerdict, Flags]:
        """The verdict on one promise, and who is in a crowd that breaks it."""
        if part.about == "identity" and self.identity is not None:
            inside, where, size, place = self.alike, self.identity, self.alike.size, "class"
        elif part.about == "identity":
            inside, where, size, place = self.alike, self.crowd, self.people, self.place
        else:
            inside, where, size, place = self.counts, self.crowd, self.people, self.place
        fails = part.failing(inside, self.prior)
        judged = judge_part(part, inside, self.prior, fails, size, self.sensitive, place)
        return replace(judged, witness=replace(judged.witness, grouped=self.grouped)), fails[where]

    def levels(self) -> dict[str, float]:
        levels = reached(self.counts, self.prior, self.sensitive)
        alone = self.identity is None and self.persons is None
        return levels if alone else levels | {"k-anonymity": float(self.alike.size.min())}

    def risk(self) -> Risk:
        alone = self.identity is None and self.persons is None
        return risk_of_classes(self.people, self.counts.size) if alone else risk_of_classes(self.alike.size)

    def certain(self) -> int:
        """People whose value is the only one in their crowd."""
        return 0 if self.sensitive is None else int(self.people[self.counts.distinct == 1].sum())


def of_sizes(classes: Ints) -> Counts:
    """Classes of people in which it does not matter what they have."""
    return Counts.of_groups(classes, np.zeros_like(classes))


def judge_crowds(
    model: Model,
    crowds: Crowds,
    *,
    against: Adversary = Adversary.READER,
    before: Risk | None = None,
    problems: tuple[str, ...] = (),
) -> Verdict:
    """The verdict on people who each hide in a crowd of records."""
    found = [crowds.judged(part) for part in model.parts()]
    parts, above = tuple(part for part, _ in found), np.logical_or.reduce([fails for _, fails in found])
    return Verdict.of_parts(
        model.spec(),
        parts,
        problems,
        levels=crowds.levels(),
        rows=len(crowds.crowd),
        groups=crowds.counts.groups if crowds.grouped else None,
        people_above=int(above.sum()),
        certain=crowds.certain(),
        against=against,
        risk_after=crowds.risk(),
        risk_before=before,
        flags={"above": above, "certain": (crowds.counts.distinct == 1)[crowds.crowd]},
        _people=_per_person(model, crowds),
    )


def judge_nothing(model: Model, rows: int, why: tuple[str, ...], against: Adversary, before: Risk | None) -> Verdict:
    """Nothing could be counted, so nothing is said but why; none of the figures, all of them the worst, is shown."""
    parts = tuple(
        PartVerdict(
            guarantee=part.spec(),
            sentence=part.sentence(),
            holds=False,
            level=0.0 if part.larger_is_safer else math.inf,
            people_above=rows,
            witness=Witness(0, rows, None, 1.0, 0.0, "level"),
        )
        for part in model.parts()
    )
    return Verdict.of_parts(
        model.spec(),
        parts,
        why,
        levels={},
        rows=rows,
        groups=None,
        people_above=rows,
        certain=0,
        against=against,
        risk_after=Risk(1.0, 1.0, 1.0, 1.0, rows, 1.0),
        risk_before=before,
    )


def judge_part(
    model: Model,
    counts: Counts,
    prior: Prior,
    fails: Flags,
    people: Ints,
    sensitive: Attribute | None,
    place: str,
) -> PartVerdict:
    """One promise, by the crowds that fail it and the people in each."""
    return PartVerdict(
        guarantee=model.spec(),
        sentence=model.sentence(),
        holds=not fails.any(),
        level=float(model.worst_level(counts, prior)),
        people_above=int(people[fails].sum()),
        witness=replace(find_witness(model, counts, prior, fails, sensitive), place=place),
    )


def _per_person(model: Model, crowds: Crowds) -> dict[str, npt.NDArray[Any]]:
    counts, group, width = crowds.counts, crowds.crowd, crowds.prior.values
    size = counts.size[group]
    own = np.searchsorted(counts.owner * width + counts.value, group * width + crowds.values)
    people: dict[str, npt.NDArray[Any]] = {"group_size": size, "own_belief": counts.count[own] / size}
    limits = model.caps(crowds.prior)
    ceilings = [1.0] * width if limits is None else [float(ceiling) for ceiling in limits.ceiling]
    strain = strains(counts, ceilings)
    worst = np.maximum.reduceat(strain, counts.start[:-1])
    first = np.flatnonzero(strain == worst[counts.owner])
    entry = first[np.searchsorted(counts.owner[first], np.arange(counts.groups))]
    people["belief"] = (counts.count[entry] / counts.size)[group]
    people["cap"] = np.array(ceilings)[counts.value[entry]][group]
    return people
