"""What belongs to a release, by the lists it brings along: nothing else is ever removed.

`private/files.txt` names the files of both halves; a file is named before its first byte is written, so that the list
of a release which was never finished is complete as well. `public/release.json` names those of the public half.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["HEAD", "LIST", "remove", "strangers"]

LIST = "private/files.txt"
HEAD = "files of a oneoff release, format 1\n"

_DESCRIPTION = "public/release.json"
_HALVES = ("public", "private")


def strangers(folder: Path) -> list[str]:
    """What a folder holds that no release has written there; nothing for a release or an empty folder."""
    if not folder.is_dir():
        return [folder.name]
    known = _listed(folder) | _described(folder)
    return sorted(name for name in _found(folder) if name not in known)


def remove(folder: Path) -> None:
    """Remove the files of a release and then its folders, which stay if anything else is in them.

    Lists go last: what is left by a crash in between can still be recognised.
    """
    other = set(strangers(folder))
    for name in sorted(_found(folder), key=lambda name: (name == LIST, name == _DESCRIPTION)):
        if name not in other:
            (folder / name).unlink()
    for half in _HALVES:
        if (folder / half).is_dir():
            (folder / half).rmdir()
    folder.rmdir()


def _found(folder: Path) -> Iterator[str]:
    """Files by their path inside the folder; a link or a folder says what it is, so that no list can name it."""
    for entry in _inside(folder):
        if entry.name in _HALVES and entry.is_dir(follow_symlinks=False):
            yield from (f"{entry.name}/{_shown(inside)}" for inside in _inside(entry))
        else:
            yield _shown(entry)


def _inside(folder: os.PathLike[str]) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _shown(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{entry.name} (a link)"
    return entry.name if entry.is_file() else f"{entry.name}/"


def _listed(folder: Path) -> set[str]:
    try:
        text = (folder / LIST).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return set()
    if HEAD.startswith(text):  # nobody came further than that
        return {LIST}
    return {LIST, *text.removeprefix(HEAD).splitlines()} if text.startswith(HEAD) else set()


def _described(folder: Path) -> set[str]:
    try:
        described = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    files = described.get("files") if isinstance(described, dict) and described.get("tool") == "oneoff" else None
    return {_DESCRIPTION, *(f"public/{name}" for name in files)} if isinstance(files, dict) else set()
