"""Commands about what a release is good for: `utility`, `query` and `microdata`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneoff.cli import options
from oneoff.cli.output import notify, print_json, print_lines
from oneoff.errors import BadValue

if TYPE_CHECKING:
    from oneoff.utility.workloads import Asking

__all__ = ["microdata", "query", "utility"]

_BARS = 15  # on one screen


def utility(
    folder: options.ReleaseFolder,
    table: options.TableFile = None,
    hierarchy: options.MeasuredHierarchy = None,
    domains: options.Domains = None,
    missing: options.SameMissing = None,
    dates: options.Dates = None,
    rows: options.Rows = None,
    workload: options.Workload = None,
    queries: Annotated[
        int | None, typer.Option(help="How many random queries to ask, 1000 by default; without --workload, of sums.")
    ] = None,
    attributes: Annotated[int | None, typer.Option(help="Columns each query names, 3 by default; 4 for sums.")] = None,
    seed: Annotated[int | None, typer.Option(help="For the same queries again.")] = None,
    weighted: options.Weighted = False,
    target: options.Target = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", help="trees, logistic, or both (default). Repeatable.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="A file with people who are not in the release; those held out by default.")
    ] = None,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """What a typical count is off by, then how much is blurred, by attribute; other counts, sums, and models."""
    from oneoff.inspection import measure_folder, model_folder
    from oneoff.report.text import utility_lines
    from oneoff.utility.modelling import MODELS

    asked = _asked(workload, queries, attributes, seed, weighted)
    if target is None and (model or test):
        raise BadValue("--model and --test are about a column to tell", allowed="with --target disease, for example")
    coarse = options.pairs(dates, "--dates")
    reading, trees = {"missing": missing, "rows": rows, "dates": coarse}, options.pairs(hierarchy, "--hierarchy")
    measured, errors = measure_folder(folder, table, trees, reading, asked, options.sizes(domains, "--domains"))
    told = None if target is None else model_folder(folder, target, table, test, reading, model or tuple(MODELS))
    if as_json:
        more = {} if errors is None else {"queries": errors.as_dict()}
        print_json(measured.as_dict() | more | ({} if told is None else {"model": told.as_dict()}))
        return
    print_lines(utility_lines(measured, None if verbose else _BARS))
    print_lines([] if errors is None or asked is None else ["", f"Asked for {asked.workload}: {errors.sentence()}"])
    print_lines([] if told is None else ["", *told.sentences()])


def _asked(
    workload: str | None, queries: int | None, attributes: int | None, seed: int | None, weighted: bool
) -> Asking | None:
    """What to ask beside the test counts."""
    from oneoff.utility.workloads import WORKLOADS, Asking

    given = (queries, attributes, seed)
    if workload is None and queries is None:
        if any(each is not None for each in given) or weighted:
            raise BadValue("--attributes, --seed and --weighted are about queries", allowed="with --queries 1000, say")
        return None
    asked = Asking(queries, attributes, seed, "sums" if workload is None else workload, weighted)
    if asked.own and any(each is not None for each in given):
        raise BadValue(
            "a file says itself what to ask", allowed=f"--queries, --attributes and --seed with {', '.join(WORKLOADS)}"
        )
    return asked


def query(
    folder: options.PublicHalf,
    where: Annotated[str, typer.Argument(help="\"age between 30 and 39 and disease in ('flu')\"")],
    weighted: options.Weighted = False,
    as_json: options.AsJson = False,
) -> None:
    """How many people have these properties? An estimate from the public half, with an interval."""
    from oneoff.inspection import query_folder

    answer = query_folder(folder, where, weighted)
    for notice in answer.notices:
        notify(notice)
    if as_json:
        print_json(answer.as_dict())
    else:
        sentence = answer.estimate.sentence()
        print_lines([f"{sentence[0].upper()}{sentence[1:]}."])


def microdata(
    folder: options.PublicHalf,
    out: Annotated[Path, typer.Option("--out", help="Folder for the files; it must not exist.")],
    copies: Annotated[int, typer.Option(help="How many imputations to draw.")] = 20,
    seed: Annotated[int | None, typer.Option(help="For the same rows again.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV files in place of Parquet.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Draw tables of plain rows, for multiple imputation: what they differ in is what the release leaves open."""
    from oneoff.inspection import impute_folder

    files = impute_folder(folder, out, copies, seed, csv=csv)
    if as_json:
        print_json({"folder": str(out), "copies": len(files), "files": files})
    else:
        lines = [f"{len(files)} tables of plain rows: {out / files[0]} to {files[-1]}. Rows are not people."]
        print_lines([*lines, "Compute what you want to know from each, and pool the answers (oneoff.pool in Python)."])
