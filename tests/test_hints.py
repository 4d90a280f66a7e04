"""What is refused says what to do instead, to somebody at a terminal and to somebody in Python."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import oneoff
from oneoff.errors import BadValue, OneoffError
from oneoff.models import parse
from tests.command_line import oneoff as shell

pytestmark = pytest.mark.usefixtures("without_pictures")

COLUMNS = ("age", "sex", "disease")
ROLES = ("--quasi", "age,sex", "--sensitive", "disease")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rows = [(20 + i % 30, "fm"[i % 2], ("flu", "cold", "gout", "hiv")[i * 7 % 4]) for i in range(80)]
    text = "\n".join(",".join(map(str, row)) for row in (COLUMNS, *rows))
    (tmp_path / "people.csv").write_text(text + "\n")
    return tmp_path / "people.csv"


@pytest.mark.parametrize("guarantee", ["t-closeness:0.3", "l-diversity:2", "k-anonymity:4", "entropy-l-diversity:2"])
def test_an_effort_can_be_asked_of_auto(guarantee: str, people: Path, tmp_path: Path) -> None:
    asked = (*ROLES, "--guarantee", guarantee, "--effort", "fast", "--out", tmp_path / "out")
    assert shell("anonymize", people, *asked).status == 0


@pytest.mark.parametrize(
    ("guarantee", "hint"),
    [
        ("k-anonymity:5,l-diversity:2", "join promises with +: k-anonymity:5+l-diversity:2"),
        ("t-closeness:0.2,l-diversity:2", "join promises with +: t-closeness:0.2+l-diversity:2"),
        ("k-anonymity:0", "1 is the nearest that is possible"),
        ("t-closeness:20%", "write 0.2 for 20%"),
        ("beta-likeness:12.5 %", "write 0.125 for 12.5 %"),
        ("beta-likeness:many", "write it in digits, with a point"),
    ],
)
def test_promises(guarantee: str, hint: str) -> None:
    with pytest.raises(OneoffError) as refused:
        parse(guarantee)
    assert hint in refused.value.hint


def test_every_hint_about_a_promise_can_be_followed() -> None:
    for guarantee in ("k-anonymity:5,l-diversity:2", "k-anonymity:3,t-closeness:0.2"):
        with pytest.raises(OneoffError) as refused:
            parse(guarantee)
        assert len(parse(refused.value.hint.partition(": ")[2]).parts()) == 2


def test_a_table_of_nobody(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("age,sex,disease\n")
    answer = shell(
        "anonymize", tmp_path / "none.csv", *ROLES, "--guarantee", "k-anonymity:2", "--out", tmp_path / "out"
    )
    assert "hint:    check that the export finished" in answer.err


def test_a_job_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text("")
    assert "did you mean 'job.toml'?" in shell("anonymize", tmp_path / "jop.toml").err
    assert "hint:    check the path" in shell("anonymize", tmp_path / "nightly" / "x.toml").err


@pytest.mark.parametrize(("written", "asked"), [(";", ","), (",", ";"), (":", None)])
def test_a_header_that_became_one_column(written: str, asked: str | None, people: Path, tmp_path: Path) -> None:
    people.write_text(people.read_text().replace(",", written))
    more = () if asked is None else ("--delimiter", asked)
    answer = shell("anonymize", people, *ROLES, *more, "--guarantee", "k-anonymity:2", "--out", tmp_path / "out")
    assert f"the header became one column, so the delimiter is another: --delimiter {written!r}" in answer.err


def test_a_value_that_a_hierarchy_lacks_is_not_taken_for_another(people: Path, tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("flu;any\nhiv;any\ncold;any\ngolf;any\n")
    roles = (*ROLES, "--hierarchy", f"disease={tmp_path / 'tree.csv'}", "--guarantee", "k-anonymity:2")
    answer = shell("anonymize", people, *roles, "--out", tmp_path / "out")
    assert "add a row for each of them to the hierarchy" in answer.err
    assert "did you mean" not in answer.err, "gout is no misspelt golf"
    (tmp_path / "tree.csv").write_text("flu;any\nhiv;any\ncold;any\ngoutt;any\n")
    assert "did you mean 'goutt'?" in shell("anonymize", people, *roles, "--out", tmp_path / "out").err


def test_the_private_half_is_called_so(people: Path, tmp_path: Path) -> None:
    shell("anonymize", people, *ROLES, "--guarantee", "k-anonymity:2", "--out", tmp_path / "out")
    answer = shell("verify", tmp_path / "out" / "private")
    assert answer.status == 2
    assert "is the private half of a release" in answer.err
    assert f"name {str(tmp_path / 'out' / 'public')!r} instead" in answer.err
    shutil.rmtree(tmp_path / "out" / "public")
    assert "is the private half" in shell("verify", tmp_path / "out" / "private").err


@pytest.mark.parametrize("roles", [{"sensitive": ["disease", 5]}, {"sensitive": 5}, {"quasi": 5}, {"keep": [5]}])
def test_roles_that_are_no_names(roles: dict[str, Any], people: Path) -> None:
    with pytest.raises(BadValue):
        oneoff.read_table(people, **({"quasi": ["age"], "sensitive": "disease"} | roles))


def test_hints_about_reading_have_words_for_python_too() -> None:
    """A flag of the command line is of no use in a notebook: the word for Python stands beside it."""
    lone = []
    for path in (Path(oneoff.__file__).parent / "table").rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            flags = re.findall(r"--([a-z]{3,})\b", line) if "hint=" in line else []
            lone += [
                f"{path.name}: {line.strip()}" for flag in flags if not re.search(rf"\b({flag}|hierarchies)=", line)
            ]
    assert lone == []
