"""Which method: what `auto` would take, and how the others would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oneoff.auto import foretold
from oneoff.catalog import METHODS, Method
from oneoff.choices import choices, refuse_words
from oneoff.errors import OneoffError
from oneoff.models.adversary import Adversary
from oneoff.publish import Order, foreseen_of, ordered
from oneoff.studio.work.look import table_of
from oneoff.table import Table

__all__ = ["check", "plan"]


def plan(job: Mapping[str, Any], guarantee: str) -> dict[str, Any]:
    """For this table and promise: the choice of `auto` with its reason, and every method with what speaks for it.

    A promise that nothing keeps is an error.
    """
    table = table_of(job)
    chosen = ordered(table, guarantee, "auto", {}, seeded=False)
    found = {name: _method(table, guarantee, METHODS[name]) for name in METHODS}
    return {
        "guarantee": guarantee,
        "auto": {**_served(chosen, table), "name": chosen.method.name, "reason": chosen.reason},
        "methods": list(found.values()),
    }


def _method(table: Table, guarantee: str, method: Method) -> dict[str, Any]:
    try:
        order = ordered(table, guarantee, method.name, {}, seeded=False)
        said: dict[str, Any] = {"why_not": None, **_served(order, table)}
    except OneoffError as error:
        said = {"why_not": error.as_dict(), "against": "", "whom": "", "error": None, "foreseen": []}
    return {
        "name": method.name,
        "summary": method.summary,
        "makes": method.output,
        "comparator": method.comparator,
        "usually": method.against_whom(),
        "choices": [each.as_dict() for each in choices(method.name)],
        **said,
    }


def _served(order: Order, table: Table) -> dict[str, Any]:
    """What is known before the work."""
    against = order.method.stands_against(order.model, order.options)
    return {
        "against": str(against),
        "rank": against.rank,
        "whom": Adversary(against).sentence,
        "error": foretold(order.method.name, order.model, table),
        "options": {name: str(value) for name, value in order.options.items()},
        "foreseen": foreseen_of(order),
    }


def check(job: Mapping[str, Any], guarantee: str, method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Does the method know these options, and keep the promise? If not, that is an error."""
    order = ordered(table_of(job), guarantee, method, options, seeded=False)
    refuse_words(order.method.name, order.options)
    return {"method": order.method.name, "foreseen": foreseen_of(order)}
