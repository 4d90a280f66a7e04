"""The commands together, in the order in which a steward needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from oneoff.cli.attacking import attack
from oneoff.cli.choosing import compare, hierarchy, methods, profile, sweep
from oneoff.cli.exporting import export
from oneoff.cli.judging import audit, check, verify
from oneoff.cli.publishing import anonymize, demo
from oneoff.cli.reproducing import reproduce
from oneoff.cli.serving import studio
from oneoff.cli.using import microdata, query, utility

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Publish a table about people once, safely.

Name the columns that could identify a person (--quasi), those that must stay private (--sensitive) and how much
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
  oneoff studio                                all of this in a page in your browser

Exit status: 0 done and the promise holds, 1 the promise does not hold, 2 bad input or a promise nothing can keep,
3 a defect of oneoff itself, 4 (verify --key) the promise holds, but nobody vouches for where the files come from.""",
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


for _command in (
    demo,
    profile,
    hierarchy,
    anonymize,
    audit,
    attack,
    verify,
    check,
    utility,
    query,
    microdata,
    export,
    compare,
    sweep,
    methods,
    reproduce,
    studio,
):
    app.command()(_command)
