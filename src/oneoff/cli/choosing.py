"""Commands to look before publishing: `profile`, `hierarchy`, `compare`, `sweep` and `methods`."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneoff.cli import options
from oneoff.cli.output import WIDTH, notify, print_json, print_lines
from oneoff.cli.reading import Read, of_a_table

if TYPE_CHECKING:
    from oneoff.catalog import Method

__all__ = ["compare", "hierarchy", "methods", "profile", "sweep"]

_OPTIONS = "What the options mean is in docs/explanation/methods, a page for each method."


def profile(
    source: options.File,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    population: Annotated[
        str | None, typer.Option(help="A table of the whole population, for journalist risk.")
    ] = None,
    rows: options.Rows = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    na: options.NaTexts = None,
    as_json: options.AsJson = False,
) -> None:
    """Look before you publish: who is unique, which columns make them so, which roles columns may have, what to run."""
    from oneoff.report.profile_page import profile_page
    from oneoff.table.columns import is_text
    from oneoff.table.databases import database_url, is_url
    from oneoff.table.profile import profile as profile_table
    from oneoff.table.textfile import decimal_commas

    frame = options.read_columns(source, rows, encoding, delimiter, decimal, na)
    for name in frame.column_names:
        for notice in decimal_commas(name, frame[name]) if is_text(frame[name].type) else ():
            notify(notice)
    private = options.names(sensitive) or None
    found = profile_table(frame, quasi=options.names(quasi) or None, sensitive=private, population=population)
    given = {"--rows": rows, "--encoding": None if encoding == "utf-8" else encoding, "--delimiter": delimiter,
             "--decimal": decimal, "--na": na}  # fmt: skip
    reading = [text for flag, value in given.items() if value is not None for text in (flag, str(value))]
    command = found.command(str(database_url(source)) if is_url(source) else source, reading)
    if as_json:
        print_json(found.as_dict() | {"command": command})
    else:
        typer.echo("\n".join(profile_page(found, command)))


def hierarchy(
    source: options.File,
    column: Annotated[str, typer.Argument(help="The column to make a hierarchy for.", metavar="COLUMN")],
    kind: Annotated[
        str | None,
        typer.Option(
            help="Only this one: dates, icd-10, icd-9, soc, regions, prefixes, intervals, counts or clusters."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Columns that say which values are alike, for clusters; never the sensitive one."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the first proposal as a CSV file, to edit.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    rows: options.Rows = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    na: options.NaTexts = None,
    as_json: options.AsJson = False,
) -> None:
    """Propose hierarchies for a column, as trees with counts; --out keeps one as a file that ARX reads, too."""
    from oneoff.table.proposals import propose, write_hierarchy

    frame = options.read_columns(source, rows, encoding, delimiter, decimal, na)
    found = propose(frame, column, options.names(by), kind)
    if out is not None:
        write_hierarchy(found, column, out, overwrite=overwrite)
    if as_json:
        print_json({"column": column, "proposals": [each.as_dict() for each in found]})
        return
    for each in found:
        print_lines([f"{each.kind}: {each.why}.", *each.lines(), ""])
    typer.echo(_next_step(bool(found), column, out))


def _next_step(found: bool, column: str, out: Path | None) -> str:
    if not found:
        return f"Nothing is proposed for {column!r}: a group shows sets of its values, or ranges if these are numbers."
    if out is None:
        file = f"{column}.csv"
        return f"--kind KIND --out {file} writes one of them, to edit; anonymize --hierarchy {column}={file} uses it."
    return f"Written: {out}. Edit it as you like; anonymize --hierarchy {column}={out} uses it."


@of_a_table
def compare(
    read: Read,
    guarantee: Annotated[
        list[str] | None, typer.Option(help="The promise, e.g. beta-likeness:3. Repeatable: each with every method.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", help="A method, with options as mondrian:cuts=strict. Repeatable; all by default."),
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option("--run", help='A method with a promise of its own, "mondrian k-anonymity:10". Repeatable.'),
    ] = None,
    target: options.Target = None,
    model: options.ModelName = "trees",
    workload: options.Workload = None,
    hold_out: options.HoldOut = None,
    out: Annotated[Path | None, typer.Option("--out", help="An HTML page with the table and a plot.")] = None,
    domains: options.Domains = None,
    as_json: options.AsJson = False,
) -> None:
    """Methods side by side: what counts are off by, loss, worst belief, people above the limit. Writes no release."""
    from oneoff.comparison import compare as compare_methods
    from oneoff.report.comparison import comparison_html, comparison_lines
    from oneoff.report.progress import progress_bar

    own = [text.strip().partition(" ")[2] for text in runs or ()]
    job = read(next(iter([*(guarantee or ()), *own]), None))
    chosen = guarantee or ([] if runs else [job.guarantee])
    table, sizes = job.read_table(), options.sizes(domains, "--domains")
    with progress_bar() as report:
        found = compare_methods(
            table, chosen, methods=methods, runs=runs or (), seed=job.chosen_seed(), domains=sizes,
            hold_out=job.hold_out if hold_out is None else hold_out, most_rows=job.rows_of_a_person(), target=target,
            model=model, workload=workload, max_suppressed=job.max_suppressed, report=report,
        )  # fmt: skip
    rows_found = [row.as_dict() for row in found]
    promises = list(dict.fromkeys([*chosen, *(row.guarantee for row in found[-len(own) :] if own)]))
    title = ", ".join(promises)
    if out is not None:
        out.write_text(comparison_html(rows_found, title), encoding="utf-8")
    if as_json:
        only = promises[0] if len(promises) == 1 else None
        print_json({"guarantee": only, "guarantees": promises, "rows": table.rows, "methods": rows_found})
    else:
        print_lines(comparison_lines(rows_found, title))


@of_a_table
def sweep(
    read: Read,
    guarantee: Annotated[
        str | None,
        typer.Option(
            help="The promise with values to try: beta-likeness:1..5, beta-likeness:1..3:0.5, beta-likeness:1,2,4, or "
            "k-anonymity:5..20:5+beta-likeness:3."
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", help="Methods, e.g. tallies,mondrian; tallies by default where it serves."),
    ] = None,
    target: options.Target = None,
    model: options.ModelName = "trees",
    workload: options.Workload = None,
    repeat: Annotated[int, typer.Option(help="How many draws of each, with other people held out.")] = 1,
    hold_out: Annotated[float, typer.Option("--hold-out", help="Leave out this share of the people to test on.")] = 0.2,
    out: Annotated[Path | None, typer.Option("--out", help="An HTML page with the table and plots.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Which parameter? What a promise costs at several values: counts, models, loss, attacks. Writes no release."""
    from oneoff.report.progress import progress_bar
    from oneoff.report.sweep import CHOSEN, sweep_html, sweep_lines
    from oneoff.sweeping import sweep as sweep_values

    job = read(guarantee)
    with progress_bar() as report:
        swept = sweep_values(
            job.read_table(), job.guarantee, methods=options.names(methods) or None, repeat=repeat,
            seed=job.chosen_seed(), hold_out=hold_out, target=target, model=model, workload=workload,
            most_rows=job.rows_of_a_person(), max_suppressed=job.max_suppressed, report=report,
        ).as_dict()  # fmt: skip
    if out is not None:
        out.write_text(sweep_html(swept), encoding="utf-8")
    if as_json:
        print_json(swept | {"notices": [CHOSEN]})
    else:
        print_lines(sweep_lines(swept))


