"""The verdict over groups: what a reader of the release can believe about anyone, against what was promised.

The reader knows everybody's quasi-identifiers and finds a person's group. All members look the same, so the belief
that the person has value v is the share of v in the group, and the belief that a record is the person's is one over
the size. (When a person fits several groups the belief is an average over them and so no higher than the worst.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.attack import Attack
from oneoff.audit.exposure import MaskedView
from oneoff.audit.levels import reached
from oneoff.audit.linking import insider_counts, reader_counts
from oneoff.audit.outlier import outlier_attack
from oneoff.audit.reader import ReaderView, reader_view
from oneoff.audit.swaps import swap_attack
from oneoff.errors import OneoffError, listing
from oneoff.models import Caps, Counts, Model, Prior, parse
from oneoff.models.adversary import Adversary
from oneoff.releases import Bucketized, Generalized, Masked, Perturbed, Published
from oneoff.table import Attribute, Table
from oneoff.table.classes import Risk, look_alikes, risk_of_classes

__all__ = ["PartVerdict", "Verdict", "Witness", "audit", "judge", "judge_part", "kept_problems", "tightest"]


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

    def sentence(self) -> str:
        noun, nouns = ("person", "people") if self.grouped else ("record", "records")
        people = f"1 {noun}" if self.people == 1 else f"{self.people:,} {nouns}"
        bound = "at least" if self.at_least else "at most"
        worst = (
            f"{self.place} {self.group} ({people})" if self.grouped else f"the person in row {self.group} ({people})"
        )
        if self.shown is not None:
            worst = f"anyone whose record shows '{listing([self.shown])}' ({people})"
        if self.subject == "level":
            return f"the worst, {worst}, reaches {self.belief:.4g}; {bound} {self.allowed:.4g} is allowed"
        belief = f"{100 * self.belief:.4g}%; {bound} {100 * self.allowed:.4g}% is allowed"
        if self.subject == "column":
            origin = f"{self.place} '{listing([self.value])}' comes from one person of its hidden group ({people})"
            return f"at worst {origin} with a probability of {belief}"
        if self.subject == "identity":
            where = f"in the smallest {self.place} ({people})" if self.grouped else f"for {worst}"
            return f"{where} a record is somebody's with a probability of {belief}"
        whom = f"anyone in {worst}" if self.grouped else worst
        return f"at worst '{listing([self.value])}' can be believed of {whom} with {belief}"


@dataclass(frozen=True)
class PartVerdict:
    """One promise of the guarantee: kept or not, the level reached, how many people are in groups that break it.

    name   what it is called here, where the name of the guarantee alone would say too much; otherwise empty
    """

    guarantee: str
    sentence: str
    holds: bool
    level: float
    people_above: int
    witness: Witness
    name: str = ""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What was checked, against whom, and what came out.

    groups     None for a release without groups
    holds      every promise is kept by every group, and the records are the table's people
    worst      the highest belief relative to what is allowed: the belief of `witness`
    certain    people whose value is certain, because all of their group share it; some promises allow that
    reader     for a release without groups judged with its graph: what somebody sees who has only the boxes
    problems   why the records cannot be trusted (lost rows, values outside their range ...); empty when they can
    stands_against   who the method says it stands against, "nobody" when it does not; empty when no method is known
    masked     for a masked release: who can be named behind a value or a record
    attacks    what attacks by somebody who knows the method found; run on releases that stand against nobody
    """

    guarantee: str
    holds: bool
    worst: float
    witness: Witness
    parts: tuple[PartVerdict, ...]
    levels: dict[str, float]
    rows: int
    groups: int | None
    people_above: int
    certain: int
    against: str
    risk_after: Risk
    risk_before: Risk | None = None
    problems: tuple[str, ...] = ()
    reader: ReaderView | None = None
    stands_against: str = ""
    attacks: tuple[Attack, ...] = ()
    masked: MaskedView | None = None
    _people: dict[str, npt.NDArray[Any]] = field(default_factory=dict, repr=False)

    def per_person(self) -> dict[str, npt.NDArray[Any]]:
        """For every person, in the order of the table (or of the records, when there is no table): the size of the
        group, the belief nearest to or furthest above its cap, that cap, and the belief in the person's own value."""
        return self._people

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        if self.unjudged:
            return f"The promise CANNOT be checked: {self.problems[0]}."
        if self.problems:
            return f"The promise DOES NOT hold as far as can be checked: {self.problems[0]}."
        subject = "The promise DOES NOT hold" if not self.holds else "The promise holds"
        found = f"against {Adversary(self.against).sentence}: {self.witness.sentence()}."
        if self.by_count_only:
            return f"{subject} by count {found} {self._by_count()}"
        if self.holds and self.masked is not None and self.masked.promise == "column":
            return f"{subject} for single columns {found} {self.masked.headline()}"
        insider = Adversary.INSIDER
        if self.holds and self.stands_against == insider != self.against:
            found = f"{found} The method keeps it also against {insider.briefly}."
        return f"{subject} {found}"

    @property
    def unjudged(self) -> bool:
        """Nothing at all could be measured, which is not the same as a promise that is broken."""
        return bool(self.problems) and not self.levels

    @property
    def by_count_only(self) -> bool:
        """The counts keep the promise, but the method does not stand against somebody who knows how it works."""
        return self.holds and self.stands_against == "nobody"

    def _by_count(self) -> str:
        who = "Somebody who also knows how the release was made"
        beyond = [attack.ratio for attack in self.attacks if attack.exceeds]
        if not beyond:
            return f"{who} may conclude more: the method does not stand against them."
        return f"{who} concludes more: such guesses are right up to {max(beyond):.1f} times as often as it allows."

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON with stable keys; an infinite level is null."""
        return {
            "guarantee": self.guarantee,
            "holds": self.holds,
            "worst": finite(self.worst),
            "witness": _plain(self.witness),
            "checked_against": self.against,
            "rows": self.rows,
            "groups": self.groups,
            "people_above": self.people_above,
            "certain": self.certain,
            "parts": [
                asdict(part) | {"level": finite(part.level), "witness": _plain(part.witness)} for part in self.parts
            ],
            "levels": {name: finite(level) for name, level in self.levels.items()},
            "risk_before": None if self.risk_before is None else self.risk_before.as_dict(),
            "risk_after": self.risk_after.as_dict(),
            "reader": None if self.reader is None else self.reader.as_dict(),
            "stands_against": self.stands_against,
            "attacks": [attack.as_dict() for attack in self.attacks],
            "masked": None if self.masked is None else self.masked.as_dict(),
            "problems": list(self.problems),
        }


def finite(level: float) -> float | None:
    return None if math.isinf(level) else float(level)


def _plain(witness: Witness) -> dict[str, Any]:
    return asdict(witness) | {"belief": finite(witness.belief)}


def audit(release: Published, table: Table | None = None, guarantee: str | Model | None = None) -> Verdict:
    """Judge the records of a release by its own promise or another one.

    With the table, the records are also compared with it: nobody lost or doubled, every value inside what is shown.
    Without it the prior is the one the release states, which must then be that of its records. A release in groups
    that stands against nobody is attacked, too, as somebody would who knows how the groups were made.
    """
    from oneoff.audit.exact import judge_bucketized, judge_perturbed
    from oneoff.audit.masked import judge_masked

    model = release.model if guarantee is None else parse(guarantee).bind(release.sensitive)
    before = None if table is None else risk_of_classes(_sizes(look_alikes(list(table.codes.T))))
    match release:
        case Perturbed():
            verdict = judge_perturbed(release, table, model, before)
        case Bucketized():
            verdict = judge_bucketized(release, table, model, before)
        case Masked():
            verdict = judge_masked(release, table, model, before)
        case Generalized() if release.group is None:
            verdict = _judge_each(release, table, model, before, _problems(release, table))
        case Generalized():
            verdict = _judge_groups(release, table, model, before, _problems(release, table))
        case _:
            raise OneoffError(f"there is no audit of a {type(release).__name__}")
    return replace(verdict, stands_against=release.against)


def _judge_groups(
    release: Generalized, table: Table | None, model: Model, before: Risk | None, problems: tuple[str, ...]
) -> Verdict:
    assert release.group is not None
    group, values = look_alikes([release.group]), release.values
    counts = Counts.of_groups(group, values)
    verdict = judge(model, counts, group, values, release.counts, release.sensitive, before=before, problems=problems)
    if release.links is not None:
        people = {name: column[release.links] for name, column in verdict.per_person().items()}
        verdict = replace(verdict, _people=people)
    attacks: tuple[Attack, ...] = ()
    if table is not None and release.against == "nobody" and not problems:
        attacks = _attacks(release, table, model)
    return replace(verdict, attacks=attacks)


def _attacks(release: Generalized, table: Table, model: Model) -> tuple[Attack, ...]:
    """What somebody finds out who also knows how groups are made; attacks that say nothing here are left out."""
    found = (
        outlier_attack(release, table, model),
        outlier_attack(release, table, model, "tightest"),
        swap_attack(release, table, model),
    )
    return tuple(attack for attack in found if attack is not None)


def _judge_each(
    release: Generalized, table: Table | None, model: Model, before: Risk | None, problems: tuple[str, ...]
) -> Verdict:
    """A release without groups: everybody hides among the records that could be theirs.

    Who covers whom is known to the steward and decides; a reader has only the published boxes. Without the people's
    quasi-identifiers nothing can be said at all. Whether somebody who knows the method can rule out some of the
    records that cover a person is not for an audit to find: that is what `stands_against` of the method is about.
    """
    if table is None:
        problems = (*problems, "a release without groups can only be judged with the table it was made from")
        group = np.zeros(release.rows, dtype=np.int64)
        counts = Counts.of_groups(group, release.values)
        return judge(
            model, counts, group, release.values, release.counts, release.sensitive, "reader", before, problems
        )
    graph = release.graph
    counts = reader_counts(release, table) if graph is None else insider_counts(graph, release.values)
    people = np.arange(table.rows)
    against = "reader" if graph is None else "graph"
    verdict = judge(
        model, counts, people, table.values, release.counts, release.sensitive, against, before, problems, grouped=False
    )
    view = None if graph is None else reader_view(release, table, model, np.random.default_rng())
    return replace(verdict, reader=view)


def judge(
    model: Model,
    counts: Counts,
    crowd: npt.NDArray[np.int64],
    values: npt.NDArray[np.int32],
    prior_counts: npt.NDArray[np.int64],
    sensitive: Attribute | None,
    against: str = "reader",
    before: Risk | None = None,
    problems: tuple[str, ...] = (),
    grouped: bool = True,
    place: str = "group",
    identity: npt.NDArray[np.int64] | None = None,
) -> Verdict:
    """The verdict on people who each hide in a crowd of records.

    counts     the values shown in each crowd: a group, or the records that could be one person's
    crowd      the crowd of every person; values: each person's own
    identity   the crowd of every person as far as it matters who they are, when that is another one
    """
    prior, people = Prior(tuple(prior_counts.tolist())), np.bincount(crowd, minlength=counts.groups)
    classes = crowd if identity is None else identity
    alike = counts if identity is None else Counts.of_groups(identity, np.zeros_like(identity))
    parts, above = [], np.zeros(len(crowd), dtype=np.bool_)
    for part in model.parts():
        named = part.about == "identity" and identity is not None
        inside, where = (alike, classes) if named else (counts, crowd)
        size, called = (alike.size, "class") if named else (people, place)
        fails = part.failing(inside, prior)
        judged = judge_part(part, inside, prior, fails, size, sensitive, called)
        parts.append(replace(judged, witness=replace(judged.witness, grouped=grouped)))
        above |= fails[where]
    witness = tightest(parts)
    return Verdict(
        guarantee=model.spec(),
        holds=all(part.holds for part in parts) and not problems,
        worst=witness.belief,
        witness=witness,
        parts=tuple(parts),
        levels=reached(counts, prior, sensitive)
        | ({} if identity is None else {"k-anonymity": float(alike.size.min())}),
        rows=len(crowd),
        groups=counts.groups if grouped else None,
        people_above=int(above.sum()),
        certain=int(people[counts.distinct == 1].sum()) if sensitive is not None else 0,
        against=against,
        risk_after=risk_of_classes(people, counts.size) if identity is None else risk_of_classes(alike.size),
        risk_before=before,
        problems=problems,
        _people=_per_person(model, counts, prior, crowd, values),
    )


def tightest(parts: Sequence[PartVerdict]) -> Witness:
    """The worst case of the promise that is broken, or nearest to breaking."""
    return max(parts, key=lambda part: (not part.holds, _strain(part.witness))).witness


def _strain(witness: Witness) -> float:
    """How near a promise is to breaking, to pick the one to show first."""
    reached, bound = (witness.allowed, witness.belief) if witness.at_least else (witness.belief, witness.allowed)
    return reached / bound if bound > 0 else math.inf


def judge_part(
    model: Model,
    counts: Counts,
    prior: Prior,
    fails: npt.NDArray[np.bool_],
    people: npt.NDArray[np.int64],
    sensitive: Attribute | None,
    place: str,
) -> PartVerdict:
    return PartVerdict(
        guarantee=model.spec(),
        sentence=model.sentence(),
        holds=not fails.any(),
        level=float(model.worst_level(counts, prior)),
        people_above=int(people[fails].sum()),
        witness=replace(_witness(model, counts, prior, fails, sensitive), place=place),
    )


def _witness(
    model: Model, counts: Counts, prior: Prior, fails: npt.NDArray[np.bool_], sensitive: Attribute | None
) -> Witness:
    """For ceilings the entry nearest to its cap; for a size, the smallest group; otherwise the worst group's level."""
    caps = model.caps(prior)
    if caps is not None and sensitive is not None:
        return (
            _too_likely(caps, counts, sensitive)
            if _ceilings_decide(caps, counts, fails)
            else _too_unlikely(caps, counts, fails, sensitive)
        )
    scores = model.scores(counts, prior)
    group = int(np.argmin(scores) if model.larger_is_safer else np.argmax(scores))
    size = int(counts.size[group])
    if model.about == "identity":
        allowed = float(1 / model.parameter() if model.larger_is_safer else model.parameter())
        return Witness(group, size, None, 1.0 / size, allowed, "identity")
    return Witness(group, size, None, float(scores[group]), float(model.parameter()), "level", model.larger_is_safer)


