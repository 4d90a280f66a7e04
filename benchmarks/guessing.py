"""What an adversary finds out who learns from the release itself: does it cost a person to be in the table?

The attack is that of the laboratory (`oneoff.attack`, learned): from what is shown she learns how values go with
quasi-identifiers, and of people inside she also knows the group, and that its members share its values. Where people
outside are named as well as those inside, it costs nobody anything to be in the table.
"""

from __future__ import annotations

from typing import Any

from clock import Figures
from sources import TABLES, parted

__all__ = ["guess"]


def guess(table: str, method: str, guarantee: str, data: str, work: str, repeats: int = 3, **options: Any) -> Figures:
    """The share of people whose value she names, inside and outside; nine of ten people are inside."""
    import numpy as np

    import oneoff

    roles, found = TABLES[table].roles(), []
    for seed in range(repeats):
        inside, outside = parted(table, data, 0.9, seed)
        people, others = (oneoff.read_table(frame, **roles) for frame in (inside, outside))
        release = oneoff.anonymize(people, guarantee, method=method, seed=seed, **options)
        finding = oneoff.attack(release, people, "learned", control=others, seed=seed)["learned"]
        found.append([finding.rate.share, finding.control.share])
    within, without = np.mean(found, axis=0)
    figures = {"inside": float(within), "outside": float(without), "gain": float(within - without)}
    return figures | {"rows": people.rows, "holds": not release.broken} | _note(method, release)


def _note(method: str, release: Any) -> Figures:
    return {"note": release.method} if method == "auto" else {}