def methods(
    name: Annotated[str | None, typer.Argument(help="A method, to see all about it.", metavar="[NAME]")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Which methods there are: what they make, whom they stand against, their promises and options."""
    from oneoff.catalog import METHODS, named
    from oneoff.report.text import adversary_lines

    chosen = list(METHODS.values()) if name is None else [named(name)]
    if as_json:
        print_json({"methods": [method.as_dict() for method in chosen]})
        return
    for method in chosen:
        print_lines(_described(method))
    print_lines([*adversary_lines(), "", _OPTIONS])


def _several(method: Method) -> str:
    """What it does about several sensitive columns."""
    if method.several:
        return "a promise for each"
    return "as one" if method.form == "generalized" else "no"


def _described(method: Method) -> list[str]:
    """A method in a few lines."""
    about = method.as_dict()
    several = "one of " * (len(about["needs"]) > 1)
    needs = f" (needed: {several}{', '.join(about['needs'])})" if about["needs"] else ""
    rows = {
        "makes": f"{method.output}{' (to compare with papers)' * method.comparator}",
        "stands against": about["stands_against"],
        "promises": ", ".join(about["promises"]) + needs,
        "several columns": _several(method),
        "options": ", ".join(method.options) or "none",
    }
    lines = [method.name, f"  {method.summary}"]
    for label, text in rows.items():
        lines += textwrap.wrap(f"  {label + ':':<17}{text}", WIDTH, subsequent_indent=" " * 19, break_on_hyphens=False)
    return [*lines, ""]
