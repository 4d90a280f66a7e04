"""What people who do not exist are still good for: they are counted as if they did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.releases.synthetic import Synthetic
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Codes, Floats
from oneoff.utility.aggregates import Aggregates, Answers
from oneoff.utility.counting import people_meant
from oneoff.utility.loss import Utility, Yardsticks
from oneoff.utility.shape import Columns, of_columns
from oneoff.utility.workload import Workload

__all__ = ["answer", "as_rows", "estimate", "measure"]


def as_rows(release: Synthetic, rng: np.random.Generator) -> Columns:
    return of_columns(release, release.codes, release.values)


def measure(release: Synthetic, table: Table | None, by: Yardsticks) -> Utility:
    """Nothing is blurred, and nothing is true: what counts are off by says it all; and the noise in those of values."""
    error = float(release.prior_error.mean() * len(release.counts) / release.rows)
    return Utility(None, None, None, None, None, {}, value_error=error)


def estimate(release: Synthetic, table: Table, queries: Workload) -> Floats:
    """Rows whose numbers lie between those that a query asks for, whether anybody has them or not; a set of numbers
    means these alone."""
    columns = [_places(a, known)[release.codes[:, j]] for j, (a, known) in enumerate(_pairs(release, table))]
    assert table.sensitive is not None
    assert release.sensitive is not None
    codes, values = np.stack(columns, axis=1), _places(release.sensitive, table.sensitive)[release.values]
    if queries.inside is None:
        doubled = replace(queries, low=2 * queries.low, high=2 * queries.high)
        return people_meant(codes, values, doubled)[:, 1].astype(np.float64)
    return people_meant(_one_of_them(codes), _one_of_them(values), queries)[:, 1].astype(np.float64)


def answer(release: Synthetic, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    """The rows that fit, each with the number of its value; a number that nobody has counts as the next one below."""
    assert table.sensitive is not None
    assert release.sensitive is not None
    columns = [_places(a, known)[release.codes[:, j]] // 2 for j, (a, known) in enumerate(_pairs(release, table))]
    own = table.sensitive.codes_of(release.sensitive.labels)[release.values]
    number = np.where(own >= 0, numbers[own], 0.0)
    found = np.empty((len(queries), 2))
    for q in range(len(queries)):
        fits = [np.append(allowed, False)[columns[j]] for j, allowed in queries.predicates(q)]  # nobody is at -1
        meant = np.logical_and.reduce(fits)
        found[q] = np.count_nonzero(meant), number[meant].sum()
    return Answers(found)


def _pairs(release: Synthetic, table: Table) -> list[tuple[Attribute, Attribute]]:
    return [(attribute, table.attribute(attribute.name)) for attribute in release.quasi]


def _one_of_them(places: Codes) -> Codes:
    """Codes of the table, or -1 for labels that it does not have."""
    return np.where(places % 2 == 0, places // 2, -1).astype(np.int32)


def _places(attribute: Attribute, known: Attribute) -> Codes:
    """Where each label lies among those of the table: at 2 c where it is the one with code c, between two of them at
    the odd number between theirs; categories that the table does not have lie nowhere."""
    code = known.codes_of(attribute.labels)
    if known.kind != "numeric":
        return np.where(code < 0, -1, 2 * code).astype(np.int32)
    below = np.searchsorted(known.labels, attribute.labels)
    return np.where(code < 0, 2 * below - 1, 2 * code).astype(np.int32)
