"""Every example in docs/ is run, and what it prints is what the page says it prints.

A page is one namespace and one folder that holds a copy of docs/examples. A ```python block followed by a ```text
block must print exactly that text; one without must run and print nothing. `python tests/docs/test_examples.py` writes
what the examples print today into the pages, for the author of a change to read through.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLE = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n?```text\n(?P<printed>.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Example:
    """A block of code, the line it begins on, and what the page says it prints."""

    line: int
    code: str
    printed: str


def pages() -> list[Path]:
    return sorted(DOCS.rglob("*.md"))


def examples(text: str) -> list[Example]:
    return [
        Example(text.count("\n", 0, found.start("code")) + 1, found["code"], found["printed"] or "")
        for found in EXAMPLE.finditer(text)
    ]


def outputs(page: Path, folder: Path) -> list[str]:
    """What each example of a page prints, run one after another in a folder with the example files."""
    shutil.copytree(DOCS / "examples", folder, dirs_exist_ok=True)
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = []
    with contextlib.chdir(folder):
        for example in examples(page.read_text(encoding="utf-8")):
            code = compile("\n" * (example.line - 1) + example.code, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, namespace)
            printed.append("".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines()))
    return printed


WITH_EXAMPLES = [page for page in pages() if examples(page.read_text(encoding="utf-8"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=[str(page.relative_to(DOCS)) for page in WITH_EXAMPLES])
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    stated = [example.printed for example in examples(page.read_text(encoding="utf-8"))]
    assert outputs(page, tmp_path) == stated


def test_there_are_examples_for_every_promise_and_method() -> None:
    from oneoff import METHODS, MODELS

    text = "".join(example.code for page in WITH_EXAMPLES for example in examples(page.read_text(encoding="utf-8")))
    missing = [name for name in (*MODELS, *METHODS) if not re.search(rf"[\"'+]{re.escape(name)}[:\"']", text)]
    assert missing == []


def test_every_error_code_is_documented() -> None:
    from oneoff import errors

    text = (DOCS / "bad-input.md").read_text(encoding="utf-8")
    kinds = [getattr(errors, name) for name in errors.__all__]
    missing = [kind.code for kind in kinds if f"`{kind.code}`" not in text]
    assert missing == []


@pytest.mark.parametrize("page", pages(), ids=[str(page.relative_to(DOCS)) for page in pages()])
def test_links_lead_somewhere(page: Path) -> None:
    targets = [found["target"] for found in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def refresh(page: Path) -> None:
    """Write what the examples print into the page."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        printed = iter(outputs(page, Path(folder)))

    def block(found: re.Match[str]) -> str:
        text = next(printed)
        return f"```python\n{found['code']}```\n" + (f"```text\n{text}```\n" if text else "")

    page.write_text(EXAMPLE.sub(block, text), encoding="utf-8")


if __name__ == "__main__":
    for each in WITH_EXAMPLES:
        refresh(each)
