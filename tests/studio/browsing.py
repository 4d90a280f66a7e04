"""A browser that looks at a page and keeps what went wrong with it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

__all__ = ["WIDTHS", "Window", "browser_of_tests", "window"]

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip
WIDTHS = (390, 1200, 2560)
_SERIOUS = ("serious", "critical")


@dataclass(eq=False)
class Window:
    """A tab, with all that it must not have done.

    complaints   errors on the console, among them what the content security policy refused; errors in scripts
    fetched      addresses it asked for
    expected     parts of complaints that the test means to bring about
    """

    page: Any
    complaints: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        self.page.on("request", lambda request: self.fetched.append(request.url))

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def abroad(self) -> list[str]:
        """Addresses of other hosts."""
        return [url for url in self.fetched if urlsplit(url).hostname not in (None, "127.0.0.1", "localhost")]

    def check(self) -> None:
        """Nothing of this may happen on any page."""
        odd = [each for each in self.complaints if not any(part in each for part in self.expected)]
        assert not odd, f"{self.page.url} complained: {odd}"
        assert not self.abroad(), "nothing is fetched from elsewhere"

    def serious(self) -> list[str]:
        """What axe-core finds that keeps somebody from using the page."""
        axe = pytest.importorskip("axe_playwright_python.base", reason="pip install axe-playwright-python")
        self.page.evaluate(axe.AXE_FILE_PATH.read_text())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:200]}"
            for each in found["violations"]
            if each["impact"] in _SERIOUS
            for node in each["nodes"]
        ]

    def too_wide(self, widths: tuple[int, ...] = WIDTHS) -> list[int]:
        """Widths of a window at which the page has to be pushed sideways."""
        before, found = self.page.viewport_size, []
        for width in widths:
            self.page.set_viewport_size({"width": width, "height": 900})
            if self.page.evaluate("document.documentElement.scrollWidth") > width:
                found.append(width)
        self.page.set_viewport_size(before)
        return found

    def good_to_use(self) -> None:
        """No width is too narrow, and neither a phone in the dark nor a screen in daylight keeps anybody out."""
        self.page.wait_for_load_state()  # with its styles
        assert self.too_wide() == [], self.page.url
        before = self.page.viewport_size
        for width, scheme in ((1200, "light"), (390, "dark")):
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(color_scheme=scheme)
            assert self.serious() == [], f"{self.page.url}, {width} pixels, {scheme}"
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(before)


@contextmanager
def browser_of_tests() -> Iterator[Any]:
    """Debian's Chromium; where it or playwright is absent the tests are skipped, and say so."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if not Path(CHROMIUM).exists():
        pytest.skip("there is no Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@contextmanager
def window(browser: Any, **how: Any) -> Iterator[Window]:
    """Somebody's window: cookies and storage of its own. What it complains of fails the test."""
    context = browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | how))
    context.set_default_timeout(30_000)
    try:
        opened = Window(context.new_page())
        yield opened
        opened.check()
    finally:
        context.close()
