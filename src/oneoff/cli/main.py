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

from oneoff.errors import BadValue, OneoffError, PromiseBroken

if TYPE_CHECKING:
    from oneoff.audit import Verdict
    from oneoff.cli.job import Job
    from oneoff.table import Table

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
GuaranteeHelp = "The promise, e.g. l-diversity:5, beta-likeness:3, t-closeness:0.2, k-anonymity:10; join with +."


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
        list[str] | None, typer.Option(help="zip=zip.csv: generalize a column along its hierarchy (ARX files).")
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
        list[str] | None, typer.Option(help="An option of the method, e.g. cuts=strict. Repeatable.")
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
        bool, typer.Option("--even-if-broken", help="Write public/ even if the promise does not hold (research).")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a table: the most useful release that keeps the promise, checked record by record."""
    from oneoff.cli.job import read_job

    is_job = source.endswith(".toml")
    method_options = _pairs(option, "--option") | ({} if effort is None else {"effort": effort})
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
    as_json: AsJson = False,
) -> None:
    """Judge a release with everything the steward has: the records, the links, the original table."""
    from oneoff.audit import audit as audit_release

    release, original = _load(folder, table)
    _print_verdict(audit_release(release, original, guarantee), as_json)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="The public half of a release.")],
    as_json: AsJson = False,
) -> None:
    """Check a release as its recipient: hashes, records and promise, from the public half alone."""
    from oneoff.audit import verify as verify_release

    _print_verdict(verify_release(folder), as_json)


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
    hierarchy: Annotated[list[str] | None, typer.Option(help="zip=zip.csv: measure AIL along this hierarchy.")] = None,
    as_json: AsJson = False,
) -> None:
    """How much the release blurs, by several measures and by attribute."""
    from oneoff.report.text import utility_lines
    from oneoff.table.hierarchy import read_hierarchy
    from oneoff.utility import utility as measure

    release, original = _load(folder, table)
    trees = {name: read_hierarchy(path) for name, path in _pairs(hierarchy, "--hierarchy").items()}
    measured = measure(release, original, hierarchies=trees)
    if as_json:
        _print_json(measured.as_dict())
    else:
        _print_lines(utility_lines(measured))


@app.command()
def query(
    folder: Annotated[Path, typer.Argument(help="The public half of a release.")],
    where: Annotated[str, typer.Argument(help="\"age between 30 and 39 and disease in ('flu')\"")],
    as_json: AsJson = False,
) -> None:
    """How many people have these properties? An estimate from the public half, with an interval."""
    from oneoff.releases.load import load_release

    estimate = load_release(folder).count(where)
    if as_json:
        _print_json({"where": where} | estimate.as_dict())
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


def main() -> NoReturn:
    """Run the command line; errors of ours become a message and an exit status."""
    try:
        app(standalone_mode=True)
    except PromiseBroken as error:
        _complain(error, 1)
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
        details = error.as_dict()
        typer.echo(f"error: {details.pop('what')}", err=True)
        details.pop("code")
        for label, text in details.items():
            typer.echo(f"  {label + ':':<9}{text}", err=True)
    sys.exit(status)


def _publish(
    table: Table, guarantee: str, method: str, seed: int | None, options: Mapping[str, Any], job: str, out: Path, *,
    csv: bool, overwrite: bool, broken: bool, as_json: bool,
) -> None:  # fmt: skip
    from oneoff.publish import publish
    from oneoff.report.progress import progress_bar
    from oneoff.report.text import outcome_lines

    for notice in table.notices:
        _notify(notice)
    with progress_bar() as report:
        outcome = publish(
            table, guarantee, method=method, seed=seed, options=options, job=job, report=report, warn=_notify
        )
    withheld = ""
    try:
        outcome.release.write(out, csv=csv, overwrite=overwrite, even_if_broken=broken)
    except PromiseBroken as error:
        withheld = str(error)
    if as_json:
        _print_json(outcome.as_dict() | {"out": str(out), "withheld": withheld or None})
    else:
        summary = outcome.as_dict() | {"notices": []}  # they are on stderr already
        _print_lines(outcome_lines(summary, outcome.verdict, outcome.utility))
        typer.echo(f"\n{withheld or f'Written: {out}/public (to hand out) and {out}/private (to keep).'}")
    if not outcome.verdict.holds:
        raise typer.Exit(1)


def _notify(text: str) -> None:
    typer.echo(f"notice: {text}", err=True)


def _refuse_existing(out: Path, overwrite: bool) -> None:
    """Before hours of work rather than after."""
    from oneoff.releases.write import refuse_existing

    refuse_existing(out, overwrite)


def _load(folder: Path, table: str | None) -> tuple[Any, Table | None]:
    """A release with its links, and the original table when it is given or the private half says where it is."""
    from dataclasses import replace

    from oneoff.releases import Generalized, Masked
    from oneoff.releases.load import load_cover, load_graph, load_links, load_release

    release = load_release(folder)
    whole = folder.resolve()  # `.` has no name of its own
    root = whole.parent if whole.name == "public" else whole
    links = load_links(root)
    release = replace(release, links=links)
    if isinstance(release, Generalized) and links is not None and release.group is None:
        release = replace(release, graph=load_graph(root, links))
    if isinstance(release, Masked):
        release = replace(release, cover=load_cover(root))
    job = _job_of(root, table, release)
    return release, None if job is None else job.read_table()


def _job_of(root: Path, table: str | None, release: Any) -> Job | None:
    """How to read the original table: as the job did, or from what the release says of its columns."""
    from oneoff.cli.job import Job, read_job

    path = root / "private" / "job.toml"
    if path.is_file():
        job = read_job(str(path), {"input": table})
        return job if table is not None or Path(job.input).is_file() else None
    if table is None:
        return None
    return Job(
        input=table,
        guarantee=release.guarantee,
        quasi=[attribute.name for attribute in release.quasi],
        sensitive=None if release.sensitive is None else release.sensitive.name,
        numeric=[attribute.name for attribute in release.quasi if attribute.kind == "numeric"],
        categorical=[attribute.name for attribute in release.quasi if attribute.kind == "categorical"],
    )


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
    pairs = {}
    for item in given or []:
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise BadValue(f"{flag} needs a name and a value", allowed=f"{flag} NAME=VALUE", got=item)
        pairs[name.strip()] = value.strip()
    return pairs
