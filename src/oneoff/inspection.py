"""A release in a folder, looked at again: by the steward, who may have the table, and by a recipient, who has not.

What the command line and a page in a browser share: each function reads the folder, calls the library, and returns what
was found. Nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from oneoff.audit import Verdict, audit
from oneoff.audit import check as check_table
from oneoff.catalog import METHODS
from oneoff.engines import TextFormat
from oneoff.errors import BadValue, FolderExists, FolderNotWritable
from oneoff.larger.checking import check_files
from oneoff.larger.steward import audit_in_parts, measure_in_parts
from oneoff.models import Model
from oneoff.models.adversary import Adversary
from oneoff.releases import InParts, Published
from oneoff.releases.estimate import Estimate
from oneoff.releases.folder import load_release, public_half
from oneoff.releases.grouped import CrossTable
from oneoff.releases.signature import KeyFile, Origin, origin_of
from oneoff.report.words import plain
from oneoff.table import Table
from oneoff.table.paths import is_many
from oneoff.utility import AggregateErrors, CountErrors, Utility, utility
from oneoff.utility.modelling import MODELS, ModelUtility, model_utility
from oneoff.utility.workloads import Asking, workload_errors

__all__ = [
    "Answer",
    "Asked",
    "Inspection",
    "TableAnswer",
    "audit_folder",
    "check",
    "impute_folder",
    "measure_folder",
    "model_folder",
    "query_folder",
    "query_release",
    "verify",
    "verify_folder",
]

_BROKEN = "The steward wrote this release although its promise is BROKEN: it is for research and not to hand out."
_CHECKED = (
    "What was checked: the files have the hashes that release.json states, the records have the columns and kinds of "
    "values it describes, and the prior is that of the published values. Whether the promise holds is for the steward "
    "to say, who has the table and the private half (oneoff audit)."
)
_UNKNOWN = "cannot be judged"
_UNVOUCHED = "holds, but nobody vouches for its origin"
_DRAWN = "chance drew as the file says"

Folder = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Inspection:
    """What a recipient can find out alone.

    broken    the release says of itself that its promise is broken
    verdict   what was counted; what the file claims about its method is no part of its sentence
    origin    who vouches for the files
    """

    release: Published
    verdict: Verdict
    origin: Origin

    @property
    def broken(self) -> bool:
        return bool(self.release.broken)

    @property
    def holds(self) -> bool:
        return self.verdict.holds and not self.broken

    @property
    def outcome(self) -> str:
        """One of four answers."""
        if not self.holds:
            return "does not hold" if self.checkable or self.broken or len(self.verdict.problems) > 1 else _UNKNOWN
        return "holds" if self.origin.vouched else _UNVOUCHED

    @property
    def status(self) -> int:
        """The exit status of `oneoff verify`: that nobody vouches is a failure only for who asked about a key."""
        if not self.holds:
            return 1
        return 4 if self.origin.key and not self.origin.vouched else 0

    @property
    def checkable(self) -> bool:
        """Can the promise be judged from the public half? Not where nobody can tell who hides among whom."""
        return not self.verdict.unjudged and not self.release.needs_table

    def as_dict(self) -> dict[str, Any]:
        """What `oneoff verify --json` prints; keys are stable."""
        claims = {"method": self.release.method, "stands_against": str(self.release.against)}
        more = {"checkable": self.checkable, "broken": self.broken, "holds": self.holds}
        said = {"outcome": self.outcome, "claims": claims, "unchecked": self.unknown(), "origin": self.origin.as_dict()}
        return self.verdict.as_dict() | {"stands_against": claims["stands_against"]} | more | said

    @property
    def trusted(self) -> str:
        """What a recipient must believe, where no file can show it; empty where all of it was checked."""
        return self.verdict.remarks[-1] if self.verdict.against is Adversary.ANYONE and self.verdict.remarks else ""

    def remarks(self) -> tuple[str, str]:
        """What to say before the verdict and what after it; empty where there is nothing."""
        unjudged_only = not self.checkable and len(self.verdict.problems) == 1  # nothing else speaks against it
        return _BROKEN if self.broken else "", _CHECKED if unjudged_only else ""

    def claimed(self) -> list[str]:
        """What the file says of itself and no count can show; nothing where something speaks against it."""
        release, method = self.release, plain(self.release.method)
        if self.outcome == "does not hold" or _contradictions(release, release.against):
            return []
        gone = (
            f"{release.suppressed:,} {'person was' if release.suppressed == 1 else 'people were'} left out as outliers"
        )
        return [
            f"Claimed by the file, and not counted: {method} made it, which stands against {release.against.briefly}.",
            *([f"The file also says that {gone}: no count has them."] if release.suppressed else []),
        ]

    def unknown(self) -> str:
        """What no recipient can find out alone."""
        return (
            "Nobody can check from here that the records are true and where they belong, that nobody was left out, and "
            "that this method made them."
        )

    def vouching(self) -> str:
        """Who stands up for all that cannot be checked."""
        origin = self.origin
        if origin.vouched:
            return f"Vouched for by {plain(origin.who, 200)}, whose key signed these files as they are."
        if origin.refuted:
            return f"NOT vouched for by {plain(origin.who, 200)}: the signature is not of that key and these files."
        if origin.signed:
            return "Nobody vouches for it yet: it is signed, and --key PUB says whether by whom you expect."
        return "Nobody vouches for it: it is not signed, so whoever changed the files could make them fit."


@dataclass(frozen=True)
class Answer:
    """How many people are meant, or their sum, mean or share, and what in the question nobody has."""

    where: str
    estimate: Estimate
    notices: list[str]

    def as_dict(self) -> dict[str, Any]:
        """What `oneoff query --json` prints; keys are stable."""
        return {"where": self.where} | self.estimate.as_dict() | {"notices": self.notices}

    def lines(self) -> list[str]:
        sentence = self.estimate.sentence()
        return [f"{sentence[0].upper()}{sentence[1:]}."]


@dataclass(frozen=True)
class TableAnswer:
    """A cross-tabulation of those who are meant."""

    where: str
    table: CrossTable
    notices: list[str]

    def as_dict(self) -> dict[str, Any]:
        return {"where": self.where, "table": self.table.as_dicts(), "notices": self.notices}

    def lines(self) -> list[str]:
        return self.table.lines()


@dataclass(frozen=True)
class Asked:
    """What to tell about people beside their number: a sum, a mean, the share of some of them, or a whole table."""

    sum: str | None = None
    mean: str | None = None
    share: str | None = None
    table: tuple[str, ...] = ()


def check(
    frame: Any,
    *,
    quasi: Iterable[str] | str,
    sensitive: Iterable[str] | str | None = None,
    guarantee: str | Model,
    hierarchies: Any = None,
    prior: Any = None,
    person: str | None = None,
    text: TextFormat | None = None,
) -> Verdict:
    """Judge the output of any tool, or a raw table: people with equal quasi-identifiers are a group.

    frame      a path, a folder or a pattern of files, which may be larger than memory, or a pandas, polars or Arrow
               frame; quasi-identifiers may be texts such as "[20-30]" or, in a single file, lists
    sensitive  a column, or several: each is then judged by itself
    guarantee  what it is to keep, e.g. "k-anonymity:5+l-diversity:3"; hierarchies: by column, where it asks for one
    prior      people with each sensitive value in the whole table, when the frame is only a part of it: a mapping
               from values to counts, with the values that the frame does not hold; for one sensitive column
    person     the column that says whose a row is, where people have several: promises about identity count persons,
               and those about values are not judged
    text       how text files of a folder are written
    Missing values count as a value of their own, so no row is left out; the index of a frame does not matter.
    """
    if not isinstance(frame, str | PathLike) or not is_many(frame):
        return check_table(
            frame, quasi=quasi, sensitive=sensitive, guarantee=guarantee, hierarchies=hierarchies, prior=prior,
            person=person,
        )  # fmt: skip
    if prior is not None or person is not None:
        raise BadValue(
            "a table in many files is checked as it is", allowed="one file, for prior and person", got="a folder"
        )
    return check_files(frame, quasi=quasi, sensitive=sensitive, guarantee=guarantee, hierarchies=hierarchies, text=text)


def verify(folder: Folder, key: KeyFile | None = None) -> Verdict:
    """Read a public half, compare its files with their hashes, and judge its records by the promise it states.

    folder   a release, or the `public` folder in it
    key   a file with a public key (Ed25519, of ssh-keygen or openssl): whoever has the other half must have signed it
    """
    found = verify_folder(folder, key)
    problems = found.verdict.problems
    if found.broken:
        problems = (*problems, "the release says itself that its promise is broken, and is for research only")
    if key is not None and not found.origin.signed:
        problems = (*problems, f"it is not signed, so {plain(found.origin.who, 200)} does not vouch for it")
    return replace(found.verdict, holds=found.verdict.holds and not problems, problems=problems)


def verify_folder(folder: Folder, key: KeyFile | None = None) -> Inspection:
    """Judge a public half as its recipient: hashes, records and promise, without the table, and who vouches for it.

    What the file claims is compared with what oneoff knows of the method it names.
    """
    release = load_release(folder)
    origin = origin_of(public_half(folder), key)
    verdict = audit(release)
    stands = verdict.stands_against or Adversary.NOBODY
    wrong = _contradictions(release, stands)
    if origin.refuted:
        wrong = (*wrong, f"its signature is not that of {plain(origin.who, 200)} and these files")
    return Inspection(
        release,
        replace(
            verdict,
            holds=verdict.holds and not wrong,
            problems=(*verdict.problems, *wrong),
            stands_against=stands if stands is Adversary.NOBODY else "",  # its caution stays, no claim is a finding
            provided=" and ".join(
                filter(None, [_DRAWN * (verdict.against in (Adversary.ANYONE, Adversary.PRIOR)), verdict.provided])
            ),
        ),
        origin,
    )


def _contradictions(release: Published, claimed: Adversary) -> tuple[str, ...]:
    """What the file says of its method, and oneoff does not."""
    method, name = METHODS.get(release.method), plain(release.method)
    if method is None:
        return (f"the file says that {name!r} made it, and there is no such method",)
    if method.form != release.records_form:
        return (f"the file says that {name} made it, which makes no {release.records_form} releases",)
    if not method.serves_promise(release.model):
        return (f"the file says that {name} made it, which cannot keep {plain(release.guarantee, 200)}",)
    if claimed not in method.may_stand_against(release.model):
        return (f"the file claims that {name} stands against {claimed.briefly}, and it does not for this promise",)
    return ()


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
    if isinstance(release, InParts):
        return audit_in_parts(folder, release, table, guarantee, reading)
    return audit(release, _original(folder, release, table, reading), guarantee)


def measure_folder(
    folder: Folder,
    table: str | None = None,
    hierarchies: Mapping[str, str] | None = None,
    reading: Mapping[str, Any] | None = None,
    queries: Asking | None = None,
    domains: Mapping[str, int] | None = None,
) -> tuple[Utility, CountErrors | AggregateErrors | None]:
    """How much a release blurs, and how well it answers queries, where these are asked for.

    hierarchies   files by column, to measure along
    domains       sizes by column, to measure by instead of the values that occur
    """
    from oneoff.table.hierarchy import read_hierarchy

    release = load_release(folder, private=True)
    if isinstance(release, InParts):
        return measure_in_parts(folder, release, table, hierarchies, reading, queries, domains), None
    files = dict(hierarchies or {})
    along = {"hierarchies": files if release.measured_in_table else {}}
    original = _original(folder, release, table, {**(reading or {}), **along})
    trees = {name: read_hierarchy(path) for name, path in files.items()}
    measured = utility(release, original, domains=domains, hierarchies=trees)
    return measured, None if queries is None else _query_errors(release, original, queries)


def model_folder(
    folder: Folder,
    target: str,
    table: str | None = None,
    test: str | None = None,
    reading: Mapping[str, Any] | None = None,
    models: Sequence[str] = tuple(MODELS),
) -> ModelUtility:
    """What models trained on a release tell about people who are not in it.

    test   a file of such people; by default those who were held out when the release was made
    """
    release = load_release(folder, private=True)
    if isinstance(release, InParts):
        raise BadValue(
            "models are not trained on a release in parts, which may be larger than memory",
            allowed="oneoff.load_release(folder).whole(), written to a folder of its own, where it fits",
            got=f"{release.parts:,} parts",
        )
    original = _original(folder, release, table, reading)
    if original is None:
        raise _no_table("what models learn cannot be measured without the table")
    others = release.held_out_of(original) if test is None else _original(folder, release, test, reading)
    if others is None:
        raise BadValue(
            "nobody is known who is not in the release: people in it would be too easy a test",
            allowed="a release made with --hold-out 0.1, or --test FILE with other people",
            got="no people held out",
            hint="oneoff compare --target makes both for the occasion, and writes no release",
        )
    return model_utility(release, release.people_in(original), others, target, models=models)


def query_folder(
    folder: Folder, where: str | None, weighted: bool = False, asked: Asked | None = None
) -> Answer | TableAnswer:
    """How many people have these properties, or what weight, sum, mean or share? From the public half alone."""
    return query_release(load_release(folder), where, weighted, asked)


def query_release(
    release: Published, where: str | None, weighted: bool = False, asked: Asked | None = None
) -> Answer | TableAnswer:
    """The same of a release that was read."""
    asked = asked or Asked()
    unknown = [note for each in (where, asked.share) if each is not None for note in release.unknown_values(each)]
    text, notices = where or "", [*dict.fromkeys(unknown), *_missing(release)]
    if asked.table:
        return TableAnswer(text, _table(release, where, weighted, asked), notices)
    return Answer(text, _told(release, where, weighted, asked), notices)


def _table(release: Published, where: str | None, weighted: bool, asked: Asked) -> CrossTable:
    grouped = release.group_by(*asked.table, where=where)
    if asked.sum is not None:
        return grouped.sum(asked.sum, weighted=weighted)
    return grouped.count(weighted=weighted) if asked.mean is None else grouped.mean(asked.mean, weighted=weighted)


def _told(release: Published, where: str | None, weighted: bool, asked: Asked) -> Estimate:
    if asked.sum is not None:
        return release.sum(asked.sum, where, weighted=weighted)
    if asked.mean is not None:
        return release.mean(asked.mean, where, weighted=weighted)
    if asked.share is not None:
        return release.share(asked.share, where, weighted=weighted)
    return release.count(where or "", weighted=weighted)


def impute_folder(folder: Folder, out: Path, copies: int, seed: int | None = None, *, csv: bool = False) -> list[str]:
    """Write imputations, from the public half alone, into a new folder; the names of the files."""
    import pyarrow.csv
    import pyarrow.parquet

    from oneoff.releases.spreadsheet import harmless

    if out.exists():
        raise FolderExists(f"the folder {str(out)!r} exists already", allowed="a folder that does not exist")
    drawn = load_release(folder).microdata(seed, n=copies)
    names = [f"rows-{i + 1:0{len(str(copies))}}.{'csv' if csv else 'parquet'}" for i in range(len(drawn))]
    try:
        out.mkdir(parents=True)
        for name, frame in zip(names, drawn, strict=True):
            if csv:
                pyarrow.csv.write_csv(harmless(frame), out / name)
            else:
                pyarrow.parquet.write_table(frame, out / name)
    except OSError as error:
        raise FolderNotWritable(f"{str(out)!r} cannot be written", got=str(error)) from error
    return names


def _missing(release: Published) -> list[str]:
    """What an answer cannot know of."""
    if not release.suppressed:
        return []
    return [f"{release.suppressed:,} people were left out of the release as outliers; no answer counts them"]


def _original(folder: Folder, release: Published, table: str | None, reading: Mapping[str, Any] | None) -> Table | None:
    from oneoff.job import original_of

    return original_of(Path(folder), release, table, reading)


def _query_errors(release: Published, table: Table | None, queries: Asking) -> CountErrors | AggregateErrors:
    from oneoff.publish import checked_seed

    if table is None:
        raise _no_table("how well queries are answered cannot be measured without the table")
    if queries.seed is not None:
        checked_seed(queries.seed)
    return workload_errors(release, release.people_in(table), queries)


def _no_table(what: str) -> BadValue:
    allowed = "--table FILE, or a private half whose job.toml says where it is"
    return BadValue(what, allowed=allowed, got="no table")
