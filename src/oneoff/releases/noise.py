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

__all__ = [
    "chosen",
    "consistent",
    "geometric",
    "noisy",
    "on_simplex",
    "people_near",
    "sensitivity",
    "variance",
    "variance_of_sum",
]


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
        first = geometric(counts[:, :1], epsilon, most, rng)
        return np.concatenate([first, counts.sum(axis=1, keepdims=True) - first], axis=1)
    return geometric(counts, epsilon, most, rng)


def geometric(counts: Ints, epsilon: float, most: int, rng: np.random.Generator | None) -> Ints:
    """Counts with noise of scale most / epsilon, where those of neighbours differ by at most `most` in sum."""
    if rng is not None:
        stop = -math.expm1(-epsilon / most)
        return counts + rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape)
    return np.array(_measurement(epsilon, most)(counts.ravel().tolist()), dtype=np.int64).reshape(counts.shape)


def wide_enough(most: int, epsilon: float) -> float:
    """The scale most / epsilon, not rounded down."""
    return math.nextafter(most / epsilon, math.inf)


def _measurement(epsilon: float, most: int) -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    scale = wide_enough(most, epsilon)
    made: Any = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
    if made.map(most) > epsilon:
        raise Defect("the noise is less than the promise needs", got=f"{made.map(most)} for {epsilon}")
    return made


def chosen(scores: Ints, epsilon: float, most: int, rng: np.random.Generator | None = None) -> int:
    """The place of a score that is high, the highest most likely: noise that falls exponentially is added to all.

    most   by how much any score of neighbours differs; scores are whole numbers, so that nothing is rounded
    """
    scale = wide_enough(2 * most, epsilon)
    if rng is not None:
        return int(np.argmax(scores + rng.exponential(scale, len(scores))))
    return int(_selection(scale, epsilon, most)(scores.tolist()))


def _selection(scale: float, epsilon: float, most: int) -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64")
    made: Any = make_noisy_max(*space, max_divergence(), scale=scale)
    if made.map(most) > epsilon:
        raise Defect("the choice is less random than the promise needs", got=f"{made.map(most)} for {epsilon}")
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
    near = on_simplex(estimate[None], np.array([people], dtype=np.float64))[0]
    made = np.floor(near).astype(np.int64)
    missing = people - int(made.sum())
    made[np.argsort(made - near, kind="stable")[:missing]] += 1
    at_least_one: Ints = np.maximum(made, 1)
    return at_least_one


def on_simplex(rows: Floats, sums: Floats) -> Floats:
    """The nearest rows with no entry below 0 and these sums."""
    falling = -np.sort(-rows, axis=1)
    over = (np.cumsum(falling, axis=1) - sums[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = (falling > over).sum(axis=1) - 1
    nearest: Floats = np.maximum(rows - np.take_along_axis(over, last[:, None], axis=1), 0.0)
    return nearest
