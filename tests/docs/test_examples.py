"""Every example of the pages is run, and what it prints is what the page says it prints.

`python -m tests.docs.refresh` writes what the examples print today into the pages, for the author of a change to read
through.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, examples, name_of, outputs, pages, refreshed, same, shortened

WITH_EXAMPLES = [page for page in pages() if examples(page.read_text(encoding="utf-8"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    stated = examples(page.read_text(encoding="utf-8"))
    printed = outputs(page, tmp_path)
    wrong = [
        (f"line {example.line}", example.printed, shortened(now, example.printed))
        for example, now in zip(stated, printed, strict=True)
        if not same(example.printed, now)
    ]
    assert wrong == []


def test_there_are_examples_for_every_promise_and_method() -> None:
    from oneoff import METHODS, MODELS

    text = "".join(example.code for page in WITH_EXAMPLES for example in examples(page.read_text(encoding="utf-8")))
    missing = [name for name in (*MODELS, *METHODS) if not re.search(rf"[\"'+]{re.escape(name)}[:\"']", text)]
    assert missing == []


def test_every_error_code_is_documented() -> None:
    from oneoff import errors

    text = (DOCS / "reference/errors.md").read_text(encoding="utf-8")
    kinds = [getattr(errors, name) for name in errors.__all__]
    missing = [kind.code for kind in kinds if f"`{kind.code}`" not in text]
    assert missing == []


def test_every_key_of_a_job_is_documented() -> None:
    from oneoff.job import Job

    text = (DOCS / "reference/job.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)`", text, re.MULTILINE) == list(Job.model_fields)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_a_page_that_says_something_else_is_noticed_and_put_right(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(1 + 1)\n```\n```text\n3\n```\n```console\n$ echo a; echo b; echo c\na\n...\nd\n```\n"
    )
    stated = [example.printed for example in examples(page.read_text())]
    printed = outputs(page, tmp_path / "first")
    assert [same(*pair) for pair in zip(stated, printed, strict=True)] == [False, False]
    assert refreshed(page, tmp_path / "second") == page.read_text().replace("3", "2").replace("\nd\n", "\nc\n")


def test_only_seconds_and_what_was_left_out_may_differ() -> None:
    assert same("made in 0.9 s\n", "made in 12.3 s\n")
    assert not same("made in 0.9 s, 4 groups\n", "made in 0.9 s, 5 groups\n")
    assert same("a\n...\nd\n", "a\nb\nc\nd\n")
    assert not same("a\n...\nd\n", "a\nb\nc\n")
    assert not same("a\n...\nd\n", "a\nd\n"), "nothing is left out any more"


def test_a_command_that_is_not_run_may_not_look_as_if_it_were() -> None:
    with pytest.raises(ValueError, match="begins with"):
        examples("```console\noneoff demo\n```\n")
