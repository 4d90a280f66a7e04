"""Numbers as much of the world writes them: 11941,8 in a file with semicolons."""

from __future__ import annotations

from pathlib import Path

import pytest

import oneoff
from oneoff.errors import BadValue
from tests.command_line import oneoff as shell

pytestmark = pytest.mark.usefixtures("without_pictures")

COMMAS = "has decimal commas and is read as categories; --decimal , (decimal=',') reads it as numbers"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [f"{20 + i % 30};{11941 + i},{i % 10};{('flu', 'cold', 'gout')[i % 3]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age;income;disease", *rows]) + "\n")
    return tmp_path / "people.csv"


def test_decimal_commas_are_told_and_offered(file: Path) -> None:
    table = oneoff.read_table(file, quasi=["age", "income"], sensitive="disease")
    assert table.quasi[1].kind == "categorical"
    assert f"column 'income' {COMMAS}" in table.notices
    assert "people.csv is divided at ';'; --delimiter (delimiter=) names another mark" in table.notices


def test_decimal_commas_are_read(file: Path, tmp_path: Path) -> None:
    table = oneoff.read_table(file, quasi=["age", "income"], sensitive="disease", decimal=",", delimiter=";")
    assert [attribute.kind for attribute in table.quasi] == ["numeric", "numeric"]
    assert table.quasi[1].labels[:3].tolist() == [11941.0, 11942.1, 11943.2]
    assert table.notices == ()
    roles = (
        "--quasi",
        "age,income",
        "--sensitive",
        "disease",
        "--guarantee",
        "k-anonymity:3",
        "--out",
        tmp_path / "out",
    )
    answer = shell("anonymize", file, *roles, "--decimal", ",")
    assert (answer.status, COMMAS in answer.err, "divided at ';'" in answer.err) == (0, False, True)
    again = shell("anonymize", tmp_path / "out" / "private" / "job.toml", "--out", tmp_path / "again")
    assert (again.status, COMMAS in again.err) == (0, False), "the job keeps it"


def test_a_column_declared_numeric_says_how_to_read_it(file: Path) -> None:
    with pytest.raises(BadValue) as refused:
        oneoff.read_table(file, quasi=["age", "income"], sensitive="disease", numeric="income")
    assert refused.value.hint == "read it with --decimal , (decimal=',')"


def test_profile_and_check_take_it_too(file: Path) -> None:
    assert COMMAS in shell("profile", file).err
    assert COMMAS not in shell("profile", file, "--decimal", ",").err
    asked = ("--quasi", "income", "--guarantee", "k-anonymity:1", "--decimal", ",")
    assert shell("check", file, *asked).status == 0


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["1,5", "2", "-3,25"], True),
        (["1", "2", "3"], False),  # whole numbers
        (["1,5", "a", "2,5"], False),
        (["1,234,567", "2,5"], False),  # thousands
        (["1.234,5", "2,5"], False),  # nobody knows what the point means
        (["a,b", "c"], False),
    ],
)
def test_only_numbers_are_taken_for_numbers(cells: list[str], told: bool, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["x;y", *(f"{cell};1" for cell in cells)]) + "\n")
    notices = oneoff.read_table(tmp_path / "t.csv", quasi="x,y").notices
    assert any(COMMAS in notice for notice in notices) is told
    read = oneoff.read_table(tmp_path / "t.csv", quasi="x,y", decimal=",").quasi[0]
    assert (read.kind == "numeric") is (told or cells == ["1", "2", "3"])


@pytest.mark.parametrize(("decimal", "delimiter"), [("x", None), ("", None), (",", ",")])
def test_marks_that_cannot_be(decimal: str, delimiter: str | None, file: Path) -> None:
    with pytest.raises(BadValue):
        oneoff.read_table(file, quasi="age", decimal=decimal, delimiter=delimiter)


def test_a_comma_file_cannot_have_decimal_commas_unasked(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,2\n3,4\n")
    with pytest.raises(BadValue, match="cannot be the delimiter, too"):
        oneoff.read_table(tmp_path / "t.csv", quasi="x", decimal=",")
    assert oneoff.read_table(tmp_path / "t.csv", quasi="x,y").notices == ()
