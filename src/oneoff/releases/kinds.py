"""The kinds of releases: a kind is a module with its name in each of `releases`, `audit` and `utility`.

Nothing lists them. `releases.apart` has the class whose `form` is "apart", `audit.apart` its `judge`, `utility.apart`
its `measure`; what else a room knows of some kinds is a function with a known name there, too.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from oneoff.errors import BadValue, listing
from oneoff.releases.published import Published

__all__ = ["has_entry", "kind", "of_kind"]

_HERE = "oneoff.releases"


def kind(form: str) -> type[Published]:
    """The class of a kind. Its name may come from a file, so nothing is imported but a module of this package."""
    found = _class(form) if form in _modules(_HERE) else None
    if found is None or not found.has_records:
        allowed = listing(name for name in _modules(_HERE) if _has_records(name))
        raise BadValue(f"there is no kind of release called {form!r}", allowed=allowed, got=form)
    return found


def of_kind(room: str, entry: str, release: Published, what: str) -> Any:
    """What the module for the kind of a release calls `entry`; `what` says what is not possible where there is none."""
    found = _entry(room, release.form, entry)
    if found is None:
        shared = [name for name in _modules(room) if name in _modules(_HERE) and _has_records(name)]
        allowed = listing(name for name in shared if _entry(room, name, entry) is not None)
        raise BadValue(f"{what} a {release.form} release", allowed=allowed, got=release.form)
    return found


def has_entry(room: str, entry: str, release: Published) -> bool:
    """Does the module for the kind of a release have something of that name?"""
    return _entry(room, release.form, entry) is not None


def _modules(room: str) -> list[str]:
    """The names of the modules that a room has."""
    return [module.name for module in iter_modules(import_module(room).__path__)]


def _entry(room: str, name: str, entry: str) -> Any:
    return getattr(import_module(f"{room}.{name}"), entry, None) if name in _modules(room) else None


def _has_records(name: str) -> bool:
    """Is it a kind of records, as release.json names one?"""
    found = _class(name)
    return found is not None and found.has_records


def _class(name: str) -> type[Published] | None:
    """The kind that has the name of the module it is in; most modules have none."""
    classes = (each for each in vars(import_module(f"{_HERE}.{name}")).values() if isinstance(each, type))
    return next((each for each in classes if issubclass(each, Published) and _form(each) == name), None)


def _form(found: type[Published]) -> str | None:
    return getattr(found, "form", None)
