"""The doors: a job, or a table of any kind, is published in memory or block by block, as its size and wishes allow.

What fits goes through memory, where everything is served. A table above `MOST_IN_MEMORY` rows, or one that Spark holds,
is published block by block by an engine, where a few things are not; whoever wants one of these and names no engine
gets memory, and is told.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from oneoff.engines.scratch import new_scratch
from oneoff.engines.waist import Workers, engine
from oneoff.errors import BadValue, InputError, PromiseBroken, listing, nearest
from oneoff.folder import write_outcome
from oneoff.larger.header import UNSERVED, Reading
from oneoff.larger.publishing import LargeOutcome, Settings, publish_large
from oneoff.larger.rules import WHOLE_ONLY
from oneoff.models import Model
from oneoff.outcome import Outcome
from oneoff.publish import checked_seed, publish, publish_job
from oneoff.releases import Published
from oneoff.table import Table
from oneoff.table.databases import is_database, is_url
from oneoff.table.files import TextFormat, rows_in
from oneoff.table.read import read_table

if TYPE_CHECKING:
    from oneoff.job import Job

__all__ = ["ENGINE_NAMES", "MOST_IN_MEMORY", "Choice", "anonymize", "bytes_of", "engine_for", "publish_any"]

ENGINE_NAMES = ("auto", "memory", "local", "spark")
MOST_IN_MEMORY = 5_000_000  # rows
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_WHOLE_WISHES = ("hold_out", "max_suppressed", "most_rows", "csv", "raw_csv")

Report = Callable[[str, float], None]
Warn = Callable[[str], None]


@dataclass(frozen=True)
class Choice:
    """An engine, or "memory", and what is worth saying about it."""

    engine: str
    notice: str = ""


def engine_for(source: Any, asked: str, method: str, wishes: Mapping[str, Any]) -> Choice:
    """Who publishes it: as asked, or by the number of rows and what is wished for.

    wishes   arguments of a job by name; those that are not served block by block count
    """
    if asked not in ENGINE_NAMES:
        raise BadValue(f"there is no engine called {asked!r}", allowed=", ".join(ENGINE_NAMES), got=repr(asked),
                       hint=nearest(asked, ENGINE_NAMES))  # fmt: skip
    if asked != "auto":
        _refuse_frames(source, asked)
        return Choice(asked)
    if _is_sparks(source):
        return Choice("spark")
    rows = _rows_of(source)
    if rows <= MOST_IN_MEMORY:
        return Choice("memory")
    unserved = unserved_of(wishes) + [method] * (method in WHOLE_ONLY)
    if unserved:
        return Choice(
            "memory",
            f"about {rows:,} rows are published in memory, because {listing(unserved)} cannot be had block by block; "
            "this may take much of it",
        )
    return Choice(
        "local",
        f"about {rows:,} rows are published block by block, by worker processes over the files (--engine memory would "
        f"take all of them at once; that is what happens up to {MOST_IN_MEMORY:,})",
    )


def _refuse_frames(source: Any, asked: str) -> None:
    """Worker processes read files; what is in memory is nobody else's."""
    sparks = _is_sparks(source)
    if asked == "local" and (sparks or not isinstance(source, str | Path)):
        raise BadValue(
            "--engine local reads files",
            allowed="a file, a folder, a pattern of files, or a table of a database",
            got=source if isinstance(source, str) else type(source).__name__,
            hint="--engine spark reads it" if sparks else "write it to a Parquet file first, or take engine='memory'",
        )


def unserved_of(wishes: Mapping[str, Any]) -> list[str]:
    """What was asked for and cannot be had block by block, as options."""
    asked = [name for name in (*UNSERVED, *_WHOLE_WISHES) if wishes.get(name) not in (None, False, 0)]
    named = [f"--{name.replace('_', '-')}" for name in asked]
    several = isinstance(wishes.get("sensitive"), list | tuple) and len(wishes["sensitive"]) > 1
    return named + ["several sensitive columns"] * several


def _is_sparks(source: Any) -> bool:
    """A DataFrame of Spark, or of Spark Connect, or an address that nobody else reads; looking does not import it."""
    return type(source).__module__.partition(".")[0] == "pyspark" or (is_url(source) and not is_database(source))


def _rows_of(source: Any) -> int:
    """About how many rows there are: what is in memory already is small enough for it. Files that cannot be read are
    for who reads them to refuse, and a database is asked once only."""
    if not isinstance(source, str | Path) or is_url(source):
        return 0
    try:
        return rows_in(source)
    except InputError:
        return 0


