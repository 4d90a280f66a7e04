"""The page without a server: who asks is in the same process."""

from __future__ import annotations

import base64
import random
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from oneoff.studio.app import create_app
from oneoff.studio.desks import Desks
from oneoff.studio.folders import Folders

__all__ = ["HERE", "TOKEN", "Page", "page_of"]

HERE, TOKEN = "http://127.0.0.1:8765", "a-token-of-a-test"


class Page:
    """Desks, the app, and callers that came with the token."""

    def __init__(self, folder: Path, *allowed: Path, **options: Any) -> None:
        self.desks = Desks(folder, Folders(allowed))
        self.app = create_app(self.desks, token=TOKEN, port=8765, **options)

    def stranger(self) -> Any:
        from starlette.testclient import TestClient

        return TestClient(self.app, base_url=HERE, follow_redirects=False, headers={"origin": HERE})

    def caller(self) -> Any:
        came = self.stranger()
        assert came.get(f"/?token={TOKEN}").status_code == 200
        return came

    def desk(self, caller: Any) -> Any:
        """A new desk of this caller."""
        address = caller.post("/desk").headers["location"]
        found = re.fullmatch(r"/desk/([^/]+)/table", address)
        assert found is not None
        return next(desk for desk in self.desks._desks.values() if desk.id == found[1])


@contextmanager
def page_of(folder: Path, *allowed: Path, **options: Any) -> Iterator[Page]:
    made = Page(folder, *allowed, **options)
    with mock.patch.object(secrets, "token_urlsafe", _unguessable):
        try:
            yield made
        finally:
            made.desks.close()


def _unguessable(length: int) -> str:
    """Names that differ from test to test, although chance begins anew with each of them (tests/conftest.py)."""
    return base64.urlsafe_b64encode(_CHANCE.randbytes(length)).rstrip(b"=").decode()


_CHANCE = random.SystemRandom()
