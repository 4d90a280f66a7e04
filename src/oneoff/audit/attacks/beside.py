"""Somebody who also knows other sensitive columns of people: to her these are quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oneoff.audit.attacks.view import View
from oneoff.errors import BadValue, UnknownColumn, listing, nearest
from oneoff.releases import Published, has_entry, of_kind
from oneoff.table import Table

__all__ = ["known_too", "left_to_guess", "seen_knowing"]


def left_to_guess(names: Sequence[str], knows: Sequence[str]) -> list[str]:
    """The sensitive columns that she does not know."""
    for name in knows:
        if name not in names:
            raise UnknownColumn(
                f"{name!r} is not one of several sensitive columns",
                allowed=listing(names) or "a table with several",
                hint=nearest(name, names),
            )
    left = [name for name in names if name not in knows]
    if names and not left:
        raise BadValue("she knows every sensitive column: there is nothing to guess", allowed="some of them")
    return left


def known_too(table: Table, known: Sequence[str], about: str) -> Table:
    """The table with one sensitive column, and those that she knows among the quasi-identifiers."""
    others = [table.of_column(name) for name in known]
    quasi = tuple(each.sensitive for each in others if each.sensitive is not None)
    codes = np.column_stack([table.codes, *(each.values for each in others)]).astype(np.int32)
    return replace(table.of_column(about), quasi=(*table.quasi, *quasi), codes=codes)


def seen_knowing(release: Published, table: Table, known: Sequence[str], about: str) -> View:
    """What a release shows her; `table` has the columns she knows among the quasi-identifiers."""
    if not has_entry("oneoff.audit", "seen_knowing", release):
        raise BadValue(
            f"what a {release.form} release tells who knows another sensitive column is not known",
            allowed="a release in groups",
            got=release.form,
        )
    view: View = of_kind("oneoff.audit", "seen_knowing", release, "there is no attack on")(release, table, known, about)
    return view
