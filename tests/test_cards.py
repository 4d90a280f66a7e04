"""What a notebook shows of things: escaped, without a value of a table, and in the colours around it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oneoff
from oneoff.card import card
from oneoff.comparison import compare
from oneoff.table import Table
from tests.pages import PageReader, addresses

SCRIPT = "<script>alert(1)</script>"
SECRET = "a value nobody may see"


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(0)
    values = [["x", SCRIPT, SECRET][i] for i in rng.integers(0, 3, 90)]
    frame = pa.table({f"age {SCRIPT}": rng.integers(0, 30, 90), "town": values, "disease": values})
    names = frame.column_names
    return oneoff.read_table(frame, quasi=names[:2], sensitive="disease")


THINGS: dict[str, Callable[[Table], Any]] = {
    "table": lambda table: table,
    "profile": lambda table: oneoff.profile(table),
    "release": lambda table: _release(table),
    "verdict": lambda table: oneoff.audit(_release(table), table),
    "utility": lambda table: oneoff.utility(_release(table), table),
    "comparison": lambda table: compare(table, "l-diversity:2", methods=["mondrian"], seed=1)[0],
    "refused": lambda table: compare(table, "l-diversity:2", methods=["mondrian:cuts=none"], seed=1)[0],
    "attacks": lambda table: oneoff.attack(_release(table), table, attacks=["learned", "homogeneity"]),
    "comparisons": lambda table: compare(table, "l-diversity:2", methods=["mondrian", "anatomy"], seed=1),
    "sweep": lambda table: oneoff.sweep(table, "l-diversity:1,2", methods=["mondrian"], seed=1),
    "cross table": lambda table: _release(table).group_by("disease").count(),
    "estimate": lambda table: _release(table).count({"disease": ["x"]}),
}


def _release(table: Table) -> Any:
    return oneoff.anonymize(table, "l-diversity:2", method="mondrian", seed=1)


@pytest.mark.parametrize("thing", THINGS)
def test_shown_in_a_notebook(thing: str, table: Table) -> None:
    shown = THINGS[thing](table)._repr_html_()
    read = PageReader(shown)
    assert read.open == []
    assert addresses(shown) == []
    assert {"div", "strong"} <= set(read.tags) <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert len(shown) < 20_000
    assert not re.search(r"(?<!&)#[0-9a-f]{3}|rgb", shown), "no colour but that around it"
    if thing in ("table", "profile", "release"):
        assert SECRET not in shown
    scopes = [value for name, value in read.attributes if name == "scope"]
    assert len(scopes) == read.tags.count("th")
    assert set(scopes) <= {"row", "col"}


def test_a_card_by_hand() -> None:
    read = PageReader(card("T <b>", [("a", 1), ("\x1b", SCRIPT)], "note"))
    assert read.texts == ["T <b>", "a", "1", "\ufffd", SCRIPT, "note"]
    many = card("T", [(str(i), i) for i in range(100)])
    assert "and 60 more" in many
    assert many.count("<tr>") == 40
    assert "<table" not in card("T")


FUNCTIONS = [name for name in oneoff.__all__ if inspect.isfunction(getattr(oneoff, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_names_every_parameter(name: str) -> None:
    function = getattr(oneoff, name)
    text = inspect.getdoc(function)
    assert text is not None
    first = text.splitlines()[0]
    assert first[0].isupper()
    assert len(first) <= 120
    of_a_table = {"table", "release"}  # the first parameter of many functions, named by the sentence itself
    assert [
        each for each in inspect.signature(function).parameters if each not in text and each not in of_a_table
    ] == []
