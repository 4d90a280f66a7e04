"""Pages that the program itself knows better than any author: the command line, the table of methods, a notebook."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import typer

from oneoff.catalog import METHODS, MODELS
from oneoff.cli.main import app
from tests.docs.notebook import notebook
from tests.docs.pages import DOCS

__all__ = ["GENERATED", "command_line", "method_table"]

METHOD_PAGES = DOCS / "explanation/methods"

_MADE = "<!-- made by `python -m tests.docs.refresh`; do not edit -->\n\n"
_HELP = """# Command line

{made}What `oneoff COMMAND --help` prints, for every command. `oneoff --version` says which version it is of.
How to use the commands in a script, with exit statuses and `--json`, is on [a page of its own](../how-to/pipeline.md).

"""
_TABLE = """# All methods

{made}Every method, from the same catalog that `oneoff methods` prints. [About methods](index.md) says what the words
mean; [how to choose one](../../how-to/choose-a-method.md) is a page of its own.

**Ceilings** are the promises that put a ceiling on the belief in every single value: {ceilings}.
**Ranges for each record** mean that there are no groups, so a recipient cannot check the promise alone.
The last methods are there for comparisons with papers; nobody needs them to publish. Papers are called
[by their number](../../reference/glossary.md#papers-by-number).

| method | makes | keeps | stands against |
|---|---|---|---|
"""
_CEILINGS = ("l-diversity", "beta-likeness", "basic-beta-likeness", "f-privacy", "rho-privacy")


def command_line() -> str:
    """docs/reference/cli.md: the help of every command."""
    names = ["", *_program().commands]
    return _HELP.format(made=_MADE) + "\n".join(_helped(name) for name in names)


def _helped(name: str) -> str:
    shown = "\n".join(line.rstrip() for line in _help(name).strip("\n").splitlines())
    return f"## {f'oneoff {name}'.strip()}\n\n```text\n{shown}\n```\n"


def _help(name: str) -> str:
    """What `oneoff NAME --help` prints on a terminal of a common width."""
    out = io.StringIO()
    with mock.patch.dict(os.environ, {"COLUMNS": "100"}), contextlib.redirect_stdout(out):
        _program().main([*filter(None, [name]), "--help"], prog_name="oneoff", standalone_mode=False)
    return out.getvalue()


def _program() -> Any:
    return typer.main.get_command(app)


def method_table() -> str:
    """docs/explanation/methods/table.md: what each method makes, keeps and stands against."""
    found = [method.as_dict() for method in METHODS.values()]
    found.sort(key=lambda about: about["comparator"])
    about = "".join(_described(each) for each in found)
    rows = "".join(_row(each) for each in found)
    return _TABLE.format(made=_MADE, ceilings=", ".join(_CEILINGS)) + rows + f"\n## In a sentence each\n\n{about}"


def _row(about: Mapping[str, Any]) -> str:
    cells = (_linked(about["name"]), about["output"], _kept(about), about["stands_against"])
    return f"| {' | '.join(cells)} |\n"


def _described(about: Mapping[str, Any]) -> str:
    options = ", ".join(f"`{name}`" for name in about["options"]) or "none"
    return f"- **{about['name']}:** {about['summary']}. Options: {options}.\n"


def _linked(name: str) -> str:
    """The name of a method, leading to the page that has it in a heading."""
    for page in [METHOD_PAGES / f"{name}.md", *sorted(METHOD_PAGES.glob("*.md"))]:
        headings = re.findall(r"^#+ .*", page.read_text(encoding="utf-8"), re.MULTILINE) if page.is_file() else []
        if page.name != "table.md" and any(re.search(rf"\b{name}\b", line, re.IGNORECASE) for line in headings):
            return f"[{name}]({page.name})"
    raise LookupError(f"no page of docs/explanation/methods has {name} in a heading")


def _kept(about: Mapping[str, Any]) -> str:
    """Its promises, the ceilings under one name, and those it cannot do without."""
    kept = list(about["promises"])
    if kept == list(MODELS):
        return "every promise"
    if set(_CEILINGS) <= set(kept):
        kept = ["ceilings", *(name for name in kept if name not in _CEILINGS)]
    return ", ".join(kept) + _needed(about)


def _needed(about: Mapping[str, Any]) -> str:
    needed = list(about["needs"])
    if set(_CEILINGS) <= set(needed):
        return "; always with one about values"
    return f"; always with {' or '.join(needed)}" if needed else ""


GENERATED: Mapping[Path, Callable[[], str]] = {
    DOCS / "reference/cli.md": command_line,
    METHOD_PAGES / "table.md": method_table,
    DOCS / "notebooks/first-release.ipynb": lambda: notebook(DOCS / "notebooks/first-release.md"),
}
