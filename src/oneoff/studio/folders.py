"""Of which folders files may be chosen: a path is followed to its end, links and all, before it is believed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from oneoff.errors import UnreadableFile

__all__ = ["Folders"]


class Folders:
    """The folders that somebody allowed when the page was started.

    private   where the page keeps the tables of all its sessions: no session chooses there, wherever that is
    """

    def __init__(self, allowed: Iterable[Path], private: Path | None = None) -> None:
        self.allowed = tuple(dict.fromkeys(folder.resolve() for folder in allowed))
        self._private = None if private is None else private.resolve()

    def inside(self, path: str | Path, *more: Path) -> Path:
        """The real path of a file or folder within the allowed ones (or `more` of them), or an error.

        What lies outside is refused in the same words whether or not it is there, so that nothing can be found out
        about it.
        """
        home = self.allowed[0] if self.allowed else Path()
        try:
            real = (home / Path(path).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError):
            raise self._refusal(path) from None
        if any(real.is_relative_to(folder.resolve()) for folder in more):
            return real
        hidden = self._private is not None and real.is_relative_to(self._private)
        if hidden or not any(real.is_relative_to(folder) for folder in self.allowed):
            raise self._refusal(path)
        return real

    def _refusal(self, path: str | Path) -> UnreadableFile:
        return UnreadableFile(
            f"{str(path)[:200]!r} is outside the folders this page may read",
            allowed=", ".join(map(str, self.allowed)),
            hint="start it in the folder of the table, or name one with --folder",
        )
