"""What a reader of a release without groups sees: published boxes only, and everybody's quasi-identifiers.

The boxes fit more people than the graph behind them, so a reader has more candidates than somebody who knows the
graph. The share of a value among them is what the papers' definitions look at (000, Definitions 2 and 4); it is not
yet a posterior, since not all candidates are equally likely.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from oneoff.audit.linking import containment, effective_matches, value_counts
from oneoff.models import Model, Prior
from oneoff.releases import Generalized
from oneoff.table import Table

__all__ = ["ReaderView", "reader_view"]

EVERYBODY = 20_000  # up to so many people all are looked at, and only matches that can be true are kept
SAMPLE = 10_000


@dataclass(frozen=True)
class ReaderView:
    """People looked at, and what their matches show.

    people          how many were looked at: everybody, or a uniform sample
    everybody       True when it was everybody; then only matches that fit some way to give all people a record count
    share_above     share of them for whom some value's share of the matches exceeds its ceiling, with a 95 % interval
    fewest_matches  the fewest records that could be one person's
    """

    people: int
    everybody: bool
    share_above: float
    low: float
    high: float
    fewest_matches: int
    mean_matches: float

    def sentence(self) -> str:
        who = "everybody" if self.everybody else f"a random sample of {self.people:,} people"
        spread = "" if self.everybody else f" (95 % interval {self.low:.1%} to {self.high:.1%})"
        return (
            f"A reader who has only the published boxes finds {self.fewest_matches:,} or more records that could be a "
            f"person's, {self.mean_matches:,.1f} on average, and sees some value above its limit among them for "
            f"{self.share_above:.1%}{spread}; looked at: {who}."
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def reader_view(release: Generalized, table: Table, model: Model, rng: np.random.Generator) -> ReaderView:
    """Look at everybody in a small table, at a uniform sample in a large one."""
    matches = effective_matches(release, table) if table.rows <= EVERYBODY and release.links is not None else None
    everybody = matches is not None
    if matches is None:
        sample = np.sort(rng.choice(table.rows, size=min(SAMPLE, table.rows), replace=False))
        matches = containment(release, table, sample)
    counts = value_counts(matches, release.values)
    above = int(model.failing(counts, Prior(tuple(release.counts.tolist()))).sum())
    low, high = wilson(above, counts.groups)
    size = counts.size
    return ReaderView(counts.groups, everybody, above / counts.groups, low, high, int(size.min()), float(size.mean()))


def wilson(found: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson's score)."""
    from scipy.stats import binomtest

    interval = binomtest(found, of).proportion_ci(0.95, "wilson")
    return float(interval.low), float(interval.high)
