"""The recipient's check: the promise recomputed from the public half alone."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike

from oneoff.audit.kinds import audit
from oneoff.audit.verdict import Verdict

__all__ = ["verify"]


def verify(folder: str | PathLike[str]) -> Verdict:
    """Read a public half, compare its files with their hashes, and judge its records by the promise it states."""
    from oneoff.releases.folder import load_release

    release = load_release(folder)
    verdict = audit(release)
    if release.broken:
        said = "the release says itself that its promise is broken, and is for research only"
        return replace(verdict, holds=False, problems=(*verdict.problems, said))
    return verdict
