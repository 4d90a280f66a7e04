"""What is at a path that somebody named, whatever the name: too long a one is that of nothing.

`Path.exists` and its like raise an error of the system for such names.
"""

from __future__ import annotations

import glob
import stat
from pathlib import Path
from typing import Any

from oneoff.errors import nearest
from oneoff.table.databases.url import is_url

__all__ = ["exists", "is_file", "is_folder", "is_many", "nearest_beside"]


def exists(path: Path) -> bool:
    return bool(_mode(path))


def is_file(path: Path) -> bool:
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def is_many(source: Any) -> bool:
    """Does a name stand for a folder or for a pattern of several files?"""
    if is_url(source):
        return False
    return is_folder(Path(source)) or (glob.has_magic(str(source)) and not exists(Path(source)))


def nearest_beside(path: Path) -> str:
    """A hint at the file that may have been meant."""
    return nearest(path.name, [other.name for other in path.parent.glob("*")]) if is_folder(path.parent) else ""


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0
