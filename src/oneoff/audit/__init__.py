"""WHAT AN ADVERSARY LEARNS: the released file seen from the other side.

The auditor reads published records and never imports a mechanism. A verdict says whether the promise holds, who it
was checked against, the worst that anyone can believe about anyone, and the level reached of every other promise.
Attacks (one in each file) are what somebody would try who knows how a release was made.
"""

from oneoff.audit.attack import Attack
from oneoff.audit.check import check
from oneoff.audit.kinds import audit
from oneoff.audit.outlier import outlier_attack
from oneoff.audit.swaps import swap_attack
from oneoff.audit.verdict import PartVerdict, Verdict
from oneoff.audit.witness import Witness

__all__ = [
    "Attack",
    "PartVerdict",
    "Verdict",
    "Witness",
    "audit",
    "check",
    "outlier_attack",
    "swap_attack",
]
