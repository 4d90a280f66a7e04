"""What runs leave that were killed: named and removed by the next one beside it, unless somebody is at work there."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from oneoff.errors import listing
from oneoff.releases.contents import remove, strangers
from oneoff.releases.disk import held
from oneoff.releases.renaming import move

__all__ = ["clear_leftovers", "name_aside"]

_ASIDE = re.compile(r"\.(.+)\.[0-9a-f]{8}\.(partial|old)")
_JUST_NOW = 60  # seconds


def name_aside(folder: Path) -> Path:
    """Where to write what will become this folder."""
    return folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.partial")


def clear_leftovers(folder: Path, warn: Callable[[str], None]) -> None:
    """Remove what was left beside a folder for a release, and say so."""
    try:
        beside = sorted(Path(os.path.realpath(folder)).parent.iterdir())
    except OSError:  # it is not there yet, or nobody may look
        return
    for path in beside:
        named = _ASIDE.fullmatch(path.name)
        said = named and _cleared(path, path.with_name(named[1]))
        if said:
            warn(said)


def _cleared(path: Path, folder: Path) -> str:
    left = f"{str(path)!r} was left by a run that was killed, and may say who is where"
    try:
        if path.is_symlink() or not path.is_dir():  # none of ours
            return ""
        with held(path) as free:
            if not free or _begun_just_now(path):
                return ""
            other = strangers(path)
            if other:
                return f"{left}; it is not removed, because it holds what it does not list: {listing(other)}"
            if path.suffix == ".old" and not folder.exists():
                move(path, folder)
                return f"{str(folder)!r} is back: a run was killed while it replaced that release"
            remove(path)
            return f"removed {str(path)!r}, which a run that was killed had left"
    except (OSError, ImportError) as error:
        return f"{left}; it cannot be removed: {getattr(error, 'strerror', None) or error}"


def _begun_just_now(path: Path) -> bool:
    """A folder is made before it can be held."""
    return not any(path.iterdir()) and time.time() - path.stat().st_mtime < _JUST_NOW
