"""Who is behind a masked record: for somebody who knows groups and tables, and for somebody who does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.audit.recognition import Recognition
from oneoff.plans import Cover
from oneoff.plans.cover import TOTAL
from oneoff.table.classes import SMALL, Risk, look_alikes

__all__ = ["Column", "MaskedView", "Posterior", "posterior_of", "record_posterior", "risk_of_posteriors"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Posterior:
    """How surely somebody who knows groups and tables names the person behind a record, seeing all its columns.

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
            "Somebody who knew groups and tables would give the true person behind a record "
            f"{self.own:.1%} on average, and be more than 90 % sure of somebody for {self.nearly:.1%} of the records."
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
    posterior    of somebody who knows groups and tables
    matching     of somebody who knows neither and matches records with what they know of a person (section 5.1)
    """

    promise: str
    columns: tuple[Column, ...]
    carried: bool | None
    posterior: Posterior
    matching: Recognition

    def sentences(self) -> Iterator[str]:
        if self.promise == "column":
            yield "The promise is about single columns (column delta-probability), and rests on what stays secret:"
            yield self.posterior.sentence()
            if self.carried is not None:
                every = "also in every column of every table" if self.carried else "in the hidden groups only"
                yield f"The ceilings on sensitive values are kept {every}."
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
            "matching": self.matching.as_dict(),
        }


def record_posterior(cover: Cover, own: npt.NDArray[np.int32], shown: npt.NDArray[np.int32]) -> Floats:
    """[i]: the probability that i's record is theirs, and that of the likeliest person, given all columns and tables.

    The record is looked at by itself: everybody in the group is equally likely to be behind it before it is seen.
    """
    size = cover.partition.size[cover.partition.group]
    if cover.joint:
        return np.stack([1 / size, 1 / size], axis=1)
    from oneoff.kernels.posteriors import own_chances, record_totals
    from oneoff.kernels.threads import spread

    offset = np.concatenate(([0], np.cumsum([each.rows for each in cover.tables])))
    row = np.stack([each.row + offset[j] for j, each in enumerate(cover.tables)], axis=1)
    length = np.concatenate([np.diff(each.start) for each in cover.tables])
    row_start = np.concatenate(([0], np.cumsum(length)))
    codes, weights = ([getattr(each, name) for each in cover.tables] for name in ("code", "weight"))
    entries = np.stack([np.concatenate(codes).astype(np.int64), np.concatenate(weights)], axis=1)
    group = cover.partition.group
    shared = (own, shown, row, row_start, entries, _odds(cover, own), float(TOTAL))
    people, record = look_alikes([group, *row.T]), look_alikes([group, *shown.T])
    (first, many, start), (chosen, _, record_start) = (_firsts(each, group) for each in (people, record))
    totals, mine = np.zeros((len(chosen), 2)), np.zeros(len(group))
    everybody = np.stack([first, many], axis=1)
    spread(
        lambda a, b: record_totals(everybody, start, chosen, record_start, *shared, totals, a, b),
        cover.partition.groups,
    )
    spread(lambda a, b: own_chances(group, *shared, mine, a, b), len(group))
    whole = np.where(totals[:, 0] > 0, totals[:, 0], 1.0)
    return np.stack([mine / whole[record], (totals[:, 1] / whole)[record]], axis=1)


def _firsts(classes: Ints, group: npt.NDArray[np.int32]) -> tuple[Ints, Ints, Ints]:
    """Somebody of each class, how many there are, and where the classes of each group begin; groups come in order."""
    first, many = np.unique(classes, return_index=True, return_counts=True)[1:]
    return first, many, np.searchsorted(group[first], np.arange(int(group.max()) + 2))


def _odds(cover: Cover, own: npt.NDArray[np.int32]) -> Floats:
    """[group]: of being changed afterwards in each quasi-identifier, and the other values there."""
    odds = np.zeros((cover.partition.groups, len(cover.tables))) if cover.redraw is None else cover.redraw
    return np.concatenate([odds, _others(cover, own)], axis=1).astype(np.float64)


def _others(cover: Cover, own: npt.NDArray[np.int32]) -> Ints:
    """How many other values a group has in each quasi-identifier; at least 1, to divide by."""
    group = cover.partition.group.astype(np.int64)
    columns = []
    for j in range(own.shape[1]):
        width = int(own[:, j].max()) + 1
        columns.append(np.bincount(np.unique(group * width + own[:, j]) // width, minlength=cover.partition.groups))
    return np.maximum(np.stack(columns, axis=1) - 1, 1)


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
    """Chances of recognising people for somebody who knows groups and tables."""
    exposed = own > 1 / SMALL + 1e-12
    return Risk(
        highest=float(own.max()),
        average=float(own.mean()),
        unique=float((own >= 1 - 1e-12).mean()),
        small=float(exposed.mean()),
        people_at_risk=int(exposed.sum()),
        share_at_risk=float(exposed.mean()),
    )
