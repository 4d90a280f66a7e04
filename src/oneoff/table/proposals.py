"""Hierarchies proposed from the values of a column: by the shape of codes, by dates, by numbers, by who goes with whom.

A proposal is to be looked at, edited and kept as a file. None of them looks at sensitive values: a hierarchy is public.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from oneoff.errors import BadValue, FolderExists, HierarchyError, UnknownColumn, listing, nearest
from oneoff.table.arrays import Floats, Ints
from oneoff.table.hierarchy import (
    ROOT,
    Hierarchy,
    date_hierarchy,
    interval_hierarchy,
    label_texts,
    prefix_hierarchy,
)

__all__ = ["Proposal", "propose", "write_hierarchy"]

_FEWEST = 4  # values below which a hierarchy has nothing to join
_MOST_CLUSTERED = 2_000  # values that are compared with one another
_FINEST = 16  # ranges of equal counts on the lowest level
_SHORT = 3  # values that a joined label names


@dataclass(frozen=True, eq=False)
class Proposal:
    """A tree, what it is made from, and how many rows have each of its leaves."""

    kind: str
    why: str
    tree: Hierarchy
    counts: Ints

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "why": self.why,
            "levels": [len(names) for names in self.tree.names],
            "rows": self.tree.rows(),
        }

    def lines(self, most: int = 40) -> Iterator[str]:
        """The tree with counts, from the root down, as many whole levels as there is room for; the leaves come last."""
        sizes = [len(names) for names in self.tree.names]
        shown = [len(sizes) - 1]
        while shown[-1] > 0 and sum(sizes[level] for level in shown) + sizes[shown[-1] - 1] <= most:
            shown.append(shown[-1] - 1)
        for level, node in sorted(_nodes(self.tree, shown), key=lambda each: (self._first(*each), -each[0])):
            yield "  " * (shown[0] - level + 1) + f"{self.tree.names[level][node]}  {self._people(level, node):,}"
        if shown[-1] > 0:
            yield f"  below them {listing([f'{size:,}' for size in reversed(sizes[: shown[-1]])])} labels"

    def _first(self, level: int, node: int) -> int:
        return int(np.searchsorted(self.tree.ancestor[level], node))

    def _people(self, level: int, node: int) -> int:
        return int(self.counts[self.tree.ancestor[level] == node].sum())


def _nodes(tree: Hierarchy, levels: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((level, node) for level in levels for node in range(len(tree.names[level])))


def propose(frame: Any, column: str, by: Sequence[str] = (), kind: str | None = None) -> list[Proposal]:
    """Hierarchies for a column of a table, the most fitting first.

    frame   an Arrow table, as `read_frame` reads it
    by      columns whose values say which values of this one are alike; never a sensitive one
    kind    only this one: dates, icd-10, icd-9, soc, regions, prefixes, intervals, counts or clusters
    """
    for name in (column, *by):
        if name not in frame.column_names:
            raise UnknownColumn(
                f"there is no column {name!r} in the table",
                allowed=listing(frame.column_names, limit=20),
                got=repr(name),
                hint=nearest(name, frame.column_names),
            )
    values = _Values.of(column, frame[column])
    makers = {**_MAKERS, "clusters": lambda seen: _clusters(seen, [_codes(name, frame[name]) for name in by])}
    if kind is not None and kind not in makers:
        raise BadValue(f"no hierarchy is of kind {kind!r}", allowed=", ".join(makers), hint=nearest(kind, makers))
    found = [_made(name, make, values) for name, make in makers.items() if kind in (None, name)]
    return [proposal for proposal in found if proposal is not None]


def write_hierarchy(found: Sequence[Proposal], column: str, out: Path, *, overwrite: bool = False) -> None:
    """The first proposal as an ARX file: value, then broader and broader labels."""
    if not found:
        raise HierarchyError(
            f"nothing is proposed for {column!r}",
            allowed="dates, codes of one shape, numbers, or columns to compare by (--by)",
            hint="without a hierarchy a group shows sets of its values",
        )
    if out.exists() and not overwrite:
        raise FolderExists(f"{str(out)!r} exists already", allowed="a new file, or --overwrite (overwrite=True)")
    with out.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";", lineterminator="\n").writerows(found[0].tree.rows())


class _Values(NamedTuple):
    """The distinct values of a column as texts, how many rows have each, and everybody's code."""

    texts: list[str]
    counts: Ints
    codes: Ints
    numeric: bool

    @staticmethod
    def of(name: str, column: Any) -> _Values:
        from oneoff.table.columns import attribute_of, column_of

        attribute, codes = attribute_of(column_of(name, column))
        counts = np.bincount(codes[codes >= 0], minlength=attribute.size).astype(np.int64)
        return _Values(label_texts(attribute.labels), counts, codes.astype(np.int64), attribute.kind == "numeric")


