"""`oneoff`: the commands a steward types."""

from __future__ import annotations

import json
import sys
import textwrap
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from oneoff.errors import BadValue, Defect, OneoffError, PromiseBroken

if TYPE_CHECKING:
    from oneoff.audit import Verdict
    from oneoff.catalog import Method
    from oneoff.cli.job import Job
    from oneoff.publish import Outcome
    from oneoff.releases import Published
    from oneoff.table import Table
    from oneoff.utility import AggregateErrors

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Publish a table about people once, safely.

Name the columns that could identify a person (--quasi), the one that must stay private (--sensitive) and how much
anyone may learn (--guarantee). oneoff writes a folder: public/ to hand out, private/ to keep, and says whether the
promise holds in the file that goes out.

\b
  oneoff demo                                  see it work on a generated table
  oneoff profile people.csv                    which columns make people recognisable
  oneoff anonymize people.csv --quasi age,sex,zip --sensitive disease \\
         --guarantee beta-likeness:3 --out out/
  oneoff verify out/public                     what a recipient can check alone
  oneoff query out/public "age < 30"           what a recipient can count
  oneoff methods                               which methods there are, and their options

Exit status: 0 done and the promise holds, 1 the promise does not hold, 2 bad input or a promise nothing can keep,
3 a defect of oneoff itself.""",
)

Quasi = Annotated[str | None, typer.Option("--quasi", help="Columns an outsider may know, e.g. age,sex,zip.")]
Sensitive = Annotated[str | None, typer.Option("--sensitive", help="The column that must stay private.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
TableOption = Annotated[
    str | None, typer.Option("--table", help="The original table, to compare the records with. Found by itself "
                             "when the private half has its job.toml.")
]  # fmt: skip
Encoding = Annotated[str, typer.Option(help="Encoding of text files, e.g. latin-1.")]
Delimiter = Annotated[str | None, typer.Option(help="Delimiter of text files; found in the header by default.")]
NaTexts = Annotated[
    str | None, typer.Option("--na", help="Texts that mean a missing value, e.g. NA,? (default: empty).")
]
Rows = Annotated[int | None, typer.Option("--rows", help="Use only the first so many rows.")]
Missing = Annotated[
    str | None,
    typer.Option(help="Missing values of the table: error (default), drop, or category, as when it was read."),
]
GuaranteeHelp = (
    "The promise, e.g. l-diversity:5, beta-likeness:3, t-closeness:0.2, k-anonymity:10, delta-probability:0.2; "
    "join with +."
)

_AGAINST = (
    "An insider has the release, everybody's quasi-identifiers and the algorithm; a reader knows no algorithm. A "
    "black box holds for somebody who matches people on one column at a time and knows nothing of the algorithm. "
    "What the options mean is in docs/methods, a page for each method."
)
_BROKEN = "The steward wrote this release although its promise is BROKEN: it is for research and not to hand out."
_CHECKED = (
    "What was checked: the files have the hashes that release.json states, the records have the columns and kinds of "
    "values it describes, and the prior is that of the published values. Whether the promise holds is for the steward "
    "to say, who has the table and the private half (oneoff audit)."
)


def _version(asked: bool) -> None:
    if asked:
        from oneoff import __version__

        typer.echo(f"oneoff {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the release.")] = Path("demo-release"),
    rows: Annotated[int, typer.Option(help="People in the generated table.")] = 10_000,
    guarantee: Annotated[str, typer.Option(help=GuaranteeHelp)] = "beta-likeness:3",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier release.")] = False,
    as_json: AsJson = False,
) -> None:
    """See it work: publish a generated table of people and look at the result."""
    from oneoff.table.read import read_table
    from oneoff.table.sample import SAMPLE_ROLES, sample

    table = read_table(sample(rows), **SAMPLE_ROLES)
    if not as_json:
        typer.echo(f"A generated table of {table.rows} people; every row is made up.")
        typer.echo(f"  quasi-identifiers: {', '.join(attribute.name for attribute in table.quasi)}")
        typer.echo(f"  sensitive: {SAMPLE_ROLES['sensitive']}   promise: {guarantee}\n")
    _publish(table, guarantee, "auto", None, {}, "", out, csv=True, overwrite=overwrite, broken=False, as_json=as_json)
    if not as_json:
        program = sys.argv[0] if "/" in sys.argv[0] else "oneoff"
        typer.echo(f"\nNext: {program} verify {out}/public, or open {out}/private/report.html in a browser.")


@app.command()
def profile(
    source: Annotated[str, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")],
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    population: Annotated[
        str | None, typer.Option(help="A table of the whole population, for journalist risk.")
    ] = None,
    rows: Rows = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    na: NaTexts = None,
    as_json: AsJson = False,
) -> None:
    """Look before you publish: who is unique, which columns make them so, which roles columns may have."""
    from oneoff.report.profile_page import profile_page
    from oneoff.table.profile import profile as profile_table
    from oneoff.table.read import read_frame

    frame = read_frame(source, rows=rows, encoding=encoding, delimiter=delimiter, na=_na(na))
    found = profile_table(frame, quasi=_names(quasi) or None, sensitive=sensitive, population=population)
    if as_json:
        _print_json(found.as_dict())
    else:
        typer.echo("\n".join(profile_page(found)))


@app.command()
def anonymize(
    source: Annotated[
        str, typer.Argument(help="A CSV or Parquet file, or a job file (.toml).", metavar="FILE|JOB.toml")
    ],
    out: Annotated[str | None, typer.Option("--out", help="Folder for the release; it must not exist.")] = None,
    guarantee: Annotated[str | None, typer.Option(help=GuaranteeHelp)] = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifiers: Annotated[str | None, typer.Option(help="Columns to drop: names, numbers, addresses.")] = None,
    keep: Annotated[str | None, typer.Option(help="Columns to publish unchanged beside the sensitive one.")] = None,
    numeric: Annotated[str | None, typer.Option(help="Columns to read as numbers, whatever they look like.")] = None,
    categorical: Annotated[str | None, typer.Option(help="Columns to read as categories (codes, for example).")] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            help="zip=zip.csv: generalize a column along its hierarchy (ARX files); with mutual-cover, which does not "
            "generalize, it says how far apart values are."
        ),
    ] = None,
    missing: Annotated[str | None, typer.Option(help="Missing values: error (default), drop, or category.")] = None,
    bins: Annotated[int | None, typer.Option(help="Put the sensitive numbers into so many ranges first.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="auto (default), transversal, mondrian, burel, sabre, hilbert, heterogeneous, ring, freeform, "
            "perturbation, mutual-cover, packing; exact-size, multi-size, two-size, anatomy (buckets); lmondrian, "
            "dmondrian, tmondrian, baseline (to compare with)."
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="An option of the method, e.g. cuts=strict for mondrian or joint=true for mutual-cover; `oneoff "
            "methods NAME` lists them. Repeatable."
        ),
    ] = None,
    effort: Annotated[str | None, typer.Option(help="fast, balanced (default) or best.")] = None,
    seed: Annotated[int | None, typer.Option(help="For a repeatable run. Keep it as secret as the table.")] = None,
    rows: Rows = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of text files, e.g. latin-1.")] = None,
    delimiter: Delimiter = None,
    na: NaTexts = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write data.csv beside data.parquet.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier release.")] = False,
    even_if_broken: Annotated[
        bool,
        typer.Option(
            "--even-if-broken", help="Write public/ even if the promise does not hold: for research, not to hand out."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a table: the most useful release that keeps the promise, checked record by record."""
    from oneoff.cli.job import read_job

    is_job = source.endswith(".toml")
    method_options = _pairs([*(option or []), *([] if effort is None else [f"effort={effort}"])], "--option")
    given = {
        "input": None if is_job else source, "output": out, "guarantee": guarantee, "quasi": _names(quasi),
        "sensitive": sensitive, "identifiers": _names(identifiers), "keep": _names(keep), "numeric": _names(numeric),
        "categorical": _names(categorical), "hierarchies": _pairs(hierarchy, "--hierarchy"), "missing": missing,
        "rows": rows, "encoding": encoding, "delimiter": delimiter, "na": _na(na) if na else None, "bins": bins,
        "method": method,
        "seed": seed, "csv": csv, "overwrite": overwrite, "options": method_options,
    }  # fmt: skip
    job = read_job(source if is_job else None, given)
    if job.output is None:
        raise BadValue("no folder for the release was named", allowed="--out FOLDER, or output = ... in the job file")
    _refuse_existing(Path(job.output), job.overwrite)
    table = job.read_table()
    _publish(
        table, job.guarantee, job.method, job.seed, job.options, job.to_toml(), Path(job.output),
        csv=job.csv, overwrite=job.overwrite, broken=even_if_broken, as_json=as_json,
    )  # fmt: skip


