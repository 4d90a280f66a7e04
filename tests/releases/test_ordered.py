"""Ranges of ordered categories, in the codes of a table: by their order, not by the alphabet."""

from __future__ import annotations

import numpy as np

from oneoff.releases.ordered import OrderedRanges
from oneoff.table import Attribute

SHOWN = Attribute("health", "ordered", np.array(["poor", "fair", "good"], dtype=object))
TABLE = Attribute("health", "ordered", np.array(["poor", "fair", "good", "(missing)"], dtype=object))


def test_a_range_is_spread_over_the_categories_between_its_ends() -> None:
    cells = OrderedRanges(np.array([0, 1, 2], dtype=np.int32), np.array([1, 2, 2], dtype=np.int32))
    lists, share = cells.spread(SHOWN, TABLE)
    assert [lists.items[a:b].tolist() for a, b in zip(lists.start, lists.start[1:], strict=False)] == [
        [0, 1],
        [1, 2],
        [2],
    ]
    assert share.tolist() == [0.5, 0.5, 1]
