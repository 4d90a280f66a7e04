"""What is particular to worker processes and files of one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oneoff.engines import TextFormat, engine
from oneoff.engines.local import _rows_at
from oneoff.engines.pool import WorkerLost
from oneoff.engines.waist import Workers
from oneoff.errors import UnreadableFile
from oneoff.table.files import open_files
from tests.engines import sums
from tests.engines.test_waist import in_files


def test_text_files_are_texts(tmp_path: Path) -> None:
    frame = open_files(in_files(tmp_path / "rows", np.arange(10), 2, "csv"), TextFormat())
    assert frame.is_text
    rows = [row for part in frame.stretches for batch in frame.batches(part) for row in batch["x"].to_pylist()]
    assert rows == [str(i) for i in range(10)]


def test_whole_numbers_of_different_widths_are_reconciled(tmp_path: Path) -> None:
    for i, kind in enumerate((pa.int8(), pa.int64())):
        pq.write_table(pa.table({"x": pa.array([i], kind)}), tmp_path / f"{i}.parquet")
    assert open_files(tmp_path, TextFormat()).schema.field("x").type == pa.int64()


@pytest.mark.parametrize("other", [{"x": ["a"]}, {"z": [1]}])
def test_other_differences_are_refused_by_name(tmp_path: Path, other: dict[str, list[object]]) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table(other), tmp_path / "1.parquet")
    with pytest.raises(UnreadableFile) as caught:
        open_files(tmp_path, TextFormat())
    assert "1.parquet" in str(caught.value)
    assert "'x'" in str(caught.value)


def test_an_empty_file_has_no_say_in_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([], pa.string())}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "1.parquet")
    assert open_files(tmp_path, TextFormat()).schema.field("x").type == pa.int64()


def test_a_damaged_row_group_is_named(tmp_path: Path) -> None:
    folder = in_files(tmp_path / "rows", np.arange(1000), 3)
    damaged = folder / "part-001.parquet"
    content = bytearray(damaged.read_bytes())
    content[200:260] = bytes(60)
    damaged.write_bytes(content)
    with engine("local", Workers(2)) as running, pytest.raises(UnreadableFile, match=r"part-001.*groups 0 to 6"):
        running.reduce(running.select(running.open(folder, TextFormat()), ["x", "y"]), sums.total, sums.add)


def test_one_damaged_row_group_is_named_alone(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": np.arange(1000)}), tmp_path / "0.parquet")
    content = bytearray((tmp_path / "0.parquet").read_bytes())
    content[4:60] = bytes(56)
    (tmp_path / "0.parquet").write_bytes(content)
    with engine("local", Workers(1)) as running, pytest.raises(UnreadableFile, match=r"0\.parquet.*\(row group 0\)"):
        running.reduce(running.select(running.open(tmp_path, TextFormat()), ["x"]), sums.total, sums.add)


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    folder = in_files(tmp_path / "rows", np.arange(100), 2)
    with engine("local", Workers(1)) as running:
        frame = running.select(running.open(folder, TextFormat()), ["x"])
        pq.write_table(pa.table({"x": [1], "y": ["1"]}), folder / "part-001.parquet")
        with pytest.raises(UnreadableFile, match="has changed"):
            running.reduce(frame, sums.total, sums.add)


def test_a_call_that_always_kills_its_worker_is_given_up(tmp_path: Path) -> None:
    with engine("local", Workers(2, scratch=str(tmp_path / "scratch"))) as running:
        frame = running.select(running.open(in_files(tmp_path / "rows", np.arange(9), 1), TextFormat()), ["x"])
        mapped = running.map(frame, sums.doubled, sums.SCHEMA)
        with pytest.raises(WorkerLost, match="three times"):
            dict(running.blocks(mapped, sums.by_rest, sums.dies))
    assert list((tmp_path / "scratch").iterdir()) == []


def test_workers_that_share_a_machine_do_not_fight_for_its_cores() -> None:
    with engine("local", Workers(2)) as running:
        found = list(running._pool.run(sums.threads, [()] * 2))
    assert [threads for _, threads in found] == [(1, 1, 1)] * 2


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not say what is mapped")
def test_files_of_a_block_are_mapped_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is mapped is memory of the process: of a thousand files it would be far more than a block takes."""
    places, expected = [], []
    for i in range(8):
        path, numbers = str(tmp_path / f"{i}.arrow"), np.arange(i * 1000, (i + 1) * 1000)
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, pa.schema([("n", pa.int64())])) as file:
            file.write_batch(pa.record_batch({"n": numbers}))
        places.append((path, 0, 10 * i, 100 + i))
        expected += numbers[10 * i : 10 * i + 100 + i].tolist()
    real, mapped = pa.memory_map, list[int]()

    def counting(path: str) -> Any:
        mapped.append(Path("/proc/self/maps").read_text().count(str(tmp_path)))
        return real(path)

    monkeypatch.setattr(pa, "memory_map", counting)
    rows = _rows_at(places)
    assert rows["n"].to_pylist() == expected
    mapped.append(Path("/proc/self/maps").read_text().count(str(tmp_path)))
    assert max(mapped) <= 2  # the one before this may be let go a moment later