@app.command()
def audit(
    folder: Annotated[Path, typer.Argument(help="A release folder, or its public half.")],
    table: TableOption = None,
    guarantee: Annotated[str | None, typer.Option(help="Judge by another promise than the one stated.")] = None,
    missing: Missing = None,
    rows: Rows = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option(help="zip=zip.csv, where the table was read with it and there is no job.toml.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge a release with everything the steward has: the records, the links, the original table."""
    from oneoff.audit import audit as audit_release
    from oneoff.releases.folder import load_release

    release = load_release(folder, private=True)
    reading = {"missing": missing, "rows": rows, "hierarchies": _pairs(hierarchy, "--hierarchy")}
    original = _original(folder, release, table, reading)
    _print_verdict(audit_release(release, original, guarantee), as_json)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="The public half of a release.")],
    as_json: AsJson = False,
) -> None:
    """Check a release as its recipient: hashes, records and promise, from the public half alone.

    Masked releases (mutual-cover) and those without groups (heterogeneous, ring, freeform) cannot be judged that way:
    their promise takes the table and the private half, and only hashes, columns and prior are checked. That, too, is
    exit status 1; --json tells it by "checkable": false.
    """
    from oneoff.audit import audit as audit_release
    from oneoff.releases.folder import load_release

    release = load_release(folder)
    verdict = audit_release(release)
    checkable = not verdict.unjudged and not _without_groups(release)
    if as_json:
        more = {"checkable": checkable, "broken": bool(release.broken)}
        _print_json(verdict.as_dict() | more | {"holds": verdict.holds and not release.broken})
    else:
        _print_lines(_verified(release, checkable, verdict))
    if release.broken or not verdict.holds:
        raise typer.Exit(1)


