"""Hierarchies that need no file: a word says how to make one from the values of a column.

    prefix              98101, 9810*, 981**, 98***, 9****, *
    date                2020-03-17, 2020-03, 2020, *; date:month,quarter,year names the levels
    interval:5,10,20    23, [20, 25), [20, 30), [20, 40), *

Such a tree lists values of the table and no others, so one that a release shows has only those of its people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from oneoff.errors import HierarchyError, listing, nearest
from oneoff.table.hierarchy import Hierarchy, date_hierarchy, interval_hierarchy, label_texts, prefix_hierarchy
from oneoff.table.table import MISSING_LABEL

__all__ = ["WORDS", "is_word", "made_hierarchy"]


def is_word(given: object) -> bool:
    """Does it say how to make a hierarchy, rather than which file has one?"""
    return isinstance(given, str) and given.partition(":")[0].strip() in WORDS


def made_hierarchy(word: str, labels: Any, name: str) -> Hierarchy:
    """The hierarchy of these values; what is missing is a branch of its own."""
    kind, _, given = (part.strip() for part in word.partition(":"))
    known = [text for text in label_texts(np.asarray(labels)) if text != MISSING_LABEL]
    try:
        tree = WORDS[kind](known, [part.strip() for part in given.split(",") if part.strip()])
    except HierarchyError as error:
        raise HierarchyError(
            f"no hierarchy {word!r} can be made for {name!r}: {error.what}",
            allowed=error.allowed, got=error.got, hint=error.hint,
        ) from None  # fmt: skip
    rows = tree.rows()
    if len(known) < len(labels):
        rows.append([*[MISSING_LABEL] * (len(rows[0]) - 1), rows[0][-1]])
    return replace(Hierarchy.from_rows(rows, name), made=True)


def _prefix(known: list[str], given: list[str]) -> Hierarchy:
    _refuse_more(given, "prefix")
    lengths = sorted({len(text) for text in known})
    if len(lengths) > 1 and all(text.isdigit() for text in known):
        raise HierarchyError(
            "numbers of different length may have lost zeros in front",
            allowed="codes of one length",
            got=f"{lengths[0]} to {lengths[-1]} digits",
            hint="write them as texts with all their digits, such as 01234",
        )
    return prefix_hierarchy(known)


def _date(known: list[str], given: list[str]) -> Hierarchy:
    return date_hierarchy(known, given) if given else date_hierarchy(known)


def _interval(known: list[str], given: list[str]) -> Hierarchy:
    try:
        widths = [float(width) for width in given]
    except ValueError:
        raise HierarchyError(
            "the widths of intervals are numbers", allowed="interval:5,10,20", got=listing(given)
        ) from None
    whole = [int(width) if width.is_integer() else width for width in widths]
    return interval_hierarchy(known, whole) if given else interval_hierarchy(known)


def _refuse_more(given: list[str], word: str) -> None:
    if given:
        raise HierarchyError(
            f"{word} takes nothing after it", allowed=word, got=listing(given), hint=nearest(word, WORDS)
        )


WORDS: dict[str, Callable[[list[str], list[str]], Hierarchy]] = {
    "prefix": _prefix,
    "date": _date,
    "interval": _interval,
}
