"""Weights in a release: are the means those of the people, and what is to be said of them?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oneoff.audit.verdict import Verdict
from oneoff.releases import Generalized, Published, Tallied
from oneoff.releases.weights import ROUNDING
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints
from oneoff.table.weights import MOST_APART, telling

__all__ = ["about_weights", "weight_problems"]

_ALONE = "a mean weight is that of one person alone"
_SAID = (
    "Mean weights are published, too. They are in no promise: weights are taken to be known, as quasi-identifiers are, "
    "and to be made without the sensitive column."
)


def about_weights(verdict: Verdict, release: Published) -> Verdict:
    """With what a reader must know where weights go out; a mean of one person is that person's own."""
    if release.weights is None:
        return verdict
    alone = _least(release) < 2
    problems = (*verdict.problems, *((_ALONE,) if alone else ()))
    return replace(verdict, holds=verdict.holds and not alone, problems=problems, remarks=(_SAID, *verdict.remarks))


def _least(release: Published) -> int:
    """The people in the smallest group or cell that a mean is of."""
    size = release.people_in_box if isinstance(release, Generalized) else None
    size = release.tallies.size if isinstance(release, Tallied) else size
    return 0 if size is None else int(size.min())


def weight_problems(release: Published, table: Table, cell: Ints | Codes) -> list[str]:
    """Reasons not to trust the weights of a release, when cell[i] is that of person i of the table."""
    weights, own = release.weights, table.weight
    if weights is None or own is None:
        return []
    if weights.name != own.name:
        return [f"the weights of the release are those of {weights.name!r}, and those of the table of {own.name!r}"]
    sums, size = np.zeros(len(weights.mean)), np.zeros(len(weights.mean))
    np.add.at(sums, cell, own.each)
    np.add.at(size, cell, 1)
    found = []
    if (np.abs(weights.mean * size - sums) > 2 * ROUNDING * sums).any():
        found.append("a published mean weight is not that of the people it is of")
    told = telling(table, cell) if isinstance(release, Tallied) else None
    if told is not None and abs(told.apart) > MOST_APART:
        found.append(f"mean weights say who has which value: {told.sentence(own.name)} than others of their cell")
    return found
