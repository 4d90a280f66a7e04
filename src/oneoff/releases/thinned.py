"""Some whole groups of some parts of a release in parts, as a release by itself: for what looks at a sample of people.

A group, or a bucket, says what all of its people have together, so it is taken whole or not at all. Of perturbed rows
those who look alike are a group. Other kinds hang together in larger pieces: their parts are taken whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oneoff.releases.bucketized import Bucketized
from oneoff.releases.generalized import Generalized
from oneoff.releases.parts import NUMBERED, described_some
from oneoff.releases.perturbed import Perturbed
from oneoff.releases.published import Published
from oneoff.table.arrays import Flags, Ints

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Kept", "described_thinned", "groups_of", "thinned"]

_PLAIN = "microdata"  # rows that show no group: nobody can tell which of them to take


def groups_of(part: Published) -> Ints | None:
    """[record]: its group, counted from 0; None where a part can only be taken whole."""
    if isinstance(part, Bucketized):
        return part.bucket.astype(np.int64)
    if isinstance(part, Perturbed):
        return part.look_alikes.astype(np.int64)
    if isinstance(part, Generalized) and part.group is not None:
        return part.group.astype(np.int64)
    return None


@dataclass(frozen=True, eq=False)
class Kept:
    """What is taken of a part.

    owner   [record]: its group
    groups  which of them are taken
    """

    owner: Ints
    groups: Flags

    @property
    def records(self) -> Flags:
        return self.groups[self.owner]

    def counted(self, has: Mapping[str, int]) -> dict[str, int]:
        """As release.json says it of a part."""
        groups = {name: int(self.groups.sum()) for name in has if name != "rows"}
        return {"rows": int(self.records.sum()), **groups}


def thinned(name: str, frame: pyarrow.Table, kept: Kept, before: int) -> pyarrow.Table:
    """The lines of a piece of that file that are about groups that are taken, which are numbered from `before` on."""
    import pyarrow as pa

    column = next((each for each in NUMBERED.get(name, {}) if each in frame.column_names), None)
    if column is None:
        return frame.filter(pa.array(kept.records))
    numbers = frame[column].to_numpy()
    there = kept.groups[numbers]
    fresh = np.cumsum(kept.groups) - 1 + before
    place, kind = frame.column_names.index(column), frame.schema.field(column).type
    return frame.filter(pa.array(there)).set_column(place, column, pa.array(fresh[numbers[there]]).cast(kind))


def described_thinned(described: Mapping[str, Any], numbers: Sequence[int], kept: Mapping[int, Kept]) -> dict[str, Any]:
    """What release.json would say of them, without the plain rows."""
    counted = [kept[number].counted(described["parts"][number]) for number in numbers]
    some = described_some(described, numbers) | {name: sum(each[name] for each in counted) for name in counted[0]}
    files = {name: content for name, content in some["files"].items() if name != f"{_PLAIN}.parquet"}
    return {name: value for name, value in some.items() if name != _PLAIN} | {"files": files}
