"""What to say before the work about the shape of a table: many quasi-identifiers, columns with many values."""

from __future__ import annotations

import math

from oneoff.catalog import Method
from oneoff.errors import listing
from oneoff.models import KAnonymity, Model
from oneoff.table import Table

__all__ = ["many_categories", "many_columns"]

_FEW_COLUMNS = 12
_MANY_CATEGORIES = 1_000


def many_columns(method: Method, model: Model, table: Table) -> str:
    """Groups of people who are alike in very many columns do not exist.

    Every time people are parted in two by a column, half of them are left: so many times, and no more, can that be
    done before a group is as small as promised. The columns that had no part in it stay as they are in the table.
    """
    size = max([2, *(part.k for part in model.parts() if isinstance(part, KAnonymity))])
    halvings = max(1, math.ceil(math.log2(max(1.0, table.rows / size))))
    columns = len(table.quasi)
    if method.form not in ("generalized", "tallied") or columns <= max(_FEW_COLUMNS, 2 * halvings):
        return ""
    return (
        f"{columns} quasi-identifiers: nobody is like anybody else in all of them. {table.rows:,} people are in groups "
        f"of {size} once they were parted in two {halvings} times, by {halvings} of the columns at most; of the others "
        "groups will show nearly every value. Name those with --quasi that somebody could know of a person, and leave "
        "out what is not needed"
    )


def many_categories(method: Method, table: Table) -> str:
    """Sets of thousands of values, which every record of a group repeats."""
    many = [a for a in table.quasi if a.kind == "categorical" and a.hierarchy is None and a.size > _MANY_CATEGORIES]
    if method.form != "generalized" or not many:
        return ""
    first = many[0].name
    return (
        f"{listing([f'{a.name} ({a.size:,} values)' for a in many])}: without a hierarchy every record lists all "
        f"values that occur in its group. `oneoff hierarchy FILE {first}` proposes a hierarchy, and --hierarchy "
        f"{first}=FILE.csv publishes its nodes instead; a prefix of a code is often enough"
    )
