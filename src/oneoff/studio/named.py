"""Files that a text names, as promises, options and methods do: read only where files may be chosen.

Each function returns the text with real paths in it. What the library would read and is not understood here is refused.
"""

from __future__ import annotations

import re

from oneoff.errors import BadGuarantee
from oneoff.studio.desks import Desk
from oneoff.table.domain import is_domain_file

__all__ = ["names_file", "real_method", "real_option", "with_real_files"]

_CAPS = re.compile(r"(f-privacy\s*:\s*)([^=+,]*)", re.IGNORECASE)
_AFTER = re.compile(r"$|=|[,+][^,+=:]*=|\+[^,+=:]*:")  # parameters instead of a file, its scale, or the next promise


def names_file(guarantee: str) -> bool:
    """Does a promise name a file?"""
    return any(guarantee[found.end() : found.end() + 1] != "=" for found in _CAPS.finditer(guarantee))


def with_real_files(desk: Desk, guarantee: str) -> str:
    """A guarantee, with a promise of ceilings from a file."""

    def real(found: re.Match[str]) -> str:
        if guarantee[found.end() : found.end() + 1] == "=":
            return found[0]
        if not _AFTER.match(guarantee, found.end()):
            raise BadGuarantee(
                "the name of a file has a comma or a plus in it",
                allowed="f-privacy:caps.csv",
                got=found[0],
                hint="give the file another name",
            )
        return f"{found[1]}{desk.folders.inside(found[2].strip(), desk.folder)}"

    return _CAPS.sub(real, guarantee)


def real_option(desk: Desk, name: str, text: str) -> str:
    """The value of an option of a method."""
    if name == "public":
        return str(desk.folders.inside(text))
    return _real_domain(desk, text) if name == "domain" else text


def _real_domain(desk: Desk, text: str) -> str:
    """One for all, or `column:FILE.csv,column:A;B` where several columns are private."""
    given = desk.draft.get("sensitive")
    names = "|".join(map(re.escape, given if isinstance(given, list) else ()))
    begins = list(re.finditer(rf"(?:^|,)\s*(?:{names}):", text)) if names else []
    if not begins:
        return _real_list(desk, text)
    ends = [*(each.start() for each in begins[1:]), len(text)]
    pairs = [(each[0], text[each.end() : end].strip()) for each, end in zip(begins, ends, strict=True)]
    return "".join(f"{name}{_real_list(desk, value)}" for name, value in pairs)


def _real_list(desk: Desk, text: str) -> str:
    return str(desk.folders.inside(text)) if is_domain_file(text) else text


def real_method(desk: Desk, text: str) -> str:
    """A method with an option, as sweeps and comparisons take it: `tallies:domain=values.csv`."""
    method, colon, option = text.partition(":")
    name, equals, value = option.partition("=")
    return f"{method}{colon}{name}{equals}{real_option(desk, name.strip(), value.strip())}"
