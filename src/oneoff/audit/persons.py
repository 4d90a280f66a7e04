"""Promises about persons who have several rows: what can be counted of them, and what is said of what cannot."""

from __future__ import annotations

from dataclasses import replace

from oneoff.audit.verdict import Verdict
from oneoff.models import Model
from oneoff.releases import Generalized, Published, Tallied
from oneoff.table import Table
from oneoff.table.arrays import Ints
from oneoff.table.persons import persons_in

__all__ = ["SEVERAL_ROWS", "about_persons", "persons_in_groups"]

SEVERAL_ROWS = (
    "somebody may have several rows, and what is learnt of a person from all of them is counted in no such release"
)
_UNLINKED = "somebody has several rows, and whose a record is, is not known here: persons cannot be counted"


_PROVIDED = "no person has a larger part of a group's rows than was promised, which files do not show"


def persons_in_groups(release: Published, table: Table | None, group: Ints) -> Ints | None:
    """How many persons every group counts for; None where every row is a person, or whose it is is not known."""
    if table is None or table.hiding is None or release.links is None:
        return None
    return persons_in(group[release.links], table.hiding)


def about_persons(verdict: Verdict, release: Published, table: Table | None, model: Model) -> Verdict:
    """With what a reader must know about rows and persons; a promise that was counted in rows only does not hold."""
    if table is not None and table.hiding is not None:
        why = _uncounted(release, model, table)
        who = f"persons: {table.rows:,} rows of {table.people:,}, at most {table.rows_per_person:,} each"
        homes = "; who looks the same is counted in households" * (table.household is not None)
        said = f"Counted in {who}{homes}. Nobody has a larger part of a group than one of so many."
        if why:
            return replace(verdict, holds=False, problems=(*verdict.problems, why))
        return replace(verdict, remarks=(said, *verdict.remarks))
    if release.persons is None:
        return verdict
    said = (
        f"The promise is about persons: {release.rows:,} rows of {release.persons:,}. Files show rows only; that "
        "groups have as many persons as promised is taken on trust, and so is how many rows a person has."
    )
    return replace(verdict, remarks=(said, *verdict.remarks), provided=verdict.provided or _PROVIDED)


def _uncounted(release: Published, model: Model, table: Table) -> str:
    """Why the promise was not judged for persons, or nothing."""
    values = table.person is not None and any(part.about != "identity" for part in model.parts())
    if isinstance(release, Tallied):
        return _UNLINKED if release.links is None else ""
    if not isinstance(release, Generalized) or release.group is None or values:
        return SEVERAL_ROWS
    return _UNLINKED if release.links is None else ""
