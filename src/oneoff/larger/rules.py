"""How the blocks of each method are cut, how large they are, and what every block must be told of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneoff.errors import MethodMismatch
from oneoff.larger.cutting import Cutting, Sides, Split
from oneoff.larger.header import Header
from oneoff.mechanisms.tallies import size_of_fields
from oneoff.mechanisms.uniform import uniform_cut
from oneoff.models import Model
from oneoff.table.arrays import Flags, Floats, Ints, offsets
from oneoff.table.axes import axes_of
from oneoff.table.space import space_of

__all__ = ["WHOLE_ONLY", "block_size", "cutting_for", "options_of_whole", "refuse_whole_only"]

_BYTES_A_CODE = 72  # of a row in a worker at work, for each quasi-identifier, measured
_BYTES_A_ROW = 300  # and for the row itself
_AT_REST = 420 << 20  # bytes of a worker that does nothing
_LEAST, _MOST = 20_000, 1_000_000  # people of a block
_MONDRIANS = ("mondrian", "lmondrian", "tmondrian")
_READERS = ("hilbert", "burel", "sabre")
_SLOW = {"transversal": 100_000, "mutual-cover": 20_000, "exact-size": 200_000, "multi-size": 200_000}
WHOLE_ONLY = {
    "heterogeneous": 20_000,
    "ring": 1_000_000,
    "freeform": 100_000,
    "packing": 1_000_000,
    "privbayes": 5_000_000,
}


def refuse_whole_only(method: str, people: int) -> None:
    """Some methods need all rows at once."""
    if method in WHOLE_ONLY:
        raise MethodMismatch(
            f"{method} looks at all rows at once and cannot work block by block",
            allowed="tallies, mondrian, hilbert, burel, sabre, transversal, anatomy, two-size, multi-size, exact-size, "
            "perturbation, mutual-cover, baseline",
            got=f"{method}, and {people:,} rows",
            hint=f"with --engine memory it does up to about {WHOLE_ONLY[method]:,} rows",
        )


def block_size(method: str, columns: int, memory: int) -> int:
    """The most people of a block that a worker with so much memory can take."""
    room = max(0, memory - _AT_REST) // (_BYTES_A_ROW + _BYTES_A_CODE * columns)
    return int(np.clip(room, _LEAST, _SLOW.get(method, _MOST)))


def options_of_whole(method: str, header: Header, model: Model, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with what a block cannot find out by itself."""
    if method == "tallies":
        return {**options, "field_size": size_of_fields(header.sketch(), model, **options)}
    return dict(options)


def cutting_for(method: str, header: Header, model: Model, options: Mapping[str, Any], most: int) -> Cutting:
    """The rule of cuts; for methods that cut a tree themselves their own."""
    least = max(1, most // 4)
    if method in _MONDRIANS and options.get("cuts", "relaxed") in ("strict", "relaxed"):
        return LightestCuts.of(header, model, options.get("numeric_as", "range"))
    if method in _READERS:
        return LightestCuts.of(header, model, "range", least)
    if method == "tallies":
        least = int(options["field_size"])
    elif method in _MONDRIANS:
        least = int(model.rule(header.counts, header.rows).least_size)
    return UniformCuts.of(header, least)


@dataclass(frozen=True, eq=False)
class UniformCuts:
    """Cuts that make every column as uniform as they can inside the pieces (`mechanisms.uniform`)."""

    place: Floats
    weight: Floats
    begin: Ints
    least: int
    by_value: bool = False

    @staticmethod
    def of(header: Header, least: int) -> UniformCuts:
        place, weight = axes_of(header.quasi, header.margins[: len(header.quasi)])
        return UniformCuts(place, weight, offsets([attribute.size for attribute in header.quasi]), least)

    @property
    def sets(self) -> Flags:
        return np.zeros(len(self.weight), dtype=np.bool_)

    def proposals(self, counts: Sequence[Ints]) -> list[Split]:
        found = uniform_cut([count[:, 0] for count in counts], self.place, self.begin, self.weight, self.least)
        return [] if found is None else [Split(*found)]

    def best(self, proposals: Sequence[Split], people: Ints, size: int, sides: Sides) -> int:
        return 0


@dataclass(frozen=True, eq=False)
class LightestCuts:
    """Cuts with the least loss of boxes whose sides keep the promise (`mechanisms.partitioning.mondrian`).

    They look at values, so they are for methods that stand against a reader only: then no block breaks the promise.
    """

    space: Any
    rule: Any

    @staticmethod
    def of(header: Header, model: Model, numeric_as: str, least: int = 1) -> LightestCuts:
        rule = model.rule(header.counts, header.rows)
        larger = rule._replace(least_size=max(rule.least_size, least))
        return LightestCuts(space_of(header.sketch(), numeric_as), larger)

    @property
    def by_value(self) -> bool:
        return bool(self.rule.by_value)

    @property
    def sets(self) -> Flags:
        from oneoff.kernels.space import KIND, SET

        kinds: Flags = self.space.attribute[:, KIND] == SET
        return kinds

    def proposals(self, counts: Sequence[Ints]) -> list[Split]:
        from oneoff.kernels.topcuts import boundaries

        found = []
        for j, count in enumerate(counts):
            order, ends = boundaries(count.astype(np.int64), self.space, self.rule, j)
            for end in ends.tolist():
                left = np.zeros(len(count), dtype=np.bool_)
                left[order[:end]] = True
                found.append(Split(j, left))
        return found

    def best(self, proposals: Sequence[Split], people: Ints, size: int, sides: Sides) -> int:
        from oneoff.kernels.topcuts import loss_of_sides

        reached = zip(sides.low, sides.high, sides.distinct, people.tolist(), strict=True)
        return int(np.argmin([loss_of_sides(self.space, *each, size) for each in reached]))
