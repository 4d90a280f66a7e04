"""What is published instead of a quasi-identifier: a range, a set, or a node of its hierarchy, for every box.

A box is one generalization of all quasi-identifiers; the cells of an attribute say what each box shows of it. There is
one class for each way of showing, in a file of its own; all of them answer the questions below, and nobody else asks
which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from oneoff.releases.predicate import Condition
from oneoff.table import Attribute, Hierarchy
from oneoff.table.arrays import Codes, Flags, Floats, Ints, Ragged, offsets

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Cells", "NumericAs", "Shares", "codes_between", "shares_between"]

NumericAs = Literal["range", "set"]
Shares = npt.NDArray[np.float32]


class Cells(ABC):
    """What box 0, 1, ... shows of an attribute, which is given to every question.

    shown_as   the way of showing, as release.json names it
    complete   does a box say which single values it can mean? Where it does not, only the table tells
    """

    shown_as: ClassVar[str]
    complete: ClassVar[bool] = True

    # --- what a box means

    @abstractmethod
    def covers(self, attribute: Attribute, box: Any, labels: npt.NDArray[Any], code: Any) -> Flags:
        """Does each box contain each value labels[code]? The labels may be those of another table."""

    @abstractmethod
    def values_shown(self, attribute: Attribute, known: Attribute | None = None) -> Ints:
        """How many values each box allows, where it is not complete of those that are known (its own by default)."""

    @abstractmethod
    def ends(self) -> tuple[Codes, Codes] | None:
        """Lowest and highest code of every box; None where values have no order."""

    @abstractmethod
    def part(self, attribute: Attribute, asked: Condition) -> Floats:
        """The part of what each box shows for which a condition is true."""

    def sums(
        self, attribute: Attribute, asked: Sequence[Condition], each: Floats, shift: float
    ) -> tuple[Floats, Floats, Floats]:
        """What one person of each box adds to a sum on average if she fulfils these conditions, and nothing else; and
        the least and the largest of the box. A person with code c counts for each[c]."""
        shown, width = self.spread(attribute, attribute)
        holds = np.logical_and.reduce([np.ones(len(each), dtype=np.bool_), *(c.holds_for(attribute) for c in asked)])
        numbers, first = each[shown.items], shown.start[:-1]
        sums = np.add.reduceat(numbers * holds[shown.items], first) * width
        return sums, np.minimum.reduceat(numbers, first), np.maximum.reduceat(numbers, first)

    @abstractmethod
    def share_below(self, attribute: Attribute, known: Attribute, at: Ints | None = None) -> Shares:
        """[box, i]: the part of what a box shows that lies below code at[i] of another domain; by default, at all."""

    @abstractmethod
    def spread(self, attribute: Attribute, known: Attribute) -> tuple[Ragged, Floats]:
        """The codes of another domain that each box can mean, and the part of it that each of them is.

        `share_below` without a cell for every code of the domain: what takes memory is shown.
        """

    @abstractmethod
    def leaves_under(self, attribute: Attribute, tree: Hierarchy) -> Ints:
        """How many leaves are under the lowest common ancestor of what each box shows."""

    @abstractmethod
    def places(self, attribute: Attribute, labels: npt.NDArray[Any]) -> Ints:
        """Labels (maybe of another table) as numbers that can be compared with `spans`."""

    @abstractmethod
    def spans(self, attribute: Attribute) -> tuple[Ints, Ints, Ints]:
        """(start, low, high): what every box shows, as ascending spans of places."""

    @abstractmethod
    def draw(self, attribute: Attribute, box: Codes, rng: np.random.Generator) -> Ints:
        """For each of these boxes the code of some value that it could mean."""

    def categories(self, attribute: Attribute) -> npt.NDArray[Any]:
        """All labels a box can mean."""
        return attribute.labels

    # --- how it is made, written and read back

    @classmethod
    @abstractmethod
    def around(cls, attribute: Attribute, members: Ragged) -> Self:
        """The tightest cell around the codes of each list."""

    @abstractmethod
    def describe(self, attribute: Attribute) -> dict[str, Any]:
        """What release.json says about the attribute, besides its name and kind and how it is shown."""

    @classmethod
    @abstractmethod
    def read(cls, described: dict[str, Any], frame: pyarrow.Table) -> tuple[Attribute, Self]:
        """The attribute, and its cells with a box for every record."""

    @abstractmethod
    def columns(self, attribute: Attribute, box: Codes) -> dict[str, pyarrow.Array]:
        """The published columns, record by record."""

    def listed(self) -> Ints | int:
        """How many values each box lists one by one: every record of the box repeats them."""
        return 0

    @abstractmethod
    def texts(self, attribute: Attribute) -> list[str]:
        """What each box shows as a single text, for CSV."""

    @abstractmethod
    def keys(self) -> list[npt.NDArray[Any]]:
        """Codes that are equal exactly where the cells of two boxes are."""

    @abstractmethod
    def take(self, boxes: Ints) -> Self:
        """The cells of some boxes."""

    def same_as(self, other: Ints) -> bool:
        """Does every box b show the same as the box other[b]?"""
        return all(np.array_equal(key, key[other]) for key in self.keys())


def codes_between(low: Ints, high: Ints, width: Ints) -> tuple[Ragged, Floats]:
    """`spread` for boxes that show the codes low to high, which are so many of `width` equal parts."""
    start = offsets(np.maximum(high - low + 1, 0))
    items = np.arange(start[-1]) + np.repeat(low - start[:-1], np.diff(start))
    return Ragged(start, items), 1 / width


def shares_between(low: Ints, high: Ints, width: Ints, at: Ints) -> Shares:
    """`share_below` for boxes that show the codes low to high, which are so many of `width` equal parts."""
    inside = np.clip(at[None, :] - low[:, None], 0, (high - low + 1)[:, None])
    shares: Shares = (inside / width[:, None]).astype(np.float32)
    return shares
