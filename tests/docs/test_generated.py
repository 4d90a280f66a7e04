"""Generated pages are what the program says today; `python -m tests.docs.refresh` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneoff import METHODS
from tests.docs.generated import GENERATED, command_line, method_table
from tests.docs.pages import DOCS, name_of


@pytest.mark.parametrize("page", GENERATED, ids=name_of)
def test_the_page_is_what_the_program_says(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == GENERATED[page]()


def test_the_reference_has_every_command_and_option() -> None:
    text = command_line()
    for command in (
        "demo",
        "profile",
        "anonymize",
        "audit",
        "verify",
        "check",
        "utility",
        "query",
        "compare",
        "methods",
    ):
        assert f"\n## oneoff {command}\n" in text
    assert "--even-if-broken" in text


def test_the_table_has_every_method_and_stands_once() -> None:
    assert [name for name in METHODS if f"| [{name}](" not in method_table()] == []
    rows = [line for page in DOCS.rglob("*.md") for line in page.read_text(encoding="utf-8").splitlines()]
    assert sum("| stands against |" in line for line in rows) == 1, "link to explanation/methods/table.md instead"
