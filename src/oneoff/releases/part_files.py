"""Parts of a release as they are read: one from its files, what all have together, and all of them as one release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from oneoff.errors import DamagedRelease, OneoffError
from oneoff.releases.description import described_release, part_of_release
from oneoff.releases.parts import (
    described_part,
    described_some,
    described_whole,
    from_numbers,
    part_name,
    people_before,
    tables_of,
)
from oneoff.releases.private import UNFIT
from oneoff.releases.published import Published
from oneoff.releases.tallied import Tallied
from oneoff.releases.thinned import Kept, described_thinned, thinned
from oneoff.table import Attribute
from oneoff.table.arrays import Floats, Ints
from oneoff.table.parquet import read_parquet, unpacked_bytes

__all__ = ["PartFiles", "Stamps", "stamp_of"]

Stamps = Mapping[str, tuple[int, int]]


def stamp_of(path: Path) -> tuple[int, int]:
    """Size and time of a file: whether it is still the one whose hash was compared."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@dataclass(frozen=True, eq=False)
class PartFiles:
    """The public half of a release in parts.

    described   what release.json says
    stamps      of every file, when its hash was compared
    """

    public: Path
    described: Mapping[str, Any]
    stamps: Stamps

    @property
    def parts(self) -> int:
        return len(self.described["parts"])

    def path(self, name: str, part: int) -> Path:
        return self.public / part_name(name, part)

    def read(
        self, part: int, values: Mapping[str, npt.NDArray[Any]] | None, error: Floats | None, *, compare: bool = True
    ) -> Published:
        """A part as a release by itself; see `part_of_release`."""
        first = int(people_before(self.described)[part])
        has = self.described["parts"][part]
        try:
            frames = {
                name: from_numbers(name, self._frame(name, part), first, has, {}) for name in tables_of(self.described)
            }
            return part_of_release(described_part(self.described, part), frames, values, error, compare=compare)
        except (*UNFIT, pa.ArrowException) as problem:
            raise self.damaged(f"part {part:05}", problem) from problem

    def whole(self) -> Published:
        """All parts as one release."""
        try:
            frames = self._frames(range(self.parts))
            return described_release(_as_shown(described_whole(self.described), frames), frames)
        except (*UNFIT, pa.ArrowException) as problem:
            raise self.damaged("all parts together", problem) from problem

    def some(self, numbers: Sequence[int], values: Mapping[str, npt.NDArray[Any]], error: Floats | None) -> Published:
        """Some parts as one, with the prior of all."""
        try:
            described = described_some(self.described, numbers)
            return part_of_release(described, self._frames(numbers), values, error)
        except (*UNFIT, pa.ArrowException) as problem:
            raise self.damaged("some parts together", problem) from problem

    def thinned(
        self, kept: Mapping[int, Kept], values: Mapping[str, npt.NDArray[Any]], error: Floats | None
    ) -> Published:
        """Some groups of some parts as one, with the prior of all."""
        try:
            described = described_thinned(self.described, sorted(kept), kept)
            return part_of_release(described, self._thin_frames(described, kept), values, error, compare=False)
        except (*UNFIT, pa.ArrowException) as problem:
            raise self.damaged("some parts together", problem) from problem

    def _thin_frames(self, described: Mapping[str, Any], kept: Mapping[int, Kept]) -> dict[str, pa.Table]:
        pieces: dict[str, list[pa.Table]] = {name: [] for name in described["files"]}
        first, before = people_before(self.described), 0
        for part in sorted(kept):
            has = self.described["parts"][part]
            for name, some in pieces.items():
                frame = from_numbers(name, self._frame(name, part), int(first[part]), has, {})
                some.append(thinned(name, frame, kept[part], before))
            before += int(kept[part].groups.sum())
        return {name: pa.concat_tables(some) for name, some in pieces.items()}

    def _frames(self, numbers: Sequence[int]) -> dict[str, pa.Table]:
        """The pieces of parts one after the other, with numbers of groups that go on from one to the next."""
        before: dict[str, int] = {}
        pieces: dict[str, list[pa.Table]] = {name: [] for name in tables_of(self.described)}
        first = people_before(self.described)
        for part in numbers:
            has = self.described["parts"][part]
            for name, some in pieces.items():
                some.append(from_numbers(name, self._frame(name, part), int(first[part]), has, before))
            before = {name: before.get(name, 0) + number for name, number in has.items()}
        return {name: pa.concat_tables(some) for name, some in pieces.items()}

    def bytes_unpacked(self) -> int:
        """At least what all tables take in memory, by what the files say of themselves."""
        return sum(unpacked_bytes(self.path(name, i)) for name in tables_of(self.described) for i in range(self.parts))

    def _frame(self, name: str, part: int) -> pa.Table:
        path = self.path(name, part)
        if stamp_of(path) != self.stamps[path.name]:
            raise ValueError(f"{path.name} was changed while it was read")
        return read_parquet(path)

    def damaged(self, what: str, problem: Exception) -> DamagedRelease:
        got = problem.what if isinstance(problem, OneoffError) else f"{type(problem).__name__}: {problem}"
        return DamagedRelease(
            f"{str(self.public)!r} does not fit its description: {what}",
            allowed="the public half of a release as it was written",
            got=got,
            hint="ask for the files again",
        )

    def survey(self) -> Seen:
        """One look through all parts."""
        quasi: tuple[Attribute, ...] = ()
        shown: list[Ints] = []
        margins: tuple[Ints, ...] = ()
        for i in range(self.parts):
            part = self.read(i, None, None)
            before, quasi = quasi, _joined([quasi, part.quasi] if quasi else [part.quasi])
            shown.append(part.shown_counts())
            if isinstance(part, Tallied):
                known = [(before, margins)] if margins else []
                margins = _margins(quasi, [*known, (part.quasi, part.tallies.margins)])
        total = np.sum(shown, axis=0)
        return Seen(quasi, total, part.error_of(total, self.described), margins)


