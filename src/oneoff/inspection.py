"""A release in a folder, looked at again: by the steward, who may have the table, and by a recipient, who has not.

What the command line and a page in a browser share: each function reads the folder, calls the library, and returns what
was found. Nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from oneoff.audit import Verdict, audit
from oneoff.errors import BadValue
from oneoff.models.adversary import Adversary
from oneoff.releases import Published
from oneoff.releases.estimate import Estimate
from oneoff.releases.folder import load_release
from oneoff.table import Table
from oneoff.utility import AggregateErrors, Utility, aggregate_errors, random_aggregates, utility

__all__ = [
    "Answer",
    "Inspection",
    "Queries",
    "audit_folder",
    "measure_folder",
    "query_folder",
    "verify_folder",
]

_BROKEN = "The steward wrote this release although its promise is BROKEN: it is for research and not to hand out."
_CHECKED = (
    "What was checked: the files have the hashes that release.json states, the records have the columns and kinds of "
    "values it describes, and the prior is that of the published values. Whether the promise holds is for the steward "
    "to say, who has the table and the private half (oneoff audit)."
)
_COLUMNS_OF_A_QUERY = 4

Folder = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Inspection:
    """What a recipient can find out alone.

    broken   the release says of itself that its promise is broken
    """

    release: Published
    verdict: Verdict

    @property
    def broken(self) -> bool:
        return bool(self.release.broken)

    @property
    def holds(self) -> bool:
        return self.verdict.holds and not self.broken

    @property
    def checkable(self) -> bool:
        """Can the promise be judged from the public half? Not where nobody can tell who hides among whom."""
        return not self.verdict.unjudged and not self.release.needs_table

    def as_dict(self) -> dict[str, Any]:
        """What `oneoff verify --json` prints; keys are stable."""
        more = {"checkable": self.checkable, "broken": self.broken, "holds": self.holds}
        return self.verdict.as_dict() | more

    @property
    def trusted(self) -> str:
        """What a recipient must believe, where no file can show it; empty where all of it was checked."""
        return self.verdict.remarks[-1] if self.verdict.against is Adversary.ANYONE and self.verdict.remarks else ""

    def remarks(self) -> tuple[str, str]:
        """What to say before the verdict and what after it; empty where there is nothing."""
        unjudged_only = not self.checkable and len(self.verdict.problems) == 1  # nothing else speaks against it
        return _BROKEN if self.broken else "", _CHECKED if unjudged_only else ""


@dataclass(frozen=True)
class Queries:
    """Random questions to measure answers with."""

    number: int
    attributes: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Answer:
    """How many people are meant, and what in the question nobody has."""

    where: str
    estimate: Estimate
    notices: list[str]

    def as_dict(self) -> dict[str, Any]:
        """What `oneoff query --json` prints; keys are stable."""
        return {"where": self.where} | self.estimate.as_dict() | {"notices": self.notices}


def verify_folder(folder: Folder) -> Inspection:
    """Judge a public half as its recipient: hashes, records and promise, without the table."""
    release = load_release(folder)
    return Inspection(release, audit(release))


def audit_folder(
    folder: Folder,
    table: str | None = None,
    guarantee: str | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Verdict:
    """Judge a release with everything the steward has: records, links, and the table where it is found.

    reading   how to read the table, where that is not as its job did: missing, rows, hierarchies
    """
    release = load_release(folder, private=True)
    return audit(release, _original(folder, release, table, reading), guarantee)


def measure_folder(
    folder: Folder,
    table: str | None = None,
    hierarchies: Mapping[str, str] | None = None,
    reading: Mapping[str, Any] | None = None,
    queries: Queries | None = None,
) -> tuple[Utility, AggregateErrors | None]:
    """How much a release blurs, and how well it answers random queries, where these are asked for.

    hierarchies   files by column, to measure along
    """
    from oneoff.table.hierarchy import read_hierarchy

    release = load_release(folder, private=True)
    files = dict(hierarchies or {})
    along = {"hierarchies": files if release.measured_in_table else {}}
    original = _original(folder, release, table, {**(reading or {}), **along})
    trees = {name: read_hierarchy(path) for name, path in files.items()}
    measured = utility(release, original, hierarchies=trees)
    return measured, None if queries is None else _query_errors(release, original, queries)


def query_folder(folder: Folder, where: str) -> Answer:
    """How many people have these properties? From the public half alone."""
    release = load_release(folder)
    estimate = release.count(where)
    return Answer(where, estimate, release.unknown_values(where))


def _original(folder: Folder, release: Published, table: str | None, reading: Mapping[str, Any] | None) -> Table | None:
    from oneoff.job import original_of

    return original_of(Path(folder), release, table, reading)


def _query_errors(release: Published, table: Table | None, queries: Queries) -> AggregateErrors:
    import numpy as np

    from oneoff.publish import checked_seed

    if table is None:
        raise BadValue(
            "how well queries are answered cannot be measured without the table",
            allowed="--table FILE, or a private half whose job.toml says where it is",
            got="no table",
        )
    rng = np.random.default_rng(None if queries.seed is None else checked_seed(queries.seed))
    attributes = _COLUMNS_OF_A_QUERY if queries.attributes is None else queries.attributes
    return aggregate_errors(release, table, random_aggregates(table, queries.number, attributes=attributes, rng=rng))
