"""What mechanisms refuse when they are called by themselves, without the catalog: one place for each sentence."""

from __future__ import annotations

from collections.abc import Iterable

from oneoff.errors import BadValue, MethodMismatch, UnreachableGuarantee, listing
from oneoff.models import Counts, Model, by_column
from oneoff.table import Table

__all__ = ["refuse_all_but_ceilings", "refuse_unknown", "refuse_unreachable"]


def refuse_all_but_ceilings(method: str, table: Table, model: Model, *, sets: bool = False) -> None:
    """Only promises about identity, and ceilings or floors on single values (or, with `sets`, on sets of them too)."""
    unserved = []
    for single, own in by_column(table, model):
        for part in own.parts():
            limits = part.caps(single.counts)
            if part.about != "identity" and (limits is None or (limits.sets and not sets)):
                unserved.append(part.spec())
    if unserved:
        raise MethodMismatch(
            f"{method} does not keep {listing(unserved)}",
            allowed="promises that are ceilings or floors on belief, such as l-diversity or beta-likeness; k-anonymity",
            got=model.spec(),
            hint="mondrian keeps every promise",
        )


def refuse_unreachable(table: Table, model: Model) -> None:
    """Groups of a table that breaks the promise as one group break it too."""
    if not all(own.holds(Counts.of(single.counts), single.counts) for single, own in by_column(table, model)):
        raise UnreachableGuarantee(
            f"the table cannot keep {model.spec()}, not even as one group",
            allowed="a promise that everybody together keeps",
            got=model.spec(),
        )


def refuse_unknown(what: str, given: object, known: Iterable[str]) -> None:
    """A word that is none of those known, such as an effort or a variant."""
    known = list(known)
    if given not in known:
        raise BadValue(f"unknown {what}", allowed=", ".join(known), got=repr(given))