@app.command()
def check(
    source: Annotated[str, typer.Argument(help="A CSV or Parquet file made by any tool.", metavar="FILE")],
    quasi: Annotated[str, typer.Option("--quasi", help="The generalized columns, e.g. age,sex,zip.")],
    guarantee: Annotated[str, typer.Option(help=GuaranteeHelp)],
    sensitive: Sensitive = None,
    rows: Rows = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    na: NaTexts = None,
    as_json: AsJson = False,
) -> None:
    """Does a table keep a promise, whoever made it? People with equal quasi-identifiers are a group."""
    from oneoff.audit import check as check_table
    from oneoff.table.read import read_frame

    frame = read_frame(source, rows=rows, encoding=encoding, delimiter=delimiter, na=_na(na))
    _print_verdict(check_table(frame, quasi=_names(quasi), sensitive=sensitive, guarantee=guarantee), as_json)


@app.command()
def utility(
    folder: Annotated[Path, typer.Argument(help="A release folder, or its public half.")],
    table: TableOption = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(help="zip=zip.csv: measure AIL, or how far masked values moved, along this hierarchy."),
    ] = None,
    missing: Missing = None,
    rows: Rows = None,
    queries: Annotated[
        int | None, typer.Option(help="Also ask so many random COUNT and SUM queries, e.g. 1000; needs the table.")
    ] = None,
    attributes: Annotated[int | None, typer.Option(help="Columns each query names, 4 by default.")] = None,
    seed: Annotated[int | None, typer.Option(help="For the same queries again.")] = None,
    as_json: AsJson = False,
) -> None:
    """How much the release blurs, by several measures and by attribute; with --queries, how well it answers."""
    from oneoff.releases import Masked
    from oneoff.releases.folder import load_release
    from oneoff.report.text import utility_lines
    from oneoff.table.hierarchy import read_hierarchy
    from oneoff.utility import utility as measure

    if queries is None and (attributes is not None or seed is not None):
        raise BadValue("--attributes and --seed are about queries", allowed="with --queries 1000, for example")
    release = load_release(folder, private=True)
    files = _pairs(hierarchy, "--hierarchy")
    masked = isinstance(release, Masked)  # only their table is measured along hierarchies
    reading = {"missing": missing, "rows": rows, "hierarchies": files if masked else {}}
    original = _original(folder, release, table, reading)
    trees = {name: read_hierarchy(path) for name, path in files.items()}
    measured = measure(release, original, hierarchies=trees)
    errors = None if queries is None else _query_errors(release, original, queries, attributes, seed)
    if as_json:
        _print_json(measured.as_dict() | ({} if errors is None else {"queries": errors.as_dict()}))
    else:
        _print_lines([*utility_lines(measured), *([] if errors is None else ["", errors.sentence()])])


