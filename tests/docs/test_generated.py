"""Generated pages are what the program says today; `python -m tests.docs.refresh` writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oneoff import METHODS
from tests.docs.generated import GENERATED, command_line, method_table
from tests.docs.pages import DOCS, examples, name_of


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
        "microdata",
        "compare",
        "methods",
    ):
        assert f"\n## oneoff {command}\n" in text
    assert "--even-if-broken" in text


def test_the_table_has_every_method_and_stands_once() -> None:
    assert [name for name in METHODS if f"| [{name}](" not in method_table()] == []
    rows = [line for page in DOCS.rglob("*.md") for line in page.read_text(encoding="utf-8").splitlines()]
    assert sum("| stands against |" in line for line in rows) == 1, "link to explanation/methods/table.md instead"


def test_the_notebook_has_all_that_its_page_runs_and_prints() -> None:
    """In the format of Jupyter: what nbformat asks of cells of code and of text."""
    made = json.loads((DOCS / "notebooks/first-release.ipynb").read_text(encoding="utf-8"))
    page = (DOCS / "notebooks/first-release.md").read_text(encoding="utf-8")
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    cells = {kind: [c for c in made["cells"] if c["cell_type"] == kind] for kind in ("code", "markdown")}
    assert [c["execution_count"] for c in cells["code"]] == list(range(1, len(cells["code"]) + 1))
    ran = [("".join(c["source"]) + "\n", "".join(t for o in c["outputs"] for t in o["text"])) for c in cells["code"]]
    assert ran == [(each.code, each.printed) for each in examples(page)]
    assert all(set(c) == {"cell_type", "id", "metadata", "source"} for c in cells["markdown"])
    assert len({c["id"] for c in made["cells"]}) == len(made["cells"])
    assert "```" not in "".join(line for c in cells["markdown"] for line in c["source"])
