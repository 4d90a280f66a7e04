"""Commands that make a release: `demo` and `anonymize`."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneoff.cli import options
from oneoff.cli.output import MORE, WIDTH, Told, error_details, notify_once, print_json, print_lines

if TYPE_CHECKING:
    from oneoff.errors import PromiseBroken
    from oneoff.larger.placing import Placed
    from oneoff.larger.publishing import LargeOutcome
    from oneoff.outcome import Outcome

__all__ = ["anonymize", "demo"]

_SEEN = (
    "--seed shows in the list of processes and in the history of the shell, and whoever has a seed can draw again what "
    "chance did: --seed-file FILE shows neither"
)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the release.")] = Path("demo-release"),
    rows: Annotated[int, typer.Option(help="People in the generated table.")] = 10_000,
    guarantee: options.Guarantee = "beta-likeness:3",
    overwrite: options.Overwrite = False,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """See it work: publish a generated table of people and look at the result."""
    from oneoff.folder import write_outcome
    from oneoff.larger.placing import Placed
    from oneoff.publish import publish
    from oneoff.releases.draft import refuse_existing
    from oneoff.releases.leftovers import clear_leftovers
    from oneoff.report.progress import progress_bar
    from oneoff.table.read import read_table
    from oneoff.table.sample import SAMPLE_ROLES, sample

    refuse_existing(out, overwrite)
    told = Told()
    clear_leftovers(out, told)
    table = read_table(sample(rows), **SAMPLE_ROLES)
    if not as_json:
        typer.echo(f"A generated table of {table.rows} people; every row is made up.")
        typer.echo(f"  quasi-identifiers: {', '.join(attribute.name for attribute in table.quasi)}")
        typer.echo(f"  sensitive: {SAMPLE_ROLES['sensitive']}   promise: {guarantee}\n")
    notify = notify_once()
    with progress_bar() as report:
        outcome = publish(table, guarantee, report=report, warn=notify)
    for notice in outcome.notices:
        notify(notice)
    withheld = write_outcome(outcome, out, csv=True, overwrite=overwrite, warn=told)
    _tell(Placed(outcome, str(out), withheld), told, as_json=as_json, verbose=verbose)
    if not as_json:
        program = sys.argv[0] if "/" in sys.argv[0] else "oneoff"
        typer.echo(f"\nNext: {program} verify {out}/public, or open {out}/private/report.html in a browser.")


def anonymize(
    source: options.FileOrJob,
    out: options.Out = None,
    guarantee: options.JobGuarantee = None,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    identifiers: options.Identifiers = None,
    person: options.Person = None,
    household: options.Household = None,
    rows_are_people: options.RowsArePeople = False,
    per_person: options.PerPerson = None,
    most_rows: options.MostRows = None,
    weight: options.WeightColumn = None,
    keep: options.Keep = None,
    numeric: options.Numeric = None,
    categorical: options.Categorical = None,
    ordered: options.Ordered = None,
    dates: options.Dates = None,
    prefix: options.Prefix = None,
    hierarchy: options.Hierarchy = None,
    missing: options.JobMissing = None,
    bins: options.Bins = None,
    level: options.Level = None,
    other_below: options.OtherBelow = None,
    method: options.MethodName = None,
    option: options.MethodOption = None,
    effort: options.Effort = None,
    seed: options.Seed = None,
    seed_file: options.SeedFile = None,
    hold_out: options.HoldOut = None,
    max_suppressed: options.MaxSuppressed = None,
    rows: options.Rows = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
    memory_per_worker: options.MemoryPerWorker = None,
    scratch: options.Scratch = None,
    master: options.Master = None,
    conf: options.Conf = None,
    resume: options.Resume = False,
    encoding: options.JobEncoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    na: options.NaTexts = None,
    csv: options.Csv = False,
    raw_csv: options.RawCsv = False,
    overwrite: options.Overwrite = False,
    even_if_broken: options.EvenIfBroken = False,
    sign: options.Sign = None,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """Publish a table: the most useful release that keeps the promise, checked record by record."""
    given = options.job_options(locals())
    from oneoff.job import read_job
    from oneoff.larger.placing import publish_to_place
    from oneoff.report.progress import progress_bar

    job = read_job(source, given) if source.endswith(".toml") else read_job(None, {"input": source, **given})
    told = Told()
    if seed is not None:
        told(_SEEN)
    with progress_bar() as report:
        placed = publish_to_place(
            job, resume=resume, even_if_broken=even_if_broken, sign=sign, report=report, warn=notify_once(), told=told
        )
    _tell(placed, told, as_json=as_json, verbose=verbose)


def _tell(placed: Placed, told: Told, *, as_json: bool, verbose: bool) -> None:
    """Print what came of it; a promise that does not hold is exit status 1."""
    if as_json:
        print_json(placed.as_dict(told.notices))
    else:
        _print(placed.outcome, placed.place, placed.withheld, verbose)
    if not placed.outcome.verdict.holds:
        raise typer.Exit(1)


def _print(outcome: Outcome | LargeOutcome, out: str | Path, withheld: PromiseBroken | None, verbose: bool) -> None:
    from oneoff.report.text import brief_outcome_lines, outcome_lines

    summary = outcome.as_dict() | {"notices": []}  # they are on stderr already
    lines = outcome_lines if verbose else brief_outcome_lines
    print_lines(lines(summary, outcome.verdict, outcome.utility))
    typer.echo("\n".join(["", *_written(outcome, out, withheld)]))  # paths are not wrapped
    if not verbose:
        board = f"For the board: {out}/private/report.html; " if Path(out, "private", "report.html").exists() else ""
        typer.echo(f"{board}{MORE}")


def _written(outcome: Outcome | LargeOutcome, out: str | Path, withheld: PromiseBroken | None) -> list[str]:
    """Where the release is, and what it may be used for."""
    from oneoff.releases.store import half_in

    if withheld is not None:
        return [*textwrap.wrap(f"{withheld.what[0].upper()}{withheld.what[1:]}", WIDTH), *error_details(withheld)]
    public, private = half_in(out, "public"), half_in(out, "private")
    if not outcome.verdict.holds:
        return [f"Written although the promise is broken: {public} is for research and not to hand out; it says so "
                f"itself. {private} (to keep) says why."]  # fmt: skip
    return [f"Written: {public} (to hand out) and {private} (to keep)."]
