"""Table, columns and promise in a browser: with the keyboard, in the dark, on a phone, and without script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.studio.browsing import Window, window
from tests.studio.served import Server, serving
from tests.studio.test_steps import PEOPLE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Started with a table, as `oneoff studio people.csv` does."""
    pytest.importorskip("uvicorn", reason="the extra is not installed: pip install 'oneoff[studio]'")
    folder = tmp_path_factory.mktemp("first") / "work"
    folder.mkdir()
    pl.DataFrame(PEOPLE).write_csv(folder / "people.csv", null_value="?")
    with serving(folder, "people.csv") as running:
        yield running


def test_from_a_file_to_a_promise(tab: Window, server: Server) -> None:
    page = tab.page
    page.wait_for_selector("#found details")
    assert "240 rows, 5 columns" in page.inner_text("#found")
    assert page.inner_text("#live") == "240 rows and 5 columns were looked at"
    tab.good_to_use()
    page.fill("#f-na", "?")  # doubtful texts are told, and the options are open then
    page.click("text=Read it this way")
    page.wait_for_selector(".none")  # shown as missing now
    page.wait_for_selector("legend:has-text('Values are missing in work (60)')")
    tab.good_to_use()
    page.click("text=Go on to the columns")
    page.wait_for_selector("h1:has-text('What is each column?')")
    tab.good_to_use()
    page.select_option("#f-reading-work", "hierarchy")
    page.click("button[name='tree.work']")
    page.wait_for_selector("h1:has-text('Hierarchy of work')")
    tab.good_to_use()
    page.click("text=Begin with all values under one root")
    page.wait_for_selector("h2:has-text('The tree')")
    for value in ("local", "state"):
        page.check(f"input[value='0:{value}']")
    page.fill("#f-above", "government")
    page.keyboard.press("Enter")
    page.wait_for_selector("input[value='1:government']")
    assert "government 120" in " ".join(page.inner_text(".branches").split())
    tab.good_to_use()
    page.click("text=Use it, back to the columns")
    assert page.input_value("#f-reading-work") == "hierarchy"
    page.reload()
    assert page.input_value("#f-reading-work") == "hierarchy"  # nothing is lost
    page.click("text=Go on to the promise")
    page.wait_for_selector("h1:has-text('How much may anyone learn?')")
    tab.good_to_use()
    page.focus("[data-slides='f-promise-k-anonymity']")
    before = page.input_value("#f-promise-k-anonymity")
    page.keyboard.press("ArrowRight")
    after = page.input_value("#f-promise-k-anonymity")
    assert int(after) > int(before)
    page.wait_for_selector(f"#meaning code:has-text('k-anonymity:{after}')")
    assert f"at least {after} people" in page.inner_text("#meaning")
    page.fill("#f-promise-k-anonymity", "100")
    page.wait_for_selector("#meaning code:has-text('k-anonymity:100')")
    page.uncheck("#f-promise-beta-likeness-use")
    page.wait_for_selector("#meaning:not(:has-text('beta'))")
    assert not page.is_visible("#f-promise-beta-likeness")
    page.click("text=Promise this")
    page.wait_for_url("**/method")
    page.go_back()
    assert page.input_value("#f-promise-k-anonymity") == "100"


def test_an_upload_is_kept_in_the_desks_folder_and_goes_with_it(browser: Any, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "dropped.csv"
    file.write_bytes(("stadt;alter\n" + "Köln;1,5\n" * 40).encode("cp1252"))
    with window(browser) as tab:
        page = tab.page
        page.goto(server.address)
        page.wait_for_selector("h1:has-text('people.csv')")
        page.goto(server.origin)
        page.click("text=Begin with a table")
        page.wait_for_selector("h1:has-text('Which table?')")
        tab.good_to_use()
        page.set_input_files("input[type=file]", str(file))
        page.wait_for_selector("h1:has-text('dropped.csv')")
        assert "semicolon between columns, decimal comma, cp1252" in page.inner_text("summary >> nth=0")
        assert "Köln" in page.inner_text(".preview")
        page.wait_for_selector("#found details")
        page.goto(server.origin)
        page.click("[aria-label='Close dropped.csv and forget it']")
        page.wait_for_selector("[aria-label='Close dropped.csv and forget it']", state="detached")
        assert "dropped.csv" not in page.inner_text("main")
        tab.good_to_use()


def test_without_script_the_first_steps_work(browser: Any, server: Server) -> None:
    with window(browser, java_script_enabled=False) as tab:
        page = tab.page
        page.goto(server.address)
        page.wait_for_url("**/table")
        while page.locator("text=Look again").count():
            page.click("text=Look again")
        page.click("text=Go on to the columns")
        while page.locator("text=Look again").count():
            page.click("text=Look again")
        page.click("text=Go on to the promise")
        page.fill("#f-promise-k-anonymity", "12")
        page.click("text=Promise this")
        page.wait_for_url("**/method")
