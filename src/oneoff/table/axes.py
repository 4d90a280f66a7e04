"""Where the codes of a column lie, for cuts that make columns as uniform as they can."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneoff.table.arrays import Floats, Ints
from oneoff.table.table import Attribute

__all__ = ["axes_of"]


def axes_of(quasi: Sequence[Attribute], people: Sequence[Ints]) -> tuple[Floats, Floats]:
    """The place of every code, attribute after attribute, and what a unit of impurity of each attribute counts.

    Numbers lie where the people are: the place is the share of people below. Categories have no place, which is written
    -1, with a hierarchy or without: the order of its leaves says too little about how alike they are.
    """
    places, weights = [], []
    for attribute, counts in zip(quasi, people, strict=True):
        share = counts / counts.sum()
        ordered = attribute.has_order
        place = np.cumsum(share) - share / 2 if ordered else np.full(attribute.size, -1.0)
        impurity = share @ place**2 - (share @ place) ** 2 if ordered else 1 - share @ share
        places.append(place)
        weights.append(1 / impurity if impurity > 0 else 0.0)
    return np.concatenate(places), np.array(weights)
