"""A release that is being written: it appears whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from oneoff.errors import FolderExists, FolderNotWritable, listing
from oneoff.releases.contents import HEAD, LIST, remove, strangers
from oneoff.releases.renaming import exchange, move

__all__ = ["Draft", "appearing", "refuse_existing"]


@dataclass(frozen=True)
class Draft:
    """The folder aside, and the list of its files that grows with it."""

    folder: Path

    def begin(self) -> None:
        (self.folder / "private").mkdir(mode=0o700)  # who is where is nobody else's business
        (self.folder / LIST).write_text(HEAD, encoding="utf-8")

    def file(self, name: str) -> Path:
        """Where to write a file, which is named in the list from now on."""
        with (self.folder / LIST).open("a", encoding="utf-8") as names:
            names.write(f"{name}\n")
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        return path


@contextmanager
def appearing(folder: Path, overwrite: bool) -> Iterator[Draft]:
    """A folder to fill that becomes `folder` at the end, or vanishes when something goes wrong."""
    refuse_existing(folder, overwrite)
    draft = Draft(folder.parent / f".{folder.name}.{secrets.token_hex(4)}.partial")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft.folder.mkdir()
    except OSError as error:
        raise _not_writable(folder, error) from None
    try:
        draft.begin()
        yield draft
        _put_in_place(draft.folder, folder, overwrite)
    except BaseException as error:
        with suppress(OSError):
            remove(draft.folder)
        if isinstance(error, OSError):  # a full disk, a share that went away
            raise _not_writable(folder, error) from error
        raise


def _not_writable(folder: Path, error: OSError) -> FolderNotWritable:
    return FolderNotWritable(
        f"the folder {str(folder)!r} cannot be written",
        allowed="a place where you may create folders",
        got=error.strerror or str(error),
        hint="choose another place with --out",
    )


def refuse_existing(folder: Path, overwrite: bool) -> None:
    """Never touch a folder that holds anything but an earlier release, and that only when told to."""
    if folder.exists() and not overwrite:
        raise FolderExists(
            f"the folder {str(folder)!r} exists already",
            allowed="a folder that does not exist",
            hint="choose another one, or replace it with --overwrite (overwrite=True)",
        )
    other = strangers(folder) if folder.exists() else []
    if other:
        raise FolderExists(
            f"{str(folder)!r} is not a release and nothing else, so it is not overwritten",
            allowed="an empty folder or an earlier release, with the files its private/files.txt names",
            got=listing(other),
            hint="choose another folder, or remove this one yourself if nothing in it is needed",
        )


def _put_in_place(finished: Path, folder: Path, overwrite: bool) -> None:
    """The finished folder in its place. An earlier release is removed afterwards, and only if that was asked for."""
    try:
        move(finished, folder)
    except FileExistsError:
        refuse_existing(folder, overwrite)  # long ago somebody looked last
        earlier = finished if exchange(finished, folder) else _put_aside(finished, folder)
        with suppress(OSError):  # what was put into it this very moment stays
            remove(earlier)


def _put_aside(finished: Path, folder: Path) -> Path:
    """Two renames where folders cannot be exchanged at once; returns where the earlier release is."""
    earlier = finished.with_suffix(".old")
    move(folder, earlier)
    try:
        move(finished, folder)
    except BaseException:
        with suppress(FileExistsError):  # another run was faster: neither is lost
            move(earlier, folder)
        raise
    return earlier
