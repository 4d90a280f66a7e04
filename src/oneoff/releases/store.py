"""Releases in object stores, where nothing can be renamed: release.json is written last, and names what counts.

A release is made on a disk and then copied: first all files that release.json names, then release.json itself. Without
it there is no release, whatever lies there; files that it does not name are none of it. Where an earlier release is
replaced, its release.json goes first, and what is left of it goes at the end.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oneoff.errors import BadValue, FolderExists, FolderNotWritable
from oneoff.table.databases import without_credentials

__all__ = ["copied", "half_in", "is_store", "landing", "refuse_existing_in"]

_STORE = re.compile(r"[a-z][a-z0-9+.-]+://")
_SAME = {"s3a": "s3", "s3n": "s3", "abfss": "abfs"}  # names that Spark has for them
_HADOOP = "Hadoop's own library is needed, libhdfs: JAVA_HOME, HADOOP_HOME and CLASSPATH in the environment say where"
_MANIFEST = "public/release.json"
_TOGETHER = 8  # files that are copied at the same time
_CHUNK = 1 << 23


def is_store(place: str) -> bool:
    """Is it the address of a store, such as s3://bucket/folder, and no folder?"""
    return _STORE.match(place) is not None


def half_in(place: str | Path, half: str) -> str:
    """Where a half of a release is, as it may be shown."""
    where, mark, settings = without_credentials(str(place)).partition("?" if is_store(str(place)) else "\0")
    return f"{where.rstrip('/')}/{half}{mark}{settings}"


@contextmanager
def landing(place: str, scratch: str | None, *, overwrite: bool) -> Iterator[Path]:
    """The folder that a release goes to; of one that is meant for a store a folder on this machine, copied at the end.

    Under a scratch folder the same address has the same folder, so that a run which was stopped can be gone on with;
    elsewhere nothing is left of it.
    """
    if not is_store(place):
        yield Path(place)
        return
    refuse_existing_in(place, overwrite=overwrite)
    with _room(place, scratch) as room:
        folder = room / "release"
        yield folder
        if folder.exists():
            copied(folder, *_opened(place), overwrite=overwrite)


@contextmanager
def _room(place: str, scratch: str | None) -> Iterator[Path]:
    if scratch is None:
        with tempfile.TemporaryDirectory(prefix="oneoff-") as room:
            yield Path(room)
        return
    path = Path(scratch) / f"for-{hashlib.sha256(place.encode()).hexdigest()[:16]}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    yield path
    shutil.rmtree(path)


def refuse_existing_in(place: str, *, overwrite: bool) -> None:
    """Before the work: is the store there, and no release in that place?"""
    files, path = _opened(place)
    if _there(files, f"{path}/{_MANIFEST}") and not overwrite:
        raise _exists(place)


def copied(folder: Path, files: Any, path: str, *, overwrite: bool) -> None:
    """Copy a release into a file system of Arrow's, so that it is there when its release.json is."""
    manifest = f"{path}/{_MANIFEST}"
    if _there(files, manifest):
        if not overwrite:
            raise _exists(path)
        files.delete_file(manifest)
    names = sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())
    earlier = _names_in(files, path)
    last = [name for name in names if name == _MANIFEST]
    try:
        for half in ("public", "private"):
            files.create_dir(f"{path}/{half}", recursive=True)
        with ThreadPoolExecutor(_TOGETHER) as pool:
            list(pool.map(lambda name: _copy(folder / name, files, f"{path}/{name}"), set(names) - set(last)))
        for name in last:
            _copy(folder / name, files, f"{path}/{name}")
        for name in earlier - set(names):
            files.delete_file(f"{path}/{name}")
    except OSError as error:
        raise FolderNotWritable(
            f"{path!r} cannot be written in its store",
            allowed="a place where you may write",
            got=str(error).partition("\n")[0][:200],
            hint="nothing counts there, for release.json is written last; run it again",
        ) from error


def _copy(source: Path, files: Any, target: str) -> None:
    with source.open("rb") as read, files.open_output_stream(target) as written:
        while chunk := read.read(_CHUNK):
            written.write(chunk)


def _opened(place: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    scheme, _, rest = place.partition("://")
    try:
        files, path = FileSystem.from_uri(f"{_SAME.get(scheme, scheme)}://{rest}")
    except (OSError, ValueError, ImportError) as error:
        raise BadValue(
            f"{without_credentials(place)!r} is no place for a release",
            allowed="a folder, or an address such as s3://bucket/folder, gs://bucket/folder, abfs://container/folder, hdfs://host/folder",
            got=without_credentials(str(error).partition("\n")[0])[:200],
            hint=_HADOOP
            if scheme == "hdfs"
            else "how to sign in is taken from the environment, as its own tools take it",
        ) from None
    return files, path.rstrip("/")


def _there(files: Any, path: str) -> bool:
    from pyarrow.fs import FileType

    return bool(files.get_file_info(path).type == FileType.File)


def _names_in(files: Any, path: str) -> set[str]:
    """The files of an earlier release, or of one that was never finished."""
    from pyarrow.fs import FileSelector, FileType

    found = files.get_file_info(FileSelector(path, allow_not_found=True, recursive=True))
    names = {each.path.removeprefix(f"{path}/") for each in found if each.type == FileType.File}
    return {name for name in names if name.startswith(("public/", "private/"))}


def _exists(place: str) -> FolderExists:
    return FolderExists(
        f"there is a release in {without_credentials(place)!r} already",
        allowed="a place without one",
        hint="choose another one, or replace it with --overwrite",
    )
