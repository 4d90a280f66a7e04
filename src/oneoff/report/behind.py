"""Who is behind a record: what a masked release gives away, beside what was promised of it."""

from __future__ import annotations

from collections.abc import Iterator

from oneoff.audit import Verdict
from oneoff.audit.exposure import MaskedView
from oneoff.models.adversary import Adversary
from oneoff.report.markup import Grid, Section
from oneoff.report.plots import matching_plot
from oneoff.report.words import percent, plain

__all__ = ["behind", "by_column", "column_tiles", "hides_groups"]

_LOOKED_UP = (
    "For somebody who knows all quasi-identifiers of a person, uses each of them with some probability and looks up "
    "the records that match: how often they end up with the person's record, and with the person's value."
)


_GIVEN_AWAY = "What single columns and all columns together give away"


def by_column(verdict: Verdict) -> bool:
    """Is the promise about single columns, so that nothing holds for all of them together?"""
    return verdict.against == Adversary.BLACK_BOX


def hides_groups(verdict: Verdict) -> bool:
    return verdict.against in (Adversary.BLACK_BOX, Adversary.INSIDER)


def column_tiles(view: MaskedView) -> Iterator[tuple[str, str]]:
    """A promise about single columns says nothing about all of them, so that stands beside it."""
    secret = "somebody who also knows the hidden groups and the probabilities"
    yield "probability of finding a person's record by all their quasi-identifiers, on average", percent(view.found)
    yield f"the same for {secret}", percent(view.posterior.own)
    if view.belief is not None:
        yield f"belief in a person's true value, on average, of {secret}", percent(view.belief.own)


def behind(view: MaskedView | None) -> Section | None:
    if view is None:
        return None
    single = view.promise == "column"
    return {
        "together": _together(view) if single else None,
        "sentences": view.sentences(),
        "matching": matching_plot(view.matching.as_dict()["curve"], _LOOKED_UP),
        "columns": _columns(view) if single else None,
    }


def _together(view: MaskedView) -> Grid:
    """What all columns together give away, beside what was promised of one."""
    found = view.matching.at(view.matching.worst())
    alone, own = ("", "") if view.belief is None else (percent(view.belief.alone), percent(view.belief.own))
    value = "" if found.attribute is None else percent(found.attribute)
    rows = [
        ("sees one column and knows the value in it", f"at most {percent(max(c.delta for c in view.columns))}", ""),
        ("knows the hidden groups, and looks at no column", "", alone),
        ("has the records and looks up all quasi-identifiers", percent(found.identity), value),
        ("also knows the hidden groups and the probabilities", percent(view.posterior.own), own),
    ]
    header = ("somebody who", "names the right person", "believes the true value")
    return Grid(header, tuple(row for row in rows if row[1] or row[2]), right=(1, 2), caption=_GIVEN_AWAY)


def _columns(view: MaskedView) -> Grid:
    rows = ((plain(each.name, 40), percent(each.delta), "kept" if each.holds else "BROKEN") for each in view.columns)
    header = ("column", "highest probability that a value is one person's", "kept")
    return Grid(header, tuple(rows), right=(1,), caption="The promise, column by column")
