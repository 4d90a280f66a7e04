"""Counts with noise, and what can be made of them: the part of a release that differential privacy is about.

The noise is drawn by OpenDP, whose sampler is exact and uses the operating system's randomness; its privacy map is the
accountant. A run with a seed draws it from the run's own generator instead, which is not fit for secrets: such a run
is for tests.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oneoff.errors import Defect
from oneoff.table.arrays import Floats, Ints

__all__ = ["SENSITIVITY", "consistent", "noisy", "people_near", "variance", "whole"]

SENSITIVITY = 2  # one changed value lowers one count by 1 and raises another by 1
_ROUNDS = 60  # of fitting rows and columns in turn


def noisy(counts: Ints, epsilon: float, rng: np.random.Generator | None = None) -> Ints:
    """Every count with two-sided geometric noise: noise x has a probability proportional to exp(-|x| epsilon / 2).

    rng   draw from this generator, for a run that can be repeated; by default OpenDP draws
    """
    if rng is not None:
        stop = -math.expm1(-epsilon / SENSITIVITY)
        return counts + rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape)
    return np.array(_measurement(epsilon)(counts.ravel().tolist()), dtype=np.int64).reshape(counts.shape)


def _measurement(epsilon: float) -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    scale = math.nextafter(SENSITIVITY / epsilon, math.inf)
    made: Any = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
    if made.map(SENSITIVITY) > epsilon:
        raise Defect("the noise is less than the promise needs", got=f"{made.map(SENSITIVITY)} for {epsilon}")
    return made


def variance(epsilon: float) -> float:
    """Of the noise of one count."""
    share = math.exp(-epsilon / SENSITIVITY)
    return 2 * share / (1 - share) ** 2


def consistent(counts: Ints, people: Ints) -> Floats:
    """Noisy counts [field, value] moved so that those of a field add up to its people: unbiased, with less noise."""
    moved: Floats = counts - ((counts.sum(axis=1) - people) / counts.shape[1])[:, None]
    return moved


def whole(counts: Ints, people: Ints, rng: np.random.Generator) -> Ints:
    """Whole numbers of people that come near noisy counts: none below 0, rows that add up to the people of each field,
    and columns near the totals over all fields, which noise has changed least."""
    raw = consistent(counts, people)
    total = _on_simplex(raw.sum(axis=0)[None], np.array([people.sum()], dtype=np.float64))[0]
    fitted = _on_simplex(raw, people.astype(np.float64))
    for _ in range(_ROUNDS):
        columns = fitted.sum(axis=0)
        fitted *= np.divide(total, columns, out=np.ones_like(total), where=columns > 0)
        rows = fitted.sum(axis=1)
        fitted *= np.divide(people, rows, out=np.ones(len(rows)), where=rows > 0)[:, None]
    return _rounded(fitted, people, rng)


def people_near(estimate: Floats, people: int) -> Ints:
    """Whole numbers of so many people with each value that come near an estimate, and at least one for each value."""
    near = _on_simplex(estimate[None], np.array([people], dtype=np.float64))[0]
    made = np.floor(near).astype(np.int64)
    missing = people - int(made.sum())
    made[np.argsort(made - near, kind="stable")[:missing]] += 1
    at_least_one: Ints = np.maximum(made, 1)
    return at_least_one


def _on_simplex(rows: Floats, sums: Floats) -> Floats:
    """The nearest rows with no entry below 0 and these sums."""
    falling = -np.sort(-rows, axis=1)
    over = (np.cumsum(falling, axis=1) - sums[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = (falling > over).sum(axis=1) - 1
    nearest: Floats = np.maximum(rows - np.take_along_axis(over, last[:, None], axis=1), 0.0)
    return nearest


def _rounded(rows: Floats, sums: Ints, rng: np.random.Generator) -> Ints:
    """Whole entries with the same expectations, in rows that keep their sums: one draw of chance for each row."""
    ends = np.cumsum(rows, axis=1)
    ends[:, -1] = sums  # to the digit
    marks = np.floor(np.minimum(ends, sums[:, None]) + rng.random(len(rows))[:, None])
    marks[:, -1] = sums
    return np.diff(marks, axis=1, prepend=0.0).astype(np.int64)