@app.command()
def query(
    folder: Annotated[Path, typer.Argument(help="The public half of a release.")],
    where: Annotated[str, typer.Argument(help="\"age between 30 and 39 and disease in ('flu')\"")],
    as_json: AsJson = False,
) -> None:
    """How many people have these properties? An estimate from the public half, with an interval."""
    from oneoff.releases.folder import load_release

    release = load_release(folder)
    estimate = release.count(where)
    notices = release.unknown_values(where)
    for notice in notices:
        _notify(notice)
    if as_json:
        _print_json({"where": where} | estimate.as_dict() | {"notices": notices})
    else:
        _print_lines([estimate.sentence()[0].upper() + estimate.sentence()[1:] + "."])


@app.command()
def compare(
    source: Annotated[str, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")],
    quasi: Annotated[str, typer.Option("--quasi", help="Columns an outsider may know, e.g. age,sex,zip.")],
    guarantee: Annotated[str, typer.Option(help=GuaranteeHelp)],
    sensitive: Sensitive = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", help="A method, with options as mondrian:cuts=strict. Repeatable; all by default."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="An HTML page with the table and a plot.")] = None,
    numeric: Annotated[str | None, typer.Option(help="Columns to read as numbers, whatever they look like.")] = None,
    categorical: Annotated[str | None, typer.Option(help="Columns to read as categories (codes, for example).")] = None,
    hierarchy: Annotated[list[str] | None, typer.Option(help="zip=zip.csv, as for anonymize.")] = None,
    missing: Annotated[str, typer.Option(help="Missing values: error, drop, or category.")] = "error",
    seed: Annotated[int | None, typer.Option(help="For a repeatable run.")] = None,
    rows: Rows = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    na: NaTexts = None,
    as_json: AsJson = False,
) -> None:
    """Methods side by side on one table: loss, worst belief, people above the limit, seconds. Writes no release."""
    from oneoff.comparison import compare as compare_methods
    from oneoff.report.comparison import comparison_html, comparison_lines
    from oneoff.report.progress import progress_bar
    from oneoff.table.read import read_table

    table = read_table(
        source, quasi=_names(quasi), sensitive=sensitive, numeric=_names(numeric), categorical=_names(categorical),
        hierarchies=_pairs(hierarchy, "--hierarchy"), missing=missing, rows=rows, encoding=encoding,  # type: ignore[arg-type]
        delimiter=delimiter, na=_na(na),
    )  # fmt: skip
    with progress_bar() as report:
        found = compare_methods(table, guarantee, methods=methods, seed=seed, report=report)
    rows_found = [row.as_dict() for row in found]
    if out is not None:
        out.write_text(comparison_html(rows_found, guarantee), encoding="utf-8")
    if as_json:
        _print_json({"guarantee": guarantee, "rows": table.rows, "methods": rows_found})
    else:
        _print_lines(comparison_lines(rows_found, guarantee))


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="A method, to see all about it.", metavar="[NAME]")] = None,
    as_json: AsJson = False,
) -> None:
    """Which methods there are: what they make, whom they stand against, their promises and options."""
    from oneoff.catalog import METHODS, named

    chosen = list(METHODS.values()) if name is None else [named(name)]
    if as_json:
        _print_json({"methods": [method.as_dict() for method in chosen]})
        return
    for method in chosen:
        _print_lines(_described(method))
    _print_lines([_AGAINST])


