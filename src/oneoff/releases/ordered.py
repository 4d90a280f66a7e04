"""Ordered categories as ranges of their order: from Fair to Good, whatever is between them included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from oneoff.releases.predicate import Condition
from oneoff.releases.published import renamed
from oneoff.releases.ranges import Ranges
from oneoff.table import Attribute
from oneoff.table.arrays import Codes, Flags, Floats, Ints, offsets
from oneoff.table.table import MISSING_LABEL

if TYPE_CHECKING:
    import pyarrow

__all__ = ["OrderedRanges"]


@dataclass(frozen=True, eq=False)
class OrderedRanges(Ranges):
    """Box b shows the categories with the codes low[b] .. high[b]; release.json says which ones these are."""

    shown_as: ClassVar[str] = "ordered range"
    complete: ClassVar[bool] = True

    def covers(self, attribute: Attribute, box: Any, labels: npt.NDArray[Any], code: Any) -> Flags:
        place = self.places(attribute, labels)[code]
        inside: Flags = (self.low[box] <= place) & (place <= self.high[box])
        return inside

    def values_shown(self, attribute: Attribute, known: Attribute | None = None) -> Ints:
        return (self.high - self.low + 1).astype(np.int64)

    def part(self, attribute: Attribute, asked: Condition) -> Floats:
        below = offsets(asked.holds_for(attribute))
        part: Floats = (below[self.high + 1] - below[self.low]) / self.values_shown(attribute)
        return part

    def _among(self, attribute: Attribute, known: Attribute) -> tuple[Ints, Ints]:
        code = renamed(attribute, known).astype(np.int64)
        return code[self.low], code[self.high]

    def places(self, attribute: Attribute, labels: npt.NDArray[Any]) -> Ints:
        """The code of each label, -1 for one that is not in the order."""
        return attribute.codes_of(labels).astype(np.int64)

    def spans(self, attribute: Attribute) -> tuple[Ints, Ints, Ints]:
        return np.arange(len(self.low) + 1), self.low.astype(np.int64), self.high.astype(np.int64)

    def texts(self, attribute: Attribute) -> list[str]:
        """`[Fair, Good]`; what is missing is in no range, so it is named beside it."""
        labels, missing = [str(label) for label in attribute.labels], attribute.has_missing
        last = attribute.size - 1 - missing
        beside = f" or {MISSING_LABEL}"
        return [
            labels[a] if a > last else f"[{labels[a]}, {labels[min(b, last)]}]{beside * (b > last)}"
            for a, b in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]

    def describe(self, attribute: Attribute) -> dict[str, Any]:
        """Their order says it all."""
        from oneoff.releases.columns import order_of, type_name

        return {"type": type_name(attribute), **order_of(attribute)}

    @classmethod
    def read(cls, described: dict[str, Any], frame: pyarrow.Table) -> tuple[Attribute, Self]:
        from oneoff.releases.columns import OF_ALL, codes, labels_of

        name, labels = described["name"], labels_of(described["order"], described["type"])
        low, high = (codes(frame[f"{name}_{end}"].combine_chunks(), labels) for end in ("min", "max"))
        if len(set(labels.tolist())) < len(labels) or (low > high).any():
            raise ValueError(f"a range of {name!r} ends before it begins, or its order names a value twice")
        if OF_ALL not in described and not _all_shown(low, high, len(labels)):
            raise ValueError(f"a value of the order of {name!r} is never shown")
        return Attribute(name, described["kind"], labels), cls(low, high)


def _all_shown(low: Codes, high: Codes, size: int) -> bool:
    """Is every code in some range?"""
    begun, ended = np.bincount(low, minlength=size + 1), np.bincount(high + 1, minlength=size + 1)
    return bool((np.cumsum(begun - ended)[:size] > 0).all())
