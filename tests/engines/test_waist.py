"""The four calls do the same on every engine, however a table is divided into files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from oneoff.engines import Engine, TextFormat, engine
from oneoff.engines.waist import PLACE, Workers
from oneoff.errors import BadValue, UnreadableFile
from tests.engines import sums


@pytest.fixture
def running(engine_name: str, tmp_path: Path) -> Iterator[Engine]:
    with engine(engine_name, Workers(2, scratch=str(tmp_path / "scratch"))) as made:
        yield made


def in_files(folder: Path, numbers: np.ndarray, files: int, kind: str = "parquet") -> Path:
    folder.mkdir()
    for i, part in enumerate(np.array_split(numbers, files)):
        frame = pa.table({"x": part, "y": part.astype(str)})
        if kind == "parquet":
            pq.write_table(frame, folder / f"part-{i:03}.parquet", row_group_size=50)
        else:
            pa.csv.write_csv(frame, folder / f"part-{i:03}.csv")
    return folder


@pytest.mark.parametrize("files", [1, 5])
def test_it_counts_maps_and_brings_blocks_together(running: Engine, tmp_path: Path, files: int) -> None:
    numbers = np.arange(1000)
    frame = running.select(running.open(in_files(tmp_path / "rows", numbers, files), TextFormat()), ["x"])
    assert running.reduce(frame, sums.total, sums.add) == numbers.sum()
    mapped = running.map(frame, sums.doubled, sums.SCHEMA)
    assert running.reduce(mapped, sums.total, sums.add) == numbers.sum()
    found = dict(running.blocks(mapped, sums.by_rest, sums.sorted_rows))
    left = numbers[numbers % 7 != 0]
    assert found == {b: (2 * left[left % 3 == b]).tolist() for b in range(3)}
    assert dict(running.blocks(mapped, sums.by_rest, sums.sorted_rows, wanted=[1])).keys() == {1}


def test_an_empty_table_counts_to_nothing(running: Engine, tmp_path: Path) -> None:
    frame = running.select(running.open(in_files(tmp_path / "rows", np.arange(0), 2), TextFormat()), ["x"])
    assert running.reduce(frame, sums.total, sums.add) is None
    assert dict(running.blocks(running.map(frame, sums.doubled, sums.SCHEMA), sums.by_rest, sums.sorted_rows)) == {}


def test_an_error_of_ours_comes_back_as_it_was(running: Engine, tmp_path: Path) -> None:
    frame = running.select(running.open(in_files(tmp_path / "rows", np.arange(9), 3), TextFormat()), ["x"])
    with pytest.raises(BadValue, match="no good") as caught:
        running.reduce(frame, sums.complains, sums.add)
    assert (caught.value.allowed, caught.value.got, caught.value.hint) == ("good", "bad", "be good")
    assert running.reduce(frame, sums.total, sums.add) == 36


def test_a_call_whose_worker_dies_is_made_again(running: Engine, tmp_path: Path) -> None:
    frame = running.select(running.open(in_files(tmp_path / "rows", np.arange(100), 3), TextFormat()), ["x"])
    mapped = running.map(frame, sums.doubled, sums.SCHEMA)
    found = dict(running.blocks(mapped, sums.by_rest, sums.DiesOnce(str(tmp_path))))
    assert found == dict(running.blocks(mapped, sums.by_rest, sums.sorted_rows))


def test_rows_say_which_file_they_came_from(running: Engine, tmp_path: Path) -> None:
    opened = running.open(in_files(tmp_path / "rows", np.arange(300), 2), TextFormat())
    places = running.reduce(running.select(opened, ["x"]), places_of, joined_places)
    assert places == {(x // 150, x % 150, x) for x in range(300)}
    assert [Path(name).name for name in opened.files] == ["part-000.parquet", "part-001.parquet"]


def places_of(batch: pa.RecordBatch) -> set[tuple[int, int, int]]:
    return set(zip(*(batch[name].to_pylist() for name in (*PLACE, "x")), strict=True))


def joined_places(one: set[tuple[int, int, int]], other: set[tuple[int, int, int]]) -> set[tuple[int, int, int]]:
    return one | other


def test_a_missing_folder_is_named(running: Engine, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="nowhere"):
        running.open(tmp_path / "nowhere" / "*.parquet", TextFormat())
