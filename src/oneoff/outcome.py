"""What came of publishing: a release with everything that is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from oneoff.audit import Verdict
from oneoff.releases import Published
from oneoff.table import Table
from oneoff.utility import Utility

__all__ = ["Outcome"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release with everything that is known about it.

    table   private: what it was made from; held_out: people who were left out of it
    left_out   private: their rows, and those of others that were too many
    suppressed   private: outliers who were left out
    job     private: the text that would repeat it; empty when there was none
    """

    release: Published
    verdict: Verdict
    utility: Utility
    reason: str
    seed: int
    seconds: float
    notices: tuple[str, ...]
    table: Table
    held_out: Table | None = None
    left_out: Table | None = None
    job: str = ""
    suppressed: Table | None = None

    @cached_property
    def judged(self) -> dict[str, Any]:
        """The verdict as plain JSON; to be read, not changed."""
        return self.verdict.as_dict()

    def as_dict(self) -> dict[str, Any]:
        """The summary `--json` prints; keys are stable."""
        return {
            "method": self.release.method,
            "guarantee": self.release.guarantee,
            "holds": self.verdict.holds,
            "worst": self.judged["worst"],
            "allowed": self.verdict.witness.allowed,
            "stands_against": str(self.release.against),
            "count_error": self.utility.as_dict()["count_error"],
            "gcp": self.utility.gcp,
            "rows": self.release.rows,
            "persons": self.release.persons or self.release.rows,
            "groups": self.verdict.groups,
            "suppressed": self.release.suppressed,
            "held_out": 0 if self.held_out is None else self.held_out.people,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
            "levels": self.judged["levels"],
            "attacks": self.judged["attacks"],
            "learned": self.judged["learned"],
            "epsilon": self.judged["epsilon"],
            "remarks": self.judged["remarks"],
            "masked": self.judged["masked"],
            "utility": self.utility.as_dict(),
            "notices": list(self.notices),
            "column": self.judged["column"],
            "columns": {name: self._of_column(name) for name in self.verdict.columns},
            "knowing": self.judged["knowing"],
        }

    def _of_column(self, name: str) -> dict[str, Any]:
        """The same of one of several sensitive columns; what counts about several as one are off by is not asked."""
        judged, lost = self.judged["columns"][name], self.utility.columns.get(name)
        return {
            "guarantee": judged["guarantee"],
            "holds": judged["holds"],
            "worst": judged["worst"],
            "allowed": self.verdict.columns[name].witness.allowed,
            "count_error": None if lost is None else lost.as_dict()["count_error"],
            "levels": judged["levels"],
        }
