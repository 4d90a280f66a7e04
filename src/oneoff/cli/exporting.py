"""The command that hands a release on to a database."""

from __future__ import annotations

from typing import Annotated

import typer

from oneoff.cli import options
from oneoff.cli.output import notify, print_json, print_lines

__all__ = ["export"]


def export(
    folder: options.ReleaseFolder,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="URL", help="duckdb:FILE, sqlite:///FILE or postgresql://USER@HOST/DATABASE; no table."
        ),
    ],
    prefix: Annotated[str, typer.Option(help="Goes before the name of each table, e.g. flu_.")] = "",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the tables of an earlier release.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Write the public half of a release as tables of a database: all of them or none; the private half never."""
    from oneoff.releases.tables import write_tables
    from oneoff.table.databases.url import database_url, warnings_of

    url = database_url(to, target=True)
    for notice in warnings_of(url):
        notify(notice)
    tables = write_tables(folder, to, prefix, overwrite=overwrite)
    if as_json:
        print_json({"to": str(url), "tables": tables})
        return
    widest = max(map(len, tables))
    print_lines([f"Written to {url}:", *(f"  {name:<{widest}}  {rows:>10,} rows" for name, rows in tables.items())])
