"""Worker processes of one machine, over files: bounded memory, no other software.

What is kept between passes lies in a folder of scratch files (Arrow, mapped into memory when read): coded rows, and the
same rows sorted by block. It is as private as the table, readable for its owner only, and gone at the end.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from oneoff.engines.pool import Pool
from oneoff.engines.scratch import new_scratch, scratch_errors
from oneoff.engines.waist import Report, Route, TextFormat, Workers
from oneoff.table.arrays import Ints, offsets
from oneoff.table.files import Files, open_files

__all__ = ["Local", "start"]

S = TypeVar("S")
R = TypeVar("R")
_CALLS = 4  # for each worker, where what comes of them is merged here
_SORTED = 1 << 20  # rows that are sorted by block at a time


def start(workers: Workers) -> Local:
    return Local(workers)


@dataclass(frozen=True)
class Kept:
    """A frame in scratch files, one for each call that made a part of it."""

    paths: tuple[str, ...]
    schema: pa.Schema
    files: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    is_text: bool = False

    @property
    def stretches(self) -> tuple[str, ...]:
        return self.paths

    def batches(self, path: str) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
            for i in range(file.num_record_batches):
                yield file.get_batch(i).select(self.schema.names)

    def select(self, columns: Sequence[str]) -> Kept:
        return replace(self, schema=pa.schema([self.schema.field(name) for name in columns]))


@dataclass(frozen=True, eq=False)
class Sorted:
    """A batch of a scratch file whose rows are sorted by block; those of block b are start[b] .. start[b + 1]."""

    path: str
    batch: int
    start: Ints


class Local:
    """An `Engine` of worker processes."""

    name = "local"

    def __init__(self, workers: Workers) -> None:
        self._pool = Pool(workers.number or os.cpu_count() or 1)
        self._given = workers.scratch
        self._scratch = Path()
        self._frames = 0

    def __enter__(self) -> Local:
        self._scratch = new_scratch(self._given)
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def open(self, source: Any, reading: TextFormat) -> Files:
        return open_files(source, reading)

    def select(self, frame: Files | Kept, columns: Sequence[str]) -> Files | Kept:
        return frame.select(columns)

    def reduce(
        self, frame: Files | Kept, count: Callable[[pa.RecordBatch], S], merge: Callable[[S, S], S],
        report: Report | None = None,
    ) -> S | None:  # fmt: skip
        many = _CALLS * self._pool.number  # each has a result that comes here
        calls = [(frame, frame.stretches[i::many], count, merge) for i in range(min(many, len(frame.stretches)))]
        whole: S | None = None
        for _, state in self._each(_reduced, calls, report):
            if state is not None:
                whole = state if whole is None else merge(whole, state)
        return whole

    def map(
        self, frame: Files | Kept, function: Callable[[pa.RecordBatch], pa.RecordBatch], schema: pa.Schema,
        report: Report | None = None,
    ) -> Kept:  # fmt: skip
        folder = self._new_folder()
        calls = [
            (frame, stretch, function, schema, str(folder / f"{i:06}.arrow"))
            for i, stretch in enumerate(frame.stretches)
        ]
        paths = [calls[number][-1] for number, rows in self._each(_mapped, calls, report) if rows]
        return Kept(tuple(sorted(paths)), schema, frame.files, frame.notices)

    def blocks(
        self, frame: Files | Kept, route: Route, run: Callable[[int, pa.Table], R], report: Report | None = None,
        wanted: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, R]]:  # fmt: skip
        folder = self._new_folder()
        calls = [(frame, stretch, route, str(folder / f"{i:06}.arrow")) for i, stretch in enumerate(frame.stretches)]
        half: Report | None = None if report is None else lambda share: report(share * 0.1)
        made = dict(self._each(_sorted, calls, half))
        chunks = [chunk for number in sorted(made) for chunk in made[number]]
        many = max((len(chunk.start) - 1 for chunk in chunks), default=0)
        sizes = np.zeros(many, dtype=np.int64)
        for chunk in chunks:
            sizes[: len(chunk.start) - 1] += np.diff(chunk.start)
        numbers = [b for b in np.flatnonzero(sizes).tolist() if wanted is None or b in set(wanted)]
        numbers.sort(key=lambda b: -int(sizes[b]))  # the largest first, so that none is left alone at the end
        work = [(b, _places(chunks, b), run) for b in numbers]
        rest: Report | None = None if report is None else lambda share: report(0.1 + share * 0.9)
        for number, result in self._each(_block, work, rest):
            yield numbers[number], result
        shutil.rmtree(folder, ignore_errors=True)

    def _each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], report: Report | None
    ) -> Iterator[tuple[int, Any]]:
        for done, result in enumerate(self._pool.run(function, calls), start=1):
            if report is not None:
                report(done / len(calls))
            yield result

    def _new_folder(self) -> Path:
        self._frames += 1
        folder = self._scratch / f"frame-{self._frames:03}"
        with scratch_errors(folder):
            folder.mkdir(mode=0o700)
        return folder


# --- what workers do


def _reduced(
    frame: Files | Kept, stretches: Sequence[Any], count: Callable[[pa.RecordBatch], S], merge: Any
) -> S | None:
    state: S | None = None
    for batch in (batch for stretch in stretches for batch in frame.batches(stretch)):
        if batch.num_rows:
            found = count(batch)
            state = found if state is None else merge(state, found)
    return state


def _mapped(frame: Files | Kept, stretch: Any, function: Any, schema: pa.Schema, path: str) -> int:
    rows = 0
    with scratch_errors(Path(path).parent), pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, schema) as file:
        for batch in frame.batches(stretch):
            made = function(batch)
            rows += made.num_rows
            if made.num_rows:
                file.write_batch(made)
    if not rows:
        Path(path).unlink()
    return rows


def _sorted(frame: Files | Kept, stretch: Any, route: Route, path: str) -> list[Sorted]:
    """Rows of a stretch in the order of their blocks, some batches at a time."""
    found: list[Sorted] = []
    waiting: list[pa.RecordBatch] = []
    schema = frame.schema if isinstance(frame, Kept) else None
    assert schema is not None, "blocks are made of mapped frames"
    with scratch_errors(Path(path).parent), pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, schema) as file:

        def write() -> None:
            whole = pa.Table.from_batches(waiting).combine_chunks()
            block = np.concatenate([np.asarray(route(batch), dtype=np.int64) for batch in waiting])
            order = np.argsort(block, kind="stable")
            order = order[np.searchsorted(block[order], 0) :]
            start = offsets(np.bincount(block[order])) if len(order) else np.zeros(1, dtype=np.int64)
            file.write_table(whole.take(pa.array(order)), max_chunksize=max(1, len(order)))
            if len(order):
                found.append(Sorted(path, len(found), start))
            waiting.clear()

        for batch in frame.batches(stretch):
            waiting.append(batch)
            if sum(each.num_rows for each in waiting) >= _SORTED:
                write()
        if waiting:
            write()
    return found


def _places(chunks: Sequence[Sorted], block: int) -> list[tuple[str, int, int, int]]:
    """File, batch, first row and rows of all stretches of a block."""
    found = []
    for chunk in chunks:
        if block + 1 < len(chunk.start) and chunk.start[block + 1] > chunk.start[block]:
            first, last = int(chunk.start[block]), int(chunk.start[block + 1])
            found.append((chunk.path, chunk.batch, first, last - first))
    return found


def _block(block: int, places: list[tuple[str, int, int, int]], run: Callable[[int, pa.Table], R]) -> R:
    return run(block, _rows_at(places))


def _rows_at(places: list[tuple[str, int, int, int]]) -> pa.Table:
    """Copied out of the scratch files one after the other: whatever is mapped counts as memory of this process, and of
    many files together that is many times what a block takes."""
    rows, writer = pa.BufferOutputStream(), None
    for path, batch, first, many in places:
        with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
            part = file.get_batch(batch).slice(first, many)
            writer = writer or pa.ipc.new_stream(rows, part.schema)
            writer.write_batch(part)
            del part
    assert writer is not None, "a block has rows"
    writer.close()
    return pa.ipc.open_stream(rows.getvalue()).read_all().combine_chunks()
