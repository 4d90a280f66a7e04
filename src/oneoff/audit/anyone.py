"""What is said of releases that bound how far anybody's odds move, whatever they know: noisy counts, drawn values.

Both have an epsilon (`models.odds`), say nothing exact about the totals of values, and are promises of how they were
made: no file proves that chance had its part in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oneoff.errors import listing
from oneoff.models import CapModel, Limits, Model, Prior
from oneoff.models.odds import highest_belief, lowest_belief
from oneoff.releases import Published
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Flags, Floats, Ints

__all__ = ["Odds", "Words", "counts_in", "kept_by_odds", "remarks"]

_DOUBT = 6  # standard errors that an estimated share may be off
_TOO_MUCH = 100.0  # epsilon of a file that promises nothing
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


@dataclass(frozen=True)
class Words:
    """What is said in other words of noisy counts than of drawn values.

    chance    what nobody can see, to be read after "that"
    checked   what anybody can check, to be read after "What was checked:"
    parts     of several sensitive columns: what each has of epsilon
    """

    chance: str
    checked: str
    parts: tuple[tuple[str, float], ...] = ()

    def moves(self, epsilon: float) -> str:
        """How far a person's own values move odds, and whose: to be read before what becomes of a belief."""
        fold = f"anybody's odds about that person at most {_fold(epsilon)}"
        if not self.parts:
            return f"A person's own value changes {fold} (epsilon {epsilon:.3g}), whatever they know"
        split = " + ".join(f"{part:.3g} for the counts of {name!r}" for name, part in self.parts)
        return (
            f"A person's own values in all sensitive columns together change {fold} (epsilon {epsilon:.3g}: {split}), "
            "whatever they know, that person's other values included"
        )


def remarks(epsilon: float, allowed: float, odds: Odds, words: Words) -> tuple[str, ...]:
    """What epsilon means for a person, for people like them, and for somebody who knows the totals; what is on trust.

    allowed   what the promise allows epsilon to be
    """
    moved, becoming = words.moves(epsilon), odds.sentence(epsilon)
    column = f" of {odds.sensitive.name!r}" if words.parts else ""
    first: tuple[str, ...]
    if words.parts:  # the first is said once, the second of each column
        first = (f"{moved}.", f"Of {odds.sensitive.name!r}: {becoming or 'everybody has the same value'}.")
    else:
        first = (f"{moved}{'; ' * bool(becoming)}{becoming}.",)
    return (
        *first,
        "What the table shows of people like them, it shows with or without them; that is not bounded, and is the "
        "point of publishing.",
        _totals(epsilon, column, kept=2 * epsilon <= allowed),
        f"What was checked: {words.checked}. That {words.chance} cannot be seen in any file: it is a promise of the "
        f"method, taken on trust.{_ESTIMATED * odds.estimated}",
    )


@dataclass(frozen=True, eq=False)
class Odds:
    """Shares to say what epsilon means for: those of the table, or estimated ones."""

    prior: Prior
    sensitive: Attribute
    estimated: bool

    def sentence(self, epsilon: float) -> str:
        """What the belief in the rarest and in the most common value can become; nothing where there is only one."""
        people = np.array(self.prior.count)
        if (people > 0).sum() < 2:
            return ""
        if self.estimated:  # beliefs of two sizes stand for those of values whose shares are not known
            return _becoming((0.01, "", ""), (0.1, "", ""), epsilon)
        rarest, common = int(np.where(people > 0, people, people.max() + 1).argmin()), int(people.argmax())
        names = [f" in '{listing([self.sensitive.labels[v]], width=40)}', which" for v in (rarest, common)]
        shares = [float(people[v] / people.sum()) for v in (rarest, common)]
        return _becoming((shares[0], names[0], " the fewest have,"), (shares[1], names[1], " most have,"), epsilon)


def _becoming(one: tuple[float, str, str], other: tuple[float, str, str], epsilon: float) -> str:
    """A belief, in what, and how many have it: twice."""
    (p, value, few), (q, another, many) = one, other
    low, high = (f"{100 * highest_belief(share, epsilon):.3g}%" for share in (p, q))
    return (
        f"a belief of {100 * p:.3g}%{value}{few} becomes at most {low}, and one of {100 * q:.3g}%{another}{many} at "
        f"most {high}"
    )


def _fold(epsilon: float) -> str:
    return "infinitely" if epsilon > _TOO_MUCH else f"{math.exp(epsilon):.3g}-fold"


def _totals(epsilon: float, column: str, *, kept: bool) -> str:
    who, twice = f"Somebody who knows exactly how many people have each value{column}", _fold(2 * epsilon)
    if kept:
        return f"{who} and nothing else gains at most {twice}, which the promise allows, too."
    return (
        f"{who} and nothing else can gain up to {twice} if chance has it so; the more people there are, the "
        f"less likely it is to be noticeably more than {_fold(epsilon)}. --option totals=known holds them "
        "to the promise whatever chance does."
    )