def bytes_of(text: str | int) -> int:
    """A number of bytes such as 1g or 512m."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", str(text).strip().lower())
    if not found or float(found[1]) == 0:
        raise BadValue("the memory of a worker is not usable", allowed="a number and a unit, such as 1g or 512m",
                       got=repr(text), hint="--memory-per-worker 1g")  # fmt: skip
    return int(float(found[1]) * _UNITS[found[2]])


def publish_any(
    job: Job, folder: Path, *, resume: bool = False, even_if_broken: bool = False, sign: str | None = None,
    report: Report | None = None, warn: Warn | None = None, told: Warn | None = None,
) -> tuple[Outcome | LargeOutcome, PromiseBroken | None]:  # fmt: skip
    """Publish what a job says into a folder, in memory or block by block; and why the public half was withheld, if so.

    warn   is told before the work what can be foreseen; told, what happened to earlier releases in that place
    """
    chosen = engine_for(job.input, job.engine, job.method, job.model_dump())
    _refuse_sparks_own(chosen, [*["--master"] * bool(job.master), *["--conf"] * bool(job.conf)])
    if chosen.notice and warn is not None:
        warn(chosen.notice)
    if chosen.engine != "memory":
        made = _in_blocks(job, folder, chosen, resume, even_if_broken, sign, report, warn)
        return made, made.withheld
    _refuse_resuming(resume)
    outcome = publish_job(job, report=report, warn=warn)
    return outcome, write_outcome(
        outcome, folder, csv=job.csv, raw_csv=job.raw_csv, overwrite=job.overwrite, even_if_broken=even_if_broken,
        sign=sign, warn=told,
    )  # fmt: skip


def _in_blocks(
    job: Job, folder: Path, chosen: Choice, resume: bool, even_if_broken: bool, sign: str | None,
    report: Report | None, warn: Warn | None,
) -> LargeOutcome:  # fmt: skip
    _refuse_unserved(job.model_dump())
    settings = Settings(
        job.guarantee, job.method, _method_options(job.options), seed=job.chosen_seed(),
        memory=bytes_of(job.memory_per_worker), resume=resume, overwrite=job.overwrite, even_if_broken=even_if_broken,
        sign=sign, job=job.to_toml(),
    )  # fmt: skip
    given = {name: getattr(job, name) for name in _reading_names()}
    reading = Reading({**given, "domain": job.options.get("domain")})
    with _in_files(job.input, job.scratch) as source, engine(chosen.engine, _workers(job)) as running:
        return publish_large(running, source, folder, reading, _text(reading), settings, report=report, warn=warn)


@contextmanager
def _in_files(source: Any, scratch: str | None) -> Iterator[Any]:
    """A table of a database as files, for as long as they are needed; anything else as it is."""
    if not is_database(source):
        yield source
        return
    from oneoff.table.databases.spooling import spooled

    folder = new_scratch(scratch)
    try:
        spooled(source, folder / "rows")
        yield str(folder / "rows")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _workers(job: Job) -> Workers:
    given = [("master", job.master)] if job.master else []
    return Workers(job.workers, bytes_of(job.memory_per_worker), job.scratch, (*given, *job.conf.items()))


def _method_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Values that may occur are a matter of reading here: every block has them."""
    return {name: value for name, value in options.items() if name != "domain"}


@cache
def _reading_names() -> tuple[str, ...]:
    return tuple(name for name in signature(read_table).parameters if name != "source")


def _text(reading: Reading) -> TextFormat:
    given = reading.given
    na = given.get("na") or ("",)
    return TextFormat(
        given.get("encoding") or "utf-8", given.get("delimiter"), (na,) if isinstance(na, str) else tuple(na),
        given.get("decimal") or ".",
    )  # fmt: skip


def _refuse_unserved(wishes: Mapping[str, Any]) -> None:
    asked = unserved_of({name: wishes.get(name) for name in _WHOLE_WISHES})
    if asked:
        raise BadValue(
            f"{asked[0]} is not served for tables that are published block by block",
            allowed="roles, hierarchies, promises, methods and their options, --seed, --sign, --overwrite",
            got=listing(asked),
            hint="--engine memory serves it, for a table that fits",
        )


def _refuse_sparks_own(chosen: Choice, asked: list[str]) -> None:
    """Who says where Spark is to run, or how, does not get another engine unawares."""
    if asked and chosen.engine != "spark":
        raise BadValue(
            f"{asked[0]} is a setting of Spark, and another engine was chosen",
            allowed=f"{listing(asked)} with the engine spark",
            got=f"engine {chosen.engine!r}",
            hint=f"--engine spark (engine='spark'), or leave {asked[0]} out",
        )


def _refuse_resuming(resume: bool) -> None:
    if resume:
        raise BadValue(
            "a run in memory keeps nothing to go on with",
            allowed="--resume with --engine local or spark",
            got="--resume, and a table that is published in memory",
            hint="leave --resume out",
        )


# --- Python


