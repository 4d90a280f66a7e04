"""Pages in a browser: on a phone and on a screen, light and dark, on paper, and for who listens to them.

Needs playwright and Debian's Chromium; without either the tests are skipped and say so.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from oneoff import Table, read_table, sample
from oneoff.comparison import compare
from oneoff.publish import publish
from oneoff.report.comparison import comparison_html
from oneoff.report.sweep import sweep_html
from oneoff.sweeping import sweep
from oneoff.table.sample import SAMPLE_ROLES

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAGES = ("board", "recipient", "masked", "comparison", "sweep")
WIDTHS = (390, 1200)
A4 = 794  # pixels
LONG = "a_name_of_a_column_that_is_as_long_as_names_of_columns_are_in_registers"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if not Path(CHROMIUM).exists():
        pytest.skip("there is no Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of each kind, of a table with long names."""
    folder, table = tmp_path_factory.mktemp("pages"), _table()
    publish(table, "beta-likeness:3+k-anonymity:4", method="tallies", seed=1, hold_out=0.1).release.write(folder / "a")
    publish(table, "delta-probability:0.25+l-diversity:3", method="mutual-cover", seed=1).release.write(folder / "b")
    rows = [each.as_dict() for each in compare(table, "l-diversity:3", methods=["mondrian", "anatomy"], seed=1)]
    (folder / "c.html").write_text(comparison_html(rows, "l-diversity:3"))
    swept = sweep(table, "beta-likeness:2,4", methods=["tallies", "mondrian"], seed=1).as_dict()
    (folder / "d.html").write_text(sweep_html(swept))
    return {
        "sweep": folder / "d.html",
        "board": folder / "a" / "private" / "report.html",
        "recipient": folder / "a" / "public" / "report.html",
        "masked": folder / "b" / "private" / "report.html",
        "comparison": folder / "c.html",
    }


def _table() -> Table:
    frame = sample(2000, seed=1)
    names = [LONG if name == "workclass" else name for name in frame.column_names]
    quasi = [LONG if name == "workclass" else name for name in SAMPLE_ROLES["quasi"]]
    return read_table(frame.rename_columns(names), **(SAMPLE_ROLES | {"quasi": quasi}))


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, browser: Any, files: dict[str, Path]) -> Iterator[Any]:
    found = browser.new_page(viewport={"width": 1200, "height": 900})
    said: list[str] = []
    found.on("console", lambda message: said.append(message.text))
    found.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
    found.goto(files[request.param].as_uri())
    yield found
    assert said == [], "nothing is fetched, and nothing goes wrong"
    found.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_runs_off_the_page(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = """
    [...document.querySelectorAll("h1,h2,h3,p,li,dt,dd,td,th,figcaption,text")]
      .filter(e => !e.closest(".scroll") && !e.closest(".aloud") && !e.classList.contains("aloud"))
      .filter(e => getComputedStyle(e).display != "none" && getComputedStyle(e).position != "absolute")
      .map(e => [e.textContent.slice(0, 40), e.getBoundingClientRect()])
      .filter(([, r]) => r.width && (r.right > innerWidth + 1 || r.left < -1)).map(([t]) => t)
    """
    assert page.evaluate(beyond) == []


def test_it_fits_on_paper(page: Any) -> None:
    page.set_viewport_size({"width": A4, "height": 1123})
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= A4
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")


def test_what_a_board_reads_first_is_one_sheet(browser: Any, files: dict[str, Path]) -> None:
    """A4 without margins of 15 mm; the next section begins on a sheet of its own."""
    page = browser.new_page(viewport={"width": A4 - 113, "height": 1123 - 113})
    page.goto(files["board"].as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("document.querySelector('.board').getBoundingClientRect().bottom") <= 1123 - 113
    page.close()


def test_headings_are_in_order(page: Any) -> None:
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_everything_has_a_name(page: Any) -> None:
    assert page.evaluate("document.documentElement.lang") == "en"
    unnamed = """
    [...document.querySelectorAll("img, svg")].filter(e => !e.closest("[role=img] svg"))
      .filter(e => !e.parentElement.closest("svg"))
      .filter(e => !(e.getAttribute("alt") || e.getAttribute("aria-label"))).length
    """
    assert page.evaluate(unnamed) == 0
    assert page.evaluate("[...document.querySelectorAll('th')].filter(h => !h.scope).length") == 0
    assert (
        page.evaluate("[...document.querySelectorAll('table')].filter(t => !t.caption?.textContent.trim()).length") == 0
    )
    assert page.evaluate("[...document.querySelectorAll('thead th')].filter(h => !h.textContent.trim()).length") == 0


CONTRAST = """
() => {
  const light = c => { const s = c / 255; return s <= .04045 ? s / 12.92 : ((s + .055) / 1.055) ** 2.4 };
  const parts = c => c.match(/[\\d.]+/g).map(Number);
  const bright = c => { const [r, g, b] = parts(c).map(light); return .2126 * r + .7152 * g + .0722 * b };
  const behind = e => {
    for (let at = e; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((parts(colour)[3] ?? 1) > 0) return colour;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim());
    if (!own || e.closest(".aloud")) continue;
    const style = getComputedStyle(e);
    const [a, b] = [e.tagName == "text" ? style.fill : style.color, behind(e)].map(bright);
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) found.push([e.textContent.slice(0, 30), Math.round(ratio * 10) / 10]);
  }
  return found;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_can_be_told_from_what_is_behind_them(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    assert page.evaluate(CONTRAST) == []