def _ceilings_decide(caps: Caps, counts: Counts, fails: npt.NDArray[np.bool_]) -> bool:
    """False when the promise breaks only because some value became too unlikely."""
    return caps.floor is None or not fails.any() or bool(replace(caps, floor=None).failing(counts).any())


def _too_likely(caps: Caps, counts: Counts, sensitive: Attribute) -> Witness:
    """The value nearest to its cap or, where sets of values have caps that are nearer, the set."""
    return max([_likeliest(caps, counts, sensitive), *_likeliest_sets(caps, counts, sensitive)], key=_strain)


def _likeliest_sets(caps: Caps, counts: Counts, sensitive: Attribute) -> Iterator[Witness]:
    """One for each layer of sets, under the name of the node the values of the set have in common."""
    for node, layer in caps.layers():
        people = counts.merged(node)
        entry = _worst_entry(people, [float(cap) for cap in layer.ceiling])
        group, found = int(people.owner[entry]), int(people.value[entry])
        if sensitive.hierarchy is None or layer.ceiling[found] >= 1:  # only values outside the sets of this layer
            continue
        leaves = sensitive.leaves[node == found]
        name = str(sensitive.hierarchy.labels_of(*sensitive.hierarchy.lca(leaves[0], leaves[-1])))
        belief = float(people.count[entry] / people.size[group])
        yield Witness(group, int(people.size[group]), name, belief, float(layer.ceiling[found]))


