"""What runs on executors: Arrow batches in, Arrow batches out, and nothing of Spark but the number of the task.

Rows travel between tasks as Arrow messages, thousands of rows in one binary value, so that Spark moves and keeps them
without looking into them: turning every value into one of Spark's and back would cost more than the work itself.
Of the small things that a task has to say, its answer goes to the driver (`job`).

What goes wrong for good (a file that cannot be read, a promise that cannot be kept, a mistake of ours) is an answer,
too: Spark would try it again, with the same end. What may go well elsewhere (a full disk) is left to Spark to try.
"""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from oneoff.engines.waist import Route
from oneoff.engines.worker import portable
from oneoff.errors import OutputError, UnreadableFile
from oneoff.table.arrays import Ints, offsets
from oneoff.table.files import Files

__all__ = ["KEPT", "SPLIT", "Blocks", "Counts", "FileReader", "Kept", "KeptReader", "Made", "Reader", "Sizes", "Split"]

Batches = Iterable[pa.RecordBatch]
KEPT = "rows long, content binary"  # columns of a frame of messages; what went wrong has -1 rows
SPLIT = "slot int, rows long, content binary"
_CHUNK = 1 << 20  # rows that are sorted by block at a time
_MESSAGE = 1 << 17  # rows of a message at most
_TOGETHER = 16 << 20  # bytes of messages that are handed to Spark at a time


class Reader(Protocol):
    """Makes batches of the waist of what Spark hands over.

    schema  of what it makes, without place
    sent    columns that Spark is to send
    """

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def sent(self) -> tuple[str, ...]: ...
    def select(self, columns: Sequence[str]) -> Reader: ...
    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class FileReader:
    """Reads files that all executors see; what Spark sends are numbers of stretches."""

    files: Files
    sent = ("id",)

    @property
    def schema(self) -> pa.Schema:
        return self.files.schema

    def select(self, columns: Sequence[str]) -> FileReader:
        return replace(self, files=self.files.select(columns))

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                yield from self.files.batches(self.files.stretches[number])


@dataclass(frozen=True)
class KeptReader:
    """Reads messages; `whole` is their schema, of which `schema` is wanted."""

    whole: pa.Schema
    schema: pa.Schema
    sent = ("rows", "content")

    def select(self, columns: Sequence[str]) -> KeptReader:
        return replace(self, schema=pa.schema([self.whole.field(name) for name in columns]))

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for _, batch in _messages(batches, self.whole):
            yield batch.select(self.schema.names)


def _messages(batches: Batches, schema: pa.Schema) -> Iterator[tuple[dict[str, Any], pa.RecordBatch]]:
    """The rows in each message, after what stands beside it; what went wrong is raised here."""
    for batch in batches:
        beside = batch.select([name for name in batch.schema.names if name != "content"]).to_pylist()
        for known, content in zip(beside, batch["content"], strict=True):
            if known["rows"] < 0:
                raise pickle.loads(content.as_py())
            yield known, pa.ipc.read_record_batch(content.as_buffer(), schema)


def _message(batch: pa.RecordBatch) -> bytes:
    return batch.serialize().to_pybytes()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Counts:
    """What `count` makes of all batches of a task."""

    read: Reader
    count: Callable[[pa.RecordBatch], Any]
    merge: Callable[[Any, Any], Any]

    def __call__(self, batches: Batches) -> Any:
        state = None
        for batch in self.read(batches):
            if batch.num_rows:
                found = self.count(batch)
                state = found if state is None else self.merge(state, found)
        return state


@dataclass(frozen=True)
class Sizes:
    """How many rows of a batch go to each block."""

    route: Route

    def __call__(self, batch: pa.RecordBatch) -> Ints:
        block = np.asarray(self.route(batch), dtype=np.int64)
        return np.bincount(block[block >= 0])

    @staticmethod
    def added(one: Ints, other: Ints) -> Ints:
        longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
        longer[: len(shorter)] += shorter
        return longer


@dataclass(frozen=True)
class Made:
    """What `function` makes of every batch, as messages."""

    read: Reader
    function: Callable[[pa.RecordBatch], pa.RecordBatch]
    tries: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle()
        names = ["rows", "content"]
        try:
            for batch in self.read(batches):
                for first in range(0, batch.num_rows, _MESSAGE):
                    made = self.function(batch.slice(first, _MESSAGE))
                    if made.num_rows:
                        yield pa.record_batch([pa.array([made.num_rows]), pa.array([_message(made)])], names)
        except Exception as error:
            yield pa.record_batch([pa.array([-1]), pa.array([_final(error, self.tries)])], names)


