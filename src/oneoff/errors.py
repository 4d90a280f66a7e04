"""Every way oneoff says no, on one page.

OneoffError
├── InputError                  what came in cannot be used
│   ├── UnknownColumn           a column that is not in the table
│   ├── RoleConflict            one column with two roles, or a required role with none
│   ├── BadValue                a value or an argument outside what is allowed
│   ├── MissingValues           nulls where none may be
│   ├── EmptyTable              no rows to publish
│   ├── HierarchyError          a hierarchy that is no tree or misses values
│   ├── UnreadableFile          a file that cannot be read as what it claims to be
│   └── UnreadableDatabase      a database, or a table in it, that cannot be read
├── GuaranteeError              what was promised cannot be used
│   ├── BadGuarantee            a promise that cannot be parsed or has impossible parameters
│   ├── UnreachableGuarantee    no release of this table could keep the promise
│   └── MethodMismatch          the chosen method does not serve the promise
├── PromiseBroken               a release that was about to go out fails its own check
├── OutputError                 what goes out cannot be written or read back
│   ├── FolderExists            an existing release would be overwritten
│   ├── FolderNotWritable       the folder cannot be created or written
│   ├── TableExists             a table of a database would be overwritten
│   ├── DatabaseNotWritable     a database that tables cannot be written to
│   └── DamagedRelease          a release folder that is incomplete or was changed after it was written
├── MissingPackage              a library that is needed for this only is not installed
└── Defect                      oneoff contradicts itself: a mistake of ours, never of the user

Each error carries `code`, `what`, `allowed`, `got` and `hint`, and prints as one sentence made of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from operator import index
from typing import ClassVar, SupportsIndex

__all__ = [
    "BadGuarantee",
    "BadValue",
    "DamagedRelease",
    "DatabaseNotWritable",
    "Defect",
    "EmptyTable",
    "FolderExists",
    "FolderNotWritable",
    "GuaranteeError",
    "HierarchyError",
    "InputError",
    "MethodMismatch",
    "MissingPackage",
    "MissingValues",
    "OneoffError",
    "OutputError",
    "PromiseBroken",
    "RoleConflict",
    "TableExists",
    "UnknownColumn",
    "UnreachableGuarantee",
    "UnreadableDatabase",
    "UnreadableFile",
]


class OneoffError(Exception):
    """What went wrong, what is allowed, what was found, and what to do about it."""

    code: ClassVar[str] = "error"

    def __init__(self, what: str, *, allowed: str = "", got: str = "", hint: str = "") -> None:
        self.what, self.allowed, self.got, self.hint = what, allowed, got, hint
        super().__init__(what)

    def __str__(self) -> str:
        parts = [self.what]
        parts += [f"{label}: {text}" for label, text in self._details()]
        return "; ".join(parts)

    def _details(self) -> list[tuple[str, str]]:
        labelled = (("allowed", self.allowed), ("got", self.got), ("hint", self.hint))
        return [(label, text) for label, text in labelled if text]

    def as_dict(self) -> dict[str, str]:
        """The error as stable keys, for `--json`."""
        return {"code": self.code, "what": self.what, **dict(self._details())}


class InputError(OneoffError):
    code = "input"


class UnknownColumn(InputError):
    code = "unknown-column"


class RoleConflict(InputError):
    code = "role-conflict"


class BadValue(InputError):
    code = "bad-value"


class MissingValues(InputError):
    code = "missing-values"


class EmptyTable(InputError):
    code = "empty-table"


class HierarchyError(InputError):
    code = "hierarchy"


class UnreadableFile(InputError):
    code = "unreadable-file"


class UnreadableDatabase(InputError):
    code = "unreadable-database"


class GuaranteeError(OneoffError):
    code = "guarantee"


class BadGuarantee(GuaranteeError):
    code = "bad-guarantee"


class UnreachableGuarantee(GuaranteeError):
    code = "unreachable-guarantee"


class MethodMismatch(GuaranteeError):
    code = "method-mismatch"


class PromiseBroken(OneoffError):
    code = "promise-broken"


class OutputError(OneoffError):
    code = "output"


class FolderExists(OutputError):
    code = "folder-exists"


class FolderNotWritable(OutputError):
    code = "folder-not-writable"


class TableExists(OutputError):
    code = "table-exists"


class DatabaseNotWritable(OutputError):
    code = "database-not-writable"


class DamagedRelease(OutputError):
    code = "damaged-release"


class MissingPackage(OneoffError):
    code = "missing-package"


class Defect(OneoffError):
    """Nothing the user did. Nothing is published, and the command line exits with 3."""

    code = "defect"

    def __init__(self, what: str, *, allowed: str = "", got: str = "", hint: str = "") -> None:
        super().__init__(what, allowed=allowed, got=got, hint=hint or _REPORT)


_REPORT = "this is a defect of oneoff and nothing was published; please report it"


def whole_number(given: object, name: str, *, least: int = 0, most: int | None = None, hint: str = "") -> int:
    """A whole number within its bounds, or an error that says them. True and False are no numbers."""
    fits = isinstance(given, SupportsIndex) and not isinstance(given, bool)
    if fits and least <= index(given) and (most is None or index(given) <= most):  # type: ignore[arg-type]
        return index(given)  # type: ignore[arg-type]
    allowed = f"a whole number >= {least}" if most is None else f"a whole number from {least} to {most}"
    raise BadValue(f"{name} is not usable", allowed=allowed, got=repr(given), hint=hint)


def listing(items: Iterable[object], limit: int = 8, width: int = 60) -> str:
    """A short readable list for messages: at most `limit` items, each cut to `width` characters."""
    texts = [str(item) for item in items]
    shown = [text if len(text) <= width else f"{text[: width - 1]}…" for text in texts[:limit]]
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(shown) + more


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """A 'did you mean' hint for a misspelt name, or nothing; `cutoff` is how similar they must be, from 0 to 1."""
    lowered = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=cutoff)
    return f"did you mean {listing([repr(lowered[close[0]])])}?" if close else ""
