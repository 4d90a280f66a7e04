"""What a footer says of sizes: the same as pyarrow reads where that reads it, and no more than an error otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneoff.errors import UnreadableFile
from oneoff.table.footer import row_groups

FRAMES = {
    "plain": pa.table({"a": range(50), "b": [f"x{i % 7}" for i in range(50)], "c": [i / 3 for i in range(50)]}),
    "nested": pa.table({"l": [["p", "q"]] * 20, "s": [{"u": 1, "v": "x"}] * 20, "n": [None] * 20}),
    "many columns": pa.table({f"c{i}": [i] for i in range(40)}),
    "empty": pa.table({"a": pa.array([], pa.int64())}),
}


@pytest.mark.parametrize("options", [{}, {"row_group_size": 7}, {"version": "1.0", "compression": "gzip"}], ids=str)
@pytest.mark.parametrize("name", FRAMES)
def test_sizes_are_those_that_pyarrow_reads(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    pq.write_table(FRAMES[name], tmp_path / "x.parquet", **options)
    metadata = pq.ParquetFile(tmp_path / "x.parquet").metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    found = row_groups(tmp_path / "x.parquet")
    assert [rows for rows, _ in found] == [group.num_rows for group in groups]
    for group, (_, chunks) in zip(groups, found, strict=True):
        columns = [group.column(j) for j in range(group.num_columns)]
        assert [chunk.name for chunk in chunks] == [each.path_in_schema.split(".")[0] for each in columns]
        assert [chunk.texts for chunk in chunks] == [each.physical_type == "BYTE_ARRAY" for each in columns]
        assert [chunk.values for chunk in chunks] == [each.num_values for each in columns]
        assert [chunk.unpacked for chunk in chunks] == [each.total_uncompressed_size for each in columns]


@given(
    places=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4),
    cut=st.integers(0, 200),
)
def test_other_bytes_are_read_or_refused(places: list[tuple[int, int]], cut: int, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("footer") / "x.parquet"
    pq.write_table(FRAMES["plain"], path)
    content = bytearray(path.read_bytes())
    for place, byte in places:
        content[-1 - place % len(content)] = byte
    path.write_bytes(bytes(content[min(cut, len(content)) if cut < 20 else 0 :]))
    try:
        found = row_groups(path)
    except UnreadableFile:
        return
    assert isinstance(found, list)


_LOOK = """
import sys
from pathlib import Path
from oneoff.errors import UnreadableFile
from oneoff.table.parquet import read_parquet
try:
    read_parquet(Path(sys.argv[1]))
except (UnreadableFile, OSError, ValueError) as error:
    print("refused", type(error).__name__)
"""


@pytest.mark.slow
def test_statistics_that_contradict_their_column_end_no_process(tmp_path: Path) -> None:
    """A column that may be empty has a level more than one that may not, and statistics that say so."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1, 2, None]}), path)
    content = path.read_bytes()
    optional = content.index(b"\x25\x02\x18\x01a")  # repetition_type 1, then the name
    path.write_bytes(content[:optional] + b"\x25\x00\x18\x01a" + content[optional + 5 :])
    ended = subprocess.run([sys.executable, "-c", _LOOK, str(path)], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout.split()[:1]) == (0, ["refused"]), ended.stderr
