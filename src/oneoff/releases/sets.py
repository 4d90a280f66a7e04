"""Categories without a hierarchy, and numbers where that is asked for, as sets of the values that occur."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from oneoff.releases.cells import Cells, Shares
from oneoff.releases.predicate import Condition
from oneoff.releases.published import renamed
from oneoff.table import Attribute, Hierarchy
from oneoff.table.arrays import Codes, Flags, Floats, Ints, Ragged, offsets
from oneoff.table.classes import look_alikes

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Sets"]


@dataclass(frozen=True, eq=False)
class Sets(Cells):
    """Box b shows the codes code[start[b] : start[b + 1]], ascending."""

    shown_as: ClassVar[str] = "set"

    start: Ints
    code: Codes

    @cached_property
    def lists(self) -> Ragged:
        return Ragged(self.start, self.code)

    def covers(self, attribute: Attribute, box: Any, labels: npt.NDArray[Any], code: Any) -> Flags:
        wanted = self.places(attribute, labels)[code]
        key = np.asarray(box, dtype=np.int64) * attribute.size + wanted
        return _contains(self.lists.owner * attribute.size + self.code, np.where(wanted >= 0, key, -1))

    def values_shown(self, attribute: Attribute, known: Attribute | None = None) -> Ints:
        return self.lists.lengths

    def ends(self) -> tuple[Codes, Codes]:
        return self.code[self.start[:-1]], self.code[self.start[1:] - 1]

    def part(self, attribute: Attribute, asked: Condition) -> Floats:
        true = asked.holds_for(attribute)[self.code].astype(np.float64)
        return np.add.reduceat(true, self.start[:-1]) / self.lists.lengths

    def share_below(self, attribute: Attribute, known: Attribute, at: Ints | None = None) -> Shares:
        edges = np.arange(known.size + 1) if at is None else at
        above = np.searchsorted(edges, renamed(attribute, known), side="right")  # the first edge above each code
        member = np.zeros((len(self.lists), len(edges) + 1), dtype=np.float32)
        np.add.at(member, (self.lists.owner, above[self.code]), 1)
        return (np.cumsum(member[:, :-1], axis=1) / self.lists.lengths[:, None]).astype(np.float32)

    def spread(self, attribute: Attribute, known: Attribute) -> tuple[Ragged, Floats]:
        return Ragged(self.start, renamed(attribute, known)[self.code]), 1 / self.lists.lengths

    def leaves_under(self, attribute: Attribute, tree: Hierarchy) -> Ints:
        shown, first = tree.leaf_codes(attribute.labels)[self.code], self.start[:-1]
        common = tree.lca(np.minimum.reduceat(shown, first), np.maximum.reduceat(shown, first))
        return tree.leaves_under(*common).astype(np.int64)

    def places(self, attribute: Attribute, labels: npt.NDArray[Any]) -> Ints:
        """The code of each label, -1 where no box shows it."""
        return attribute.codes_of(labels).astype(np.int64)

    def spans(self, attribute: Attribute) -> tuple[Ints, Ints, Ints]:
        code = self.code.astype(np.int64)
        return self.start, code, code

    def draw(self, attribute: Attribute, box: Codes, rng: np.random.Generator) -> Ints:
        return self.code[rng.integers(self.start[box], self.start[box + 1])].astype(np.int64)

    @classmethod
    def around(cls, attribute: Attribute, members: Ragged) -> Sets:
        groups, key = len(members), members.owner * attribute.size + members.items
        if groups * attribute.size <= 8 * len(key) + 1_000_000:  # a table of all pairs is cheaper than sorting
            shown = np.zeros(groups * attribute.size, dtype=np.bool_)
            shown[key] = True
            key = np.flatnonzero(shown)
        else:
            key = np.unique(key)
        sizes = np.bincount(key // attribute.size, minlength=groups)
        return Sets(offsets(sizes), (key % attribute.size).astype(np.int32))

    def describe(self, attribute: Attribute) -> dict[str, Any]:
        from oneoff.releases.columns import plain, type_name

        return {"type": type_name(attribute), "domain": plain(attribute.labels)}

    @classmethod
    def read(cls, described: dict[str, Any], frame: pyarrow.Table) -> tuple[Attribute, Sets]:
        from oneoff.releases.columns import OF_ALL, codes, labels_of, lists_of

        name, labels = described["name"], labels_of(described["domain"], described["type"])
        length, items = lists_of(frame[name])
        code = codes(items, labels)
        if (length < 1).any() or (OF_ALL not in described and len(np.unique(code)) != len(labels)):
            raise ValueError(f"a set of {name!r} is empty, or a value of its domain is never shown")
        start = offsets(length)
        begins = np.zeros(len(code), dtype=np.bool_)
        begins[start[:-1]] = True
        if not (begins[1:] | (np.diff(code) > 0)).all():
            raise ValueError(f"a set of {name!r} lists a value twice or out of order")
        return Attribute(name, described["kind"], labels), Sets(start, code)

    def columns(self, attribute: Attribute, box: Codes) -> dict[str, pyarrow.Array]:
        import pyarrow as pa

        from oneoff.releases.columns import shown

        repeated = len(self.code) <= int(self.lists.lengths[box].sum())
        lists = self.lists if repeated else self.lists.take(box)
        start = pa.array(lists.start.astype(np.int32))
        column = pa.ListArray.from_arrays(start, shown(attribute, lists.items))
        return {attribute.name: column.take(pa.array(box)) if repeated else column}

    def listed(self) -> Ints:
        return self.lists.lengths

    def texts(self, attribute: Attribute) -> list[str]:
        from oneoff.releases.columns import plain

        members = [_member(str(label)) for label in plain(attribute.labels)]
        texts = [members[c] for c in self.code.tolist()]
        return [f"{{{', '.join(texts[a:b])}}}" for a, b in pairwise(self.start.tolist())]

    def keys(self) -> list[npt.NDArray[Any]]:
        """Equal sets get equal numbers: by length, then value by value."""
        length = self.lists.lengths
        number = length.copy()
        for place in range(int(length.max())):
            has = length > place
            value = np.zeros(len(length), dtype=np.int64)
            value[has] = self.code[self.start[:-1][has] + place] + 1
            number = look_alikes([number, value])
        return [number]

    def same_as(self, other: Ints) -> bool:
        """Value by value, which is cheaper than numbering the sets."""
        there = self.lists.take(other)
        return np.array_equal(self.start, there.start) and np.array_equal(self.code, there.items)

    def take(self, boxes: Ints) -> Sets:
        return Sets(*self.lists.take(boxes))


def _contains(shown: Ints, wanted: Ints) -> Flags:
    """Which of the wanted keys are among the shown ones (ascending); a negative key never is."""
    top = int(max(shown[-1], wanted.max())) + 2
    if top <= 8 * len(wanted) + 1_000_000:  # a table of all keys is cheaper than searching
        known = np.zeros(top, dtype=np.bool_)
        known[shown] = True
        return known[wanted]  # key -1 reads the last cell, which is never set
    place = np.minimum(np.searchsorted(shown, wanted), len(shown) - 1)
    found: Flags = shown[place] == wanted
    return found


def _member(label: str) -> str:
    """A value inside a set; quoted where a comma or a brace of its own would be taken for the set's."""
    return json.dumps(label, ensure_ascii=False) if any(mark in label for mark in ',{}"') else label
