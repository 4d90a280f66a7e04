"""Attacks on groups whose members were chosen by value, as the verdict tries them: `audit.outlier` and `audit.swaps`.

Their guesses are few: one in each group, or those of which the evidence is strong. So the rate is that of the guesses
made, and beside it stands how often the share of the guessed value in its group would be right.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from oneoff.audit.attack import Made
from oneoff.audit.attacks.attacker import Scene
from oneoff.audit.attacks.finding import Finding, Guesses, compared, with_baseline
from oneoff.audit.outlier import outlier_guesses
from oneoff.audit.swaps import swap_guesses
from oneoff.releases import Generalized

__all__ = ["no_exchanges", "nobody_suspected", "outlier", "swaps"]

_NO_OUTSIDE = "people outside are members of no group, so there is no control"
_NOTHING = "it needs groups of people who look alike, with a choice, and a promise made of ceilings on single values"
_SHARE = "guessing by the share of the value in its group"


def nobody_suspected(scene: Scene) -> str:
    """Why there is nothing to guess from, where that is so."""
    if not scene.knows_groups:
        return "who does not know all quasi-identifiers cannot tell who is in which group"
    return _NOTHING if _outlier(scene) is None else ""


def no_exchanges(scene: Scene) -> str:
    """The same for exchanges: a second group is needed, too."""
    if not scene.knows_groups:
        return "who does not know all quasi-identifiers cannot tell who is in which group"
    return _NOTHING if _swaps(scene) is None else ""


def outlier(scene: Scene) -> Finding:
    """In every group the member farthest from the others, guessed to have the value that is hardest to place."""
    made = _outlier(scene)
    assert made is not None
    return _finding(scene, "outlier", "Guessing that the member farthest from its group holds its rarest value", made)


def swaps(scene: Scene) -> Finding:
    """People of whom exchanges that were not made tell much; nobody else is guessed about."""
    made = _swaps(scene)
    assert made is not None
    return _finding(scene, "swaps", "Guessing a value from exchanges that would have lowered the loss", made)


@lru_cache(maxsize=1)  # asked whether it can be tried, then tried
def _outlier(scene: Scene) -> Made | None:
    release = scene.release
    return outlier_guesses(release, scene.table, release.model) if isinstance(release, Generalized) else None


@lru_cache(maxsize=1)  # asked whether it can be tried, then tried
def _swaps(scene: Scene) -> Made | None:
    release = scene.release
    return swap_guesses(release, scene.table, release.model) if isinstance(release, Generalized) else None


def _finding(scene: Scene, name: str, claim: str, made: Made) -> Finding:
    free = ~scene.known[made.row]
    guesses = Guesses(
        made.row[free], made.value[free].astype(np.int32), made.belief[free], scene.inside.values[made.row[free]],
        made.right[free], None if scene.table.person is None else scene.table.person[made.row[free]],
    )  # fmt: skip
    attack = made.attack(name, claim, "people")
    figures = {"allowed": attack.allowed, "looked_at": made.tried, "exceeds": attack.exceeds}
    found = compared(scene, name, claim, guesses, None, figures=figures, warnings=(_NO_OUTSIDE,))
    return with_baseline(found, guesses.rate_of(made.share[free]).share, _SHARE)