def main() -> NoReturn:
    """Run the command line; errors of ours become a message and an exit status."""
    try:
        app(standalone_mode=True)
    except PromiseBroken as error:
        _complain(error, 1)
    except Defect as error:
        _complain(error, 3)
    except OneoffError as error:
        _complain(error, 2)
    except Exception:  # a defect of ours must not exit with 1, which says that a promise does not hold
        traceback.print_exc()
        typer.echo("this is a defect of oneoff; nothing was published, please report it", err=True)
        sys.exit(3)
    except KeyboardInterrupt:
        typer.echo("stopped; nothing was written", err=True)
        sys.exit(130)
    sys.exit(0)


def _complain(error: OneoffError, status: int) -> NoReturn:
    """What, allowed, got, hint: on stderr, or as JSON on stdout when that was asked for."""
    if "--json" in sys.argv:
        _print_json({"error": error.as_dict(), "holds": None})
    else:
        typer.echo("\n".join([f"error: {error.what}", *_details(error)]), err=True)
    sys.exit(status)


def _details(error: OneoffError) -> list[str]:
    """What is allowed, what was got and a hint, on lines of their own."""
    labelled = (("allowed:", error.allowed), ("got:", error.got), ("hint:", error.hint))
    return [f"  {label:<9}{text}" for label, text in labelled if text]


def _publish(
    table: Table, guarantee: str, method: str, seed: int | None, options: Mapping[str, Any], job: str, out: Path, *,
    csv: bool, overwrite: bool, broken: bool, as_json: bool,
) -> None:  # fmt: skip
    from oneoff.publish import publish
    from oneoff.report.progress import progress_bar
    from oneoff.report.text import outcome_lines

    said: list[str] = []

    def notify(text: str) -> None:
        if text not in said:
            said.append(text)
            _notify(text)

    for notice in table.notices:
        notify(notice)
    with progress_bar() as report:
        outcome = publish(
            table, guarantee, method=method, seed=seed, options=options, job=job, report=report, warn=notify
        )
    for notice in outcome.notices:
        notify(notice)
    withheld = None
    try:
        outcome.release.write(out, csv=csv, overwrite=overwrite, even_if_broken=broken)
    except PromiseBroken as error:
        withheld = error
    if as_json:
        _print_json(outcome.as_dict() | {"out": str(out), "withheld": None if withheld is None else str(withheld)})
    else:
        summary = outcome.as_dict() | {"notices": []}  # they are on stderr already
        _print_lines(outcome_lines(summary, outcome.verdict, outcome.utility))
        typer.echo("\n".join(["", *_written(outcome, out, withheld)]))  # paths are not wrapped
    if not outcome.verdict.holds:
        raise typer.Exit(1)


def _written(outcome: Outcome, out: Path, withheld: PromiseBroken | None) -> list[str]:
    """Where the release is, and what it may be used for."""
    if withheld is not None:
        return [withheld.what[0].upper() + withheld.what[1:], *_details(withheld)]
    if not outcome.verdict.holds:
        return [f"Written although the promise is broken: {out}/public is for research and not to hand out; it says so "
                f"itself. {out}/private (to keep) says why."]  # fmt: skip
    return [f"Written: {out}/public (to hand out) and {out}/private (to keep)."]


def _notify(text: str) -> None:
    """On a line of its own: print, unlike typer, knows that a progress bar took over the terminal."""
    print(f"notice: {text}", file=sys.stderr)


def _refuse_existing(out: Path, overwrite: bool) -> None:
    """Before hours of work rather than after."""
    from oneoff.releases.folder import refuse_existing

    refuse_existing(out, overwrite)


def _original(folder: Path, release: Published, table: str | None, reading: Mapping[str, Any]) -> Table | None:
    """The table a release was made from, when it is given or the private half says where it is.

    reading   how to read it, where that is not as the job did
    """
    from oneoff.releases.folder import release_folder

    job = _job_of(release_folder(folder), table, release, reading)
    return None if job is None else job.read_table()


