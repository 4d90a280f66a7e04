"""Fewer sensitive values: those of a higher level of their hierarchy, or rare ones as one. Never done unasked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from oneoff.errors import BadValue, whole_number
from oneoff.table.arrays import Ints
from oneoff.table.hierarchy import Hierarchy, label_texts
from oneoff.table.table import Attribute, Table

__all__ = ["in_each_column", "with_level", "with_other"]

OTHER = "(other)"  # what rare values are called


def in_each_column(table: Table, coarser: Callable[[Table, int], Table], given: int) -> Table:
    """Fewer values of every sensitive column that such a change is for; where there is none, the reason why."""
    if not table.besides:
        return coarser(table, given)
    refused: list[BadValue] = []
    for name in table.sensitive_names:
        try:
            table = table.with_column(coarser(table.of_column(name), given))
        except BadValue as error:
            refused.append(error)
    if len(refused) == len(table.sensitive_names):
        raise refused[0]
    return table


def with_level(table: Table, level: int) -> Table:
    """The same table with the labels so many levels up in the hierarchy of the sensitive column as its values."""
    attribute = table.sensitive
    if attribute is None or attribute.hierarchy is None:
        got = "no sensitive column" if attribute is None else f"no hierarchy of {attribute.name!r}"
        raise BadValue(
            "levels are those of the hierarchy of the sensitive column",
            allowed="a sensitive column with a hierarchy",
            got=got,
            hint="name one with --hierarchy COLUMN=FILE.csv (hierarchies=...); `oneoff hierarchy` proposes one",
        )
    tree = attribute.hierarchy
    level = whole_number(level, "level", least=1, most=tree.height - 1, hint="it is how many levels up to go")
    nodes, values = np.unique(tree.ancestor[level][attribute.leaves], return_inverse=True)
    labels = np.array([tree.names[level][node] for node in nodes], dtype=object)
    above = _above(tree, level)
    coarse = Attribute(attribute.name, "categorical", labels, above)
    if above is None:  # no order of leaves is left, so labels ascend, as in every column
        values, coarse = _order(coarse)[values], _sorted(coarse)
    said = (
        f"the {attribute.size:,} values of {attribute.name!r} became {len(labels):,} of level {level} of its "
        "hierarchy, as asked; the promise is about these"
    )
    return _recoded(table, coarse, values[table.values], said)


def _above(tree: Hierarchy, level: int) -> Hierarchy | None:
    """What is left of a hierarchy whose leaves are the nodes of a level."""
    if level >= tree.height - 1:
        return None
    return Hierarchy.from_rows(list(dict.fromkeys(tuple(row[level:]) for row in tree.rows())))


def with_other(table: Table, below: int) -> Table:
    """The same table with one value in place of all sensitive values that fewer rows have."""
    attribute = table.sensitive
    if attribute is None or attribute.hierarchy is not None:
        got = "no sensitive column" if attribute is None else f"a hierarchy of {attribute.name!r}"
        raise BadValue(
            "rare values are joined where they have no hierarchy",
            allowed="a sensitive column without a hierarchy",
            got=got,
            hint="--level 1 (level=1) takes the labels of the next level of a hierarchy",
        )
    below = whole_number(below, "other_below", least=2, hint="values that fewer rows have become one")
    rare = table.counts < below
    texts = label_texts(attribute.labels)
    if OTHER in texts:
        raise BadValue(f"{OTHER!r} is a value of {attribute.name!r} already", allowed="another name for it")
    if rare.sum() < 2:
        return table
    kept = [text for text, few in zip(texts, rare.tolist(), strict=True) if not few]
    place = np.where(rare, len(kept), np.cumsum(~rare) - 1)
    coarse = Attribute(attribute.name, "categorical", np.array([*kept, OTHER], dtype=object))
    said = (
        f"{int(rare.sum()):,} values of {attribute.name!r} that fewer than {below:,} rows have, "
        f"{int(table.counts[rare].sum()):,} rows in all, became {OTHER!r}, as asked; the promise is about what is left"
    )
    return _recoded(table, _sorted(coarse), _order(coarse)[place[table.values]], said)


def _order(attribute: Attribute) -> Ints:
    """The place of each label once they ascend."""
    return np.argsort(np.argsort(attribute.labels.astype(str), kind="stable"), kind="stable")


def _sorted(attribute: Attribute) -> Attribute:
    return replace(attribute, labels=attribute.labels[np.argsort(attribute.labels.astype(str), kind="stable")])


def _recoded(table: Table, sensitive: Attribute, values: Ints, said: str) -> Table:
    return replace(table, sensitive=sensitive, values=values.astype(np.int32), notices=(*table.notices, said))
