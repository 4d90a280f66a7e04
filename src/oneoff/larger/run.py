"""What a run keeps until its release is in place, so that another can go on where it was stopped.

A folder beside the release, which nobody but its owner can look into: the key, a digest of table and job, and for every
block that is done its files and what is said about it. A result counts once its record is there under its own name, and
that is renamed to it after its files are written.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oneoff.errors import BadValue, OutputError
from oneoff.larger.block import Part
from oneoff.releases.draft import refuse_existing

__all__ = ["Run", "beginning"]


_FORM = 2  # of records of blocks


@dataclass(frozen=True)
class Run:
    """A run that is under way.

    key     everything that is drawn is a function of it and of the number of a block or field
    seed    a number that stands for it, for the private half
    """

    folder: Path
    key: bytes
    seed: int

    @property
    def parts(self) -> Path:
        return self.folder / "parts"

    def keep(self, part: Part) -> None:
        """Remember what came of a block."""
        path = self.folder / f"block-{part.block:06}"
        aside = path.with_suffix(".new")
        with _named(self.folder):
            with aside.open("wb") as file:
                pickle.dump(part, file)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)

    def done(self) -> Iterator[Part]:
        """What came of blocks that are done, and whose files are there: those of both halves, for they go into their
        place one after the other."""
        for path in sorted(self.folder.glob("block-*")):
            if path.suffix:
                continue
            part: Part = pickle.loads(path.read_bytes())
            files = (*part.files.values(), *part.private.values())
            if all(_has_hash(Path(where), digest) for where, digest in files):
                yield part


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """What a disk says that is full becomes an error that names it."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"what came of blocks that are done cannot be written to {str(folder)!r}",
            allowed="a folder that can be written to, with room for the release",
            got=error.strerror or str(error),
            hint="make room, and go on with --resume; nothing was published",
        ) from None


def _has_hash(path: Path, digest: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


@contextmanager
def beginning(
    folder: Path, digest: str, files: Sequence[str], settings: Any, warn: Callable[[str], None]
) -> Iterator[Run]:
    """A new run, or one that was stopped. It is removed when all is well, and stays where something went wrong.

    digest   of the table and the job: what is drawn is a function of it, so that no other table is ever drawn for alike
    files    of the table: links of a run that goes on lead into these
    """
    refuse_existing(folder, settings.overwrite)
    place = Path(os.path.realpath(folder))
    aside = place.with_name(f".{place.name}.run")
    with _named(place.parent):
        place.parent.mkdir(parents=True, exist_ok=True)
    if aside.exists():
        if settings.resume:
            _refuse_other(aside, digest, files)
        else:
            warn(f"an earlier run to {str(folder)!r} was stopped, and begins anew; --resume would go on with it")
            shutil.rmtree(aside)
    elif settings.resume:
        warn(f"there is no earlier run to {str(folder)!r} to go on with: a new one begins")
    if not aside.exists():
        seed = int.from_bytes(os.urandom(16), "big") if settings.seed is None else settings.seed
        with _named(aside):
            (aside / "parts").mkdir(mode=0o700, parents=True)
            aside.chmod(0o700)
            _write(aside / "seed", f"{seed}".encode())
            _write(aside / "digest", _named_form(digest).encode())
            _write(aside / "files", "\n".join(files).encode())
    seed = int((aside / "seed").read_text())
    key = hashlib.sha256(f"{digest} {seed}".encode()).digest()
    yield Run(aside, key, seed)
    shutil.rmtree(aside, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def _named_form(digest: str) -> str:
    """With the form of what is remembered of a block: a run of another form is not gone on with."""
    return f"{digest} {_FORM}"


def _refuse_other(aside: Path, digest: str, files: Sequence[str]) -> None:
    known, listed = aside / "digest", aside / "files"
    same = known.is_file() and known.read_text() == _named_form(digest)
    if not same or not listed.is_file() or listed.read_text() != "\n".join(files):
        raise BadValue(
            "the run that was stopped is one of another table, promise, method or seed",
            allowed="the same files, options and block size as then",
            got="other ones",
            hint="leave --resume out, and the run begins anew",
        )
