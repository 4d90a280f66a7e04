"""What noisy tallies are still good for, counted as a recipient would: with what is fitted to the noisy counts."""

from __future__ import annotations

import math

import numpy as np

from oneoff.errors import BadValue
from oneoff.models import Counts
from oneoff.releases import Tallied
from oneoff.releases.noise import variance_of_sum
from oneoff.releases.published import renamed
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Floats, Ints, offsets
from oneoff.utility.aggregates import Aggregates, Answers
from oneoff.utility.loss import Utility, Yardsticks
from oneoff.utility.workload import MOST_CELLS, Workload

__all__ = ["answer", "estimate", "measure"]


def measure(release: Tallied, table: Table | None, by: Yardsticks) -> Utility:
    """What cells blur is what their people do not have in common; counts of values are off by their noise."""
    size, rows = release.tallies.size, release.rows
    blurred = {
        attribute.name: float(size @ _spread(attribute, counts) / rows)
        for attribute, counts in zip(release.quasi, release.tallies.columns, strict=True)
    }
    off = math.sqrt(variance_of_sum(release.epsilon, len(release.counts)) * release.fields) / (
        rows / len(release.counts)
    )
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
    """`Tallied.count` for many questions at once."""
    from oneoff.kernels.queries import fitted_counts

    fitted, tallies = release.fitted, release.tallies
    if tallies.groups * len(release.counts) > 4 * MOST_CELLS:
        raise BadValue("the release has too many cells for a workload of queries", allowed="fewer cells or values")
    place = np.array([release.place_of(attribute.name) for attribute in table.quasi])
    first = offsets([attribute.size for attribute in table.quasi])
    entries = [tallies.columns[j] for j in place]
    names = [renamed(release.quasi[j], attribute) for j, attribute in zip(place, table.quasi, strict=True)]
    effect = np.zeros((int(first[-1]), len(release.counts)))
    for i, j in enumerate(place):
        effect[first[i] + names[i]] = fitted.effect[j]
    begin = offsets([len(counts.value) for counts in entries])
    found: Floats = fitted_counts(
        np.stack([counts.start + begin[i] for i, counts in enumerate(entries)]),
        np.concatenate([names[i][counts.value] + first[i] for i, counts in enumerate(entries)]),
        np.concatenate([counts.count for counts in entries]),
        _below(fitted.cells()),
        _below(effect),
        _asked(queries, first),
    )
    return found


def _below(numbers: Floats) -> Floats:
    """Of all values below v."""
    below = np.zeros((len(numbers), numbers.shape[1] + 1))
    np.cumsum(numbers, axis=1, out=below[:, 1:])
    return below


def _asked(queries: Workload, first: Ints) -> Ints:
    """First and last value, then column, first and last code of each column asked about, codes numbered through."""
    columns = np.array(queries.columns)[queries.subset]
    asked = np.empty((len(queries), 2 + 3 * columns.shape[1]), dtype=np.int64)
    asked[:, 0], asked[:, 1], asked[:, 2::3] = queries.low[:, -1], queries.high[:, -1], columns
    asked[:, 3::3], asked[:, 4::3] = first[columns] + queries.low[:, :-1], first[columns] + queries.high[:, :-1]
    return asked


def answer(release: Tallied, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    """Cell by cell: the part of its people that fits, each with the average number of the cell."""
    tallies = release.tallies
    shown = [
        tallies.matrix(j, renamed(a, table.attribute(a.name)), table.attribute(a.name).size) / tallies.size[:, None]
        for j, a in enumerate(release.quasi)
    ]
    mean = (release.fitted.cells() @ numbers) / tallies.size
    found = np.empty((len(queries), 2))
    for q in range(len(queries)):
        meant = tallies.size * np.prod([shown[j] @ allowed for j, allowed in queries.predicates(q)], axis=0)
        found[q] = meant.sum(), meant @ mean
    return Answers(found)
