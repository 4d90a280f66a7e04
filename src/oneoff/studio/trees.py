"""A hierarchy as the rows of an ARX file, and what one does to it: each value, then its labels level by level.

All of these give new rows; whether they are a tree is for `Hierarchy.from_rows` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oneoff.errors import BadValue

__all__ = ["Node", "flat", "put_under", "renamed", "shown_tree", "without_level"]

Rows = list[list[str]]


@dataclass(frozen=True)
class Node:
    """A label with the rows of the table below it.

    hidden   how many nodes are below it and not shown
    """

    level: int
    label: str
    count: int
    children: tuple[Node, ...] = ()
    hidden: int = 0


def flat(values: Iterable[str]) -> Rows:
    """All values right below the root: to begin by hand."""
    return [[value, "*"] for value in values]


def put_under(rows: Rows, level: int, labels: Iterable[str], above: str) -> Rows:
    """The nodes with these labels of a level below `above`, which is made where there is none; the root makes room."""
    wanted = set(labels)
    if not wanted or not above.strip():
        raise BadValue(
            "nothing was put together", allowed="some ticked labels, and a label to put them under",
            got=f"{len(wanted)} ticked", hint="tick the values that belong together",
        )  # fmt: skip
    above = above.strip()
    if level + 1 == len(rows[0]) - 1:
        rows = [[*row[: level + 1], row[level], *row[level + 1 :]] for row in rows]
    there = next((row for row in rows if row[level + 1] == above), None)
    first = there or next(row for row in rows if row[level] in wanted)
    return [[*row[: level + 1], above, *first[level + 2 :]] if row[level] in wanted else list(row) for row in rows]


def renamed(rows: Rows, label: str, new: str) -> Rows:
    """Another name for a label above the values, on all levels where it stands."""
    if not new.strip():
        raise BadValue("a label needs a name", allowed="a few words", got="nothing")
    return [[row[0], *(new.strip() if cell == label else cell for cell in row[1:])] for row in rows]


def without_level(rows: Rows, level: int) -> Rows:
    """Without one of the levels between values and root."""
    if not 0 < level < len(rows[0]) - 1:
        raise BadValue("values and root stay", allowed="a level between them", got=str(level))
    return [[*row[:level], *row[level + 1 :]] for row in rows]


def shown_tree(rows: Sequence[Sequence[str]], counts: Mapping[str, int], most: int = 400) -> Node:
    """The tree from its root down, as many whole levels as there is room for; the root is always shown.

    A label that only repeats the one below it is shown once, where it is lowest.
    """
    sizes = [len({row[level] for row in rows}) for level in range(len(rows[0]))]
    last = len(sizes) - 1
    lowest, room = last, most
    while lowest > 0 and sizes[lowest - 1] <= room:
        lowest -= 1
        room -= sizes[lowest]
    return _node(rows, last, lowest, counts)


def _node(rows: Sequence[Sequence[str]], level: int, lowest: int, counts: Mapping[str, int]) -> Node:
    label, count = rows[0][level], sum(counts.get(row[0], 0) for row in rows)
    if level == lowest:
        return Node(level, label, count, (), len(rows) if level else 0)
    parts: dict[str, list[Sequence[str]]] = {}
    for row in rows:
        parts.setdefault(row[level - 1], []).append(row)
    children = tuple(_node(part, level - 1, lowest, counts) for part in parts.values())
    if len(children) == 1 and children[0].label == label:
        return children[0]
    return Node(level, label, count, children)
