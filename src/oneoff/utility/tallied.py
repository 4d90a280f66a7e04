"""What noisy tallies are still good for: people of a cell have the values of its field, as far as noisy counts tell."""

from __future__ import annotations

import math

import numpy as np

from oneoff.models import Counts
from oneoff.releases import Tallied
from oneoff.releases.noise import variance
from oneoff.releases.published import renamed
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Floats
from oneoff.utility.aggregates import Aggregates, Answers
from oneoff.utility.loss import Utility, Yardsticks
from oneoff.utility.workload import Workload, from_cells

__all__ = ["answer", "estimate", "measure"]


def measure(release: Tallied, table: Table | None, by: Yardsticks) -> Utility:
    """What cells blur is what their people do not have in common; counts of values are off by their noise."""
    size, rows = release.tallies.size, release.rows
    blurred = {
        attribute.name: float(size @ _spread(attribute, counts) / rows)
        for attribute, counts in zip(release.quasi, release.tallies.columns, strict=True)
    }
    off = math.sqrt(variance(release.epsilon) * release.fields) / (rows / len(release.counts))
    return Utility(
        gcp=float(np.mean(list(blurred.values()))),
        gcp_set=None,
        ail=None,
        discernibility=int((size**2).sum()),
        average_class_size=rows / len(size),
        per_attribute=blurred,
        iloss=sum(blurred.values()),
        value_error=off,
    )


def _spread(attribute: Attribute, counts: Counts) -> Floats:
    """How much of its domain each cell spans: numbers by width, categories by how many of them occur."""
    low, high = counts.value[counts.start[:-1]], counts.value[counts.start[1:] - 1]
    if attribute.kind == "numeric":
        return np.asarray(attribute.scaled[high] - attribute.scaled[low])
    return (counts.distinct - 1) / max(attribute.size - 1, 1)


def estimate(release: Tallied, table: Table, queries: Workload) -> Floats:
    """People of a cell have the values of its field, as far as noisy counts tell, and any of its codes."""
    names = [release.place_of(attribute.name) for attribute in table.quasi]
    shares = [
        release.tallies.share_below(j, renamed(release.quasi[j], table.quasi[i]), table.quasi[i].size)
        for i, j in enumerate(names)
    ]
    part = release.tallies.size / release.people[release.field]
    return from_cells(shares, part[:, None] * _estimates(release, table)[release.field], queries)


def _estimates(release: Tallied, table: Table) -> Floats:
    """[field, value of the table]: the release may count values that nobody in the table has."""
    assert table.sensitive is not None
    assert release.sensitive is not None
    found: Floats = release.estimates[:, renamed(table.sensitive, release.sensitive)]
    return found


def answer(release: Tallied, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    """Cell by cell: the part of its people that fits, each with the average number of its field."""
    tallies = release.tallies
    shown = [
        tallies.matrix(j, renamed(a, table.attribute(a.name)), table.attribute(a.name).size) / tallies.size[:, None]
        for j, a in enumerate(release.quasi)
    ]
    mean = ((_estimates(release, table) @ numbers) / release.people)[release.field]
    found = np.empty((len(queries), 2))
    for q in range(len(queries)):
        meant = tallies.size * np.prod([shown[j] @ allowed for j, allowed in queries.predicates(q)], axis=0)
        found[q] = meant.sum(), meant @ mean
    return Answers(found)
