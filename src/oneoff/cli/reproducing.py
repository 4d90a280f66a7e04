"""The command that measures what the papers measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneoff.cli import options
from oneoff.cli.output import notify, print_json, print_lines
from oneoff.errors import BadValue, nearest

if TYPE_CHECKING:
    from oneoff.reproduce.harness import Claim, Experiment

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="000, 001, 002, 003, 004 or all; without it, what there is.", metavar="[NAME]")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The paper's settings, for the real tables: minutes to an hour each.")
    ] = False,
    only: Annotated[list[str] | None, typer.Option(help="A part, such as figure-9. Repeatable.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="The folder of real tables; $ONEOFF_DATA by default. Without one people are generated."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results go, in a folder for each paper.")] = Path("reproduced"),
    seed: Annotated[int, typer.Option(help="Where chance begins.")] = 1,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure the figures and tables of a paper again: numbers, pictures, and what is the same."""
    from oneoff.reproduce import PAPERS, experiment

    if name is None:
        if as_json:
            print_json({"experiments": {each: list(experiment(each).parts) for each in PAPERS}})
        else:
            print_lines(_listed([experiment(each) for each in PAPERS]))
        return
    found = [experiment(each) for each in (PAPERS if name == "all" else [name])]
    claims = dict(_claims(found, only or [], out, data or _given(), full, seed, verbose))
    if as_json:
        print_json({"out": str(out), "claims": {each: [vars(one) for one in said] for each, said in claims.items()}})
    else:
        print_lines(line for each, said in claims.items() for line in _said(said, out / each / "results.md"))


def _claims(
    experiments: list[Experiment], only: list[str], out: Path, data: Path | None, full: bool, seed: int, verbose: bool
) -> Iterator[tuple[str, list[Claim]]]:
    from oneoff.reproduce.pages import write_index, write_results
    from oneoff.reproduce.tables import Tables

    tables = Tables(data)
    if full and data is None:
        notify("no real tables were given (--data): the paper's settings are measured on generated people")
    chosen = [(each, _parts(each, only)) for each in experiments]
    for each, parts in chosen:
        claims = each.run(parts, out / each.name, tables=tables, full=full, seed=seed, verbose=verbose)
        write_results(each, out / each.name)
        write_index(out)
        yield each.name, claims


def _given() -> Path | None:
    folder = os.environ.get("ONEOFF_DATA")
    return Path(folder) if folder else None


def _parts(found: Experiment, only: list[str]) -> list[str]:
    for part in only:
        if part not in found.parts:
            raise BadValue(
                f"{found.name} has no part {part!r}",
                allowed=", ".join(found.parts),
                got=part,
                hint=nearest(part, found.parts),
            )
    return only or list(found.parts)


def _listed(experiments: list[Experiment]) -> Iterator[str]:
    yield "oneoff reproduce NAME measures in small, on generated people; --full --data FOLDER as the paper did."
    for each in experiments:
        yield ""
        yield f"{each.name}: {each.title}"
        yield f"  {' '.join(each.parts)}"


def _said(claims: list[Claim], page: Path) -> Iterator[str]:
    for claim in claims:
        yield f"{claim.figure}: {claim.same}. The paper: {claim.paper} Here: {claim.found} {claim.why}".rstrip()
        yield ""
    yield f"Numbers and pictures: {page}"
