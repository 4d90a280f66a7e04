"""Rows sent down a tree of cuts, and how often each code occurs at the nodes they come to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["AT", "COLUMN", "FIRST", "SECOND", "counts_at", "pairs_at", "route"]

COLUMN, AT, FIRST, SECOND = range(4)  # of a node: the column it is cut on or -1, where its flags begin, its two sides


@njit(cache=True)
def route(codes: Any, nodes: Any, left: Any) -> Any:
    """The node without a cut that every row comes to; left[nodes[i, AT] + code] says who goes to the first side."""
    found = np.empty(len(codes), np.int32)
    for i in range(len(codes)):
        node = np.int64(0)
        while nodes[node, COLUMN] >= 0:
            first = left[nodes[node, AT] + codes[i, nodes[node, COLUMN]]]
            node = nodes[node, FIRST] if first else nodes[node, SECOND]
        found[i] = node
    return found


@njit(cache=True)
def counts_at(codes: Any, node: Any, place: Any, begin: Any, places: int) -> Any:
    """[place, begin[j] + code]: rows at those nodes that have a place; -1 is none."""
    found = np.zeros((places, begin[-1]), np.int64)
    for i in range(len(codes)):
        at = place[node[i]]
        if at >= 0:
            for j in range(codes.shape[1]):
                found[at, begin[j] + codes[i, j]] += 1
    return found


@njit(cache=True)
def pairs_at(codes: Any, values: Any, node: Any, place: Any, begin: Any, places: int, many: int) -> Any:
    """[place, begin[j] + code, value]: the same by sensitive value."""
    found = np.zeros((places, begin[-1], many), np.int32)
    for i in range(len(codes)):
        at = place[node[i]]
        if at >= 0:
            for j in range(codes.shape[1]):
                found[at, begin[j] + codes[i, j], values[i]] += 1
    return found