@dataclass(frozen=True, eq=False)
class Seen:
    """What all parts have together.

    quasi    with the values of all
    shown    how many records show each sensitive value
    error    the standard error of the prior
    margins  of each quasi-identifier: people with each code, where these are counted
    """

    quasi: tuple[Attribute, ...]
    shown: Ints
    error: Floats
    margins: tuple[Ints, ...]


def _margins(
    quasi: Sequence[Attribute], parts: Sequence[tuple[Sequence[Attribute], Sequence[Ints]]]
) -> tuple[Ints, ...]:
    found = tuple(np.zeros(attribute.size, dtype=np.int64) for attribute in quasi)
    for attributes, margins in parts:
        for margin, known, own, counted in zip(found, quasi, attributes, margins, strict=True):
            margin[own.codes_in(known)] += counted
    return found


def _joined(each: Sequence[tuple[Attribute, ...]]) -> tuple[Attribute, ...]:
    """With the values of all, in their order."""
    return tuple(_with_labels(some[0], [attribute.labels for attribute in some]) for some in zip(*each, strict=True))


def _with_labels(attribute: Attribute, labels: Sequence[npt.NDArray[Any]]) -> Attribute:
    if attribute.kind == "ordered":
        return attribute
    found = np.unique(np.concatenate(labels))
    if attribute.hierarchy is not None:
        found = found[np.argsort(attribute.hierarchy.leaf_codes(found), kind="stable")]
    return replace(attribute, labels=found)


def _as_shown(described: dict[str, Any], frames: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Of the order of a column only the values that somebody shows, as a release says that is not made of parts."""
    found = []
    for each in described["quasi"]:
        order, name = each.get("order"), each["name"]
        at = next((frame for frame in frames.values() if name in frame.column_names), None)
        if order is None or each["shown_as"] != "value" or at is None:
            found.append(each)
            continue
        there = set(at[name].unique().to_pylist())
        found.append(each | {"order": [value for value in order if value in there]})
    return described | {"quasi": found}
