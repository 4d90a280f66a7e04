"""The worst case of a promise: where it is, what can be believed there, and how it is found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from oneoff.errors import listing
from oneoff.models import Counts, Limits, Model, Prior
from oneoff.table import Attribute
from oneoff.table.arrays import Flags, Floats

__all__ = ["Witness", "branch", "find_witness", "strains"]


@dataclass(frozen=True)
class Witness:
    """The worst case for one promise: where it is, what can be believed there, and what is allowed.

    subject   "value" (belief in `value`), "identity" (belief that a record is a person's), "column" (belief that
              `value` in the column `place` is a person's) or "level" (of a promise that is not about a single belief,
              such as t-closeness)
    at_least  True when `allowed` is a lower bound (delta-disclosure forbids values to become unlikely, too)
    group     the number of the group; in a release without groups, the row of the person in the table
    people    people in the group; in a release without groups, records that could be the person's
    place     what the crowd is called: "group", "bucket", or "class" of people with the same quasi-identifiers
    shown     the value that was seen, in a release of perturbed values
    before    where subject is "odds": what the belief in `value` was before the release, which can become `belief`
    column    which of several sensitive columns it is about; empty where there is one
    """

    group: int
    people: int
    value: str | None
    belief: float
    allowed: float
    subject: str = "value"
    at_least: bool = False
    grouped: bool = True
    place: str = "group"
    shown: str | None = None
    before: float | None = None
    column: str = ""

    def sentence(self) -> str:
        worst, bound = self._where(), "at least" if self.at_least else "at most"
        if self.subject == "level":
            return (
                f"the worst, {worst}{self._of('for')}, reaches {self.belief:.4g}; {bound} {self.allowed:.4g} is allowed"
            )
        belief = f"{100 * self.belief:.4g}%; {bound} {100 * self.allowed:.4g}% is allowed"
        if self.subject == "odds":
            return f"at worst a belief of {100 * (self.before or 0):.4g}% in {self._named()} becomes {belief}"
        if self.subject == "column":
            origin = f"'{listing([self.value])}' comes from one person of its hidden group ({self._crowd()})"
            return f"at worst {self.place} {origin} with a probability of {belief}"
        if self.subject == "identity":
            where = f"in the smallest {self.place} ({self._crowd()})" if self.grouped else f"for {worst}"
            return f"{where} a record is somebody's with a probability of {belief}"
        whom = f"anyone in {worst}" if self.grouped else worst
        return f"at worst {self._named()} can be believed of {whom} with {belief}"

    def _named(self) -> str:
        """The value, and of which column it is where there are several."""
        return f"'{listing([self.value])}'{self._of('of')}"

    def _of(self, word: str) -> str:
        return f" {word} {self.column!r}" if self.column else ""

    def _crowd(self) -> str:
        noun, nouns = ("person", "people") if self.grouped else ("record", "records")
        return f"1 {noun}" if self.people == 1 else f"{self.people:,} {nouns}"

    def _where(self) -> str:
        if self.shown is not None:
            return f"anyone whose record shows '{listing([self.shown])}' ({self._crowd()})"
        where = f"{self.place} {self.group}" if self.grouped else f"the person in row {self.group}"
        return f"{where} ({self._crowd()})"

    @property
    def strain(self) -> float:
        """How near the promise is to breaking: above 1 it is broken."""
        reached, bound = (self.allowed, self.belief) if self.at_least else (self.belief, self.allowed)
        return reached / bound if bound > 0 else math.inf


def find_witness(model: Model, counts: Counts, prior: Prior, fails: Flags, sensitive: Attribute | None) -> Witness:
    """The entry nearest to its ceiling, where there is one; of sizes, the smallest; otherwise the worst level."""
    limits = model.caps(prior)
    if limits is not None and sensitive is not None:
        return (
            _too_likely(limits, counts, sensitive)
            if _ceilings_decide(limits, counts, fails)
            else _too_unlikely(limits, counts, fails, sensitive)
        )
    scores = model.scores(counts, prior)
    group = int(np.argmin(scores) if model.larger_is_safer else np.argmax(scores))
    size = int(counts.size[group])
    if model.about == "identity":
        allowed = float(1 / model.parameter() if model.larger_is_safer else model.parameter())
        return Witness(group, size, None, 1.0 / size, allowed, "identity")
    return Witness(group, size, None, float(scores[group]), float(model.parameter()), "level", model.larger_is_safer)


def _ceilings_decide(limits: Limits, counts: Counts, fails: Flags) -> bool:
    """False when the promise breaks only because some value became too unlikely."""
    return limits.floor is None or not fails.any() or bool(replace(limits, floor=None).failing(counts).any())


def _too_likely(limits: Limits, counts: Counts, sensitive: Attribute) -> Witness:
    """The value nearest to its ceiling or, where sets of values have ceilings that are nearer, the set."""
    found = [_likeliest(limits, counts, sensitive), *_likeliest_sets(limits, counts, sensitive)]
    return max(found, key=lambda witness: witness.strain)


def _likeliest_sets(limits: Limits, counts: Counts, sensitive: Attribute) -> Iterator[Witness]:
    """One for each layer of sets, under the name of the node the values of the set have in common."""
    for node, layer in limits.layers():
        people = counts.merged(node)
        entry = _worst_entry(people, [float(ceiling) for ceiling in layer.ceiling])
        group, found = int(people.owner[entry]), int(people.value[entry])
        if sensitive.hierarchy is None or layer.ceiling[found] >= 1:  # only values outside the sets of this layer
            continue
        name = branch(sensitive, *np.flatnonzero(node == found)[[0, -1]].tolist())
        belief = float(people.count[entry] / people.size[group])
        yield Witness(group, int(people.size[group]), name, belief, float(layer.ceiling[found]))


def _likeliest(limits: Limits, counts: Counts, sensitive: Attribute) -> Witness:
    entry = _worst_entry(counts, [float(ceiling) for ceiling in limits.ceiling])
    group, value = int(counts.owner[entry]), int(counts.value[entry])
    belief = float(counts.count[entry] / counts.size[group])
    label = str(sensitive.labels[value])
    return Witness(group, int(counts.size[group]), label, belief, float(limits.ceiling[value]))


def _too_unlikely(limits: Limits, counts: Counts, fails: Flags, sensitive: Attribute) -> Witness:
    """The value furthest below its floor in the first group that breaks one."""
    assert limits.floor is not None
    group = int(np.flatnonzero(fails)[0])
    size = int(counts.size[group])
    share = np.array(counts.group_counts(group, len(limits.floor))) / size
    floor = np.array([float(bound) for bound in limits.floor])
    value = int(np.argmin(np.where(floor > 0, share / np.where(floor > 0, floor, 1.0), np.inf)))
    label = str(sensitive.labels[value])
    return Witness(group, size, label, float(share[value]), float(floor[value]), at_least=True)


def _worst_entry(counts: Counts, ceilings: list[float]) -> int:
    """The entry nearest to (or furthest above) its ceiling, the more certain of equals; one of 1 protects nothing."""
    strain = strains(counts, ceilings)
    protected = np.array(ceilings)[counts.value] < 1
    if protected.any():
        strain = np.where(protected, strain, -1.0)
    near = np.flatnonzero(strain >= strain.max() * (1 - 1e-12))
    return int(near[np.argmax((counts.count / counts.size[counts.owner])[near])])


def strains(counts: Counts, ceilings: list[float]) -> Floats:
    """Belief over ceiling of every entry."""
    ceiling = np.array(ceilings)[counts.value]
    with np.errstate(divide="ignore"):
        strain: Floats = counts.count / counts.size[counts.owner] / ceiling
    return strain


def branch(sensitive: Attribute, first: int, last: int) -> str:
    """The name of the lowest node of the hierarchy with the values `first` and `last` under it."""
    assert sensitive.hierarchy is not None
    leaves = sensitive.leaves[[first, last]]
    return str(sensitive.hierarchy.labels_of(*sensitive.hierarchy.lca(leaves[0], leaves[1])))
