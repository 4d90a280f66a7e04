"""The command that opens a page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["studio"]


def studio(
    source: Annotated[
        Path | None, typer.Argument(help="The table to begin with, a CSV or Parquet file.", metavar="[FILE]")
    ] = None,
    release: Annotated[
        Path | None, typer.Option(help="The public half of a release: count in it and verify it, and nothing else.")
    ] = None,
    folder: Annotated[
        list[Path] | None,
        typer.Option(
            help="Files may be chosen in this folder, too, beside the present one and that of FILE. Repeatable."
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep tables and drafts in this folder until the next time; they are gone without."),
    ] = None,
    port: Annotated[int, typer.Option(help="Where the page is on this machine; any free port by default.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Do all of this in a page in your browser, on your own machine: nothing leaves it."""
    from oneoff.studio import serve

    serve(source, port=port, browser=browser, release=release, keep=keep, folders=folder or (), say=typer.echo)