def _likeliest(caps: Caps, counts: Counts, sensitive: Attribute) -> Witness:
    entry = _worst_entry(counts, [float(cap) for cap in caps.ceiling])
    group, value = int(counts.owner[entry]), int(counts.value[entry])
    belief = float(counts.count[entry] / counts.size[group])
    label = str(sensitive.labels[value])
    return Witness(group, int(counts.size[group]), label, belief, float(caps.ceiling[value]))


def _too_unlikely(caps: Caps, counts: Counts, fails: npt.NDArray[np.bool_], sensitive: Attribute) -> Witness:
    """The value furthest below its floor in the first group that breaks one."""
    assert caps.floor is not None
    group = int(np.flatnonzero(fails)[0])
    size = int(counts.size[group])
    share = np.array(counts.group_counts(group, len(caps.floor))) / size
    floor = np.array([float(bound) for bound in caps.floor])
    value = int(np.argmin(np.where(floor > 0, share / np.where(floor > 0, floor, 1.0), np.inf)))
    label = str(sensitive.labels[value])
    return Witness(group, size, label, float(share[value]), float(floor[value]), at_least=True)


def _worst_entry(counts: Counts, caps: list[float]) -> int:
    """The entry nearest to (or furthest above) its cap, the more certain of equals; a cap of 1 protects nothing."""
    strain = _strains(counts, caps)
    protected = np.array(caps)[counts.value] < 1
    if protected.any():
        strain = np.where(protected, strain, -1.0)
    near = np.flatnonzero(strain >= strain.max() * (1 - 1e-12))
    return int(near[np.argmax((counts.count / counts.size[counts.owner])[near])])


