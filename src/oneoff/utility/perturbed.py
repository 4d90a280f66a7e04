"""What perturbed values are still good for: the people meant are known, and what they show is led back through the
channel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.releases import Perturbed
from oneoff.releases.exact import ValuesShown
from oneoff.table import Table
from oneoff.table.arrays import Floats
from oneoff.utility.aggregates import Aggregates, Answers, columns_of, sums
from oneoff.utility.counting import weights_meant
from oneoff.utility.loss import Utility, Yardsticks, nothing_blurred
from oneoff.utility.shape import Columns, of_columns
from oneoff.utility.workload import Workload

__all__ = ["answer", "as_rows", "estimate", "led_back", "measure", "unbounded"]


def measure(release: Perturbed, table: Table | None, by: Yardsticks) -> Utility:
    people, matrix = release.counts / release.counts.sum(), release.channel.matrix
    inverse = np.linalg.inv(matrix)
    variance = (inverse**2).sum(axis=0) @ (matrix @ people) - 1  # of all reconstructed counts, for each person
    error = float(np.sqrt(max(variance, 0.0) * len(people) / release.rows))
    return replace(nothing_blurred(release), retention=float(np.diag(matrix) @ people), value_error=error)


def estimate(release: Perturbed, table: Table, queries: Workload) -> Floats:
    """Published counts led back through the channel, never fewer than none and never more than the people meant."""
    found, people = unbounded(release, table, queries)
    return np.asarray(np.clip(found, 0.0, people))


def unbounded(release: Perturbed, table: Table, queries: Workload) -> Floats:
    """[2, query]: the same as they are, which is right on average also when parts of a release are added up; and the
    people meant."""
    values, inverse = len(table.counts), np.linalg.inv(release.channel.matrix).astype(np.float64)
    each, all_of_them = np.arange(values + 1) * values, np.tile(np.arange(values), values)
    led_back = ValuesShown(release.values, each, all_of_them, inverse.T.ravel())
    return weights_meant(release.codes_in(table), led_back, queries).T[::-1]


def as_rows(release: Perturbed, rng: np.random.Generator) -> Columns:
    """Values as they are shown: `led_back` makes of counts of them what is known of the true ones."""
    return of_columns(release, release.codes, release.values)


def led_back(release: Perturbed, counts: Floats) -> Floats:
    """[..., value]: right on average, and never fewer than none."""
    return np.asarray(np.maximum(np.linalg.solve(release.channel.matrix, counts.T).T, 0.0))


def answer(release: Perturbed, table: Table, numbers: Floats, queries: Aggregates) -> Answers:
    """Sums led back through the channel, never beyond those of people who all have the least or the greatest value."""
    weight: Floats = np.linalg.solve(release.channel.matrix.T, numbers).astype(np.float64)
    found = sums(columns_of(release, table), weight[release.values], queries)
    people = found[:, 0]
    return Answers(np.stack((people, np.clip(found[:, 1], people * numbers.min(), people * numbers.max())), axis=1))
