"""Spark: a table on one machine, on a cluster or in its memory, as Spark's own configuration says.

Files that all executors see by their path are read by the same readers as on one machine (`table.files`), what only
Spark can reach (object stores, a DataFrame) by Spark (`source`). Work is done by Python on Arrow batches (`task`), and
what tasks say comes back as they end (`job`). What is kept between passes lies in Spark's own scratch folders; a part
that is lost with its executor is made again from the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from oneoff.engines.spark import task
from oneoff.engines.spark.session import session, tries_of
from oneoff.engines.spark.sheet import MESSAGES, STRETCHES, Sheet
from oneoff.engines.waist import Report, Route, TextFormat, Workers
from oneoff.table.files import open_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Spark", "start"]

S = TypeVar("S")
R = TypeVar("R")
_TASK_ROWS = 1 << 20  # rows of files that make a task


def start(workers: Workers) -> Spark:
    return Spark(workers)


class Spark:
    """An `Engine` of Spark."""

    name = "spark"

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._ends = ExitStack()
        self._spark: SparkSession
        self._tries = 1

    def __enter__(self) -> Spark:
        self._spark = self._ends.enter_context(session(self._workers))
        self._tries = tries_of(self._spark)
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.close()

    def open(self, source: Any, reading: TextFormat) -> Sheet:
        from oneoff.engines.spark.source import of_frame, of_url, only_spark_reads

        if hasattr(source, "mapInArrow"):
            return of_frame(source, reading)
        if only_spark_reads(source):
            return of_url(self._spark, str(source), reading)
        files = open_files(source, reading)
        many = len(files.stretches)
        rows = sum(part.rows or _TASK_ROWS for part in files.stretches)
        parts = min(many, max(rows // _TASK_ROWS, 2 * self._spark.sparkContext.defaultParallelism))
        numbers = self._spark.range(0, many, 1, max(1, parts))
        reader = task.FileReader(replace(files, files=tuple(str(Path(name).absolute()) for name in files.files)))
        return Sheet(numbers, reader, STRETCHES, max(1, parts), files.files, files.notices, files.is_text)

    def select(self, frame: Sheet, columns: Sequence[str]) -> Sheet:
        return frame.select(columns)

    def reduce(
        self, frame: Sheet, count: Callable[[pa.RecordBatch], S], merge: Callable[[S, S], S],
        report: Report | None = None,
    ) -> S | None:  # fmt: skip
        whole: S | None = None
        for state in self._answers(frame.sent, task.Counts(frame.read, count, merge), frame, report):
            if state is not None:
                whole = state if whole is None else merge(whole, state)
        frame.check()
        return whole

    def map(
        self, frame: Sheet, function: Callable[[pa.RecordBatch], pa.RecordBatch], schema: pa.Schema,
        report: Report | None = None,
    ) -> Sheet:  # fmt: skip
        from pyspark import StorageLevel
        from pyspark.sql import functions

        from oneoff.engines.spark.job import mapped

        made = mapped(frame.sent, task.Made(frame.read, function, self._tries), task.KEPT)
        made = made.persist(StorageLevel.DISK_ONLY)
        self._ends.callback(_forget, made)
        wrong = functions.when(made["rows"] < 0, made["content"]).alias("wrong")
        for _ in self._answers(made.select("rows", wrong), task.Kept(), frame, report):
            pass
        frame.check()
        return Sheet(made, task.KeptReader(schema, schema), MESSAGES, frame.parts, frame.files, frame.notices)

    def blocks(
        self, frame: Sheet, route: Route, run: Callable[[int, pa.Table], R], report: Report | None = None,
        wanted: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, R]]:  # fmt: skip
        from oneoff.engines.spark.job import mapped

        sizes = self.reduce(frame, task.Sizes(route), task.Sizes.added)
        if sizes is None:
            return
        if wanted is not None:
            sizes[np.setdiff1d(np.arange(len(sizes)), np.asarray(wanted, dtype=np.int64))] = 0
        numbers = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]  # the largest first
        if not len(numbers):
            return
        slot = np.full(len(sizes), -1, dtype=np.int64)
        slot[numbers] = np.arange(len(numbers))
        split = mapped(frame.sent, task.Split(frame.read, route, slot, self._tries), task.SPLIT)
        rows = split.repartitionById(len(numbers), "slot")
        work = task.Blocks(frame.schema, numbers, sizes[numbers], run)
        for some in self._answers(rows, work, replace(frame, parts=len(numbers)), report):
            yield from some

    def _answers(
        self, rows: DataFrame, work: Callable[[Iterable[pa.RecordBatch]], Any], frame: Sheet, report: Report | None
    ) -> Iterator[Any]:
        from oneoff.engines.spark.job import answers

        for done, result in enumerate(answers(rows, work, self._tries, frame.batch), start=1):
            if report is not None and frame.parts is not None:
                report(min(1.0, done / frame.parts))
            yield result


def _forget(frame: DataFrame) -> None:
    """Let go of what was kept; where Java is gone, so is that."""
    with suppress(Exception):
        frame.unpersist()