@dataclass(frozen=True)
class Kept:
    """How many rows a task has made; reads their number only."""

    def __call__(self, batches: Batches) -> int:
        rows = 0
        for batch in batches:
            for made, wrong in zip(batch["rows"].to_pylist(), batch["wrong"].to_pylist(), strict=True):
                if made < 0:
                    raise pickle.loads(wrong)
                rows += made
        return rows


@dataclass(frozen=True)
class Split:
    """Rows by the slot of their block; a slot is a task that will have all of them."""

    read: Reader
    route: Route
    slot: Ints
    tries: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle()
        names = ["slot", "rows", "content"]
        try:
            for chunk in _chunks(self.read(batches)):
                yield from _together(self._parts(chunk), names)
        except Exception as error:
            slot = pa.array([0], pa.int32())
            yield pa.record_batch([slot, pa.array([-1]), pa.array([_final(error, self.tries)])], names)

    def _parts(self, chunk: list[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
        block = np.concatenate([np.asarray(self.route(batch), dtype=np.int64) for batch in chunk])
        slot = np.append(self.slot, -1)[block]
        order = np.argsort(slot, kind="stable")
        order = order[np.searchsorted(slot[order], 0) :]
        if not len(order):
            return
        start = offsets(np.bincount(slot[order]))
        (rows,) = pa.Table.from_batches(chunk).take(pa.array(order)).combine_chunks().to_batches()
        for number in np.flatnonzero(np.diff(start)).tolist():
            yield number, rows.slice(start[number], start[number + 1] - start[number])


def _chunks(batches: Batches) -> Iterator[list[pa.RecordBatch]]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _CHUNK:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _together(parts: Iterable[tuple[int, pa.RecordBatch]], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Messages side by side, as many as make a batch worth handing over."""
    waiting: list[tuple[int, int, bytes]] = []
    for slot, rows in parts:
        for first in range(0, rows.num_rows, _MESSAGE):
            part = rows.slice(first, _MESSAGE)
            waiting.append((slot, part.num_rows, _message(part)))
        if sum(len(each[2]) for each in waiting) >= _TOGETHER:
            yield _columns(waiting, names)
            waiting = []
    if waiting:
        yield _columns(waiting, names)


def _columns(rows: Sequence[tuple[int, int, bytes]], names: Sequence[str]) -> pa.RecordBatch:
    slot, many, content = zip(*rows, strict=True)
    return pa.record_batch([pa.array(slot, pa.int32()), pa.array(many), pa.array(content, pa.binary())], list(names))


@dataclass(frozen=True)
class Blocks:
    """What `run` makes of the blocks whose rows a task has: one, unless Spark divides otherwise.

    block   of every slot; rows: how many it had when they were counted
    """

    schema: pa.Schema
    block: Ints
    rows: Ints
    run: Callable[[int, pa.Table], Any]

    def __call__(self, batches: Batches) -> list[tuple[int, Any]]:
        parts: dict[int, list[pa.RecordBatch]] = {}
        for known, rows in _messages(batches, self.schema):
            parts.setdefault(known["slot"], []).append(rows)
        return [(int(self.block[slot]), self._made(slot, parts.pop(slot))) for slot in sorted(parts)]

    def _made(self, slot: int, parts: list[pa.RecordBatch]) -> Any:
        whole = pa.Table.from_batches(parts).combine_chunks()
        parts.clear()
        if whole.num_rows != self.rows[slot]:
            raise UnreadableFile(
                "the table has changed while it was read: a block has other rows than were counted",
                allowed="a table that stays as it is, and a query that gives the same rows whenever it is asked",
                got=f"{whole.num_rows:,} rows, and {int(self.rows[slot]):,} when they were counted",
                hint="write it to files first, and publish those",
            )
        return self.run(int(self.block[slot]), whole)


# --- answers

_modules = 0


def settle() -> None:
    """Spark's Python looks for garbage after every task; among all that was imported this takes longer than most of our
    tasks. It stays anyway, so the collector need not see it."""
    global _modules
    if len(sys.modules) != _modules:
        gc.freeze()
        _modules = len(sys.modules)


def answer(work: Callable[[Batches], Any], batches: Batches, tries: int) -> bytes:
    """(True, what came of it) or (False, what went wrong for good)."""
    settle()
    try:
        return pickle.dumps((True, work(batches)), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return pickle.dumps((False, pickle.loads(_final(error, tries))))


def _final(error: Exception, tries: int) -> bytes:
    """What went wrong, for the driver; raised instead where another attempt may go well."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    if _may_pass(error) and context.attemptNumber() + 1 < tries:
        raise error
    return pickle.dumps(portable(error))


def _may_pass(error: Exception) -> bool:
    """Full disks, memory that is short: another executor may have what this one lacks."""
    return isinstance(error, (OSError, MemoryError, OutputError))


def partition() -> npt.NDArray[np.int32]:
    """The number of the task."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    return np.array([context.partitionId()], dtype=np.int32)
