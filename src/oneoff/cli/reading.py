"""The options that say which table a command is about, for the commands that read one as `anonymize` does.

They are listed once. A command decorated with `of_a_table` takes `read` in place of all of them: asked with a promise,
it gives the job that they, or a job file, describe.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from oneoff.cli import options

if TYPE_CHECKING:
    from oneoff.job import Job

__all__ = ["Read", "of_a_table"]

Read = Callable[[str | None], "Job"]


def _of_a_table(
    source: options.FileOrJob,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    identifiers: options.Identifiers = None,
    person: options.Person = None,
    household: options.Household = None,
    rows_are_people: options.RowsArePeople = False,
    per_person: options.PerPerson = None,
    most_rows: options.MostRows = None,
    weight: options.WeightColumn = None,
    keep: options.Keep = None,
    numeric: options.Numeric = None,
    categorical: options.Categorical = None,
    ordered: options.Ordered = None,
    dates: options.Dates = None,
    prefix: options.Prefix = None,
    hierarchy: options.SameHierarchy = None,
    missing: options.JobMissing = None,
    bins: options.Bins = None,
    level: options.Level = None,
    other_below: options.OtherBelow = None,
    max_suppressed: options.MaxSuppressed = None,
    seed: Annotated[int | None, typer.Option(help="For a repeatable run.")] = None,
    seed_file: options.SeedFile = None,
    rows: options.Rows = None,
    encoding: options.JobEncoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    na: options.NaTexts = None,
) -> None:
    """Nothing but its parameters is of interest."""


def of_a_table(command: Callable[..., None]) -> Callable[..., None]:
    """A command with these options after the file, its own, and the others, in that order."""
    shared, own = _parameters(_of_a_table), _parameters(command)
    source, first, *others = shared
    mine = [each for each in own if each.name != "read"]

    def run(**given: Any) -> None:
        table = {each.name: given.pop(each.name) for each in shared}
        command(lambda guarantee: options.reading_job(table["source"], table | {"guarantee": guarantee}), **given)

    everything = [source, first, *mine[:-1], *others, mine[-1]]  # --json is the last of all commands
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = signature(run).replace(parameters=everything)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in everything}
    return run


def _parameters(function: Callable[..., None]) -> list[Parameter]:
    """With what stands for their types, which the command line is made of."""
    hints = get_type_hints(function, localns={"Read": object}, include_extras=True)
    found = signature(function).parameters.values()
    return [each.replace(annotation=hints[each.name], kind=Parameter.KEYWORD_ONLY) for each in found]
