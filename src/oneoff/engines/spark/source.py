"""Tables that only Spark can read: files in object stores and Hadoop's file systems, and its own DataFrames.

Which files there are, and what columns each has, is asked of their file system by the driver, so that they are refused
by the same rules, and the same names, as files on a disk. Rows are read by Spark.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError

from oneoff.engines.spark.failures import said_of
from oneoff.engines.spark.sheet import ROWS, Sheet
from oneoff.engines.spark.task import Batches
from oneoff.engines.waist import PLACE, TextFormat
from oneoff.errors import BadValue, UnreadableFile, listing
from oneoff.table import files
from oneoff.table.arrays import Ints
from oneoff.table.textfile import header_in

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["of_frame", "of_url", "only_spark_reads"]

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:/")
_TOGETHER = 16  # files whose beginnings or ends are read at the same time
_HEAD_BYTES = 1 << 20


def only_spark_reads(source: Any) -> bool:
    """Is it a URL, such as s3a://bucket/folder?"""
    return _URL.match(str(source)) is not None


@dataclass(frozen=True, eq=False)
class SheetReader:
    """Makes batches of the waist of rows that Spark has read.

    hashes, numbers   of the names of files, by hash
    """

    schema: pa.Schema
    reading: TextFormat
    is_text: bool
    hashes: Ints
    numbers: Ints

    @property
    def sent(self) -> tuple[str, ...]:
        return (*self.schema.names, *PLACE)

    def select(self, columns: Sequence[str]) -> SheetReader:
        return replace(self, schema=pa.schema([self.schema.field(name) for name in columns]))

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [self._column(batch[name], self.schema.field(name)) for name in self.schema.names]
            file, row = self._file(np.asarray(batch[PLACE[0]])), batch[PLACE[1]]
            yield pa.record_batch([*columns, pa.array(file), row], list(self.sent))

    def _column(self, column: pa.Array, field: pa.Field) -> pa.Array:
        if self.is_text:  # a cell is never missing by itself; Spark takes empty ones for it
            column = pc.fill_null(column, "")
        return files.read_column(column, field, self.reading)

    def _file(self, hashes: Ints) -> Any:
        if not len(self.hashes):
            return np.full(len(hashes), -1, dtype=np.int32)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[place] == hashes, self.numbers[place], -1).astype(np.int32)


def of_frame(frame: DataFrame, reading: TextFormat) -> Sheet:
    """A DataFrame; where it is read from files row by row, it says which."""
    if not hasattr(frame, "_jdf"):
        raise BadValue(
            "this DataFrame is one of Spark Connect, which does not let tasks answer as they end",
            allowed="a DataFrame of a session in this process, or files",
            got=type(frame).__module__,
            hint="write it to Parquet, and publish that",
        )
    _refuse_doubled(frame.columns)
    return _sheet(frame, _schema_of(frame), reading, is_text=False)


def _refuse_doubled(names: Sequence[str]) -> None:
    doubled = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if doubled:
        raise BadValue("columns have the same name", allowed="one column of each name", got=listing(doubled))


def _schema_of(frame: DataFrame) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return pa.schema([files.common(field) for field in to_arrow_schema(frame.schema)])


def of_url(spark: SparkSession, url: str, reading: TextFormat) -> Sheet:
    """A folder, pattern or file of a file system that Spark knows."""
    found = _Listing(spark, url)
    names, stamps = found.names, found.stamps()
    if files.is_parquet(names[0]):
        schema = files.joint_schema(names, found.each(lambda name: files.footer(name, found.end(name))))
        frame = spark.read.schema(_for_spark(spark, names, schema)).parquet(*names)
        sheet = _sheet(frame, schema, reading, is_text=False)
    else:
        head = files.joint_header([n for n in names if stamps[n][0]] or names[:1], reading, found.header)
        _refuse_order(url, head)
        sheet = replace(
            _sheet(_text(spark, names, head), head.schema, head.reading, is_text=True), notices=head.notices
        )

    def check() -> None:
        _refuse_changed(stamps, _Listing(spark, url).stamps())

    return replace(sheet, check=check)


def _for_spark(spark: SparkSession, names: Sequence[str], schema: pa.Schema) -> Any:
    """The schema in Spark's words; what Arrow reads as it likes (times, decimals) as Spark does."""
    from pyspark.sql import types

    alike: dict[Any, Any] = {
        pa.int64(): types.LongType(), pa.float64(): types.DoubleType(), pa.large_string(): types.StringType(),
    }  # fmt: skip
    own: dict[str, Any] = {field.name: field.dataType for field in spark.read.parquet(names[0]).schema}
    return types.StructType([types.StructField(f.name, alike.get(f.type) or own[f.name]) for f in schema])


def _refuse_order(url: str, head: files.Head) -> None:
    if not head.in_order:
        raise UnreadableFile(
            f"text files of {url!r} have their columns in different orders",
            allowed="the same order in all files, where Spark reads them",
            got="different ones",
            hint="write them as Parquet, or name those of one order with a pattern",
        )


