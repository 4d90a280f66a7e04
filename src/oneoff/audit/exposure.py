"""Who is behind a masked record: for somebody who knows groups and probabilities, and for somebody who does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.audit.recognition import Recognition
from oneoff.plans import Cover
from oneoff.plans.cover import TOTAL
from oneoff.plans.redraw import drawn_from
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats, Ints, offsets
from oneoff.table.classes import SMALL, Risk, look_alikes

if TYPE_CHECKING:
    from oneoff.kernels.posteriors import Known

__all__ = [
    "Belief",
    "Column",
    "Knowledge",
    "MaskedView",
    "Posterior",
    "knowledge",
    "posterior_of",
    "record_posterior",
    "risk_of_posteriors",
    "value_belief",
]


_ROUNDED = 1 + 1e-9  # what floats may add to a belief that is exactly what is allowed


@dataclass(frozen=True)
class Posterior:
    """How surely somebody who knows groups and probabilities names the person behind a record, seeing all its columns.

    own      the probability given to the true person, on average; highest: of the most exposed one
    best     the probability of the likeliest person, on average
    nearly   the share of records whose likeliest person has more than 90 %
    certain  the share of records that can only be one person's
    """

    own: float
    highest: float
    best: float
    nearly: float
    certain: float

    def sentence(self) -> str:
        return (
            "Somebody who also knew the hidden groups and the probabilities would give the true person behind a record "
            f"{self.own:.1%} on average, and be more than 90 % sure of somebody for {self.nearly:.1%} of the records."
        )


@dataclass(frozen=True)
class Belief:
    """What somebody who knows groups and probabilities believes of sensitive values, seeing all columns of all records.

    own     the probability given to a person's true value, on average
    alone   the same for somebody who knows the groups only: what the ceilings are about
    above   the share of people of whom some value is believed with more than its ceiling; None without ceilings
    """

    own: float
    alone: float
    above: float | None

    def sentence(self) -> str:
        beyond = "" if self.above is None else f", and some value of {self.above:.1%} of the people above its ceiling"
        return (
            f"They would believe the true sensitive value of a person with {self.own:.1%} on average "
            f"({self.alone:.1%} from the hidden groups alone){beyond}."
        )


@dataclass(frozen=True)
class Column:
    """One quasi-identifier: the greatest probability that one person of a group is the origin of a shown value."""

    name: str
    delta: float
    holds: bool


@dataclass(frozen=True)
class MaskedView:
    """What a masked release gives away to whom.

    promise      "column" or "record": which delta-probability it is
    columns      reached in each column
    carried      do the ceilings on sensitive values hold in every column of every table, too? None without ceilings
    posterior    of somebody who knows groups and probabilities
    belief       in sensitive values, of the same; None where there are none
    matching     of somebody who knows neither and matches records with what they know of a person (section 5.1)
    """

    promise: str
    columns: tuple[Column, ...]
    carried: bool | None
    posterior: Posterior
    belief: Belief | None
    matching: Recognition

    def headline(self) -> str:
        """What a promise about single columns leaves open, in one sentence."""
        return (
            "Nothing is promised for several columns together: somebody who has only these records and knows all "
            f"quasi-identifiers of a person takes the right record for theirs with {self.found:.1%} on average; who "
            f"also knew the hidden groups and the probabilities, with {self.posterior.own:.1%}."
        )

    @property
    def found(self) -> float:
        """How often the own record of a person is found, on average, when that is tried in the best way."""
        return self.matching.at(self.matching.worst()).identity

    def sentences(self) -> Iterator[str]:
        if self.promise == "column":
            yield (
                "The promise is about single columns (column delta-probability). All columns together say more, and "
                "what they say is bounded by nothing but chance and what stays secret."
            )
            yield self.matching.sentence()
            yield self.posterior.sentence()
            if self.belief is not None:
                yield self.belief.sentence()
            if self.carried is not None:
                every = "also in every column of every table" if self.carried else "in the hidden groups only"
                yield f"The ceilings on sensitive values are kept {every}, not for all columns together."
        else:
            yield (
                "The promise is about whole records (record delta-probability), also for somebody who knows groups, "
                "quasi-identifiers and the method; who knows a person's sensitive value finds the records with it."
            )
            yield self.matching.sentence()

    def as_dict(self) -> dict[str, Any]:
        return {
            "promise": self.promise,
            "columns": {each.name: each.delta for each in self.columns},
            "carried": self.carried,
            "posterior": asdict(self.posterior),
            "belief": None if self.belief is None else asdict(self.belief),
            "matching": self.matching.as_dict(),
        }


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What somebody knows who has groups, tables and everybody's quasi-identifiers, in front of the records.

    people, record   the class of every person, and of everybody's own record: equal ones are looked at once
    known            the classes for the compiled loops; None where whole records are exchanged
    """

    cover: Cover
    people: Ints
    record: Ints
    known: Known | None


def knowledge(cover: Cover, table: Table, shown: Codes) -> Knowledge:
    """shown: the codes on everybody's record."""
    group = cover.partition.group
    if cover.joint:
        return Knowledge(cover, group.astype(np.int64), group.astype(np.int64), None)
    from oneoff.kernels.posteriors import Known

    order = np.argsort([-len(np.unique(column)) for column in shown.T], kind="stable")  # the most telling column first
    tables, own, shown = [cover.tables[j] for j in order.tolist()], table.codes[:, order], shown[:, order]
    quasi = [table.quasi[j] for j in order.tolist()]
    offset = offsets([each.rows for each in tables])
    row = np.stack([each.row + offset[j] for j, each in enumerate(tables)], axis=1)
    people = look_alikes([group, *(column for both in zip(row.T, own.T, strict=True) for column in both)])
    record = look_alikes([group, *shown.T])
    (first, people_start), (shows, record_start) = (_firsts(each, group) for each in (people, record))
    entries = np.concatenate([np.diff(each.start) for each in tables])
    known = Known(
        own=own[first],
        row=row[first],
        people=np.bincount(people),
        people_start=people_start,
        shown=shown[shows],
        records=np.bincount(record),
        record_start=record_start,
        start=offsets(entries),
        code=np.concatenate([each.code for each in tables]),
        chance=np.concatenate([each.weight for each in tables]) / TOTAL,
        again=_again(cover, quasi, own, order),
    )
    return Knowledge(cover, people, record, known)


