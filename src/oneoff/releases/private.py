"""The private half, read back: who is who, and what to say when a file of it is not what was written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from oneoff.errors import DamagedRelease, OneoffError
from oneoff.releases.contents import LIST
from oneoff.table.arrays import Ints

__all__ = [
    "HELD_OUT",
    "SUPPRESSED",
    "UNFIT",
    "Places",
    "damaged",
    "has_private",
    "load_links",
    "missing",
    "read_places",
    "reading",
]

HELD_OUT = "held-out.parquet"
SUPPRESSED = "suppressed.parquet"

# What goes wrong with a file that does not hold what was written, beside errors of Arrow.
UNFIT = (OneoffError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, OSError)


def load_links(private: Path) -> Ints | None:
    """Which record is whose, from the private half of a release; None when it is not there."""
    from oneoff.releases.columns import whole_numbers
    from oneoff.table.parquet import read_parquet

    path = private / "links.parquet"
    if not path.is_file():
        return None
    with reading(path):
        links = read_parquet(path, columns=["row", "record"])
        row = whole_numbers(links, "row", links.num_rows)
        if not np.array_equal(np.sort(row), np.arange(len(row))):
            raise ValueError("rows of the table are missing or listed twice")
        record = np.empty(len(row), dtype=np.int64)
        record[row] = whole_numbers(links, "record")
    return record


class Places(NamedTuple):
    """Of everybody in a part: the number of their file, the row there, and their record or cell in the part."""

    file: Ints
    row: Ints
    record: Ints


def has_private(private: Path) -> bool:
    """Is there a private half? One that lacks a file is damaged, an empty one is none."""
    try:
        return not {path.name for path in private.iterdir()} <= {Path(LIST).name}
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise damaged(private, "cannot be read", error.strerror or str(error)) from None


def read_places(private: Path, part: int, rows: int) -> Places:
    """Whose records a part of a release has."""
    from oneoff.releases.columns import whole_numbers
    from oneoff.releases.parts import part_name
    from oneoff.table.parquet import read_parquet

    path = private / part_name("links.parquet", part)
    if not path.is_file():
        raise missing(path)
    with reading(path):
        links = read_parquet(path, columns=["file", "row", "record"])
        if links.num_rows != rows:
            raise ValueError(f"it has {links.num_rows} people, and the part has {rows}")
        return Places(whole_numbers(links, "file"), whole_numbers(links, "row"), whole_numbers(links, "record", rows))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever goes wrong with a file of the private half is said of that file."""
    import pyarrow as pa

    try:
        yield
    except (*UNFIT, pa.ArrowException) as e:
        kind = "" if isinstance(e, ValueError) else f"{type(e).__name__}: "
        got = e.what if isinstance(e, OneoffError) else f"{kind}{e}"
        raise damaged(path, "does not hold what was written", got) from e


def missing(path: Path) -> DamagedRelease:
    return damaged(path, "is missing", "no such file")


def damaged(path: Path, what: str, got: str) -> DamagedRelease:
    return DamagedRelease(
        f"{str(path)!r} {what}",
        allowed="the private half of a release as it was written",
        got=got,
        hint="restore it from a copy, or make the release again with private/job.toml and private/seed; without the "
        "folder private/ only what a recipient can check is checked",
    )
