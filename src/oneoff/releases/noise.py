"""Counts with noise, and what can be made of them: the part of a release that differential privacy is about.

The noise is drawn by OpenDP, whose sampler is exact and uses the operating system's randomness; its privacy map is the
accountant. A run with a seed draws it from the run's own generator instead, by formulas that round: such a run is for
tests.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oneoff.errors import Defect
from oneoff.table.arrays import Floats, Ints

__all__ = ["consistent", "noisy", "people_near", "sensitivity", "variance", "variance_of_sum"]


def sensitivity(values: int) -> int:
    """By how much the counts of neighbours differ in sum: one changed value lowers one count by 1 and raises another.

    Of two values only the first is counted: the second is what is left of the people of a field, whose number is known.
    """
    return 1 if values == 2 else 2


def noisy(counts: Ints, epsilon: float, rng: np.random.Generator | None = None) -> Ints:
    """counts[field, value] with two-sided geometric noise: x has a probability proportional to
    exp(-|x| epsilon / sensitivity).

    rng   draw from this generator, for a run that can be repeated; by default OpenDP draws
    """
    most = sensitivity(counts.shape[1])
    if most == 1:
        first = _drawn(counts[:, :1], epsilon, most, rng)
        return np.concatenate([first, counts.sum(axis=1, keepdims=True) - first], axis=1)
    return _drawn(counts, epsilon, most, rng)


def _drawn(counts: Ints, epsilon: float, most: int, rng: np.random.Generator | None) -> Ints:
    if rng is not None:
        stop = -math.expm1(-epsilon / most)
        return counts + rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape)
    return np.array(_measurement(epsilon, most)(counts.ravel().tolist()), dtype=np.int64).reshape(counts.shape)


def _measurement(epsilon: float, most: int) -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    scale = math.nextafter(most / epsilon, math.inf)
    made: Any = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
    if made.map(most) > epsilon:
        raise Defect("the noise is less than the promise needs", got=f"{made.map(most)} for {epsilon}")
    return made


def variance(epsilon: float, values: int) -> float:
    """Of the noise of one count, where so many values are counted."""
    share = math.exp(-epsilon / sensitivity(values))
    return 2 * share / (1 - share) ** 2


def variance_of_sum(epsilon: float, values: int, wanted: int = 1) -> float:
    """Of the noise of so many counts of a field together, once all of them add up to its people."""
    if values == 2:
        return variance(epsilon, values) * (wanted == 1)
    return variance(epsilon, values) * wanted * (1 - wanted / values)


def consistent(counts: Ints, people: Ints) -> Floats:
    """Noisy counts [field, value] moved so that those of a field add up to its people: unbiased, with less noise."""
    moved: Floats = counts - ((counts.sum(axis=1) - people) / counts.shape[1])[:, None]
    return moved


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
