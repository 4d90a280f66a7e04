"""A frame of Spark: rows of its own, and how workers make batches of the waist of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from oneoff.engines.spark.task import Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["MESSAGES", "ROWS", "STRETCHES", "Sheet"]

ROWS = 1 << 15  # of a table that Spark reads, sent to Python at a time
MESSAGES = 8  # the same of messages, which have many rows each
STRETCHES = 1  # the same of numbers of stretches


@dataclass(frozen=True, eq=False)
class Sheet:
    """A frame: rows of Spark's, and how workers make batches of them.

    batch   rows of Spark's that are sent at a time
    parts   how many there are, where that is known
    check   is called after every pass
    """

    rows: DataFrame
    read: Reader
    batch: int
    parts: int | None = None
    files: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    is_text: bool = False
    check: Callable[[], None] = lambda: None

    @property
    def schema(self) -> pa.Schema:
        return self.read.schema

    @property
    def sent(self) -> DataFrame:
        from pyspark.sql import functions

        return self.rows.select(*(functions.col(f"`{name.replace('`', '``')}`") for name in self.read.sent))

    def select(self, columns: Sequence[str]) -> Sheet:
        return replace(self, read=self.read.select(columns))
