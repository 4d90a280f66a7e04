"""What the tests of the page share: one that is served, one browser for each module, and windows that watch out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.studio.browsing import Window, browser_of_tests, window
from tests.studio.served import Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The page of a steward, started in an empty folder."""
    pytest.importorskip("uvicorn", reason="the extra is not installed: pip install 'oneoff[studio]'")
    with serving(tmp_path_factory.mktemp("served") / "work") as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browser_of_tests() as found:
        yield found


@pytest.fixture
def tab(browser: Any, server: Server) -> Iterator[Window]:
    """A window of somebody who came with the address that was printed."""
    with window(browser) as opened:
        opened.page.goto(server.address)
        yield opened
