"""A folder for what is needed between passes: a new one, which nobody but its owner can look into."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oneoff.errors import OutputError

__all__ = ["new_scratch", "scratch_errors"]


def new_scratch(given: str | None) -> Path:
    """In the folder that is given, which is made if need be, or where the system keeps what is temporary."""
    with scratch_errors(Path(given or tempfile.gettempdir())):
        if given is not None:
            Path(given).mkdir(mode=0o700, parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="oneoff-", dir=given))


@contextmanager
def scratch_errors(folder: Path) -> Iterator[None]:
    """What a disk says that is full, or cannot be written to, becomes an error that names the folder."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"scratch files cannot be written to {str(folder)!r}",
            allowed="a folder with room for about as much as the columns that are published take as numbers",
            got=error.strerror or str(error),
            hint="name another one with --scratch FOLDER; nothing was published",
        ) from None
