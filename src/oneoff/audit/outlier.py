"""The outlier attack: the member who fits a group least is there because of its value.

A method that chooses members by quasi-identifiers and values together takes whoever is near, unless the promise
forbids it. A record that is hard to place ends up where it is allowed, not where it fits. So the member farthest
from the others has, more often than its share in the group says, the value that is hardest to place.

That is the rarest value where every value has a ceiling of its own (a ceiling near zero needs a large group), and the
one whose share in the whole table is nearest to its ceiling where it leaves hardly any slack (the most common value
under l-diversity).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from oneoff.audit.attack import Attack, AttackerView, Made, attacker_view
from oneoff.models import Model
from oneoff.releases import Generalized
from oneoff.table import Table
from oneoff.table.arrays import Floats, Ints

__all__ = ["Hard", "outlier_attack", "outlier_guesses"]

Hard = Literal["rarest", "tightest"]

FEWEST = 3  # people in a group that is attacked: of two, neither is farther from the other

_CLAIM = "Guessing that the member farthest from the others holds "
_CLAIMS: dict[Hard, str] = {
    "rarest": "the group's rarest value",
    "tightest": "the value of the group whose share in the whole table is nearest to its limit",
}
_NAMES: dict[Hard, str] = {"rarest": "outlier", "tightest": "outlier-tightest"}


def outlier_attack(release: Generalized, table: Table, model: Model, hard: Hard = "rarest") -> Attack | None:
    """Guess in every group that the farthest member has the value that is hardest to place.

    Distances are added up over the quasi-identifiers, each scaled to lie between 0 and 1; between members equally
    far the guess is right with the share of them that have the value. Linear in the number of people.
    None where it says nothing: no groups, no ceilings, all ceilings equally tight, or no group with a choice.
    """
    made = outlier_guesses(release, table, model, hard)
    return None if made is None else made.attack(_NAMES[hard], _CLAIM + _CLAIMS[hard], "groups")


def outlier_guesses(release: Generalized, table: Table, model: Model, hard: Hard = "rarest") -> Made | None:
    """The same, guess by guess."""
    seen = attacker_view(release, table, model)
    order = None if seen is None else _hardest_first(seen, hard)
    if seen is None or order is None:
        return None
    place = np.argsort(order)  # of each value among all, the hardest first
    guess = order[np.minimum.reduceat(place[seen.counts.value], seen.counts.start[:-1])]
    choice = (seen.counts.size >= FEWEST) & (seen.counts.distinct > 1) & (seen.ceiling[guess] < 1)
    if not choice.any():
        return None
    groups, guessed = np.flatnonzero(choice), guess[choice]
    farthest, right = _farthest(seen, guess)
    share = seen.share(groups, guessed)
    return Made(farthest[choice], guessed, right[choice], share, seen.ceiling[guessed], share, len(groups))


def _hardest_first(seen: AttackerView, hard: Hard) -> Ints | None:
    if hard == "rarest":
        return np.argsort(seen.prior, kind="stable")
    with np.errstate(divide="ignore"):
        slack = np.round(seen.ceiling * seen.prior.sum() / np.maximum(seen.prior, 1), 9)
    slack[seen.ceiling >= 1] = np.inf
    protected = slack[np.isfinite(slack)]
    if len(protected) == 0 or protected.min() == protected.max():
        return None
    return np.lexsort((-seen.prior, slack))


def _farthest(seen: AttackerView, guess: Ints) -> tuple[Ints, Floats]:
    """For every group somebody of the members farthest from the others, and the share of those with the guessed value
    among them."""
    from oneoff.kernels.attacks import farness

    far = farness(seen.codes, seen.space, seen.start, seen.rows)
    size, begin = np.diff(seen.start), seen.start[:-1]
    farthest = far >= np.repeat(np.maximum.reduceat(far, begin), size) - 1e-9
    right = farthest & (seen.answer[seen.rows] == np.repeat(guess, size))
    probabilities: Floats = np.add.reduceat(right, begin, dtype=np.float64) / np.add.reduceat(
        farthest, begin, dtype=np.float64
    )
    someone = np.flatnonzero(farthest)
    return seen.rows[someone[np.searchsorted(someone, begin)]], probabilities
