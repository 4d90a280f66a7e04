"""Slow obvious twins that several tests compare with."""

from __future__ import annotations

import numpy as np

from oneoff.table import Table

__all__ = ["attribute_loss", "box_loss"]


def attribute_loss(table: Table, j: int, rows: np.ndarray) -> float:
    """Normalized certainty penalty of one attribute, from labels."""
    attribute = table.quasi[j]
    shown = {attribute.labels[code] for code in table.codes[rows, j]}
    if attribute.hierarchy is not None:
        paths = {row[0]: row for row in attribute.hierarchy.rows()}
        level = next(h for h in range(attribute.hierarchy.height + 1) if len({paths[v][h] for v in shown}) == 1)
        top = paths[next(iter(shown))][level]
        leaves = sum(path[level] == top for path in paths.values())
        return (leaves - 1) / max(len(paths) - 1, 1)
    if attribute.size == 1:
        return 0.0
    if attribute.kind == "numeric":
        return float((max(shown) - min(shown)) / (attribute.labels[-1] - attribute.labels[0]))
    if attribute.kind == "ordered":
        places = [attribute.labels.tolist().index(value) for value in shown]
        return (max(places) - min(places)) / (attribute.size - 1)
    return (len(shown) - 1) / (attribute.size - 1)


def box_loss(table: Table, rows: np.ndarray) -> float:
    """Summed over the attributes."""
    return sum(attribute_loss(table, j, rows) for j in range(len(table.quasi)))
