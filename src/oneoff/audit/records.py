"""Are the records those of the people in the table? What can be asked of more than one kind of release.

Each function gives reasons not to trust the records, in words; nothing when there are none.
"""

from __future__ import annotations

import numpy as np

from oneoff.releases import Exact, Generalized, Masked, Published
from oneoff.table import Table

__all__ = [
    "kept_problems",
    "links_problem",
    "prior_problem",
    "quasi_problems",
    "rows_problem",
    "value_problems",
]


def rows_problem(release: Published, table: Table) -> str:
    """As many records as people."""
    same = release.rows == table.rows
    return "" if same else f"the release has {release.rows} records, the table {table.rows} people"


def prior_problem(release: Published, table: Table) -> str:
    same = np.array_equal(release.counts, table.counts)
    return "" if same else "the stated prior is not that of the table"


def links_problem(release: Published, table: Table) -> str:
    """Nobody is lost or doubled, as far as it is known whose record is whose."""
    whole = release.links is None or np.array_equal(np.sort(release.links), np.arange(table.rows))
    return "" if whole else "a person has no record of their own"


def quasi_problems(release: Exact, table: Table) -> list[str]:
    """Is everybody under their own quasi-identifiers?"""
    found = []
    for j, attribute in enumerate(release.quasi):
        known, own = table.column(attribute.name)
        shown = attribute.decode(release.codes[release.links, j])
        if not np.array_equal(shown, known.decode(own)):
            found.append(f"a record shows another {attribute.name!r} than its person has")
    return found


def value_problems(release: Generalized | Masked, table: Table) -> list[str]:
    """Does everybody's record show their own sensitive value, and what travels with it?"""
    found = []
    if release.sensitive is not None and table.sensitive is not None and release.links is not None:
        shown = release.sensitive.decode(release.values[release.links])
        if not np.array_equal(shown, table.sensitive.decode(table.values)):
            found.append("a person's record shows another person's value")
    return found + kept_problems(release, table)


def kept_problems(release: Generalized | Masked, table: Table) -> list[str]:
    """Do the columns that travel with the sensitive value travel with their own?"""
    if release.kept is None or table.kept is None or release.links is None:
        return [] if (release.kept is None) == (table.kept is None) else ["the release lacks columns to keep"]
    found = []
    for j, (attribute, known) in enumerate(zip(release.keep, table.keep, strict=True)):
        shown, own = release.kept[release.links, j], table.kept[:, j]
        same = attribute.decode(np.maximum(shown, 0)) == known.decode(np.maximum(own, 0))
        if not (((shown < 0) == (own < 0)) & (same | (own < 0))).all():
            found.append(f"a record shows another person's {attribute.name!r}")
    return found