def _job_of(root: Path, table: str | None, release: Published, reading: Mapping[str, Any]) -> Job | None:
    """How to read the original table: as the job did, or from what the release says of its columns."""
    from oneoff.cli.job import read_job

    path = root / "private" / "job.toml"
    if path.is_file():
        job = read_job(str(path), {"input": table, **reading})
        return job if table is not None or Path(job.input).is_file() else None
    if table is None:
        return None
    kinds = {attribute.name: attribute.kind for attribute in release.quasi if attribute.name not in _trees(reading)}
    columns = {
        "guarantee": release.guarantee,
        "quasi": [attribute.name for attribute in release.quasi],
        "sensitive": None if release.sensitive is None else release.sensitive.name,
        "keep": [attribute.name for attribute in getattr(release, "keep", ())],
        "numeric": [name for name, kind in kinds.items() if kind == "numeric"],
        "categorical": [name for name, kind in kinds.items() if kind == "categorical"],
    }
    return read_job(None, {"input": table, **columns, **reading})


def _trees(reading: Mapping[str, Any]) -> Mapping[str, str]:
    """The hierarchies a table is to be read with; a column that has one needs no kind."""
    found: Mapping[str, str] = reading.get("hierarchies") or {}
    return found


def _without_groups(release: Published) -> bool:
    from oneoff.releases import Generalized

    return isinstance(release, Generalized) and release.group is None


def _verified(release: Published, checkable: bool, verdict: Verdict) -> list[str]:
    """What a recipient learns: the verdict, what the release says of itself, and what was checked in any case."""
    from oneoff.report.text import verdict_lines

    lines = verdict_lines(verdict)
    if release.broken:
        lines = [_BROKEN, "", *lines]
    if not checkable and len(verdict.problems) == 1:  # nothing speaks against it but that it cannot be judged
        lines += ["", _CHECKED]
    return lines


def _query_errors(
    release: Published, table: Table | None, many: int, attributes: int | None, seed: int | None
) -> AggregateErrors:
    import numpy as np

    from oneoff.publish import checked_seed
    from oneoff.utility import aggregate_errors, random_aggregates

    if table is None:
        raise BadValue(
            "how well queries are answered cannot be measured without the table",
            allowed="--table FILE, or a private half whose job.toml says where it is",
            got="no table",
        )
    rng = np.random.default_rng(None if seed is None else checked_seed(seed))
    asked = random_aggregates(table, many, attributes=4 if attributes is None else attributes, rng=rng)
    return aggregate_errors(release, table, asked)


def _described(method: Method) -> list[str]:
    """A method in a few lines."""
    about = method.as_dict()
    several = "one of " * (len(about["needs"]) > 1)
    needs = f" (needed: {several}{', '.join(about['needs'])})" if about["needs"] else ""
    rows = {
        "makes": f"{method.output}{' (to compare with papers)' * method.comparator}",
        "stands against": about["stands_against"],
        "promises": ", ".join(about["promises"]) + needs,
        "options": ", ".join(method.options) or "none",
    }
    lines = [method.name, f"  {method.summary}"]
    for label, text in rows.items():
        lines += textwrap.wrap(f"  {label + ':':<16}{text}", 110, subsequent_indent=" " * 18, break_on_hyphens=False)
    return [*lines, ""]


def _print_verdict(verdict: Verdict, as_json: bool) -> None:
    from oneoff.report.text import verdict_lines

    if as_json:
        _print_json(verdict.as_dict())
    else:
        _print_lines(verdict_lines(verdict))
    if not verdict.holds:
        raise typer.Exit(1)


def _print_lines(lines: list[str]) -> None:
    """Sentences are wrapped for reading; the rows of tables, which are indented, stay as they are."""
    for line in lines:
        wrapped = [line] if line.startswith(" ") or not line else textwrap.wrap(line, 110)
        typer.echo("\n".join(wrapped))


def _print_json(content: dict[str, Any]) -> None:
    typer.echo(json.dumps(content, ensure_ascii=False))


def _names(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _na(text: str | None) -> list[str]:
    """The empty field is always missing; --na adds to it."""
    return ["", *_names(text)]


def _pairs(given: list[str] | None, flag: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in given or []:
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise BadValue(f"{flag} needs a name and a value", allowed=f"{flag} NAME=VALUE", got=item)
        if name.strip() in pairs:
            got = f"{name.strip()}={pairs[name.strip()]} and {name.strip()}={value.strip()}"
            raise BadValue(f"{flag} names {name.strip()!r} twice", allowed="each name once", got=got)
        pairs[name.strip()] = value.strip()
    return pairs