def _codes(name: str, column: Any) -> tuple[Ints, int]:
    values = _Values.of(name, column)
    return np.where(values.codes < 0, len(values.texts), values.codes), len(values.texts) + 1


def _made(kind: str, make: Callable[[_Values], tuple[Hierarchy, str] | None], values: _Values) -> Proposal | None:
    if len(values.texts) < _FEWEST:
        return None
    try:
        made = make(values)
    except HierarchyError:  # the values do not fit, which is no mistake of anybody's here
        return None
    if made is None or len(made[0].names) < 3:
        return None
    tree, why = made
    count = dict(zip(values.texts, values.counts.tolist(), strict=True))
    return Proposal(kind, why, tree, np.array([count[leaf] for leaf in tree.names[0]], dtype=np.int64))


# --- by the shape of values


def _dates(values: _Values) -> tuple[Hierarchy, str] | None:
    years = len({text[:4] for text in values.texts})
    levels = ("month", "year", "decade") if years > 15 else ("month", "quarter", "year")
    return date_hierarchy(values.texts, levels), "all values are dates"


def _by_shape(pattern: str, above: Callable[[str], list[str]], why: str) -> Callable[[_Values], Any]:
    """Codes of one shape, with labels that are read off each of them; labels of one level never repeat on another."""
    shape = re.compile(pattern)

    def make(values: _Values) -> tuple[Hierarchy, str] | None:
        if values.numeric or not all(shape.fullmatch(text) for text in values.texts):
            return None
        return Hierarchy.from_rows([[text, *_told_apart(text, above(text)), ROOT] for text in values.texts]), why

    return make


def _told_apart(text: str, labels: list[str]) -> list[str]:
    """A label that is the one below it, because nothing was joined, gets a dot: no two levels may share one."""
    found, below, before = [], text, text
    for label in labels:
        below = f"{below}." if label == before else label
        before = label
        found.append(below)
    return found


def _icd_10(text: str) -> list[str]:
    return [f"{text[:3]}.*", f"{text[:2]}0-{text[:2]}9", text[0]]


def _icd_9(text: str) -> list[str]:
    """Three digits, then tens and hundreds of them; V and E codes by their letter."""
    category = text.split(".")[0]
    if category[0] in "EV":
        return [f"{category}.*", f"{category[:-1]}0-{category[:-1]}9", category[0]]
    return [f"{category}.*", f"{category[:2]}0-{category[:2]}9", f"{category[0]}00-{category[0]}99"]


def _soc(text: str) -> list[str]:
    return [f"{text[:5]}xx", f"{text[:4]}xxx", f"{text[:2]}-xxxx"]


def _region(text: str) -> list[str]:
    return [text.split("-")[0]]


def _prefixes(values: _Values) -> tuple[Hierarchy, str] | None:
    """Codes of one length, or numbers that are codes: their first characters."""
    lengths = {len(text) for text in values.texts}
    least = 4 if values.numeric else 2  # fewer digits are amounts, such as ages
    if (
        len(lengths) > 1
        or not least <= max(lengths) <= 12
        or not all(re.fullmatch(r"[A-Z0-9]+", t) for t in values.texts)
    ):
        return None
    return prefix_hierarchy(values.texts), f"all values are codes of {max(lengths)} characters"


# --- by numbers


def _intervals(values: _Values) -> tuple[Hierarchy, str] | None:
    if not values.numeric:
        return None
    numbers = [Fraction(text) for text in values.texts if _number(text)]
    if len(numbers) < len(values.texts):
        return None
    span = float(max(numbers) - min(numbers))
    width = _round_width(span / _FINEST)
    widths = [width]
    while widths[-1] < span / 2:
        widths.append(widths[-1] * 2)
    return interval_hierarchy(values.texts, widths), f"numbers in ranges of {widths[0]:g}, and twice as wide each time"