def _strains(counts: Counts, caps: list[float]) -> npt.NDArray[np.float64]:
    """Belief over cap of every entry."""
    cap = np.array(caps)[counts.value]
    with np.errstate(divide="ignore"):
        strain: npt.NDArray[np.float64] = counts.count / counts.size[counts.owner] / cap
    return strain


def _per_person(
    model: Model, counts: Counts, prior: Prior, group: npt.NDArray[np.int64], values: npt.NDArray[np.int32]
) -> dict[str, npt.NDArray[Any]]:
    size = counts.size[group]
    width = prior.values
    key = counts.owner * width + counts.value
    own = np.searchsorted(key, group * width + values)
    people: dict[str, npt.NDArray[Any]] = {"group_size": size, "own_belief": counts.count[own] / size}
    caps = model.caps(prior)
    ceilings = [1.0] * width if caps is None else [float(cap) for cap in caps.ceiling]
    strain = _strains(counts, ceilings)
    worst = np.maximum.reduceat(strain, counts.start[:-1])
    first = np.flatnonzero(strain == worst[counts.owner])
    entry = first[np.searchsorted(counts.owner[first], np.arange(counts.groups))]
    people["belief"] = (counts.count[entry] / counts.size)[group]
    people["cap"] = np.array(ceilings)[counts.value[entry]][group]
    return people


