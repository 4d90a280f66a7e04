"""What is said of releases that bound how far anybody's odds move, whatever they know: noisy counts, drawn values.

Both have an epsilon (`models.odds`), say nothing exact about the totals of values, and are promises of how they were
made: no file proves that chance had its part in it.
"""

from __future__ import annotations

import math

import numpy as np

from oneoff.models import CapModel, Limits, Model, Prior
from oneoff.models.odds import highest_belief, lowest_belief
from oneoff.releases import Published
from oneoff.table import Table
from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["counts_in", "kept_by_odds", "remarks"]

_DOUBT = 6  # standard errors that an estimated share may be off
_ESTIMATED = " Shares of values are estimates here: that epsilon fits the exact ones is taken on trust, too."


def counts_in(release: Published, table: Table) -> Ints | None:
    """People of the table with each value that the release knows; None where they have others."""
    assert release.sensitive is not None
    if table.sensitive is None:
        return None
    code = table.sensitive.codes_in(release.sensitive)
    if (code[table.counts > 0] < 0).any():
        return None
    found = np.zeros(release.sensitive.size, dtype=np.int64)
    np.add.at(found, code[code >= 0], table.counts[code >= 0])
    return found


def kept_by_odds(part: Model, epsilon: float, prior: Prior, error: Floats) -> bool:
    """Does this epsilon keep the promise for these shares? Shares that are estimates get the benefit of the doubt."""
    if epsilon <= part.epsilon(prior):
        return True
    if not isinstance(part, CapModel) or not part.epsilon_from_shares or not error.any():
        return False
    return not _contradicted(part, epsilon, prior, error)


def _contradicted(part: CapModel, epsilon: float, prior: Prior, error: Floats) -> bool:
    """Is a belief too high, or too low, even for a share as far off as an estimate can be?"""
    limits = part.caps(prior)
    off = np.ceil(_DOUBT * error).astype(np.int64)
    for v in np.flatnonzero(_broken(limits, epsilon, np.array(prior.count), off)).tolist():
        others = [_moved(prior, v, int(by)) for by in (-off[v], off[v])]  # a ceiling may follow from the share itself
        if all(_broken(part.caps(each), epsilon, np.array(each.count), off)[v] for each in others):
            return True
    return False


def _broken(limits: Limits, epsilon: float, count: Ints, off: Ints) -> Flags:
    """Of each value by itself."""
    total = int(count.sum())
    least, most = (np.clip(count + by, 0, total) / total for by in (-off, off))
    high = np.array([highest_belief(p, epsilon) for p in least.tolist()])
    low = np.array([lowest_belief(p, epsilon) for p in most.tolist()])
    floor = np.zeros(len(count)) if limits.floor is None else np.array([float(f) for f in limits.floor])
    broken: Flags = (high > np.array([float(c) for c in limits.ceiling])) | (low < floor)
    return broken


def _moved(prior: Prior, value: int, by: int) -> Prior:
    """With so many people more who have the value, but not fewer than none."""
    count = list(prior.count)
    count[value] = max(0, min(prior.total, count[value] + by))
    return Prior(tuple(count))


def remarks(epsilon: float, allowed: float, chance: str, *, estimated: bool) -> tuple[str, ...]:
    """What epsilon means for a person, for people like them, and for somebody who knows the totals; what is on trust.

    allowed   what the promise allows epsilon to be
    chance    what nobody can see: "noise was drawn as described"
    """
    return (
        f"A person's own value changes anybody's odds about that person at most {math.exp(epsilon):.3g}-fold (epsilon "
        f"{epsilon:.3g}), whatever they know.",
        "What the table shows of people like them, it shows with or without them; that is not bounded, and is the "
        "point of publishing.",
        _totals(epsilon, kept=2 * epsilon <= allowed),
        f"That {chance} cannot be seen in any file: it is a promise of the method, taken on trust."
        + _ESTIMATED * estimated,
    )


def _totals(epsilon: float, *, kept: bool) -> str:
    who, twice = "Somebody who knows exactly how many people have each value", math.exp(2 * epsilon)
    if kept:
        return f"{who} and nothing else gains at most {twice:.3g}-fold, which the promise allows, too."
    return (
        f"{who} and nothing else can gain up to {twice:.3g}-fold if chance has it so; the more people there are, the "
        f"less likely it is to be noticeably more than {math.exp(epsilon):.3g}-fold. --option totals=known holds them "
        "to the promise whatever chance does."
    )
