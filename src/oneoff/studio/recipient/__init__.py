"""Pages for whom a release is made: `oneoff studio --release public/`. All are below `/release`.

asking.py   what an address asks for
work.py     what the library answers, in a child process that has read the release
routes.py   from the one to the other, and to templates/recipient
"""

from __future__ import annotations

from oneoff.studio.recipient.routes import routes

__all__ = ["routes"]
