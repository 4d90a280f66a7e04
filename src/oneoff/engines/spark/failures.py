"""What Spark says when a job fails, as an error of ours: one sentence instead of a stack of Java."""

from __future__ import annotations

import re

from oneoff.engines.pool import WorkerLost
from oneoff.errors import MissingPackage, OneoffError, OutputError, UnreadableFile
from oneoff.table.databases import without_credentials

__all__ = ["SparkFailed", "said", "said_of"]


class SparkFailed(OneoffError):
    """Spark could not do a job, for a reason of its own."""

    code = "spark"


_FILE = re.compile(r"(?:file|s3a?|hdfs|abfss?|gs|wasbs?):/[^\s,'\"\]]+")
_CLASS = re.compile(r"^(?:[a-z]\w*\.)+\w+: ")  # of Java
_UNREADABLE = (
    "FAILED_READ_FILE", "CANNOT_READ_FILE", "MALFORMED_CSV", "MALFORMED_RECORD", "FileNotFoundException",
    "is not a Parquet file", "ParquetDecodingException",
)  # fmt: skip
_LOST = (
    "Python worker exited unexpectedly", "ExecutorLostFailure", "Python worker failed to connect back", "PYTHON_WORKER",
)  # fmt: skip
_MODULE = re.compile(r"No module named '([^']+)'")
_RAISED = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(\S.*)$", re.MULTILINE)  # by Python
_STORES = (
    "Spark needs the package of this kind of store: for s3a:// (which Amazon calls s3://) "
    "--conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION, in the version of Spark's own Hadoop"
)
_OTHER_PYTHON = "PYTHON_VERSION_MISMATCH"
_FULL = ("No space left on device", "File too large", "Disk quota exceeded", "Read-only file system")


def said(error: BaseException) -> OneoffError:
    """The error of a job, in our words."""
    text = str(error)
    if any(mark in text for mark in _FULL):
        return _full(text)
    if any(mark in text for mark in _UNREADABLE):
        return _unreadable(text)
    if _MODULE.search(text) or _OTHER_PYTHON in text:
        return _unlike(text)
    if any(mark in text for mark in _LOST):
        return WorkerLost(
            "executors died again and again at the same work",
            allowed="executors that live as long as their work",
            got=_line(text),
            hint="if memory ran short, a lower --memory-per-worker makes smaller blocks; "
            "spark.executor.memoryOverhead is where Python's memory comes from",
        )
    return SparkFailed(
        "Spark could not do its work",
        allowed="a cluster that runs the job to its end",
        got=_line(text),
        hint="the logs of its driver and executors say more",
    )


def said_of(url: str, error: BaseException) -> OneoffError:
    """Why Spark cannot list what an address stands for."""
    text = str(error)
    stranger = "UnsupportedFileSystemException" in text or "ClassNotFoundException" in text
    return UnreadableFile(
        f"Spark cannot look into {without_credentials(url)!r}",
        allowed="a folder, pattern or file that this session of Spark may list",
        got=without_credentials(_line(text)),
        hint=_STORES if stranger else "check the address, and how Spark signs in there",
    )


def _unlike(text: str) -> OneoffError:
    module = _MODULE.search(text)
    what = f"does not have {module[1].partition('.')[0]}" if module else "is another version"
    return MissingPackage(
        f"the Python that Spark starts for its workers {what}",
        allowed="a Python like the one that began the run, with oneoff and all it needs",
        got=_line(text),
        hint="set PYSPARK_PYTHON (or spark.pyspark.python) to it before the session of Spark begins; by default "
        "a session takes python3 of the PATH",
    )


def _full(text: str) -> OneoffError:
    return OutputError(
        "a disk that Spark or a block writes to has no room, or cannot be written to",
        allowed="room for about as much as the columns that are published take as numbers, twice",
        got=next(mark for mark in _FULL if mark in text),
        hint="spark.local.dir names other folders for what lies between passes; nothing was published",
    )


def _unreadable(text: str) -> OneoffError:
    named = _FILE.search(text)
    return UnreadableFile(
        f"{named[0].rstrip('.') if named else 'a file'!r} cannot be read",
        allowed="whole Parquet or text files, with the columns that they had when the run began",
        got=_line(text),
        hint="check that it was copied completely, or leave it out; nothing was published",
    )


def _line(text: str) -> str:
    """The line that says what happened."""
    raised = _RAISED.findall(text)
    if raised:
        return str(raised[-1].strip()[:300])
    lines = [line.strip().removeprefix(": ") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "An error occurred while calling"))]
    caused = [line.partition(": ")[2] for line in lines if line.startswith("Caused by")]
    return _CLASS.sub("", (caused or lines or ["nothing was said"])[-1 if caused else 0])[:300]
