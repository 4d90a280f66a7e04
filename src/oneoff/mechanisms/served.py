"""What mechanisms that reason with ceilings refuse when they are called by themselves, without the catalog."""

from __future__ import annotations

from oneoff.errors import MethodMismatch, listing
from oneoff.models import Model
from oneoff.table import Table

__all__ = ["refuse_all_but_ceilings"]


def refuse_all_but_ceilings(method: str, table: Table, model: Model, *, sets: bool = False) -> None:
    """Only promises about identity, and ceilings or floors on single values (or, with `sets`, on sets of them too)."""
    unserved = []
    for part in model.parts():
        caps = part.caps(table.counts)
        if part.about != "identity" and (caps is None or (caps.sets and not sets)):
            unserved.append(part.spec())
    if unserved:
        raise MethodMismatch(
            f"{method} does not keep {listing(unserved)}",
            allowed="promises that are ceilings or floors on belief, such as l-diversity or beta-likeness; k-anonymity",
            got=model.spec(),
            hint="mondrian keeps every promise",
        )
