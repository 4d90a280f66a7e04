"""A session of Spark: the one that is there, or one of our own, which keeps to itself.

A session of our own listens on no port that others reach (no pages of its own; on one machine the loopback only). Its
scratch files are in a folder that nobody else can look into, or, on a cluster, enciphered. It tries what fails again,
and says nothing on the terminal. Settings that are given come before all of this.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from oneoff.engines.pool import THREADS
from oneoff.engines.scratch import scratch_errors
from oneoff.engines.spark.failures import said
from oneoff.engines.spark.shipping import ship
from oneoff.engines.waist import Workers
from oneoff.errors import BadValue, MissingPackage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["session", "tries_of"]

_LOCAL = re.compile(r"local(?:\[([^,\]]+)(?:,\s*(\d+))?\])?$")
_TRIES = 4
_HERE = "127.0.0.1"
_SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # the work is Python's: Java need not make itself quick


@contextmanager
def session(workers: Workers) -> Iterator[SparkSession]:
    """The session that is active, left as it is; or a new one, which ends with the run."""
    _refuse_missing()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about releases of pandas, which is not used here
        import_module("pyspark.testing.utils")  # would be imported at the first literal
    settings = _settings(workers)
    if SparkContext._active_spark_context is not None:
        there = SparkSession.builder.getOrCreate()
        _refuse_other(there, settings)
        with tempfile.TemporaryDirectory(prefix="oneoff-") as folder:
            ship(there, Path(folder))  # whatever Python its owner chose for workers
            yield there
        return
    with scratch_errors(Path(workers.scratch or tempfile.gettempdir())):
        if workers.scratch is not None:
            Path(workers.scratch).mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="oneoff-", dir=workers.scratch, ignore_cleanup_errors=True) as scratch:
        _start_java(settings, Path(scratch))
        made = _new({**_defaults(workers, settings, scratch), **settings})
        try:
            _ready(made, scratch)
            yield made
        finally:
            made.stop()


def _ready(spark: SparkSession, folder: str) -> None:
    """Other machines may lack the package; on this one workers run in the Python that runs this."""
    if not _LOCAL.match(str(spark.sparkContext.master)):
        ship(spark, Path(folder))


def _refuse_missing() -> None:
    if find_spec("pyspark") is None:
        raise MissingPackage(
            "the engine spark needs pyspark, which is not installed",
            allowed="pyspark 4.1 or newer",
            hint="pip install 'oneoff[spark]', or --engine local",
        )
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").exists()):
        raise MissingPackage(
            "the engine spark needs Java, which was not found",
            allowed="Java 17 or newer on PATH, or in JAVA_HOME",
            hint="install it (openjdk-17-jre-headless in Debian), or --engine local",
        )


def _settings(workers: Workers) -> dict[str, str]:
    """As Spark names them."""
    found = {("spark.master" if name == "master" else name): value for name, value in workers.settings}
    strange = [name for name in found if not name.startswith("spark.")]
    if strange:
        raise BadValue(
            "a setting is none of Spark's",
            allowed="master, or a name that begins with spark.",
            got=strange[0],
            hint="for example spark.executor.memory=4g",
        )
    master = found.get("spark.master")
    local = _LOCAL.match(master) if master else None
    if local:
        found["spark.master"] = f"local[{local[1] or 1},{local[2] or _TRIES}]"
    return found


def _refuse_other(there: SparkSession, settings: Mapping[str, str]) -> None:
    """A session that is active is not changed under its owner's hands."""
    odd = [name for name, value in settings.items() if there.conf.get(name, None) != value]
    if odd:
        raise BadValue(
            f"the session of Spark that is active has another {odd[0]}",
            allowed=repr(there.conf.get(odd[0], None)),
            got=repr(settings[odd[0]]),
            hint="stop it first, or leave the setting out",
        )


def _defaults(workers: Workers, settings: Mapping[str, str], scratch: str) -> dict[str, str]:
    """What a session of ours has, unless settings or Spark's own files say otherwise."""
    known = _configured() | dict(settings)
    master = known.get("spark.master", f"local[{workers.number or '*'},{_TRIES}]")
    found = {
        "spark.master": master,
        "spark.app.name": "oneoff",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.task.maxFailures": f"{_TRIES}",
        "spark.driver.maxResultSize": "0",  # blocks say up to 30 MB each, which is added up as it comes
        **{f"spark.executorEnv.{name}": "1" for name in THREADS},
    }
    if _LOCAL.match(master):
        found |= {"spark.local.dir": scratch, "spark.driver.host": _HERE, "spark.driver.bindAddress": _HERE}
    else:  # what fails on one executor is tried on another; scratch folders may be anybody's
        found |= {
            "spark.io.encryption.enabled": "true",
            "spark.excludeOnFailure.enabled": "true",
            "spark.excludeOnFailure.task.maxTaskAttemptsPerNode": f"{_TRIES - 1}",
        }
    return {name: value for name, value in found.items() if name not in known}


def _configured() -> dict[str, str]:
    """What spark-submit or spark-defaults.conf say; not what a start without either leaves behind."""
    from pyspark import SparkConf

    found = dict(SparkConf().getAll())
    by_itself = {"spark.app.name": "pyspark-shell", "spark.ui.showConsoleProgress": "true", "spark.master": "local[*]"}
    return {name: value for name, value in found.items() if by_itself.get(name) != value}


def _new(settings: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        made: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise said(error) from None
    return made


_AT_START = (
    "spark.driver.memory",
    "spark.driver.extra",
    "spark.driver.default",
    "spark.jars",
    "spark.submit",
    "spark.log.level",
)


def _start_java(settings: Mapping[str, str], scratch: Path) -> None:
    """Java, with no more in its arguments, which everybody sees, than it must have when it starts.

    What it writes to standard error goes to a file, unless it was asked to say something.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    os.environ.setdefault("PYSPARK_PYTHON", settings.get("spark.pyspark.python", sys.executable))
    conf = SparkConf(loadDefaults=False)
    if _LOCAL.match(settings.get("spark.master", "local")):
        os.environ.setdefault("SPARK_LOCAL_IP", _HERE)
        conf.set("spark.driver.defaultJavaOptions", _SMALL)
    for name, value in settings.items():
        if name.startswith(_AT_START):
            conf.set(name, value)
    log, start = scratch / "java.log", cast(Any, launch_gateway)
    with log.open("wb") as words:
        try:
            gateway = start(conf, {} if "spark.log.level" in settings else {"stderr": words})
        except PySparkRuntimeError as error:
            lines = log.read_text(errors="replace").strip().splitlines() or [str(error)]
            raise MissingPackage(
                "Java could not be started for Spark",
                allowed="Java 17 or newer",
                got=lines[-1][:300],
                hint="java -version says which one there is; JAVA_HOME names another",
            ) from None
    SparkContext._ensure_initialized(gateway=gateway)


def tries_of(spark: SparkSession) -> int:
    """How often a task is tried."""
    local = _LOCAL.match(str(spark.sparkContext.master))
    if local:
        return int(local[2] or 1)
    return int(spark.sparkContext.getConf().get("spark.task.maxFailures", f"{_TRIES}") or _TRIES)
