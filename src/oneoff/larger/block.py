"""One block: from coded rows to the files of a part of the release, checked as a table in memory would be.

The very functions of a table in memory run here: the mechanism, the making of the release, the audit, the measures.
What differs is said once, in the table they are given: domains and prior are those of all people (`Table.population`),
and numbers of groups begin where they cannot meet those of another block.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oneoff.audit import Verdict, audit
from oneoff.catalog import METHODS, RELEASES
from oneoff.engines.waist import PLACE
from oneoff.errors import Defect, OutputError, UnreachableGuarantee
from oneoff.larger.fitting import Fitting, answers_and_fitting
from oneoff.larger.header import Header
from oneoff.models import Counts, Model, Prior
from oneoff.models.adversary import Adversary
from oneoff.randomness import secret_generator
from oneoff.releases import Published
from oneoff.releases.description import describe
from oneoff.releases.estimate import Estimate
from oneoff.releases.parts import NUMBERED, part_name
from oneoff.table import Table
from oneoff.table.arrays import Floats, Ints
from oneoff.utility import Utility
from oneoff.utility.expected import answers_to_expect
from oneoff.utility.loss import blurred
from oneoff.utility.shape import counted_rows
from oneoff.utility.workload import Workload

__all__ = ["Order", "Part", "Work"]


@dataclass(frozen=True, eq=False)
class Order:
    """What to do with every block.

    against   who the method says it stands against
    options   of the method, and of the release
    first     [block]: people in those before; numbers of its groups begin there
    queries   the test counts that every block is asked
    """

    header: Header
    model: Model
    method: str
    against: Adversary
    options: Mapping[str, Any]
    first: Ints
    queries: Workload


@dataclass(frozen=True, eq=False)
class Part:
    """What came of a block; files by the name that they will have: where they are now, and their hash.

    shown     rows that show each sensitive value, or what noisy counts of it add up to
    answers   [4, query]: see `answers_of_part`
    fitting   what these wait for, until it is known of all blocks
    expected  what it says to the questions that the guide of a recipient is made of
    counted   see `counted_rows`
    """

    block: int
    rows: int
    described: Mapping[str, Any]
    files: Mapping[str, tuple[str, str]]
    columns: Mapping[str, tuple[str, ...]]
    private: Mapping[str, tuple[str, str]]
    shown: Ints
    verdict: Verdict
    utility: Utility
    answers: Floats
    fitting: Fitting | None
    expected: tuple[Estimate, ...]
    counted: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class Work:
    """Anonymizes a block and writes its files aside, under names that no other call takes.

    key      a secret: what is drawn in a block is a function of it and of the number of the block, so that a call which
             is made twice draws the same twice
    folder   where the files go
    """

    order: Order
    key: bytes
    folder: str

    def __call__(self, block: int, rows: pa.Table) -> Part:
        rows = _in_order_of_content(rows, self.order.header)
        table = self.order.header.table_of(rows)
        if METHODS[self.order.method].form in ("generalized", "bucketized"):
            _refuse_block(table, self.order.model)
        rng = secret_generator(self._key("block", block))
        release = self._release(table, rng, block)
        verdict = audit(release, table)
        if verdict.problems:
            raise Defect(f"{self.order.method} made a block that does not fit the table: {verdict.problems[0]}")
        files, columns = self._written(release, block)
        header, queries = self.order.header, self.order.queries
        answers, fitting = answers_and_fitting(release, table, queries, header.margins[: len(header.quasi)], block)
        return Part(
            block=block,
            rows=table.rows,
            described=describe(release),
            files=files,
            columns=columns,
            private=self._private(release, rows, block),
            shown=release.shown_counts(),
            verdict=verdict.without_people(),
            utility=blurred(release, table),
            answers=answers,
            fitting=fitting,
            expected=answers_to_expect(release),
            counted=counted_rows(release, table),
        )

    def _key(self, purpose: str, number: int) -> bytes:
        return hashlib.sha256(self.key + f"{purpose} {number}".encode()).digest()

    def _release(self, table: Table, rng: np.random.Generator, block: int) -> Published:
        order, method = self.order, METHODS[self.order.method]
        seeded = {"seeded": True} if "seeded" in signature(method.run).parameters else {}
        plan = method.run(table, order.model, **method.for_plan(order.options), **seeded, rng=rng)
        made, shown = RELEASES[method.form, type(plan).__name__], method.for_release(order.options)
        if "keyed" in signature(made).parameters:
            shown["keyed"] = self._key("noise", 0), int(order.first[block])
        elif "seeded" in signature(made).parameters:
            shown["seeded"] = True
        release: Published = made(table, plan, order.model, method=method.name, against=order.against, rng=rng, **shown)
        return release

    def _written(self, release: Published, block: int) -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, ...]]]:
        files, columns = {}, {}
        for name, frames in release.in_stretches().items():
            own = part_name(name, block)
            frames = (_numbered(frame, tuple(NUMBERED.get(name, {})), int(self.order.first[block])) for frame in frames)
            path, digest, columns[name] = self._write(own, frames)
            files[own] = path, digest
        return files, columns

    def _write(self, name: str, frames: Any) -> tuple[str, str, tuple[str, ...]]:
        path = Path(self.folder) / f"{secrets.token_hex(8)}-{name}"
        writer = None
        with _whole_or_gone(path), path.open("xb") as file:
            path.chmod(0o600)
            for frame in frames:
                writer = writer or pq.ParquetWriter(file, frame.schema, compression="zstd")
                writer.write_table(frame)
            assert writer is not None
            writer.close()
        with path.open("rb") as file:
            return str(path), hashlib.file_digest(file, "sha256").hexdigest(), tuple(writer.schema.names)

    def _private(self, release: Published, rows: pa.Table, block: int) -> dict[str, tuple[str, str]]:
        """Which record is whose, with the file and the row of every person, where the engine knows them; and how the
        part came about."""
        files = release.private_files()
        if release.links is not None:
            columns = {"file": rows[PLACE[0]], "row": rows[PLACE[1]], "record": pa.array(release.links)}
            files = {**files, "links.parquet": pa.table(columns)}
        return {own: self._write(own, [files[name]])[:2] for name in files for own in (part_name(name, block),)}


@contextmanager
def _whole_or_gone(path: Path) -> Iterator[None]:
    """A file that cannot be written to its end is removed, and the disk named."""
    try:
        yield
    except OSError as error:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise OutputError(
            f"a part of the release cannot be written to {str(path.parent)!r}",
            allowed="a folder that every worker can write to, with room for the release",
            got=error.strerror or str(error),
            hint="make room, and go on with --resume; nothing was published",
        ) from None


def _refuse_block(table: Table, model: Model) -> None:
    """A block that breaks the promise as one group breaks it in any groups. Values do not decide where blocks lie, so
    none is joined with another for their sake."""
    own = np.bincount(table.values, minlength=len(table.counts))
    if not model.holds(Counts.of(own), Prior.of(table.counts)):
        raise UnreachableGuarantee(
            f"a block of {table.rows:,} people cannot keep {model.spec()} by itself",
            allowed="blocks that each keep the promise, by the shares of values in the whole table",
            got="people who look alike and have some values far more often than others do",
            hint="larger blocks (--memory-per-worker 2g), a weaker promise, or tallies, which makes no groups",
        )


def _in_order_of_content(rows: pa.Table, header: Header) -> pa.Table:
    """Rows in an order that depends on nothing but what is in them, however they came."""
    sizes = [attribute.size + 1 for attribute in header.attributes]
    words: list[Ints] = []
    room = 0
    for name, size in zip(header.names, sizes, strict=True):
        code, bits = np.asarray(rows[name]).astype(np.int64) + 1, int(size).bit_length()
        if not words or room < bits:
            words.append(code)
            room = 63 - bits
        else:
            words[-1] = words[-1] << bits | code
            room -= bits
    return rows.take(pa.array(np.lexsort(words[::-1])))


def _numbered(frame: pa.Table, columns: Sequence[str], first: int) -> pa.Table:
    """With numbers of groups that no other block has."""
    for name in columns:
        if name in frame.column_names:
            place = frame.column_names.index(name)
            frame = frame.set_column(place, name, pc.add(frame[name].cast(pa.int64()), first))
    return frame