@overload
def anonymize(table: Table, guarantee: str | Model, **options: Any) -> Published: ...
@overload
def anonymize(table: Any, guarantee: str | Model, **options: Any) -> Any: ...


def anonymize(
    table: Any,
    guarantee: str | Model,
    *,
    method: str = "auto",
    seed: int | None = None,
    progress: bool = False,
    hold_out: float | None = None,
    most_rows: int | None = None,
    max_suppressed: float | None = None,
    engine: str = "auto",
    out: str | Path | None = None,
    workers: int | None = None,
    memory_per_worker: str | int = "1g",
    scratch: str | None = None,
    conf: Mapping[str, str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> Any:
    """Return the release of a table that keeps the promise, checked record by record.

    table       the result of `read_table`; or what that takes, with its arguments (quasi, sensitive, ...) given here: a
                path, a folder or pattern of many files, a frame, a DataFrame of Spark
    guarantee   a text such as "beta-likeness:3" or "k-anonymity:10+l-diversity:4", or a model
    method      a name of `oneoff.METHODS`, or "auto"
    seed        for repeatable runs; a secret as long as the release is out. By default the operating system's entropy
    progress    show a progress bar on a terminal
    hold_out    a share of the people, e.g. 0.1, drawn by chance and left out of the release: `oneoff.attack` and the
                verdict compare what anybody finds out about them with what is found out about the others
    most_rows   where people have several rows: publish at most so many of anybody, drawn by chance
    max_suppressed   a share of the people, e.g. 0.01: as many outliers may be left out, where the others then lose less
                by more than that; chosen by quasi-identifiers alone
    engine      "memory", "local" (worker processes over files) or "spark"; "auto" takes memory up to 5 million rows
    out         the folder for a release that is made block by block, which is in memory at no time
    workers, memory_per_worker, scratch, conf    of such an engine; conf is Spark's
    resume      go on with such a run where it was stopped
    overwrite   replace an earlier release in that folder
    options     of the method, e.g. cuts="strict" for mondrian; numeric_as="set" publishes numbers as sets,
                columns="box" groups without the tallies of their columns
    """
    wishes: dict[str, Any] = {"hold_out": hold_out, "most_rows": most_rows, "max_suppressed": max_suppressed}
    if isinstance(table, Table):
        if engine not in ("auto", "memory"):
            raise BadValue(f"a table that is in memory is not published by {engine!r}", allowed="auto, memory",
                           got=repr(engine), hint="give the files, with quasi=[...] and so on, instead")  # fmt: skip
        return _in_memory(table, guarantee, options, progress, method=method, seed=seed, **wishes)
    given = {name: options.pop(name) for name in _reading_names() if name in options}
    chosen = engine_for(table, engine, method, {**wishes, **given})
    _refuse_sparks_own(chosen, ["conf"] * bool(conf))
    if chosen.engine == "memory":
        _refuse_resuming(resume)
        read = read_table(table, **given)
        return _in_memory(read, guarantee, options, progress, method=method, seed=seed, **wishes)
    _refuse_unserved(wishes)
    settings = Settings(
        str(guarantee) if isinstance(guarantee, str) else guarantee.spec(), method, _method_options(options),
        seed=None if seed is None else checked_seed(seed), memory=bytes_of(memory_per_worker), resume=resume,
        overwrite=overwrite,
    )  # fmt: skip
    using = Workers(workers, bytes_of(memory_per_worker), scratch, tuple((conf or {}).items()))
    reading = Reading({**given, "domain": options.get("domain")})
    return _released(table, _folder(out, chosen), reading, settings, chosen.engine, using, progress)


def _in_memory(
    table: Table, guarantee: str | Model, options: Mapping[str, Any], progress: bool, **wishes: Any
) -> Published:
    from oneoff.report.progress import progress_bar

    with progress_bar(shown=progress) as report:
        return publish(table, guarantee, options=options, report=report, **wishes).release


def _folder(out: str | Path | None, chosen: Choice) -> Path:
    if out is None:
        raise BadValue(
            "a release that is made block by block goes into a folder, and none was named",
            allowed='out="FOLDER"',
            got=f"engine {chosen.engine!r} and no folder",
            hint='engine="memory" returns a release without writing it, if the table fits',
        )
    return Path(out)


def _released(
    source: Any, folder: Path, reading: Reading, settings: Settings, name: str, workers: Workers, progress: bool
) -> Any:
    from oneoff.releases.folder import load_release
    from oneoff.report.progress import progress_bar

    with (
        _in_files(source, workers.scratch) as files,
        engine(name, workers) as running,
        progress_bar(shown=progress) as report,
    ):
        made = publish_large(running, files, folder, reading, _text(reading), settings, report=report)
    if made.withheld is not None:
        raise made.withheld
    return load_release(folder)
