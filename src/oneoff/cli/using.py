"""Commands about what a release is good for: `utility` and `query`."""

from __future__ import annotations

from typing import Annotated

import typer

from oneoff.cli import options
from oneoff.cli.output import notify, print_json, print_lines
from oneoff.errors import BadValue

__all__ = ["query", "utility"]

_BARS = 15  # on one screen


def utility(
    folder: options.ReleaseFolder,
    table: options.TableFile = None,
    hierarchy: options.MeasuredHierarchy = None,
    domains: options.Domains = None,
    missing: options.SameMissing = None,
    dates: options.Dates = None,
    rows: options.Rows = None,
    queries: Annotated[
        int | None, typer.Option(help="Also ask so many random COUNT and SUM queries, e.g. 1000; needs the table.")
    ] = None,
    attributes: Annotated[int | None, typer.Option(help="Columns each query names, 4 by default.")] = None,
    seed: Annotated[int | None, typer.Option(help="For the same queries again.")] = None,
    weighted: options.Weighted = False,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """What a typical count is off by, then how much is blurred, by attribute; with --queries, other counts and sums."""
    from oneoff.inspection import Queries, measure_folder
    from oneoff.report.text import utility_lines

    if queries is None and (attributes is not None or seed is not None or weighted):
        raise BadValue("--attributes, --seed and --weighted are about queries", allowed="with --queries 1000, say")
    asked = None if queries is None else Queries(queries, attributes, seed, weighted)
    coarse = options.pairs(dates, "--dates")
    reading, trees = {"missing": missing, "rows": rows, "dates": coarse}, options.pairs(hierarchy, "--hierarchy")
    measured, errors = measure_folder(folder, table, trees, reading, asked, options.sizes(domains, "--domains"))
    if as_json:
        print_json(measured.as_dict() | ({} if errors is None else {"queries": errors.as_dict()}))
    else:
        lines = utility_lines(measured, None if verbose else _BARS)
        print_lines([*lines, *([] if errors is None else ["", errors.sentence()])])


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
