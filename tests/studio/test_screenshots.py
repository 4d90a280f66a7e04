"""Pictures are taken of every step, and the documentation names every step and option of `oneoff studio`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import typer

from oneoff.cli.main import app
from oneoff.studio.draft import STEPS as OF_A_DRAFT
from tests.docs.pages import DOCS
from tests.studio.browsing import CHROMIUM
from tests.studio.palette import in_few_colours, pixels_of
from tests.studio.screenshots import OF_DOCS, RECIPIENT, STEPS, pictures

PAGES = (DOCS / "tutorial/in-your-browser.md", DOCS / "how-to/look-in-your-browser.md")


@pytest.mark.slow
def test_pictures_are_taken_of_every_step(tmp_path: Path) -> None:
    pytest.importorskip("playwright", reason="playwright is not installed: pip install playwright")
    pytest.importorskip("uvicorn", reason="the extra is not installed: pip install 'oneoff[studio]'")
    if not Path(CHROMIUM).exists():
        pytest.skip("there is no Chromium: apt-get install chromium")
    taken = pictures(tmp_path / "seen", widths=(390,), rows=1_200)
    assert [path.name for path in taken] == [f"{name}-390.png" for name in (*STEPS, *RECIPIENT)]
    for path in taken:
        seen = pixels_of(path.read_bytes())
        assert seen.shape[1] == 390, f"{path.name}: the page is wider than the window"
        assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 10, f"{path.name} is empty"


def test_every_step_has_a_picture() -> None:
    assert [step for step in OF_A_DRAFT if not any(each.startswith(step.removesuffix("s")) for each in STEPS)] == []
    assert {shown.step for shown in OF_DOCS.values()} <= {*STEPS, *RECIPIENT}


def test_the_pages_name_every_step_in_its_order() -> None:
    from oneoff.studio.pages import TITLES

    named = re.findall(r"^## \d\. (.*)$", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    assert named == [TITLES[step] for step in OF_A_DRAFT]


def test_the_page_names_every_role_as_the_page_in_the_browser_does() -> None:
    from oneoff.studio.steps.columns import ROLES

    text = PAGES[0].read_text(encoding="utf-8")
    assert [words for _, words, _ in ROLES if f"| {words} |" not in text] == []


def test_the_pages_name_every_option() -> None:
    command = typer.main.get_command(app).commands["studio"]  # type: ignore[attr-defined]
    options = [each for each in command.params if each.param_type_name == "option"]
    flags = [(each.secondary_opts or each.opts)[0] if each.name == "browser" else each.opts[0] for each in options]
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert len(flags) >= 5
    assert [flag for flag in flags if f"oneoff studio {flag}" not in text and flag != "--help"] == []


def test_the_pages_show_the_pictures_that_are_taken_for_them() -> None:
    shown = {
        name for page in DOCS.rglob("*.md") for name in re.findall(r"images/(studio-[\w-]+)\.png", page.read_text())
    }
    assert shown == set(OF_DOCS)
    assert {path.stem for path in (DOCS / "images").glob("studio-*.png")} == shown
    assert sum(path.stat().st_size for path in (DOCS / "images").glob("studio-*.png")) < 1_500_000


def test_buttons_that_the_pages_name_are_there() -> None:
    """What is bold after `press` is a button or a link of a template."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"[Pp]ress \*\*(.+?)\*\*", text)) | set(re.findall(r"press \*([^*]+)\*", text))
    templates = Path(__file__).resolve().parents[2] / "src/oneoff/studio/templates"
    there = "".join(path.read_text(encoding="utf-8") for path in templates.rglob("*.html"))
    assert len(named) > 10
    assert [name for name in sorted(named) if f">{name}<" not in there and f'"{name}"' not in there
            and f"'{name}'" not in there and f"{name}<" not in there] == []  # fmt: skip


def test_a_picture_in_few_colours_is_the_same_picture() -> None:
    data = (DOCS / "images/report-wide.png").read_bytes()
    assert np.array_equal(pixels_of(in_few_colours(data)), pixels_of(data))
