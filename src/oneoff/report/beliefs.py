"""What may be believed of people, and how near anyone comes to it: plots for promises that are made of ceilings."""

from __future__ import annotations

import numpy as np

from oneoff.audit import Verdict
from oneoff.errors import OneoffError
from oneoff.models import Limits, Model, parse
from oneoff.models.adversary import Adversary
from oneoff.report.behind import by_column
from oneoff.report.markup import Section
from oneoff.report.plots import belief_plot, ceilings_plot
from oneoff.report.words import percent
from oneoff.table import Attribute, Table
from oneoff.table.arrays import Floats

__all__ = ["believed", "nearest"]

_MOST_VALUES = 15
_ALONE = ", from the hidden groups alone,"


def nearest(verdict: Verdict) -> Section | None:
    """How near everybody is to a limit; only a promise made of ceilings has a witness that names a value."""
    people = verdict.per_person()
    if "belief" not in people or all(part.witness.subject != "value" for part in verdict.parts):
        return None
    where, alone = (" in the hidden groups", _ALONE) if by_column(verdict) else ("", "")
    caption = (
        f"For every person, the sensitive value whose belief{alone} comes nearest to its limit, as a share of that "
        "limit. At 1 the limit is just met. Bars to the right of the line are people for whom it is passed; "
        f"those at 2 and beyond share the last bar.{_beyond(verdict)}"
    )
    return {"where": where, "figure": belief_plot(people["belief"], people["cap"], caption)}


def believed(verdict: Verdict, table: Table, model: Model | None) -> Section | None:
    """The ceilings of the most common values."""
    sensitive = table.sensitive
    limits = None if sensitive is None else _limits(verdict, table, sensitive, model)
    if sensitive is None or limits is None:
        return None
    which = f"The {_MOST_VALUES} most common of {sensitive.size:,} values"
    floors = "" if limits.floor is None else " This promise also has a floor under each belief, not drawn here."
    caption = (
        f"{which if sensitive.size > _MOST_VALUES else 'All values'}. Without the release anybody may assume the share "
        f"in the whole table; {_may(verdict)}.{floors}{_beyond(verdict)}"
    )
    common = np.argsort(-table.counts, kind="stable")[:_MOST_VALUES].tolist()
    drawn = ceilings_plot(
        [str(sensitive.labels[value]) for value in common],
        [int(table.counts[value]) / table.rows for value in common],
        [float(limits.ceiling[value]) for value in common],
        caption,
    )
    return {"name": sensitive.name, "figure": drawn}


def _may(verdict: Verdict) -> str:
    """What the ceilings bound: of noisy counts what a person's own value does, not what people alike have in common."""
    if verdict.against is Adversary.ANYONE:
        return (
            "whoever believes so much of a person may come to believe at most the mark on the right by what the "
            "person's own value adds. What people like them have in common can tell more, and this promise does not "
            "bound that"
        )
    return f"with it, no belief about any person{_ALONE if by_column(verdict) else ''} may pass the mark on the right"


def _beyond(verdict: Verdict) -> str:
    """What becomes of ceilings that are kept in the hidden groups only, when columns are looked at, too."""
    belief = None if verdict.masked is None else verdict.masked.belief
    if belief is None or not belief.above:
        return ""
    return (
        " Somebody who looks at all columns and also knows the probabilities believes some value of "
        f"{percent(belief.above)} of the people with more than its limit."
    )


def _limits(verdict: Verdict, table: Table, sensitive: Attribute, model: Model | None) -> Limits | None:
    """The ceilings the verdict was reached with, or None where the promise has none or they cannot be had again."""
    try:
        limits = (model or parse(verdict.guarantee)).bind(sensitive).caps(table.counts)
    except OneoffError:  # e.g. ceilings from a file that is elsewhere now
        return None
    return limits if limits is not None and _used(limits, verdict) else None


def _used(limits: Limits, verdict: Verdict) -> bool:
    """A file of ceilings may have changed since: those the verdict used for people must be among these."""
    used: Floats = np.unique(verdict.per_person().get("cap", np.empty(0)))
    return bool(np.isin(used, [float(ceiling) for ceiling in limits.ceiling]).all())
