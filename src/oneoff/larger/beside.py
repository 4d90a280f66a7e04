"""A release in parts beside the table it was made from, which may be in many files: every part with the rows of its own
people, as the private half links them.

The part of every row of a file is written down in a scratch file as large as the table has rows, four bytes each. Then
the table is coded as for publishing, and an engine brings together the rows of each part. Nobody holds more than that.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from oneoff.engines import TextFormat, engine
from oneoff.engines.waist import PLACE, Engine, Workers
from oneoff.errors import BadValue, UnreadableFile, listing
from oneoff.job import Job
from oneoff.larger.header import Header, Reading, header_of
from oneoff.releases import InParts, Published
from oneoff.releases.private import Places
from oneoff.table import Table
from oneoff.table.arrays import Ints

__all__ = ["Beside", "Looked", "look_beside", "people_beside"]

R = TypeVar("R")
_NAMED = 3  # problems with single rows that are named

_ROLES = ("quasi", "sensitive", "identifiers", "keep", "numeric", "categorical", "hierarchies", "missing", "bins",
          "level", "other_below", "ordered", "dates", "prefix", "na", "decimal")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Looked(Generic[R]):
    """What came of looking at a part: with people whose rows were found, or without any where some were not."""

    part: int
    found: R
    problem: str = ""


@dataclass(frozen=True, eq=False)
class Beside(Generic[R]):
    """What came of all parts, in their order; the header of the table; and what speaks against the links."""

    header: Header
    parts: tuple[Looked[R], ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Assigned:
    """Where rows go: to the part that has their record.

    paths    for each file of the table a scratch file with the part of every row, counted from 1; 0 is none
    """

    paths: tuple[str, ...]

    def __call__(self, batch: pa.RecordBatch) -> Ints:
        files, rows = (np.asarray(batch[name]) for name in PLACE)
        found = np.full(len(rows), -1, dtype=np.int64)
        for file in np.unique(files).tolist():
            part = np.memmap(self.paths[file], dtype=np.int32, mode="r")
            known = (files == file) & (rows < len(part))
            found[known] = part[rows[known]] - 1
        return found


@dataclass(frozen=True)
class Stray:
    """How many rows have no record."""

    assigned: Assigned

    def __call__(self, batch: pa.RecordBatch) -> int:
        return int((self.assigned(batch) < 0).sum())


@dataclass(frozen=True, eq=False)
class Looking(Generic[R]):
    """Looks at a part beside the rows of its people."""

    release: InParts
    header: Header
    look: Callable[[Published, Table | None], R]

    def __call__(self, number: int, rows: pa.Table) -> Looked[R]:
        places = self.release.places(number)
        assert places is not None
        order, missing = _in_order(places, rows)
        if missing:
            return self.lacking(number, missing)
        table = self.header.table_of(rows.take(pa.array(order)))
        return Looked(number, self.look(self.release.steward_part(number, places), table))

    def lacking(self, number: int, missing: int) -> Looked[R]:
        """A part without the rows of its people, because some of them are not in the table."""
        return Looked(number, self.look(self.release.part(number), None), _lack(missing))


@dataclass(frozen=True, eq=False)
class Taking:
    """Takes the rows of some people of a part.

    people   [part]: which, by their places in its links
    """

    release: InParts
    header: Header
    people: Mapping[int, Ints]

    def __call__(self, number: int, rows: pa.Table) -> Looked[Table | None]:
        places = self.release.places(number)
        assert places is not None
        order, missing = _in_order(places, rows)
        if missing:
            return self.lacking(number, missing)
        return Looked(number, self.header.table_of(rows.take(pa.array(order[self.people[number]]))))

    def lacking(self, number: int, missing: int) -> Looked[Table | None]:
        return Looked(number, None, _lack(missing))


def _lack(people: int) -> str:
    return f"{people:,} of its people have no row in the table"


def _in_order(places: Places, rows: pa.Table) -> tuple[Ints, int]:
    """Which of the rows are those of the people, one by one, and how many people have none."""
    file, row = (np.asarray(rows[name]) for name in PLACE)
    there, wanted = np.lexsort((row, file)), np.lexsort((places.row, places.file))
    own = np.stack((file[there], row[there]), axis=1)
    asked = np.stack((places.file[wanted], places.row[wanted]), axis=1)
    if not np.array_equal(own, asked):
        return there, max(len(asked) - len(own), int(len(own) == len(asked)))
    order = np.empty(len(wanted), dtype=np.int64)
    order[wanted] = there
    return order, 0


def look_beside(
    release: InParts, job: Job, look: Callable[[Published, Table | None], R], workers: Workers | None = None
) -> Beside[R]:
    """Look at every part beside the rows of its people, in worker processes.

    job   where the table is and how to read it
    """
    return _beside(
        release, job, lambda header: Looking(release, header, look), workers or Workers(), range(release.parts)
    )


def people_beside(release: InParts, job: Job, people: Mapping[int, Ints]) -> Beside[Table | None]:
    """The rows of some people of some parts; people: [part], their places in its links."""
    return _beside(release, job, lambda header: Taking(release, header, people), Workers(), sorted(people))


def _beside(
    release: InParts, job: Job, looking: Callable[[Header], Any], workers: Workers, numbers: Sequence[int]
) -> Beside[Any]:
    given = Reading({name: getattr(job, name) for name in _ROLES} | {"rows_are_people": True})
    text = TextFormat(job.encoding, job.delimiter, tuple(job.na), job.decimal)
    with engine("local", workers) as running, _scratch(workers) as folder:
        frame = running.open(job.input, text)
        _refuse_other_files(release, frame.files)
        header = header_of(running, frame, given)
        _refuse_other_columns(release, header)
        assigned, problems = _assigned(release, frame.files, header.rows + header.dropped, folder)
        coded = running.map(running.select(frame, given.columns), header.coded, header.coded_schema)
        stray = running.reduce(coded, Stray(assigned), int.__add__)
        if stray:
            problems = (*problems, f"{stray:,} rows of the table have no record in any part")
        parts = _looked(running, coded, assigned, looking(header), numbers)
    problems = (*problems, *(f"part {each.part:05}: {each.problem}" for each in parts if each.problem))
    return Beside(header, tuple(parts), problems)


def _looked(
    running: Engine, coded: Any, assigned: Assigned, looking: Looking[R] | Taking, numbers: Sequence[int]
) -> list[Looked[Any]]:
    """Every part, those, too, of which no row is in the table."""
    found: dict[int, Looked[Any]] = dict(running.blocks(coded, assigned, looking, wanted=numbers))
    for number in set(numbers) - found.keys():
        found[number] = looking.lacking(number, int(looking.release.described["parts"][number]["rows"]))
    return [found[number] for number in numbers]


@contextmanager
def _scratch(workers: Workers) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="oneoff-", dir=workers.scratch) as folder:
        yield Path(folder)


def _refuse_other_files(release: InParts, files: Sequence[str]) -> None:
    """Links name files by their number."""
    assert release.private is not None
    path = release.private / "sources.json"
    try:
        known = [Path(name).name for name in json.loads(path.read_text(encoding="utf-8"))["files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableFile(
            f"{str(path)!r} cannot be read", allowed="the private half as it was written", got=str(error)[:200]
        ) from None
    if [Path(name).name for name in files] == known:
        return
    raise BadValue(
        "the table is not in the files that the release was made of",
        allowed=f"{len(known):,} files: {listing(known, limit=5)}",
        got=f"{len(files):,}: {listing([Path(name).name for name in files], limit=5)}",
        hint="name the folder or pattern that was published; it may be in another place",
    )


def _refuse_other_columns(release: InParts, header: Header) -> None:
    names = [attribute.name for attribute in release.quasi]
    own = [attribute.name for attribute in header.quasi]
    if names != own:
        raise BadValue(
            "the table has other quasi-identifiers than the release",
            allowed=listing(names),
            got=listing(own),
        )


def _assigned(release: InParts, files: Sequence[str], rows: int, folder: Path) -> tuple[Assigned, tuple[str, ...]]:
    """The part of every row of every file, and rows that two records are linked to."""
    most = np.zeros(len(files), dtype=np.int64)
    for places in _places(release):
        for name, numbers, many in (("file", places.file, len(files)), ("row", places.row, rows)):
            if not 0 <= numbers.min() <= numbers.max() < many:
                raise BadValue(
                    f"the private half links records to a {name} that the table does not have",
                    allowed=f"0 to {many - 1}", got=f"{numbers.min()} to {numbers.max()}",
                    hint="the whole table that was published is needed, as it was then",
                )  # fmt: skip
        np.maximum.at(most, places.file, places.row + 1)
    paths = tuple(str(folder / f"{i:06}") for i in range(len(files)))
    for path, length in zip(paths, most.tolist(), strict=True):
        np.memmap(path, dtype=np.int32, mode="w+", shape=(max(length, 1),)).flush()
    return Assigned(paths), _written(release, files, paths)


def _written(release: InParts, files: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    twice: list[str] = []
    many = 0
    for number, places in enumerate(_places(release)):
        for file in np.unique(places.file).tolist():
            part = np.memmap(paths[file], dtype=np.int32, mode="r+")
            rows = np.sort(places.row[places.file == file])
            taken = np.concatenate((rows[part[rows] > 0], rows[1:][np.diff(rows) == 0]))
            many += len(taken)
            for row in taken[: _NAMED - len(twice)].tolist():
                other = int(part[row]) - 1 if part[row] else number
                twice.append(f"row {row} of {Path(files[file]).name} in parts {other:05} and {number:05}")
            part[rows] = number + 1
            part.flush()
    return (f"{many:,} rows of the table have two records: {'; '.join(twice)}",) if many else ()


def _places(release: InParts) -> Iterator[Places]:
    for number in range(release.parts):
        places = release.places(number)
        assert places is not None
        yield places
