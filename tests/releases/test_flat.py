"""Frames without columns of lists."""

from __future__ import annotations

import csv
from typing import Any

import polars
import pyarrow as pa
import pyarrow.csv
import pytest

import oneoff
from oneoff.table.sample import SAMPLE_ROLES

KINDS = {
    "generalized": ("k-anonymity:5", "mondrian", {}),
    "sets": ("k-anonymity:5", "mondrian", {"numeric_as": "set"}),
    "without groups": ("k-anonymity:3", "ring", {}),
    "tallied": ("beta-likeness:3", "tallies", {}),
    "bucketized": ("l-diversity:2", "anatomy", {}),
    "perturbed": ("beta-likeness:3", "perturbation", {}),
}


def released(kind: str) -> Any:
    guarantee, method, options = KINDS[kind]
    table = oneoff.read_table(oneoff.sample(300, seed=4), **SAMPLE_ROLES)
    return oneoff.anonymize(table, guarantee, method=method, seed=1, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_flat_frames_have_no_lists_and_are_the_same_otherwise(kind: str) -> None:
    release = released(kind)
    frame, flat = release.to_arrow(), release.to_arrow(flat=True)
    lists = {name for name in frame.column_names if pa.types.is_list(frame[name].type)}
    assert bool(lists) == (kind in ("generalized", "sets", "without groups"))
    assert flat.column_names == frame.column_names
    for name in flat.column_names:
        assert not pa.types.is_nested(flat[name].type)
        assert name in lists or flat[name].equals(frame[name])
    for name in lists:
        sets = [sorted(str(value) for value in each) for each in frame[name].to_pylist()]
        texts = [
            sorted(row) for row in csv.reader((each[1:-1] for each in flat[name].to_pylist()), skipinitialspace=True)
        ]
        assert texts == sets
    assert release.to_polars(flat=True).equals(polars.from_arrow(flat))
    assert release.to_pandas(flat=True).equals(flat.to_pandas())


def test_a_set_is_written_as_in_a_csv_file(tmp_path: Any) -> None:
    frame = pa.table({"town": ["a,b", "c", "a,b", "c"], "age": [1, 2, 3, 4], "s": list("xyxy")})
    table = oneoff.read_table(frame, quasi="town,age", sensitive="s")
    release = oneoff.anonymize(table, "k-anonymity:4", method="mondrian", seed=1)
    flat = release.to_arrow(flat=True)
    assert flat["town"].to_pylist() == ['{"a,b", c}'] * 4
    assert flat.column_names == ["town", "age_min", "age_max", "group", "s"]
    written = pyarrow.csv.read_csv(release.write(tmp_path / "out", raw_csv=True) / "public" / "data.csv")
    assert written["town"].to_pylist() == flat["town"].to_pylist()
