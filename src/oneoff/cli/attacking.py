"""The command that attacks a release before somebody else does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneoff.cli import options
from oneoff.cli.output import print_json, print_lines

if TYPE_CHECKING:
    from oneoff.laboratory import Attacked

__all__ = ["attack"]

_RELEASE = (
    "A release folder, its public half, or a CSV or Parquet file or a table of a database: plain rows, or of another "
    "tool."
)


def attack(
    release: Annotated[str, typer.Argument(help=_RELEASE, metavar="RELEASE|FILE")],
    original: Annotated[
        str | None,
        typer.Option(
            help="The table it was made from, to say which guesses are right. Found by itself when the private half "
            "has its job.toml."
        ),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option("--attack", help="An attack; all that can be tried by default. Repeatable.")
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(help="People who are not in the release; those held out when it was made by default."),
    ] = None,
    earlier: Annotated[Path | None, typer.Option(help="Another release of the same people.")] = None,
    columns: Annotated[str | None, typer.Option(help="The quasi-identifiers that the attacker knows; all.")] = None,
    knows_links: Annotated[float, typer.Option(help="Share of people whose record the attacker knows.")] = 0.0,
    knows_values: Annotated[float, typer.Option(help="Share of people whose value the attacker knows.")] = 0.0,
    knows: Annotated[
        str | None, typer.Option(help="Of several sensitive columns, those whose values the attacker knows.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="What to learn with: bayes (default), or trees (needs scikit-learn).")
    ] = None,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    numeric: options.Numeric = None,
    categorical: options.Categorical = None,
    missing: options.SameMissing = None,
    rows: options.Rows = None,
    ordered: options.Ordered = None,
    dates: options.Dates = None,
    prefix: options.Prefix = None,
    hierarchy: options.ReadHierarchy = None,
    person: options.Person = None,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """Attack a release: what a capable adversary gets out of it, beside what she knows of people outside it."""
    from oneoff.audit.attacks import Attacker
    from oneoff.laboratory import attack_files

    reading = {
        "quasi": options.names(quasi),
        "sensitive": options.name_or_names(sensitive),
        "numeric": options.names(numeric),
        "categorical": options.names(categorical),
        "missing": missing,
        "rows": rows,
        "hierarchies": options.pairs(hierarchy, "--hierarchy"),
        "ordered": options.orders(ordered),
        "dates": options.pairs(dates, "--dates"),
        "prefix": options.names(prefix),
        "person": person,
    }
    who = Attacker(tuple(options.names(columns)) or None, knows_links, knows_values, knows=tuple(options.names(knows)))
    given = {} if model is None else {"model": model}
    _tell(attack_files(release, original, name, control, who, earlier, reading, **given), as_json, verbose)


def _tell(found: Attacked, as_json: bool, verbose: bool) -> None:
    if as_json:
        print_json(found.as_dict())
    else:
        print_lines(found.lines(verbose))
