"""One job of Spark, and the answers of its tasks as they come.

`collect` would give them when all are done, and a driver that is killed then has nothing to go on with. So each task
adds its answer to an accumulator: Spark sends it along with the end of the task, once, however often the task was
tried or run beside itself, and never writes it to a log, for the accumulator has no name. That every task of the job
has answered is checked at the end.
"""

from __future__ import annotations

import pickle
import queue
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession

from oneoff.engines.spark.failures import said
from oneoff.errors import Defect

__all__ = ["answers", "mapped"]


class Letters(list[Any]):
    """What tasks have sent: a list on executors, a queue here."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def extend(self, letters: Any) -> None:
        for letter in letters:
            self.queue.put(letter)


class Post(AccumulatorParam[Any]):
    def zero(self, value: Any) -> Any:
        return []

    def addInPlace(self, value1: Any, value2: Any) -> Any:  # noqa: N802 - Spark's name
        value1.extend(value2)
        return value1


def mapped(frame: DataFrame, work: Callable[[Any], Iterator[pa.RecordBatch]], schema: str) -> DataFrame:
    """What `work` makes of the batches of each partition."""

    def rows(batches: Any) -> Iterator[pa.RecordBatch]:  # Spark wants a function, with a name
        return work(batches)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about releases of pandas, which is not used here
        return frame.mapInArrow(rows, schema)


def answers(frame: DataFrame, work: Callable[[Any], Any], tries: int, batch: int) -> Iterator[Any]:
    """What `work` makes of each partition, one after the other as they are done; `batch` rows are sent at a time."""
    spark = frame.sparkSession
    context = spark.sparkContext
    letters = Letters()
    post = context.accumulator(letters, Post())

    def task(batches: Any) -> Iterator[Any]:
        from oneoff.engines.spark.task import answer, partition

        number = partition()
        post.add([(int(number[0]), answer(work, batches, tries))])
        yield pa.record_batch([pa.array(number)], ["partition"])

    made = mapped(frame, task, "partition int")
    group = f"oneoff {uuid.uuid4()}"

    def act() -> None:
        context.setJobGroup(group, "oneoff")
        try:
            found: Any = {row[0] for row in made.collect()}
        except Exception as error:
            found = error
        letters.queue.put((None, found))

    with _batches_of(spark, batch):
        thread = InheritableThread(target=act, daemon=True)
        thread.start()
        try:
            yield from _read(letters.queue)
        finally:
            if thread.is_alive():
                thread.join(0.05)
            if thread.is_alive():
                context.cancelJobGroup(group)
                thread.join()


def _read(letters: queue.SimpleQueue[Any]) -> Iterator[Any]:
    seen = set()
    while True:
        number, content = letters.get()
        if number is None:
            break
        fine, result = pickle.loads(content)
        if not fine:
            raise result
        seen.add(number)
        yield result
    if isinstance(content, Exception):
        raise said(content) from None
    if seen != content:
        raise Defect("a task of Spark has ended without an answer")


@contextmanager
def _batches_of(spark: SparkSession, rows: int) -> Iterator[None]:
    """Arrow batches of so many rows between Spark and Python, while a job is planned and runs."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = str(spark.conf.get(name))
    spark.conf.set(name, rows)
    try:
        yield
    finally:
        spark.conf.set(name, before)
