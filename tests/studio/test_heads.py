"""The head of a file: how a text is found to be written, and what is shown of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from oneoff.errors import BadValue, UnreadableFile
from oneoff.studio.heads import found_reading, head_of
from oneoff.table.read import read_frame

TEXTS: list[tuple[bytes, dict[str, Any], list[str]]] = [
    (b"age,zip\n30,01234\n", {}, ["30", "01234"]),
    ("\ufeffage;pay\n30;1,5\n".encode(), {"decimal": ","}, ["30", "1,5"]),
    ("name\tstadt\nJürgen\tKöln\n".encode("cp1252"), {"encoding": "cp1252"}, ["Jürgen", "Köln"]),
    ("age,city\n30,Nîmes\n".encode("utf-16"), {"encoding": "utf-16"}, ["30", "Nîmes"]),
    (b'age|note\r\n30|"a|b"\r\n', {}, ["30", "a|b"]),
    (b'age,note\n30,"1,5"\n', {}, ["30", "1,5"]),  # where commas divide, nobody knows what one in quotes is
]


@pytest.mark.parametrize(("data", "reading", "first"), TEXTS)
def test_how_a_text_is_written_is_found(tmp_path: Path, data: bytes, reading: dict[str, Any], first: list[str]) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(data)
    assert found_reading(file) == reading
    head = head_of(file, reading)
    assert list(head.rows[0]) == first
    assert list(head.names) == read_frame(str(file), **reading).column_names  # as the library reads it


def test_a_letter_that_the_end_of_the_head_cuts_is_no_other_encoding(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    line = "ä" * 50 + "\n"
    file.write_text("a\n" + "b" + line * 12_000, encoding="utf-8")
    assert file.stat().st_size > 1 << 20
    assert found_reading(file) == {}
    assert len(head_of(file, {}).rows) == 50


def test_missing_values_are_shown_as_such_and_doubts_are_told(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("age,job\n30,?\n,nurse\n31\n")
    head = head_of(file, {})
    assert head.rows == (("30", "?"), (None, "nurse"), ("31", None))
    assert head.doubtful == ("?",)
    assert head.numbers == {0}
    assert head_of(file, {"na": ["", "?"]}).doubtful == ()
    assert head_of(file, {"rows": 1}).rows == (("30", "?"),)


def test_parquet_says_how_many_rows_it_has(tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    pl.DataFrame({"age": range(1000), "job": ["nurse", None] * 500}).write_parquet(file)
    head = head_of(file, {})
    assert (head.total, len(head.rows), head.numbers, head.is_text) == (1000, 50, {0}, False)
    assert head.rows[1] == ("1", None)
    assert found_reading(file) == {}


@pytest.mark.parametrize(
    ("name", "data", "reading", "error"),
    [
        ("people.xlsx", b"PK", {}, UnreadableFile),
        ("people.csv", b"", {}, UnreadableFile),
        ("people.parquet", b"PAR1 and so on", {}, UnreadableFile),
        ("people.csv", "a\nä\n".encode("cp1252"), {}, UnreadableFile),
        ("people.csv", b"a\n1\n", {"encoding": "klingon"}, BadValue),
        ("people.csv", b"a\n1\n", {"encoding": "base64"}, BadValue),
        ("people.csv", b"a,b\n1,2\n", {"delimiter": ",,"}, BadValue),
        ("people.csv", b"a,b\n1,2\n", {"decimal": ","}, BadValue),
    ],
)
def test_what_cannot_be_shown_is_refused(
    tmp_path: Path, name: str, data: bytes, reading: dict[str, Any], error: type[Exception]
) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(error):
        head_of(file, reading)