def _firsts(classes: Ints, group: Codes) -> tuple[Ints, Ints]:
    """Somebody of each class, and where the classes of each group begin; groups come in order."""
    first = np.unique(classes, return_index=True)[1]
    return first, np.searchsorted(group[first], np.arange(int(group.max()) + 2))


def _again(cover: Cover, quasi: list[Attribute], own: Codes, order: Ints) -> Floats:
    """[group]: the share of each quasi-identifier in being changed afterwards, over the other values there are in it;
    what products of shares are divided by; how many quasi-identifiers are changed."""
    group, redraw = cover.partition.group, cover.redraw
    if redraw is None:
        return np.zeros((cover.partition.groups, len(order) + 2))
    odds, many = redraw.odds[:, order].astype(np.float64), redraw.many
    share = odds / np.maximum(odds.sum(axis=1), 1.0)[:, None]
    others = [drawn_from(each, codes, group).lengths - 1 for each, codes in zip(quasi, own.T, strict=True)]
    whole = redraw.products[0, many, np.arange(len(many))] / np.maximum(odds.sum(axis=1), 1.0) ** many
    each_other = share / np.maximum(np.stack(others, axis=1), 1)
    return np.concatenate([each_other, np.where(many > 0, whole, 0.0)[:, None], many[:, None]], axis=1)


def record_posterior(seen: Knowledge) -> Floats:
    """[i]: the probability that i's record is theirs, and that of the likeliest person, given all columns and tables.

    The record is looked at by itself: everybody in the group is equally likely to be behind it before it is seen.
    """
    known, group = seen.known, seen.cover.partition.group
    if known is None:
        size = seen.cover.partition.size[group]
        return np.stack([1 / size, 1 / size], axis=1)
    from oneoff.kernels.posteriors import pair_chances, record_totals
    from oneoff.kernels.threads import spread

    totals, mine = np.zeros((len(known.records), 2)), np.zeros(len(group))
    pairs = np.stack([seen.people, seen.record], axis=1)
    spread(lambda a, b: record_totals(known, totals, a, b), seen.cover.partition.groups)
    spread(lambda a, b: pair_chances(known, pairs, group, mine, a, b), len(group))
    whole = np.where(totals[:, 0] > 0, totals[:, 0], 1.0)
    return np.stack([mine / whole[seen.record], (totals[:, 1] / whole)[seen.record]], axis=1)


def value_belief(seen: Knowledge, values: Codes, ceilings: Floats | None) -> Belief:
    """What they believe of everybody's sensitive value: the person's records are those they may have shown.

    The person is looked at by themselves: every record of the group is equally likely to be theirs before it is seen.
    """
    known, partition = seen.known, seen.cover.partition
    shares = _shares_of_own(partition.group, values)
    limits = np.ones(int(values.max()) + 1) if ceilings is None else np.maximum(ceilings, np.finfo(np.float64).tiny)
    if known is None:
        beliefs = float(shares.sum())
        broken = np.unique(partition.group[shares > limits[values] * _ROUNDED])
        above = int(partition.size[broken].sum())
    else:
        from oneoff.kernels.posteriors import belief_in_values
        from oneoff.kernels.threads import spread

        found = np.zeros((len(known.people), 2))
        shows, has = _counted(seen.record, values), _counted(seen.people, values)
        spread(lambda a, b: belief_in_values(known, *shows, *has, limits, found, a, b), partition.groups)
        beliefs = float(found[:, 0].sum())
        above = int(known.people[found[:, 1] > _ROUNDED].sum())
    people = len(values)
    return Belief(beliefs / people, float(shares.mean()), None if ceilings is None else above / people)


def _shares_of_own(group: Codes, values: Codes) -> Floats:
    """[i]: how common the value of person i is in the group."""
    alike = look_alikes([group, values])
    return np.asarray(np.bincount(alike)[alike] / np.bincount(group)[group])


def _counted(classes: Ints, values: Codes) -> tuple[Ints, Ints]:
    """(value, how many) of the members of each class, and where those of each class begin."""
    width = int(values.max()) + 1
    key, many = np.unique(classes * width + values, return_counts=True)
    return np.stack([key % width, many], axis=1), np.searchsorted(key // width, np.arange(int(classes.max()) + 2))


def posterior_of(found: Floats) -> Posterior:
    own, best = found.T
    return Posterior(
        own=float(own.mean()),
        highest=float(own.max()),
        best=float(best.mean()),
        nearly=float((best > 0.9).mean()),
        certain=float((best >= 1 - 1e-12).mean()),
    )


def risk_of_posteriors(own: Floats) -> Risk:
    """Probabilities of recognising people for somebody who knows groups and probabilities."""
    exposed = own > 1 / SMALL + 1e-12
    return Risk(
        highest=float(own.max()),
        average=float(own.mean()),
        unique=float((own >= 1 - 1e-12).mean()),
        small=float(exposed.mean()),
        people_at_risk=int(exposed.sum()),
        share_at_risk=float(exposed.mean()),
    )
