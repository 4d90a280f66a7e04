"""The domains of a table in files are those of the same table read at once."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneoff import read_table
from oneoff.engines import TextFormat, engine
from oneoff.engines.waist import Workers
from oneoff.errors import EmptyTable, MissingValues, OneoffError, RoleConflict
from oneoff.larger import header as made
from oneoff.larger.header import Header, Reading, header_of
from tests.larger.tables import ROLES, in_files, people


def both(frame: pl.DataFrame, folder: Path, kind: str = "parquet", **roles: Any) -> tuple[Header, Any, pl.DataFrame]:
    """The header of a table in files, the table itself read at once, and the coded rows."""
    source = in_files(frame, folder / "rows", 3, kind)
    whole = folder / f"whole.{kind}"
    (frame.write_parquet if kind == "parquet" else frame.write_csv)(whole)
    text = TextFormat(na=tuple(roles.get("na", ("",))), decimal=roles.get("decimal", "."))
    with engine("local", Workers(1)) as running:
        opened = running.open(source, text)
        found = header_of(running, opened, Reading(roles))
        coded = running.map(running.select(opened, Reading(roles).columns), found.coded, found.coded_schema)
        rows = [batch for path in coded.paths for batch in coded.batches(path)]  # type: ignore[attr-defined]
        codes = pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in rows])
    return found, read_table(whole, **roles), codes


def same(header: Header, table: Any, codes: pl.DataFrame) -> None:
    attributes = [attribute for attribute, _ in table.columns()]
    assert [a.name for a in header.attributes] == [a.name for a in attributes]
    for own, known in zip(header.attributes, attributes, strict=True):
        assert (own.kind, own.labels.tolist()) == (known.kind, known.labels.tolist())
        assert (own.hierarchy is None) == (known.hierarchy is None)
    assert header.rows == table.rows
    assert header.dropped == table.dropped_rows
    assert header.counts.tolist() == table.counts.tolist()
    for name, (_, column) in zip(header.names, table.columns(), strict=True):
        assert codes[name].to_list() == column.tolist()
    for margin, column in zip(header.margins, table.codes.T, strict=False):
        assert margin.tolist() == np.bincount(column, minlength=len(margin)).tolist()


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_it_is_that_of_the_table_read_at_once(tmp_path: Path, kind: str) -> None:
    header, table, codes = both(people(800), tmp_path, kind, **ROLES)
    same(header, table, codes)
    assert set(table.notices) == set(header.notices)


ODD = pl.DataFrame(
    {
        "age": [30.0, None, float("nan"), 31.5, -0.0, 0.0] * 10,
        "code": ["01", "2", "03", "", "5", "5"] * 10,
        "day": [date(2020, 1, 1), date(2020, 2, 1), None, date(2021, 5, 5), date(2020, 1, 2), date(2020, 1, 1)] * 10,
        "flag": [True, False, True, None, True, True] * 10,
        "pay": [1, 5, 7, 9, 11, 11] * 10,
        "kept": ["x", None, "y", "x", "z", "z"] * 10,
    }
)


@pytest.mark.parametrize("missing", ["drop", "category"])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_missing_and_odd_values_are_read_alike(tmp_path: Path, missing: str, kind: str) -> None:
    roles = {"quasi": ["age", "code", "day", "flag"], "sensitive": "pay", "keep": ["kept"], "missing": missing}
    same(*both(ODD if kind == "parquet" else ODD.with_columns(pl.col("age").fill_nan(None)), tmp_path, kind, **roles))


@pytest.mark.parametrize(
    "more",
    [
        {"bins": 3},
        {"other_below": 15},
        {"dates": {"day": "month"}},
        {"hierarchies": {"day": "date"}},
        {"categorical": ["age"]},
    ],
)
def test_coarser_values_and_kinds_are_read_alike(tmp_path: Path, more: dict[str, Any]) -> None:
    same(*both(ODD, tmp_path, quasi=["age", "code", "day"], sensitive="pay", missing="drop", **more))


def test_missing_values_are_refused_with_their_number(tmp_path: Path) -> None:
    with pytest.raises(MissingValues) as caught:
        both(ODD, tmp_path, quasi=["age", "flag"], sensitive="pay")
    assert "age (20)" in caught.value.got
    assert "flag (10)" in caught.value.got


def test_an_identifier_that_repeats_stops_the_run(tmp_path: Path) -> None:
    frame = people(300).with_columns(pl.Series("patient_id", np.arange(300) // 2))
    with pytest.raises(RoleConflict, match="repeats"):
        both(frame, tmp_path, **ROLES)
    fine = people(300).with_columns(pl.Series("patient_id", np.arange(300)))
    same(*both(fine, tmp_path / "fine", **ROLES))


def test_a_sample_of_identifiers_still_shows_that_one_repeats(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(made, "_SAMPLED", 50)
    column = pl.Series(np.arange(4000) // 2).to_arrow()
    halves = made._sampled(column[:2000]), made._sampled(column[2000:])
    joined = halves[0].joined(halves[1])
    assert joined.level > 0
    assert len(joined.counts) <= 50
    assert set(joined.counts.values()) == {2}


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmptyTable):
        both(people(10).head(0), tmp_path, **ROLES)


@pytest.mark.parametrize("more", [{"person": "name"}, {"weight": "age"}, {"sensitive": ["occupation", "age"]}])
def test_what_blocks_do_not_serve_is_refused_by_name(tmp_path: Path, more: dict[str, Any]) -> None:
    source = in_files(people(50).with_columns(name=pl.lit("x")), tmp_path / "rows", 1)
    with engine("local", Workers(1)) as running, pytest.raises(OneoffError) as caught:
        header_of(running, running.open(source, TextFormat()), Reading({**ROLES, **more}))
    assert "memory" in caught.value.hint or "age" in str(caught.value)
