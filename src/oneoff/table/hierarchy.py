"""Taxonomies of values: which values may be published under which broader label.

Every hierarchy has uniform height, as in ARX: each value is a leaf at level 0 and has one ancestor on every level up to
the single root. The leaves are kept in an order in which those below any node are neighbours, so a set of values is
summed up by its leftmost and rightmost leaf, and their lowest common ancestor is that of the whole set.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from oneoff.errors import HierarchyError, UnreadableFile, listing, nearest
from oneoff.table.arrays import Codes, Ints, offsets

__all__ = [
    "Hierarchy",
    "date_hierarchy",
    "interval_hierarchy",
    "label_texts",
    "prefix_hierarchy",
    "read_hierarchy",
]

ROOT = "*"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree over values, all leaves at the same depth.

    names[h]           labels of the nodes at level h from left to right; level 0 are the leaves, the last the root
    ancestor[h, leaf]  position within level h of the node above that leaf; every row is non-decreasing
    made               from the values of a table, none of which it may list any longer once they are gone from it
    """

    names: tuple[tuple[str, ...], ...]
    ancestor: Codes
    made: bool = False

    def __post_init__(self) -> None:
        if self.ancestor.shape != (len(self.names), len(self.names[0])):
            raise HierarchyError("names and ancestors of the hierarchy do not fit together")
        steps = np.diff(self.ancestor, axis=1)
        if self.ancestor[:, 0].any() or (steps < 0).any() or (steps > 1).any() or len(self.names[-1]) != 1:
            raise HierarchyError("the leaves of every node must be neighbours, below one root")
        self.ancestor.flags.writeable = False

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], name: str = "") -> Hierarchy:
        """Build from rows `value, level 1, ..., root`; a root `*` is added when the last level has several values."""
        whose = f"the hierarchy of {name!r}" if name else "the hierarchy"
        paths = [tuple(row) for row in rows]
        _refuse_bad_rows(paths, whose)
        levels = [list(level) for level in zip(*paths, strict=True)]
        if len(levels) == 1 or len(set(levels[-1])) > 1:
            levels.append([ROOT] * len(paths))
        _refuse_two_parents(levels, whose)
        tree = cls(*_left_to_right(levels))
        _refuse_ambiguous(tree, whose)
        return tree

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.names) - 1

    @property
    def leaf_count(self) -> int:
        return len(self.names[0])

    @property
    def leaves(self) -> tuple[str, ...]:
        return self.names[0]

    def leaf_codes(self, labels: npt.NDArray[Any], column: str = "") -> Codes:
        """The leaf of every label, matched by its text (22 and 22.0 are `22`, a date is `2020-03-01`).

        column   whose values these are, for the message
        """
        labels = np.asarray(labels)
        index = self._leaf_index_any_case if labels.dtype.kind == "b" else self._leaf_index
        texts = label_texts(labels)
        missing = list(dict.fromkeys(text for text in texts if text not in index))
        if missing:
            close = nearest(missing[0], self.leaves, cutoff=0.8)  # a value that is merely missing is no misspelt one
            raise HierarchyError(
                f"{len(missing)} value(s) of {repr(column) if column else 'the table'} are missing from the hierarchy",
                allowed=f"its {self.leaf_count} leaves: {listing(self.leaves)}",
                got=listing(missing),
                hint=f"add a row for each of them to the hierarchy{f'; {close}' if close else ''}",
            )
        return np.fromiter((index[text] for text in texts), dtype=np.int32, count=len(texts))

    def lca(self, first: npt.ArrayLike, last: npt.ArrayLike) -> tuple[Codes, Codes]:
        """Level and node of the lowest common ancestor of sets, given by their leftmost and rightmost leaf."""
        first, last = np.asarray(first), np.asarray(last)
        level = np.zeros(np.broadcast_shapes(first.shape, last.shape), dtype=np.int32)
        for row in self.ancestor:  # two leaves that meet at one level stay together above it
            level += row[first] != row[last]
        return level, self.ancestor[level, first]

    def span(self, level: npt.ArrayLike, node: npt.ArrayLike) -> tuple[Codes, Codes]:
        """The first and the last leaf below nodes."""
        flat = self._flat(level, node)
        return self._first_leaf[flat], self._last_leaf[flat]

    def leaves_under(self, level: npt.ArrayLike, node: npt.ArrayLike) -> Codes:
        """How many leaves are below nodes."""
        first, last = self.span(level, node)
        return last - first + np.int32(1)

    def label(self, level: int, node: int) -> str:
        return self.names[level][node]

    def labels_of(self, level: npt.ArrayLike, node: npt.ArrayLike) -> npt.NDArray[np.object_]:
        """The labels of nodes, as an array of texts."""
        return self._flat_names[self._flat(level, node)]

    def rows(self) -> list[list[str]]:
        """Each leaf followed by its ancestors: the rows of an ARX file."""
        columns = [[names[node] for node in above] for names, above in zip(self.names, self.ancestor, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def only(self, leaves: npt.NDArray[np.integer[Any]]) -> Hierarchy:
        """What is left of it over some of its leaves."""
        wanted, rows = set(leaves.tolist()), self.rows()
        return replace(Hierarchy.from_rows([row for leaf, row in enumerate(rows) if leaf in wanted]), made=self.made)

    def _flat(self, level: npt.ArrayLike, node: npt.ArrayLike) -> Ints:
        """Positions in arrays that hold the nodes of all levels one after another."""
        flat: Ints = self._offsets[np.asarray(level)] + np.asarray(node)
        return flat

    @cached_property
    def _offsets(self) -> Ints:
        return offsets([len(level) for level in self.names])

    @cached_property
    def _first_leaf(self) -> Codes:
        starts = [np.flatnonzero(np.diff(row, prepend=-1)) for row in self.ancestor]
        return np.concatenate(starts).astype(np.int32)

    @cached_property
    def _last_leaf(self) -> Codes:
        ends = [np.flatnonzero(np.diff(row, append=row[-1] + 1)) for row in self.ancestor]
        return np.concatenate(ends).astype(np.int32)

    @cached_property
    def _flat_names(self) -> npt.NDArray[np.object_]:
        return np.array([name for level in self.names for name in level], dtype=object)

    @cached_property
    def _leaf_index(self) -> dict[str, int]:
        return {name: leaf for leaf, name in enumerate(self.leaves)}

    @cached_property
    def _leaf_index_any_case(self) -> dict[str, int]:
        """For truth values, which files spell True, true or TRUE."""
        return {name.capitalize(): leaf for leaf, name in enumerate(self.leaves)}


def _refuse_bad_rows(paths: list[tuple[str, ...]], whose: str) -> None:
    if not paths or not paths[0]:
        raise HierarchyError(f"{whose} is empty", allowed="one row for each value", got="no rows")
    width = len(paths[0])
    ragged = next((path for path in paths if len(path) != width), None)
    if ragged is not None:
        raise HierarchyError(
            f"{whose} has rows of different length",
            allowed=f"{width} cells in every row, as in the first one",
            got=f"{len(ragged)} cells in the row of {ragged[0] if ragged else ''!r}",
            hint="give every value the same number of levels: repeat a label where a level adds nothing",
        )
    twice = [leaf for leaf, times in Counter(path[0] for path in paths).items() if times > 1]
    if twice:
        raise HierarchyError(
            f"{whose} lists values twice",
            allowed="one row for each value",
            got=listing(twice),
            hint="remove the repeated rows",
        )
    blank = next((path for path in paths if "" in path[1:]), None)
    if blank is not None:
        raise HierarchyError(
            f"{whose} has an empty label above the value {blank[0]!r}",
            allowed="a label on every level",
            got=listing(repr(cell) for cell in blank),
            hint="fill the cell, or remove a delimiter at the end of the line",
        )


def _refuse_two_parents(levels: list[list[str]], whose: str) -> None:
    for height, (below, above) in enumerate(pairwise(levels)):
        parent: dict[str, str] = {}
        for node, its in zip(below, above, strict=True):
            if parent.setdefault(node, its) != its:
                raise HierarchyError(
                    f"{whose} is not a tree: {node!r} at level {height} is below two different labels",
                    allowed="one parent for each label",
                    got=listing((parent[node], its)),
                    hint="rename one of the two, for example by adding its parent to the label",
                )


def _refuse_ambiguous(tree: Hierarchy, whose: str) -> None:
    """A published label says no level, so it must mean the same values on all levels where it stands."""
    meaning: dict[str, tuple[int, int]] = {}
    spans = zip(tree._first_leaf.tolist(), tree._last_leaf.tolist(), strict=True)
    for name, span in zip(tree._flat_names.tolist(), spans, strict=True):
        if meaning.setdefault(name, span) != span:
            first, other = (listing(tree.leaves[low : high + 1], limit=3) for low, high in (meaning[name], span))
            raise HierarchyError(
                f"{whose} is ambiguous: the label {listing([name])!r} has different meanings on different levels",
                allowed="one set of values for each label",
                got=f"{first} on one level; {other} on another",
                hint="rename one of the two",
            )


def _left_to_right(levels: list[list[str]]) -> tuple[tuple[tuple[str, ...], ...], Codes]:
    """Names and ancestors with the leaves in depth-first order, children in order of first appearance."""
    appearance = []
    for level in levels:
        first: dict[str, int] = {}
        for row, node in enumerate(level):
            first.setdefault(node, row)
        appearance.append([first[node] for node in level])
    order = np.lexsort(appearance)  # the root's level, last, is the most significant key
    names = tuple(tuple(dict.fromkeys(level[leaf] for leaf in order)) for level in levels)
    ordered = np.array(appearance, dtype=np.int64)[:, order]
    changes = np.diff(ordered, axis=1, prepend=ordered[:, :1]) != 0
    return names, np.cumsum(changes, axis=1, dtype=np.int32)


def label_texts(labels: npt.ArrayLike) -> list[str]:
    """The text of every label: whole numbers without a fraction, dates in ISO form, time only where there is one."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "M":
        labels = labels.astype("datetime64[us]")
    return [_text(value) for value in labels.tolist()]


def _text(value: object) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dt.datetime):
        return value.isoformat() if value.time() != dt.time() else value.date().isoformat()
    return str(value)


def read_hierarchy(path: str | Path) -> Hierarchy:
    """Read an ARX file: one row for each value, then its labels level by level; `;`, `,` or tab between them.

    path   a CSV file in UTF-8
    """
    path = Path(path)
    rows = _without_header(_split(_file_text(path), path))
    return Hierarchy.from_rows(rows, name=path.name)


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"the hierarchy {str(path)!r} is not UTF-8 text",
            allowed="a CSV file in UTF-8",
            got=f"byte {error.object[error.start]:#04x} at position {error.start}",
            hint="save it as UTF-8",
        ) from error
    except OSError as error:
        raise UnreadableFile(
            f"the hierarchy {str(path)!r} cannot be read",
            allowed="a CSV file: value, level 1, ..., *",
            got=error.strerror or str(error),
            hint="check the path",
        ) from error


def _split(text: str, path: Path) -> list[list[str]]:
    """The cells of every line, with the delimiter that divides all lines alike.

    A comma is tried last: it is common inside labels such as `[20, 25)`, while the others hardly ever are.
    """
    try:
        parsed = [_cells(text, delimiter) for delimiter in (";", "\t", ",")]
    except csv.Error as error:
        raise UnreadableFile(
            f"the hierarchy {str(path)!r} is not a CSV file", allowed="delimiter ; , or tab", got=str(error)
        ) from error
    alike = [rows for rows in parsed if rows and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1]
    rooted = [rows for rows in alike if len({row[-1] for row in rows[1:]}) == 1]
    if rooted or alike:
        return (rooted or alike)[0]
    return max(parsed, key=lambda rows: len(rows[0]) if rows else 0)


def _cells(text: str, delimiter: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]


def _without_header(rows: list[list[str]]) -> list[list[str]]:
    if not rows:
        return rows
    ends = {row[-1] for row in rows[1:]}
    # With a single other row its end is shared by nothing: only the usual root then tells a header from a value.
    shared = len(ends) == 1 and (len(rows) > 2 or ROOT in ends)
    headed = rows[0][0].strip().lower() == "level0" or (shared and rows[0][-1] not in ends)
    return rows[1:] if headed else rows


def interval_hierarchy(values: npt.ArrayLike, widths: Sequence[float] = (5, 10, 20), origin: float = 0) -> Hierarchy:
    """Numbers in half-open intervals of growing width, `[20, 25)` then `[20, 30)`, counted from `origin`."""
    numbers = _numbers(values)
    steps = [_exact(str(width)) or Fraction(0) for width in widths]
    nested = all(wide % narrow == 0 and wide > narrow for narrow, wide in pairwise(steps) if narrow)
    if not steps or min(steps) <= 0 or not nested:
        raise HierarchyError(
            "the widths of the intervals do not nest",
            allowed="positive widths in ascending order, each a multiple of the one before",
            got=listing(widths),
            hint="for example widths=(5, 10, 20)",
        )
    start = Fraction(str(origin))

    def interval(number: Fraction, width: Fraction) -> str:
        low = start + (number - start) // width * width
        return f"[{_decimal(low)}, {_decimal(low + width)})"

    rows = [[text, *(interval(number, step) for step in steps), ROOT] for number, text in numbers]
    return Hierarchy.from_rows(rows)


def _numbers(values: npt.ArrayLike) -> list[tuple[Fraction, str]]:
    """The distinct values, ascending, as exact decimal numbers: 0.3 belongs to the interval that starts at 0.3."""
    numbers = [(_exact(text), text) for text in sorted(set(label_texts(values)))]
    bad = [text for number, text in numbers if number is None]
    if bad:
        raise HierarchyError(
            "intervals need numbers", allowed="finite numbers", got=listing(bad), hint="remove these values"
        )
    return sorted((number, text) for number, text in numbers if number is not None)


def _decimal(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else repr(float(number))


def _exact(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def prefix_hierarchy(values: npt.ArrayLike, mask: str = "*") -> Hierarchy:
    """Codes that lose one character after another from the right: 12345, 1234*, 123**, 12***, 1****, `*`.

    A label has as many masks as its level, so no two levels share one. A shorter value counts as filled up with
    blanks on its right, which go first: beside 12345, the labels of 123 are 123*, 123**, 12***, 1****.
    """
    texts = sorted(set(label_texts(values)))
    masked = [text for text in texts if mask in text]
    if len(mask) != 1 or masked:
        raise HierarchyError(
            f"the mask {mask!r} cannot hide the last characters of these values",
            allowed="one character that no value contains",
            got=listing(masked),
            hint="choose another with mask=",
        )
    longest = max((len(text) for text in texts), default=0)
    hidden = range(1, longest)
    return Hierarchy.from_rows([[t, *(t[: longest - size] + mask * size for size in hidden), ROOT] for t in texts])


_PERIODS: dict[str, Callable[[int, int], str]] = {
    "month": lambda year, month: f"{year:04d}-{month:02d}",
    "quarter": lambda year, month: f"{year:04d}-Q{(month + 2) // 3}",
    "year": lambda year, month: f"{year:04d}",
    "decade": lambda year, month: f"{year // 10 * 10:04d}s",
}
_ISO_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})([T ].*)?")


def date_hierarchy(values: npt.ArrayLike, levels: Sequence[str] = ("month", "year")) -> Hierarchy:
    """Dates in growing periods: 2020-03-17, 2020-03, 2020, `*`; also `quarter` (2020-Q1) and `decade` (2020s)."""
    known = list(_PERIODS)
    if not levels or not set(levels) <= set(known) or sorted(set(levels), key=known.index) != list(levels):
        raise HierarchyError(
            "the periods of the dates do not nest",
            allowed=f"some of {listing(known)}, in this order",
            got=listing(levels),
            hint='for example levels=("month", "year")',
        )
    texts = sorted(set(label_texts(values)))
    dates = {text: _date(text) for text in texts}
    bad = [text for text, date in dates.items() if date is None]
    if bad:
        raise HierarchyError(
            "these values are not dates", allowed="ISO dates such as 2020-03-17", got=listing(bad), hint="convert them"
        )
    return Hierarchy.from_rows(
        [text, *(_PERIODS[level](date.year, date.month) for level in levels), ROOT]
        for text, date in dates.items()
        if date is not None
    )


def _date(text: str) -> dt.date | None:
    """The day of an ISO date, with or without a time after it."""
    found = _ISO_DATE.fullmatch(text)
    try:
        return dt.date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None
