"""Categories with an order, as somebody names them or as a dataframe has them: Poor, Fair, Good, Excellent."""

from __future__ import annotations

import csv
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from oneoff.errors import BadValue, RoleConflict, UnknownColumn, listing, nearest
from oneoff.table.table import MISSING_LABEL, Attribute

__all__ = ["Orders", "declared_as", "given_orders", "ranks_in"]

Orders = Mapping[str, Sequence[str] | str]


def given_orders(given: Orders, taken: Mapping[str, str], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The values of every column that was given an order, from the least to the greatest.

    given   column -> values, or a text with commas between them
    taken   columns that are declared to be something else, and what
    """
    found = {}
    for name, values in given.items():
        if name not in names:
            raise UnknownColumn(
                f"there is an order for {name!r}, but no such column",
                allowed=listing(names, limit=20),
                got=repr(name),
                hint=nearest(name, names) or "check the spelling against the list",
            )
        if name in taken:
            raise RoleConflict(
                f"column {name!r} has an order and is {taken[name]}",
                allowed="one of the two",
                hint="remove the order, or the other declaration",
            )
        found[name] = _values(name, values)
    return found


def _values(name: str, given: Sequence[str] | str) -> tuple[str, ...]:
    if not isinstance(given, str | Sequence):
        raise BadValue(f"the order of {name!r} is no list", allowed="values from the least on", got=repr(given)[:80])
    texts: Iterable[Any] = next(csv.reader([given], skipinitialspace=True), []) if isinstance(given, str) else given
    values = tuple(str(text).strip() for text in texts)
    twice = listing(sorted({value for value in values if values.count(value) > 1}))
    if len(values) < 2 or "" in values or twice or MISSING_LABEL in values[:-1]:
        raise BadValue(
            f"the order of {name!r} cannot be used",
            allowed="at least two values, each once, from the least to the greatest: Poor,Fair,Good; what is missing "
            "is put after the last",
            got=f"{twice} more than once" if twice else listing(map(repr, values)),
        )
    return values


def ranks_in(order: Sequence[str], texts: Sequence[str], name: str) -> list[int]:
    """The place of every text in the order; one that is not there is an error that lists such."""
    rank = {value: place for place, value in enumerate(order)}
    strange = [text for text in dict.fromkeys(texts) if text not in rank]
    if strange:
        close = nearest(strange[0], order, cutoff=0.8)
        raise BadValue(
            f"{len(strange)} value(s) of {name!r} are not in its order",
            allowed=listing(order, limit=20),
            got=listing(strange, limit=20),
            hint=f"add them to the order, or name what stands for a missing value with --na (na=)"
            f"{f'; {close}' if close else ''}",
        )
    return [rank[text] for text in texts]


def declared_as(attributes: Iterable[Attribute], but: Container[str] = ()) -> dict[str, Any]:
    """How columns without a hierarchy are read, to read another table in the same way; `but` is left out."""
    plain = [each for each in attributes if each.hierarchy is None and each.name not in but]
    orders = {each.name: [str(label) for label in each.labels] for each in plain if each.kind == "ordered"}
    dates = {name: found for name, order in orders.items() if (found := _period_of(order))}
    return {
        "numeric": [each.name for each in plain if each.kind == "numeric"],
        "categorical": [each.name for each in plain if each.kind == "categorical"],
        "ordered": {name: order for name, order in orders.items() if name not in dates},
        "dates": dates,
    }


def _period_of(order: Sequence[str]) -> str | None:
    """Months and quarters are what dates became when they were read."""
    known = [text for text in order if text != MISSING_LABEL]
    shapes = {"month": r"\d{4}-\d\d", "quarter": r"\d{4}-Q[1-4]"}
    return next((name for name, shape in shapes.items() if known and all(re.fullmatch(shape, t) for t in known)), None)
