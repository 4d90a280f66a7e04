"""Tables that are wide, and columns with very many values: advice before the work, files in stretches, no floods."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import oneoff
from oneoff.advice import many_categories, many_columns
from oneoff.catalog import METHODS
from oneoff.errors import BadValue, MethodMismatch, OutputError
from oneoff.models import parse
from oneoff.publish import publish
from oneoff.releases import generalized
from oneoff.table import Attribute, Hierarchy, Table


def people(rows: int = 300, columns: int = 3, values: int = 12, tree: Hierarchy | None = None) -> Table:
    """Every quasi-identifier has `values` categories; the first of them has the hierarchy."""
    draw = np.random.default_rng(1)
    labels = np.array([f"v{v:05}" for v in range(values)], dtype=object)
    quasi = tuple(Attribute(f"q{j}", "categorical", labels, None if j else tree) for j in range(columns))
    codes = np.concatenate([np.tile(np.arange(values), (columns, 1)).T, draw.integers(0, values, (rows, columns))])
    codes = codes[:rows].astype(np.int32)
    work = Attribute("work", "categorical", np.array(["a", "b", "c", "d"], dtype=object))
    return Table(quasi, codes, work, (np.arange(rows) % 4).astype(np.int32))


# Files


@pytest.mark.parametrize(("method", "promise"), [("mondrian", "l-diversity:2"), ("heterogeneous", "l-diversity:2")])
def test_files_in_stretches_are_those_written_at_once(
    method: str, promise: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_pictures: None
) -> None:
    release = oneoff.anonymize(people(), promise, method=method, seed=1)
    release.write(tmp_path / "whole", csv=True, even_if_broken=True)
    monkeypatch.setattr(generalized, "_LISTED", 50)
    release.write(tmp_path / "parts", csv=True, even_if_broken=True)
    whole, parts = (tmp_path / name / "public" for name in ("whole", "parts"))
    assert (
        pq.ParquetFile(parts / "data.parquet").num_row_groups
        > 3
        > pq.ParquetFile(whole / "data.parquet").num_row_groups
    )
    assert pq.read_table(parts / "data.parquet").equals(pq.read_table(whole / "data.parquet"))
    assert (parts / "data.csv").read_bytes() == (whole / "data.csv").read_bytes()
    assert oneoff.load_release(parts).to_arrow().equals(release.to_arrow())


def test_a_stretch_lists_few_values_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """By an independent count of what the lists of a stretch hold."""
    monkeypatch.setattr(generalized, "_LISTED", 100)
    release = oneoff.anonymize(people(1_000, values=60), "k-anonymity:20", method="mondrian", seed=1)
    stretches = list(release.in_stretches()["data.parquet"])
    listed = [sum(len(cell) for j in range(3) for cell in part[f"q{j}"].to_pylist()) for part in stretches]
    longest = max(sum(len(row[f"q{j}"]) for j in range(3)) for part in stretches for row in part.to_pylist())
    assert sum(part.num_rows for part in stretches) == 1_000
    assert max(listed) < 100 + longest
    assert sum(listed) > 20 * 100


def test_records_cut_from_a_file_in_stretches_are_found_out(tmp_path: Path, without_pictures: None) -> None:
    """What is read back is compared stretch by stretch, and no stretch may be missing at the end."""
    from oneoff.releases.description import _same

    release = oneoff.anonymize(people(), "k-anonymity:5", method="mondrian", seed=1)
    frame = release.to_arrow()
    assert _same(iter([frame.slice(0, 100), frame.slice(100)]), frame)
    assert not _same(iter([frame.slice(0, 100), frame.slice(100, 100)]), frame)
    assert not _same(iter([frame.slice(0, 100), frame.slice(99)]), frame)


def test_a_flood_of_values_is_refused_before_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalized, "_MOST_LISTED", 2_000)
    stages: list[str] = []
    with pytest.raises(OutputError, match="the sets of values in the records would list") as caught:
        publish(people(), "k-anonymity:50", method="mondrian", seed=1, report=lambda stage, _: stages.append(stage))
    assert "auditing" not in stages
    assert caught.value.allowed == "at most 2,000"
    assert "12 different values of 'q" in caught.value.got
    assert "--hierarchy q" in caught.value.hint


# What boxes can mean


@pytest.mark.parametrize("way", ["set", "range", "node"])
def test_what_boxes_mean_is_the_same_listed_and_laid_out(way: str) -> None:
    tree = Hierarchy.from_rows([[f"v{v:05}", f"n{v // 4}", "*"] for v in range(12)]) if way == "node" else None
    table = people(tree=tree)
    if way == "range":
        number = Attribute("q0", "numeric", np.arange(12) * 10)
        table = Table((number, *table.quasi[1:]), table.codes, table.sensitive, table.values)
    release = oneoff.anonymize(table, "k-anonymity:7", method="ring", seed=1)
    assert isinstance(release, generalized.Generalized)
    known, cells = table.quasi[0], release.cells[0]
    lists, share = cells.spread(release.quasi[0], known)
    laid_out = np.zeros((len(lists), known.size))
    laid_out[lists.owner, lists.items] = share[lists.owner]
    assert cells.shown_as == way
    assert np.allclose(laid_out, np.diff(cells.share_below(release.quasi[0], known), axis=1), atol=1e-6)


def test_what_boxes_mean_takes_no_room_for_what_they_do_not_show() -> None:
    """2,000 boxes that show a few of 1,500 values: a cell for every pair would take 24 MB."""
    table = people(2_000, 1, 1_500)
    release = oneoff.anonymize(table, "k-anonymity:3", method="ring", seed=1)
    assert isinstance(release, generalized.Generalized)
    tracemalloc.start()
    try:
        lists, _ = release.cells[0].spread(release.quasi[0], table.quasi[0])
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert 2_000 < len(lists.items) < 20_000


# Advice


@pytest.mark.parametrize(
    ("columns", "method", "promise", "said"),
    [
        (40, "mondrian", "k-anonymity:10", "1,000 people are in groups of 10 once they were parted in two 7 times"),
        (40, "tallies", "l-diversity:2", "groups of 2 once they were parted in two 9 times"),
        (12, "mondrian", "k-anonymity:10", ""),
        (17, "mondrian", "l-diversity:2", ""),  # nine times two are more
        (40, "perturbation", "l-diversity:2", ""),  # shows every column as it is
    ],
)
def test_very_many_quasi_identifiers_are_told(columns: int, method: str, promise: str, said: str) -> None:
    told = many_columns(METHODS[method], parse(promise), people(1_000, columns))
    assert (said in told and told.startswith(f"{columns} quasi-identifiers")) if said else told == ""


def test_columns_with_thousands_of_categories_are_told() -> None:
    table = people(3_000, 2, 1_500)
    told = many_categories(METHODS["mondrian"], table)
    assert told.startswith("q0 (1,500 values), q1 (1,500 values): without a hierarchy")
    assert "--hierarchy q0=FILE.csv" in told
    assert many_categories(METHODS["tallies"], table) == ""
    assert many_categories(METHODS["mondrian"], people(3_000, 2, 900)) == ""


def test_a_hierarchy_needs_no_advice() -> None:
    tree = Hierarchy.from_rows([[f"v{v:05}", f"n{v // 10}", "*"] for v in range(1_500)])
    assert many_categories(METHODS["mondrian"], people(3_000, 1, 1_500, tree)) == ""


def test_advice_on_shapes_comes_before_the_work() -> None:
    happened: list[str] = []
    publish(
        people(600, 30, 3), "k-anonymity:10", method="mondrian", seed=1,
        report=lambda stage, share: happened.append(stage), warn=happened.append,
    )  # fmt: skip
    assert next(i for i, text in enumerate(happened) if "30 quasi-identifiers" in text) < happened.index("grouping")


# Refusals with an estimate


def test_too_many_links_are_refused_with_what_they_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 people in two buckets: 600 links of 24 bytes."""
    from oneoff.mechanisms.heterogeneous import heterogeneous as module  # the function of that name hides its module

    _set(monkeypatch, module, "_MOST_LINKS", 500)
    with pytest.raises(MethodMismatch, match=r"2 buckets, too many .* would take about 0 GB") as caught:
        oneoff.anonymize(people(), "l-diversity:2", method="heterogeneous", seed=1)
    assert (caught.value.allowed, caught.value.got) == ("at most 500 links between people and records", "600 links")
    assert "--other-below" in caught.value.hint


def test_too_large_buckets_are_refused_with_what_they_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    from oneoff.mechanisms.heterogeneous import matching

    monkeypatch.setattr(matching, "_LARGEST", 100)
    with pytest.raises(BadValue, match="the costs of one matching would take") as caught:
        oneoff.anonymize(people(), "l-diversity:2", method="heterogeneous", seed=1)
    assert caught.value.got == "2 buckets of 150 people"


def _set(monkeypatch: pytest.MonkeyPatch, function: Any, name: str, value: int) -> None:
    import sys

    monkeypatch.setattr(sys.modules[function.__module__], name, value)