def _text(spark: SparkSession, names: Sequence[str], head: files.Head) -> DataFrame:
    from pyspark.sql import types

    schema = types.StructType([types.StructField(name, types.StringType()) for name in head.schema.names])
    return spark.read.schema(schema).csv(
        list(names), header=True, sep=head.reading.delimiter, quote='"', escape='"', multiLine=True,
        enforceSchema=False, mode="FAILFAST", encoding="UTF-8", maxCharsPerColumn=-1,
    )  # fmt: skip


def _refuse_changed(before: dict[str, tuple[int, int]], now: dict[str, tuple[int, int]]) -> None:
    odd = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if odd:
        raise UnreadableFile(
            f"{odd[0]!r} has changed since the run began",
            allowed="files that stay as they are while they are read",
            got="another size or time of change" if odd[0] in before and odd[0] in now else "it came or went",
            hint="begin again once nobody writes to it",
        )


# --- place


def _sheet(frame: DataFrame, schema: pa.Schema, reading: TextFormat, *, is_text: bool) -> Sheet:
    from pyspark.sql import functions

    name, row = _known(frame, "_metadata.file_path"), _known(frame, "_metadata.row_index")
    names = sorted(set(frame.inputFiles())) if name is not None else []
    spelt = [*names, *(name.replace(":///", ":/", 1) for name in names)]  # Spark writes both
    hashes, numbers = _hashes(frame.sparkSession, spelt), np.tile(np.arange(len(names)), 2)
    order = np.argsort(hashes)
    file = functions.lit(-1).cast("long") if name is None else functions.xxhash64(name)
    index = functions.lit(-1).cast("long") if row is None or not names else row
    rows = frame.select("*", file.alias(PLACE[0]), index.alias(PLACE[1]))
    reader = SheetReader(schema, reading, is_text, hashes[order], numbers[order])
    return Sheet(rows, reader, ROWS, files=tuple(map(unquote, names)), is_text=is_text)


def _known(frame: DataFrame, name: str) -> Column | None:
    """A column that Spark has for what it reads from files by itself, and for nothing else."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions

    log = logging.getLogger("DataFrameQueryContextLogger")  # would say on the terminal what is no error here
    before, log.disabled = log.disabled, True
    try:
        frame.select(name)
    except AnalysisException:
        return None
    finally:
        log.disabled = before
    return functions.col(name)


def _hashes(spark: SparkSession, names: Sequence[str]) -> Ints:
    """Of the names: rows bring along eight bytes instead of a path."""
    from pyspark.sql import functions

    if not names:
        return np.zeros(0, dtype=np.int64)
    each = functions.split(functions.lit("\n".join(names)), "\n")
    ((found,),) = spark.range(1).select(functions.transform(each, lambda name: functions.xxhash64(name))).collect()
    return np.array(found, dtype=np.int64)


# --- files of Hadoop's file systems


class _Listing:
    """The files that a URL stands for, as the driver sees them."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        jvm: Any = spark._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._conf = spark._jsc.hadoopConfiguration()
        try:
            self._system = self._path(url).getFileSystem(self._conf)
            self._found = dict(sorted(self._files(url)))
        except Py4JJavaError as error:
            raise said_of(url, error) from None
        self.names = list(self._found)
        if not self.names:
            raise UnreadableFile(
                f"no file is {url!r}",
                allowed="a folder with .parquet, .csv, .tsv or .txt files, a pattern, or a file",
                got="none",
            )
        files.refuse_kinds(url, self.names)

    def _files(self, url: str) -> Iterator[tuple[str, tuple[int, int]]]:
        for top in self._system.globStatus(self._path(url)) or ():
            root = top.getPath().toString()
            if not top.isDirectory():
                yield root, (top.getLen(), top.getModificationTime())
                continue
            inside = self._system.listFiles(top.getPath(), True)
            while inside.hasNext():
                each = inside.next()
                name = each.getPath().toString()
                if not files.is_hidden(PurePosixPath(name.removeprefix(root).lstrip("/"))) and files.is_known(name):
                    yield name, (each.getLen(), each.getModificationTime())

    def stamps(self) -> dict[str, tuple[int, int]]:
        return dict(self._found)

    def each(self, read: Any) -> list[Any]:
        with ThreadPoolExecutor(_TOGETHER) as pool:
            return list(pool.map(read, self.names))

    def end(self, name: str) -> Any:
        """A file to read at any place, which for Parquet is its end."""
        return pa.PythonFile(_Bytes(self._system.open(self._path(name)), self._found[name][0]), mode="r")

    def header(self, name: str, delimiter: str | None) -> Any:
        stream = self._system.open(self._path(name))
        try:
            return header_in(name, bytes(stream.readNBytes(_HEAD_BYTES)), delimiter)
        finally:
            stream.close()


class _Bytes(io.RawIOBase):
    """A stream of Java's as a file of Python's."""

    def __init__(self, stream: Any, size: int) -> None:
        self._stream, self._size, self._at = stream, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        self._stream.seek(self._at)
        wanted = self._size - self._at if size is None or size < 0 else min(size, self._size - self._at)
        found = bytes(self._stream.readNBytes(wanted))
        self._at += len(found)
        return found

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