def _sizes(classes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.bincount(classes).astype(np.int64)


def _problems(release: Generalized, table: Table | None) -> tuple[str, ...]:
    """Reasons not to trust the records, whatever their groups look like."""
    found = []
    shown = np.bincount(release.values, minlength=len(release.counts))
    if not np.array_equal(shown, release.counts):
        found.append("the stated prior is not the distribution of the published values")
    if release.group is not None and release.boxes != len(np.unique(release.group)):
        found.append("records of one group show different quasi-identifiers")
    return (*found, *(_compare(release, table) if table is not None else []))


def _compare(release: Generalized, table: Table) -> list[str]:
    """What a comparison with the table brings to light."""
    if release.rows != table.rows:
        return [f"the release has {release.rows} records, the table {table.rows} people"]
    if _value_counts(release.sensitive, release.values) != _value_counts(table.sensitive, table.values):
        return ["the published sensitive values are not those of the table"]
    if release.links is None:
        return []
    if not np.array_equal(np.sort(release.links), np.arange(table.rows)):
        return ["a person has no record of their own"]
    found = []
    if release.sensitive is not None and table.sensitive is not None:
        shown = release.sensitive.decode(release.values[release.links])
        if not np.array_equal(shown, table.sensitive.decode(table.values)):
            found.append("a person's record shows another person's value")
    found += kept_problems(release, table)
    box = release.box[release.links]
    for attribute, cells in zip(release.quasi, release.cells, strict=True):
        known = table.attribute(attribute.name)
        j = table.quasi.index(known)
        outside = int((~cells.covers(attribute, box, known.labels, table.codes[:, j])).sum())
        if outside:
            found.append(f"{outside} people have a value of {attribute.name!r} outside what their record shows")
    return found


def kept_problems(release: Generalized | Masked, table: Table) -> list[str]:
    """Do the columns that travel with the sensitive value travel with their own?"""
    if release.kept is None or table.kept is None or release.links is None:
        return [] if (release.kept is None) == (table.kept is None) else ["the release lacks columns to keep"]
    found = []
    for j, (attribute, known) in enumerate(zip(release.keep, table.keep, strict=True)):
        shown, own = release.kept[release.links, j], table.kept[:, j]
        same = attribute.decode(np.maximum(shown, 0)) == known.decode(np.maximum(own, 0))
        if not (((shown < 0) == (own < 0)) & (same | (own < 0))).all():
            found.append(f"a record shows another person's {attribute.name!r}")
    return found


def _value_counts(attribute: Attribute | None, values: npt.NDArray[np.int32]) -> dict[str, int]:
    if attribute is None:
        return {}
    counted = np.bincount(values, minlength=attribute.size)
    return {str(label): int(count) for label, count in zip(attribute.labels, counted, strict=True)}
