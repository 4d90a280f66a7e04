"""The kinds of releases by the name that release.json gives them: a new kind is a file, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from oneoff.errors import BadValue, listing
from oneoff.releases.bucketized import Bucketized
from oneoff.releases.generalized import Generalized
from oneoff.releases.masked import Masked
from oneoff.releases.perturbed import Perturbed
from oneoff.releases.published import Published
from oneoff.releases.tallied import Tallied

__all__ = ["KINDS", "of_kind"]

KINDS: dict[str, type[Published]] = {kind.form: kind for kind in (Generalized, Perturbed, Bucketized, Masked, Tallied)}

Entry = TypeVar("Entry")


def of_kind(entries: Mapping[str, Entry], release: Published, what: str) -> Entry:
    """The entry for the kind of a release; `what` says what is not possible where there is none."""
    if release.form not in entries:
        raise BadValue(f"{what} a {release.form} release", allowed=listing(entries), got=release.form)
    return entries[release.form]
