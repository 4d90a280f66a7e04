"""Pages for whom a release is made: `oneoff studio --release public/`. All are below `/release`."""

from __future__ import annotations

from starlette.routing import BaseRoute

__all__ = ["routes"]

routes: list[BaseRoute] = []
