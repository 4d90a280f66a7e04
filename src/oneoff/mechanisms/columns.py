"""Several sensitive columns as one task: everybody's combination of values, and a rule that counts column by column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oneoff.models import Model, by_column
from oneoff.models.rule import Rule, side_by_side
from oneoff.table import Table
from oneoff.table.arrays import Codes, Ints, offsets
from oneoff.table.classes import look_alikes

__all__ = ["Ruled", "about_columns", "joined_along", "ruled"]


class Ruled(NamedTuple):
    """The value of everybody, or their combination of values, as the rule counts them."""

    values: Codes | Ints
    rule: Rule

    @property
    def width(self) -> int:
        """How many values the rule tells apart."""
        return int(self.rule.limits.shape[1])


def about_columns(table: Table, model: Model) -> bool:
    """Is anything promised about the values of several columns?"""
    return bool(table.besides) and any(part.about != "identity" for part in model.parts())


def ruled(table: Table, model: Model) -> Ruled:
    """What compiled loops need to ask whether a group keeps the promise, or each of those for several columns."""
    if not about_columns(table, model):
        return Ruled(table.values, model.rule(table.counts, table.rows))
    single = by_column(table, model)
    shift = offsets([len(each.counts) for each, _ in single])[:-1]
    codes = np.stack([each.values.astype(np.int64) for each, _ in single], axis=1) + shift
    combination = look_alikes([each.values for each, _ in single])
    parts = codes[np.unique(combination, return_index=True)[1]]
    return Ruled(combination, side_by_side([own.rule(each.counts, each.rows) for each, own in single], parts))


def joined_along(table: Table, model: Model, group: Codes, order: Ints) -> Codes:
    """Groups one after the other along an order of all rows, joined until each keeps every promise.

    What two groups keep, they keep together: ceilings, floors, a least size, and all other promises there are.
    """
    from oneoff.kernels.joining import join_groups

    values, rule = ruled(table, model)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    middle = np.bincount(group, weights=place) / np.bincount(group)
    rank = np.argsort(np.argsort(middle, kind="stable"), kind="stable")[group]
    line = np.argsort(rank, kind="stable")
    joined = join_groups(values[line], offsets(np.bincount(rank)), rule)
    found: Codes = joined[rank].astype(np.int32)
    return found