def _number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


def _round_width(width: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 ... that is no smaller."""
    power = 10.0 ** math.floor(math.log10(width))
    found = next(step for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9)) * power
    return int(found) if found >= 1 else found


def _equal_counts(values: _Values) -> tuple[Hierarchy, str] | None:
    """Ranges with about as many rows each, joined in pairs from level to level."""
    if not values.numeric or not all(_number(text) for text in values.texts):
        return None
    order = sorted(range(len(values.texts)), key=lambda each: Fraction(values.texts[each]))
    counts = values.counts[order]
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    finest = min(_FINEST, 2 ** int(math.log2(len(order))) // 2)
    if finest < 2:
        return None
    levels, parts = [], finest
    while parts > 1:
        levels.append(_ranges([values.texts[each] for each in order], np.floor(middle * parts).astype(int)))
        parts //= 2
    rows = [
        [values.texts[each], *_told_apart(values.texts[each], [level[place] for level in levels]), ROOT]
        for place, each in enumerate(order)
    ]
    return Hierarchy.from_rows(rows), f"numbers in {len(set(levels[0]))} ranges with about as many rows each"


def _ranges(texts: Sequence[str], part: npt.NDArray[Any]) -> list[str]:
    ends = {
        p: (texts[int(np.argmax(part == p))], texts[len(part) - 1 - int(np.argmax(part[::-1] == p))]) for p in set(part)
    }
    return [f"[{ends[p][0]}, {ends[p][1]}]" for p in part]


# --- by who goes with whom


def _clusters(values: _Values, others: Sequence[tuple[Ints, int]]) -> tuple[Hierarchy, str] | None:
    """Values whose people have much the same values of other columns are joined first."""
    if not others or len(values.texts) > _MOST_CLUSTERED:
        return None
    from scipy.cluster.hierarchy import fcluster, linkage

    profile = np.concatenate([_shares(values, codes, size) for codes, size in others], axis=1)
    joined = linkage(profile, method="average", metric="cityblock")
    levels, parts = [], len(values.texts)
    while (parts := math.ceil(parts / 3)) > 1:
        cluster = fcluster(joined, parts, criterion="maxclust")
        levels.append(_joined_labels(values, cluster))
    rows = [[text, *_told_apart(text, [level[v] for level in levels]), ROOT] for v, text in enumerate(values.texts)]
    return Hierarchy.from_rows(rows), "values whose people are alike in the columns named with --by"


def _shares(values: _Values, codes: Ints, size: int) -> Floats:
    """[value, code of another column]: how often they go together, for the people with each value."""
    there = values.codes >= 0
    found = np.zeros((len(values.texts), size))
    np.add.at(found, (values.codes[there], codes[there]), 1)
    shares: Floats = found / found.sum(axis=1, keepdims=True)
    return shares


def _joined_labels(values: _Values, cluster: npt.NDArray[Any]) -> list[str]:
    """A cluster is called by its most common values."""
    names = {}
    for each in set(cluster.tolist()):
        members = sorted(np.flatnonzero(cluster == each).tolist(), key=lambda v: (-int(values.counts[v]), v))
        more = f" and {len(members) - _SHORT} more" if len(members) > _SHORT else ""
        names[each] = " | ".join(values.texts[v] for v in members[:_SHORT]) + more
    return [names[each] for each in cluster.tolist()]


_MAKERS: dict[str, Callable[[_Values], Any]] = {
    "dates": _dates,
    "icd-10": _by_shape(r"[A-TV-Z]\d[0-9A-Z](\.?[0-9A-Z]{1,4})?", _icd_10, "values have the shape of ICD-10 codes"),
    "icd-9": _by_shape(
        r"(\d{3}|V\d{2}|E\d{3})(\.\d{1,2})?", _icd_9, "values have the shape of ICD-9 codes: categories, tens, hundreds"
    ),
    "soc": _by_shape(r"\d{2}-\d{4}(\.\d{2})?", _soc, "values have the shape of SOC occupation codes"),
    "regions": _by_shape(r"[A-Z]{2}-[A-Z0-9]{1,3}", _region, "values have the shape of ISO regions: by country"),
    "prefixes": _prefixes,
    "intervals": _intervals,
    "counts": _equal_counts,
}
