"""What is particular to Spark: what it reads itself, and what it says when it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oneoff.engines import TextFormat, engine
from oneoff.errors import BadValue, MissingPackage, OneoffError, UnreadableFile
from tests.engines import sums
from tests.engines.sessions import NEEDS_SPARK
from tests.engines.test_waist import in_files, joined_places, places_of

pytestmark = NEEDS_SPARK


@pytest.fixture
def running(spark: Any) -> Any:
    with engine("spark") as made:
        yield made


def rows_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return list(batch.to_pylist())


def joined(one: list[Any], other: list[Any]) -> list[Any]:
    return one + other


def test_a_url_is_read_by_spark_and_rows_say_where_they_are(running: Any, tmp_path: Path) -> None:
    in_files(tmp_path / "many rows", np.arange(300), 3)
    opened = running.open(f"file://{tmp_path}/many rows/part-*.parquet", TextFormat())
    places = running.reduce(running.select(opened, ["x"]), places_of, joined_places)
    assert places == {(x // 100, x % 100, x) for x in range(300)}
    assert [Path(name).name for name in opened.files] == ["part-000.parquet", "part-001.parquet", "part-002.parquet"]
    assert opened.schema == pa.schema([("x", pa.int64()), ("y", pa.large_string())])


def test_a_folder_named_from_here_is_found_by_executors_elsewhere(
    running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_files(tmp_path / "rows", np.arange(100), 2)
    monkeypatch.chdir(tmp_path)  # Java, and so its workers, began in another folder
    opened = running.open("rows", TextFormat())
    assert opened.files == ("rows/part-000.parquet", "rows/part-001.parquet")
    assert running.reduce(running.select(opened, ["x"]), sums.total, sums.add) == 4950


def test_text_at_a_url_is_text_and_says_its_file(running: Any, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "a.csv").write_text('x,y\n01,"a ""b"", c"\n,"two\nlines"\n?,""\n')
    (folder / "b.csv").write_text("x,y\n2,b\n")
    (folder / "empty.csv").touch()
    opened = running.open(f"file://{folder}", TextFormat(na=("", "?")))
    assert opened.is_text
    found = running.reduce(running.select(opened, ["x", "y"]), rows_of, joined)
    known = [("01", 'a "b", c', 0), (None, "two\nlines", 0), (None, None, 0), ("2", "b", 1)]
    assert sorted(map(str, found)) == sorted(str({"x": x, "y": y, "(file)": file, "(row)": -1}) for x, y, file in known)


def test_a_dataframe_is_a_table(running: Any, spark: Any, tmp_path: Path) -> None:
    made = spark.range(100).withColumnRenamed("id", "x")
    frame = running.select(running.open(made, TextFormat()), ["x"])
    assert running.reduce(frame, sums.total, sums.add) == 4950
    assert running.reduce(frame, places_of, joined_places) == {(-1, -1, x) for x in range(100)}
    in_files(tmp_path / "rows", np.arange(100), 2)
    read = spark.read.parquet(str(tmp_path / "rows")).where("x > 10")
    found = running.reduce(running.select(running.open(read, TextFormat()), ["x"]), places_of, joined_places)
    assert found == {(x // 50, x % 50, x) for x in range(11, 100)}


def test_files_at_a_url_are_reconciled_and_refused_by_the_same_rules(running: Any, tmp_path: Path) -> None:
    for i, (kind, values) in enumerate([(pa.int8(), [1]), (pa.int64(), [2**40]), (pa.string(), [])]):
        pq.write_table(pa.table({"x": pa.array(values, kind)}), tmp_path / f"{i}.parquet")
    opened = running.open(f"file://{tmp_path}", TextFormat())
    assert running.reduce(running.select(opened, ["x"]), sums.total, sums.add) == 2**40 + 1
    pq.write_table(pa.table({"x": ["a"]}), tmp_path / "3.parquet")
    with pytest.raises(UnreadableFile, match=r"'x' has values of different types.*3\.parquet"):
        running.open(f"file://{tmp_path}", TextFormat())
    pq.write_table(pa.table({"z": [1]}), tmp_path / "3.parquet")
    with pytest.raises(UnreadableFile, match=r"different columns: 'x' is not in .*3\.parquet"):
        running.open(f"file://{tmp_path}", TextFormat())
    with pytest.raises(UnreadableFile, match="no file is"):
        running.open(f"file://{tmp_path}/nowhere", TextFormat())


def test_a_file_at_a_url_that_changes_is_noticed(running: Any, tmp_path: Path) -> None:
    folder = in_files(tmp_path / "rows", np.arange(100), 2)
    frame = running.select(running.open(f"file://{folder}", TextFormat()), ["x"])
    assert running.reduce(frame, sums.total, sums.add) == 4950
    pq.write_table(pa.table({"x": [1], "y": ["1"]}), folder / "part-001.parquet")
    with pytest.raises(UnreadableFile, match=r"part-001\.parquet.*(has changed|cannot be read)"):
        running.reduce(frame, sums.total, sums.add)


def test_a_damaged_file_at_a_url_is_named(running: Any, tmp_path: Path) -> None:
    damaged = in_files(tmp_path / "rows", np.arange(1000), 3) / "part-001.parquet"
    content = bytearray(damaged.read_bytes())
    content[200:260] = bytes(60)
    damaged.write_bytes(content)
    frame = running.select(running.open(f"file://{tmp_path}/rows", TextFormat()), ["x", "y"])
    with pytest.raises(UnreadableFile, match=r"part-001\.parquet") as caught:
        running.reduce(frame, sums.total, sums.add)
    assert "\n" not in str(caught.value)


def test_garbage_is_not_looked_for_among_modules_after_every_task(running: Any, tmp_path: Path) -> None:
    """What stays is told once it is there, and not again: else what a task leaves behind would stay, too."""
    frame = running.select(running.open(in_files(tmp_path / "rows", np.arange(100), 4), TextFormat()), ["x"])
    found: dict[int, list[int]] = {}
    for _ in range(4):
        found = sums.each_process(found, running.reduce(frame, sums.looked_through, sums.each_process))
    often = max(found.values(), key=len)
    assert len(often) > 3
    assert often[-1] == often[-2] > 20_000


def test_a_store_that_spark_cannot_reach_is_named(running: Any) -> None:
    with pytest.raises(UnreadableFile, match=r"'s3://bucket/people'.*hadoop-aws") as caught:
        running.open("s3://who:secret@bucket/people", TextFormat())
    assert "secret" not in str(caught.value)


def test_another_setting_than_that_of_the_active_session_is_refused(spark: Any) -> None:
    from oneoff.engines.waist import Workers

    with pytest.raises(BadValue, match=r"has another spark\.executor\.memory"):
        engine("spark", Workers(settings=(("spark.executor.memory", "7g"),))).__enter__()
    with pytest.raises(OneoffError, match="none of Spark's"):
        engine("spark", Workers(settings=(("colour", "red"),))).__enter__()


def test_a_session_that_cannot_be_started_says_why_in_one_line() -> None:
    from oneoff.engines.spark.failures import said

    lines = (
        "An error occurred while calling o1.x.\n: org.apache.spark.SparkException: it broke\n\tat java.lang.X(Y.java)"
    )
    assert said(RuntimeError(f"{lines}\nCaused by: java.io.IOException: No route to host")).got == "No route to host"
    assert said(RuntimeError(lines)).got == "it broke"
    assert said(RuntimeError("No space left on device")).code == "output"
    assert said(RuntimeError("ExecutorLostFailure (executor 1 exited)")).code == "worker-lost"


def test_what_executors_lack_beside_the_package_is_named(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oneoff.engines.spark import shipping

    shipping.ship(spark, tmp_path)
    monkeypatch.setattr(shipping, "_WANTED", ("oneoff", "nowhere"))
    with pytest.raises(MissingPackage, match="executors of Spark do not have nowhere"):
        shipping.ship(spark, tmp_path)
    assert not (tmp_path / "oneoff.zip").exists()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("ModuleNotFoundError: No module named 'polars.io'", "does not have polars"),
        ("pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] 3.11 here, 3.9 there", "is another version"),
    ],
)
def test_workers_in_another_python_are_said_to_be(line: str, what: str) -> None:
    from oneoff.engines.spark.failures import said

    stack = f'Traceback (most recent call last):\n  File "worker.py", line 1, in main\n    import polars\n{line}\n'
    found = said(RuntimeError(f"An exception was thrown from the Python worker:\n{stack}\n\tat org.apache.X(Y.scala)"))
    assert what in found.what
    assert found.got == line
    assert "PYSPARK_PYTHON" in found.hint
