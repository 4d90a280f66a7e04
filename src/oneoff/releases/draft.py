"""A release that is being written: it appears whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from oneoff.errors import FolderExists, FolderNotWritable, listing
from oneoff.releases.contents import HEAD, LIST, remove, strangers
from oneoff.releases.disk import File, ending_gently, held, new_file, sync
from oneoff.releases.leftovers import clear_leftovers, name_aside
from oneoff.releases.renaming import exchange, move

__all__ = ["Draft", "appearing", "refuse_existing"]


@dataclass(frozen=True)
class Draft:
    """The folder aside, and the list of its files that grows with it."""

    folder: Path
    names: File

    def announce(self, name: str) -> None:
        """Put a file into the list that is written now, or once the folder is in its place."""
        self.names.write(f"{name}\n".encode())

    @contextmanager
    def file(self, name: str) -> Iterator[File]:
        """A file to write, which is in the list before it is there."""
        self.announce(name)
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        with new_file(path, private=name.startswith("private/")) as file:
            yield file


@contextmanager
def appearing(folder: Path, overwrite: bool, warn: Callable[[str], None]) -> Iterator[Draft]:
    """A folder to fill that becomes `folder` at the end, or vanishes when something goes wrong."""
    try:
        refuse_existing(folder, overwrite)
        place = Path(os.path.realpath(folder))  # a link stays, what it leads to is replaced
        aside = name_aside(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers(place, warn)
        with ending_gently(), _vanishing(aside):
            aside.mkdir()
            with _working_in(aside, wait=True):
                with _begun(aside) as draft:
                    yield draft
                for half in aside.iterdir():
                    sync(half)
                sync(aside)
                _put_in_place(aside, place, overwrite)
                sync(place.parent)
    except OSError as error:  # a full disk, a share that went away
        raise _not_writable(folder, error) from error


@contextmanager
def _vanishing(aside: Path) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(OSError):  # the next run tries again
            if aside.exists():
                remove(aside)


@contextmanager
def _begun(aside: Path) -> Iterator[Draft]:
    """With a private half, which nobody else may look into, and a list of files in it."""
    (aside / "private").mkdir(mode=0o700)
    with new_file(aside / LIST, private=True) as names:
        names.write(HEAD.encode())
        yield Draft(aside, names)


@contextmanager
def _working_in(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Tell other runs to keep off; where that cannot be told, they do not remove anything either."""
    with ExitStack() as stack:
        with suppress(OSError, ImportError):
            stack.enter_context(held(folder, wait=wait))
        yield


def _not_writable(folder: Path, error: OSError) -> FolderNotWritable:
    return FolderNotWritable(
        f"the folder {str(folder)!r} cannot be written",
        allowed="a place where you may create folders",
        got=error.strerror or str(error),
        hint="choose another place with --out",
    )


def refuse_existing(folder: Path, overwrite: bool) -> None:
    """Never touch a folder that holds anything but an earlier release, and that only when told to."""
    try:
        exists = folder.exists()
        other = strangers(folder) if exists else []
    except OSError as error:  # one that cannot be looked into
        raise _not_writable(folder, error) from error
    if exists and not overwrite:
        raise FolderExists(
            f"the folder {str(folder)!r} exists already",
            allowed="a folder that does not exist",
            hint="choose another one, or replace it with --overwrite (overwrite=True)",
        )
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
        if folder.is_symlink():  # it appeared meanwhile, or leads to itself
            raise
        with _working_in(folder):
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
