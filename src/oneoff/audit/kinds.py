"""Every release is judged by the `judge` in the module that has the name of its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

from oneoff.audit.attacks.learned import learned_of
from oneoff.audit.attacks.view import is_seen
from oneoff.audit.knowing import what_knowing_tells
from oneoff.audit.persons import about_persons
from oneoff.audit.several import of_columns
from oneoff.audit.verdict import Verdict
from oneoff.audit.weights import about_weights
from oneoff.models import Model, parse, promised
from oneoff.models.adversary import LEARNT, Adversary
from oneoff.releases import Published, of_kind
from oneoff.table import Table
from oneoff.table.classes import Risk, risk_of_classes
from oneoff.table.persons import persons_in

__all__ = ["about_method", "audit", "promise_for"]


def audit(
    release: Published,
    table: Table | None = None,
    guarantee: str | Model | None = None,
    *,
    control: Table | None = None,
) -> Verdict:
    """Judge the records of a release by its own promise or another one.

    With the table, the records are also compared with it: nobody lost or doubled, every value inside what is shown.
    Without it the prior is the one the release states, which must then be that of its records. A release in groups
    that stands against nobody is attacked, too, as somebody would who knows how the groups were made.

    table     the original; guarantee: a promise to judge by instead of its own, e.g. "l-diversity:4"
    control   people who are not in the release; what is learned from it about them stands beside what is learned about
              those who are. By default those of the table who were held out
    """
    if release.besides:
        return _column_by_column(release, table, release.model if guarantee is None else parse(guarantee), control)
    model = promise_for(release, guarantee)
    whole = table
    table = None if table is None else release.people_in(table)
    before = None if table is None else risk_of_classes(persons_in(table.look_alikes, table.hiding))
    judge: Callable[[Any, Table | None, Model, Risk | None], Verdict]
    judge = of_kind("oneoff.audit", "judge", release, "there is no audit of")
    verdict = about_persons(judge(release, table, model, before), release, table, model)
    verdict = about_weights(verdict, release)
    left_out = 0 if table is None else release.suppressed  # without it, that is what a file says of itself
    verdict = replace(about_method(verdict, release), suppressed=left_out, persons=release.persons)
    if table is None or table.sensitive is None or verdict.problems or not is_seen(release):
        return verdict
    others = release.held_out_of(whole) if control is None and whole is not None else control
    return replace(verdict, _learn=cache(partial(learned_of, release, table, others)))


def promise_for(release: Published, guarantee: str | Model | None) -> Model:
    """Its own promise, or another one about its sensitive column."""
    if guarantee is None:
        return release.model
    return (
        parse(guarantee).for_column("" if release.sensitive is None else release.sensitive.name).bind(release.sensitive)
    )


def about_method(verdict: Verdict, release: Published) -> Verdict:
    """With whom the method stands against, as far as nothing was found that speaks against it."""
    learnt = (LEARNT,) if _in_groups(verdict, release) else ()
    against = verdict.stands_against or release.against
    return replace(verdict, stands_against=against, remarks=(*verdict.remarks, *learnt))


def _column_by_column(release: Published, table: Table | None, model: Model, control: Table | None) -> Verdict:
    """The same for each of several sensitive columns, then all together.

    Who was held out goes first: several columns as one have all combinations of the values that the others have.
    """
    if table is not None:
        control = release.held_out_of(table) if control is None else control
        table = release.people_in(table)
    found = {}
    for name in promised(model, release.sensitive_names):
        people, others = (None if each is None else each.of_column(name) for each in (table, control))
        found[name] = audit(release.of_column(name), people, model.for_column(name), control=others)
    return of_columns(model.spec(), found, what_knowing_tells(release))


def _in_groups(verdict: Verdict, release: Published) -> bool:
    """Were values counted in groups that are said to tell an insider no more?"""
    values = any(part.about != "identity" for part in release.model.parts())
    return values and verdict.against is Adversary.READER and release.against is Adversary.INSIDER
