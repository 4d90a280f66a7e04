"""The laboratory: what a capable adversary gets out of a release, beside what she knows of people outside it.

One attack in each file: a function from a `Scene` to a `Finding`. `attacker.py` says who attacks and what she has,
`view.py` what a release shows, `finding.py` and `rates.py` what came of it.
"""

from oneoff.audit.attacks.attacker import Attacker, People, Scene
from oneoff.audit.attacks.finding import Finding, Guesses, best_guess, compared
from oneoff.audit.attacks.learned import learned
from oneoff.audit.attacks.rates import Difference, Rate, difference
from oneoff.audit.attacks.view import View, seen

__all__ = [
    "Attacker",
    "Difference",
    "Finding",
    "Guesses",
    "People",
    "Rate",
    "Scene",
    "View",
    "best_guess",
    "compared",
    "difference",
    "learned",
    "seen",
]
