"""Numbers and dates as ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from oneoff.releases.cells import Cells, Shares, codes_between, shares_between
from oneoff.releases.logic import in_columns
from oneoff.releases.predicate import Condition
from oneoff.table import Attribute, Hierarchy
from oneoff.table.arrays import Codes, Flags, Floats, Ints, Ragged

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Ranges"]

_SLICES = 200  # that a range of other numbers than a few whole ones is cut into


@dataclass(frozen=True, eq=False)
class Ranges(Cells):
    """Box b shows the codes low[b] .. high[b]."""

    shown_as: ClassVar[str] = "range"
    complete: ClassVar[bool] = False

    low: Codes
    high: Codes

    def covers(self, attribute: Attribute, box: Any, labels: npt.NDArray[Any], code: Any) -> Flags:
        at_most = (np.searchsorted(attribute.labels, labels, side="right") - 1)[code]
        at_least = np.searchsorted(attribute.labels, labels, side="left")[code]
        inside: Flags = (self.low[box] <= at_most) & (at_least <= self.high[box])
        return inside

    def values_shown(self, attribute: Attribute, known: Attribute | None = None) -> Ints:
        low, high = (self.low, self.high) if known is None else self._among(attribute, known)
        return (high - low + 1).astype(np.int64)

    def ends(self) -> tuple[Codes, Codes]:
        return self.low, self.high

    def part(self, attribute: Attribute, asked: Condition) -> Floats:
        return asked.covered(attribute.labels[self.low], attribute.labels[self.high])

    def sums(
        self, attribute: Attribute, asked: Sequence[Condition], each: Floats, shift: float
    ) -> tuple[Floats, Floats, Floats]:
        """Ranges of whole numbers number by number, others in slices, whose middle stands for them."""
        low, high = attribute.labels[self.low], attribute.labels[self.high]
        sums = np.zeros(len(low))
        for piece, middle in _slices(attribute):
            sums += (middle - shift) * self.part(attribute, in_columns([*asked, piece])[0])
        return sums, low - shift, high - shift

    def share_below(self, attribute: Attribute, known: Attribute, at: Ints | None = None) -> Shares:
        low, high = self._among(attribute, known)
        return shares_between(low, high, high - low + 1, np.arange(known.size + 1) if at is None else at)

    def spread(self, attribute: Attribute, known: Attribute) -> tuple[Ragged, Floats]:
        low, high = self._among(attribute, known)
        return codes_between(low, high, high - low + 1)

    def leaves_under(self, attribute: Attribute, tree: Hierarchy) -> Ints:
        leaf = tree.leaf_codes(attribute.labels)
        one, other = leaf[self.low], leaf[self.high]
        return tree.leaves_under(*tree.lca(np.minimum(one, other), np.maximum(one, other))).astype(np.int64)

    def places(self, attribute: Attribute, labels: npt.NDArray[Any]) -> Ints:
        """2c for the value with code c, odd numbers for values between two codes."""
        at_most = np.searchsorted(attribute.labels, labels, side="right") - 1
        return (at_most + np.searchsorted(attribute.labels, labels, side="left")).astype(np.int64)

    def spans(self, attribute: Attribute) -> tuple[Ints, Ints, Ints]:
        return np.arange(len(self.low) + 1), 2 * self.low.astype(np.int64), 2 * self.high.astype(np.int64)

    def draw(self, attribute: Attribute, box: Codes, rng: np.random.Generator) -> Ints:
        return np.asarray(rng.integers(self.low[box], self.high[box] + 1))

    def _among(self, attribute: Attribute, known: Attribute) -> tuple[Ints, Ints]:
        """The ends as codes of another domain."""
        low, high = (np.searchsorted(known.labels, attribute.labels[end]) for end in self.ends())
        return low, high

    @classmethod
    def around(cls, attribute: Attribute, members: Ragged) -> Self:
        first = members.start[:-1]
        return cls(np.minimum.reduceat(members.items, first), np.maximum.reduceat(members.items, first))

    def describe(self, attribute: Attribute) -> dict[str, Any]:
        """Single numbers of the table are not listed: ranges need only its ends."""
        from oneoff.releases.columns import plain, type_name

        return {"type": type_name(attribute), "domain": plain(attribute.labels[[0, -1]])}

    @classmethod
    def read(cls, described: dict[str, Any], frame: pyarrow.Table) -> tuple[Attribute, Self]:
        from oneoff.releases.columns import array, in_order

        name = described["name"]
        ends = [array(frame[f"{name}_{end}"].combine_chunks()) for end in ("min", "max")]
        labels, code = in_order(np.concatenate(ends), described)
        low, high = np.split(code.astype(np.int32), 2)
        if (low > high).any():
            raise ValueError(f"a range of {name!r} ends before it begins")
        return Attribute(name, described["kind"], labels), cls(low, high)

    def columns(self, attribute: Attribute, box: Codes) -> dict[str, pyarrow.Array]:
        from oneoff.releases.columns import shown

        ends = {f"{attribute.name}_min": self.low, f"{attribute.name}_max": self.high}
        return {name: shown(attribute, code[box]) for name, code in ends.items()}

    def texts(self, attribute: Attribute) -> list[str]:
        from oneoff.releases.columns import plain

        labels = [str(label) for label in plain(attribute.labels)]
        return [f"[{labels[a]}, {labels[b]}]" for a, b in zip(self.low.tolist(), self.high.tolist(), strict=True)]

    def keys(self) -> list[npt.NDArray[Any]]:
        return [self.low, self.high]

    def take(self, boxes: Ints) -> Self:
        return type(self)(self.low[boxes], self.high[boxes])


def _slices(attribute: Attribute) -> Iterator[tuple[Condition, float]]:
    first, last = float(attribute.labels[0]), float(attribute.labels[-1])
    if first == last or (attribute.labels.dtype.kind in "iu" and last - first < _SLICES):
        for number in np.arange(first, last + 1).tolist():
            yield Condition(attribute.name, low=number, high=number), number
        return
    cuts = np.linspace(first, last, _SLICES + 1).tolist()
    for one, other in pairwise(cuts):
        yield Condition(attribute.name, low=one, high=other, open_high=other < last), (one + other) / 2
