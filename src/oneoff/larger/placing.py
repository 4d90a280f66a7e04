"""A job is published into the place that it names: what `oneoff anonymize` and the web page both do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneoff.errors import BadValue, PromiseBroken
from oneoff.larger.doors import publish_any
from oneoff.releases.draft import refuse_existing
from oneoff.releases.leftovers import clear_leftovers
from oneoff.releases.signature import signer
from oneoff.releases.store import is_store, landing
from oneoff.table.databases import without_credentials

if TYPE_CHECKING:
    from oneoff.job import Job
    from oneoff.larger.publishing import LargeOutcome
    from oneoff.outcome import Outcome

__all__ = ["Placed", "publish_to_place"]

Warn = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Placed:
    """What came of a job, where it is, and why its public half was withheld, if it was."""

    outcome: Outcome | LargeOutcome
    place: str
    withheld: PromiseBroken | None

    def as_dict(self, told: Sequence[str] = ()) -> dict[str, Any]:
        """What `oneoff anonymize --json` prints; told: what was said about the folder besides."""
        return self.outcome.as_dict() | {
            "notices": [*self.outcome.notices, *told],
            "out": self.place,
            "withheld": None if self.withheld is None else str(self.withheld),
        }


def publish_to_place(
    job: Job, *, resume: bool = False, even_if_broken: bool = False, sign: str | None = None,
    report: Callable[[str, float], None] | None = None, warn: Warn | None = None, told: Warn | None = None,
) -> Placed:  # fmt: skip
    """Publish a job; what cannot be written or signed is refused before the work.

    warn   is told what can be foreseen before the work and once more all notices after it
    told   is told what happened to earlier releases in that place
    """
    warn, told = warn or _unsaid, told or _unsaid
    place = _place_for(job, sign, told)
    with landing(place, job.scratch, overwrite=job.overwrite) as folder:
        outcome, withheld = publish_any(
            job, folder, resume=resume, even_if_broken=even_if_broken, sign=sign, report=report, warn=warn, told=told
        )
        for notice in outcome.notices:
            warn(notice)
    return Placed(outcome, without_credentials(place), withheld)


def _unsaid(text: str) -> None:
    """Nobody is told."""


def _place_for(job: Job, sign: str | None, told: Warn) -> str:
    """Where the release goes, cleared."""
    if job.output is None:
        raise BadValue("no folder for the release was named", allowed="--out FOLDER, or output = ... in the job file")
    if sign is not None:
        signer(sign)
    if not is_store(job.output):
        refuse_existing(Path(job.output), job.overwrite)
        clear_leftovers(Path(job.output), told)
    return job.output
