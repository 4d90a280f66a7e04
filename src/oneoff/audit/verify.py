"""The recipient's check: the promise recomputed from the public half alone."""

from __future__ import annotations

from os import PathLike

from oneoff.audit.verdict import Verdict, audit

__all__ = ["verify"]


def verify(folder: str | PathLike[str]) -> Verdict:
    """Read a public half, compare its files with their hashes, and judge its records by the promise it states."""
    from oneoff.releases.load import load_release

    return audit(load_release(folder))
