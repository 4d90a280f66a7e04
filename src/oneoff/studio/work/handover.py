"""Handing over: the private half, and the public one if that is wished, in a folder of the steward's."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from oneoff.errors import FolderNotWritable
from oneoff.releases.contents import LIST
from oneoff.releases.draft import Draft, appearing
from oneoff.releases.signature import sign as sign_public

__all__ = ["sign", "write"]


def write(release: str, folder: str, public: bool, job: str, beside: Mapping[str, str]) -> dict[str, list[str]]:
    """Copy a release into a new folder, which appears whole or not at all.

    public   the public half as well; else the private one alone
    job      the text of private/job.toml
    beside   more files for the private half, by name: where they are, such as hierarchies that the job names
    """
    _refuse_public_halves(Path(folder))
    told: list[str] = []
    source, written = Path(release), list[str]()
    with appearing(Path(folder), False, told.append) as draft:
        for half in ("private", "public") if public else ("private",):
            for path in sorted((source / half).iterdir()):
                name = f"{half}/{path.name}"
                if name not in (LIST, "private/job.toml"):
                    _copy(draft, path, name)
                    written.append(name)
        for name, found in beside.items():
            _copy(draft, Path(found), f"private/{name}")
            written.append(f"private/{name}")
        with draft.file("private/job.toml") as file:
            file.write(job.encode())
    return {"files": [*written, "private/job.toml"], "notices": told}


def _refuse_public_halves(folder: Path) -> None:
    """The private half must not go out inside a public one."""
    public = next((each for each in folder.parents if (each / "release.json").is_file()), None)
    if public is not None:
        raise FolderNotWritable(
            f"{str(public)!r} is the public half of a release",
            allowed="a folder outside of it: the private half is for you alone",
            got=str(folder),
        )


def _copy(draft: Draft, path: Path, name: str) -> None:
    with path.open("rb") as read, draft.file(name) as file:
        shutil.copyfileobj(read, file, 1 << 20)


def sign(public: str, key: str) -> bool:
    """Sign the public half with the key in a file."""
    sign_public(Path(public), key)
    return True
